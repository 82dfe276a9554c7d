"""What `fathoms tune` prints: the answer first, then who else might be it, and what that took."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from fathoms.errors import amount
from fathoms.text.amounts import dollars, duration, figure, percent
from fathoms.tune.result import Interval, Result, Standing

_MOST = 6
"""The most candidates in the table."""
_MOST_NAMES = 2
"""The most names in a line."""
_MOST_EFFECTS = 3
"""The most lines on what an axis adds; the largest differences come first, and the page has all."""
_WIDTH = 80
_OPTIONS = re.compile(r" \([^()]*\)")
"""The options of a component after its kind, as `describe` writes them."""
_KEY = re.compile(r"(?<!\S)\w+=(?:https?://|(?=[^\W\d]))")
"""A key before a word or an address; one before a number says what it is."""
_LONG = 22
"""A name of more characters is shortened, so that the table has 80 columns."""
_SAYS = {
    "budget": "the budget is spent",
    "calls": "the limit of calls is reached",
    "signal": "it was stopped",
}


def labels(names: Sequence[str]) -> dict[str, str]:
    """Short names of candidates by their names: without the options of components and, as long as some are
    long, without the words that all share, without keys before words, and cut. A step after which two would
    have the same name is left out."""
    found = list(names)
    for step in (_without_options, _without_common_words, _without_keys, _cut):
        if step is _without_options or max(map(len, found)) > _LONG:
            shorter = step(found)
            if all(shorter) and len(set(shorter)) == len(found):
                found = shorter
    return dict(zip(names, found, strict=True))


def _without_options(names: Sequence[str]) -> list[str]:
    return [_OPTIONS.sub("", name) for name in names]


def _without_common_words(names: Sequence[str]) -> list[str]:
    common = set.intersection(*(set(name.split()) for name in names))
    return [" ".join(word for word in name.split() if word not in common) for name in names]


def _without_keys(names: Sequence[str]) -> list[str]:
    return [_KEY.sub("", name) for name in names]


def _cut(names: Sequence[str]) -> list[str]:
    return [name if len(name) <= _LONG else f"{name[: _LONG - 1]}…" for name in names]


def wrapped(line: str) -> str:
    """A sentence in lines of 80 columns."""
    return "\n".join(textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False))


def headline(result: Result) -> list[str]:
    """The first lines: the best on these questions, and whether it is that for new ones too."""
    short_names = labels([one.candidate.name for one in result.standings])
    best_name = short_names[result.best.candidate.name]
    best, rest = result.best, [one for one in result.standings[1:] if one.dropped_at is None]
    same = [one for one in rest if one.value == best.value and result.asked == result.questions]
    value = f"{result.settings.metric} {figure(best.value)}"
    if not result.is_decided:
        why = _SAYS.get(result.stopped or "", "it is not decided")
        first = f"leading on these questions: {best_name} ({value}); {why}"
        count = f"{result.asked} of {amount(result.questions, 'question')}"
        first += f" after {count}, and {len(rest) + 1} candidates are left"
    elif result.settings.front and rest:
        first = f"best on these questions: {best_name} ({value}); {len(rest)} others are left, because"
        first += f" none of less {result.settings.front} is surely better"
    elif same:
        first = f"best on these questions: {best_name} ({value}), as good as {_names(same, short_names)}"
    else:
        margin = (
            f" within {figure(result.settings.within)}" if rest and result.asked < result.questions else ""
        )
        first = f"best{margin} on these questions: {best_name} ({value})"
    apart = result.not_apart
    if not apart:
        return [first, "for new questions too, it is better than all others"]
    known = [one.to_settle for one in apart if one.to_settle is not None]
    second = f"for new questions, {_names(apart, short_names)} may be as good"
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


def _names(standings: Sequence[Standing], short_names: Mapping[str, str]) -> str:
    """The names of candidates, at most a few of them."""
    named = [short_names[one.candidate.name] for one in standings[:_MOST_NAMES]]
    more = len(standings) - len(named)
    *first, last = [*named, f"{more} more"] if more else named
    return f"{', '.join(first)} and {last}" if first else last


def table(result: Result) -> tuple[list[str], list[list[str]]]:
    """The candidates that are left, and the last ones that were dropped."""
    short_names = labels([one.candidate.name for one in result.standings])
    rows = [
        [
            short_names[one.candidate.name],
            f"{result.asked}" if one.dropped_at is None else f"{one.dropped_at}, out",
            figure(one.value),
            _range(one.on_these),
            _range(one.on_new),
            "" if one.candidate.retrieval is None else figure(one.candidate.retrieval),
            "" if one.candidate.cost_each is None else dollars(one.candidate.cost_each),
            "" if one.candidate.latency is None else f"{one.candidate.latency:.2f}",
        ]
        for one in result.standings[:_MOST]
    ]
    heads = [
        "candidate",
        "asked",
        "score",
        "on these",
        "on new",
        "ndcg",
        "$ each",
        "s each",
    ]
    filled = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    return [heads[place] for place in filled], [[row[place] for place in filled] for row in rows]


def _range(interval: Interval) -> str:
    """Return an interval in short, such as `.61-.72`."""
    return f"{figure(interval[0])}-{figure(interval[1])}"


def details(result: Result, seconds: float | None = None) -> Iterator[str]:
    """What stands below the table: who is not in it, the front, the axes, and what was spent."""
    short_names = labels([one.candidate.name for one in result.standings])
    hidden = result.standings[_MOST:]
    dropped = [one.dropped_at for one in hidden if one.dropped_at is not None]
    more = [f"{len(hidden) - len(dropped)} more are left"] if len(hidden) > len(dropped) else []
    if dropped:
        low, high = min(dropped), max(dropped)
        after = str(low) if low == high else f"{low} to {high}"
        more.append(f"{len(dropped)} more dropped after {after} questions")
    if more:
        yield ", ".join(more)
    if many := [one for one in result.standings if one.candidate.failed * 10 > one.candidate.asked]:
        failed = ", ".join(
            f"{short_names[one.candidate.name]} {one.candidate.failed} of {one.candidate.asked}"
            for one in many[:_MOST_NAMES]
        )
        yield f"failed calls: {failed}"
    if unknown := [one for one in result.standings if one.unknown]:
        listed = ", ".join(
            f"{short_names[one.candidate.name]} {one.unknown}" for one in unknown[:_MOST_NAMES]
        )
        yield f"without a score: {listed}"
    front = result.front
    if len(front) > 1:
        yield "quality by cost: " + ", ".join(
            f"{short_names[one.candidate.name]} {figure(one.value)}"
            f" at {dollars(one.candidate.cost_each or 0.0)}"
            for one in front[:_MOST_EFFECTS]
        )
    for effect in sorted(result.effects, key=lambda one: -abs(one.difference))[:_MOST_EFFECTS]:
        interval = " to ".join(f"{bound:+.2f}" for bound in effect.interval)
        value, beside = labels([effect.value, effect.beside]).values()
        yield (
            f"{effect.axis}={value} instead of {beside}: {effect.difference:+.2f}"
            f" ({interval}, {amount(effect.questions, 'question')})"
        )
    if result.settings.repeats > 1:
        yield (
            f"each score is the mean of {result.settings.repeats} answers: what is said of these questions"
            " holds for the answers that were given"
        )
    share = result.calls / result.whole
    spent = f"{result.calls:,} of {result.whole:,} calls ({percent(share)})"
    if result.cost is not None and result.cost > 0:
        whole = result.cost / share if share else 0.0
        spent += f", {dollars(result.cost)} of about {dollars(whole)}"
    elif result.cost is None:
        spent += ", cost not known"
    if seconds is not None:
        spent += f", {duration(seconds)}"
    yield spent
