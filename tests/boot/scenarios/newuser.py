# SPDX-License-Identifier: GPL-2.0-only
"""A new user on a fresh Debian: README.md's own lines, then every command with a good card, a faulty one, no driver and no card.

All that was typed and all that was answered is in build/boot/NAME/transcript.txt, as a terminal of 80 columns shows it.
"""
import base64
import functools
import json
import re
import sys

import guest
from scenario import scenario
from vm import TOP, Boot, Vm, expect, overlay

sys.path.insert(0, str(TOP / "tests/rig"))

import fresh  # noqa: E402

P104 = "p104-100-riser-x1.txt"
MODULES = ("/lib/modules/$(uname -r)/extra/nvidia.ko", "/lib/modules/$(uname -r)/extra/nvidia-uvm.ko")


class Fresh(Vm):
    """A guest that is a fresh Debian with the packages in its user's folder and nothing of softtape installed."""

    def __init__(self, name, boot, results, debian):
        super().__init__(name, boot, results)
        self.debian = debian

    def _system(self):
        root = fresh.image(self.debian, overlay())
        return root["vmlinuz"], "root=/dev/nvme0n1 rw printk.devkmsg=on systemd.show_status=0", \
            ["-initrd", root["initrd"], "-drive", f"if=none,id=root,format=raw,snapshot=on,file={root['path']}",
             "-device", "nvme,serial=root,drive=root,addr=0x4"]


class User:
    """Somebody at a terminal, in the folder of the source tree; all of it goes to the transcript."""

    def __init__(self, vm):
        self.vm = vm
        self.path = vm.dir / "transcript.txt"
        self.path.write_text("", encoding="utf-8")

    def note(self, text):
        """A line that is nobody's output."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def types(self, command, status=0, terminal=True, seconds=300):
        """Runs a command line as the host's user; fails unless it ends with this status. Returns what it printed."""
        line = base64.b64encode(f"cd softtape && {command}\n".encode()).decode()
        how = "script -qec 'stty cols 80 rows 50; bash /tmp/line' /dev/null" if terminal else "yes | bash /tmp/line"
        got, text = self.vm.sh(f"echo {line} | base64 -d >/tmp/line; su - {fresh.USER} -c \"{how}\"", seconds)
        # What a terminal obeys and does not show: colours, and the end of the input that script(1) passes on.
        text = re.sub("\x1b\\[[0-9;]*m|\r|\0|\\^@", "", text)
        self.note(f"{fresh.USER}@rig01:~/softtape$ {command}\n{text.rstrip()}\n[status {got}]\n")
        expect(got == status, f"'{command}' ended with {got}, not {status}: {text.strip()[-300:]}")
        return text


# What a user may type; every command of the program is in it.
COMMANDS = ("softtape", "softtape list", "softtape list --tree", "sudo softtape plan", "softtape status", "softtape status --output nagios",
            "softtape status --output npd", "softtape status --output prom", "softtape wait --timeout 60", "softtape metrics",
            "softtape inventory", "softtape doctor", "sudo softtape doctor", "softtape explain", "softtape advise", "sudo softtape report --to /tmp/report.tar",
            "softtape report --compat", "sudo softtape check --level quick all")
# Their exit statuses where it is not 0, by state of the card: README.md's, and those of the monitors (Nagios, node-problem-detector).
STATUS = {
    "good": {},
    "faulty": {"softtape status": 1, "softtape status --output nagios": 2, "softtape status --output npd": 1, "softtape status --output prom": 1,
               "softtape wait --timeout 60": 1, "softtape doctor": 1, "sudo softtape doctor": 1, "sudo softtape check --level quick all": 1},
    "no driver": {"softtape status": 3, "softtape status --output nagios": 3, "softtape status --output npd": 2, "softtape status --output prom": 3,
                  "softtape wait --timeout 60": 3, "softtape doctor": 3, "sudo softtape doctor": 3, "sudo softtape check --level quick all": 3},
    "no card": {"softtape status": 4, "softtape status --output nagios": 2, "softtape status --output npd": 1, "softtape status --output prom": 4,
                "softtape wait --timeout 60": 4, "softtape doctor": 3, "sudo softtape doctor": 3, "softtape report --compat": 3,
                "sudo softtape check --level quick all": 3},
}


def all_commands(user, state):
    """Every command, with the statuses that belong to a state; JSON documents are documents."""
    user.note(f"# {state}\n")
    said = {command: user.types(command, STATUS[state].get(command, 0)) for command in COMMANDS}
    user.vm.ok("rm -f /tmp/report.tar")
    for command in COMMANDS:
        if "--output" in command or "report" in command or command == "softtape explain":
            continue
        text = user.types(f"{command} --json >/tmp/answer.json; echo status $?; cat /tmp/answer.json")
        # Behind what a check tells a terminal of its progress.
        status, document = re.search(r"^status (\d+)\n(.*)", text, re.M | re.S).groups()
        expect(json.loads(document)["exit"] == int(status), f"'{command} --json': {status} and {text[-200:]}")
    return said


def says(said, command, *words):
    """What a command printed has these words; blanks and line ends are the same, as lines end where the terminal does."""
    flat = " ".join(said[command].split())
    for word in words:
        expect(word in flat, f"'{command}' does not say '{word}': {flat[-400:]}")


