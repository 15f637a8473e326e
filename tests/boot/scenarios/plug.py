# SPDX-License-Identifier: GPL-2.0-only
"""Cards that come, go, and come again."""
import guest
from scenario import scenario
from vm import Boot, expect

P104 = "p104-100-riser-x1.txt"
APPLIED = {"state": "applied", "aspm": "off(was l0s+l1)", "clkpm": "off(was on)", "l1ss": "unsupported",
           "d3cold": "off(was on)", "cap": "keep", "speed": "2.5GT/s,x1(max 2.5GT/s,x4)", "smbus": "unsupported"}
# The same card after softtape has been at it and no reset since.
SETTLED = APPLIED | {"state": "unchanged", "aspm": "off(unchanged)", "clkpm": "off(unchanged)"}


@scenario()
def hot_plug(vm):
    """card hot-plugged: one line, sysfs says the same, nothing written but what the line says"""
    twin = guest.plug_twin(vm, P104)
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(**APPLIED)
    expect((line.card, line.ident) == ("P104-100", "10de:1b87"), line.text)
    guest.same_in_sysfs(vm, line)
    offset = guest.lnkctl_offset(vm, card.bdf)
    extra = guest.extra_writes(card, twin)
    expect(extra, "no write reached the card")
    guest.only_link_control(extra, offset)
    expect(guest.lnkctl(vm, card.bdf) & 0x103 == 0, "Link Control still shows ASPM or Clock PM")


def check_boot(vm, card, mark):
    """A boot with the card in its slot: a line, a check, and none more when udev replays its events."""
    line = guest.final_line(vm, card.bdf, mark).has(**APPLIED)
    guest.same_in_sysfs(vm, line)
    guest.wait_check(vm, card.bdf)
    vm.ok("udevadm trigger --action=change; udevadm trigger --action=add; udevadm settle")
    guest.settle(vm)
    guest.one_line(vm, card.bdf, mark)
    expect(guest.runs(vm, card.bdf) == 1, f"{guest.runs(vm, card.bdf)} checks at boot")
    expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")


@scenario(Boot(cards=((0, P104, ()),)))
def card_at_boot(vm):
    """card present at power-on, and again after a reboot: one line and one check each time, and services only behind it"""
    folder = "/etc/systemd/system"
    card = vm.ports[0].cards[0]
    check_boot(vm, card, 0)
    guest.add_services(vm, folder)
    vm.ok("systemctl enable test-Wants test-Requires; echo cuCtxCreate_v2=delay:3000 >/etc/softtape-fake.conf")
    mark = vm.mark()
    vm.reboot()
    check_boot(vm, card, mark)
    guest.settle(vm)
    expect(guest.services(vm) == ["active", "active"], f"{guest.services(vm)}")
    ended = guest.state(vm, card.bdf)["cards"][0]["run"]["ended"]
    begun = vm.ok("systemctl show --timestamp=unix -P ExecMainStartTimestamp test-Wants test-Requires").split()
    expect(all(int(time.lstrip("@")) >= ended for time in begun), f"begun {begun}, the check ended {ended}")
    guest.drop_services(vm, folder)
    vm.ok("rm /etc/softtape-fake.conf")


@scenario(Boot(native=True))
def pciehp(vm):
    """native PCIe hot-plug instead of ACPI: plug, unplug, plug again"""
    for _ in range(2):
        mark = vm.mark()
        card = vm.plug(P104)
        guest.settle(vm)
        guest.one_line(vm, card.bdf, mark).has(**APPLIED)
        vm.unplug()


@scenario()
def replug(vm):
    """unplugged without a word, and a new life with its own line after the next plug"""
    for _ in range(2):
        mark = vm.mark()
        card = vm.plug(P104)
        guest.settle(vm)
        guest.one_line(vm, card.bdf, mark).has(**APPLIED)
        mark = vm.mark()
        vm.unplug()
        guest.settle(vm)
        guest.silent(vm, mark)
        expect(guest.sysfs(vm, card.bdf) is None, "sysfs files are still there")


@scenario()
def module_after_card(vm):
    """module loaded when the card is there, without and with a driver"""
    for driver in (False, True):
        vm.ok("modprobe -r softtape")
        guest.keep_out(vm, "softtape", *([] if driver else ["nvidia"]))
        mark = vm.mark()
        card = vm.plug(P104)
        guest.settle(vm)
        guest.silent(vm, mark)
        vm.ok(f"{'' if driver else '!'} test -e /sys/bus/pci/devices/{card.bdf}/driver")
        guest.load(vm)
        guest.settle(vm)
        line = guest.one_line(vm, card.bdf, mark).has(**APPLIED)
        guest.same_in_sysfs(vm, line)
        expect(guest.lnkctl(vm, card.bdf) & 0x103 == 0, "Link Control still shows ASPM or Clock PM")
        vm.unplug()


@scenario()
def no_driver(vm):
    """no driver ever binds: settled all the same, final at once"""
    guest.keep_out(vm, "nvidia")
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    vm.ok(f"! test -e /sys/bus/pci/devices/{card.bdf}/driver")
    line = guest.one_line(vm, card.bdf, mark).has(**APPLIED)
    guest.same_in_sysfs(vm, line)
    expect(guest.lnkctl(vm, card.bdf) & 0x103 == 0, "Link Control still shows ASPM or Clock PM")


