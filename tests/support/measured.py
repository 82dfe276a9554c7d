"""Which processes of the tests count for coverage: in each file of tests, the first forks of each command.

Measuring doubles the CPU time of a process: coverage is imported, every line reported, and a file written at
the end. Later commands would cover the same lines again. Children that read PDFs or hold models are killed
when they have answered, so they would never write what they measured.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

COMMANDS = 5
"""So many commands of a kind are measured in a file of tests."""

_variables: dict[str, str] = {}
"""What makes a new interpreter measure itself."""
_commands: Counter[tuple[str, str]] = Counter()


def measure_no_processes() -> None:
    """Take what makes new interpreters measure themselves out of the environment."""
    _variables.update({name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")})
    for name in _variables:
        os.environ.pop(name, None)


def is_measured(command: Sequence[str]) -> bool:
    """Whether a command in a fork is one of those that are measured."""
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    kind = next((word for word in command if not word.startswith("-")), "")
    _commands[file, kind] += 1
    return bool(_variables) and _commands[file, kind] <= COMMANDS


def variables(wanted: bool) -> dict[str, str]:
    """The environment variables for a process that is measured or not."""
    return _variables if wanted else {}
