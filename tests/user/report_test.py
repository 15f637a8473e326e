#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command report on a host where every source holds secrets: what gets into the archive, and what never does."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import machine
from lib import CASES, FAKE, PROGRAM, VALIDATOR, check, document, main, surrounding

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-report-"))
ROOT, STATE, TEMP = WORK / "root", WORK / "state", WORK / "tmp"
CARD, PORT = "0000:01:00.0", "0000:00:1c.0"

# What names somebody or something; each stands in several sources below, in several spellings.
SECRETS = {
    "host": "moonbase7", "domain": "lab.galaxy.example", "user": "zaphodb", "person": "Zaphod Beeblebrox",
    "stranger": "trillian", "machine": "7d3f0c5ab1e94f2c8a6be0d1f2334455", "boot": "1b671a64-40d5-491e-99b0-da01ff1f3341",
    "mac": "9c:5c:8e:12:a4:56", "mac2": "02:42:7e:55:01:aa", "ip4": "192.168.77.31", "ip6": "2001:db8:77::31",
    "gpu": "GPU-0b4ef5e7-6f2a-4b5d-8d1c-0a1b2c3d4e5f", "board": "0324217060234", "dmi": "MB9918273645", "disk": "S3Z8NB0K912345",
    "disk uuid": "c0ffee00-1111-4222-8333-444455556666", "project": "heart-of-gold", "password": "hunter2secret",
    "mail": "marvin@sirius.example", "process": "deepthought", "builder": "slarti",
}
S = SECRETS

