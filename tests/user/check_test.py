#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command check on machines that umockdev plays, with the simulated libcuda: verdicts, state files, locks, signals."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import machine
from lib import CASES, FAKE, PROGRAM, VALIDATOR, Skip, check, document, main, run, surrounding

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-check-"))
STATE = WORK / "state"
CARD, PORT = "0000:01:00.0", "0000:00:1c.0"
PARENTS = {CARD: PORT}


def build(name="machine", driver="nvidia", quirks=True, settled=True, resource=None, gone=False, second=False):
    """Writes a machine with the P104-100 of the cases behind its port."""
    found = machine.devices(CASES / "p104-100-with-port.txt")
    if settled:
        found = {bdf: machine.settle(data) for bdf, data in found.items()}
    if gone:
        found[CARD] = bytearray(b"\xff" * 256)
    text = machine.describe(found, PARENTS, driver, machine.APPLIED if quirks else None, resource)
    if gone:
        text = text.replace("A: vendor=0xffff", "A: vendor=0x10de").replace("A: device=0xffff", "A: device=0x1b87") \
                   .replace("A: class=0xffffff", "A: class=0x030200")
    if second:
        other = {"0000:02:00.0": found[CARD]}
        text += machine.describe(other, {"0000:02:00.0": PORT}, driver, machine.APPLIED if quirks else None)
    path = WORK / name
    path.write_text(text, encoding="utf-8")
    return path


def environment(script=""):
    """Where state goes and what the simulated library does."""
    return {"RUNTIME_DIRECTORY": str(STATE), "LD_LIBRARY_PATH": str(FAKE), "SOFTTAPE_FAKE_FORCE": "1",
            "SOFTTAPE_FAKE": f"link=210 {script}"}


def checked(path, *words, script="", status=0):
    """A check with its JSON document; the state file must say the same as the document."""
    level = [] if "--on-plug" in words or "--level" in words else ["--level", "quick"]
    answer = run("check", *words, *level, "--json", machine=path, env=environment(script))
    check(answer.returncode == status, f"status {answer.returncode}: {answer.stdout.decode()} {answer.stderr.decode()}")
    found = document(answer)
    for card in found["cards"]:
        if "check-running" in [finding["code"] for finding in found["findings"]]:
            continue
        stored = json.loads((STATE / f"{card['bdf']}.json").read_text(encoding="utf-8"))
        VALIDATOR.validate(stored)
        # What is compared with is the caller's.
        check(stored["cards"][0] == {key: value for key, value in card.items() if key != "compare"}, (stored["cards"][0], card))
    return found


def codes(found):
    """Codes of the findings."""
    return [finding["code"] for finding in found["findings"]]


def test_pass():
    """All well: pass, simulated everywhere a person looks."""
    path = build()
    found = checked(path)
    card = found["cards"][0]
    check(found["verdict"] == card["verdict"] == "pass" and found["simulated"] and card["simulated"], found)
    check(card["name"] == "P104-100" and card["driver"] == "nvidia" and card["quirks"]["state"] == "applied", card)
    check([phase["name"] for phase in card["phases"]][:3] == ["driver", "quirks", "library"], card["phases"])
    check({phase["result"] for phase in card["phases"]} == {"pass"}, card["phases"])
    check(card["errors"] == 0 and card["rates"]["link_mbs"] == 210 and codes(found) == [], found)
    for words in (["check", "--level", "quick"], ["status"], ["list"], []):
        text = run(*words, machine=path, env=environment()).stdout.decode()
        check("pass (simulated)" in text, f"{words}: {text}")


def test_state_of_status():
    """status prints what check stored; its status is the verdict's."""
    path = build()
    checked(path, script="known=7", status=1)
    answer = run("status", "--json", machine=path, env=environment())
    found = document(answer)
    check(answer.returncode == 1 and found["verdict"] == "fault" and codes(found) == ["data-fault"], found)
    check(found["cards"][0]["phases"][-1]["name"] == "known-answer" or found["cards"][0]["phases"], found)


def test_data_fault():
    """A wrong word: fault."""
    found = checked(build(), script="known=7", status=1)
    check(found["verdict"] == "fault" and codes(found) == ["data-fault"] and found["cards"][0]["errors"] >= 1, found)
    check("known-answer" in found["findings"][0]["evidence"], found["findings"])


