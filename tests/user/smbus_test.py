#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""softtape list: the host's SMBus controllers, from a made-up host's files."""
import json
import pathlib
import shutil
import tempfile

import machine
from lib import CASES, check, document, main, run

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-smbus-"))
CARD = "0000:01:00.0"
CONTROLLER = "0000:00:1f.3"
I801 = "SMBus I801 adapter at efa0"


class Host:
    """A host's files below a folder, and a card for umockdev whose module says @smbus."""

    def __init__(self, smbus="awake"):
        self.root = WORK / "root"
        shutil.rmtree(self.root, ignore_errors=True)
        found = machine.devices(CASES / "p104-100-with-port.txt")
        parents = {CARD: next(bdf for bdf in found if bdf != CARD)}
        self.machine = WORK / "machine"
        self.machine.write_text(machine.describe(found, parents, "nvidia", {**machine.APPLIED, "smbus": smbus}), encoding="utf-8")
        self.file("/dev/kmsg", "6,1,100,-;Linux version 6.1.0\n")

    def file(self, path, text=""):
        """One file; bytes as they are."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())

    def controller(self, name=I801, driver="i801_smbus", adapter=0, bdf=CONTROLLER):
        """A controller, with a driver an adapter on it."""
        folder = f"/sys/bus/pci/devices/{bdf}"
        self.file(f"{folder}/class", "0x0c0500\n")
        if driver:
            (self.root / folder.lstrip("/") / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
            self.file(f"{folder}/i2c-{adapter}/name", name + "\n")

    def client(self, address, name, driver=None, adapter=0):
        """An I2C client on the controller's adapter."""
        folder = f"/sys/bus/pci/devices/{CONTROLLER}/i2c-{adapter}/{adapter}-{address:04x}"
        self.file(f"{folder}/name", name + "\n")
        if driver:
            (self.root / folder.lstrip("/") / "driver").symlink_to(f"../../../../bus/i2c/drivers/{driver}")

    def memory(self, *types):
        """SMBIOS tables with memory devices of these types (SMBIOS 3.7 7.18), a processor's entry before them."""
        entry = b"\x04\x06\x00\x04\x00\x00" + b"CPU\0\0"
        for kind in types:
            entry += bytes([17, 0x15, 0, 17]) + bytes(14) + bytes([kind, 0, 0]) + b"DIMM 0\0bank\0\0"
        self.file("/sys/firmware/dmi/tables/DMI", entry + b"\x7f\x04\x00\x7f\0\0")

    def list(self):
        """(the controllers as JSON, the text)."""
        env = {"SOFTTAPE_ROOT": str(self.root)}
        answer = run("list", "--json", machine=self.machine, env=env)
        text = run("list", machine=self.machine, env=env)
        check(answer.returncode == 0 and text.returncode == 0, f"{answer.stderr} {text.stderr}")
        return document(answer)["smbus"], text.stdout.decode()


def expect(found, **wanted):
    """The one controller has these values."""
    check(len(found) == 1, found)
    for key, value in wanted.items():
        check(found[0][key] == value, f"{key}={json.dumps(value)} expected: {found[0]}")


def test_smbus_none():
    """No controller: no line, an empty array."""
    host = Host("no-controller")
    found, text = host.list()
    check(found == [] and "SMBus" not in text, text)


def test_smbus_no_driver():
    """A controller without a driver."""
    host = Host("no-controller")
    host.controller(driver=None)
    found, text = host.list()
    expect(found, bdf=CONTROLLER, driver=None, adapter=None, held=[], sensors=[], messages=[], hold="no-controller")
    check(f"SMBus {CONTROLLER}: driver none, smbus=hold here: no-controller\n" in text and "held by" not in text, text)


def test_smbus_awake():
    """Awake, DDR4: hold would get all three."""
    host = Host()
    host.controller()
    host.memory(0x1a, 0x02)
    host.client(0x50, "ee1004", "ee1004")
    found, text = host.list()
    expect(found, driver="i801_smbus", adapter="i2c-0", held=[], sensors=[],
           hold="held:0x4c@i2c-0,0x4e@i2c-0,0x4f@i2c-0")
    check("held by softtape: nothing\n  others at 0x48-0x4f: none\n" in text, text)


def test_smbus_held():
    """Held by the module, with a sensor of the board that the kernel drives, and a client without a driver."""
    host = Host("held:0x4e@i2c-12,owned:lm90,owned:left")
    host.controller(adapter=12)
    host.memory(0x1a)
    host.client(0x48, "lm75", "lm75", 12)
    host.client(0x4c, "adt7461", "lm90", 12)
    host.client(0x4e, "dummy", "dummy", 12)
    host.client(0x4f, "left", None, 12)
    found, text = host.list()
    expect(found, adapter="i2c-12", held=["0x4e"], hold="held:0x4e@i2c-12,owned:lm90,owned:left",
           sensors=[{"address": "0x48", "name": "lm75", "driver": "lm75"},
                    {"address": "0x4c", "name": "adt7461", "driver": "lm90"},
                    {"address": "0x4f", "name": "left", "driver": None}])
    check("held by softtape: 0x4e\n  others at 0x48-0x4f: 0x48 lm75 (lm75), 0x4c adt7461 (lm90), 0x4f left (no driver)\n" in text, text)


