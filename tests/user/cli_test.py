#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command line: usage, garbage as input, output that others read."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

import machine
from lib import CASES, PROGRAM, TOP, VALIDATOR, check, document, main, run

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-cli-"))
GOOD = (CASES / "p104-100-with-port.txt").read_text(encoding="utf-8")


def plan(data, *words):
    """Plans for bytes as a file, as text and as JSON; both must agree on the status. Returns status, text, JSON, errors."""
    file = WORK / "input"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    text, answer = run("plan", "-F", file, *words, timeout=60), run("plan", "-F", file, *words, "--json", timeout=60)
    check(text.returncode == answer.returncode, f"text {text.returncode}, JSON {answer.returncode}")
    check(text.returncode in (0, 2), f"status {text.returncode}")
    return text.returncode, text.stdout.decode(), document(answer), text.stderr.decode()


def refused(data, words):
    """Input that cannot be read: status 2, one clear line, nothing on standard output."""
    status, text, found, errors = plan(data)
    check(status == 2 and text == "", f"status {status}, {text!r}")
    last = errors.splitlines()[-1]
    check(last.startswith("softtape: ") and words in last, errors)
    check(found["cards"] == [] and found["findings"], found)


def test_empty():
    """An empty file."""
    refused(b"", "no output of lspci")


def test_prose():
    """Text that is something else."""
    refused("Dear reader,\nthe card is at 01:00.0 I think.\n" * 50, "no output of lspci")


def test_binary():
    """Random bytes, ten times."""
    for seed in range(10):
        refused(random.Random(seed).randbytes(100000), "no output of lspci")


def test_all_ones():
    """A device that was off the bus counts as unreadable."""
    ones = "\n".join(f"{at:02x}:" + " ff" * 16 for at in range(0, 256, 16))
    refused("01:00.0 3D controller\n" + ones + "\n", "not one device can be read")


def test_list_only():
    """lspci without -x."""
    refused("00:00.0 Host bridge: x\n01:00.0 3D controller: y\n", "not one device can be read")


def test_bad_device_among_good():
    """One bad device is named, the rest is printed."""
    status, text, found, errors = plan(GOOD + "\n02:00.0 broken\n00: zz\n03:00.0 cut\n00: de 10\n")
    check(status == 0 and "step aspm l0s+l1 -> off (endpoint, then port)" in text, text)
    check([f["bdf"] for f in found["findings"]] == ["0000:02:00.0", "0000:03:00.0"], found["findings"])
    check("0000:02:00.0" in errors and "0000:03:00.0" in errors, errors)


def test_truncated():
    """A good dump cut somewhere (dump_test cuts it everywhere): never worse than a clear line."""
    data = GOOD.encode()
    for size in range(0, len(data), 101):
        file = WORK / "cut"
        file.write_bytes(data[:size])
        answer = run("plan", "-F", file, "--json", timeout=20)
        check(answer.returncode in (0, 2), f"{size} bytes: status {answer.returncode} {answer.stderr!r}")
        document(answer)


def test_mutated():
    """A good dump with characters changed (dump_test does it thousands of times)."""
    for seed in range(10):
        dice, data = random.Random(seed), bytearray(GOOD.encode())
        for _ in range(dice.randrange(1, 40)):
            data[dice.randrange(len(data))] = dice.choice(b"0123456789abcdef :.\n\r\t\0\xff")
        status, _, _, _ = plan(bytes(data))
        check(status in (0, 2), f"seed {seed}")


def test_looping_list():
    """A capability that points at itself."""
    loop = GOOD.replace("60: 01 68 03 00", "60: 01 60 03 00")
    check(loop != GOOD, "nothing replaced")
    status, text, found, _ = plan(loop)
    check(status == 0 and "aspm unknown (capability list runs in a circle)" in text, text)
    check("runs in a circle" in found["findings"][0]["evidence"], found["findings"])
    check(found["cards"][0]["quirks"]["aspm"] is None and found["cards"][0]["steps"] == [], found["cards"])


def test_short_dump():
    """lspci -x: 64 bytes, the link's registers are unknown and say so."""
    short = re.sub(r"^(?:[4-9a-f]0): .*\n", "", GOOD, flags=re.M)
    status, text, found, _ = plan(short)
    check(status == 0 and "aspm unknown (dump ends at 0x40)" in text and "state " not in text, text)
    check(found["cards"][0]["link"]["speed"] is None and found["cards"][0]["quirks"]["state"] is None, found["cards"])


