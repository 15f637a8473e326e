# SPDX-License-Identifier: GPL-2.0-only
"""Running the program under test and printing results as `ok|FAIL|skip NAME seconds [reason]`."""
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
CASES = TOP / "tests/fixtures/cases"
PROGRAM = os.environ["PROGRAM"]
OUT = pathlib.Path(os.environ["OUT"])
FAKE = TOP / "build/fake"
SCHEMA = json.loads((TOP / "user/softtape.schema.json").read_text(encoding="utf-8"))
jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


class Skip(Exception):
    """A test that cannot run here; the text says why."""


def surrounding(machine, env):
    """Words in front of a command and its environment, to run on a machine for umockdev if one is named."""
    words = ["umockdev-run", "--device", str(machine), "--"] if machine else []
    preload = os.environ.get("SOFTTAPE_PRELOAD")
    if machine and preload:
        # umockdev-run itself does not come up behind a sanitizer's library.
        words += ["env", f"LD_PRELOAD={preload}libumockdev-preload.so.0"]
    return words, {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}


def run(*words, machine=None, env=None, stdin=b"", timeout=120, cwd=None):
    """Runs the program; standard output and error are bytes."""
    command, environment = surrounding(machine, env)
    return subprocess.run([*command, PROGRAM, *map(str, words)], input=stdin, capture_output=True, timeout=timeout, check=False,
                          env=environment, cwd=cwd)


def document(answer):
    """The one JSON document of an answer, checked against the schema and the exit status."""
    found = json.loads(answer.stdout)
    VALIDATOR.validate(found)
    assert found["exit"] == answer.returncode, f"exit {found['exit']}, status {answer.returncode}"
    return found


def check(condition, message):
    """An assertion that also counts under python3 -O."""
    if not condition:
        raise AssertionError(message)


def main(tests):
    """Runs functions in order; the exit status says whether all passed. SHARE=2/3 takes every third of them, from the second on."""
    part, parts = map(int, os.environ.get("SHARE", "1/1").split("/"))
    failed = 0
    for test in tests[part - 1::parts]:
        name, start, word, reason = test.__name__.removeprefix("test_"), time.monotonic(), "ok", ""
        try:
            test()
        except Skip as why:
            word, reason = "skip", str(why)
        except Exception as why:  # pylint: disable=broad-except
            word, reason, failed = "FAIL", str(why).replace("\n", " ")[:400], failed + 1
            traceback.print_exc(file=sys.stdout)
        print(f"{word} user-{name} {time.monotonic() - start:.1f} {reason}".rstrip(), flush=True)
    sys.exit(bool(failed))
