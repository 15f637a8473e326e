# SPDX-License-Identifier: GPL-2.0-only
"""Every dump of tests/fixtures/cases as a card of the simulated bridge, and as its port where the dump has one: what its
`# expect:` lines say must be true of the module's line, its files and the registers.

Two lives each: the module comes to a card that is there, and a card comes to the module.
"""
import base64
import re

import guest
from vm import CASES, expect

CARD, PORT = "4b4b:01:00.0", "4b4b:00:00.0"
DEBUGFS = "/sys/kernel/debug/fakehost"
DEVICE = re.compile(r"(?:[0-9a-f]{4}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
BYTES = re.compile(r"[0-9a-f]{2,3}: ((?:[0-9a-f]{2} ?)+)$")
ITEMS = ("aspm", "clkpm", "l1ss")
RULES = []


def number(data, offset, size=2):
    """A register of a dump."""
    return int.from_bytes(data[offset:offset + size], "little")


def express(data):
    """Where the PCI Express capability is."""
    pos = data[0x34]
    while data[pos] != 0x10:
        pos = data[pos + 1]
    return pos


class Case:
    """A dump: the bytes of card and port, and what is expected."""

    def __init__(self, path):
        self.name, text = path.stem, path.read_text(encoding="utf-8")
        self.expected = re.findall(r"^# expect: (.+)$", text, re.M)
        devices, current = {}, None
        for line in text.splitlines():
            device, data = DEVICE.match(line), BYTES.match(line.strip())
            if device:
                current = devices.setdefault(device[1], bytearray())
            elif data:
                current += bytes.fromhex(data[1])
        self.port_address = next((bdf for bdf, data in devices.items() if data[0x0e] & 0x7f == 1), None)
        self.port = devices.pop(self.port_address, None)
        self.card, = devices.values()
        self.exp = express(self.card)
        self.port_lnkctl = (express(self.port) if self.port else 0x78) + 0x10

    def knobs(self):
        """What the bridge cannot know from the bytes: how fast and how wide the link comes up. The built-in port is left by
        firmware as the card is; the built-in card, which is there for a moment, is none of softtape's."""
        lnkcap, lnkctl = number(self.card, self.exp + 0x0c, 4), number(self.card, self.exp + 0x10)
        width = number(self.card, self.exp + 0x12) >> 4 & 0x3f
        return f"ep_device=0x1b81 ep_speed={lnkcap & 15} width={lnkcap >> 4 & 0x3f} train_width={width} " \
               f"port_lnkctl={lnkctl & 0x43:#x}"

    def plug(self):
        """The shell commands that make card and port of the bytes, and let the kernel find them."""
        files = {"image": self.card, "port_image": self.port}
        par = "/sys/module/fakehost/parameters/present"
        return "\n".join([
            f"insmod /lib/modules/fakehost.ko {self.knobs()}",
            f"echo 1 >/sys/bus/pci/devices/{PORT}/remove",
            *(f"echo {base64.b64encode(data).decode()} | base64 -d >{DEBUGFS}/{name}" for name, data in files.items() if data),
            f"echo 0 >{par}; echo 1 >{par}; echo 1 >/sys/bus/pci/rescan"])


# What is to be seen when it is over: report, both configuration spaces, writes. That there is no directory is final too:
# the pass over what is there, and ADD_DEVICE, are done when insmod and rescan return.
LOOK = f"""
cd /sys/bus/pci/devices/{CARD}
if [ -e softtape ]; then
	until read -r s <softtape/state && [ $s != pending ]; do usleep 20000; done
	cat softtape/report
else
	echo
fi
for d in . ..; do head -c 256 $d/config | hexdump -v -e '1/1 "%02x"'; echo; done
cat {DEBUGFS}/log
"""


class Life:
    """One life of a case on the bridge: the module's line or None, registers at the end, writes.

    The writes are the module's, with those of the core at its request; None where the kernel's own are among them.
    """

    def __init__(self, vm, case, resident, params=""):
        self.case = case
        load = f"insmod /lib/modules/softtape.ko {params}"
        steps = [load, case.plug()] if resident else [case.plug(), f"echo >{DEBUGFS}/log", load]
        mark = vm.mark()
        report, card, port, *log = vm.ok("\n".join(["set -e", *steps, LOOK])).split("\n")
        self.card, self.port = bytes.fromhex(card), bytes.fromhex(port)
        self.line = guest.one_line(vm, CARD, mark) if report else None
        if report:
            expect(self.line.text.endswith(f"]: {report}"), f"report {report}, line {self.line.text}")
        else:
            guest.silent(vm, mark, CARD)
        rows = [row.split() for row in log if row]
        self.writes = None if resident else [(r[0], int(r[1], 16), int(r[2]), *(int(w, 16) for w in r[3:6])) for r in rows]
        for made, dump in ((self.card, case.card), (self.port, case.port)):
            at = express(dump) + 0x0c if dump else 0
            expect(not dump or made[:4] == dump[:4] and made[at:at + 4] == dump[at:at + 4], "not the device of the dump")
        self.lnkctl, self.port_lnkctl = number(self.card, case.exp + 0x10), number(self.port, case.port_lnkctl)
        vm.ok("rmmod fakehost; rmmod softtape")

    def writes_to(self, function, offset):
        """(old, written, now) of the writes that touch a register."""
        return [w[3:] for w in self.writes or [] if w[0] == function and w[1] <= offset < w[1] + w[2]]


def rule(pattern):
    """Registers a check for expectations of this form: f(match, life, again); again(params) gives another life."""
    def keep(function):
        RULES.append((re.compile(pattern), function))
        return function
    return keep


@rule(r"card (?P<name>[A-Z0-9 -]+?)(?: behind (?P<port>[0-9a-f:.]+))?")
def card_rule(match, life, _again):
    """Name and id in the line; the port's bytes above."""
    case = life.case
    expect(life.line and life.line.card == match["name"], f"line {life.line and life.line.text}")
    expect(life.line.ident == f"{number(case.card, 0):04x}:{number(case.card, 2):04x}", life.line.text)
    if match["port"]:
        expect(match["port"] == case.port_address, "another port in the dump")
        expect(life.port[:4] == case.port[:4], f"the port is {life.port[:4].hex()}")


@rule(r"step (?P<what>aspm|clkpm) (?P<from>\S+) -> (?P<to>off)(?P<order> \(endpoint, then port\))?")
def step_rule(match, life, _again):
    """The line says what was; the registers say that it went."""
    life.line.has(**{match["what"]: f"{match['to']}(was {match['from']})", "state": "applied"})
    bits = {"aspm": 0x3, "clkpm": 0x100}[match["what"]]
    expect(life.lnkctl & bits == 0 and (bits > 3 or life.port_lnkctl & bits == 0),
           f"Link Control {life.lnkctl:04x}, port {life.port_lnkctl:04x}")
    if match["order"] and life.writes:
        cleared = [w[0] for w in life.writes if (w[0], w[1]) in (("ep", life.case.exp + 0x10), ("port", life.case.port_lnkctl))
                   and w[3] & 3 > w[5] & 3]
        expect("port" in cleared and "ep" not in cleared[cleared.index("port"):], f"cleared in this order: {cleared}")


@rule(r"no (?P<other>other )?step: (?P<items>.+)")
def no_step_rule(match, life, _again):
    """What stays is said to stay, and nothing went that is not announced."""
    went = [item for item in ITEMS if (life.line.reason.get(item) or "").startswith("was ")]
    announced = [m[1] for m in (re.match(r"step (\w+)", words) for words in life.case.expected) if m]
    expect(went == (announced if match["other"] else []), life.line.text)
    for item, value in re.findall(r"(\w+) (\w+)\(unchanged\)", match["items"]):
        life.line.has(**{item: f"{value}(unchanged)"})


@rule(r"speed (?P<words>\S+,x\d+\(max \S+,x\d+\))")
def speed_rule(match, life, _again):
    """Speed and width, now and at most."""
    life.line.has(speed=match["words"])


@rule(r"speed=(?P<set>gen\d) -> step cap gen(?P<from>\d) -> gen(?P<to>\d) on the port, no retrain needed .*")
def cap_rule(match, _life, again):
    """Target speed and nothing else."""
    life = again(f"speed={match['set']}")
    life.line.has(cap=f"gen{match['to']}")
    if life.writes is None:
        return
    case = life.case
    target = [(old & 15, now & 15) for old, _, now in life.writes_to("port", case.port_lnkctl + 0x20)]
    expect(target == [(int(match["from"]), int(match["to"]))], f"target speeds {target}")
    expect(not [w for w in life.writes_to("port", case.port_lnkctl) if w[1] & 0x20], "the link was retrained")


@rule(r"speed=(?P<set>gen\d) -> cap unneeded, no write")
def unneeded_rule(match, _life, again):
    """Not a word to the port."""
    life = again(f"speed={match['set']}")
    life.line.has(cap="unneeded")
    expect(not life.writes_to("port", life.case.port_lnkctl + 0x20), "the target speed was written")


@rule(r"port not in dump")
def no_port_rule(_match, life, _again):
    """So the built-in port is above."""
    expect(life.case.port is None and number(life.port, 0, 4) == 0x4b4b1b36, f"the port is {life.port[:4].hex()}")


@rule(r"endpoint has no Link Control 2 \(capability version 1\)")
def version_1_rule(_match, life, _again):
    """As the guest sees it; and nothing is written there."""
    version = life.card[life.case.exp + 2] & 15
    expect(version == 1 and not life.writes_to("ep", life.case.exp + 0x30), f"version {version}")


@rule(r"state (?P<state>\w+): .*")
def state_rule(match, life, _again):
    """The state in a word."""
    life.line.has(state=match["state"])


@rule(r"no mining card; not one register may change, nothing is logged by the module")
def no_card_rule(_match, life, _again):
    """Neither line nor directory nor write."""
    expect(life.line is None and not life.writes, f"{life.line and life.line.text} {life.writes}")


@rule(r"exit 0")
def exit_rule(_match, _life, _again):
    """Of the helper's plan."""


def play(vm, path, resident):
    """One case, one of its two lives."""
    case = Case(path)
    life = Life(vm, case, resident)
    allowed = {("ep", case.exp + 0x10), ("port", case.port_lnkctl)}
    extra = [w for w in life.writes or [] if w[:2] not in allowed]
    expect(not extra, f"writes to other registers: {extra}")
    for words in case.expected:
        found = [(match, check) for match, check in ((pattern.fullmatch(words), check) for pattern, check in RULES) if match]
        expect(len(found) == 1, f"{len(found)} rules for: {words}")
        found[0][1](found[0][0], life, lambda params: Life(vm, case, resident, params))


def play_all(vm, lives=(False, True)):
    """Every case there is, with the module coming late (False) or resident (True); it is not loaded before or after."""
    paths = sorted(CASES.glob("*.txt"))
    expect(len(paths) >= 7, f"{len(paths)} cases in {CASES}")
    for path in paths:
        for resident in lives:
            try:
                play(vm, path, resident)
            except Exception as e:
                raise type(e)(f"{path.stem}, {'hot' if resident else 'cold'}: {e}") from e
