#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a check costs on played machines: 16 simulated quick checks at once against one, and the memory of the process that
owns the verdict. Called by scripts/bench; ratios count, times are this machine's."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import machine
from lib import CASES, FAKE, PROGRAM, check, document, run, surrounding

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-bench-"))
CARDS = 16
ROUNDS = 3


def build(cards):
    """A machine with so many cards, none of them below a port."""
    data = machine.settle(machine.devices(CASES / "p104-100-with-port.txt")["0000:01:00.0"])
    path = WORK / f"machine-{cards}"
    found = {f"0000:{bus:02x}:00.0": data for bus in range(1, cards + 1)}
    path.write_text(machine.describe(found, {}, "nvidia", machine.APPLIED), encoding="utf-8")
    return path


def environment():
    """Where state goes; the simulated card's link is fast, so that the host's work counts and not the card's clock."""
    return {"RUNTIME_DIRECTORY": str(WORK / "state"), "LD_LIBRARY_PATH": str(FAKE), "SOFTTAPE_FAKE_FORCE": "1",
            "SOFTTAPE_FAKE": "link=210"}


def seconds(cards):
    """Shortest of some rounds."""
    path, best = build(cards), None
    for _ in range(ROUNDS):
        start = time.monotonic()
        answer = document(run("check", "--level", "quick", "--json", machine=path, env=environment()))
        took = time.monotonic() - start
        check([card["verdict"] for card in answer["cards"]] == ["pass"] * cards, answer["findings"])
        best = took if best is None else min(best, took)
    return best


def owner_memory():
    """Highest resident size in KiB of the process that gives the verdict for 16 cards, and its part that is its own."""
    before, env = surrounding(build(CARDS), environment())
    process = subprocess.Popen([*before, PROGRAM, "check", "--level", "quick", "--json"], stdout=subprocess.DEVNULL, env=env)
    highest = own = 0
    while process.poll() is None:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            except OSError:
                continue
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            # Its children are softtape check too, umockdev-run is its parent.
            if words[0] != PROGRAM.encode() or fields["PPid"].strip() != str(process.pid):
                continue
            highest = max(highest, int(fields.get("VmHWM", "0 kB").split()[0]))
            own = max(own, int(fields.get("RssAnon", "0 kB").split()[0]))
        time.sleep(0.01)
    return highest, own


def main():
    """Prints the figures."""
    one, many = seconds(1), seconds(CARDS)
    print(f"simulated quick checks: 1 in {one:.2f} s, {CARDS} at once in {many:.2f} s, {many / one:.1f} times as long on "
          f"{os.cpu_count()} processors")
    highest, own = owner_memory()
    print(f"memory of the process that owns {CARDS} verdicts: {highest} KiB resident, {own} KiB of it its own")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(WORK)
