# SPDX-License-Identifier: GPL-2.0-only
"""What a virtual machine is made of before any guest: QEMU 11 and stock Debian kernels, unpacked in the cache."""

import os
import re
import sys

from debian import Apt, Missing, need_space, result, run, say

# series: (release, suite, how a kernel's version must begin). "7" is the newest one. Debian moves a backports
# kernel on without notice, so a series that is gone is said, not silently replaced.
SERIES = {
	"5.10": ("bullseye", None, "5.10."),
	"6.1": ("bookworm", None, "6.1."),
	"6.12": ("bookworm", "bookworm-backports", "6.12."),
	"7.2": ("trixie", "trixie-backports", "7.2."),
	"7": ("trixie", "trixie-backports", "7."),
}
FLAVOURS = {"cloud": "cloud-amd64", "generic": "amd64", "rt": "rt-amd64"}


def unpack(debs, path):
	"""dpkg -x every file of @debs into the folder @path."""
	path.mkdir()
	for deb in debs:
		run(["dpkg", "-x", deb, path], f"unpacking {deb.name}")


def qemu():
	"""argv prefix of QEMU 11 (vfio-user-pci inside): an ordinary user can run it from the cache."""
	apt = Apt("trixie")

	def resolve():
		debs = apt.closure(["qemu-system-x86"], "trixie-backports")
		version = next(d[1] for d in debs if d[0] == "qemu-system-x86")
		if int(re.match(r"(?:\d+:)?(\d+)", version)[1]) < 11:
			raise Missing(f"QEMU 11 or newer is needed, the mirror has {version}")
		return {"debs": debs, "version": version}

	def build(path, found):
		need_space(400, "QEMU")
		files = apt.fetch(found["debs"])
		say(f"unpacking QEMU {found['version']}")
		unpack(files, path)

	root = result("qemu", [], resolve, build)["path"]
	lib = f"{root}/usr/lib/x86_64-linux-gnu"
	return [f"{lib}/ld-linux-x86-64.so.2", "--library-path", lib, f"{root}/usr/bin/qemu-system-x86_64",
		"-L", f"{root}/usr/share/qemu", "-L", f"{root}/usr/share/seabios"]


def secure_boot():
	"""Folder with a firmware that enforces Secure Boot with Microsoft's keys, and what Debian's signed way of booting is made of."""
	ours = {"bookworm": ["shim-signed", "shim-helpers-amd64-signed", "grub-efi-amd64-signed"], "trixie": ["ovmf"]}

	def resolve():
		return {"debs": {name: [d for d in Apt(name).closure(packages) if d[0] in packages]
				 for name, packages in ours.items()}}

	def build(path, found):
		need_space(100, "the firmware")
		unpack([file for name, debs in found["debs"].items() for file in Apt(name).fetch(debs)], path)

	return result("secure-boot", ours, resolve, build)["path"]


def headers(series="6.1", flavour="cloud"):
	"""(kernel release, its headers packages) of the newest kernel of a series."""
	release, suite, begin = SERIES[series]
	apt = Apt(release)
	for package in [f"linux-headers-{FLAVOURS[flavour]}", *named_headers(apt, begin, flavour)]:
		debs = apt.closure([package], suite)
		for name, *_ in debs:
			m = re.fullmatch(rf"linux-headers-(\d\S*-{FLAVOURS[flavour]})", name)
			if m and m[1].startswith(begin) and ("cloud" in m[1]) == (flavour == "cloud"):
				return m[1], [d for d in debs if re.match(r"linux-(headers|kbuild|compiler)-\d", d[0])]
	raise Missing(f"the mirror has no {series} kernel any more ({suite or release})")


def named_headers(apt, begin, flavour):
	"""Headers packages of kernels that the release's newest one has left behind, newest first."""
	apt.update()
	names = apt.run("apt-cache", "pkgnames", f"linux-headers-{begin}").split()
	fits = [n for n in names if re.fullmatch(rf"linux-headers-[\d.]+\S*?-?{FLAVOURS[flavour]}", n)
		and ("cloud" in n) == (flavour == "cloud")]
	return sorted(fits, key=lambda n: [int(x) for x in re.findall(r"\d+", n)], reverse=True)


def image_debs(apt, series, release):
	"""The packages that hold a kernel and its modules."""
	debs = apt.closure([f"linux-image-{release}"], SERIES[series][1])
	return [d for d in debs if re.match(r"linux-(image|binary|modules|base)-\d", d[0])]


def kernel(series="6.1", flavour="cloud"):
	"""The newest stock kernel of a series: dict of release, vmlinuz, modules, config."""
	apt = Apt(SERIES[series][0])

	def resolve():
		release, _ = headers(series, flavour)
		return {"release": release, "debs": image_debs(apt, series, release)}

	def build(path, found):
		need_space(800 if flavour == "generic" else 400, f"kernel {found['release']}")
		files = apt.fetch(found["debs"])
		say(f"unpacking kernel {found['release']}")
		unpack(files, path)
		base = "usr/lib" if (path / "usr/lib/modules").exists() else "lib"
		run(["depmod", "-b", path / "usr" if base == "usr/lib" else path, found["release"]], "depmod")

	found = result(f"kernel-{series}-{flavour}", [], resolve, build)
	root, rel = found["path"], found["release"]
	pick = lambda *names: next(n for n in names if os.path.exists(n))
	mods = pick(f"{root}/usr/lib/modules/{rel}", f"{root}/lib/modules/{rel}")
	return {"release": rel, "modules": mods,
		"vmlinuz": pick(f"{root}/boot/vmlinuz-{rel}", f"{mods}/vmlinuz"),
		"config": pick(f"{root}/boot/config-{rel}", f"{mods}/config")}


def source_files(name, series, members):
	"""Folder with some files of Debian's kernel source of a series, paths below the source tree's top."""
	release, suite, begin = SERIES[series]
	apt = Apt(release)

	def resolve():
		package = f"linux-source-{begin.rstrip('.')}"
		if series == "7":
			package = "linux-source-" + ".".join(headers(series)[0].split(".")[:2])
		return {"debs": [d for d in apt.closure([package], suite) if d[0] == package]}

	def build(path, found):
		need_space(300, f"the kernel source for {name}")
		deb, = apt.fetch(found["debs"])
		package = found["debs"][0][0]
		path.mkdir()
		run(["sh", "-c", """dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" |
			tar -xJC "$3" --strip-components=1 $(for f in $4; do echo "$2/$f"; done)""",
		     "sh", deb, package, path, " ".join(members)], f"unpacking {name}")
		deb.unlink()

	return result(name, [series, members], resolve, build)["path"]


def checkpatch():
	"""Folder with the kernel's checkpatch.pl and its word lists, out of Debian's kernel source."""
	names = ["checkpatch.pl", "spelling.txt", "const_structs.checkpatch"]
	return source_files("checkpatch", "6.1", [f"scripts/{n}" for n in names]) + "/scripts"


if __name__ == "__main__":
	try:
		print(checkpatch() if sys.argv[1:] == ["checkpatch"] else " ".join(qemu()))
	except (Missing, RuntimeError) as e:
		sys.exit(f"{sys.argv[0]}: {e}")
