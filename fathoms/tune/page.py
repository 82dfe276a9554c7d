"""The page of a race: one file without scripts, with all candidates and three drawings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fathoms.report.notebook.parts import escaped, grid, page, said
from fathoms.text.amounts import dollars, figure
from fathoms.tune.lines import details, headline
from fathoms.tune.result import Result

_WIDTH, _HEIGHT, _EDGE = 640, 220, 44
_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
    ' content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
    "<title>{title}</title><style>body{{margin:1.5em auto;max-width:64em;padding:0 1em}}"
    "svg{{max-width:100%;height:auto;font:12px system-ui,sans-serif}}"
    "svg text{{fill:currentColor}}svg .axis{{stroke:currentColor;opacity:.4}}"
    "svg .mark{{fill:#2a78d6;stroke:#2a78d6}}.wide{{overflow-x:auto}}</style></head><body><main>"
)


def race_page(result: Result) -> str:
    """Return the page of a race, with everything escaped that came from configurations."""
    first, *rest = headline(result)
    rows = [
        (
            one.candidate.name,
            "" if one.dropped_at is None else str(one.dropped_at),
            figure(one.value),
            f"{figure(one.on_these[0])}-{figure(one.on_these[1])}",
            f"{figure(one.on_new[0])}-{figure(one.on_new[1])}",
            "" if one.candidate.cost_each is None else dollars(one.candidate.cost_each),
            "" if one.candidate.latency is None else f"{one.candidate.latency:.2f}",
        )
        for one in result.standings
    ]
    heads = ("candidate", "dropped after", result.settings.metric, "on these", "on new", "$ each", "s each")
    parts = [
        f"<h1>{escaped(first)}</h1>",
        *map(said, rest),
        *map(said, details(result)),
        f'<div class="wide">{grid("All candidates", heads, rows, 6)}</div>',
        _survivors(result),
        _front(result),
        _effects(result),
    ]
    return f"{_HEAD.format(title=escaped(first))}{page(*filter(None, parts))}</main></body></html>\n"


def _drawing(title: str, words: str, body: Iterable[str], height: int = _HEIGHT) -> str:
    """A drawing with its title, and what it shows in words."""
    return (
        f"<h2>{escaped(title)}</h2>"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escaped(words)}">{"".join(body)}</svg>'
        f"<p><small>{escaped(words)}</small></p>"
    )


def _text(x: float, y: float, text: object, anchor: str = "start") -> str:
    """A text at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A line between two places."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} class="{kind}" stroke-width="1.5"/>'


def _frame(left: str, right: str, low: str, high: str) -> list[str]:
    """The two axes with the values at their ends."""
    bottom = _HEIGHT - _EDGE
    return [
        _line(_EDGE, bottom, _WIDTH - 8, bottom, "axis"),
        _line(_EDGE, 12, _EDGE, bottom, "axis"),
        _text(_EDGE, bottom + 16, left),
        _text(_WIDTH - 8, bottom + 16, right, "end"),
        _text(_EDGE - 6, bottom, low, "end"),
        _text(_EDGE - 6, 20, high, "end"),
    ]


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """A function from values to places."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _survivors(result: Result) -> str:
    """How many candidates were left after each number of questions."""
    number = len(result.standings)
    across = _scale(0, result.questions, _EDGE, _WIDTH - 8)
    up = _scale(0, number, _HEIGHT - _EDGE, 16)
    ends = sorted(one.dropped_at for one in result.standings if one.dropped_at is not None)
    places, left = [(0, number)], number
    for end in ends:
        places += [(end, left), (end, left - 1)]
        left -= 1
    places.append((result.asked, left))
    points = " ".join(f"{across(done):.1f},{up(count):.1f}" for done, count in places)
    drawn = f'<polyline points="{points}" class="mark" style="fill:none" stroke-width="2"/>'
    frame = _frame("0 questions", f"{result.questions} questions", "0", str(number))
    words = f"Candidates that are left after each number of questions: {number} at first, {left} at the end."
    return _drawing("Who was left", words, [*frame, drawn])


def _front(result: Result) -> str:
    """The figure of each candidate over what a question costs, or takes where no costs are known."""
    cost = [one.candidate.cost_each for one in result.standings]
    priced = None not in cost and any(cost)
    known = [
        (amount, one)
        for one in result.standings
        if (amount := one.candidate.cost_each if priced else one.candidate.latency) is not None
    ]
    if len(known) < 2:
        return ""
    most = max(amount for amount, _ in known)
    across, up = _scale(0, most, _EDGE, _WIDTH - 120), _scale(0, 1, _HEIGHT - _EDGE, 16)
    end = dollars(most) if priced else f"{most:.2f} s"
    drawn = [
        f'<circle cx="{across(amount):.1f}" cy="{up(one.value):.1f}" r="4" class="mark"'
        f' fill-opacity="{1 if one.dropped_at is None else 0.3}"><title>{escaped(one.candidate.name)}'
        f" {figure(one.value)}</title></circle>"
        for amount, one in known
    ]
    drawn += [
        _text(across(amount) + 8, up(one.value) + 4, one.candidate.name[:24])
        for amount, one in known
        if one is result.best
    ]
    words = f"{result.settings.metric} over {'dollars' if priced else 'seconds'} a question; pale: dropped."
    return _drawing("Quality and cost", words, [*_frame("0", end, "0", "1"), *drawn])


def _effects(result: Result) -> str:
    """What the values of each axis add, with their intervals."""
    if not result.effects:
        return ""
    across, height = _scale(-1, 1, _WIDTH * 0.45, _WIDTH - 8), 24 * len(result.effects) + 34
    drawn = [_line(across(0), 4, across(0), height - 24, "axis"), _text(across(0), height - 8, "0", "middle")]
    names = [f"{one.axis}={one.value} instead of {one.beside}" for one in result.effects]
    for row, (name, one) in enumerate(zip(names, result.effects, strict=True)):
        y = 16 + 24 * row
        drawn += [
            _text(0, y + 4, name[:44]),
            _line(across(one.interval[0]), y, across(one.interval[1]), y, "mark"),
            f'<circle cx="{across(one.difference):.1f}" cy="{y}" r="4" class="mark"/>',
        ]
    words = f"Change of {result.settings.metric} with 95 % intervals for new questions, from -1 to 1."
    return _drawing("What each axis adds", words, drawn, height)
