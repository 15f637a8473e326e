# SPDX-License-Identifier: GPL-2.0-only
"""A guest of busybox and the test agent in an initramfs: any kernel, up in seconds, the interface of vm.Vm.

	with Light("name", kernel, {"softtape.ko": path, ...}) as vm:
		vm.ok("insmod /lib/modules/softtape.ko")

@kernel needs .release and .vmlinuz (kbuild.Stock). There is no udev, no systemd, no pciutils: config space is read
through sysfs. Methods of Vm that need them (reboot, poweroff, evidence) are not for this guest.
"""
import gzip
import lzma
import stat
import subprocess
import tempfile
from pathlib import Path

from vm import HERE, Boot, Vm, expect
from debian import Apt, result
from machine import unpack

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /sbin /usr/bin /usr/sbin /root
/bin/busybox --install -s
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev 2>/dev/null
mount -t tmpfs none /run 2>/dev/null
mount -t debugfs none /sys/kernel/debug
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
exec /bin/busybox init
"""
INITTAB = "::respawn:/agent\n::ctrlaltdel:/sbin/reboot -f\n"


def busybox():
    """Path of Debian's static busybox."""
    apt = Apt("bookworm")

    def resolve():
        return {"debs": [d for d in apt.closure(["busybox-static"]) if d[0] == "busybox-static"]}

    return result("busybox", [], resolve, lambda path, found: unpack(apt.fetch(found["debs"]), path))["path"] + "/bin/busybox"


def newc(files):
    """A cpio archive ("new ASCII" format) of {path: (mode, bytes)}; folders come before what is in them."""
    out = bytearray()
    folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
    entries = [(path, stat.S_IFDIR | 0o755, b"") for path in sorted(folders)]
    entries += [(path, stat.S_IFREG | mode, data) for path, (mode, data) in sorted(files.items())]
    entries.append(("TRAILER!!!", 0, b""))
    for number, (path, mode, data) in enumerate(entries):
        name = path.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def module(path):
    """A module's plain bytes, without debugging data."""
    path = Path(path)
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    with tempfile.NamedTemporaryFile() as small:
        subprocess.run(["objcopy", "--strip-debug", path, small.name], check=True)
        return Path(small.name).read_bytes()


class Light(Vm):
    """A running light guest; modules and other files lie in /lib/modules, none is loaded."""

    def __init__(self, name, kernel, files, boot=Boot(ports=0, memory_mib=512), results=None):
        super().__init__(name, boot, results)
        self.kernel = kernel
        self._files = files

    def _system(self):
        files = {"init": (0o755, INIT.encode()), "etc/inittab": (0o644, INITTAB.encode()),
                 "agent": (0o755, (HERE / "agent").read_bytes()), "bin/busybox": (0o755, Path(busybox()).read_bytes())}
        for name, path in self._files.items():
            data = module(path) if name.endswith(".ko") else Path(path).read_bytes()
            files[f"lib/modules/{name}"] = (0o644, data)
        initrd = self._run / "initrd"
        initrd.write_bytes(gzip.compress(newc(files), 1))
        return self.kernel.vmlinuz, "rdinit=/init", ["-initrd", initrd]

    def insmod(self, name, params=""):
        """Loads a module of this guest."""
        self.ok(f"insmod /lib/modules/{name}.ko {params}")

    def config(self, bdf, offset, width=2):
        """A configuration register as a driver would read it."""
        text = self.ok(f"dd if=/sys/bus/pci/devices/{bdf}/config bs=1 skip={offset} count={width} 2>/dev/null | "
                       "hexdump -v -e '1/1 \"%02x \"'")
        data = bytes.fromhex(text)
        expect(len(data) == width, f"{bdf}: {len(data)} bytes at {offset:#x}")
        return int.from_bytes(data, "little")
