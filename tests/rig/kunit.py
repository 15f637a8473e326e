# SPDX-License-Identifier: GPL-2.0-only
"""KUnit for stock kernels, which have none: its core built as a module of its own, from the kernel's own source.

The core keeps the running test in the task and its suites in struct module. A stock kernel has neither field, so the
copy here keeps the test in one variable (tests run one at a time) and lets the test module hand its suites over.
"""

import pathlib
import re
import shutil

from debian import result, say
from kbuild import WORK
from machine import source_files

# Not in every kernel, and of no use here: fake devices, memory maps, suppressed warnings.
LEFT_OUT = {"platform", "fwnode", "user_alloc", "debugfs"}
# Before anything else in every file: kernel headers first, which must not know of KUnit, so that structures keep the
# running kernel's layout.
PRELUDE = """/* Made by tests/rig/kunit.py. */
#include <linux/sched.h>
#include <linux/module.h>
#include <linux/slab.h>
#define CONFIG_KUNIT_MODULE 1
#define CONFIG_KUNIT_DEFAULT_ENABLED 1
#define CONFIG_KUNIT_AUTORUN_ENABLED 1
#define CONFIG_KUNIT_DEFAULT_TIMEOUT 300
#define CONFIG_KUNIT_DEFAULT_FILTER_GLOB ""
#define CONFIG_KUNIT_DEFAULT_FILTER ""
#define CONFIG_KUNIT_DEFAULT_FILTER_ACTION ""
struct kunit;
extern struct kunit *kunit_running_test;
#include "%s"
"""
SUITES = """
#include <kunit/test.h>
#undef kunit_test_suites
#define kunit_test_suites(...)						\\
	static struct kunit_suite *suites_here[] = { __VA_ARGS__ };	\\
	static int __init suites_run(void)				\\
	{								\\
		pr_info("KTAP version 1\\n1..%%zu\\n", ARRAY_SIZE(suites_here));	\\
		return __kunit_test_suites_init(suites_here, ARRAY_SIZE(suites_here)%s); \\
	}								\\
	module_init(suites_run);					\\
	static void __exit suites_forget(void)				\\
	{								\\
		__kunit_test_suites_exit(suites_here, ARRAY_SIZE(suites_here)); \\
	}								\\
	module_exit(suites_forget)
"""
NOTIFIER = re.compile(r"^(#ifdef CONFIG_MODULES\n)?static void kunit_module_init\(.*?^static struct notifier_block kunit_mod_nb = "
		      r"\{.*?^\};\n(?(1)#endif\n)", re.M | re.S)


def adapt(text):
	"""One source file of the core, without what a stock kernel lacks."""
	text = text.replace("current->kunit_test", "kunit_running_test")
	text, cut = NOTIFIER.subn("", text)
	if cut:
		text = re.sub(r"#ifdef CONFIG_MODULES\n(\t\w*register_module_notifier.*\n)(#else\n.*\n)?#endif\n", r"\1", text)
		text = text.replace("unregister_module_notifier(&kunit_mod_nb);", "")
		text = text.replace("register_module_notifier(&kunit_mod_nb)", "0")
	return text


def prepare(source, path):
	"""Makes a build folder of the unpacked lib/kunit and include/kunit."""
	lib, include = source / "lib/kunit", path / "include/kunit"
	shutil.copytree(source / "include/kunit", include) if (source / "include/kunit").exists() else include.mkdir(parents=True)
	(include / "test-bug.h").write_text(adapt((include / "test-bug.h").read_text()))
	for name in lib.glob("*.h"):
		shutil.copy(name, path)
	units = sorted(p.stem for p in lib.glob("*.c") if not re.search(r"[-_]test$", p.stem) and p.stem not in LEFT_OUT)
	for unit in units:
		text = adapt((lib / f"{unit}.c").read_text())
		if unit == "hooks":
			text += "\nstruct kunit *kunit_running_test;\nEXPORT_SYMBOL_GPL(kunit_running_test);\n"
		(path / f"{unit}.c").write_text(text)
	if "hooks" not in units:
		units.append("hooks")
		(path / "hooks.c").write_text("struct kunit *kunit_running_test;\nEXPORT_SYMBOL_GPL(kunit_running_test);\n")
	third = ", true" if "bool run_tests" in (lib / "test.c").read_text() else ""
	bug = f"{WORK}/include/kunit/test-bug.h"
	(path / "core.h").write_text(PRELUDE % bug)
	(path / "include/suites.h").write_text(PRELUDE % "kunit/test-bug.h" + SUITES % third)
	(path / "Kbuild").write_text(f"obj-m := kunit.o\nkunit-y := {' '.join(f'{u}.o' for u in units)}\n"
				     "ccflags-y := -I$(src)/include -include $(src)/core.h -Wno-unused-function\n")


def core(kernel):
	"""Folder with kunit.ko, its Module.symvers and the headers for @kernel (a kbuild.Stock)."""
	source = source_files(f"kunit-source-{kernel.series}", kernel.series, ["lib/kunit", "include/kunit"])

	def build(path, _found):
		say(f"building KUnit for {kernel.release}")
		path.mkdir()
		prepare(pathlib.Path(source), path)
		kernel.make(path, f"M={WORK}", "modules")

	recipe = [pathlib.Path(__file__).read_text(), kernel.release]
	return result(f"kunit-{kernel.release}", recipe, lambda: {"source": source}, build)["path"]


def ktap(console):
	"""(the KTAP lines, passed, failed, planned suites) of a console log."""
	lines = [re.sub(r"^\[ *\d+\.\d+\] ", "", line) for line in console.splitlines()]
	start = next((i for i, line in enumerate(lines) if line.startswith("KTAP version")), None)
	if start is None:
		raise RuntimeError("no KTAP on the console")
	lines = [line for line in lines[start:] if re.match(r" *(KTAP version|1\.\.\d|ok |not ok |#)", line)]
	plan = int(re.match(r"1\.\.(\d+)", lines[1])[1])
	result = [re.match(r"( *)(ok|not ok) (\d+) (.*)", line) for line in lines]
	tests = [m for m in result if m and m[1] == " " * 4]
	suites = [m for m in result if m and m[1] == ""]
	if len(suites) != plan:
		raise RuntimeError(f"{len(suites)} of {plan} suites ended")
	return lines, sum(m[2] == "ok" for m in tests), [m[4] for m in tests + suites if m[2] != "ok"]