def test_crash():
    """The library crashes: fault, and the verdict still comes."""
    found = checked(build(), script="cuMemAlloc_v2=signal:11", status=1)
    check(codes(found) == ["crashed"], found)


def test_error_code():
    """CUDA reports an error inside a phase: fault."""
    found = checked(build(), script="cuLaunchKernel=code:700", status=1)
    check(codes(found) == ["gpu-fault"], found)


def test_hang():
    """A child that never returns: hung within its deadline, also through a pipe."""
    start = time.monotonic()
    found = checked(build(), script="cuCtxCreate_v2=hang-hard", status=4)
    check(found["verdict"] == "hung" and codes(found) == ["hung"], found)
    check(time.monotonic() - start < 60, "too late")


def test_slow_link():
    """Copies far below what the link carries: degraded."""
    found = checked(build(), script="link=40", status=5)
    check(codes(found) == ["slow-copy"] and found["verdict"] == "degraded", found)


def test_faults_are_explained():
    """Each kind of wrong data has a finding of its own with its places, in people's words too."""
    path = build()
    found = checked(path, script="vram=16 stuck=69632:3:1 h2d=2 smfault=4:1", status=1)
    card = found["cards"][0]
    check([fault["kind"] for fault in card["faults"]] == ["memory-cell", "copy-to-card", "compute"], card["faults"])
    check(card["faults"][0]["at"] == 4096 and card["faults"][0]["reread"] == "same", card["faults"])
    check(card["faults"][2]["sm"] == 4 and card["faults"][2]["unit"] == "fma", card["faults"])
    check(card["statistics"]["bits_up"][3] > 0 and sum(card["statistics"]["bins"]) == card["statistics"]["words"], card)
    check(codes(found) == ["data-fault"] * 3, found["findings"])
    evidence = [finding["evidence"] for finding in found["findings"]]
    check("0x1000 " in evidence[0] and "Which chip it is cannot be told" in evidence[0] and "SM 4 fma" in evidence[2], evidence)
    found = checked(path, script="alias=16", status=1)
    check(codes(found) == ["memory-aliased"] and "of 32 MiB are real" in found["findings"][0]["evidence"], found["findings"])


def test_degraded_parts():
    """Right data, and yet not as it should be."""
    for script, code in (("uneven=4", "uneven-copy"), ("bandwidth=100000", "slow-memory"), ("smhole=2", "sm-unseen"),
                         ("compute=75", "chip-differs")):
        found = checked(build(), script=script, status=5)
        check(codes(found) == [code] and found["verdict"] == "degraded", found["findings"])
    found = checked(build(), script="fma=6")
    check(found["cards"][0]["compute"]["fma_limited"] and codes(found) == [], found["cards"])


def test_levels():
    """What each level runs, with its prediction; a soak at any level."""
    for words, phases in ((["--level", "quick"], ["address", "inversions", "random", "link", "compute"]),
                          (["--level", "quick", "--soak", "2s"], ["address", "inversions", "random", "link", "compute", "soak"])):
        start = time.monotonic()
        card = checked(build(), *words, script="vram=8")["cards"][0]
        ran = [phase["name"] for phase in card["phases"]]
        check(ran == ["driver", "quirks", "library", "init", "device", "context", "jit", "known-answer", "allocation", *phases,
                      "teardown"], ran)
        predicted = sum(phase["predicted_ms"] or 0 for phase in card["phases"])
        check(card["run"]["predicted_ms"] == predicted, card["run"])
        soak = 2000 if "soak" in phases else 0
        check(1200 + soak < predicted < 2000 + soak and (card["run"]["soak_ms"] or 0) == soak, card["run"])
        check(time.monotonic() - start >= soak / 1000, "the soak was too short")
    for duration in ("", "2", "0s", "-1s", "1w", "31d", "2sm", "1e3s"):
        answer = run("check", "--soak", duration, "--json", machine=build(), env=environment())
        check(answer.returncode == 2 and codes(document(answer)) == ["usage"], duration)