def test_long_dump():
    """4096 bytes with L1 substates on in the card."""
    lines = [f"{at:03x}:" + " 00" * 16 for at in range(256, 4096, 16)]
    lines[0] = "100: 1e 00 01 00 1f ff 0a 00 05 00 00 00 00 00 00 00"
    status, text, found, _ = plan(GOOD.rstrip("\n") + "\n" + "\n".join(lines) + "\n")
    check(status == 0 and "step l1ss on -> off" in text, text)
    check([s["what"] for s in found["cards"][0]["steps"]] == ["aspm", "clkpm", "l1ss"], found["cards"][0]["steps"])


def test_windows_line_ends():
    """CRLF reads the same."""
    check(plan(GOOD.replace("\n", "\r\n"))[1] == plan(GOOD)[1], "differs")


def test_verbose_text_between():
    """lspci -vvvxxx."""
    noisy = GOOD.replace("(rev a1)\n", "(rev a1)\n\tControl: I/O- Mem+\n\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x4\n\n")
    check(plan(noisy)[1] == plan(GOOD)[1], "differs")


def test_twenty_megabytes():
    """Many devices, within seconds; a third of them cards without a port."""
    card = GOOD[GOOD.index("01:00.0 3D"):]
    bridge = GOOD[GOOD.index("00:1c.0 PCI"):GOOD.index("01:00.0 3D")]
    block = card.replace("01:00.0", "05:00.0") + bridge + bridge
    data = block * (20 * 1024 * 1024 // len(block) + 1)
    status, text, found, _ = plan(data)
    check(status == 0 and len(found["cards"]) == data.count("05:00.0") == text.count("P104-100 [10de:1b87]"), len(found["cards"]))


def test_two_machines():
    """Two machines one after the other with cards of one address: both planned, each with its own port, told apart by the line."""
    other = GOOD.replace("00:1c.0", "00:01.0")
    status, text, found, errors = plan(GOOD + other)
    first = GOOD[:GOOD.index("01:00.0 3D")].count("\n") + 1
    second = GOOD.count("\n") + first
    heads = [line for line in text.splitlines() if line.startswith("0000:01:00.0 ")]
    check(status == 0 and [head.split("] ")[1] for head in heads] == [f"(line {first} of the dump) behind 00:1c.0",
                                                                      f"(line {second} of the dump) behind 00:01.0"], text)
    check([(card["line"], card["port"]) for card in found["cards"]] == [(first, "0000:00:1c.0"), (second, "0000:00:01.0")], found)
    check([finding["code"] for finding in found["findings"]] == ["dump-address-again"] and f"lines {first} and {second}" in errors, errors)
    check("of the dump" not in plan(GOOD)[1] and plan(GOOD)[2]["cards"][0]["line"] == first, "one machine")
    check(len(plan(GOOD + other, "1:00.0")[2]["cards"]) == 2, "both are meant")


def test_long_line():
    """Twenty megabytes without a line end, then a good dump."""
    status, text, _, _ = plan("x" * (20 * 1024 * 1024) + "\n" + GOOD)
    check(status == 0 and "step aspm" in text, text[:200])


def test_endless_input():
    """A pipe that never ends is given up."""
    with open("/dev/zero", "rb") as zero:
        answer = subprocess.run([PROGRAM, "plan", "-F", "-"], stdin=zero, capture_output=True, timeout=110, check=False)
    check(answer.returncode == 2 and b"File too large" in answer.stderr, answer.stderr)


def test_stdin():
    """- is standard input."""
    answer = run("plan", "-F", "-", stdin=GOOD.encode())
    check(answer.returncode == 0 and answer.stdout.decode() == plan(GOOD)[1], answer.stdout)


def test_not_a_file():
    """A folder, a missing file, an unreadable name: status 2, one line with the reason."""
    for name, words in ((WORK, "Is a directory"), (WORK / "missing", "No such file"), ("", "No such file")):
        answer = run("plan", "-F", name)
        check(answer.returncode == 2 and words in answer.stderr.decode() and answer.stderr.count(b"\n") == 1, answer.stderr)
        check(document(run("plan", "-F", name, "--json"))["findings"][0]["code"] == "input", name)


def test_pick_card():
    """A plan for one card of a dump; an address that is not there is a mistake."""
    check(plan(GOOD, "1:0.0")[0] == 0, "short address")
    check(plan(GOOD, "all")[0] == 0, "all")
    check(plan(GOOD, "02:00.0")[0] == 2, "another address")


def test_every_name_counts():
    """A name behind a good one that fits nothing is a mistake too."""
    for words in (["1:0.0", "junk"], ["junk", "1:0.0"], ["1:0.0", "02:00.0"], ["all", "junk"]):
        status, text, found, _ = plan(GOOD, *words)
        check(status == 2 and text == "" and "no mining card of that address" in found["findings"][0]["evidence"], words)


def test_many_cards():
    """A hundred thousand cards, each looking for its port, in seconds: no card goes through all devices."""
    card = "".join(GOOD[GOOD.index("01:00.0 3D"):].splitlines(True)[:5])
    data = "".join(card.replace("01:00.0", f"{i >> 8 & 0xffff:04x}:{i & 255:02x}:00.0") for i in range(1, 100000))
    start = time.monotonic()
    file = WORK / "many"
    file.write_text(data, encoding="utf-8")
    answer = run("plan", "-F", file, timeout=100)
    check(answer.returncode == 0 and answer.stdout.count(b"P104-100 [10de:1b87]") == 99999, answer.stdout[:200])
    check(time.monotonic() - start < 20, f"{time.monotonic() - start:.0f} s")


def test_skipped_slot():
    """Of a slot that is left alone nothing is planned and nothing told."""
    text = plan(GOOD, "--set", "skip=0000:01:00.0", "--set", "speed=gen1")[1]
    check(text.splitlines()[1:] == ["  state skipped"], text)


def test_unknown_port():
    """Without a port the cap is unknown, and so is the state."""
    alone = GOOD[GOOD.index("01:00.0 3D"):]
    settled = re.sub(r"^80: (.*)$", lambda line: f"80: {line[1][:24]}00 00{line[1][29:]}", alone, flags=re.M)
    text = plan(settled, "--set", "speed=gen1")[1]
    check("cap unknown" in text and "state unchanged" not in text, text)
    check("state unchanged" in plan(settled)[1], plan(settled)[1])


def test_port_of_ones():
    """A port that reads all ones is not missing."""
    head = GOOD[GOOD.index("00:1c.0 PCI"):].splitlines()[0]
    ones = head + "\n" + "\n".join(f"{at:02x}:" + " ff" * 16 for at in range(0, 256, 16)) + "\n\n"
    text = plan(ones + GOOD[GOOD.index("01:00.0 3D"):])[1]
    check(text.splitlines()[0].endswith("port not found: a device of the dump reads all ones"), text)


def test_speed_unknown():
    """A link that tells no speed is not "already unknown": Link Status of the card at 8a (PCIe r6.0 7.5.3.8) is zero."""
    bridge, card = GOOD.split("01:00.0 3D")
    card = re.sub(r"^80: (.{30})(?:.. ..)", r"80: \g<1>00 00", card, flags=re.M)
    text = plan(bridge + "01:00.0 3D" + card, "--set", "speed=gen1")[1]
    check("speed unknown" in text and "no retrain (link speed unknown)" in text, text)


def test_set():
    """Parameters are those of the module, with its messages."""
    for words, part in (("speed=gen9", "speed accepts keep, gen1, gen2, gen3, gen4"), ("colour=red", "no module parameter"),
                        ("speed", "key=value"), ("=x", "no module parameter"), ("ids=8086:1234", "ids accepts"),
                        ("speed=", "speed accepts"), ("aspm=OFF", "aspm accepts")):
        answer = run("plan", "--set", words)
        check(answer.returncode == 2 and part in answer.stderr.decode(), answer.stderr)
    check("aspm l0s+l1(keep)" in plan(GOOD, "--set", "aspm=keep")[1], "keep")
    check(plan(GOOD, "--set", "skip=0000:01:00.0")[2]["cards"][0]["quirks"]["state"] == "skipped", "skip")
    check(plan(GOOD, "--set", "dry_run=Y")[2]["cards"][0]["quirks"]["state"] == "dry-run", "dry_run")
    titan = (CASES / "titan-v-not-a-mining-card.txt").read_text(encoding="utf-8")
    check(plan(titan, "--set", "ids=10de:1d81")[2]["cards"][0]["name"] == "user-added", "ids")


def test_usage():
    """Bad command lines: status 2, one line; with --json also a document."""
    for words, part in ((["lst"], "did you mean 'list'"), (["chekc"], "did you mean 'check'"), (["zzzzzzzz"], "unknown command"),
                        (["list", "--nothing"], "unknown option --nothing"), (["list", "-q"], "unknown option -q"),
                        (["plan", "-F"], "needs a value"), (["list", "-F", "x"], "--file does not go with list"),
                        (["metrics", "--to", ""], "--to needs the name of a file"), (["report", "--to", ""], "--to needs the name of a file"),
                        (["check", "--level", "fast"], "accepted are quick, standard, long"),
                        (["check", "--wait-driver", "x"], "accepted are 0 to 3600"),
                        (["check", "--wait-driver", "-1"], "accepted are 0 to 3600"),
                        (["list", "card0"], "neither a PCI address"), (["check", "1:00.9"], "neither a PCI address"),
                        (["status", "../../etc/passwd"], "neither a PCI address"), (["explain", "nothing"], "no finding 'nothing'"),
                        (["check", "--config", str(WORK / "missing")], "No such file"), (["--nothing"], "unknown option")):
        answer = run(*words)
        check(answer.returncode == 2 and answer.stdout == b"", f"{words}: {answer.returncode} {answer.stdout!r}")
        check(part in answer.stderr.decode() and answer.stderr.count(b"\n") == 1, f"{words}: {answer.stderr!r}")
        check(document(run(*words, "--json"))["findings"], words)


def test_no_device():
    """An address without a device: not testable."""
    answer = run("check", "ffff:ff:1f.7", "--json")
    check(answer.returncode == 3 and document(answer)["findings"][0]["code"] == "card-not-found", answer.stdout)
    for command in ("list", "plan"):
        answer = run(command, "ff:1f.7")
        check(answer.returncode == 3 and answer.stdout == b"" and b"[card-not-found]" in answer.stderr, answer)


def test_cut_device():
    """A device of a dump whose lines are cut: named, and the others are printed."""
    cut = GOOD + "\n02:00.0 3D controller: NVIDIA Corporation\n00: de 10 07 1c 06 04 10 00\n"
    answer = run("plan", "-F", "-", "--json", stdin=cut.encode())
    found = document(answer)
    check(answer.returncode == 0 and [f["code"] for f in found["findings"]] == ["dump-device"], found["findings"])
    check(found["findings"][0]["bdf"] == "0000:02:00.0" and len(found["cards"]) == 1, found)


def test_not_nvidia():
    """An address of something else."""
    path = WORK / "machine"
    path.write_text(machine.describe(machine.devices(CASES / "p104-100-with-port.txt"), {"0000:01:00.0": "0000:00:1c.0"}), encoding="utf-8")
    answer = run("check", "00:1c.0", "--json", machine=path)
    check(answer.returncode == 2 and [f["code"] for f in document(answer)["findings"]] == ["card-not-nvidia"], answer.stdout)


def test_not_root():
    """What only root may do says so, and how."""
    program = WORK / "softtape"
    shutil.copy(PROGRAM, program)
    WORK.chmod(0o755)
    before = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    for words in (["rescan"], ["inventory", "save"]):
        answer = subprocess.run([*before, program, *words, "--json"], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
        found = document(answer)["findings"]
        check(answer.returncode == 3 and [f["code"] for f in found] == ["permission"], found)


def test_help():
    """The help begins with three examples and names every command and option."""
    answer = run("--help")
    lines = answer.stdout.decode().splitlines()
    check(answer.returncode == 0 and all("softtape " in line for line in lines[:3]) and lines[3] == "", lines[:4])
    for word in ("list", "plan", "check", "rescan", "status", "explain", "advise", "report", "--to", "--compat", "--json", "--set", "--tree", "--level", "--force"):
        check(word in answer.stdout.decode(), word)


def test_help_of_commands():
    """Each command's own help begins with an example that is no misuse, and has its options and no others."""
    whole = run("--help").stdout.decode()
    users = dict(re.findall(r"^  (?:-\w, )?(--[\w-]+).*\[([a-z ]+)\]$", whole, re.M))
    for command in re.findall(r"^  (\w+)", whole.split("Commands:")[1].split("Options")[0], re.M):
        answer = run(command, "-h")
        text = answer.stdout.decode()
        check(answer.returncode == 0 and f"Usage: softtape {command} " in text, text)
        wanted = {name for name, commands in users.items() if command in commands.split()} | {"--json", "--help", "--version"}
        check(set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)) == wanted, f"{command}: {text}")
        example = text.splitlines()[0].removeprefix("sudo ").split()
        check(example[:2] == ["softtape", command], example)
        check(run(*example[1:], "--help").returncode == 0, f"{example}: not understood")
    check(run("lst", "--help").stdout.decode() == whole, "of an unknown command")


