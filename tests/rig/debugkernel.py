# SPDX-License-Identifier: GPL-2.0-only
"""Kernels of our own that watch themselves: Debian's 6.12 source, tests/prove/*.config over allnoconfig, in the cache."""

import os
import pathlib
import re
import shutil
import tempfile

from debian import Apt, Missing, need_space, result, run, say
from kbuild import told
from tree import SOURCE

CONFIGS = SOURCE / "tests/prove"
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


def config_text(name):
	"""debug.config, or what it becomes with the lines of another fragment in place of its own; allnoconfig says no itself."""
	text = (CONFIGS / "debug.config").read_text()
	if name == "debug":
		return text
	other = (CONFIGS / f"{name}.config").read_text()
	for option in re.findall(r"^(?:# )?(CONFIG_\w+)[= ]", other, re.M):
		text = re.sub(rf"^{option}=.*\n", "", text, flags=re.M)
	return text + re.sub(r"^# CONFIG_.*\n", "", other, flags=re.M)


def check_config(config, wanted):
	"""Kconfig drops silently what cannot be; a detector that is not there must not go unnoticed."""
	got = set(config.read_text().splitlines())
	dropped = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in got]
	if dropped:
		raise RuntimeError(f"the kernel's configuration has not taken {', '.join(dropped)}")


class Debug:
	"""The kernel of a fragment, built if it is not in the cache: release, vmlinuz, make(), like kbuild.Stock."""

	def __init__(self, name="debug"):
		lacking = [t for t in TOOLS if not shutil.which(t)]
		if lacking:
			raise Missing(f"{lacking[0]} is not installed (make deps installs it)")
		self._source = source()["path"]
		compiler = run(["gcc", "-dumpfullversion"], "gcc").strip()
		config = config_text(name)

		def build(path, _found):
			need_space(600, f"the {name} kernel")
			say(f"building the {name} kernel, 5 to 20 minutes on two cores")
			path.mkdir()
			with tempfile.NamedTemporaryFile("w", suffix=".config") as file:
				file.write(config)
				file.flush()
				env = {**os.environ, "KCONFIG_ALLCONFIG": file.name, "KBUILD_BUILD_TIMESTAMP": "1 Jan 2026"}
				run(["make", "-C", self._source, f"O={path}", "allnoconfig"], "configuring a kernel", env=env)
			check_config(path / ".config", config)
			run(["make", "-C", self._source, f"O={path}", f"-j{os.cpu_count()}", "bzImage", "modules"],
			    "building a kernel", env=env)

		resolve = lambda: {"source": self._source, "compiler": compiler}
		found = result(f"{name}-kernel", [config], resolve, build)
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