# Files of which something is taken. A line with KEEPn must be in the archive (so its secret went through), one with CANARYn
# is a line or key that is not taken.
LISTED = {
    "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nBUILD_ID="CANARY01"\nVERSION_ID="12"\n',
    "/proc/sys/kernel/osrelease": f"6.1.0-57-{S['host']}-KEEP01\n",
    "/proc/sys/kernel/version": f"#1 SMP KEEP02 {S['builder']}@buildbox\n",
    "/proc/sys/kernel/tainted": "4096\n",
    "/sys/class/dmi/id/board_vendor": "ASRock\n",
    "/sys/class/dmi/id/board_name": f"H110 KEEP03 {S['user'].upper()}\n",
    "/sys/class/dmi/id/bios_version": f"P1.60 KEEP04 {S['ip4']}\n",
    "/sys/class/dmi/id/product_name": f"rig of {S['person']} KEEP05\n",
    "/sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Pentium KEEP06\nserial\t\t: CANARY02\nflags\t\t: CANARY03\n",
    "/proc/meminfo": "MemTotal:       8052032 kB\nMemFree: CANARY04 kB\n",
    "/proc/cmdline": (f"BOOT_IMAGE=/vmlinuz-CANARY05 root=UUID={S['disk uuid']} pci=realloc,KEEP07,{S['mac2']} "
                      f"rd.luks.key=CANARY06 nvidia.NVreg_TemporaryFilePath=/home/{S['stranger']}/{S['project']} "
                      f"softtape.password={S['password']} ip={S['ip4']} systemd.hostname=CANARY07 pcie_aspm=off\n"),
    "/proc/modules": "nvidia 62000 12 nvidia_uvm, Live 0xffffffffCANARY08 (PO)\nsofttape 40960 0 - Live 0x0 (OE)\n"
                     "CANARY09 16384 0 - Live 0x0\n",
    "/sys/module/softtape/version": "0.1.0\n",
    "/sys/module/softtape/parameters/aspm": "off\n",
    "/sys/module/softtape/parameters/skip": f"KEEP08 {S['mac'].replace(':', '')}\n",
    "/sys/module/nvidia/version": "550.163.01\n",
    "/etc/modprobe.d/gpu.conf": (f"# of {S['user']} CANARY10\noptions nvidia NVreg_RegistryDwords=KEEP09={S['machine'].upper()}\n"
                                 f"blacklist nouveau # CANARY43\ninstall nvidia /root/{S['project']}/CANARY11.sh\noptions iwlwifi CANARY12\n"),
    "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  KEEP10 ({S['builder']}@{S['host']})\n"
                                   "GCC version:  gcc version 12.2.0\nCANARY13\n",
    "/proc/driver/nvidia/params": f"EnableMSI: 1\nRegistryDwords: \"KEEP11 {S['gpu']}\"\nExcludedGpus: \"CANARY14\"\n"
                                  f"TemporaryFilePath: \"/home/{S['stranger']}/CANARY15\"\n",
    "/proc/driver/nvidia/gpus/0000:01:00.0/information": (
        f"Model: \t\t P104-100 KEEP12\nIRQ:   \t\t 130\nGPU UUID: \t {S['gpu']}-CANARY16\nVideo BIOS: \t 86.04.7a.00.23\n"
        f"Bus Location: \t 0000:01:00.0\nDevice Minor: \t CANARY17\n"),
    "/proc/4242/stat": f"4242 ({S['process']}) D 1 4242 4242 0 -1\n",
    "/proc/4242/wchan": "nvidia_KEEP23\n",
    "/proc/4242/cmdline": f"CANARY32 {S['process']}",
    "/var/lib/dkms/softtape/0.1.0/6.1.0-57-amd64/x86_64/module/softtape.ko": "CANARY18",
    "/var/lib/dkms/softtape/0.1.0/build/make.log": (
        f"DKMS make.log KEEP13 for {S['host']}.{S['domain']}\nmake: /home/{S['user']}/{S['project']}/x.c:3: error\n"
        f"contact {S['mail']} serial: {S['dmi']}\ncc -I/builds/CANARY44/x /data/CANARY45/y.c \"/opt/My CANARY46/z\"\n"
        "AWS_SECRET_ACCESS_KEY=CANARY47 run --password CANARY48 ssh://CANARY49/x\n"
        "DB_TOKEN='x CANARY90' Authorization: Digest CANARY91 CANARY92\n"),
    "/var/lib/dkms/CANARY19/1.0/6.1.0-57-amd64/x86_64/module/x.ko": "",
    "/lib/modules/6.1.0-57-amd64/build/Makefile": "CANARY20",
    "/etc/softtape.conf": f"# CANARY21\non_plug = quick ; CANARY41 {S['user']}\n; mail_to = CANARY22\n",
    "/etc/softtape.conf.d/50-local.conf": f"driver_wait = 30 ; CANARY42 {S['mac'].upper().replace(':', '-')}\n",
    "/dev/kmsg": "".join(f"6,{n},{n}000,-;{line}\n" for n, line in enumerate([
        f"Command line: BOOT_IMAGE=/boot/vmlinuz root=UUID={S['disk uuid']} nvidia-drm.modeset=1 CANARY23",
        f"Kernel command line: root=UUID={S['disk uuid']} nouveau.modeset=0 CANARY24",
        "Unknown kernel command line parameters \"nvidia.x=CANARY25\"",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01 KEEP16",
        f"NVRM: GPU at PCI:0000:01:00: {S['gpu']}",
        f"NVRM: GPU Board Serial Number: {S['board']} KEEP17",
        f"NVRM: Xid (PCI:0000:01:00): 13, pid=4242, name={S['process']}, KEEP18",
        "NVRM: Xid (PCI:0000:01:00): 31, pid=4243, name=a,CANARY93, KEEP24",
        f"softtape: KEEP19 {S['boot']} on {S['host'].upper()} for {S['stranger']}",
        f"pci {CARD}: KEEP20 {S['disk']}",
        f"pcieport {PORT}: AER: KEEP21 addr:{S['ip6']} mac:{S['mac']}",
        "pci 0000:00:1f.6: CANARY26",
        f"usb 1-1: SerialNumber: CANARY27 {S['disk']}",
        f"e1000e 0000:00:1f.6 eth0: {S['mac']} CANARY28",
        f"audit: user={S['user']} nvidia CANARY29",
        f"nvidia-persistenced[77]: CANARY30 {S['user']}",
        f"systemd[1]: Hostname set to <{S['host']}> NVRM: CANARY31",
    ])),
}

