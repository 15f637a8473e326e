# SPDX-License-Identifier: GPL-2.0-only
"""The check that udev and systemd start, and what it says when something is missing, wrong or stuck."""
import guest
from scenario import scenario
from vm import Boot, expect

P104 = "p104-100-riser-x1.txt"


def fake(vm, words):
    """What the simulated libcuda does wrong from now on."""
    vm.ok(f"echo '{words}' >/etc/softtape-fake.conf")


def findings(document):
    """Codes of a result."""
    return [finding["code"] for finding in document["findings"]]


def plug_checked(vm, verdict, code=None, seconds=180):
    """Plugs the card, waits for the check that udev starts; the state file has this verdict and finding."""
    card = vm.plug(P104)
    result = guest.wait_check(vm, card.bdf, seconds)
    expect(result["verdict"] == verdict, f"verdict {result['verdict']} instead of {verdict}: {result['findings']}")
    expect(code is None or code in findings(result), f"finding {code} expected: {result['findings']}")
    expect(result["simulated"] is True or verdict == "not-testable", "the result does not say that it is simulated")
    expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")
    return card, result


@scenario()
def checks_per_plug(vm):
    """exactly one check at plug and at each replug, none when udev replays events, also when the check fails"""
    guest.on_plug(vm, "quick")
    for words, verdict, count in (("", "pass", 1), ("known=0", "fault", 2)):
        fake(vm, words)
        card, _ = plug_checked(vm, verdict)
        vm.ok("for a in change add bind; do udevadm trigger --action=$a || exit 1; done; udevadm settle")
        guest.settle(vm)
        expect(guest.runs(vm, card.bdf) == count, f"{guest.runs(vm, card.bdf)} checks instead of {count}")
        vm.unplug()
        guest.settle(vm)
        expect(guest.state(vm, card.bdf)["verdict"] == "lost", "the state file does not say lost after unplug")
        expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")


@scenario()
def services_after_checks(vm):
    """softtape-ready.target: a service that wants it starts after the check, one that requires it only on a usable card"""
    folder = "/run/systemd/system"
    guest.add_services(vm, folder)
    vm.ok("mkfifo /run/test-checking")
    guest.on_plug(vm, "quick")
    try:
        for words, verdict, after in (("", "pass", ["active", "active"]), ("known=7", "fault", ["active", "inactive"])):
            # The check goes on when somebody reads. What the card before left would be taken for this one's.
            vm.ok("rm -f /run/softtape/*.json")
            fake(vm, f"cuCtxCreate_v2=block:/run/test-checking {words}")
            card = vm.plug(P104)
            vm.ok("systemctl start --no-block test-Wants test-Requires")
            vm.wait(f"grep -q '\"context\"' /run/softtape/{card.bdf}.json", 60, "the check to reach CUDA")
            expect(guest.services(vm) == ["inactive", "inactive"], f"during the check: {guest.services(vm)}")
            vm.wait(f"journalctl -q -b -u softtape-ready | grep -q 'waiting: {card.bdf} being checked'", 30, "word of the waiting")
            vm.ok("cat /run/test-checking")
            expect(guest.wait_check(vm, card.bdf)["verdict"] == verdict, "not the verdict")
            guest.settle(vm)
            expect(guest.services(vm) == after, f"{verdict}: {guest.services(vm)}")
            expect(guest.failed_units(vm) == ([] if verdict == "pass" else ["softtape-ready.service"]),
                   f"{verdict}: failed: {guest.failed_units(vm)}")
            vm.ok("systemctl stop test-Wants test-Requires softtape-ready.target softtape-ready.service; systemctl reset-failed")
            vm.unplug()
            guest.settle(vm)
    finally:
        guest.drop_services(vm, folder)
        vm.ok("rm -f /run/test-checking")


@scenario()
def unplug_during_check(vm):
    """unplugged while the check runs: stopped, and nothing failed is left behind"""
    guest.on_plug(vm, "quick")
    fake(vm, "cuCtxCreate_v2=hang")
    card = vm.plug(P104)
    vm.wait(f"grep -q '\"context\"' /run/softtape/{card.bdf}.json", 120, "the check to reach CUDA")
    vm.unplug()
    vm.wait(f'[ "$(systemctl show -P ActiveState {guest.unit(card.bdf)})" = inactive ]', 60, "the unit to end")
    guest.settle(vm)
    expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")
    expect(guest.state(vm, card.bdf)["verdict"] == "lost", "the state file does not say lost")
    expect(guest.runs(vm, card.bdf) == 1, "not exactly one check")


