# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own semantic checks (scripts/coccinelle of its source) over kmod/.

Left out: what needs an OCaml compiler, and two that want macros of the kernel in the pure core, which user space compiles too.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import debugkernel
from debian import Missing
from vm import TOP, expect

LEFT_OUT = {"api/check_bq27xxx_data", "null/badzero", "misc/array_size", "misc/minmax"}
FINDING = re.compile(r"^\S+\.[ch]:\d+:", re.M)

# Each function is wrong in the way that the script of its name is about.
WRONG = {
	"free/kfree": "void f(struct s *p) { kfree(p); p->a = 1; }",
	"free/ifnullfree": "void f(struct s *p) { if (p) kfree(p); }",
	"iterators/itnull": "void f(void) { struct s *p; list_for_each_entry(p, &l, n) { if (!p) return; g(p); } }",
	"locks/double_lock": "void f(void) { spin_lock(&l); g(); spin_lock(&l); spin_unlock(&l); }",
	"locks/mini_lock": "int f(int a) { mutex_lock(&l); if (a) return 1; mutex_unlock(&l); return 0; }",
	"null/deref_null": "int f(struct s *p) { if (p == NULL) { return p->a; } return 0; }",
	"api/err_cast": "struct s *f(struct r *p) { return ERR_PTR(PTR_ERR(p)); }",
	"misc/returnvar": "int f(void) { int ret = 0; g(); return ret; }",
	"tests/doubletest": "int f(struct s *p) { return p->a || p->a; }",
	"tests/unsigned_lesser_than_zero": "int f(void) { unsigned int a; a = g(); if (a < 0) return 1; return 0; }",
}


def spatch(*args):
	"""What spatch prints; a script that it cannot run is an error."""
	ret = subprocess.run(["spatch", *map(str, args)], capture_output=True, text=True, errors="replace", timeout=300)
	expect(ret.returncode == 0, f"spatch {args[-1]}: {(ret.stderr or ret.stdout).strip()[-200:]}")
	return ret.stdout + ret.stderr


def check(script, *files):
	"""The findings of one script."""
	text = spatch("-D", "report", "--very-quiet", "--no-show-diff", "--cocci-file", script, *files)
	return [line for line in text.splitlines() if FINDING.match(line)]


def part():
	"""Every script over every file; and that scripts find something where there is something."""
	if not shutil.which("spatch"):
		raise Missing("coccinelle is not installed (make deps installs it)")
	folder = pathlib.Path(debugkernel.source()["path"], "scripts/coccinelle")
	scripts = {str(path.relative_to(folder)).removesuffix(".cocci"): path for path in sorted(folder.rglob("*.cocci"))}
	files = sorted((TOP / "kmod").glob("*.c"))
	scripts = {name: path for name, path in scripts.items() if name not in LEFT_OUT}
	expect(len(scripts) > 50, f"{len(scripts)} scripts in {folder}")
	parsed = re.search(r"nb bad = \d+ =+> ([\d.]+)% good", spatch("--parse-c", *files))
	expect(float(parsed[1]) > 95, f"only {parsed[1]} % of the lines are understood")

	with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
		for name, code in WRONG.items():
			(pathlib.Path(work) / f"{name.replace('/', '-')}.c").write_text(code + "\n")
		wrong = pool.map(lambda name: check(scripts[name], f"{work}/{name.replace('/', '-')}.c"), WRONG)
		blind = [name for name, found in zip(WRONG, wrong) if not found]
		expect(not blind, f"finds nothing where there is something: {', '.join(blind)}")
		found = sum(pool.map(lambda path: check(path, *files), scripts.values()), [])
	expect(not found, "; ".join(found))
	return f"{len(scripts)} scripts, {len(files)} files"
