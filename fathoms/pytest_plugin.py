"""The plugin for pytest: a fixture `fathoms_gate` that runs a configuration and fails the test if the run is
not good enough, by the same code as `fathoms gate`.

pytest loads this module at every start, so it imports nothing but pytest; fathoms is imported when a test
calls the fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from fathoms.api import Config, Result
    from fathoms.gate.verdict import Verdict

_KEY = "fathoms"
_OF_RUNS = (
    "limit",
    "categories",
    "questions",
    "workers",
    "repeats",
    "max_cost",
    "max_tokens_total",
    "reuse_replies",
)


class Gate(Protocol):
    """What the fixture `fathoms_gate` returns."""

    def __call__(
        self, run: str | Path | Config | Result, *settings: str, strict: bool = False, **options: Any
    ) -> Verdict:
        """Run a configuration and judge it; a finished run (`fathoms.find`) is judged as it is.

        `settings` are as with `--set`. `options` are those of `fathoms.run`, those of `Result.gate`, and the
        wanted values of metrics. The test fails where `fathoms gate` would end with another exit code than
        0; with `strict`, UNDECIDED fails too.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line."""
    group = parser.getgroup("fathoms")
    group.addoption(
        "--fathoms-out",
        metavar="DIR",
        help="The folder in which fathoms_gate stores its runs (default: runs in the root folder of pytest).",
    )
    group.addoption(
        "--fathoms-limit",
        metavar="N",
        type=int,
        help="The most questions that fathoms_gate asks of each configuration, for a quick look.",
    )


@pytest.fixture
def fathoms_gate(request: pytest.FixtureRequest) -> Gate:
    """Run a configuration, and fail the test unless the run is good enough:
    `fathoms_gate("configs/mine.yaml", correctness=.6)`."""

    def gate(
        run: str | Path | Config | Result, *settings: str, strict: bool = False, **options: Any
    ) -> Verdict:
        __tracebackhide__ = True
        found = _verdict_or_message(request.config, run, settings, options)
        if isinstance(found, str):
            pytest.fail(found, pytrace=False)
        # as the fixture record_property does, which warns where a JUnit file of the newer kind is written
        request.node.user_properties.append((_KEY, found.line))
        if found.failed(strict=strict):
            pytest.fail(found.text, pytrace=False)
        return found

    return gate


def _verdict_or_message(
    config: pytest.Config,
    run: str | Path | Config | Result,
    settings: tuple[str, ...],
    options: dict[str, Any],
) -> Verdict | str:
    """Return the verdict, or the message of an error that kept it from being found."""
    from fathoms.errors import FathomsError

    try:
        return _judged(config, run, settings, options)
    except FathomsError as error:
        return f"fathoms: {error}"


def _judged(
    config: pytest.Config,
    run: str | Path | Config | Result,
    settings: tuple[str, ...],
    options: dict[str, Any],
) -> Verdict:
    """Run a configuration unless a finished run is given, and judge it."""
    import fathoms

    of_run = {name: options.pop(name) for name in _OF_RUNS if name in options}
    if isinstance(run, fathoms.Result):
        if settings or of_run:
            from fathoms.errors import UsageError

            raise UsageError(f"a finished run takes no {', '.join((*settings, *of_run))}")
        return run.gate(**options)
    limit = config.getoption("--fathoms-limit")
    if limit is not None:
        of_run["limit"] = limit
    out = Path(config.getoption("--fathoms-out") or config.rootpath / "runs")
    return fathoms.run(run, *settings, out=out, **of_run).gate(**options)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the line of every verdict, also of tests that passed and of workers of pytest-xdist."""
    lines = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == _KEY
    ]
    if lines:
        terminalreporter.section("fathoms")
        for line in lines:
            terminalreporter.write_line(line)
