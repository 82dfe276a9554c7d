"""Which processes of the tests count for coverage.

Measuring doubles the CPU time of a process: coverage is imported, every line reported, and a file written at
the end. So the processes that fathoms starts are measured in the tests of the rooms that they belong to, and
of the commands that run in forks each kind is measured some times, wherever it is tested. All other processes
would cover the same lines again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

ROOMS = {"cli", "ingest", "models", "pipeline", "safety"}
COMMANDS = 20
"""So many commands of a kind are measured, in each process of pytest-xdist."""

_variables: dict[str, str] = {}
"""What makes a new interpreter measure itself."""
_commands: Counter[str] = Counter()


def measure_processes_of(room: str) -> None:
    """Let the processes that the next test starts be measured, or not."""
    _variables.update({name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")})
    for name in _variables:
        os.environ.pop(name, None)
    if room in ROOMS:
        os.environ.update(_variables)


def is_measured(command: Sequence[str]) -> bool:
    """Whether a command in a fork is one of those that are measured."""
    kind = next((word for word in command if not word.startswith("-")), "")
    _commands[kind] += 1
    return bool(_variables) and _commands[kind] <= COMMANDS


def measuring(environment: Mapping[str, str], wanted: bool) -> dict[str, str]:
    """An environment for a process that is measured or not, with its children."""
    kept = {name: value for name, value in environment.items() if name not in _variables}
    return {**kept, **(_variables if wanted else {})}
