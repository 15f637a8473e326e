# SPDX-License-Identifier: GPL-2.0-only
"""The list of scenarios and the decorator that puts a function into it."""
from dataclasses import dataclass
from typing import Callable

from vm import Boot

ALL = {}


@dataclass(frozen=True)
class Scenario:
    """A function run(vm), what it shows, and the guest it needs."""
    name: str
    what: str
    run: Callable
    boot: Boot
    alone: bool
    prove: bool


def scenario(boot=Boot(), alone=False, prove=False):
    """Makes a scenario of a function: its name with dashes, the first line of its docstring.

    Scenarios with equal @boot may get a guest that others have used, reset by guest.reset();
    @alone asks for a fresh one. @prove keeps it out of `run all` unless PROVE is set.
    """
    def register(run):
        name = run.__name__.replace("_", "-")
        ALL[name] = Scenario(name, run.__doc__.splitlines()[0], run, boot, alone, prove)
        return run
    return register
