# SPDX-License-Identifier: GPL-2.0-only
"""
Hosts as text: a folder tree that the program takes for a machine's own, made from tests/fixtures/hosts/NAME.txt.

    include NAME                          the lines of another host first
    pci ADDRESS ID CLASS [KEY VALUE ...]  a device; keys: below, driver, link (2.5x1/2.5x4: now/most), gone, control, quirks
    file PATH [at SECONDS]                a file, its lines follow behind "| "
    bytes PATH HEX                        a file of these bytes
    nvml WORD=NUMBER ...                  what the simulated NVML tells
    link PATH TARGET                      a symbolic link
    module PATH KEY=VALUE ...             a kernel module with this modinfo; signer= signs it
    remove PATH                           what an included host has and this one has not
    expect CODE [ADDRESS]                 what doctor must find, beside nothing else; "unexpect CODE" takes one back
"""
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess

import machine
from lib import run

TOP = pathlib.Path(__file__).resolve().parents[2]
HOSTS = TOP / "tests/fixtures/hosts"
TEMPLATE = TOP / "tests/fixtures/cases/p104-100-with-port.txt"
EXPRESS = 0x78
SPEEDS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4}


def on_host(host, *words, **more):
    """Runs the program with a host for its machine."""
    return run(*words, env=surroundings(host, more.pop("env", None)), **more)


def surroundings(host, more=None):
    """The environment of a program on a host."""
    env = host.environment()
    env["LD_PRELOAD"] = os.environ.get("SOFTTAPE_PRELOAD", "") + env["LD_PRELOAD"]
    return {**env, **(more or {})}


def lines_of(name):
    """The lines of a host, included ones first."""
    for line in (HOSTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("include "):
            yield from lines_of(line.split()[1])
        else:
            yield line


def elf(modinfo, signer=None):
    """The least that libkmod takes for a module: a relocatable ELF file with a section .modinfo, and a signature behind it."""
    info = b"".join(item.encode() + b"\0" for item in modinfo)
    names = b"\0.modinfo\0.shstrtab\0.symtab\0.strtab\0"
    parts = [(1, 1, info, 0, 0), (10, 3, names, 0, 0), (20, 2, bytes(24), 4, 24), (28, 3, b"\0", 0, 0)]
    offset, body, headers = 64, b"", [bytes(64)]
    for name, kind, data, linked, size in parts:
        headers.append(struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset + len(body), len(data), linked, 1 if kind == 2 else 0, 1, size))
        body += data + bytes(-len(data) % 8)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(headers), 2)
    data = head + body + b"".join(headers)
    if signer:
        # include/linux/module_signature.h, of the kind that names its signer in plain text (PKEY_ID_PGP).
        mark = signer.encode() + b"\x01\x02\x03\x04" + bytes(16)
        data += mark + struct.pack(">BBBBBxxxI", 1, 4, 0, len(signer), 4, 16) + b"~Module signature appended~\n"
    return data


def set_link(data, now, most):
    """Link Capabilities and Link Status of the template's PCI Express capability (PCIe r6.0 7.5.3.6, 7.5.3.8)."""
    for at, text in ((EXPRESS + 0x0c, most), (EXPRESS + 0x12, now)):
        speed, width = text.split("x")
        data[at] = SPEEDS[speed] | (int(width) & 15) << 4
        data[at + 1] = (data[at + 1] & 0xfc) | int(width) >> 4


