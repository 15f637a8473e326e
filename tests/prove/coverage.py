# SPDX-License-Identifier: GPL-2.0-only
"""Lines and branches of kmod/ that run (gcov) in the KUnit suites and in guests with the real module, on the debug kernel.

What neither reaches stands in tests/prove/uncovered with its reason; what stands there and is reached, or is gone, is an
error as well, unless the reason says "at times".
"""
import base64
import json
import re
from collections import Counter

from debian import run
from kbuild import copy_changed, sources
from vm import TOP, expect

# Counters come after the early inliner, which takes the lines of small functions into their callers.
FLAGS = "GCOV_PROFILE=y", "KCFLAGS=-fno-early-inlining"
REASONS = TOP / "tests/prove/uncovered"
FUNCTION = re.compile(r"^[a-z].*?\b(\w+)\(")


def kunit_modules(kernel, work, *flags):
	"""KUnit, the simulated host bridge and the suites for the debug kernel: {name: path}."""
	work.mkdir(parents=True, exist_ok=True)
	copy_changed(sources("kmod", "tests/kunit", "tests/guest"), work)
	(work / "Kbuild").write_text((TOP / "tests/kunit/Kbuild").read_text() + "obj-m += tests/guest/fakehost.o\n")
	kernel.make(work, f"M={work}", *flags, "modules")
	return {"kunit.ko": kernel.module("kunit"), "fakehost.ko": work / "tests/guest/fakehost.ko",
		"softtape_kunit.ko": work / "softtape_kunit.ko"}


def smbus(vm):
	"""QEMU's own SMBus controller with the kernel's driver: held while a card is there, given back."""
	card = "/sys/bus/pci/devices/4b4b:01:00.0/softtape/smbus"
	vm.insmod("softtape", "smbus=hold")
	vm.insmod("fakehost")
	vm.wait(f"grep -q no-controller {card}", 30, "no controller")
	vm.insmod("i2c-smbus")
	vm.insmod("i2c-i801")
	vm.wait(f"grep -q '^held:0x4c@i2c-[0-9]*,0x4e@i2c-[0-9]*,0x4f@i2c-[0-9]*$' {card}", 30, "addresses held")
	vm.ok("rmmod i2c-i801")
	vm.wait(f"grep -q no-controller {card}", 30, "no controller again")
	vm.insmod("i2c-i801")
	vm.wait(f"grep -q held: {card}", 30, "addresses held again")
	vm.ok("rmmod fakehost; rmmod softtape; ! ls /sys/bus/i2c/devices | grep -q -- -004c")
	vm.ok("rmmod i2c-i801")


def parameters(vm):
	"""What softtape is told when it is loaded, as its line and files show it."""
	card = "/sys/bus/pci/devices/4b4b:01:00.0"
	vm.ok("! insmod /lib/modules/softtape.ko aspm=on && ! test -e /sys/module/softtape")
	vm.insmod("fakehost", "ep_l1ss=0xf port_l1ss=0xf")
	for params, said in (("dry_run speed=gen1 smbus=hold", "state=dry-run"), ("skip=4b4b:01:00.0", "state=skipped"),
			     ("aspm=keep d3cold=keep", "state=unchanged"), ("aspm=force", "state=applied")):
		vm.insmod("softtape", params)
		vm.wait(f"grep -q ^{said} {card}/softtape/report", 30, f"{params}: {said}")
		vm.ok("rmmod softtape")
	vm.ok("rmmod fakehost")


# What the matrix leaves to the scenarios of the large guest.
MORE = [smbus, parameters]


class Counts:
	"""How often lines ran, by file and line, and each branch of a line."""

	def __init__(self):
		self.lines = {}
		self._branches = {}

	def add(self, file, entry):
		"""One line of gcov's report. An inlined function has its lines, and branches, once more in its caller."""
		key = file, entry["line_number"]
		self.lines[key] = self.lines.get(key, 0) + entry["count"]
		taken = [branch["count"] for branch in entry["branches"]]
		if taken:
			# Copies that the compiler has made of different branches cannot be added up.
			copies = self._branches.setdefault(key, {})
			copies[len(taken)] = [a + b for a, b in zip(copies.get(len(taken), [0] * len(taken)), taken)]

	def branches(self, key):
		"""(taken, all) of a line: of the copy that shows most."""
		copies = self._branches.get(key, {}).values()
		return max(((sum(map(bool, c)), len(c)) for c in copies), key=lambda c: c[0] / c[1], default=(0, 0))

	def merge(self, other):
		"""Both together."""
		both = Counts()
		for counts in (self, other):
			for key, count in counts.lines.items():
				both.lines[key] = both.lines.get(key, 0) + count
			for key, copies in counts._branches.items():
				mine = both._branches.setdefault(key, {})
				for size, taken in copies.items():
					mine[size] = [a + b for a, b in zip(mine.get(size, [0] * size), taken)]
		return both


