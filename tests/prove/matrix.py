# SPDX-License-Identifier: GPL-2.0-only
"""The module's behaviour on every kernel it is for: scenarios in a light guest, one guest for all of a kernel's.

In order, as each starts where the one before has left the guest; suspend comes last (a guest sleeps only once, and QEMU's
slots do not answer after it). `cards` in a name: through QEMU's ACPI slot and emulated card; the others on the simulated
host bridge.
"""
import cases
import guest
from vm import CASES, Boot, expect

P104 = str(CASES / "p104-100-riser-x1.txt")
FAKE, AUDIO, PORT = "4b4b:01:00.0", "4b4b:01:00.1", "4b4b:00:00.0"
LNKCTL = 0x78 + 0x10
BOOT = Boot(ports=2, memory_mib=512, cards=((0, P104, ()),))
APPLIED = {"state": "applied", "aspm": "off(was l0s+l1)", "clkpm": "off(was on)"}
ALL = []


def scenario(run):
    """Puts a function run(vm) into the list; its docstring is the row of the README's table."""
    ALL.append(run)
    return run


def final(vm, bdf, mark):
    """The only line about a card since @mark, checked against sysfs."""
    vm.wait(f"read -r s </sys/bus/pci/devices/{bdf}/softtape/state && [ $s != pending ]", 60, f"{bdf} to be settled")
    line = guest.one_line(vm, bdf, mark)
    guest.same_in_sysfs(vm, line)
    return line


def links_off(vm, *bdfs):
    """No ASPM and no Clock PM in Link Control of these functions of the simulated bridge."""
    for bdf in bdfs:
        lnkctl = vm.config(bdf, LNKCTL)
        expect(lnkctl & 0x103 == 0, f"Link Control of {bdf} is {lnkctl:04x}")


def load(vm, params=""):
    """The module anew."""
    vm.ok(f"[ ! -e /sys/module/softtape ] || rmmod softtape; insmod /lib/modules/softtape.ko {params}")


def plug_fake(vm, params=""):
    """The simulated bridge with its card."""
    mark = vm.mark()
    vm.insmod("fakehost", params)
    return final(vm, FAKE, mark)


def drop_fake(vm):
    """And away."""
    vm.ok("rmmod fakehost")


@scenario
def cold_plug(vm):
    """card there at boot, module loaded later"""
    card = vm.ports[0].cards[0]
    mark = vm.mark()
    load(vm)
    # What it was is open: 7.3 has already switched off the L1 that QEMU's port does not have.
    final(vm, card.bdf, mark).has(**APPLIED | {"aspm": "off"})
    expect(any(w.new & 0x103 == 0 for w in card.writes(0, 0x88)), "Link Control was not written")


@scenario
def hot_plug(vm):
    """card hot-plugged, module resident"""
    mark = vm.mark()
    card = vm.plug(P104, 1)
    final(vm, card.bdf, mark).has(**APPLIED)


@scenario
def unplug(vm):
    """unplugged without a word"""
    mark = vm.mark()
    bdf = vm.ports[1].cards[0].bdf
    vm.unplug(1)
    vm.ok(f"! test -e /sys/bus/pci/devices/{bdf}")
    guest.silent(vm, mark)


@scenario
def replug(vm):
    """plugged again: a new life, a new line"""
    mark = vm.mark()
    card = vm.plug(P104, 1)
    final(vm, card.bdf, mark).has(**APPLIED)
    vm.unplug(1)


@scenario
def unload(vm):
    """unload: no file, no word, ASPM stays off"""
    plug_fake(vm).has(**APPLIED)
    mark = vm.mark()
    vm.ok("rmmod softtape")
    guest.silent(vm, mark)
    vm.ok(f"! test -e /sys/bus/pci/devices/{FAKE}/softtape")
    links_off(vm, FAKE, PORT)


@scenario
def reload(vm):
    """loaded again: nothing left to do"""
    mark = vm.mark()
    load(vm)
    final(vm, FAKE, mark).has(state="unchanged", aspm="off(unchanged)", clkpm="off(unchanged)")


@scenario
def policy_change(vm):
    """the kernel's ASPM policy changed at run time: the link stays as it is"""
    mark = vm.mark()
    for policy in ("powersave", "performance", "default"):
        vm.ok(f"echo {policy} >/sys/module/pcie_aspm/parameters/policy")
        links_off(vm, FAKE, PORT)
    guest.silent(vm, mark)


