# SPDX-License-Identifier: GPL-2.0-only
"""The SMBus beside the card: a generic kernel, q35's real ICH9 controller with eight EEPROMs, an echo device at 0x4c."""
import functools
import json
import random
import re
import struct
import subprocess
from pathlib import Path

import guest
from kbuild import WORK, Stock, copy_changed
from light import Light
from scenario import scenario
from tree import source_files
from vm import BUILD, TOP, Boot, expect

P104 = "p104-100-riser-x1.txt"
CONTROLLER = "0000:00:1f.3"
DEVICE = f"/sys/bus/pci/devices/{CONTROLLER}"
DRIVER = "/sys/bus/pci/drivers/i801_smbus"
CLIENTS = "/sys/bus/i2c/devices"
STOCK = ("i2c-smbus", "i2c-i801", "i2c-dev", "i2c-stub")
SOURCES = [n for n in source_files() if n.startswith(("kmod/", "tests/guest/")) or n == "dkms.conf"]
EEPROMS = range(0x50, 0x58)
ALL_HELD = "held:0x4c@i2c-0,0x4e@i2c-0,0x4f@i2c-0"

ECHO = Boot(memory_mib=512, extra=("-device", "i2c-echo,address=0x4c"))


@functools.cache
def generic():
    """The generic kernel of Debian 12 and the modules a guest of it needs."""
    kernel = Stock("6.1", "generic")
    work = BUILD / f"modules-{kernel.release}"
    work.mkdir(parents=True, exist_ok=True)
    copy_changed(SOURCES, work)
    for folder in ("kmod", "tests/guest"):
        kernel.make(work, f"M={WORK}/{folder}", "modules")
    files = {"softtape.ko": work / "kmod/softtape.ko", "sensor.ko": work / "tests/guest/sensor.ko"}
    files.update({f"{name}.ko": next(Path(kernel.modules).rglob(f"{name}.ko*")) for name in STOCK})
    return kernel, {**files, **program()}


def program():
    """The helper as this machine builds it, with its libraries; helper() runs it."""
    subprocess.run(["make", "-s", "-C", TOP / "user"], check=True)
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", TOP / "user/softtape"], check=True, text=True,
                                                          stdout=subprocess.PIPE).stdout)
    return {"softtape": TOP / "user/softtape", **{Path(path).name: path for path in libraries}}


def helper(vm, words):
    """Runs the helper, which must succeed."""
    return vm.ok("cd /lib/modules; chmod +x ld-linux-x86-64.so.2; "
                 f"./ld-linux-x86-64.so.2 --library-path /lib/modules ./softtape {words}")


def machine(name, boot, results):
    """A light guest of the generic kernel."""
    kernel, files = generic()
    return Light(name, kernel, files, boot, results)


def watched(name, boot, results):
    """A light guest of the kernel that checks its locks."""
    from debugkernel import Debug

    kernel = Debug()
    work = BUILD / f"modules-{kernel.release}-debug"
    work.mkdir(parents=True, exist_ok=True)
    copy_changed(SOURCES, work)
    kernel.make(work, f"M={work}/kmod", "modules")
    files = {f"{m}.ko": kernel.module(m) for m in ("i2c-smbus", "i2c-i801")}
    return Light(name, kernel, {"softtape.ko": work / "kmod/softtape.ko", **files}, boot, results)


def reset(vm):
    """Between two scenarios: no card, no module of ours, no controller's driver and so no client."""
    for port in vm.ports:
        vm.unplug(port.number)
    guest.unload(vm, "softtape", "sensor", "i2c_stub", "i2c_i801", "i2c_smbus")


smbus = functools.partial(scenario, machine=machine, reset=reset)


def controller_up(vm):
    """Loads the controller's driver and what lets programs use the bus."""
    vm.ok("""cd /lib/modules
        for m in i2c-smbus i2c-i801 i2c-dev; do
            test ! -e $m.ko || grep -q "^${m%-*}_${m#*-} " /proc/modules || insmod $m.ko || exit 1
        done
        test -e /dev/i2c-0""")


def value(vm, card):
    """The card's smbus file."""
    return vm.ok(f"cat /sys/bus/pci/devices/{card.bdf}/softtape/smbus").strip()


def wait_value(vm, card, text):
    """Waits until the card's smbus file says @text."""
    vm.wait(f'[ "$(cat /sys/bus/pci/devices/{card.bdf}/softtape/smbus)" = "{text}" ]', 30, f"smbus {text}")


