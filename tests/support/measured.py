"""What counts for coverage: in each file the first case of each test, and one fork of each command.

Measuring adds half to the CPU time of a test, because every line is reported. Later cases and commands would
cover the same lines again, as would the examples of a property. New interpreters are not
measured at all. So what is measured is less than what the tests run, never more.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Tracer = tuple[Any, Any]
"""What is called for each line of a thread, and of the threads that are started from then on."""

CASES = 1
"""So many cases of a test are measured."""
COMMANDS = 1
"""So many commands of a kind are measured in a file of tests."""

PACKAGE = Path(__file__).parents[2] / "fathoms"
_variables: dict[str, str] = {}
"""What makes a new interpreter measure itself."""
_commands: Counter[tuple[str, str]] = Counter()
_cases: Counter[str] = Counter()
_waiting: list[Tracer] = []
"""The tracer of this process, while it imports what another one measures."""


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
    if not _variables:
        return False
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    kind = next((word for word in command if not word.startswith("-")), "")
    _commands[file, kind] += 1
    return _commands[file, kind] <= COMMANDS


def variables(wanted: bool) -> dict[str, str]:
    """The environment variables for a process that is measured or not."""
    return _variables if wanted else {}


def pause_imports(config: pytest.Config) -> None:
    """Have one process of the tests measure the imports, because all of them import the same.

    The process that hands out the tests runs nothing of the package, and is not measured any more.
    """
    is_worker = hasattr(config, "workerinput")
    is_first = os.environ.get("PYTEST_XDIST_WORKER") == "gw0"
    hands_out = bool(config.getoption("numprocesses", None)) and not is_worker
    if hands_out or (is_worker and not is_first):
        tracer = _pause()
        if is_worker:
            _waiting.append(tracer)


def resume_after_imports() -> None:
    """Measure from here on in all processes of the tests."""
    while _waiting:
        _resume(_waiting.pop())


@contextmanager
def measured(test: pytest.Item) -> Iterator[None]:
    """Run a test with its fixtures, without coverage where nothing new is expected, and for a property."""
    name = test.nodeid.partition("[")[0]
    _cases[name] += 1
    is_property = hasattr(getattr(test, "obj", None), "hypothesis")
    if not _variables or (_cases[name] <= CASES and not is_property):
        yield
        return
    tracer = _pause()
    try:
        yield
    finally:
        _resume(tracer)


def _pause() -> Tracer:
    """Take coverage's tracer out of this thread and those to come.

    `Coverage.stop` and `start` would do so too, but each start puts back the variables with which all new
    processes measure themselves, and looks through all imported modules.
    """
    tracer = sys.gettrace(), threading.gettrace()
    _resume((None, None))
    return tracer


def _resume(tracer: Tracer) -> None:
    sys.settrace(tracer[0])
    threading.settrace(tracer[1])