@scenario()
def wrong_data(vm):
    """memory that does not remember: fault, exit status 1, by hand too"""
    guest.on_plug(vm, "quick")
    fake(vm, "stuck=69632:1:1")
    card, _ = plug_checked(vm, "fault", "data-fault")
    status, text = vm.sh(f"softtape check --level quick {card.bdf}")
    expect(status == 1, f"status {status}: {text}")


@scenario()
def libcuda_missing(vm):
    """no libcuda: not-testable, and the finding says so"""
    guest.on_plug(vm, "quick")
    guest.hide(vm, "/usr/lib/x86_64-linux-gnu/libcuda.so.1")
    card, _ = plug_checked(vm, "not-testable", "libcuda-absent")
    status, text = vm.sh(f"softtape check {card.bdf}")
    expect(status == 3, f"status {status}: {text}")


@scenario()
def child_hangs(vm):
    """the CUDA child stuck in the driver, state D: hung within its deadline, also through a pipe"""
    guest.on_plug(vm, "quick")
    fake(vm, "cuDeviceGetByPCIBusId=block:/dev/nvidia0")
    guest.keep_out(vm, "nvidia")
    vm.ok("modprobe nvidia resident=1 hang=1")
    plug_checked(vm, "hung", "hung", 60)
    vm.ok("grep -l '^State:.D' /proc/[0-9]*/status")
    job = vm.start("{ softtape check --level quick --force all; echo status $?; } 2>/dev/null | cat", 60)
    status, text = job.wait()
    expect(status == 0 and "hung" in text and "status 4" in text, f"status {status}: {text}")
    vm.ok("echo 0 >/sys/module/nvidia/parameters/hang")
    vm.wait("! grep -l '^State:.D' /proc/[0-9]*/status", 30, "the stuck children to end")


@scenario(prove=True)
def child_on_frozen_file_system(vm):
    """the CUDA child in state D on a frozen file system: hung in time, the reader of a pipe sees the end; an Xid is named"""
    guest.on_plug(vm, "off")
    card = vm.plug(P104)
    guest.settle(vm)
    # The guest's own disk: what the check writes lies below /run, which is memory. Thawed also when this ends badly.
    fake(vm, "cuCtxCreate_v2=block:/var/tmp/frozen")
    vm.ok("(sleep 100; fsfreeze -u /) >/dev/null 2>&1 & fsfreeze -f /")
    try:
        status, text = vm.sh("{ softtape check --level quick all; echo status $?; } 2>/dev/null | cat", 90)
        expect(status == 0 and "status 4" in text and "state D" in text and "left behind" in text,
               f"status {status}: {text}")
        vm.ok("grep -l '^State:.D' /proc/[0-9]*/status")
    finally:
        vm.sh("fsfreeze -u /")
    vm.wait("! grep -l '^State:.D' /proc/[0-9]*/status", 30, "the stuck child to end")
    # The state of this check would be taken for that of the next.
    vm.ok("rm -f /var/tmp/frozen /run/softtape/*.json")

    fake(vm, "cuCtxCreate_v2=delay:8000")
    job = vm.start("softtape check --level quick --json all", 120)
    vm.wait(f"grep -q '\"context\"' /run/softtape/{card.bdf}.json", 60, "the check to reach CUDA")
    vm.ok("echo 48 >/sys/module/nvidia/parameters/xid")
    status, text = job.wait()
    expect(status == 1 and '"xid-memory"' in text and '"verdict": "fault"' in text, f"status {status}: {text}")


@scenario()
def no_nvidia_module(vm):
    """no nvidia module for this kernel: said at once, without waiting for the driver"""
    guest.on_plug(vm, "quick")
    guest.hide(vm, "/lib/modules/$(uname -r)/extra/nvidia.ko", "/lib/modules/$(uname -r)/extra/nvidia-uvm.ko")
    _, result = plug_checked(vm, "not-testable", "no-nvidia-module", 50)
    expect(result["cards"][0]["quirks"]["state"] == "applied", "quirks do not hang on a driver")


@scenario()
def driver_does_not_come(vm):
    """module there, but nobody loads it: not-testable after the configured wait"""
    vm.ok("printf 'on_plug = quick\\ndriver_wait = 3\\n' >/etc/softtape.conf")
    guest.keep_out(vm, "nvidia")
    plug_checked(vm, "not-testable", "module-not-loaded", 55)


@scenario()
def driver_before_card(vm):
    """a driver that is loaded before the kernel lets it have the card, and is slow to probe it: waited for, bound"""
    guest.on_plug(vm, "bind-only")
    guest.modprobe_conf(vm, "options nvidia probe_delay_ms=1000")
    vm.ok("modprobe fakehost bind_delay_ms=2000")
    guest.settle(vm)
    result = guest.wait_check(vm, "4b4b:01:00.0")
    expect(result["cards"][0]["driver"] == "nvidia", f"not bound: {result['findings']}")