def wait_released(vm):
    """Nothing of ours is left on a controller with a driver."""
    vm.wait(f"! ls {CLIENTS} | grep -q 00[0-9a-f][0-9a-f] && grep -q suspended {DEVICE}/power/runtime_status", 30, "release")


def wait_held(vm):
    """All three addresses have a client with the kernel's dummy driver."""
    vm.wait(" && ".join(f'[ "$(readlink {CLIENTS}/0-00{a}/driver)" != "" ]' for a in ("4c", "4e", "4f")), 30, "clients")


def controller_lines(vm, mark):
    """What softtape said on the controller since @mark."""
    return [line.split("softtape: ")[1] for line in vm.lines(mark) if CONTROLLER in line]


def detected(vm):
    """i2cdetect's map as {address: what it prints}."""
    text = vm.ok("i2cdetect -y 0")
    cells = {}
    for row in text.splitlines()[1:]:
        for column in range(16):
            cell = row[4 + 3 * column:6 + 3 * column].strip()
            if cell and cell != "--":
                cells[int(row[:2], 16) + column] = cell
    return cells


def eeproms(vm):
    """A digest of all bytes of all EEPROMs."""
    return vm.ok("for a in 0 1 2 3 4 5 6 7; do i2cdump -y 0 0x5$a b || exit 1; done | md5sum").strip()


def plug_first(vm):
    """The first card: its object and its final line."""
    mark = vm.mark()
    card = vm.plug(P104)
    return card, guest.final_line(vm, card.bdf, mark)


@smbus(ECHO)
def smbus_awake(vm):
    """smbus=awake: the controller suspends before and after, not while a card is there; the user's setting is untouched"""
    controller_up(vm)
    vm.ok(f"echo 0 >{DEVICE}/power/autosuspend_delay_ms")
    vm.wait(f"grep -q suspended {DEVICE}/power/runtime_status", 30, "suspended without a card")
    vm.insmod("softtape")
    vm.wait(f"grep -q suspended {DEVICE}/power/runtime_status", 30, "suspended without a card, module loaded")
    mark = vm.mark()
    card, line = plug_first(vm)
    expect(line.value["smbus"] in ("awake", "none"), line.text)
    wait_value(vm, card, "awake")
    expect(controller_lines(vm, mark) == ["smbus=awake"], f"{controller_lines(vm, mark)}")

    # It stays so: time passes awake and none of it asleep, with transfers in between.
    vm.ok(f"""cd {DEVICE}/power
        asleep=$(cat runtime_suspended_time); until=$(($(cat runtime_active_time) + 300))
        while [ $(cat runtime_active_time) -lt $until ]; do i2cget -y 0 0x50 0 >/dev/null || exit 1; done
        [ $(cat runtime_suspended_time) = $asleep ] && grep -q active runtime_status""")
    expect(vm.ok(f"cat {DEVICE}/power/control").strip() == "auto", "power/control was changed")
    expect(set(detected(vm)) == {0x4c, *EEPROMS} and "UU" not in detected(vm).values(), f"{detected(vm)}")

    plugged = vm.mark()
    second = vm.plug(P104, 1)
    guest.final_line(vm, second.bdf, plugged).has(smbus="awake")
    vm.unplug(0)
    expect(vm.ok(f"cat {DEVICE}/power/runtime_usage").strip() == "1", "not one reference with one card left")
    vm.unplug(1)
    vm.wait(f"grep -q suspended {DEVICE}/power/runtime_status", 30, "suspended again")
    vm.wait_line(f"{CONTROLLER}: softtape: smbus=none", 30, mark)
    expect(controller_lines(vm, mark) == ["smbus=awake", "smbus=none"], f"{controller_lines(vm, mark)}")
    wait_released(vm)


