"""Tables of how well runs choose quotes: by the place of the gold quote, by groups of questions, and thinking
against not thinking. The figures are parts of the metrics of MMDocRAG (`metrics/quotes/groups.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from fathoms.metrics.quotes.groups import GOLD_IN, GOLD_QUOTES, MODALITY, PLACE, THIRD, THIRDS, TYPE
from fathoms.report.graded import figure_text
from fathoms.report.search_table import row_labels
from fathoms.report.section import Chart, Section
from fathoms.runs.run import Run
from fathoms.text.amounts import figure
from fathoms.types.run.figures import MetricFigures

F1, QUALITY, TOKENS = "mmdocrag.overall-f1", "mmdocrag.answer-quality", "completion-tokens"
_RECALLS = {"pictures": "mmdocrag.image-recall", "texts": "mmdocrag.text-recall"}
_MEASURES = {
    "quote F1": (F1, "the mean over questions of the F1 of the cited quotes"),
    "quality": (QUALITY, "the mean of the judge's grades, from 0 to 5"),
}
_TITLES = {
    GOLD_IN: "what the gold is",
    GOLD_QUOTES: "number of gold quotes",
    MODALITY: "modality of the evidence",
    TYPE: "kind of question",
}
Parts = dict[str, dict[str, Any]]
"""Figures with `value`, `low`, `high` and `n`, by the name of a group."""
_THINK = re.compile(r"[-_ (]+(?:no[-_ ]?|non[-_ ]?)?(?:thinking|think|tk)(?![a-z])\)?", re.IGNORECASE)


def is_group_part(metric: str, part: str) -> bool:
    """Whether the tables show this part of a metric, so that the list of metrics need not repeat it."""
    if metric in _RECALLS.values():
        return part.startswith((PLACE, THIRD))
    return metric in (F1, QUALITY) and part.startswith(tuple(_TITLES))


def places_section(kind: str, runs: Sequence[Run]) -> Section | None:
    """Return how often the gold quote in each place, or in each third of the candidates, is cited; `None` if
    no run knows the places."""
    found = {
        (label, what): _parts(run, metric, kind)
        for run, label in _labelled(runs)
        for what, metric in _RECALLS.items()
    }
    found = {key: parts for key, parts in found.items() if parts}
    if not found:
        return None
    names = {place for parts in found.values() for place in parts}
    by_place = kind == PLACE
    places = _ordered(names) if by_place else [one for one in THIRDS if one in names]
    counted = "quotes" if by_place else "quotes, pooled by question"
    if by_place and any("-" in one for one in places):
        counted = "quotes, or questions where places are pooled"
    labels = list(dict.fromkeys(label for label, _ in found))
    rows = [
        [
            place,
            label,
            *(cell for what in _RECALLS for cell in _cells(found.get((label, what), {}).get(place))),
        ]
        for place in places
        for label in labels
    ]
    lines = {
        " of ".join([what, *([label] if len(labels) > 1 else [])]): parts
        for (label, what), parts in found.items()
    }
    where = "a place" if by_place else "each third"
    return Section(
        "quote-places" if by_place else "quote-thirds",
        "Gold quotes by their place"
        if by_place
        else "Gold quotes at the front, in the middle and at the end",
        ("place" if by_place else "third", "run", "pictures", "n", "texts", "n"),
        rows,
        [
            f"the share of the gold quotes in {where} among the candidates of their kind that are cited; a"
            " dip between the ends means that quotes are lost in the middle; [low, high]: 95 % intervals; n:"
            f" gold {counted}"
        ],
        {"lines": lines},
        numbers=4,
        chart=Chart("Place of the gold quote", places, lines, "Cited"),
    )


def group_section(kind: str, runs: Sequence[Run]) -> Section | None:
    """Return quote F1 and answer quality by one kind of group, as far as any run has them; `None` if no run
    has such groups."""
    found = {
        name: {label: parts for run, label in _labelled(runs) if (parts := _parts(run, metric, kind))}
        for name, (metric, _) in _MEASURES.items()
    }
    shown = [name for name, by_run in found.items() if by_run]
    groups = _ordered(group for name in shown for parts in found[name].values() for group in parts)
    if not groups:
        return None
    rows = []
    for group in groups:
        for _, label in _labelled(runs):
            cells = [found[name].get(label, {}).get(group) for name in shown]
            if known := [cell for cell in cells if cell]:
                rows.append([group, label, *map(figure_text, cells), str(known[0]["n"])])
    lines = found["quote F1"]
    return Section(
        f"quotes-by-{kind.strip().replace(' ', '-')}",
        f"Quotes by {_TITLES[kind]}",
        (_TITLES[kind], "run", *shown, "n"),
        rows,
        [
            "; ".join(
                [
                    *(f"{name}: {_MEASURES[name][1]}" for name in shown),
                    "[low, high]: 95 % intervals; n: questions",
                ]
            )
        ],
        {"f1": lines, "quality": found["quality"]},
        numbers=len(shown) + 1,
        chart=Chart(_TITLES[kind].capitalize(), groups, lines, "Quote F1") if lines else None,
    )


def thinking_section(runs: Sequence[Run]) -> Section | None:
    """Return what thinking changes, for models that answered both with it and without; `None` if there is no
    such pair with quote F1 or quality in both runs. A thinking run is one in which at least half of the
    answers have reasoning.

    Runs belong together by the name of their model, without a mark such as `-thinking`; if there are only one
    of each kind, these two do.
    """
    labelled = [(run, label) for run, label in _labelled(runs) if (run.summary.counts.answered or 0) > 0]
    sides = {
        thinks: [(run, label) for run, label in labelled if _thinks(run) is thinks]
        for thinks in (False, True)
    }
    pairs = [
        (plain, thinking)
        for plain in sides[False]
        for thinking in sides[True]
        if _model(plain[0]) == _model(thinking[0]) or len(labelled) == 2
    ]
    compared = [_compared(plain, thinking) for plain, thinking in pairs]
    figures = [one for one in compared if None not in one["f1"] or None not in one["quality"]]
    if not figures:
        return None
    header = (
        "without thinking",
        "with thinking",
        "F1",
        "F1",
        "quality",
        "quality",
        "tokens",
        "tokens",
        "ratio",
    )
    rows = [
        [
            str(one["without"]),
            str(one["with"]),
            *(figure(one[name][side]) for name in ("f1", "quality") for side in (0, 1)),
            *(_count(one["tokens"][side]) for side in (0, 1)),
            "n/a" if one["ratio"] is None else f"{one['ratio']:.1f}",
        ]
        for one in figures
    ]
    note = (
        "F1 of quotes, mean grade of the judge and mean tokens of an answer, each without and with thinking;"
        " ratio: tokens with thinking by those without"
    )
    return Section("thinking", "Thinking", header, rows, [note], {"pairs": figures}, numbers=7)


def _compared(plain: tuple[Run, str], thinking: tuple[Run, str]) -> dict[str, Any]:
    """Return the values of two runs, without and with thinking."""
    both = [run.metrics() for run, _ in (plain, thinking)]
    found = {
        name: [_value(metrics.get(metric)) for metrics in both]
        for name, metric in (("f1", F1), ("quality", QUALITY), ("tokens", TOKENS))
    }
    few, many = found["tokens"]
    return {"without": plain[1], "with": thinking[1], **found, "ratio": many / few if few and many else None}


def _thinks(run: Run) -> bool:
    counts = run.summary.counts
    return 2 * (counts.reasoned or 0) >= (counts.answered or 0)


def _model(run: Run) -> str:
    """Return the model of a run without a mark that says whether it thinks."""
    return _THINK.sub("", run.summary.model or run.name).casefold()


def _labelled(runs: Sequence[Run]) -> Iterator[tuple[Run, str]]:
    return zip(runs, row_labels(runs), strict=True)


def _parts(run: Run, metric: str, kind: str) -> Parts:
    """Return the figures of the groups of one kind, without the kind in their names."""
    known = run.summary.metrics.get(metric)
    return {
        part.removeprefix(kind): found.model_dump(include={"value", "low", "high", "n"})
        for part, found in (known.parts.items() if known else ())
        if part.startswith(kind)
    }


def _ordered(names: Iterable[str]) -> list[str]:
    """Return different names in order, numbers by their value."""
    numbered = {name: re.match(r"\d+", name) for name in names}
    return sorted(numbered, key=lambda name: (int(m[0]) if (m := numbered[name]) else 0, name))


def _cells(found: dict[str, Any] | None) -> tuple[str, str]:
    return figure_text(found), "0" if found is None else str(found["n"])


def _value(figures: MetricFigures | None) -> float | None:
    return None if figures is None else figures.overall.value


def _count(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.0f}"


QUOTE_TABLES: tuple[Callable[[Sequence[Run]], Section | None], ...] = (
    *(partial(places_section, kind) for kind in (THIRD, PLACE)),
    *(partial(group_section, kind) for kind in _TITLES),
    thinking_section,
)