def test_man_options():
    """The man page has a paragraph for each option of the help, and none for another."""
    helped = set(re.findall(r"^  (?:-., )?--([a-z-]+)", run("--help").stdout.decode(), re.M))
    text = (TOP / "man/softtape.1.scd").read_text(encoding="utf-8")
    options = text[text.index("# OPTIONS"):text.index("# EXIT STATUS")]
    found = {word for line in re.findall(r"^\*-.*", options, re.M) for word in re.findall(r"\*--([a-z-]+)\*", line)}
    check(len(helped) > 15 and found == helped, f"only in one of them: {found ^ helped}")


def test_supported():
    """The list of cards as the module has it, and nothing of this machine."""
    rows = subprocess.run([TOP / "scripts/cards"], capture_output=True, check=True).stdout.decode().splitlines()
    cards = [(f"10de:{number}", name, f"{compute[0]}.{compute[1]}") for number, name, compute in (row.split("\t") for row in rows)]
    answer = run("list", "--supported")
    check(answer.returncode == 0 and len(cards) == 25, answer)
    check(answer.stdout.decode().splitlines() == [f"{ident}  {compute}  {name}" for ident, name, compute in cards], answer.stdout)
    found = document(run("list", "--supported", "--json"))
    check([(row["id"], row["name"], row["compute"]) for row in found["list"]["supported"]] == cards and not found["cards"], found)
    for words in (["1:00.0"], ["--tree"], ["--any"]):
        check(run("list", "--supported", *words).returncode == 2, words)