@scenario()
def driver_refuses_card(vm):
    """driver branch too new, or the open flavour: named, with the reason"""
    vm.ok("printf 'on_plug = quick\\ndriver_wait = 3\\n' >/etc/softtape.conf")
    guest.keep_out(vm, "nvidia")
    for options, code in (("version=590.44.01 fail=legacy", "branch-too-new"),
                          ("open_flavour=1 fail=open", "open-flavour")):
        vm.ok(f"modprobe nvidia resident=1 {options}")
        plug_checked(vm, "not-testable", code, 55)
        vm.unplug()
        guest.settle(vm)
        guest.unload(vm, "nvidia_uvm", "nvidia")


@scenario()
def module_absent(vm):
    """softtape's module not loaded: the card passes, the verdict is degraded"""
    guest.on_plug(vm, "quick")
    vm.ok("modprobe -r softtape")
    guest.keep_out(vm, "softtape")
    plug_checked(vm, "degraded", "softtape-absent")


@scenario()
def drift(vm):
    """ASPM switched on behind everybody's back: drifted, exit status 5, and verify settles it"""
    card = vm.plug(P104)
    guest.settle(vm)
    vm.ok(f"setpci -s {card.bdf} CAP_EXP+10.w=3:3")
    status, text = vm.sh(f"softtape check --level bind-only --json {card.bdf}")
    expect(status == 5 and '"drifted"' in text, f"status {status}: {text}")
    vm.ok(f"echo 1 >/sys/bus/pci/devices/{card.bdf}/softtape/verify")
    expect(guest.lnkctl(vm, card.bdf) & 3 == 0, "verify did not settle the link")
    status, text = vm.sh(f"softtape check --level bind-only {card.bdf}")
    expect(status == 0, f"status {status}: {text}")


@scenario(Boot(iommu=True))
def vfio_owns_card(vm):
    """vfio-pci has the card: settled all the same, not-testable, owner named"""
    guest.on_plug(vm, "quick")
    guest.keep_out(vm, "nvidia")
    vm.ok("modprobe vfio-pci ids=10de:1b87")
    mark = vm.mark()
    card, _ = plug_checked(vm, "not-testable", "owner-vfio", 55)
    vm.ok(f"readlink /sys/bus/pci/devices/{card.bdf}/driver | grep vfio-pci")
    line = guest.one_line(vm, card.bdf, mark).has(state="applied")
    guest.same_in_sysfs(vm, line)


def power_slot(vm, port):
    """Works the slot's power switch, as pciehp is away (PCIe r6.0 7.5.3.10: Power Controller Control 0 = on)."""
    vm.ok(f"setpci -s 00:{port.devfn:02x}.0 CAP_EXP+18.w=0:400")


@scenario(Boot(native=True), alone=True)
def rescan(vm):
    """a board without hot-plug signals: `softtape rescan` finds the card, and names one whose BARs do not fit"""
    guest.on_plug(vm, "quick")
    vm.ok("cd /sys/bus/pci_express/drivers/pciehp && for port in 0000*; do echo $port >unbind || exit 1; done")
    status, text = vm.sh("softtape rescan")
    expect(status == 0 and "no new card" in text, f"status {status}: {text}")
    mark = vm.mark()
    card = vm.plug(P104, 0, seen=False)
    power_slot(vm, vm.ports[0])
    vm.ok(f"udevadm settle; ! test -e /sys/bus/pci/devices/{card.bdf}")
    guest.silent(vm, mark)
    status, text = vm.sh("softtape rescan")
    expect(status == 0 and "pass" in text and "simulated" in text, f"status {status}: {text}")
    guest.settle(vm)
    guest.one_line(vm, card.bdf, mark).has(state="applied")
    expect(guest.runs(vm, card.bdf) == 1, "not exactly one check by the unit")

    # 1 TiB is all that the guest's processor can address. The real driver refuses a card with such a BAR; the simulated
    # one has to be told.
    vm.ok("cd /sys/module/nvidia/parameters && echo bar0 >fail && echo 0x1c07 >fail_id")
    large = vm.plug(P104, 1, ["--set", "2.w=1c07", "--bar1", str(1024 * 1024)], seen=False)
    power_slot(vm, vm.ports[1])
    status, text = vm.sh("softtape rescan --json")
    expect(status == 3 and '"bar-unassigned"' in text and large.bdf in text, f"status {status}: {text}")
