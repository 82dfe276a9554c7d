"""Printing: results go to stdout, progress, notes and errors to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathoms.cli.harmless import harmless, harmless_console
from fathoms.errors import amount as amount
from fathoms.safety.masking import known_mask

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@dataclass
class Settings:
    """The global options, which are given before the command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False


settings = Settings()


def out() -> Console:
    """The console for results: 100 columns wide if stdout is no terminal and `COLUMNS` does not say its
    width, so that logs hold whole tables."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return harmless_console(file=sys.stdout, width=None if known else 100, highlight=False, emoji=False)


def show(*renderables: RenderableType) -> None:
    """Print tables, panels and texts of a result to standard output."""
    from rich.console import Group

    # a bare text would lose its own `no_wrap`, and ids and commands in it would be broken
    out().print(Group(*renderables), crop=False)


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table as screens do (`report/grid.py`): long texts are folded to the width of the terminal, and
    figures never. Cells are printed literally: square brackets in them are no markup."""
    from fathoms.report.grid import Grid

    grid = Grid(*heads)
    for row in rows:
        grid.add_row(*(clean(str(cell)) for cell in row))
    show(grid)


def clean(text: str) -> str:
    """Return a text with known secrets masked and control characters escaped, as everything is printed."""
    return harmless(known_mask().text(text))


def say(text: str) -> None:
    """Print text as a result, cleaned."""
    print(clean(text))


def show_json(value: Any) -> None:
    """Print a value as JSON, with known secrets masked.

    Control characters are written as JSON escapes, which does not change the values.
    """
    from fathoms.report.text import unseen_escaped

    print(unseen_escaped(json.dumps(known_mask().inside(value), ensure_ascii=False, indent=2)))


def note(text: str) -> None:
    """Print a remark to stderr, unless `--quiet` was given."""
    if not settings.quiet:
        aside(text)


def complain(text: str) -> None:
    """Print an error or a warning to stderr, even with `--quiet`."""
    aside(f"fathoms: {text}")


def show_traceback() -> None:
    """Print the traceback of the exception being handled. It may contain data that a server sent."""
    import traceback

    aside(traceback.format_exc().rstrip("\n"))


def aside(text: str) -> None:
    """Print to stderr, with known secrets masked. A closed stderr is ignored."""
    with suppress(BrokenPipeError):
        print(clean(text), file=sys.stderr, flush=True)