@smbus(ECHO)
def smbus_hold(vm):
    """smbus=hold: UU at 4c 4e 4f, EBUSY, a class driver stays away, other adapters are left alone; unload frees all"""
    controller_up(vm)
    vm.ok("insmod /lib/modules/i2c-stub.ko chip_addr=0x4c && test -e /dev/i2c-1")
    vm.ok("i2cget -y 0 0x4c 1")
    vm.insmod("softtape", "smbus=hold")
    card, line = plug_first(vm)
    expect(line.value["smbus"] in (ALL_HELD, "none"), line.text)
    wait_value(vm, card, ALL_HELD)

    expect(detected(vm) == {0x4c: "UU", 0x4e: "UU", 0x4f: "UU", **{a: f"{a:x}" for a in EEPROMS}}, f"{detected(vm)}")
    for address in ("0x4c", "0x4e", "0x4f"):
        status, text = vm.sh(f"i2cget -y 0 {address} 1")
        expect(status != 0 and "busy" in text, f"{address}: {text}")
    status, text = vm.sh(f"echo lm75 0x4c >{CLIENTS}/i2c-0/new_device")
    expect(status != 0, f"a second client at 0x4c: {text}")
    vm.insmod("sensor")
    expect("0-004c" not in vm.ok("ls /sys/bus/i2c/drivers/sensor_driver"), "the class driver got a held address")
    expect("1-0048" not in vm.ok(f"ls {CLIENTS}") and "1-004e" not in vm.ok(f"ls {CLIENTS}"), "an adapter that is not ours")

    vm.ok("rmmod sensor; rmmod softtape")
    wait_released(vm)
    vm.insmod("sensor")
    expect("0-004c" in vm.ok("ls /sys/bus/i2c/drivers/sensor_driver"), "the class driver finds nothing: nothing was tried")


@smbus(ECHO)
def smbus_hold_unbound(vm):
    """held means that the kernel's dummy driver has it: not where root unbinds it or drivers do not bind; nothing loops"""
    controller_up(vm)
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, ALL_HELD)
    dummy = "/sys/bus/i2c/drivers/dummy"
    vm.ok(f"echo 0-004c >{dummy}/unbind")
    wait_value(vm, card, "held:0x4e@i2c-0,0x4f@i2c-0")
    vm.ok(f"echo 0-004c >{dummy}/bind")
    wait_value(vm, card, ALL_HELD)
    vm.ok("rmmod softtape; echo 0 >/sys/bus/i2c/drivers_autoprobe")

    vm.insmod("softtape", "smbus=hold")
    wait_value(vm, card, "awake")
    vm.wait(f"test -e {CLIENTS}/0-004c && test -e {CLIENTS}/0-004f", 30, "clients without a driver")
    vm.ok(f"""seen=$(cat /sys/kernel/uevent_seqnum); until=$(($(cat {DEVICE}/power/runtime_active_time) + 1000))
        while [ $(cat {DEVICE}/power/runtime_active_time) -lt $until ]; do usleep 50000; done
        [ $(cat /sys/kernel/uevent_seqnum) = $seen ]""")
    vm.ok(f"echo 1 >/sys/bus/i2c/drivers_autoprobe; for a in c e f; do echo 0-004$a >{dummy}/bind; done")
    wait_value(vm, card, ALL_HELD)


@smbus(ECHO)
def smbus_off(vm):
    """smbus=off and a dry run: said, no reference, no client, no line on the controller"""
    controller_up(vm)
    for params, text in (("smbus=off", "off"), ("dry_run=Y", "off(would be awake)"),
                         ("dry_run=Y smbus=hold", "off(would be held)"), ("dry_run=Y smbus=off", "off")):
        vm.insmod("softtape", params)
        mark = vm.mark()
        card, line = plug_first(vm)
        line.has(smbus=text)
        expect(("would" in line.reason["smbus"]) == ("would" in text), line.text)
        expect(value(vm, card) == "off", f"{params}: {value(vm, card)}")
        expect(vm.ok(f"cat {DEVICE}/power/runtime_usage").strip() == "0", f"{params}: a reference is held")
        expect("UU" not in detected(vm).values(), f"{params}: {detected(vm)}")
        vm.unplug(0)
        vm.ok("rmmod softtape")
        expect(not controller_lines(vm, mark), f"{params}: {controller_lines(vm, mark)}")


@smbus(ECHO)
def smbus_owner_first(vm):
    """an owner that came first stays and is named, by its driver or without one by itself; when it goes, we hold"""
    controller_up(vm)
    vm.insmod("sensor")
    vm.ok(f"echo nodriver 0x4f >{CLIENTS}/i2c-0/new_device")
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, "held:0x4e@i2c-0,owned:sensor_driver,owned:nodriver")
    expect("0-004c" in vm.ok("ls /sys/bus/i2c/drivers/sensor_driver"), "the owner lost its device")
    vm.ok("rmmod sensor")
    wait_value(vm, card, "held:0x4c@i2c-0,0x4e@i2c-0,owned:nodriver")
    vm.ok(f"echo 0x4f >{CLIENTS}/i2c-0/delete_device")
    wait_value(vm, card, ALL_HELD)