class Host:
    """A host being built below a folder."""

    def __init__(self, root, name):
        self.root, self.expected, self.pci, self.current, self.nvml = pathlib.Path(root), [], {}, None, ""
        shutil.rmtree(self.root, ignore_errors=True)
        found = machine.devices(TEMPLATE)
        self.card, self.port = machine.settle(found["0000:01:00.0"]), machine.settle(found["0000:00:1c.0"])
        self.files = {}
        for line in lines_of(name):
            self.take(line)
        for bdf in sorted(self.pci):
            self.make_device(bdf, self.pci[bdf])
        for path, (kind, value, seconds) in self.files.items():
            self.make_file(path, kind, value, seconds)
        for folder in self.root.glob("lib/modules/*"):
            subprocess.run(["/usr/sbin/depmod", "-b", self.root, folder.name], check=True, capture_output=True)

    def take(self, line):
        """One line."""
        word, _, rest = line.partition(" ")
        if word == "|":
            self.files[self.current][1].append(rest)
        elif word == "file":
            path, _, seconds = rest.partition(" at ")
            self.current = path
            self.files[path] = ("file", [], int(seconds or 1700000000))
        elif word in ("link", "bytes"):
            path, target = rest.split()
            self.files[path] = (word, target, 1700000000)
        elif word == "nvml":
            self.nvml = rest
        elif word == "module":
            path, *pairs = shlex.split(rest)
            self.files[path] = ("module", pairs, 1700000000)
        elif word == "remove":
            for path in [path for path in self.files if path == rest or path.startswith(rest + "/")]:
                del self.files[path]
            self.pci.pop(rest, None)
        elif word == "pci":
            bdf, ident, kind, *more = rest.split()
            self.pci[bdf] = {"id": ident, "class": kind, **dict(zip(more[::2], more[1::2]))}
        elif word == "expect":
            code, _, bdf = rest.partition(" ")
            self.expected.append((code, bdf or None))
        elif word == "unexpect":
            self.expected = [item for item in self.expected if item[0] != rest]
        elif line and not line.startswith("#"):
            raise ValueError(line)

    def folder(self, bdf):
        """Where a device is in sysfs: below its port."""
        above = self.pci[bdf].get("below")
        return (self.folder(above) if above else self.root / "sys/devices/pci0000:00") / bdf

    def make_device(self, bdf, device):
        """One device of sysfs."""
        folder, vendor, number = self.folder(bdf), *device["id"].split(":")
        folder.mkdir(parents=True, exist_ok=True)
        data = bytearray(self.port if device["class"].startswith("0604") else self.card)
        data[0:4] = struct.pack("<HH", int(vendor, 16), int(number, 16))
        data[9:12] = bytes.fromhex(device["class"])[::-1]
        now, _, most = device.get("link", "2.5x1/2.5x1").partition("/")
        set_link(data, now, most)
        if device.get("gone") == "yes":
            data = bytearray(b"\xff" * len(data))
        if device.get("master") == "off":
            data[4] &= ~0x04
        (folder / "config").write_bytes(data)
        alias = f"pci:v0000{vendor.upper()}d0000{number.upper()}sv00000000sd00000000bc{device['class'][:2]}sc{device['class'][2:4]}i00"
        texts = {"vendor": f"0x{vendor}", "device": f"0x{number}", "class": f"0x{device['class']}", "modalias": alias,
                 "resource": "\n".join(machine.RESOURCE if device.get("bars") != "none" else ["0x0 0x0 0x0"] * 2),
                 "power/control": device.get("control", "on"), "d3cold_allowed": "1",
                 "uevent": f"PCI_SLOT_NAME={bdf}\nMODALIAS={alias}\nPCI_CLASS={device['class']}"}
        if "link" in device:
            texts.update({"current_link_speed": f"{now.split('x')[0]} GT/s PCIe", "current_link_width": now.split("x")[1],
                          "max_link_speed": f"{most.split('x')[0]} GT/s PCIe", "max_link_width": most.split("x")[1]})
        if device.get("quirks") == "applied":
            texts.update({f"softtape/{key}": value for key, value in machine.APPLIED.items()})
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        up = "../" * len(folder.relative_to(self.root / "sys").parts)
        (folder / "subsystem").symlink_to(up + "bus/pci")
        if "driver" in device:
            (folder / "driver").symlink_to(f"{up}bus/pci/drivers/{device['driver']}")
        bus = self.root / "sys/bus/pci/devices"
        bus.mkdir(parents=True, exist_ok=True)
        (bus / bdf).symlink_to("../../../" + str(folder.relative_to(self.root / "sys")))

    def make_file(self, path, kind, value, seconds):
        """One file, link or module; a file below a device's folder goes where the device is."""
        device = re.match(r"/sys/bus/pci/devices/([^/]+)/(.*)", path)
        full = self.folder(device[1]) / device[2] if device else self.root / path.lstrip("/")
        full.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            full.symlink_to(value)
            return
        if kind == "bytes":
            full.write_bytes(bytes.fromhex(value))
        elif kind == "module":
            pairs = [item for item in value if not item.startswith("signer=")]
            signer = [item[len("signer="):] for item in value if item.startswith("signer=")]
            full.write_bytes(elf(pairs, signer[0] if signer else None))
        else:
            full.write_text("".join(line + "\n" for line in value), encoding="utf-8")
        os.utime(full, (seconds, seconds))

    def environment(self):
        """How the program is told that this is its machine."""
        return {"UMOCKDEV_DIR": str(self.root), "SOFTTAPE_ROOT": str(self.root), "RUNTIME_DIRECTORY": str(self.root / "run/softtape"),
                "SOFTTAPE_FAKE_FORCE": "1", "SOFTTAPE_FAKE": "link=840", "HOME": "/srv/miner", "SOFTTAPE_FAKE_NVML": self.nvml, "LD_LIBRARY_PATH": str(TOP / "build/fake"),
                "LD_PRELOAD": "libumockdev-preload.so.0", "ASAN_OPTIONS": "detect_leaks=0"}