def good(user, bdf):
    """A card that works: nothing is wrong, and everything says so."""
    said = all_commands(user, "good")
    short = bdf.removeprefix("0000:")
    says(said, "softtape list", f"{short} P104-100 [10de:1b87] 2.5GT/s,x1 of x4 nvidia applied pass (simulated)", "smbus=hold here: ")
    says(said, "sudo softtape plan", "aspm off(unchanged)", "module says: state=applied aspm=off(was l0s+l1)")
    says(said, "softtape status --output nagios", "SOFTTAPE OK - 1 card passes (simulated)")
    says(said, "sudo softtape doctor", "nothing wrong was found")
    says(said, "softtape doctor", "not everything could be looked at [not-seen]")
    says(said, "softtape advise", "Driver branch 550", "supply")
    says(said, "sudo softtape report --to /tmp/report.tar", "### softtape report", "sent to nobody")
    says(said, "sudo softtape check --level quick all", "pass (simulated), driver nvidia, quirks applied")


def faulty(user):
    """A card that computes wrongly: every command has one word for it."""
    user.vm.ok("echo 'known=7' >/etc/softtape-fake.conf")
    user.types("sudo softtape check --level quick all", 1)
    said = all_commands(user, "faulty")
    says(said, "softtape", "fault (simulated)", "next: softtape doctor")
    says(said, "softtape status", "fault (simulated)", "[data-fault]", "expected ")
    says(said, "softtape status --output nagios", "SOFTTAPE CRITICAL - ", "data-fault")
    says(said, "sudo softtape doctor", "the card computed, kept or moved wrong data [data-fault]", "last check: ")
    user.vm.ok("rm /etc/softtape-fake.conf")


def no_driver(user):
    """No NVIDIA driver on the machine: what to type to get it, as doctor, check and advise tell it."""
    guest.unload(user.vm, "nvidia_uvm", "nvidia")
    guest.hide(user.vm, *MODULES)
    user.types("sudo softtape check --level quick all", 3)
    said = all_commands(user, "no driver")
    sources = {"12": r"s/^(deb .* main)( .*)?$/\1 contrib non-free non-free-firmware/' /etc/apt/sources.list",
               "13": "s/^Components:.*/Components: main contrib non-free non-free-firmware/' /etc/apt/sources.list.d/debian.sources"}
    line = f"{sources[user.vm.debian]} && sudo apt update && sudo apt install linux-headers-amd64 nvidia-kernel-dkms nvidia-smi libcuda1"
    for command in ("softtape status", "softtape doctor", "sudo softtape doctor", "softtape advise", "sudo softtape check --level quick all"):
        says(said, command, line)
    says(said, "softtape", "no nvidia driver loaded", "not-testable", "next: softtape doctor")


def no_card(user):
    """The card taken out: it is missed, and nobody says that all is well."""
    user.vm.unplug()
    guest.settle(user.vm)
    said = all_commands(user, "no card")
    says(said, "softtape", "no mining card", "next: sudo softtape rescan")
    says(said, "softtape status", "lost")
    says(said, "softtape doctor", "a card that was here last time is missing [card-missing]")
    says(said, "softtape advise", "no NVIDIA GPU", "next: sudo softtape rescan")


def undo(user):
    """README.md's line of removal: nothing of softtape is left."""
    line = re.search(r"^Packages: `(.*?)`", (TOP / "README.md").read_text(encoding="utf-8"), re.M)[1]
    user.types(line, terminal=False, seconds=300)
    left = user.vm.ok(f"find / -xdev -name '*softtape*' ! -path '/srv/*' ! -path \"$(getent passwd {fresh.USER} | cut -d: -f6)/*\"; "
                      "grep softtape /proc/modules || :").split()
    expect(not left, f"left: {left[:4]}")


def new_user(vm):
    """The whole story."""
    user = User(vm)
    user.note(f"# Debian {vm.debian}, {vm.ok('uname -r').strip()}; simulated: the card, its NVIDIA driver, CUDA\n")
    card = vm.ports[0].cards[0]
    user.types(fresh.readme("**As Debian packages**")[-1], terminal=False, seconds=900)
    guest.final_line(vm, card.bdf).has(state="applied", smbus="awake")
    # The program comes before the module, and its first check without one; the second is the one that counts.
    guest.settle(vm)
    expect(guest.wait_check(vm, card.bdf)["verdict"] == "pass", "the check at installation")
    for line in fresh.readme("## How to see that it worked"):
        # On a terminal the journal comes in a pager.
        expect(user.types(line, terminal="journalctl" not in line), f"'{line}' says nothing")
    commands = re.findall(r"^  (\w+)", user.types("softtape --help").split("Commands:")[1].split("Options")[0], re.M)
    missing = [c for c in commands if c != "rescan" and not any(f"softtape {c}" in line for line in COMMANDS)]
    expect(commands and not missing, f"nobody types {missing}")
    good(user, card.bdf)
    faulty(user)
    no_driver(user)
    no_card(user)
    vm.ok("cp -a /run/hidden/. / && depmod")
    card = vm.plug(P104)
    user.types("sudo softtape rescan")
    vm.reboot()
    user.note("# rebooted\n")
    expect(guest.wait_check(vm, card.bdf)["verdict"] == "pass", "the check after a reboot")
    says({"softtape": user.types("softtape")}, "softtape", "applied pass (simulated)")
    undo(user)


HOST = Boot(ports=1, cards=((0, P104, ()),), memory_mib=1536)


@scenario(boot=HOST, machine=functools.partial(Fresh, debian="12"), alone=True, prove=True, limit_s=1800)
def new_user_12(vm):
    """a new user on a fresh Debian 12: the packages by README's lines, every command with a good card, a bad one, no driver, none"""
    new_user(vm)


@scenario(boot=HOST, machine=functools.partial(Fresh, debian="13"), alone=True, prove=True, limit_s=1800)
def new_user_13(vm):
    """the same on a fresh Debian 13"""
    new_user(vm)
