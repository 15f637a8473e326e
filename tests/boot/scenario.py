# SPDX-License-Identifier: GPL-2.0-only
"""The list of scenarios and the decorator that puts a function into it."""
from dataclasses import dataclass
from typing import Callable

import guest
from vm import Boot, Vm

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
    machine: Callable
    reset: Callable
    limit_s: int


def scenario(boot=Boot(), alone=False, prove=False, machine=Vm, reset=guest.reset, limit_s=420):
    """Makes a scenario of a function: its name with dashes, the first line of its docstring.

    Scenarios with equal @boot and @machine may get a guest that others have used, after @reset(vm);
    @alone asks for a fresh one. @prove keeps it out of `run all` unless PROVE is set.
    After @limit_s seconds it has failed.
    """
    def register(run):
        name = run.__name__.replace("_", "-")
        ALL[name] = Scenario(name, run.__doc__.splitlines()[0], run, boot, alone, prove, machine, reset, limit_s)
        return run
    return register
