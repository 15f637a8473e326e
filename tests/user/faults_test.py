#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random sequences of injected faults: the report names every one of them, at its place, and nothing else.

SEED=N repeats a run; PROVE=1 makes it a long one.
"""
import os
import pathlib
import random
import shutil
import tempfile

import machine
from lib import CASES, FAKE, check, document, main, run

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-faults-"))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
SEQUENCES = 300 if os.environ.get("PROVE") == "1" else 20

SCRATCH = 64 << 10      # the stand-in's memory begins with what is not tested
TESTED = 27 << 20       # of 32 MiB, a little less than is tested
WINDOW = 64 << 10       # least size of a copy
UNITS = ("integer", "fma", "mul+add", "dp4a")


class Sequence:
    """The words of a script, and what must be found."""

    def __init__(self, rng):
        self.rng, self.words, self.faults, self.codes, self.used = rng, [], set(), [], set()
        self.sms = rng.sample(range(15), 15)
        kinds = [self.stuck, self.flip, self.misread, self.garble, self.to_card, self.to_host, self.compute, self.compute,
                 self.stuck, self.slow_link, self.uneven, self.slow_memory, self.unseen, self.hot, self.brake]
        if rng.random() < 0.15:
            self.alias()
            kinds = kinds[4:8] + kinds[9:]
        for kind in rng.sample(kinds, rng.randrange(5)):
            kind()
        if rng.random() < 0.2:
            self.words.append("cuCtxDestroy_v2=signal:11")
            self.codes.append("crashed")

    def place(self):
        """A byte of a word that has no fault yet."""
        while True:
            byte = self.rng.randrange(TESTED)
            if byte // 4 not in self.used:
                self.used.add(byte // 4)
                return byte

    def memory(self, kind, byte):
        """A fault of this kind in the word of that byte."""
        self.faults.add((kind, byte & ~3))

    def stuck(self):
        """A bit that keeps its value."""
        byte = self.place()
        self.words.append(f"stuck={SCRATCH + byte}:{self.rng.randrange(8)}:{self.rng.randrange(2)}")
        self.memory("memory-cell", byte)

    def flip(self):
        """A bit that turns over once."""
        byte = self.place()
        self.words.append(f"flip={SCRATCH + byte}:{self.rng.randrange(8)}")
        self.memory("memory-cell", byte)

    def misread(self):
        """A bit that is read wrong once: quick looks at each word six times."""
        byte = self.place()
        self.words.append(f"misread={SCRATCH + byte}:{self.rng.randrange(8)}:{self.rng.randrange(1, 7)}")
        self.memory("memory-read", byte)

    def garble(self):
        """Half of the bits of a word."""
        byte = self.place() & ~3
        self.words.append(f"garble={SCRATCH + byte}")
        self.memory("memory-place", byte)

    def alias(self):
        """Memory that answers twice."""
        self.words.append(f"alias={self.rng.choice((8, 16, 20, 24))}")
        self.faults.add(("memory-alias",))

    def to_card(self):
        """A word that changes on the way."""
        word = self.rng.randrange(WINDOW // 4)
        self.words.append(f"h2d={word}")
        self.faults.add(("copy-to-card", word * 4))

    def to_host(self):
        """The same on the way back."""
        word = self.rng.randrange(WINDOW // 4)
        self.words.append(f"d2h={word}")
        self.faults.add(("copy-to-host", word * 4))

    def compute(self):
        """A multiprocessor that computes wrongly."""
        sm, unit = self.sms.pop(), self.rng.randrange(4)
        self.words.append(f"smfault={sm}:{unit}")
        self.faults.add(("compute", sm, UNITS[unit]))

    def degrade(self, word, code):
        """Something that is no wrong data."""
        self.words.append(word)
        self.codes.append(code)

    def slow_link(self):
        """Less than half of 210 MB/s."""
        self.degrade(f"link={self.rng.randrange(20, 60)}", "slow-copy")

    def uneven(self):
        """Every fourth copy takes four times as long; the mean stays above the half of a link that is as it should be."""
        self.degrade("uneven=4", "uneven-copy")

    def slow_memory(self):
        """Below 40 % of 320 GB/s."""
        self.degrade(f"bandwidth={self.rng.randrange(10000, 128000)}", "slow-memory")

    def unseen(self):
        """A multiprocessor without work."""
        self.degrade(f"smhole={self.sms.pop()}", "sm-unseen")

    def hot(self):
        """Too warm."""
        self.degrade(f"temp={self.rng.randrange(90, 110)}", "card-hot")

    def brake(self):
        """The power supply's brake."""
        self.degrade("throttle=0x80", "throttled")


def fault_of(item):
    """A fault of the document as Sequence notes it."""
    if item["kind"] == "compute":
        return item["kind"], item["sm"], item["unit"]
    return (item["kind"],) if item["kind"] == "memory-alias" else (item["kind"], item["at"])


def expected_codes(sequence):
    """Findings: one for each kind of wrong data, and the others."""
    kinds = {fault[0] for fault in sequence.faults}
    return sorted(sequence.codes + ["memory-aliased" if kind == "memory-alias" else "data-fault" for kind in kinds])


def test_random_faults():
    """See above."""
    print(f"seed {SEED}", flush=True)
    rng = random.Random(SEED)
    found = {bdf: machine.settle(data) for bdf, data in machine.devices(CASES / "p104-100-with-port.txt").items()}
    path = WORK / "machine"
    path.write_text(machine.describe(found, {"0000:01:00.0": "0000:00:1c.0"}, "nvidia", machine.APPLIED), encoding="utf-8")
    for number in range(SEQUENCES):
        sequence = Sequence(rng)
        script = "link=210 " + " ".join(sequence.words)
        env = {"RUNTIME_DIRECTORY": str(WORK / "state"), "LD_LIBRARY_PATH": str(FAKE), "SOFTTAPE_FAKE_FORCE": "1",
               "SOFTTAPE_FAKE": script}
        answer = document(run("check", "--level", "quick", "--json", machine=path, env=env))
        card, where = answer["cards"][0], f"seed {SEED}, sequence {number}: {script}"
        faults = [fault_of(item) for item in card["faults"]]
        check(sorted(faults) == sorted(sequence.faults), f"{where}: {faults} instead of {sequence.faults}")
        codes = sorted(finding["code"] for finding in answer["findings"])
        check(codes == expected_codes(sequence), f"{where}: {codes} instead of {expected_codes(sequence)}")
        verdict = "fault" if sequence.faults or "crashed" in codes else "degraded" if set(codes) - {"throttled"} else "pass"
        check(card["verdict"] == verdict, f"{where}: {card['verdict']} instead of {verdict}")


if __name__ == "__main__":
    try:
        main([test_random_faults])
    finally:
        shutil.rmtree(WORK)