@scenario
def link_switches(vm):
    """the user's link/ switches are reported, not fought"""
    link = f"/sys/bus/pci/devices/{FAKE}/link"
    vm.ok(f"echo 1 >{link}/l1_aspm")
    expect(vm.config(FAKE, LNKCTL) & 2, "the switch has no effect of its own")
    vm.insmod("nvidia", "resident=1")
    vm.ok(f"echo {FAKE} >/sys/bus/pci/drivers/nvidia/unbind; rmmod nvidia")
    expect(vm.config(FAKE, LNKCTL) & 2, "an event has undone what the user chose")
    vm.wait(f"grep -q l1 /sys/bus/pci/devices/{FAKE}/softtape/aspm", 30, "aspm to say l1")
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{FAKE}/softtape/verify")
    links_off(vm, FAKE, PORT)


@scenario
def remove_rescan(vm):
    """sysfs remove and rescan"""
    mark = vm.mark()
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{FAKE}/remove; echo 0 >/sys/module/fakehost/parameters/present")
    guest.silent(vm, mark, FAKE)
    vm.ok("echo 1 >/sys/module/fakehost/parameters/present; echo 1 >/sys/bus/pci/rescan")
    final(vm, FAKE, mark).has(**APPLIED)
    drop_fake(vm)


@scenario
def driver_bound(vm):
    """driver resident: settled before its probe"""
    vm.insmod("nvidia", "resident=1")
    plug_fake(vm).has(**APPLIED)
    vm.wait(f"test -e /sys/bus/pci/devices/{FAKE}/driver", 30, "the driver to bind")
    links_off(vm, FAKE, PORT)
    vm.ok("rmmod nvidia")
    drop_fake(vm)


@scenario
def multi_function(vm):
    """card with an audio function: one line, both functions off and out of D3cold"""
    plug_fake(vm, "functions=2 ep_l1ss=0xf port_l1ss=0xf").has(**APPLIED, l1ss="off(was on)", d3cold="off(was on)")
    links_off(vm, FAKE, AUDIO, PORT)
    vm.ok(f"! test -e /sys/bus/pci/devices/{AUDIO}/softtape && "
          f"[ $(cat /sys/bus/pci/devices/{AUDIO}/d3cold_allowed) = 1 ]")
    drop_fake(vm)


@scenario
def switch(vm):
    """card behind a switch: its own link only, the switch's uplink is left alone"""
    mark = vm.mark()
    vm.insmod("fakehost", "switched=1 slots=2")
    final(vm, "4b4b:03:00.0", mark).has(**APPLIED)
    final(vm, "4b4b:04:00.0", mark).has(**APPLIED)
    links_off(vm, "4b4b:03:00.0", "4b4b:02:00.0")
    expect(vm.config("4b4b:01:00.0", LNKCTL) & 3, "ASPM of the switch's own link was switched off")
    drop_fake(vm)


@scenario
def dumps(vm):
    """every dump of tests/fixtures/cases as card and port: as it says there"""
    vm.ok("rmmod softtape")
    cases.play_all(vm)


@scenario
def cap(vm):
    """speed=gen1: the link retrains"""
    load(vm, "speed=gen1")
    plug_fake(vm).has(state="applied", cap="gen1", speed="2.5GT/s,x4(max 8GT/s,x4)")


@scenario
def cap_restored(vm):
    """the next card in the slot is not capped"""
    mark = vm.mark()
    vm.ok(f"""
        echo 1 >/sys/bus/pci/devices/{FAKE}/remove
        cd /sys/module/fakehost/parameters
        echo 0 >present; echo 0x1d81 >ep_device; echo 1 >present
        echo 1 >/sys/bus/pci/rescan
        cat /sys/bus/pci/devices/{FAKE}/current_link_speed | grep -q '^8'
    """)
    guest.silent(vm, mark, FAKE)
    drop_fake(vm)


@scenario
def suspend_resume(vm):
    """suspend to RAM: registers lost, settled again, the cap too"""
    plug_fake(vm).has(cap="gen1")
    mark = vm.mark()
    vm.suspend()
    vm.wait(f"grep -q ^2.5 /sys/bus/pci/devices/{FAKE}/current_link_speed", 60, "the link to run at 2.5 GT/s again")
    links_off(vm, FAKE, PORT)
    guest.silent(vm, mark, FAKE)
    drop_fake(vm)
    vm.ok("rmmod softtape")


def table(kernels, results):
    """The README's table: @kernels in order, @results[kernel][scenario] = "ok" or what else."""
    lines = ["| | " + " | ".join(kernels) + " |", "|---" * (len(kernels) + 1) + "|"]
    for run in ALL:
        cells = [results[k].get(run.__name__, "-") for k in kernels]
        lines.append(f"| {run.__doc__} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