def test_version():
    """The version is dkms.conf's."""
    version = re.search(r'^PACKAGE_VERSION="(.*)"$', (TOP / "dkms.conf").read_text(encoding="utf-8"), re.M)[1]
    check(run("--version").stdout.decode() == f"softtape {version}\n", version)


def test_explain():
    """Every finding has a page, and all of them are in the schema's words."""
    codes = [finding["code"] for finding in document(run("explain", "--json"))["findings"]]
    check(len(codes) == len(set(codes)) > 40, codes)
    for code in codes:
        answer = run("explain", code)
        check(answer.returncode == 0 and answer.stdout.decode().startswith(f"{code} ("), code)


def test_full_disk():
    """Output that cannot be written is a failure."""
    with open("/dev/full", "wb") as full:
        answer = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    check(answer.returncode == 2 and b"No space left" in answer.stderr, answer.stderr)


def test_closed_output():
    """A closed standard output is a failure, and no file that is opened later takes its place."""
    for words in (["--help"], ["plan", "-F", str(CASES / "cmp-40hx-stock.txt")]):
        answer = subprocess.run(["sh", "-c", 'exec "$@" <&- >&-', "sh", PROGRAM, *words], stderr=subprocess.PIPE, check=False)
        check(answer.returncode == 2 and b"Bad file descriptor" in answer.stderr, f"{words}: {answer.stderr}")


def test_no_color_without_terminal():
    """No escape characters in a pipe, whatever the environment."""
    check(b"\033" not in run("list", env={"TERM": "xterm-256color", "CLICOLOR_FORCE": "1"}).stdout, "escape")


def test_schema_refuses():
    """The schema is not satisfied by anything."""
    good = document(run("plan", "-F", CASES / "cmp-40hx-stock.txt", "--json"))
    for change in (lambda d: d.pop("schema"), lambda d: d.update(schema=2), lambda d: d.update(exit=9),
                   lambda d: d.update(verdict="ok"), lambda d: d["cards"][0].pop("link"),
                   lambda d: d["cards"][0]["link"].update(width=0), lambda d: d["cards"][0].update(bdf="01:00.0"),
                   lambda d: d["cards"][0]["quirks"].update(aspm="unknown"), lambda d: d["cards"][0]["steps"][0].pop("to")):
        bad = json.loads(json.dumps(good))
        change(bad)
        check(list(VALIDATOR.iter_errors(bad)), "a broken document passed")


if __name__ == "__main__":
    try:
        main([value for name, value in list(globals().items()) if name.startswith("test_")])
    finally:
        for left in WORK.iterdir():
            left.unlink()
        os.rmdir(WORK)