def test_inject():
    """Corrupted on purpose: found, status 1 whatever happens, and nothing of it is kept."""
    fresh()
    path = build()
    for kind, number in (("memory", 3), ("copy", 2), ("compute", 1)):
        words = ["check", "--level", "quick", "--inject", kind]
        answer = run(*words, "--json", machine=path, env=environment())
        found = document(answer)
        card = found["cards"][0]
        check(answer.returncode == 1 and card["detector_works"] and card["run"]["inject"] == kind, found)
        check(found["detector"] == "works", found)
        check(card["injected"] == card["detected"] == number, card)
        check("on purpose" in found["findings"][0]["evidence"], found["findings"])
        check(set(codes(found)) == {"injected-found"} and found["findings"][0]["action"] == "none", found["findings"])
        text = run(*words, machine=path, env=environment()).stdout.decode()
        check("detector works" in text and "FAILED" not in text and "retire" not in text, text)
    # A fault of its own beside them: that one is the card's.
    for kind, script in (("memory", "stuck=69632:3:1"), ("copy", "h2d=2"), ("compute", "smfault=4:1")):
        answer = run("check", "--level", "quick", "--inject", kind, "--json", machine=path, env=environment(script))
        check(answer.returncode == 1 and set(codes(document(answer))) == {"data-fault"}, answer.stdout)
    # A card that cannot be tested or does not get that far: nothing was detected.
    for script in ("cuInit=code:100", "cuMemcpyHtoDAsync_v2=code:719", "cuInit=exit:0"):
        answer = run("check", "--level", "quick", "--inject", "memory", machine=path, env=environment(script))
        check(answer.returncode == 1 and b"DETECTOR FAILED" in answer.stdout and b"detector works" not in answer.stdout, answer.stdout)
        answer = run("check", "--level", "quick", "--inject", "memory", "--json", machine=path, env=environment(script))
        check(answer.returncode == 1 and document(answer)["detector"] == "failed", answer.stdout)
    answer = run("check", "--inject", "memory", "0000:99:00.0", machine=path, env=environment())
    check(answer.returncode == 1 and b"DETECTOR FAILED" in answer.stdout, answer.stdout)
    answer = run("check", "--inject", "memory", "0000:99:00.0", "--json", machine=path, env=environment())
    check(answer.returncode == 1 and document(answer)["detector"] == "failed", answer.stdout)
    for words in (["--inject", "memory"], ["--soak", "2s"], ["--compare", "/dev/null"]):
        answer = run("check", "--level", "bind-only", *words, machine=path, env=environment())
        check(answer.returncode == 2 and answer.stderr.count(b"\n") == 1, f"bind-only with {words}: {answer}")
    check(not (STATE / f"{CARD}.json").exists(), "a state file tells of faults that the card does not have")
    answer = run("check", "--inject", "chips", "--json", machine=path, env=environment())
    check(answer.returncode == 2 and codes(document(answer)) == ["usage"], answer.stdout)
    check("detector" not in document(run("check", "--level", "quick", "--json", machine=path, env=environment())), "without --inject")


def test_compare():
    """Beside an earlier document: rates, and a finding when one fell by more than a tenth."""
    path, before = build(), WORK / "before.json"
    before.write_bytes(run("check", "--level", "quick", "--json", machine=path, env=environment()).stdout)
    found = checked(path, "--compare", before)
    whats = [item["what"] for item in found["cards"][0]["compare"]]
    check(whats == ["to_card", "to_host", "memory_read", "memory_write", "integer", "fma", "mul+add", "dp4a"], whats)
    check(codes(found) == [], found["findings"])
    found = checked(path, "--compare", before, script="bandwidth=220000 link=195")
    check(codes(found) == ["slower-than-before"] and "memory_read 2" in found["findings"][0]["evidence"], found["findings"])
    check("to_card" not in found["findings"][0]["evidence"], found["findings"])
    text = run("check", "--level", "quick", "--compare", before, machine=path, env=environment("link=420")).stdout.decode()
    check("compared: to_card 4" in text and "(+10" in text, text)
    for content, status in ((b"{}", 2), (b"no json", 2), (before.read_bytes().replace(b"10de:1b87", b"10de:1c07"), 0)):
        other = WORK / "other.json"
        other.write_bytes(content)
        answer = run("check", "--level", "quick", "--compare", other, "--json", machine=path, env=environment())
        check(answer.returncode == status and codes(document(answer)) == ["input"], answer.stdout)
    answer = run("check", "--compare", WORK / "nowhere", "--json", machine=path, env=environment())
    check(answer.returncode == 2, answer.stdout)