@smbus(ECHO)
def smbus_spd_intact(vm):
    """every byte of the SPD EEPROMs is the same before, during and after, in every mode"""
    controller_up(vm)
    vm.ok("""for a in 0 1 2 3 4 5 6 7; do
        for r in 0 1 2 3 4 5 6 7; do i2cset -y 0 0x5$a 0x$r$a 0x$a$r || exit 1; done; done""")
    before = eeproms(vm)
    vm.ok("i2cset -y 0 0x57 0xff 0x77")
    changed = eeproms(vm)
    expect(before != changed, "the digest does not see a changed byte")
    for params in ("smbus=awake", "smbus=hold", "smbus=off"):
        vm.insmod("softtape", params)
        card, _ = plug_first(vm)
        wait_value(vm, card, {"smbus=awake": "awake", "smbus=hold": ALL_HELD, "smbus=off": "off"}[params])
        expect(eeproms(vm) == changed, f"{params}, card there: the SPD has changed")
        vm.unplug(0)
        wait_released(vm)
        vm.ok("rmmod softtape")
        expect(eeproms(vm) == changed, f"{params}, card gone: the SPD has changed")


def memory_device(memory_type):
    """An SMBIOS memory device of 1 GiB with this Memory Type (SMBIOS 3.7 7.18), in a file for QEMU."""
    body = struct.pack("<HHHHHBBBBBHHBBBBBIH", 0x1000, 0xfffe, 64, 64, 1024, 9, 0, 1, 0, memory_type, 0x80, 4800,
                       0, 0, 0, 0, 0, 0, 4800)
    path = BUILD / f"memory-{memory_type:02x}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<BBH", 17, 4 + len(body), 0x1100) + body + b"DIMM 0\0\0")
    return path


@smbus(Boot(memory_mib=512, extra=("-smbios", f"file={memory_device(0x22)}")))
def smbus_ddr5_refused(vm):
    """a host with DDR5, by SMBIOS: refused(ddr5), kept awake, nothing held"""
    controller_up(vm)
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, "refused(ddr5)")
    expect("UU" not in detected(vm).values(), f"{detected(vm)}")
    expect(vm.ok(f"cat {DEVICE}/power/runtime_usage").strip() == "1", "not kept awake")
    vm.unplug(0)
    wait_released(vm)


@smbus(ECHO)
def smbus_ddr5_client(vm):
    """a DDR5 hub on the bus is enough: what is held is given back"""
    controller_up(vm)
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, ALL_HELD)
    vm.ok(f"echo spd5118 0x50 >{CLIENTS}/i2c-0/new_device")
    wait_value(vm, card, "refused(ddr5)")
    expect([a for a, cell in detected(vm).items() if cell == "UU"] == [], f"{detected(vm)}")


@scenario()
def smbus_no_i2c(vm):
    """a kernel without I2C: the module loads and says unsupported, or off when that was asked for"""
    vm.ok("! grep -q i2c_add_adapter /proc/kallsyms")
    for params, text in (("", "unsupported"), ("smbus=hold", "unsupported"), ("smbus=off", "off")):
        guest.load(vm, params)
        mark = vm.mark()
        card = vm.plug(P104)
        guest.settle(vm)
        line = guest.one_line(vm, card.bdf, mark).has(state="applied", smbus=text)
        guest.same_in_sysfs(vm, line)
        vm.unplug(0)


@smbus(ECHO)
def smbus_late_controller(vm):
    """no controller's driver yet: no-controller, the card's line does not wait; loaded later it is held, unloaded let go"""
    vm.insmod("softtape", "smbus=hold")
    mark = vm.mark()
    card, line = plug_first(vm)
    line.has(state="applied", smbus="no-controller")
    expect(value(vm, card) == "no-controller", value(vm, card))
    controller_up(vm)
    wait_value(vm, card, ALL_HELD)
    vm.ok("rmmod i2c_i801")
    expect(value(vm, card) == "no-controller", value(vm, card))
    expect(controller_lines(vm, mark) == [f"smbus={ALL_HELD}", "smbus=none"], f"{controller_lines(vm, mark)}")
    expect(len(guest.lines(vm, mark, card.bdf)) == 1, "more than one line about the card")