def test_smbus_somebody_elses_dummy():
    """A dummy client that is not the module's: i2c-1 is not i2c-12, and nothing was said of it."""
    host = Host("held:0x4e@i2c-12")
    host.controller(adapter=1)
    host.memory(0x1a)
    host.client(0x4e, "dummy", "dummy", 1)
    found, _ = host.list()
    expect(found, held=[], sensors=[{"address": "0x4e", "name": "dummy", "driver": "dummy"}],
           hold="held:0x4c@i2c-1,0x4f@i2c-1,owned:dummy")


def test_smbus_two_adapters():
    """One address held on two adapters, the longer name first: each is found."""
    host = Host("held:0x4e@i2c-12,0x4e@i2c-1")
    host.controller(adapter=1)
    host.memory(0x1a)
    host.client(0x4e, "dummy", "dummy", 1)
    found, _ = host.list()
    expect(found, held=["0x4e"], sensors=[], hold="held:0x4c@i2c-1,0x4e@i2c-1,0x4f@i2c-1")


def test_smbus_ddr5():
    """DDR5 by SMBIOS in one of several slots, or by a hub on the bus."""
    host = Host("refused(ddr5)")
    host.controller()
    host.memory(0x02, 0x22)
    expect(host.list()[0], hold="refused(ddr5)")
    host.memory(0x02)
    expect(host.list()[0], hold="held:0x4c@i2c-0,0x4e@i2c-0,0x4f@i2c-0")
    host.client(0x51, "spd5118", "spd5118")
    expect(host.list()[0], hold="refused(ddr5)")


def test_smbus_memory_unknown():
    """SMBIOS tables that say nothing of memory: unknown, unless a hub tells."""
    host = Host()
    host.controller()
    host.memory()
    found, text = host.list()
    expect(found, hold=None)
    check("smbus=hold here: unknown" in text, text)
    for garbage in (b"", b"\x11", b"\x11\x15\x00\x11", b"\x11\x00\x00\x11" * 9, b"\xff" * 100):
        host.file("/sys/firmware/dmi/tables/DMI", garbage)
        expect(host.list()[0], hold=None)


def test_smbus_other_adapter():
    """A driver whose adapter is of no known kind, and the second adapter of a known one."""
    host = Host("no-controller")
    host.controller("SMBus nForce2 adapter at 1c00", "nForce2_smbus")
    host.memory(0x18)
    expect(host.list()[0], driver="nForce2_smbus", adapter=None, hold="no-controller")
    host = Host()
    host.controller("SMBus PIIX4 adapter port 2 at 0b00", "piix4_smbus", 3)
    host.file(f"/sys/bus/pci/devices/{CONTROLLER}/i2c-2/name", "SMBus PIIX4 adapter port 0 at 0b00\n")
    host.memory(0x1a)
    expect(host.list()[0], adapter="i2c-2")


def test_smbus_messages():
    """A stuck bus and firmware on the bus, named from the kernel log; another device's lines are not taken."""
    host = Host()
    host.controller()
    host.memory(0x1a)
    host.file("/dev/kmsg", "3,1,1,-;i801_smbus 0000:00:1f.4: Transaction timeout\n"
              f"3,2,2,-;i801_smbus {CONTROLLER}: Transaction failed\n")
    expect(host.list()[0], messages=[])
    busy, bios = f"i801_smbus {CONTROLLER}: SMBus is busy, can't use it!", f"i801_smbus {CONTROLLER}: BIOS is accessing SMBus registers"
    host.file("/dev/kmsg", f"3,1,1,-;i801_smbus {CONTROLLER}: Transaction timeout\n4,2,2,-;{bios}\n3,3,3,-;{busy}\n")
    found, text = host.list()
    expect(found, messages=[busy, bios])
    check(f"kernel log: {busy}\n" in text and f"kernel log: {bios}\n" in text, text)
    host = Host()
    host.controller("SMBus PIIX4 adapter port 0 at 0b00", "piix4_smbus", 1)
    host.file("/dev/kmsg", "3,1,1,-;i2c i2c-1: SMBus Timeout!\n3,1,1,-;i2c i2c-11: Failed reset at end of transaction (01)\n")
    expect(host.list()[0], messages=["i2c i2c-1: SMBus Timeout!"])
    (host.root / "dev/kmsg").unlink()
    found, text = host.list()
    expect(found, messages=None)
    check("kernel log: not readable" in text, text)


main([test for name, test in sorted(globals().items()) if name.startswith("test_")])
