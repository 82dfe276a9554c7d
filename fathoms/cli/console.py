"""Where the command line writes: results to stdout, progress and complaints to stderr."""

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
    """The options before the verb."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False


settings = Settings()


def out() -> Console:
    """Results; 100 columns where nobody looks, so that tables stay whole in logs."""
    return harmless_console(
        file=sys.stdout, width=None if sys.stdout.isatty() else 100, highlight=False, emoji=False
    )


def amount(number: int, noun: str) -> str:
    """`1 question`, `2 questions`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    """Print lines of results, without known secrets; characters that steer terminals are spelled out."""
    print(harmless(known_mask().text(text)))


def show_json(value: Any) -> None:
    """Print one JSON document without known secrets; characters that steer terminals are escaped, which
    changes no value."""
    from fathoms.report.text import unseen_escaped

    print(unseen_escaped(json.dumps(known_mask().inside(value), ensure_ascii=False, indent=2)))


def note(text: str) -> None:
    """A remark, not a result."""
    if not settings.quiet:
        _aside(text)


def complain(text: str) -> None:
    """What went wrong."""
    _aside(f"fathoms: {text}")


def show_traceback() -> None:
    """The exception that is handled, with where it came from: it may show what a server sent."""
    import traceback

    _aside(traceback.format_exc().rstrip("\n"))


def _aside(text: str) -> None:
    """To stderr, without known secrets; that nobody reads it there ends nothing."""
    with suppress(BrokenPipeError):
        print(harmless(known_mask().text(text)), file=sys.stderr, flush=True)


_PLAIN_SECONDS = 60
"""Between two lines of progress where nobody looks at a terminal."""


class Bars:
    """Progress: on a terminal a bar a stage and a provider, with rate, time left, failures and cost;
    elsewhere, and among the lines of `--verbose`, a plain line a minute. With `--quiet`, nothing."""

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
        """A stage got on."""
        self._say(stage, done, total, remark)
        if not self._loud:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(harmless(stage), total=total, note="", rate="")
        task = self._bars.tasks[self._bars.task_ids.index(self._tasks[stage])]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._bars.update(task.id, completed=done, total=total, note=harmless(remark), rate=rate)

    def tally(self, tally: Tally) -> None:
        """A question is done."""
        from fathoms.report.ending import dollars

        counts = {"failed": tally.failed, "from the cache": tally.cached}
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        parts += [dollars(tally.cost)] if tally.cost else []
        self.stage(f"answer {tally.provider}", tally.done, tally.total, ", ".join(parts))

    def _say(self, stage: str, done: int, total: int, remark: str) -> None:
        """The plain line, where it is time for one."""
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
    """Progress for as long as the block lasts."""
    with Bars() as progress:
        yield progress
