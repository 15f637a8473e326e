# SPDX-License-Identifier: GPL-2.0-only
"""Throw-away copies of Debian trees for tests that install into them and look what is left."""

import contextlib
import re
import subprocess

from debian import cache, can_namespace, namespace, need_space, remove, run
from tree import copy_tree, inside

# DKMS's own signing key, made at the first build of any module and meant to stay.
NOT_OURS = re.compile(r"var/lib/dkms/mok\.(key|pub)$|usr/local/src/softtape(/|$)|tmp(/|$)|var/lib/dkms$")


class Failure(Exception):
	"""A check that did not hold."""


class Scratch:
	"""A throw-away copy of a tree; everything run in it goes to a log."""

	def __init__(self, name, logs, source):
		self.path = cache(f"scratch-{name}")
		self.log = logs / f"{name}.log"
		logs.mkdir(parents=True, exist_ok=True)
		self.log.write_text("")
		copy_tree(source, self.path)

	def sh(self, script, *args):
		"""Run a shell script in the tree, return what it printed; any status but 0 fails the test."""
		ret = subprocess.run(inside(self.path, "sh", "-ec", script, "sh", *args), stdin=subprocess.DEVNULL,
				     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
		with open(self.log, "a") as f:
			f.write(f"+ {script}\n{ret.stdout}")
		if ret.returncode:
			lines = ret.stdout.strip().splitlines() or ["no output"]
			why = next((line for line in lines if "error" in line.lower()), lines[-1])
			raise Failure(f"{script}: status {ret.returncode}: {why}")
		return ret.stdout

	def files(self):
		"""{path: what it is} of all that is in the tree and is not somebody else's."""
		out = run(namespace("find", self.path, "-mindepth", "1", "-printf", r"%P\t%y %m %U:%G %l\n"), "listing a tree")
		pairs = (line.split("\t") for line in out.splitlines())
		return {path: what for path, what in pairs if not NOT_OURS.match(path)}


@contextlib.contextmanager
def scratch(name, logs, source):
	"""A copy of the tree @source for one test, deleted at the end; its log is @logs/@name.log."""
	can_namespace()
	need_space(1000, f"the tree of {name}")
	s = Scratch(name, logs, source)
	try:
		yield s
	finally:
		remove(s.path)


def expect(what, good):
	"""Raises Failure(@what) unless @good."""
	if not good:
		raise Failure(what)


def expect_same(what, before, after):
	"""Two results of Scratch.files() must be equal."""
	diff = [f"left {p}" for p in after if p not in before]
	diff += [f"lost {p}" for p in before if p not in after]
	diff += [f"changed {p}" for p in before if p in after and before[p] != after[p]]
	expect(f"{what}: {len(diff)} differences: {', '.join(sorted(diff)[:4])}", not diff)
