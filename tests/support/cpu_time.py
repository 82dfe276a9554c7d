"""A pytest plugin that prints the CPU time of tests by package and file: `pytest -p tests.support.cpu_time`.

It counts the test process and all processes below it, also those that are still running, such as the one that
commands are forked from. On a machine that others use too, this is comparable where wall time is not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_used = 0.0
_by_package: Counter[str] = Counter()
_tests: Counter[str] = Counter()
_by_file: Counter[str] = Counter()
_by_test: list[tuple[float, str]] = []


def _cpu_seconds(process: int) -> float:
    """The CPU time of a process, of its running descendants, and of those that have ended."""
    folder = Path("/proc", str(process))
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        threads = list((folder / "task").iterdir())
    except OSError:  # it has just ended
        return 0.0
    spent = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    for thread in threads:
        with suppress(OSError):
            spent += sum(_cpu_seconds(int(child)) for child in (thread / "children").read_text().split())
    return spent


def pytest_collection_finish() -> None:
    global _used
    _used = _cpu_seconds(os.getpid())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    global _used
    report = yield
    if call.when == "teardown":
        before, _used = _used, _cpu_seconds(os.getpid())
        report.user_properties.append(("cpu_time", _used - before))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """With xdist, this is called in the process that prints, too."""
    spent = dict(report.user_properties).get("cpu_time")
    if spent is not None:
        package = "/".join(report.nodeid.split("/")[:2])
        _by_package[package] += float(spent)
        _tests[package] += 1
        _by_file[report.nodeid.partition("::")[0]] += float(spent)
        _by_test.append((float(spent), report.nodeid))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("CPU time by package")
    for package, seconds in _by_package.most_common():
        terminalreporter.line(f"{seconds:8.1f} s  {package} ({_tests[package]} tests)")
    terminalreporter.line(f"{sum(_by_package.values()):8.1f} s  in all")
    terminalreporter.section("the 40 files that take most CPU time")
    for file, seconds in _by_file.most_common(40):
        terminalreporter.line(f"{seconds:8.1f} s  {file}")
    terminalreporter.section("the 20 tests that take most CPU time")
    for seconds, test in sorted(_by_test, reverse=True)[:20]:
        terminalreporter.line(f"{seconds:8.1f} s  {test}")
