#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command doctor on hosts made from text, and the documents made from the table of findings."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import time

import hosts
from hosts import on_host
from lib import PROGRAM, TOP, VALIDATOR, check, document, main, run

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-doctor-"))
NAMES = sorted(path.stem for path in hosts.HOSTS.glob("*.txt"))


def findings(answer):
    """Codes with addresses, what could not be seen left out."""
    return sorted({(f["code"], f["bdf"]) for f in document(answer)["findings"] if f["code"] != "not-seen"}, key=str)


def test_hosts():
    """Each host of the fixtures has the findings it names and no other, each with its evidence and command."""
    check(len(NAMES) > 30, NAMES)
    wrong = []
    for name in NAMES:
        host = hosts.Host(WORK / "host", name)
        answer = on_host(host, "doctor", "--json")
        found, expected = findings(answer), sorted(set(host.expected), key=str)
        if found != expected:
            wrong.append(f"{name}: missing {[f for f in expected if f not in found]}, extra {[f for f in found if f not in expected]}")
        for finding in document(answer)["findings"]:
            check(finding["evidence"] and finding["command"], f"{name}: {finding}")
    check(not wrong, "; ".join(wrong))


def test_status():
    """Exit statuses: nothing wrong, warnings, errors, off the bus, fewer cards than expected, no card."""
    for name, status in (("healthy", 0), ("stale-module", 5), ("nouveau", 3), ("off-the-bus", 4), ("mining-six", 1), ("no-card", 3)):
        answer = on_host(hosts.Host(WORK / "host", name), "doctor")
        check(answer.returncode == status and not answer.stderr, f"{name}: {answer.returncode} {answer.stderr!r}")
    healthy = hosts.Host(WORK / "host", "healthy")
    check(b"nothing wrong was found" in on_host(healthy, "doctor").stdout, "healthy")
    check(on_host(healthy, "doctor", "--expect", "2").returncode == 1, "--expect 2")
    check(on_host(healthy, "doctor", "--expect", "1").returncode == 0, "--expect 1")
    check(on_host(healthy, "doctor", "1:00.0").returncode == 2, "a card")


def test_apt_lines():
    """What to type for the driver on this release, with these sources and this kernel."""
    tail = " nvidia-kernel-dkms nvidia-smi libcuda1 libnvidia-ptxjitcompiler1 nvidia-modprobe nvidia-persistenced && sudo reboot"
    one_line = "sudo sed -i -E 's/^(deb .* main)( .*)?$/\\1 contrib non-free non-free-firmware/' /etc/apt/sources.list && "
    deb822 = "sudo sed -i 's/^Components:.*/Components: main contrib non-free non-free-firmware/' " \
             "/etc/apt/sources.list.d/debian.sources && "
    for name, wanted in (("no-driver-one-line", one_line + "sudo apt update && sudo apt install linux-headers-amd64" + tail),
                         ("no-driver-deb822", deb822 + "sudo apt update && sudo apt install linux-headers-amd64" + tail),
                         ("no-driver-non-free-on", "sudo apt update && sudo apt install linux-headers-cloud-amd64" + tail)):
        host = hosts.Host(WORK / "host", name)
        for words in (["doctor", "--json"], ["check", "--level", "quick", "--json"], ["status", "--json"]):
            found = document(on_host(host, *words))
            command = [f["command"] for f in found["findings"] if f["code"] == "no-nvidia-module"]
            check(command == [wanted], f"{name}: {words[0]}: {command}")


def test_apt_lines_work():
    """The two sed lines do to the sources what they promise."""
    for name, path in (("no-driver-one-line", "etc/apt/sources.list"), ("no-driver-deb822", "etc/apt/sources.list.d/debian.sources")):
        host = hosts.Host(WORK / "host", name)
        command = [f["command"] for f in document(on_host(host, "doctor", "--json"))["findings"] if f["code"] == "no-nvidia-module"][0]
        line = command.split(" && ")[0].removeprefix("sudo ").replace(f"/{path}", str(host.root / path))
        subprocess.run(line, shell=True, check=True)
        text = (host.root / path).read_text(encoding="utf-8")
        check(text.count(" main contrib non-free non-free-firmware\n") == 2 and "non-free-firmware non-free" not in text, text)
        answer = on_host(host, "doctor", "--json")
        command = [f["command"] for f in document(answer)["findings"] if f["code"] == "no-nvidia-module"][0]
        check(command.startswith("sudo apt update"), command)


def test_without_rights():
    """A user sees most of it, and is told what not."""
    host = hosts.Host(WORK / "host", "aer-log")
    (host.root / "dev/kmsg").chmod(0)
    (host.root / "var/lib/dkms").chmod(0)
    (host.root / "dev/nvidia0").chmod(0)
    program = WORK / "softtape"
    shutil.copy(PROGRAM, program)
    WORK.chmod(0o755)
    before = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    preload = os.environ.get("SOFTTAPE_PRELOAD", "")
    env = {**os.environ, **host.environment(), "LC_ALL": "C.UTF-8"}
    env["LD_PRELOAD"] = preload + env["LD_PRELOAD"]
    answer = subprocess.run([*before, program, "doctor", "--json"], capture_output=True, env=env, check=False)
    found = {f["code"]: f for f in document(answer)["findings"]}
    (host.root / "var/lib/dkms").chmod(0o755)
    check("kernel log" in found["not-seen"]["evidence"] and "/var/lib/dkms" in found["not-seen"]["evidence"], found)
    check("aer-uncorrected" in found and "aer-storm" not in found, found)
    check("nodes-denied" in found, list(found))


