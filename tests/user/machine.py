# SPDX-License-Identifier: GPL-2.0-only
"""Machines for umockdev, made from dumps: devices with their bytes, a driver link, the module's sysfs folder."""
import re

DEVICE = re.compile(r"^(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")
BYTES = re.compile(r"^[0-9a-f]{2,3}: ((?:[0-9a-f]{2} ?)+)$")

# BAR 0 and BAR 1 as the kernel shows them: start, end, flags.
RESOURCE = ["0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200",
            "0x00000000e0000000 0x00000000efffffff 0x000000000014220c"]

APPLIED = {"card": "P104-100", "state": "applied", "aspm": "off", "clkpm": "off", "l1ss": "unsupported", "d3cold": "off",
           "cap": "keep", "speed": "2.5GT/s,x1", "smbus": "off",
           "report": "state=applied aspm=off(was l0s+l1) clkpm=off(was on) l1ss=unsupported d3cold=off(was on) cap=keep"}


def devices(path):
    """Address to bytes, for each device of a dump."""
    found, current = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            device, data = DEVICE.match(line), BYTES.match(line.strip())
            if device:
                current = found.setdefault(f"{device[1] or '0000'}:{device[2]}", bytearray())
            elif data and current is not None:
                current += bytes.fromhex(data[1])
    return found


def settle(device):
    """The bytes after ASPM and Clock PM went off: Link Control of the PCI Express capability (PCIe r6.0 7.5.3.7)."""
    pos = device[0x34]
    while pos and device[pos] != 0x10:
        pos = device[pos + 1]
    device[pos + 0x10] &= ~0x03
    device[pos + 0x11] &= ~0x01
    return device


def describe(found, parents, driver=None, quirks=None, resource=None):
    """The text umockdev-run --device reads. Parents: address of a device to the address of the bridge above it."""
    text = []
    for bdf, data in found.items():
        number = {key: int.from_bytes(data[at:at + 2], "little") for key, at in
                  {"vendor": 0, "device": 2, "subvendor": 0x2c, "subdevice": 0x2e}.items()}
        kind = int.from_bytes(data[9:12], "little")
        alias = (f"pci:v{number['vendor']:08X}d{number['device']:08X}sv{number['subvendor']:08X}"
                 f"sd{number['subdevice']:08X}bc{kind >> 16:02X}sc{kind >> 8 & 255:02X}i{kind & 255:02X}")
        above = parents.get(bdf)
        text += [f"P: /devices/pci0000:00/{above + '/' if above else ''}{bdf}", "E: SUBSYSTEM=pci", f"E: PCI_SLOT_NAME={bdf}",
                 f"E: MODALIAS={alias}", f"A: vendor=0x{number['vendor']:04x}\\n", f"A: device=0x{number['device']:04x}\\n",
                 f"A: class=0x{kind:06x}\\n", f"A: modalias={alias}\\n", f"H: config={data.hex().upper()}"]
        if number["vendor"] == 0x10de:
            text += ["A: resource=" + "\\n".join(resource or RESOURCE) + "\\n", "A: current_link_speed=2.5 GT/s PCIe\\n",
                     "A: current_link_width=1\\n", "A: max_link_speed=2.5 GT/s PCIe\\n", "A: max_link_width=4\\n",
                     "A: d3cold_allowed=1\\n"]
            text += [f"L: driver=../../../../bus/pci/drivers/{driver}"] if driver else []
            text += [f"A: softtape/{key}={value}\\n" for key, value in (quirks or {}).items()]
        text.append("")
    return "\n".join(text) + "\n"
