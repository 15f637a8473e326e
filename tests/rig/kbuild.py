# SPDX-License-Identifier: GPL-2.0-only
"""Modules for kernels that do not run here, built by the compiler of the Debian release each kernel comes from."""

import pathlib
import re
import shutil
import subprocess

from debian import Apt, need_space, result, run, say
from machine import SERIES, headers, kernel, source_files, unpack
from tree import ENTER, SOURCE, namespace, tree

# Where a release's compiler lives.
COMPILER = {"bullseye": "bullseye", "bookworm": "guest", "trixie": "trixie"}
# Headers and work folder appear in the compiler's tree as these folders, which every Debian has and nothing uses.
HEADERS, WORK = "/mnt", "/srv"
BIND = f"""set -e
mount --bind "$1" "$3{HEADERS}"
mount --bind "$2" "$3{WORK}"
shift 2
""" + ENTER


class BuildFailed(Exception):
	"""make said no; the text is its last lines."""


class Stock:
	"""A stock Debian kernel: release, vmlinuz, and a way to build modules for it."""

	def __init__(self, series, flavour="cloud"):
		self.series = series
		found = kernel(series, flavour)
		self.release, self.vmlinuz, self.modules = found["release"], found["vmlinuz"], found["modules"]
		self._headers = unpacked_headers(series, flavour)
		self._tree = tree(COMPILER[SERIES[series][0]])["path"]

	@staticmethod
	def seen(_work):
		"""How make names the folder @work that it was given."""
		return WORK

	def make(self, work, *args):
		"""make in the kernel's build system."""
		return told(namespace("sh", "-c", BIND, "sh", self._headers, work, self._tree, "make", "-j2", "-C",
				      f"{HEADERS}/usr/src/linux-headers-{self.release}", *args))


def told(argv, **kw):
	"""Runs make, returns what it printed."""
	ret = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
			     stderr=subprocess.STDOUT, text=True, errors="replace", **kw)
	if ret.returncode:
		raise BuildFailed("\n".join(ret.stdout.splitlines()[-25:]))
	return ret.stdout


def unpacked_headers(series, flavour="cloud"):
	"""Folder with a kernel's headers and build tools, made to be found below HEADERS."""
	apt = Apt(SERIES[series][0])

	def resolve():
		release, debs = headers(series, flavour)
		return {"release": release, "debs": debs}

	def build(path, found):
		need_space(200, "kernel headers")
		say(f"unpacking headers of {found['release']}")
		unpack(apt.fetch(found["debs"]), path)
		for makefile in path.glob("usr/src/linux-headers-*/Makefile"):
			text = makefile.read_text()
			makefile.write_text(re.sub(r"(^include |=)(/usr/src/)", rf"\1{HEADERS}\2", text, flags=re.M))
		# Type information of modules is of no use in a guest without debugger, and needs the kernel's own.
		for vmlinux in path.glob("usr/src/linux-headers-*/vmlinux"):
			vmlinux.unlink()

	return result(f"headers-{series}-{flavour}", [HEADERS], resolve, build)["path"]


def copy_changed(names, work):
	"""Copies source files into a build folder, those that have changed, and removes what is no source any more."""
	for name in names:
		source, target = SOURCE / name, pathlib.Path(work, name)
		if target.exists() and target.read_bytes() == source.read_bytes():
			continue
		target.parent.mkdir(parents=True, exist_ok=True)
		shutil.copyfile(source, target)
	for old in pathlib.Path(work).rglob("*.[ch]"):
		relative = str(old.relative_to(work))
		if not relative.endswith(".mod.c") and relative not in names and relative.split("/")[0] in ("kmod", "tests"):
			old.unlink()


def sources(*folders):
	"""C sources in these folders, relative to the source tree."""
	return [str(p.relative_to(SOURCE)) for d in folders for p in sorted((SOURCE / d).glob("*.[ch]"))
		if not p.name.endswith(".mod.c")]


def build_modules(kernel, work, *flags):
	"""softtape.ko and the modules of tests/guest for a kernel: {name: path}."""
	work.mkdir(parents=True, exist_ok=True)
	names = sources("kmod", "tests/guest") + ["kmod/Kbuild", "tests/guest/Kbuild", "dkms.conf"]
	copy_changed(names, work)
	built = {}
	for folder in ("kmod", "tests/guest"):
		kernel.make(work, f"M={kernel.seen(work)}/{folder}", *flags, "modules")
		built.update({p.name: p for p in (work / folder).glob("*.ko")})
	return built
