"""The screening card of `fathoms questions inspect --card`: on the terminal, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.errors import some_of
from fathoms.extras.questions.commands.build_summary import coverage_lines

if TYPE_CHECKING:
    from fathoms.extras.questions.making.balance import Coverage
    from fathoms.extras.questions.screening import Share
    from fathoms.judges.judge import Judge
    from fathoms.types import Document, Question

HEADS = ("questions", "share", "95 % interval", "count", "not known")


def screened(
    questions: Sequence[Question], documents: Mapping[str, Document], judge: Judge, first: int
) -> tuple[Share, ...]:
    """Return the card of a question set."""
    from fathoms.extras.questions.screening import screen
    from fathoms.models.caching import ReplyCache

    with opened() as cache, progress.bars() as bars:
        replies = ReplyCache(cache)
        return screen(questions, documents, judge, first=first, replies=replies, on_stage=bars.stage)


def show_card(shares: Sequence[Share], covers: Coverage, as_json: bool, unread: Mapping[str, str]) -> None:
    """Print a card as a table, with the questions of each flaw and what the set covers, or as JSON."""
    if as_json:
        rows = [
            {
                "flaw": one.flaw,
                "share": one.value,
                "interval": one.interval,
                "count": len(one.flawed),
                "of": one.judged,
                "questions": one.flawed,
                "not_known": one.unknown,
            }
            for one in shares
        ]
        console.show_json(
            {"shares": rows, "coverage": covers.counts, "pages": covers.pages, "unread": dict(unread)}
        )
        return
    console.show_table(HEADS, [_cells(one) for one in shares])
    for one in shares:
        if one.flawed:
            console.say(f"{one.flaw}: {some_of(one.flawed)}")
        if one.unknown:
            console.say(f"{one.flaw}, not known: {some_of(one.unknown)}")
    for line in coverage_lines(covers):
        console.say(line)


def card_markdown(file: Path, judge: str, shares: Sequence[Share], covers: Coverage, first: int) -> str:
    """Return a card as GitHub-flavoured Markdown."""
    from fathoms.report.markdown import escape, table

    lines = [
        f"# Screening card of {escape(file.name)}",
        "",
        *table(HEADS, [tuple(map(escape, _cells(one))) for one in shares], figures=4),
        "",
        f"Judged by {escape(judge)}; pages with the answer were sought among the {first} that BM25 ranks"
        " first for a question.",
        "",
        *(f"- {escape(line)}" for line in coverage_lines(covers)),
    ]
    return "\n".join(lines) + "\n"


def _cells(one: Share) -> tuple[str, ...]:
    """Return the cells of a row."""
    value, bounds = one.value, one.interval
    shown = "n/a" if value is None else f"{value:.2f}"
    between = "n/a" if bounds is None else f"{bounds[0]:.2f} to {bounds[1]:.2f}"
    return one.flaw, shown, between, f"{len(one.flawed)} of {one.judged}", str(len(one.unknown))