def test_xids():
    """Each number once, also one whose digits stand in another's, and all occurrences counted."""
    host = hosts.Host(WORK / "host", "bridge-states")
    said = [f["evidence"] for f in document(on_host(host, "doctor", "--json"))["findings"] if f["code"] == "xid-card"]
    check(len(said) == 1 and said[0].startswith("Xid 62, 6, 3 times; last: "), said)


def children(pid):
    """Processes that this one has started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        found += [path.parent] if int(words[1]) == pid else []
    return found


def test_nvml_hangs():
    """An NVML that never answers costs seconds and is told; the process that asks it holds nobody's output."""
    host = hosts.Host(WORK / "host", "healthy")
    env = {**os.environ, **hosts.surroundings(host), "LC_ALL": "C.UTF-8", "SOFTTAPE_FAKE": "nvmlInit_v2=hang"}
    start = time.monotonic()
    with subprocess.Popen([PROGRAM, "doctor", "--json"], stdout=subprocess.PIPE, env=env) as process:
        asking = []
        while not asking and time.monotonic() - start < 30:
            asking = [path for path in children(process.pid) if "libnvidia-ml" in (path / "maps").read_text(encoding="utf-8")]
        held = {os.readlink(path) for path in (asking[0] / "fd").iterdir()}
        output, _ = process.communicate(timeout=30)
    found = {f["code"]: f["evidence"] for f in json.loads(output)["findings"]}
    check(held == {"/dev/null"}, held)
    check("temperatures and fans (NVML: no answer)" in found.get("not-seen", "") and time.monotonic() - start < 20, found)


def test_two_alike():
    """What is the same for each card is told once to people, and per card in JSON."""
    host = hosts.Host(WORK / "host", "two-without-driver")
    text = on_host(host, "doctor").stdout.decode()
    check(text.count("[no-nvidia-module]") == 1 and "also 0000:02:00.0" in text, text)
    found = document(on_host(host, "doctor", "--json"))["findings"]
    check(len([f for f in found if f["code"] == "no-nvidia-module"]) == 2, found)


def test_language():
    """Findings are told in the language of the locale, or as asked; JSON stays English."""
    host = hosts.Host(WORK / "host", "nouveau")
    text = on_host(host, "doctor", env={"LC_ALL": "zh_CN.UTF-8"}).stdout.decode()
    check("nouveau 占用了卡 [owner-nouveau]" in text, text)
    check("错误: " in text and "\n  处理: " in text and "softtape explain 代码" in text and "  do: " not in text, text)
    check("nouveau 占用了卡" in on_host(host, "doctor", "--lang", "zh").stdout.decode(), "--lang zh")
    check("nouveau owns the card" in on_host(host, "doctor", "--lang", "en", env={"LC_ALL": "zh_CN.UTF-8"}).stdout.decode(), "--lang en")
    check("nouveau owns the card" in on_host(host, "doctor", "--json", "--lang", "zh").stdout.decode(), "JSON")
    check(run("explain", "--lang", "fr").returncode == 2, "fr")


def every_code():
    """Code to severity."""
    return {f["code"]: f["severity"] for f in document(run("explain", "--json"))["findings"]}