def test_no_library():
    """No libcuda: not testable, with the library's own code."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        raise Skip("this machine has a libcuda")
    answer = run("check", "--json", machine=build(), env={**environment(), "LD_LIBRARY_PATH": ""})
    found = document(answer)
    check(answer.returncode == 3 and codes(found) == ["libcuda-absent"] and not found["simulated"], found)


def test_module_absent():
    """Passing without the kernel module: degraded."""
    found = checked(build(quirks=False), status=5)
    check(codes(found) == ["softtape-absent"] and found["cards"][0]["quirks"]["state"] is None, found)


def test_drifted():
    """Registers that the module left off and that are on now."""
    if os.geteuid():
        raise Skip("only root compares registers")
    found = checked(build(settled=False), status=5)
    check(codes(found) == ["drifted"] and "aspm is l0s+l1" in found["findings"][0]["evidence"], found)


def test_no_driver():
    """No driver, no module for this kernel: said at once, with the command."""
    if pathlib.Path("/sys/module/nvidia").exists():
        raise Skip("this machine has the nvidia driver")
    start = time.monotonic()
    found = checked(build(driver=None), status=3)
    check(codes(found) == ["no-nvidia-module"] and "apt install" in found["findings"][0]["command"], found)
    check(time.monotonic() - start < 20, "waited for a driver that cannot come")


def test_owners():
    """Somebody else has the card."""
    for driver, code in (("nouveau", "owner-nouveau"), ("vfio-pci", "owner-vfio"), ("other", "owner-other")):
        found = checked(build(driver=driver), status=3)
        check(codes(found) == [code] and found["verdict"] == "not-testable", found)


def test_no_space():
    """BAR 1 got no address."""
    found = checked(build(driver=None, resource=[machine.RESOURCE[0], "0x0 0x0 0x0"]), status=3)
    check(codes(found) == ["bar-unassigned"], found)


def test_gone():
    """Config space reads all ones: lost."""
    found = checked(build(driver=None, gone=True), status=4)
    check(found["verdict"] == "lost" and "off-the-bus" in codes(found), found)


def test_not_a_mining_card():
    """An explicit address works on any NVIDIA card; quirks are not its business."""
    found = machine.devices(CASES / "gtx-1070-not-a-mining-card.txt")
    path = WORK / "gtx"
    path.write_text(machine.describe(found, {}, "nvidia"), encoding="utf-8")
    answer = run("check", "--json", machine=path, env=environment())
    check(answer.returncode == 3 and codes(document(answer)) == ["no-card"], answer.stdout)
    answer = run("check", "--level", "quick", "1:00.0", "--json", machine=path, env=environment("link=13232"))
    found = document(answer)
    check(answer.returncode == 0 and codes(found) == [] and found["cards"][0]["quirks"]["state"] is None, found)
    text = run("check", "--level", "quick", "--any", machine=path, env=environment()).stdout.decode()
    check("quirks not applicable" in text, text)
    check(run("list", machine=path).stdout == b"no mining card\n", "list")
    check(b"10de:1b81" in run("list", "--any", machine=path).stdout, "list --any")


def test_two_cards():
    """Both are checked, the worst counts."""
    path = build(second=True)
    found = checked(path)
    check([card["verdict"] for card in found["cards"]] == ["pass", "pass"], found)
    tree = run("list", "--tree", machine=path).stdout.decode()
    check(f"{PORT}" in tree and "shared by 2 cards" in tree, tree)


def test_together():
    """Cards below one root port copy at once, also when only one may be tested at a time; a card alone does not."""
    config = WORK / "together.conf"
    config.write_text("max_parallel = 1\n", encoding="utf-8")
    path = build(second=True)
    for words in ([], ["--config", config]):
        found = checked(path, *words)
        for card in found["cards"]:
            phase = card["phases"][-1]
            uplink = card["rates"]["uplink"]
            check((phase["name"], phase["result"]) == ("copy-together", "pass"), card["phases"])
            check(uplink["port"] == PORT and uplink["cards"] == 2 and 400 < uplink["together_mbs"] < 440, uplink)
            check(card["verdict"] == "pass" and codes(found) == [], found["findings"])
    # Wrong only then, and a card that leaves: each has its word, and the other one is not held up.
    found = checked(path, script="cuCtxCreate_v2=code:46@1", status=3)
    check(all("copy-together" not in [phase["name"] for phase in card["phases"]] for card in found["cards"]), found["cards"])
    card = checked(build())["cards"][0]
    check(card["rates"]["uplink"] is None and card["phases"][-1]["name"] == "teardown", card["phases"])


def test_telemetry():
    """What NVML offers is kept, what it does not is null; heat degrades; a library that hangs costs nothing."""
    card = checked(build(), script="temp=71 fan=-1 power=150000")["cards"][0]
    told = card["telemetry"]
    check(told["simulated"] and told["samples"] >= 1 and told["temperature_c"] == {"last": 71, "min": 71, "max": 71}, told)
    check(told["fan_percent"] is None and told["power_mw"]["max"] == 150000 and told["memory_mhz"]["last"] == 5005, told)
    check(told["trend"][0]["temperature_c"] == 71 and card["link_errors"]["replays"] == 0, card)
    for script, code, status in (("temp=89", [], 0), ("temp=90", ["card-hot"], 5), ("throttle=0x40", ["card-hot"], 5),
                                 ("throttle=0x48 temp=95", ["card-hot"], 5), ("throttle=0x4", [], 0),
                                 ("throttle=0x80", ["throttled"], 0), ("throttle=-1 temp=-1 replay=-1 smclock=-1", [], 0),
                                 ("replay=1 cuCtxCreate_v2=delay:1500", ["link-errors"], 5)):
        found = checked(build(), script=script, status=status)
        check(codes(found) == code, (script, found["findings"]))
    for trouble in ("nvmlInit_v2=hang-hard", "nvmlDeviceGetTemperature=hang-hard@2", "nvmlDeviceGetPowerUsage=signal:11",
                    "nvmlInit_v2=code:9", "nvmlDeviceGetHandleByPciBusId_v2=code:6", "nvmlDeviceGetClockInfo=exit:0"):
        start = time.monotonic()
        found = checked(build(), script=trouble)
        check(codes(found) == [] and time.monotonic() - start < 15, (trouble, found["findings"]))


def test_slots():
    """One slot: the second card queues; nobody is forgotten."""
    config = WORK / "softtape.conf"
    config.write_text("max_parallel = 1\n", encoding="utf-8")
    found = checked(build(second=True), "--config", config, script="cuInit=delay:1500")
    check(all(card["run"]["queue_ms"] is not None for card in found["cards"]), found)
    queued = [[phase["ms"] for phase in card["phases"] if phase["name"] == "queue"] for card in found["cards"]]
    check(sorted(map(len, queued)) == [0, 1] and max(sum(queued, [])) > 1000, queued)


def start(path, *words, script=""):
    """A check in the background; returns the process of umockdev-run."""
    before, env = surrounding(path, environment(script))
    # Without a shell between, umockdev-run's child is the program.
    return subprocess.Popen([*before, PROGRAM, "check", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def running(timeout=30):
    """The state file once it says that the library is being tried; fails after a time."""
    path, end = STATE / f"{CARD}.json", time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = None
        card = found["cards"][0] if found else None
        if card and card["run"]["state"] == "running" and card["phases"] and card["phases"][-1]["name"] == "init":
            VALIDATOR.validate(found)
            return found
        time.sleep(0.05)
    raise AssertionError("never running")


def parent_of(pid):
    """The process that waits for the one of the card."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def fresh():
    """No state of an earlier test."""
    shutil.rmtree(STATE, ignore_errors=True)


