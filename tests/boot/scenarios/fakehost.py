# SPDX-License-Identifier: GPL-2.0-only
"""What QEMU's root port cannot show: L1 at both ends, L1 substates, a real retrain. On tests/guest/fakehost.ko.

Scenarios that suspend are alone: after a wake-up QEMU's ACPI slots answer no more, and a second suspend does not sleep.
"""
import guest
from scenario import scenario
from vm import expect

P104 = "p104-100-riser-x1.txt"
BDF = "4b4b:01:00.0"
PORT = "4b4b:00:00.0"


def insert(vm, *params):
    """The simulated host bridge with its card; that card's only line."""
    mark = vm.mark()
    vm.ok("modprobe fakehost " + " ".join(params))
    guest.settle(vm)
    line = guest.one_line(vm, BDF, mark)
    guest.same_in_sysfs(vm, line)
    return line


def writes(vm, fn, register):
    """(old, written, now) of the writes to a register, in order."""
    found = [line.split() for line in vm.ok("cat /sys/kernel/debug/fakehost/log").splitlines()]
    return [tuple(int(word, 16) for word in words[3:6]) for words in found if words[0] == fn and words[6] == register]


def swap(vm, device):
    """Another card in the slot."""
    vm.ok(f"""
        echo 1 >/sys/bus/pci/devices/{BDF}/remove
        cd /sys/module/fakehost/parameters
        echo 0 >present; echo {device} >ep_device; echo 1 >present
        echo 1 >/sys/bus/pci/rescan
    """)
    guest.settle(vm)


def link_speed(vm):
    """The card's link as sysfs reads it live."""
    return vm.ok(f"cat /sys/bus/pci/devices/{BDF}/current_link_speed").split(" GT/s")[0]


@scenario()
def aspm_both_ends(vm):
    """L0s, L1 and L1 substates on at both ends of the link: all off at both ends"""
    guest.keep_out(vm, "nvidia")
    line = insert(vm, "ep_l1ss=0xf", "port_l1ss=0xf")
    line.has(state="applied", aspm="off(was l0s+l1)", clkpm="off(was on)", l1ss="off(was on)")
    for bdf in (BDF, PORT):
        expect(guest.lnkctl(vm, bdf) & 0x103 == 0, f"Link Control of {bdf} shows ASPM or Clock PM")
        expect(int(vm.ok(f"setpci -s {bdf} ECAP_L1PM+8.l"), 16) & 0xf == 0, f"L1 substates of {bdf} are on")


@scenario()
def aspm_stuck_at_port(vm):
    """the port keeps its ASPM bits whatever is written: refused:readback, never a success"""
    guest.keep_out(vm, "nvidia")
    insert(vm, "port_lnkctl_rw=0xed0").has(state="partial", aspm="l0s+l1(refused:readback)", clkpm="off(was on)")


@scenario()
def cap_and_release(vm):
    """speed=gen1: the link really retrains from gen3, and the next card in the slot is not capped"""
    guest.keep_out(vm, "nvidia")
    guest.load(vm, "speed=gen1")
    insert(vm).has(state="applied", cap="gen1", speed="2.5GT/s,x4(max 8GT/s,x4)")
    expect(link_speed(vm) == "2.5", f"the link runs at {link_speed(vm)} GT/s")
    expect(any(written & 0x20 for _, written, _ in writes(vm, "port", "lnkctl")), "no retrain was asked for")
    mark = vm.mark()
    swap(vm, "0x1d81")
    guest.silent(vm, mark)
    expect(link_speed(vm) == "8.0", f"the next card's link runs at {link_speed(vm)} GT/s")


