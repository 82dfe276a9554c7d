"""What counts for coverage: the first case of each test, and in each file its first fork of each command.

Measuring adds half to the CPU time of a test: every line is reported, and a process writes a file at its end.
Later cases and commands would cover the same lines again, as would the hundred examples of a property.
Children that read PDFs or hold models are killed when they have answered, so they would never write what they
measured.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from coverage import Coverage

CASES = 1
"""So many cases of a test are measured."""
COMMANDS = 1
"""So many commands of a kind are measured in a file of tests."""

PACKAGE = Path(__file__).parents[2] / "fathoms"
_variables: dict[str, str] = {}
"""What makes a new interpreter measure itself."""
_commands: Counter[tuple[str, str]] = Counter()
_cases: Counter[str] = Counter()
_paused: list[pytest.Item] = []
"""The test that runs, if it is not measured."""


def unmeasured() -> dict[str, str]:
    """The environment for a process that is not measured: coverage writes files too, and where their size
    is limited it would print errors of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def measure_no_processes() -> bool:
    """Take what makes new interpreters measure themselves out of the environment; was it there?"""
    _variables.update({name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")})
    for name in _variables:
        os.environ.pop(name, None)
    if config := _variables.get("COVERAGE_PROCESS_CONFIG"):
        _variables["COVERAGE_PROCESS_CONFIG"] = _named_by_pattern(config)
    return bool(_variables)


def _named_by_pattern(config: str) -> str:
    """Coverage's settings for another process, with a pattern for the package instead of its name.

    With the name (`source`), each process also looks for all files of the package that it has not run and
    writes them down, which takes 0.04 s and makes the data to combine three times as large. It is enough that
    the processes of the tests do so.
    """
    settings = json.loads(base64.b64decode(config))
    settings |= {"source": None, "run_include": [f"{PACKAGE}/*"]}
    return base64.b64encode(json.dumps(settings).encode()).decode()


def is_measured(command: Sequence[str]) -> bool:
    """Whether a command in a fork is one of those that are measured."""
    if _paused or not _variables:
        return False
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    kind = next((word for word in command if not word.startswith("-")), "")
    _commands[file, kind] += 1
    return _commands[file, kind] <= COMMANDS


def variables(wanted: bool) -> dict[str, str]:
    """The environment variables for a process that is measured or not."""
    return _variables if wanted else {}


@contextmanager
def measured(test: pytest.Item) -> Iterator[None]:
    """Run a test with its fixtures: without coverage if it is a property, or if enough of its cases have been
    measured."""
    name = test.nodeid.partition("[")[0]
    _cases[name] += 1
    is_property = hasattr(getattr(test, "obj", None), "hypothesis")
    coverage = _running() if is_property or _cases[name] > CASES else None
    if coverage is None:
        yield
        return
    coverage.stop()
    _paused.append(test)
    try:
        yield
    finally:
        _paused.pop()
        coverage.start()


def _running() -> Coverage | None:
    """The measurement of this process; `None` where nothing is measured."""
    found = sys.modules.get("coverage")
    return found.Coverage.current() if found else None
