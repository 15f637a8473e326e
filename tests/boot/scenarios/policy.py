# SPDX-License-Identifier: GPL-2.0-only
"""Module parameters, and a platform or a card that says no."""
import guest
from scenario import scenario
from vm import Boot, expect

P104 = "p104-100-riser-x1.txt"
ASPM_OFF_BOOT = Boot(cmdline="pcie_aspm=off")


def plug_settled(vm, dump=P104, options=()):
    """Plugs a card; its card object and its only line."""
    mark = vm.mark()
    card = vm.plug(dump, 0, options)
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark)
    guest.same_in_sysfs(vm, line)
    return card, line


@scenario(ASPM_OFF_BOOT)
def pcie_aspm_off(vm):
    """pcie_aspm=off on the command line: refused:core, nothing written"""
    twin = guest.plug_twin(vm, P104)
    card, line = plug_settled(vm)
    line.has(state="refused", aspm="l0s+l1(refused:core)", clkpm="on(refused:core)")
    extra = guest.extra_writes(card, twin)
    expect(not extra, f"written: {', '.join(map(str, extra))}")


@scenario(ASPM_OFF_BOOT)
def aspm_force(vm):
    """aspm=force where the kernel keeps its hands off: written directly"""
    twin = guest.plug_twin(vm, P104)
    guest.load(vm, "aspm=force")
    card, line = plug_settled(vm)
    line.has(state="applied", aspm="off(was l0s+l1)", clkpm="off(was on)")
    extra = guest.extra_writes(card, twin)
    expect(extra, "nothing was written")
    guest.only_link_control(extra, guest.lnkctl_offset(vm, card.bdf))


@scenario()
def aspm_keep(vm):
    """aspm=keep: said, and left as it is"""
    twin = guest.plug_twin(vm, P104)
    guest.load(vm, "aspm=keep")
    card, line = plug_settled(vm)
    line.has(state="unchanged", aspm="l0s+l1(keep)", clkpm="on(keep)", d3cold="off(was on)")
    extra = guest.extra_writes(card, twin)
    expect(not extra, f"written: {', '.join(map(str, extra))}")


@scenario()
def powersave_policy(vm):
    """kernel policy set to powersave after us: a card of the list stays off, another one does not"""
    card, _ = plug_settled(vm)
    other = vm.plug(P104, 1, ["--set", "2.w=1b81"])
    guest.settle(vm)
    mark = vm.mark()
    vm.ok("cd /sys/module/pcie_aspm/parameters; echo performance >policy; echo powersave >policy")
    expect(guest.lnkctl(vm, other.bdf) & 0x100, "the policy does nothing here: nothing was tried")
    expect(guest.lnkctl(vm, card.bdf) & 0x103 == 0, "ASPM or Clock PM came back")
    guest.silent(vm, mark)


@scenario()
def speed_on_fixed_port(vm):
    """speed=gen1 on a port whose target speed cannot be written: refused(readback), the rest applied"""
    guest.load(vm, "speed=gen1")
    _, line = plug_settled(vm)
    line.has(state="partial", cap="refused(readback)", aspm="off(was l0s+l1)")


@scenario()
def skip(vm):
    """skip=: one line, nothing written"""
    twin = guest.plug_twin(vm, P104)
    guest.load(vm, f"skip={twin.bdf[:-1]}7")
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(state="skipped")
    expect(set(line.value) == {"state"}, line.text)
    expect(guest.sysfs(vm, card.bdf)["state"] == "skipped", "sysfs does not say skipped")
    extra = guest.extra_writes(card, twin)
    expect(not extra, f"written: {', '.join(map(str, extra))}")


@scenario()
def ids(vm):
    """ids=: another NVIDIA card is treated as one of the list, and checked"""
    guest.load(vm, "ids=10de:1b81")
    card, line = plug_settled(vm, "gtx-1070-not-a-mining-card.txt")
    line.has(state="applied", aspm="off(was l0s+l1)", clkpm="off(was on)")
    expect((line.card, line.ident) == ("user-added", "10de:1b81"), line.text)
    guest.wait_check(vm, card.bdf)
    expect(guest.runs(vm, card.bdf) == 1, "not exactly one check")


@scenario()
def dry_run(vm):
    """dry_run=Y: says what it would do and writes nothing"""
    twin = guest.plug_twin(vm, P104)
    guest.load(vm, "dry_run=Y", "speed=gen1")
    card, line = plug_settled(vm)
    line.has(state="dry-run", aspm="l0s+l1(would be off)", clkpm="on(would be off)", d3cold="on(would be off)",
             cap="gen4(would be gen1)")
    extra = guest.extra_writes(card, twin)
    expect(not extra, f"written: {', '.join(map(str, extra))}")


@scenario()
def stuck_register(vm):
    """a card that swallows writes to Link Control: refused:readback, whatever the kernel's call returned"""
    _, line = plug_settled(vm, P104, ["--stick", "exp+10.w"])
    line.has(state="refused", aspm="l0s+l1(refused:readback)", clkpm="on(refused:readback)")


@scenario()
def version_1_capability(vm):
    """CMP 40HX with a version-1 PCIe capability: Clock PM off, ASPM was off already"""
    _, line = plug_settled(vm, "cmp-40hx-stock.txt")
    line.has(state="applied", aspm="off(unchanged)", clkpm="off(was on)", speed="2.5GT/s,x16(max 2.5GT/s,x16)")


@scenario()
def link_without_aspm(vm):
    """a card that knows no ASPM at all: unsupported, and not a fault"""
    _, line = plug_settled(vm, P104, ["--set", "exp+c.l=45003041", "--set", "exp+10.w=0040"])
    line.has(state="unchanged", aspm="unsupported", clkpm="unsupported")


@scenario()
def bad_parameters(vm):
    """bad parameter values: not loaded, one line with name, value and what is accepted"""
    for param, value in (("aspm", "on"), ("speed", "gen9"), ("d3cold", "on"), ("smbus", "yes"), ("dry_run", "maybe"),
                         ("ids", "1234:1b81"), ("skip", "01:00.0")):
        mark = vm.mark()
        status, _ = guest.load(vm, f"{param}={value}", expect_ok=False)
        expect(status != 0, f"{param}={value} was accepted")
        said = vm.lines(mark)
        expect(len(said) == 1 and f"{param}={value}" in said[0] and "accepted:" in said[0],
               f"{param}={value}: {' / '.join(said) or 'not a word'}")
    guest.load(vm)