def test_running_and_terminated():
    """SIGTERM: the state is written, the status is 0, nothing is left running."""
    fresh()
    process = start(build(), script="cuInit=hang")
    found = running()
    pid = found["cards"][0]["run"]["pid"]
    check(found["verdict"] is None and found["cards"][0]["simulated"] is not None, found)
    os.kill(parent_of(pid), signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    check(process.returncode == 0, f"{process.returncode} {errors}")
    stored = json.loads((STATE / f"{CARD}.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(stored)
    check(stored["cards"][0]["run"]["state"] == "interrupted" and stored["verdict"] is None, stored)
    check(not pathlib.Path(f"/proc/{pid}").exists(), "the card's process is still there")


def test_interrupted_beside_a_lost_card():
    """Ctrl-C while one card is tested takes nothing back of what is known of another: the worst counts."""
    fresh()
    path = build(second=True)
    first, last = path.read_text(encoding="utf-8").rsplit("P: ", 1)
    path.write_text(first + "P: " + re.sub("(?m)^H: config=.*$", "H: config=" + "FF" * 256, last), encoding="utf-8")
    process = start(path, "--json", script="cuInit=hang")
    pid = running()["cards"][0]["run"]["pid"]
    os.kill(parent_of(pid), signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    found = json.loads(output)
    VALIDATOR.validate(found)
    check([card["verdict"] for card in found["cards"]] == [None, "lost"], found)
    check(process.returncode == found["exit"] == 4 and found["verdict"] == "lost", f"{process.returncode} {found} {errors}")


def test_killed():
    """Killed: the file still says running, readers say interrupted."""
    fresh()
    path = build()
    process = start(path, script="cuInit=hang")
    pid = running()["cards"][0]["run"]["pid"]
    os.kill(parent_of(pid), signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)
    answer = run("status", "--json", machine=path, env=environment())
    found = document(answer)
    check(found["cards"][0]["run"]["state"] == "interrupted" and answer.returncode == 3, found)
    check("interrupted" in run("list", machine=path, env=environment()).stdout.decode(), "list")


def test_card_process_dies():
    """The process of a card is killed: the one that waits says so."""
    fresh()
    process = start(build(), "--json", script="cuInit=hang")
    os.kill(running()["cards"][0]["run"]["pid"], signal.SIGKILL)
    output, _ = process.communicate(timeout=30)
    found = json.loads(output)
    VALIDATOR.validate(found)
    check(process.returncode == 3 and codes(found) == ["host-error"], found)


def test_locked():
    """A second check of the same card is refused, names the first, and leaves its state alone."""
    fresh()
    path = build()
    preload = os.environ.get("SOFTTAPE_PRELOAD", "")
    script = f'export LD_PRELOAD={preload}libumockdev-preload.so.0; "{PROGRAM}" check >"$1" 2>&1 & first=$!; ' \
             f'while ! grep -qs init "{STATE}/{CARD}.json"; do sleep 0.05; done; ' \
             f'"{PROGRAM}" check --json >"$2"; echo $? >"$3"; cp "{STATE}/{CARD}.json" "$4"; kill $first; wait $first'
    env = {**os.environ, **environment("cuInit=hang")}
    files = [WORK / name for name in ("first", "second", "status", "state-then")]
    subprocess.run(["umockdev-run", "--device", path, "--", "sh", "-c", script, "sh", *map(str, files)], check=True, timeout=120, env=env)
    second = json.loads(files[1].read_text(encoding="utf-8"))
    VALIDATOR.validate(second)
    check(files[2].read_text().strip() == "3" and codes(second) == ["check-running"], second)
    check("softtape (pid " in second["findings"][0]["evidence"], second["findings"])
    check(json.loads(files[3].read_text())["cards"][0]["run"]["state"] == "running", "state overwritten")


# Runs a command with a journal of its own and prints what came there.
JOURNAL = """
import os, socket, subprocess, sys, threading
os.makedirs("/run/systemd/journal")
box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
box.bind("/run/systemd/journal/socket")
def read():
    while (got := box.recv(65536)) != b"end":
        print(got.decode(), flush=True)
reader = threading.Thread(target=read)
reader.start()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", "/run/systemd/journal/socket")
reader.join()
"""


def journaled(path, *words):
    """What a check tells the journal."""
    before, env = surrounding(path, environment())
    isolated = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode:
        raise Skip("no mount namespaces for this user")
    return subprocess.run([*isolated, sys.executable, "-c", JOURNAL, *before, PROGRAM, "check", "--level", "quick", *words],
                          capture_output=True, check=True, env=env, timeout=120).stdout.decode()


def test_journal():
    """The verdict goes to the journal; what was corrupted on purpose says nothing of the card, there as in the state file."""
    path = build()
    told = journaled(path)
    if not told and subprocess.run(["pkg-config", "--exists", "libsystemd"], check=False).returncode:
        raise Skip("built without libsystemd")
    check("SOFTTAPE_VERDICT=pass" in told and f"SOFTTAPE_BDF={CARD}" in told and "SOFTTAPE_SIMULATED=1" in told, told)
    check(journaled(path, "--inject", "memory") == "", "a fault that is none")


def test_on_plug():
    """The unit's call does what the configuration says."""
    path, config = build(), WORK / "plug.conf"
    for value, level, phases in (("quick", "quick", True), ("standard", "standard", True), ("bind-only", "bind-only", False)):
        config.write_text(f"on_plug = {value}\n", encoding="utf-8")
        found = checked(path, "--on-plug", CARD, "--config", config)
        names = [phase["name"] for phase in found["cards"][0]["phases"]]
        check(found["cards"][0]["run"]["level"] == level and ("library" in names) == phases, found)
    config.write_text("on_plug = off\n", encoding="utf-8")
    answer = run("check", "--on-plug", CARD, "--config", config, machine=path, env=environment())
    check(answer.returncode == 0 and answer.stdout == b"on_plug=off: nothing is run\n", answer.stdout)
    document(run("check", "--on-plug", CARD, "--config", config, "--json", machine=path, env=environment()))


def test_unplugged():
    """After an unplug the file says lost, and the finding of that comes first; while the card is there it is left alone."""
    path = build()
    checked(path, script="known=7", status=1)
    file = STATE / f"{CARD}.json"
    before = file.read_text(encoding="utf-8")
    run("check", "--on-unplug", CARD, machine=path, env=environment())
    check(file.read_text(encoding="utf-8") == before, "changed")
    empty = WORK / "empty"
    empty.write_text(machine.describe({PORT: machine.devices(CASES / "p104-100-with-port.txt")[PORT]}, {}), encoding="utf-8")
    answer = run("status", "--json", machine=empty, env=environment())
    check(answer.returncode == 4 and document(answer)["verdict"] == "lost", answer.stdout)
    text = run("status", machine=empty, env=environment()).stdout.decode()
    check("lost (simulated)" in text and text.count("[card-missing]") == 1 and ", 1 error\n" in text, text)
    check("[card-missing]" in text.split("[data-fault]")[0], "what the check found comes before what is true now")
    answer = run("check", "--on-unplug", CARD, machine=empty, env=environment())
    stored = json.loads(file.read_text(encoding="utf-8"))
    VALIDATOR.validate(stored)
    check(answer.returncode == 0 and stored["verdict"] == "lost" and stored["cards"][0]["simulated"], stored)
    check(codes(stored) == ["card-missing", "data-fault"], codes(stored))


def test_never_checked():
    """A card without a verdict: nobody knows."""
    fresh()
    answer = run("status", machine=build(), env=environment())
    check(answer.returncode == 3 and b"never checked" in answer.stdout, answer.stdout)


def test_plan_without_root():
    """The first 64 bytes are all that others may read: unknown, and why; status 0."""
    found = {bdf: data[:64] for bdf, data in machine.devices(CASES / "p104-100-with-port.txt").items()}
    path, program = WORK / "short", WORK / "softtape"
    path.write_text(machine.describe(found, PARENTS, "nvidia", machine.APPLIED), encoding="utf-8")
    shutil.copy(PROGRAM, program)
    WORK.chmod(0o755)
    before = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    before, env = before + surrounding(path, {})[0], surrounding(path, {})[1]
    env.pop("XDG_RUNTIME_DIR", None)
    text = subprocess.run([*before, program, "plan"], capture_output=True, env=env, check=True).stdout.decode()
    check("aspm unknown (needs root)" in text and "speed 2.5GT/s,x1(max 2.5GT/s,x4)" in text, text)
    check("step " not in text and "\n  state " not in text, text)
    answer = subprocess.run([*before, program, "plan", "--json"], capture_output=True, env=env, check=True)
    found = json.loads(answer.stdout)
    VALIDATOR.validate(found)
    check(codes(found) == ["needs-root"] and found["cards"][0]["quirks"]["aspm"] is None, found)
    check(found["cards"][0]["link"]["speed"] == "2.5GT/s", found)


def test_no_place_for_state():
    """A state folder that cannot be made is said and does not change the verdict."""
    answer = run("check", "--level", "quick", "--json", machine=build(), env={**environment(), "RUNTIME_DIRECTORY": "/proc/nothing"})
    found = document(answer)
    check(answer.returncode == 0 and codes(found) == ["no-state"], found)


if __name__ == "__main__":
    try:
        main([value for name, value in list(globals().items()) if name.startswith("test_")])
    finally:
        shutil.rmtree(WORK)