# Files from which values to hide are learnt; nothing of them is taken.
LEARNT = {
    "/etc/hostname": f"{S['host']}\n",
    "/proc/sys/kernel/hostname": f"{S['host']}\n",
    "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {S['host']}.{S['domain']} {S['host']} # CANARY40\n::1 ip6-localhost\n",
    "/etc/passwd": f"root:x:0:0:root:/root:/bin/bash\nCANARY41:x:33:33::/var/www:/x\n"
                   f"{S['user']}:x:1000:1000:{S['person']},,,:/home/{S['user']}:/bin/bash\n",
    "/etc/machine-id": f"{S['machine']}\n",
    "/proc/sys/kernel/random/boot_id": f"{S['boot']}\n",
    "/sys/class/dmi/id/board_serial": f"{S['dmi']}\n",
    "/sys/class/dmi/id/product_serial": "To be filled by O.E.M.\n",
    "/sys/class/net/eth0/address": f"{S['mac']}\n",
    "/sys/class/block/sda/device/serial": f"{S['disk']}\n",
}

# A machine has much more; nobody may find any of it.
UNLISTED = ["/etc/shadow", "/etc/fstab", "/etc/ssh/ssh_host_ed25519_key", "/etc/NetworkManager/system-connections/home",
            "/root/.bash_history", "/home/zaphodb/.ssh/id_ed25519", "/var/log/syslog", "/var/log/Xorg.0.log", "/proc/version",
            "/proc/1/cmdline", "/proc/1/environ", "/proc/self/environ", "/proc/mounts", "/proc/net/arp", "/proc/net/tcp",
            "/proc/interrupts", "/proc/iomem", "/proc/keys", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/chassis_asset_tag",
            "/sys/class/dmi/id/modalias", "/sys/class/net/eth0/ifalias", "/sys/module/nvidia/parameters/NVreg_x",
            "/sys/module/softtape/notes", "/etc/modprobe.d/gpu.conf.bak", "/etc/modprobe.d/gpu.disabled",
            "/etc/softtape.conf.bak", "/etc/softtape.conf.d/50-local.conf.old", "/etc/resolv.conf", "/var/lib/dkms/mok.key", "/var/lib/dkms/softtape/0.1.0/source",
            "/etc/machine-info", "/run/softtape/secret.json", "/var/lib/softtape/other"]

MEMBERS = {"summary.md", "contents.txt", "system.txt", "kernel-command-line.txt", "kernel-log.txt", "modules.txt", "nvidia.txt",
           "dkms.txt", "settings.txt", "pci.txt", "registers.txt", "cards.json", "doctor.json"}