@scenario()
def resident_driver(vm):
    """driver already loaded when the second card comes: settled before its probe"""
    first = vm.plug(P104, 0)
    vm.wait(f"test -e /sys/bus/pci/devices/{first.bdf}/driver", 60, "the driver to bind")
    guest.settle(vm)
    mark = vm.mark()
    second = vm.plug(P104, 1)
    vm.wait(f"test -e /sys/bus/pci/devices/{second.bdf}/driver", 60, "the driver to bind")
    guest.settle(vm)
    line = guest.one_line(vm, second.bdf, mark).has(**APPLIED)
    guest.same_in_sysfs(vm, line)
    offset = guest.lnkctl_offset(vm, second.bdf)
    writes = second.writes()
    settled = next((i for i, w in enumerate(writes) if w.offset == offset and w.now & 0x103 == 0), None)
    master = next((i for i, w in enumerate(writes) if w.offset == 4 and w.new & 4), None)
    expect(master is not None, "the driver did not switch the card on")
    expect(settled is not None and settled < master, "Link Control was not settled before the driver's probe")


@scenario()
def two_cards(vm):
    """two cards: a line each, and one leaves without the other noticing"""
    mark = vm.mark()
    first, second = vm.plug(P104, 0), vm.plug("cmp-40hx-aspm-on.txt", 1)
    guest.settle(vm)
    guest.one_line(vm, first.bdf, mark).has(**APPLIED)
    line = guest.one_line(vm, second.bdf, mark).has(state="applied", aspm="off(was l0s+l1)", clkpm="off(was on)")
    expect(line.card == "CMP 40HX", line.text)
    mark = vm.mark()
    vm.unplug(0)
    guest.settle(vm)
    guest.silent(vm, mark)
    expect(guest.sysfs(vm, second.bdf)["state"] == "applied", "the second card has changed")


@scenario()
def other_nvidia_cards(vm):
    """GTX 1070 and TITAN V: not one line, no sysfs files, no check, nothing written beyond the kernel's own"""
    for dump, other in (("gtx-1070-not-a-mining-card.txt", "1d81"), ("titan-v-not-a-mining-card.txt", "1b81")):
        vm.ok("modprobe -r softtape")
        guest.keep_out(vm, "softtape")
        twin = vm.plug(dump, 0, ["--set", f"2.w={other}"])
        guest.settle(vm)
        vm.unplug()
        guest.load(vm)
        mark = vm.mark()
        card = vm.plug(dump)
        guest.settle(vm)
        guest.silent(vm, mark)
        expect(guest.sysfs(vm, card.bdf) is None, "sysfs files below a card that is not in the list")
        expect(guest.runs(vm, card.bdf) == 0, "a check was started")
        extra = guest.extra_writes(card, twin)
        expect(not extra, f"written: {', '.join(map(str, extra))}")
        vm.unplug()


@scenario()
def remove_and_rescan(vm):
    """removed and found again through sysfs: a new life, and nothing left to do"""
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    guest.one_line(vm, card.bdf, mark).has(**APPLIED)
    mark = vm.mark()
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{card.bdf}/remove")
    guest.settle(vm)
    guest.silent(vm, mark)
    vm.ok("echo 1 >/sys/bus/pci/rescan")
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(**SETTLED)
    guest.same_in_sysfs(vm, line)


@scenario()
def off_the_bus(vm):
    """card falls off the bus: lost, said once, and the slot takes the next card"""
    card = vm.plug(P104)
    guest.settle(vm)
    mark = vm.mark()
    card.kill()
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{card.bdf}/softtape/verify")
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(state="lost", after="verify")
    guest.same_in_sysfs(vm, line)
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{card.bdf}/softtape/verify")
    guest.one_line(vm, card.bdf, mark)
    vm.unplug()
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    guest.one_line(vm, card.bdf, mark).has(**APPLIED)


@scenario()
def unload_and_reload(vm):
    """unload removes the files and leaves ASPM off, the next load finds nothing to do"""
    card = vm.plug(P104)
    guest.settle(vm)
    mark = vm.mark()
    vm.ok("modprobe -r softtape")
    guest.settle(vm)
    guest.silent(vm, mark)
    expect(guest.sysfs(vm, card.bdf) is None, "sysfs files are still there")
    expect(guest.lnkctl(vm, card.bdf) & 0x103 == 0, "unload has switched ASPM on")
    guest.load(vm)
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(**SETTLED)
    guest.same_in_sysfs(vm, line)


@scenario()
def two_functions(vm):
    """a card with an audio function: one line, and both functions are settled"""
    mark = vm.mark()
    card, audio = vm.plug_two("cmp-40hx-audio.txt")
    guest.settle(vm)
    guest.one_line(vm, card.bdf, mark).has(state="applied", aspm="off(was l0s+l1)", clkpm="off(was on)")
    guest.silent(vm, mark, audio.bdf)
    expect(guest.sysfs(vm, audio.bdf) is None, "sysfs files below the audio function")
    for function in (card, audio):
        expect(guest.lnkctl(vm, function.bdf) & 0x103 == 0, f"{function.bdf} still has ASPM or Clock PM on")
    mark = vm.mark()
    vm.unplug()
    guest.settle(vm)
    guest.silent(vm, mark)


@scenario()
def nothing_to_do(vm):
    """P106-100 with ASPM already off: unchanged, and nothing written"""
    twin = guest.plug_twin(vm, "p106-100-slot-x16.txt")
    mark = vm.mark()
    card = vm.plug("p106-100-slot-x16.txt")
    guest.settle(vm)
    line = guest.one_line(vm, card.bdf, mark).has(state="unchanged", aspm="off(unchanged)", clkpm="off(unchanged)")
    guest.same_in_sysfs(vm, line)
    extra = guest.extra_writes(card, twin)
    expect(not extra, f"written: {', '.join(map(str, extra))}")
