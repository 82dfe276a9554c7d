"""Reporting of unattended runs: log file, JUnit file, GitHub step summary, and one line per run and gate."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console
from fathoms.errors import FathomsError, UsageError
from fathoms.safety.masking import known_mask

if TYPE_CHECKING:
    from fathoms.report.ending import Ending, Verdict
    from fathoms.report.junit import Suite
    from fathoms.runner.active_run import Outcome


class JsonLines(logging.Formatter):
    """Formats a log record as a JSON object: time, level and the fields of the event, with secrets masked."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON of one record, without a line break."""
        from fathoms.report.text import unseen_escaped

        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        known = getattr(record, "facts", None)
        facts = {"event": "message", "message": record.getMessage()} if known is None else known
        line = {"time": time, "level": record.levelname.lower(), **facts}
        return unseen_escaped(known_mask().text(json.dumps(line, ensure_ascii=False, default=str)))


class _LogFile(WatchedFileHandler):
    """A log file that is opened again after logrotate has moved it. If it cannot be written, this is reported
    once, and the command continues."""

    _said = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the library's
        """Report the first write error, for example a full disk."""
        if not self._said:
            console.complain(f"the log {self.baseFilename} cannot be written: {sys.exc_info()[1]}")
        self._said = True


@contextmanager
def log_to(path: Path | None) -> Iterator[None]:
    """Append the events of the block to a file as JSON lines, if `path` is given.

    Raises UsageError if the file cannot be opened.
    """
    if path is None:
        yield
        return
    from fathoms.runs.events import heard

    try:
        handler = _LogFile(path, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--log-file {path}: cannot be written: {error.strerror or error}") from error
    handler.setFormatter(JsonLines())
    try:
        with heard(handler):
            yield
    finally:
        with suppress(OSError):
            handler.close()


def prepare_junit(path: Path | None) -> None:
    """Delete an earlier JUnit file, so that it is not taken for the result of this run.

    Raises UsageError if the file cannot be written.
    """
    if path is None:
        return
    try:
        path.unlink(missing_ok=True)
        path.touch()
        path.unlink()
    except OSError as error:
        raise UsageError(f"--junit {path}: cannot be written: {error.strerror or error}") from error


def report_failure(names: Sequence[str], error: BaseException, junit: Path | None) -> None:
    """Report an error that ends the command: in the log, the JUnit file, the step summary and on stdout."""
    from fathoms.report.ending import is_refused
    from fathoms.report.junit import Case, Suite
    from fathoms.report.markdown import escape
    from fathoms.report.text import plain
    from fathoms.runs.events import happened

    kind, word = type(error).__name__, "INTERRUPTED" if isinstance(error, KeyboardInterrupt) else "FAILED"
    message = known_mask().text(str(error)) or kind
    happened("command-failed", level=logging.ERROR, names=list(names), kind=kind, error=message)
    _write_junit([Suite(name, [Case("run", error=(kind, message))]) for name in names], junit)
    _append_step_summary(
        lambda: [f"**{escape(', '.join(names))}: not finished: {word}**", "", escape(message)]
    )
    why = ", connection refused" if is_refused(message) else ""
    console.say(f"{plain(', '.join(names))}: not finished{why}: {word}")  # stderr has the sentence, once


def write_comment(path: Path | None, make: Callable[[], str]) -> bool:
    """Write the comment that `make` returns, if `path` is given. Returns whether it was written, or none was
    requested. Errors are printed."""
    if path is None:
        return True
    from fathoms.paths import write_atomic

    try:
        write_atomic(path, make().encode())
    except OSError as error:
        console.complain(f"--comment {path}: cannot be written: {error.strerror or error}")
        return False
    return True


def comment_of_failure(path: Path | None, name: str, message: str) -> bool:
    """Write a comment that says why a run failed, if `path` is given; it has the marker of the gate's one."""
    from fathoms.gate.comment import comment_of_error
    from fathoms.paths import safe_name

    return write_comment(
        path, lambda: comment_of_error(safe_name(name, 60), known_mask().text(message), "the run failed")
    )


def report_end(
    outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], junit: Path | None, *, by_question: bool = False
) -> tuple[list[str], bool]:
    """Report the end of all runs: in the log, the JUnit file and the step summary.

    Returns one line per run, to be printed, and whether the JUnit file was written, if one was requested.
    """
    from fathoms.report.ending import ending, failures_of
    from fathoms.runs.events import happened
    from fathoms.runs.run import read_manifest, read_summary

    endings = []
    for outcome, verdict in zip(outcomes, verdicts, strict=True):
        path = outcome.run.path
        manifest = read_manifest(path)
        failures = failures_of(outcome.run) if manifest.totals.errors else ()
        found = ending(manifest, read_summary(path), verdict, outcome.requested, outcome.done, failures)
        endings.append(found)
        happened("run-reported", run=outcome.run.id, verdict=verdict, line=found.line)
    suites = [_suite(*row, by_question) for row in zip(outcomes, endings, strict=True)] if junit else []
    written = _write_junit(suites, junit)
    _append_step_summary(lambda: _step_summary(outcomes, endings))
    return [found.line for found in endings], written