def put(path, text):
    """Writes a file of the machine."""
    file = pathlib.Path(f"{ROOT}{path}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def build():
    """The machine: a tree of files, and the cards for umockdev. Returns the description of the cards."""
    for path, text in {**LISTED, **LEARNT}.items():
        put(path, text)
    for number, path in enumerate(UNLISTED):
        put(path, f"CANARY{50 + number} {S['user']} {S['password']}\n")

    found = machine.devices(CASES / "p104-100-with-port.txt")
    card = found[CARD] = bytearray(found[CARD] + bytes(4096 - len(found[CARD])))
    # A VPD capability that still shows four bytes of what was read last, and a device serial number.
    check(card[0x61] == 0x68 and not any(card[0xd0:0xd8]), "the case has changed")
    card[0xd0:0xd8] = bytes([0x03, 0x68, 0x10, 0x80]) + b"VPD!"
    card[0x61] = 0xd0
    card[0x100:0x10c] = bytes([0x03, 0x00, 0x01, 0x00]) + b"\xd5\xe2\x1a\x00\x01\x9c\x5c\x8e"
    card[0xf0:0xf4] = b"MINE"
    text = machine.describe(found, {CARD: PORT}, "nvidia", machine.APPLIED)
    text = text.replace("A: class=0x030200\\n", "A: class=0x030200\\n\nA: subsystem_vendor=0x1462\\n\nA: subsystem_device=0x8c99\\n")
    path = WORK / "machine"
    path.write_text(text, encoding="utf-8")
    return path


MACHINE = build()


def run(*words, env=None, cwd=WORK, temp=TEMP):
    """Runs the program on the machine; umockdev has its own temporary files."""
    given = {"SOFTTAPE_ROOT": str(ROOT), "RUNTIME_DIRECTORY": str(STATE), "LD_LIBRARY_PATH": str(FAKE),
             "SOFTTAPE_FAKE_FORCE": "1", "SOFTTAPE_FAKE": "link=210 known=7", "SUDO_USER": S["stranger"], **(env or {})}
    command, environment = surrounding(MACHINE, given)
    return subprocess.run([*command, "env", f"TMPDIR={temp}", PROGRAM, *map(str, words)], capture_output=True, timeout=120, check=False, env=environment,
                          cwd=cwd)


def members(path):
    """Name below the archive's folder to text."""
    with tarfile.open(path) as tar:
        check({part.name.split("/")[0] for part in tar} == {"softtape-report"}, tar.getnames())
        return {part.name.split("/", 1)[1]: tar.extractfile(part).read().decode() for part in tar.getmembers() if part.isfile()}


def spelled(text):
    """As somebody would search: without case and without what separates digits."""
    return re.sub(r"[-:.\s]", "", text).lower()


def refuse_secrets(what, text):
    """No secret in any spelling, nothing of a file or line that is not taken."""
    for name, value in SECRETS.items():
        check(spelled(value) not in spelled(text), f"{what}: {name} {value!r}")
    found = re.findall(r"CANARY\d+", text)
    check(not found, f"{what}: {found}")


def make(name="report.tar"):
    """A report with the last verdicts; returns the answer and the members."""
    path = WORK / name
    path.unlink(missing_ok=True)
    answer = run("report", "--to", path)
    check(answer.returncode == 0, answer.stderr.decode())
    return answer, members(path)


def test_planted():
    """The fixture itself: every secret stands in a source that is read, so that the search below can find it."""
    text = spelled("".join(LISTED.values()))
    for name, value in SECRETS.items():
        check(spelled(value) in text, f"{name} is in no source")


def test_leaks():
    """No secret and no line beside the taken ones: neither in a member, nor in the block, nor on the screen, nor in JSON."""
    answer = run("check", CARD, "--config", os.devnull)
    check(answer.returncode == 1, f"the check that leaves a verdict: {answer.returncode} {answer.stdout} {answer.stderr}")
    state = STATE / f"{CARD}.json"
    text = state.read_text(encoding="utf-8")
    stained = text.replace('"evidence": "', f'"evidence": "KEEP22 {S["user"]} on {S["host"]} {S["gpu"]}: ')
    check(stained != text, "no evidence in the state file")
    state.write_text(stained, encoding="utf-8")

    answer, found = make()
    check(set(found) == MEMBERS, sorted(found))
    for name, text in found.items():
        refuse_secrets(name, text)
    refuse_secrets("standard output", answer.stdout.decode())
    refuse_secrets("standard error", answer.stderr.decode())
    check(answer.stdout.decode() == found["summary.md"], "the block is not the one of the archive")

    answer = run("report", "--json", "--to", WORK / "json.tar")
    refuse_secrets("JSON", answer.stdout.decode())
    refuse_secrets("JSON's archive", (WORK / "json.tar").read_bytes().decode())
    taken = document(answer)["report"]
    check(set(taken["files"]) == MEMBERS and taken["markdown"] == found["summary.md"], taken)


def test_taken():
    """What is taken is there: each marked line, with a token where its secret was."""
    _, found = make()
    text = "".join(found.values())
    for number in sorted(set(range(1, 25)) - {14, 15}):
        check(f"KEEP{number:02}" in text, f"KEEP{number:02}")
    for part in ("6.1.0-57-[host-1]-KEEP01", "pci=realloc,KEEP07,[mac-", "softtape.password=[secret-1]", "pcie_aspm=off",
                 "GPU Board Serial Number: [serial-", "name=[process-1], KEEP18", "NVRM: GPU at PCI:0000:01:00: [uuid-",
                 "Video BIOS: \t 86.04.7a.00.23", "modprobe.d: blacklist nouveau", "modprobe.d: install nvidia (command left out)",
                 "softtape/0.1.0/6.1.0-57-amd64: built", "kernel 6.1.0-57-amd64: headers there", "on_plug = quick",
                 "<summary>Kernel log</summary>", "wchan:30,comm | awk '$2 ~ /^D/'",
                 "other parameters left out"):
        check(part in text, part)


def test_verdicts():
    """The verdicts stay a document that the schema knows, and the block shows them as simulated."""
    _, found = make()
    stored = json.loads(found["cards.json"])
    VALIDATOR.validate(stored)
    check(stored["cards"][0]["verdict"] == "fault" and stored["simulated"], stored)
    check("| P104-100 | `10de:1b87` | `1462:8c99` | 2.5GT/s x1 | nvidia | applied | fault (simulated) |" in found["summary.md"],
          found["summary.md"])


def test_registers():
    """The dump of the report plans as the card does; serial number, VPD and unknown bytes are zero."""
    _, found = make()
    dump = WORK / "registers.txt"
    dump.write_text(found["registers.txt"], encoding="utf-8")
    answer = subprocess.run([PROGRAM, "plan", "-F", str(dump), "--json"], capture_output=True, check=False)
    cards = document(answer)["cards"]
    check([step["what"] for step in cards[0]["steps"]] == ["aspm", "clkpm"] and cards[0]["port"] == PORT, cards)

    taken = machine.devices(dump)[CARD]
    check(len(taken) == 4096 and taken[0xd0:0xd8] == bytes([0x03, 0x68, 0, 0, 0, 0, 0, 0]), taken[0xd0:0xd8].hex())
    check(taken[0x100:0x10c] == bytes([0x03, 0, 1, 0]) + bytes(8) and not any(taken[0xf0:0xf4]), taken[0x100:0x10c].hex())


def test_never_overwrites():
    """A file that is there stays, a link is not followed, and nothing is left behind."""
    target, link = WORK / "precious.tar", WORK / "link.tar"
    target.write_text("precious", encoding="utf-8")
    link.symlink_to(WORK / "elsewhere.tar")
    for path in (target, link):
        answer = run("report", "--to", path)
        check(answer.returncode == 2 and b"not overwritten" in answer.stderr and answer.stdout == b"", answer.stderr)
        check(document(run("report", "--json", "--to", path))["findings"][0]["code"] == "input", "JSON")
    check(target.read_text(encoding="utf-8") == "precious" and not (WORK / "elsewhere.tar").exists(), "overwritten")
    answer = run("report", "--to", WORK / "missing/x.tar")
    check(answer.returncode == 2 and b"cannot be written" in answer.stderr, answer.stderr)
    check(not list(TEMP.iterdir()), list(TEMP.iterdir()))


def test_not_utf8():
    """A board's name and a file's that are no UTF-8 leave the document JSON and the archive text."""
    board, path = pathlib.Path(f"{ROOT}/sys/class/dmi/id/board_name"), bytes(WORK / "older") + b"\xff.tar"
    name = board.read_bytes()
    board.write_bytes(b"Board\xae X\n")
    # Not through umockdev-run, which takes no such word.
    answer = subprocess.run([PROGRAM, "report", "--json", "--to", path], capture_output=True, check=False,
                            env={**os.environ, "LC_ALL": "C.UTF-8", "SOFTTAPE_ROOT": str(ROOT)})
    board.write_bytes(name)
    found = document(answer)["report"]
    check("Board? X" in found["markdown"] and found["archive"].endswith("older?.tar"), found)
    check("board: Board? X" in members(os.fsdecode(path))["system.txt"], "archive")


def test_default_place():
    """Without --to it lies in the current folder, once."""
    folder = WORK / "here"
    folder.mkdir()
    check(run("report", cwd=folder).returncode == 0 and [file.name for file in folder.iterdir()] == ["softtape-report.tar"],
          list(folder.iterdir()))
    check(run("report", cwd=folder).returncode == 2, "second time")


def test_same_bytes():
    """The same facts give the same archive, whoever runs it and whatever tar is told elsewhere."""
    make("one.tar")
    path = WORK / "two.tar"
    answer = run("report", "--to", path, env={"TAR_OPTIONS": "--verbose --exclude=*", "TZ": "Asia/Tokyo"})
    check(answer.returncode == 0 and path.read_bytes() == (WORK / "one.tar").read_bytes(), "differs")
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as tar:
        check({(part.uid, part.gid, part.uname, part.mtime) for part in tar} == {(0, 0, "", 946684800)}, "not anonymous")


def test_no_tar_no_file():
    """When the texts cannot be laid out there is no half archive."""
    path = WORK / "none.tar"
    answer = run("report", "--to", path, temp=WORK / "missing")
    check(answer.returncode == 2 and not path.exists(), answer.stderr)


def test_without_rights():
    """A user gets a report too, and reads in it what only root sees."""
    folder, program = WORK / "anybody", WORK / "softtape"
    folder.mkdir()
    folder.chmod(0o777)
    shutil.copy(PROGRAM, program)
    (ROOT / "dev/kmsg").chmod(0)
    before = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command, environment = surrounding(MACHINE, {"SOFTTAPE_ROOT": str(ROOT)})
    answer = subprocess.run([*before, *command, "env", "TMPDIR=/tmp", program, "report", "--to", folder / "x.tar"], capture_output=True,
                            check=False, env=environment, cwd=folder)
    (ROOT / "dev/kmsg").chmod(0o644)
    check(answer.returncode == 0, answer.stderr)
    found = members(folder / "x.tar")
    check(set(found) == MEMBERS - {"kernel-log.txt"} and "the bridges above them (needs root)" in found["contents.txt"],
          found["contents.txt"])
    refuse_secrets("without rights", "".join(found.values()))


def test_compat():
    """One row per mining card, nothing written."""
    answer = run("report", "--compat")
    check(answer.returncode == 0 and answer.stdout.decode() ==
          "| `10de:1b87` | P104-100 | `1462:8c99` | ASRock H110 KEEP03 [user-1] | 2.5GT/s x1 | 6.1.0-57-[host-1]-KEEP01 | "
          "550.163.01 proprietary | applied | fault (simulated) |\n", answer.stdout)
    check(document(run("report", "--compat", "--json"))["report"]["markdown"] == answer.stdout.decode(), "JSON")


def test_usage():
    """It is about the whole host, and writes where it is told only."""
    for words, part in ((["report", CARD], "takes no card"), (["report", "--compat", "--to", "x"], "writes no file"),
                        (["list", "--to", "x"], "--to does not go with list"), (["check", "--compat"], "--compat does not go with")):
        answer = run(*words)
        check(answer.returncode == 2 and part in answer.stderr.decode() and answer.stdout == b"", f"{words}: {answer.stderr}")


if __name__ == "__main__":
    WORK.chmod(0o755)
    TEMP.mkdir()
    STATE.mkdir()
    try:
        main([value for name, value in list(globals().items()) if name.startswith("test_")])
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
