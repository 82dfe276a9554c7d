"""What `fathoms tune` prints: the answer first, then who else might be it, and what that took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathoms.errors import amount
from fathoms.report.amounts import dollars, duration, short
from fathoms.tune.result import Interval, Result, Standing

_MOST = 8
"""The most candidates in the table."""
_MOST_NAMES = 3
"""The most names in a line."""
_SAYS = {
    "budget": "the budget is spent",
    "calls": "the number of calls is reached",
    "signal": "it was stopped",
}


def headline(result: Result) -> list[str]:
    """The first lines: the best on these questions, and whether it is that for new ones too."""
    best, rest = result.best, [one for one in result.standings[1:] if one.dropped_at is None]
    same = [one for one in rest if one.value == best.value and result.asked == result.questions]
    figure = f"{result.settings.metric} {short(best.value)}"
    if not result.is_decided:
        why = _SAYS.get(result.stopped or "", "it is not decided")
        first = f"leading on these questions: {best.candidate.name} ({figure}); {why}"
        asked = f"{result.asked} of {amount(result.questions, 'question')}"
        first += f" after {asked}, and {len(rest) + 1} candidates are left"
    elif result.settings.front and rest:
        first = (
            f"best on these questions: {best.candidate.name} ({figure}); {len(rest)} others are left, because"
        )
        first += f" none of less {result.settings.front} is surely better"
    elif same:
        first = f"best on these questions: {best.candidate.name} ({figure}), as good as {_names(same)}"
    else:
        margin = (
            f" within {short(result.settings.within)}" if rest and result.asked < result.questions else ""
        )
        first = f"best{margin} on these questions: {best.candidate.name} ({figure})"
    apart = result.not_apart
    if not apart:
        return [first, "for new questions too: it is told apart from all others"]
    known = [one.to_settle for one in apart if one.to_settle is not None]
    second = f"for new questions not told apart from {_names(apart)}"
    if known:
        second += f"; about {_rounded(max(known))} questions would settle {_of(len(known), len(apart))}"
    return [first, second]


def _of(known: int, whole: int) -> str:
    """How many of the open comparisons a number of questions would settle."""
    return "it" if known == whole else f"{known} of {whole}"


def _rounded(count: int) -> str:
    """A number of questions with two digits."""
    digits = max(0, len(str(count)) - 2)
    return f"{round(count, -digits):,}"


def _names(standings: Sequence[Standing]) -> str:
    """The names of candidates, at most a few of them."""
    named = [one.candidate.name for one in standings[:_MOST_NAMES]]
    more = len(standings) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def table(result: Result) -> tuple[list[str], list[list[str]]]:
    """The candidates that are left, and the last ones that were dropped."""
    rows = [
        [
            one.candidate.name,
            f"{result.asked}" if one.dropped_at is None else f"{one.dropped_at}, dropped",
            short(one.value),
            _range(one.on_these),
            _range(one.on_new),
            "" if one.candidate.retrieval is None else short(one.candidate.retrieval),
            "" if one.candidate.cost_each is None else dollars(one.candidate.cost_each),
            "" if one.candidate.latency is None else f"{one.candidate.latency:.2f}",
        ]
        for one in result.standings[:_MOST]
    ]
    heads = [
        "candidate",
        "asked",
        result.settings.metric,
        "on these",
        "on new",
        "ndcg@10",
        "$ each",
        "s each",
    ]
    filled = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    return [heads[place] for place in filled], [[row[place] for place in filled] for row in rows]


def _range(interval: Interval) -> str:
    """An interval as `.61-.72`."""
    return f"{short(interval[0])}-{short(interval[1])}"


def details(result: Result, seconds: float | None = None) -> Iterator[str]:
    """What stands below the table: who is not in it, the front, the axes, and what was spent."""
    if hidden := result.standings[_MOST:]:
        yield f"{len(hidden)} more were dropped after {_span(hidden)} questions"
    if many := [one for one in result.standings if one.candidate.failed * 10 > one.candidate.asked]:
        failed = ", ".join(
            f"{one.candidate.name} {one.candidate.failed} of {one.candidate.asked}" for one in many
        )
        yield f"failed calls: {failed}"
    if unknown := [one for one in result.standings if one.unknown]:
        listed = ", ".join(f"{one.candidate.name} {one.unknown}" for one in unknown[:_MOST])
        yield f"without a score: {listed}"
    front = result.front
    if len(front) > 1:
        yield "quality by cost: " + ", ".join(
            f"{one.candidate.name} {short(one.value)} at {dollars(one.candidate.cost_each or 0.0)}"
            for one in front[:_MOST]
        )
    for effect in result.effects[:_MOST]:
        low, high = (f"{bound:+.2f}" for bound in effect.interval)
        yield (
            f"{effect.axis}={effect.value} instead of {effect.beside}: {effect.difference:+.2f}"
            f" ({low} to {high}, {amount(effect.questions, 'question')})"
        )
    share = result.calls / result.whole
    spent = f"{result.calls:,} of {result.whole:,} calls ({share:.0%})"
    if result.cost is not None and result.cost > 0:
        whole = result.cost / share if share else 0.0
        spent += f", {dollars(result.cost)} of about {dollars(whole)}"
    if seconds is not None:
        spent += f", {duration(seconds)}"
    yield spent


def _span(standings: Sequence[Standing]) -> str:
    """The numbers of questions after which candidates were dropped, as `4 to 12`."""
    counts = [one.dropped_at or 0 for one in standings]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
