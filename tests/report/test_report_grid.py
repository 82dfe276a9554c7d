"""Tables for the terminal: how long names and heads are folded."""

from __future__ import annotations

import cProfile
import io
import pstats

import pytest
from rich.console import Console
from rich.text import Text

from fathoms.report.grid import Column, Grid

FOLDED = {
    "ragchecker.context-utilisation ↑": ["ragchecker.context-", "utilisation ↑"],
    "truthfulness of everything ↑": ["truthfulness of", "everything ↑"],
    "abcdefghijklmnopqrst ↑": ["abcdefghijklmnopqrs", "t ↑"],
    "  modality of something long": ["  modality of", "something long"],
    "a name of several words": ["a name of several", "words"],
    "漢字漢字漢字漢字漢字漢字": ["漢字漢字漢字漢字漢字", "漢字"],
}
"""Names, and the lines of 20 cells into which they are folded."""


@pytest.mark.parametrize("name", FOLDED)
def test_long_names_are_broken_between_words_and_at_their_signs(name: str) -> None:
    column = Column(Text("metric"), (Text(name),)).folded(20)
    assert column.cells[0].plain.split("\n") == FOLDED[name]


def test_heads_are_no_narrower_than_their_figures() -> None:
    grid = Grid("metric", "in the prompt", "a", "b")
    grid.add_row("a", *("0.50 [0.10, 0.90]",) * 3)
    file = io.StringIO()
    Console(file=file, width=48, color_system=None).print(grid)
    assert [line.split() for line in file.getvalue().splitlines()] == [
        ["in", "the"],
        ["metric", "prompt", "a", "b"],
        ["a", "0.50", "0.50", "0.50"],
        ["[0.10,", "0.90]"] * 3,
    ]


def calls_for(rows: int) -> int:
    """How many functions are called to print a table of so many rows."""
    grid = Grid("run", "made", "correctness", "model")
    for number in range(rows):
        grid.add_row(f"night~{number}", "27 Nov 13:28", "0.50", "a model")
    profile = cProfile.Profile()
    profile.runcall(Console(file=io.StringIO(), width=100).print, grid)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_a_list_of_runs_is_printed_in_proportion_to_its_length() -> None:
    assert calls_for(200) < 5 * calls_for(50)