def on_terminal(host, columns, *words):
    """What the program shows on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([PROGRAM, *words], env={**os.environ, **hosts.surroundings(host), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
                          stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL):
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # the other end is closed
            pass
    os.close(master)
    return text.decode().replace("\r", "")


def test_terminal():
    """On a terminal of 80 columns nothing is wider but commands, which are to be copied; elsewhere nothing is shortened."""
    host = hosts.Host(WORK / "host", "mining-six")
    for words in (["list"], ["doctor"], ["advise"], []):
        text = on_terminal(host, 80, *words)
        check("05:00.0 P106-100 [10de:1c07] 2.5GT/s,x1 of x16 " in text or words == ["advise"], text)
        wide = [line for line in text.split("\n") if len(line) > 80 and "run:" not in line and "undo:" not in line]
        check(not wide, wide)
    check("\n└─01:00.0 " in on_terminal(host, 80, "list", "--tree"), "the tree")
    wide = on_terminal(host, 132, "list")
    check(wide == on_host(host, "list").stdout.decode() and "0000:05:00.0 P106-100 [10de:1c07] 2.5GT/s,x1(max 2.5GT/s,x16)" in wide, wide)


def test_last_check():
    """What a check found is told, with the verdict that it has: doctor itself cannot see it."""
    healthy = hosts.Host(WORK / "host", "healthy")
    for script, code, status in (("known=7", "data-fault", 1), ("alias=16", "memory-aliased", 1), ("compute=75", "chip-differs", 5),
                                 ("throttle=128", "throttled", 5), ("uneven=3", "uneven-copy", 5), ("smhole=3", "sm-unseen", 5),
                                 ("bandwidth=60000", "slow-memory", 5), ("cuMemAlloc_v2=code:719", "gpu-fault", 3)):
        checked = on_host(healthy, "check", "--level", "quick", "--json", env={"SOFTTAPE_FAKE": f"link=840 {script}"})
        check(code in [f["code"] for f in document(checked)["findings"]], f"{script}: {checked.stdout}")
        answer = on_host(healthy, "doctor", "--json")
        found = {f["code"]: f for f in document(answer)["findings"]}
        check(code in found and found[code]["evidence"].startswith("last check: "), f"{script}: {list(found)}")
        check(answer.returncode == status, f"{code}: status {answer.returncode}")
        check("nothing wrong" not in on_host(healthy, "doctor").stdout.decode(), code)


def test_every_finding():
    """Each finding is triggered by a host of the fixtures, or in a test by its code or its symbol."""
    symbols = {code: name for file in ("finding.h", "selftest.h")
               for name, code in re.findall(r'X\((\w+),\s+"([a-z0-9-]+)"', (TOP / "user" / file).read_text(encoding="utf-8"))}
    hosts_have = {line.split()[1] for name in NAMES for line in hosts.lines_of(name) if line.startswith("expect ")}
    python = "".join(path.read_text(encoding="utf-8") for path in (*(TOP / "tests/user").glob("*.py"), *(TOP / "tests/boot/scenarios").glob("*.py")))
    symbols_used = "".join(path.read_text(encoding="utf-8") for path in (TOP / "tests/user").glob("*_test.c"))
    without = [code for code in every_code() if code not in hosts_have and f'"{code}"' not in python
               and not re.search(rf"\b{symbols[code]}\b", symbols_used)]
    check(not without, without)


def test_mixed():
    """Where no driver fits all GPUs, no command is given that takes the driver from another one."""
    found = document(on_host(hosts.Host(WORK / "host", "laptop-m2-pascal"), "doctor", "--json"))["findings"]
    command = {f["code"]: f["command"] for f in found}
    check(command["open-flavour"] == "softtape advise" == command["no-common-driver"], command)


def test_documents():
    """Man section, table and catalog have every finding, in both languages, and a command that is the same everywhere."""
    codes = every_code()
    for language, heads in (("en", ("symptom (code)", "Subject: nouveau owns the card")),
                            ("zh", ("现象（代码）", "Subject: nouveau 占用了卡"))):
        table = run("explain", "--output", "table", "--lang", language).stdout.decode()
        check(table.startswith(f"| {heads[0]} |"), table[:80])
        rows = re.findall(r"^\| .* \(`([a-z0-9-]+)`\) \|", table, re.M)
        check(sorted(rows) == sorted(code for code in codes if code != "usage"), rows)
        check(all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in table.splitlines()), "a row has not three cells")
        check(os.uname().release not in table and "$(uname -r)" in table, "the command is this machine's")
        man = run("explain", "--output", "man", "--lang", language).stdout.decode()
        check(re.findall(r"^\*([a-z0-9-]+)\* \(", man, re.M) == list(codes), "man")
        catalog = run("explain", "--output", "catalog", "--lang", language).stdout.decode()
        ids = re.findall(r"^-- ([0-9a-f]{32})$", catalog, re.M)
        check(len(ids) == len(set(ids)) == len(codes) and heads[1] in catalog, len(ids))
        for cause in ("libcuda-absent", "host-error"):
            check(("libcuda.so.1" in man) and cause in man, cause)
    chinese = run("explain", "--output", "table", "--lang", "zh").stdout.decode()
    check(not [line for line in chinese.splitlines()[2:] if not re.search("[\u4e00-\u9fff]", line)], "a row without Chinese")


def test_json_option():
    """JSON is promised also for --json= and the short forms that getopt takes."""
    for words in (["list", "--json=x"], ["list", "--js"], ["list", "--output", "json"], ["list", "--output=json"]):
        document(run(*words))
    check(run("list", "--", "--json").stdout == b"", "behind --")
    for words in (["list", "--output", "man"], ["explain", "--output", "prom"], ["list", "--output", "x"]):
        check(run(*words).returncode == 2, words)


def test_schema_of_facts():
    """Facts are words."""
    found = document(on_host(hosts.Host(WORK / "host", "healthy"), "doctor", "--json"))
    check(found["facts"]["nvidia"] == "535.261.03, proprietary, loaded" and found["facts"]["kernel"].startswith("6.1.0-57"), found["facts"])
    found["facts"]["nvidia"] = 5
    check(list(VALIDATOR.iter_errors(found)), "a number passed")


def test_copies():
    """What the table was copied to is what it says now."""
    answer = subprocess.run([TOP / "scripts/findings"], capture_output=True, env={**os.environ, "PROGRAM": PROGRAM}, check=False)
    check(answer.returncode == 0, answer.stdout.decode() + answer.stderr.decode())


if __name__ == "__main__":
    try:
        main([value for name, value in list(globals().items()) if name.startswith("test_")])
    finally:
        shutil.rmtree(WORK)