def _step_summary(outcomes: Sequence[Outcome], endings: Sequence[Ending]) -> list[str]:
    """The end of every run, and a table of their scores."""
    from fathoms.report.markdown import escape, score_lines
    from fathoms.runs.run import Run

    views = []
    for outcome in outcomes:
        with suppress(FathomsError):  # a run without scores has no line in the table
            views.append(Run.scored(outcome.run.path))
    lines = [f"- {escape(end.line)}" for end in endings]
    return [*lines, "", *(score_lines(views) if views else [])]


@dataclass(frozen=True)
class VerdictFiles:
    """Where a command that judges reports its verdict besides the terminal: the log, the JUnit file, and the
    comment on the pull request; `None` for those that were not asked for."""

    log_file: Path | None
    junit: Path | None
    comment: Path | None

    @contextmanager
    def judging(self, kind: str, name: str) -> Iterator[None]:
        """Write the log of the block; an error that ends it is reported in all three, under the `kind` of the
        command and the `name` of what is judged."""
        from fathoms.gate.comment import comment_of_error
        from fathoms.report.junit import Case, Suite
        from fathoms.runs.events import happened

        with log_to(self.log_file):
            try:
                yield
            except FathomsError as error:
                title, message = type(error).__name__, known_mask().text(str(error))
                happened("command-failed", level=logging.ERROR, names=[kind], kind=title, error=message)
                _write_junit([Suite(kind, [Case(kind, error=(title, message))])], self.junit, beside=True)
                write_comment(self.comment, lambda: comment_of_error(name, message))
                raise

    def report(self, run: str, verdict: str, line: str, suite: Suite, make: Callable[[], str]) -> bool:
        """Report the verdict on a run: in the log, as a comment, which `make` returns and which the step
        summary has too, and in the JUnit file beside the cases of `fathoms run`. Returns whether all files
        that were asked for are written."""
        from fathoms.runs.events import happened

        comment = cache(lambda: known_mask().text(make()))
        level = logging.ERROR if verdict == "FAIL" else logging.INFO
        happened("gate-judged", level=level, run=run, verdict=verdict, line=line)
        _append_step_summary(lambda: [comment()])
        written = _write_junit([suite], self.junit, beside=True)
        return write_comment(self.comment, comment) and written


def _suite(outcome: Outcome, end: Ending, by_question: bool) -> Suite:
    """The test suite of a run: one case per category or question, or a single one if it was not scored."""
    from fathoms.report.junit import Case, Suite, category_cases, question_cases
    from fathoms.runs.run import Run

    run = outcome.run
    if not run.is_scored:
        trouble = None if end.verdict == "OK" else (end.verdict.lower(), end.line)
        return Suite(end.name, [Case("run", end.seconds or 0.0, error=trouble, said=end.line)])
    view = Run.scored(run.path)
    cases_of = question_cases if by_question else category_cases
    cases = list(cases_of(view, too_many_failed=end.verdict == "FAILED"))
    if end.verdict == "PARTIAL":
        cases.append(Case("run", error=("partial", end.missing), said=end.line))
    return Suite(end.name, cases, view.manifest.created)


def _write_junit(suites: Sequence[Suite], path: Path | None, *, beside: bool = False) -> bool:
    """Write the JUnit file atomically; with `beside`, keep the suites that `fathoms run` wrote to it. Returns
    whether it was written, or none was requested. Errors are printed."""
    if path is None:
        return True
    from fathoms.paths import write_atomic
    from fathoms.report.junit import junit

    try:
        before = path.read_bytes() if beside and path.is_file() else None
        write_atomic(path, junit(suites, before))
    except OSError as error:
        console.complain(f"--junit {path}: cannot be written: {error.strerror or error}")
    except ValueError as error:
        console.complain(f"--junit {path}: is not a JUnit file of fathoms and was left unchanged: {error}")
    else:
        return True
    return False


def _append_step_summary(make: Callable[[], Sequence[str]]) -> None:
    """Append the lines that `make` returns to the summary page of the job, if this runs in GitHub Actions."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write("\n".join(make()) + "\n")
    except OSError as error:
        console.complain(f"GITHUB_STEP_SUMMARY {name}: cannot be written: {error.strerror or error}")
