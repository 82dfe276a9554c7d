"""Where the command line writes: results to stdout, progress and complaints to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fathoms.types import Record


@dataclass
class Settings:
    """The options before the verb."""

    quiet: bool = False
    debug: bool = False


settings = Settings()


def out() -> Console:
    """Results; at least 80 columns where nobody looks, so that tables stay whole in logs."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 100, highlight=False)


def show(*renderables: RenderableType) -> None:
    """Print results."""
    console = out()
    for renderable in renderables:
        console.print(renderable)


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a plain table; a cell is text, whatever brackets it holds."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(str(cell), overflow="fold") for cell in row))
    show(table)


def say(text: str) -> None:
    """Print a line of results as it is."""
    print(text)


def show_json(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """A remark, not a result."""
    if not settings.quiet:
        print(text, file=sys.stderr)


def complain(text: str) -> None:
    """What went wrong."""
    print(f"fathoms: {text}", file=sys.stderr)


class Bars:
    """Progress on a terminal: one line a stage, with rate, time left and errors; elsewhere nothing."""

    def __init__(self) -> None:
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

        self._loud = sys.stderr.isatty() and not settings.quiet and not os.environ.get("CI")
        self._errors = 0
        self._tasks: dict[str, Any] = {}
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<9}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(file=sys.stderr),
            disable=not self._loud,
        )

    def stage(self, stage: str, done: int, total: int, remark: str = "") -> None:
        """A stage got on."""
        if not self._loud:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, note="", rate="")
        task = self._bars.tasks[self._bars.task_ids.index(self._tasks[stage])]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._bars.update(task.id, completed=done, total=total, note=remark, rate=rate)

    def record(self, record: Record, done: int, total: int) -> None:
        """A question is done."""
        self._errors += record.error is not None
        self.stage("answer", done, total, f"{self._errors} failed" if self._errors else "")

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()


@contextmanager
def bars() -> Iterator[Bars]:
    """Progress for as long as the block lasts."""
    with Bars() as progress:
        yield progress
