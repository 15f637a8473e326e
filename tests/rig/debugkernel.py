# SPDX-License-Identifier: GPL-2.0-only
"""A kernel of our own that watches itself: Debian's 6.12 source, tests/prove/debug.config over allnoconfig, in the cache."""

import os
import pathlib
import shutil

from debian import Apt, Missing, need_space, result, run, say
from kbuild import told
from tree import SOURCE

CONFIG = SOURCE / "tests/prove/debug.config"
PACKAGE = "linux-source-6.12"
TOOLS = ["flex", "bison", "bc", "gcc", "make"]


def source():
	"""The unpacked source tree: dict of path, version."""
	apt = Apt("bookworm")

	def resolve():
		deb, = [d for d in apt.closure([PACKAGE]) if d[0] == PACKAGE]
		return {"deb": deb, "version": deb[1].split("-")[0]}

	def build(path, found):
		need_space(2500, "a kernel's source")
		deb, = apt.fetch([found["deb"]])
		say(f"unpacking {PACKAGE}")
		path.mkdir()
		run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" | tar -xJC "$3" --strip-components=1',
		     "sh", deb, PACKAGE, path], "unpacking a kernel's source")
		deb.unlink()

	return result("linux-source", [PACKAGE], resolve, build)


def check_config(config):
	"""Kconfig drops silently what cannot be; a detector that is not there must not go unnoticed."""
	got = set(config.read_text().splitlines())
	dropped = [line for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_") and line not in got]
	if dropped:
		raise RuntimeError(f"the kernel's configuration has not taken {', '.join(dropped)}")


class Debug:
	"""The debug kernel, built if it is not in the cache: release, vmlinuz, make(), like kbuild.Stock."""

	def __init__(self):
		lacking = [t for t in TOOLS if not shutil.which(t)]
		if lacking:
			raise Missing(f"{lacking[0]} is not installed (make deps installs it)")
		self._source = source()["path"]
		compiler = run(["gcc", "-dumpfullversion"], "gcc").strip()

		def build(path, _found):
			need_space(600, "the debug kernel")
			say("building the debug kernel, 5 to 20 minutes on two cores")
			path.mkdir()
			env = {**os.environ, "KCONFIG_ALLCONFIG": str(CONFIG), "KBUILD_BUILD_TIMESTAMP": "1 Jan 2026"}
			run(["make", "-C", self._source, f"O={path}", "allnoconfig"], "configuring a kernel", env=env)
			check_config(path / ".config")
			run(["make", "-C", self._source, f"O={path}", f"-j{os.cpu_count()}", "bzImage", "modules"],
			    "building a kernel", env=env)

		resolve = lambda: {"source": self._source, "compiler": compiler}
		found = result("debug-kernel", [CONFIG.read_text()], resolve, build)
		self._out = pathlib.Path(found["path"])
		self.vmlinuz = str(self._out / "arch/x86/boot/bzImage")
		self.release = (self._out / "include/config/kernel.release").read_text().strip()
		self.modules = self._out

	@staticmethod
	def seen(work):
		"""How make names the folder @work."""
		return str(work)

	def make(self, work, *args):
		"""make in the kernel's build system."""
		return told(["make", "-j2", "-C", self._source, f"O={self._out}", *args], cwd=work)

	def module(self, name):
		"""Path of one of the kernel's own modules."""
		return next(self._out.rglob(f"{name}.ko"))