def read(vm, work, folder):
	"""The Counts of the guest's objects below a folder of @work, which have lain in debugfs since they were loaded first."""
	counts = Counts()
	data = vm.ok(f"cd /sys/kernel/debug/gcov{work}/{folder}; for f in *.gcda; do echo $f; base64 -w 0 $f; echo; done", 300).split()
	for name, code in zip(data[::2], data[1::2]):
		(work / folder / name).write_bytes(base64.b64decode(code))
		text = run(["gcov", "--json-format", "--branch-probabilities", "--stdout", f"{folder}/{name}"], "gcov", cwd=work)
		for document in map(json.loads, text.splitlines()):
			for file in document["files"]:
				match = re.search(r"kmod/([a-z_]+\.c)$", file["file"])
				for entry in file["lines"] if match else []:
					counts.add(match[1], entry)
	expect(counts.lines, f"gcov has nothing of {folder}")
	return counts


def function_of(source, number):
	"""Name of the function that a line belongs to."""
	for line in reversed(source[:number]):
		match = FUNCTION.match(line)
		if match and not line.rstrip().endswith(";"):
			return match[1]
	return "-"


def reasons():
	"""{(file, function, text of the line): reason}"""
	found, file, function, lines = {}, None, None, []
	for line in REASONS.read_text().splitlines():
		if not line or line.startswith("#"):
			continue
		if not line.startswith("\t"):
			file, function = line.split()
			lines = []
		elif line.startswith("\t: "):
			found.update({(file, function, text): line[3:] for text in lines})
			lines = []
		else:
			lines.append(line.strip())
	return found


def percent(part, whole):
	"""For people."""
	return f"{100 * part / whole:.1f}" if whole else "-"


def report(kunit, guests):
	"""(text, lines without a reason, reasons without a line, share of lines that ran)"""
	both = kunit.merge(guests)
	head = f"{'file':16} {'lines':>6} {'KUnit %':>8} {'guests %':>9} {'both %':>7} {'branches':>9} {'taken %':>8}"
	rows, missed, total = [head], [], Counter()
	known, used = reasons(), set()
	for file in sorted({name for name, _ in both.lines}):
		source = (TOP / "kmod" / file).read_text().splitlines()
		keys = sorted(key for key in both.lines if key[0] == file)
		row = Counter(lines=len(keys), kunit=sum(kunit.lines.get(k, 0) > 0 for k in keys),
			      guests=sum(guests.lines.get(k, 0) > 0 for k in keys), both=sum(both.lines[k] > 0 for k in keys),
			      branches=sum(both.branches(k)[1] for k in keys), taken=sum(both.branches(k)[0] for k in keys))
		rows.append(table_row(file, row))
		total += row
		for key in keys:
			if both.lines[key] == 0:
				text = source[key[1] - 1].strip()
				where = (file, function_of(source, key[1]), text)
				used.add(where)
				missed.append((*key, text, known.get(where)))
	rows.append(table_row("all", total))
	bare = [f"{file}:{number}: {text}" for file, number, text, reason in missed if not reason]
	stale = [" ".join(where) for where, reason in known.items() if where not in used and not reason.startswith("at times")]
	listed = [f"{file}:{number}: {text}\n\t{reason or 'NO REASON GIVEN'}" for file, number, text, reason in missed]
	text = "\n".join([*rows, "", "Lines that did not run:", *(listed or ["none"])]) + "\n"
	return text, bare, stale, 100 * total["both"] / total["lines"]


def table_row(name, row):
	"""A line of the table."""
	return f"{name:16} {row['lines']:6} {percent(row['kunit'], row['lines']):>8} {percent(row['guests'], row['lines']):>9} " \
		f"{percent(row['both'], row['lines']):>7} {row['branches']:>9} {percent(row['taken'], row['branches']):>8}"