@scenario()
def cap_unload(vm):
    """unload gives the port its target speed back; a driver that is bound keeps the cap from being touched"""
    guest.keep_out(vm, "nvidia", "softtape")
    guest.load(vm, "speed=gen1")
    insert(vm).has(cap="gen1")
    vm.ok("modprobe -r softtape")
    expect(int(vm.ok(f"setpci -s {PORT} CAP_EXP+30.w"), 16) & 0xf == 3, "the port's target speed was not put back")
    guest.unload(vm, "fakehost")

    vm.ok("modprobe fakehost")
    guest.settle(vm)
    vm.ok(f"modprobe nvidia && test -e /sys/bus/pci/devices/{BDF}/driver")
    mark = vm.mark()
    guest.load(vm, "speed=gen1")
    guest.settle(vm)
    guest.one_line(vm, BDF, mark).has(cap="refused(driver)", state="partial", aspm="off(was l0s+l1)")
    expect(link_speed(vm) == "8.0", "the link of a bound card was retrained")


@scenario()
def cap_unneeded(vm):
    """speed=gen3 on a gen3 link: unneeded, and the port's target speed is not written"""
    guest.keep_out(vm, "nvidia")
    guest.load(vm, "speed=gen3")
    insert(vm).has(cap="unneeded")
    expect(not writes(vm, "port", "lnkctl2"), "the target speed was written")


@scenario()
def driver_sets_aspm(vm):
    """a driver that switches ASPM on in its probe: refused:driver, in a second line"""
    guest.keep_out(vm, "nvidia")
    mark = vm.mark()
    insert(vm, "ep_lnkctl=0x40", "port_lnkctl=0x40").has(state="unchanged", aspm="off(unchanged)")
    vm.ok(f"modprobe nvidia aspm_on=1 && test -e /sys/bus/pci/devices/{BDF}/driver")
    vm.wait_line(rf"{BDF}: softtape: .*after=bind", 60, mark)
    guest.settle(vm)
    lines = guest.lines(vm, mark, BDF)
    expect(len(lines) == 2, f"two lines expected: {[line.text for line in lines]}")
    guest.same_in_sysfs(vm, lines[1].has(after="bind"))
    lines[1].has(state="refused", aspm="l0s+l1(refused:driver)", clkpm="on(refused:driver)")


@scenario(alone=True)
def suspend_and_resume(vm):
    """suspend to RAM: card and port forget their registers; ASPM is off and the cap holds again, no second line"""
    guest.keep_out(vm, "nvidia")
    guest.load(vm, "speed=gen1")
    card = vm.plug(P104)
    guest.settle(vm)
    insert(vm).has(cap="gen1")
    vm.ok("echo >/sys/kernel/debug/fakehost/log")
    offset = guest.lnkctl_offset(vm, card.bdf)
    before = {bdf: guest.sysfs(vm, bdf) for bdf in (card.bdf, BDF)}
    mark, log_mark = vm.mark(), card.mark()
    vm.suspend()
    guest.settle(vm)
    expect(["R"] in card.events(log_mark), "the card was not reset: nothing was tried")
    expect(card.writes(log_mark, offset), "nobody wrote Link Control after the reset")
    vm.wait(f"grep -q ^2.5 /sys/bus/pci/devices/{BDF}/current_link_speed", 60, "the link to run at 2.5 GT/s again")
    expect(any(written & 0x20 for _, written, _ in writes(vm, "port", "lnkctl")), "no retrain was asked for")
    guest.silent(vm, mark)
    for bdf, files in before.items():
        expect(guest.lnkctl(vm, bdf) & 0x103 == 0, f"ASPM or Clock PM of {bdf} is on after resume")
        expect(guest.sysfs(vm, bdf) == files, f"{bdf} has changed: {guest.sysfs(vm, bdf)}")


@scenario(alone=True)
def fakehost_itself(vm):
    """the simulated host bridge and driver do what they claim (tests/guest/check.sh)"""
    vm.ok("modprobe -r softtape")
    guest.keep_out(vm, "softtape", "nvidia")
    vm.send("tests/guest/check.sh", "/run/check.sh")
    status, text = vm.sh("sh /run/check.sh /lib/modules/$(uname -r)/extra", 200)
    failed = [line for line in text.splitlines() if line.startswith("FAIL")]
    expect(status == 0 and not failed and "ok " in text, f"status {status}: {' / '.join(failed) or text[-300:]}")
