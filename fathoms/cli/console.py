"""Printing: results go to stdout, progress, notes and errors to stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathoms.cli.harmless import harmless, harmless_console
from fathoms.safety.masking import known_mask

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fathoms.runner.runner import Tally


@dataclass
class Settings:
    """The global options, which are given before the command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False


settings = Settings()


def out() -> Console:
    """The console for results: 100 columns wide if stdout is no terminal, so that logs hold whole tables."""
    return harmless_console(
        file=sys.stdout, width=None if sys.stdout.isatty() else 100, highlight=False, emoji=False
    )


def amount(number: int, noun: str) -> str:
    """Format a count with its noun in the singular or plural: `1 question`, `2 questions`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show(*renderables: RenderableType) -> None:
    """Print tables, panels and texts of a result to standard output."""
    console = out()
    for renderable in renderables:
        console.print(renderable, crop=False)


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, folds: bool = True) -> None:
    """Print a plain table. Cells are printed literally: square brackets in them are no markup.

    Long cells are folded to the width of the terminal. Without `folds`, every row is one line, however long,
    so that ids in it can be copied and searched for.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for position, head in enumerate(heads):
        cells = (head, *(str(row[position]) for row in rows))
        table.add_column(head, no_wrap=not folds, min_width=None if folds else max(map(cell_len, cells)))
    for row in rows:
        table.add_row(*(Text(str(cell), overflow="fold") for cell in row))
    show(table)


def say(text: str) -> None:
    """Print text as a result, with known secrets masked and control characters escaped."""
    print(harmless(known_mask().text(text)))


def show_json(value: Any) -> None:
    """Print a value as JSON, with known secrets masked.

    Control characters are written as JSON escapes, which does not change the values.
    """
    from fathoms.report.text import unseen_escaped

    print(unseen_escaped(json.dumps(known_mask().inside(value), ensure_ascii=False, indent=2)))


def note(text: str) -> None:
    """Print a remark to stderr, unless `--quiet` was given."""
    if not settings.quiet:
        _aside(text)


def complain(text: str) -> None:
    """Print an error or a warning to stderr, even with `--quiet`."""
    _aside(f"fathoms: {text}")


def show_traceback() -> None:
    """Print the traceback of the exception being handled. It may contain data that a server sent."""
    import traceback

    _aside(traceback.format_exc().rstrip("\n"))


def _aside(text: str) -> None:
    """Print to stderr, with known secrets masked. A closed stderr is ignored."""
    with suppress(BrokenPipeError):
        print(harmless(known_mask().text(text)), file=sys.stderr, flush=True)


_PLAIN_SECONDS = 60
"""Seconds between two plain lines of progress, where stderr is no terminal."""


class Bars:
    """Shows progress on stderr.

    On a terminal, one bar per stage and per provider, with rate, time left, failures and cost. Elsewhere, and
    with `--verbose`, one plain line per stage and minute. With `--quiet`, nothing.
    """

    def __init__(self, plain_seconds: float = _PLAIN_SECONDS) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not settings.verbose
        self._loud = watched and not settings.quiet and not os.environ.get("CI")
        self._plain = not watched and not settings.quiet
        self._plain_seconds = plain_seconds
        self._began = time.monotonic()
        self._said: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._tasks: dict[str, Any] = {}
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<9}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=sys.stderr),
            disable=not self._loud,
        )

    def stage(self, stage: str, done: int, total: int, remark: str = "") -> None:
        """Update the progress of a stage: `done` of `total` steps, with an optional remark."""
        self._say(stage, done, total, remark)
        if not self._loud:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(harmless(stage), total=total, note="", rate="")
        task = self._bars.tasks[self._bars.task_ids.index(self._tasks[stage])]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._bars.update(task.id, completed=done, total=total, note=harmless(remark), rate=rate)

    def tally(self, tally: Tally) -> None:
        """Update the progress of the questions to one provider."""
        from fathoms.report.ending import dollars

        counts = {"failed": tally.failed, "from the cache": tally.cached}
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        parts += [dollars(tally.cost)] if tally.cost else []
        self.stage(f"answer {tally.provider}", tally.done, tally.total, ", ".join(parts))

    def _say(self, stage: str, done: int, total: int, remark: str) -> None:
        """Print the plain line of a stage, if the last one is long enough ago."""
        now = time.monotonic()
        began = self._since.setdefault(stage, now)
        if not self._plain or now - self._said.get(stage, self._began) < self._plain_seconds:
            return
        self._said[stage] = now
        rate = done / (now - began) if now > began else 0.0
        parts = [f"{stage}: {done} of {total}", remark]
        parts += [f"{rate:.2g}/s, about {(total - done) / rate:.0f} s left"] if rate else []
        _aside(", ".join(part for part in parts if part))

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()


@contextmanager
def bars() -> Iterator[Bars]:
    """Show progress while the block runs."""
    with Bars() as progress:
        yield progress