@smbus(ECHO)
def smbus_unbind(vm):
    """the driver leaves a held controller: let go before it has left, held again when it is back; any order of the ends"""
    controller_up(vm)
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, ALL_HELD)
    vm.ok(f"echo {CONTROLLER} >{DRIVER}/unbind")
    expect(value(vm, card) == "no-controller", value(vm, card))
    expect(not vm.ok(f"ls {CLIENTS}").split(), "clients without an adapter")
    expect(vm.ok(f"cat {DEVICE}/power/runtime_usage").strip() in ("0", "1"), "references are left")
    vm.ok(f"echo {CONTROLLER} >{DRIVER}/bind")
    wait_value(vm, card, ALL_HELD)

    # Unbound, then the card leaves, then the driver is back: nothing to hold for.
    vm.ok(f"echo {CONTROLLER} >{DRIVER}/unbind")
    vm.unplug(0)
    vm.ok(f"echo {CONTROLLER} >{DRIVER}/bind")
    wait_released(vm)
    expect("UU" not in detected(vm).values(), f"{detected(vm)}")

    # The controller's device goes away as a whole and comes back.
    card, _ = plug_first(vm)
    wait_value(vm, card, ALL_HELD)
    vm.ok(f"echo 1 >{DEVICE}/remove && echo 1 >/sys/bus/pci/rescan")
    wait_value(vm, card, ALL_HELD)

    # Unbound, then unloaded.
    vm.ok(f"echo {CONTROLLER} >{DRIVER}/unbind; rmmod softtape; echo {CONTROLLER} >{DRIVER}/bind")
    wait_released(vm)


@smbus(ECHO)
def smbus_list(vm):
    """softtape list on real sysfs, SMBIOS and kernel log: driver, held, sensors, messages, what hold would come to"""
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    found, = json.loads(helper(vm, "list --json"))["smbus"]
    expect((found["bdf"], found["driver"], found["adapter"], found["hold"]) == (CONTROLLER, None, None, "no-controller"),
           f"{found}")
    vm.ok("rmmod softtape")
    controller_up(vm)
    vm.insmod("sensor")
    vm.insmod("softtape", "smbus=hold")
    wait_value(vm, card, "held:0x4e@i2c-0,0x4f@i2c-0,owned:sensor_driver")
    message = f"i801_smbus {CONTROLLER}: SMBus is busy, can't use it!"
    vm.ok(f'echo "{message}" >/dev/kmsg')
    found, = json.loads(helper(vm, "list --json"))["smbus"]
    expect(found == {"bdf": CONTROLLER, "driver": "i801_smbus", "adapter": "i2c-0", "held": ["0x4e", "0x4f"],
                     "sensors": [{"address": "0x4c", "name": "sensor", "driver": "sensor_driver"}],
                     "messages": [message], "hold": "held:0x4e@i2c-0,0x4f@i2c-0,owned:sensor_driver"}, f"{found}")
    text = helper(vm, "list")
    expect("held by softtape: 0x4e, 0x4f\n  others at 0x48-0x4f: 0x4c sensor (sensor_driver)" in text, text)


def cycles(vm, count):
    """Cards come and go while the controller's driver does, by chance; afterwards nothing is left and all works."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    controller_up(vm)
    vm.insmod("softtape", "smbus=hold")
    for number in range(count):
        if rng.random() < 0.1:
            vm.ok("rmmod softtape")
            vm.insmod("softtape", f"smbus={rng.choice(('hold', 'hold', 'awake'))}")
        port = rng.choice(vm.ports).number
        for change in (lambda: vm.plug(P104, port), lambda: vm.unplug(port)):
            job = vm.start(f"""for pause in {' '.join(str(rng.randrange(30000)) for _ in range(rng.randint(1, 2)))}; do
                echo {CONTROLLER} >{DRIVER}/unbind; usleep $pause; echo {CONTROLLER} >{DRIVER}/bind; usleep $pause; done""")
            change()
            status, text = job.wait()
            expect(status == 0, f"cycle {number}: {text}")
        vm.check_splats()

    wait_released(vm)
    vm.ok("rmmod softtape")
    vm.insmod("softtape", "smbus=hold")
    card, _ = plug_first(vm)
    wait_value(vm, card, ALL_HELD)
    wait_held(vm)


@smbus(ECHO)
def smbus_cycles(vm):
    """20 times a card comes and goes while the controller's driver goes and comes; then all works and nothing is left"""
    cycles(vm, 20)


@smbus(Boot(memory_mib=768), alone=True, prove=True, machine=watched, limit_s=3600)
def smbus_cycles_lockdep(vm):
    """200 such cycles on a kernel that watches its locks"""
    watching = "grep -q 'debug_locks: *1$' /proc/lockdep_stats"
    vm.ok(watching)
    cycles(vm, 200)
    vm.ok(watching)
