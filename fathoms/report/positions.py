"""How answers follow the place of the gold among distractors, and the number of distractors.

The runs are those of one sweep over `retrieve.position` and `retrieve.distractors` of the retriever
`distractors`. `position-gap` is the mean of the correct answers at the best place of the gold minus that at
the worst one, paired by question. A best and a worst place always differ by chance, so both are chosen on one
half of the questions, by a hash of their ids, and compared on the other half. Without an effect, the gap is 0
on average.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathoms.report.graded import (
    Graded,
    by_which,
    figure_text,
    graded_questions,
    mean_figure,
    of_one_sweep,
)
from fathoms.report.paired import chosen_on_other_half, signed
from fathoms.report.section import Chart, Section
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

PLACES = ("first", "middle", "last")
_SWEPT = ("position", "distractors")

Cells = Mapping[tuple[str, int], Sequence[Graded]]
"""The questions of a run by the place of the gold and the number of distractors."""


def positions_section(runs: Sequence[Run]) -> Section | None:
    """Return the table and the curves of runs that differ only in the place of the gold and in the number of
    distractors; `None` if they do not."""
    settings = [setting_of(run) for run in runs]
    if len(runs) < 2 or None in settings or len(set(map(str, settings))) < len(runs):
        return None
    if not of_one_sweep(runs) or len(set(map(rest_of, runs))) > 1:
        return None
    judged, by = by_which(runs)
    cells: dict[tuple[str, int], list[Graded]] = {}
    for run, setting in zip(runs, settings, strict=True):
        if setting is not None:
            cells[setting] = list(graded_questions(run, judged=judged))
    ordered = dict(sorted(cells.items(), key=lambda item: (item[0][1], _order(item[0][0]))))
    return _section(ordered, [by, *_cut(runs)])


def _cut(runs: Sequence[Run]) -> Iterator[str]:
    """Say if the gold stands in fewer prompts in some runs than in others, as where it was cut off: that
    looks like an effect of its place."""
    figures = [run.metrics(None).get("gold-page-in-prompt") for run in runs]
    shares = [found.micro.value for found in figures if found and found.micro.value is not None]
    if shares and min(shares) < max(shares):
        yield (
            f"the gold stands in fewer prompts of some runs than of others ({figure(min(shares))} to"
            f" {figure(max(shares))}), as where it was cut off: raise the context window before you compare"
        )


def setting_of(run: Run) -> tuple[str, int] | None:
    """Return the place of the gold and the number of distractors of a run; `None` if it has no such."""
    retrieve = run.manifest.config.get("retrieve")
    if (
        not isinstance(retrieve, dict)
        or retrieve.get("kind") != "distractors"
        or retrieve.get("mode") != "gold-plus-distractors"
    ):
        return None
    return str(retrieve.get("position")), int(retrieve.get("distractors") or 0)


def rest_of(run: Run) -> str:
    """Return everything of the configuration of a run that is not swept."""
    config = {key: value for key, value in run.manifest.config.items() if key != "name"}
    retrieve = config.get("retrieve")
    if isinstance(retrieve, dict):
        retrieve = {key: value for key, value in retrieve.items() if key not in _SWEPT}
    return json.dumps({**config, "retrieve": retrieve}, sort_keys=True, default=str)


def _order(place: str) -> int:
    """Return the order of a place: first, middle and last, then others."""
    return PLACES.index(place) if place in PLACES else len(PLACES)


def _section(cells: Cells, said: Sequence[str]) -> Section:
    """Return the section of the runs."""
    figures = {cell: _figures(graded) for cell, graded in cells.items()}
    rows = [
        [place, str(number), figure_text(found["correct"]), figure_text(found["abstained"]), str(found["n"])]
        for (place, number), found in figures.items()
    ]
    gaps = {
        number: gap
        for number in sorted({number for _, number in cells if number > 0})
        if (gap := _gap({place: graded for (place, at), graded in cells.items() if at == number}))
    }
    by, *cut = said
    notes = [
        f"{by}; gold: where it stands among the distractors; n: questions",
        *map(_sentence, gaps.items()),
        *cut,
    ]
    values = [
        {"position": place, "distractors": number, **found} for (place, number), found in figures.items()
    ]
    return Section(
        "positions",
        "Position of the gold, and number of distractors",
        ("gold", "distractors", "correct", "abstained", "n"),
        rows,
        notes,
        {"rows": values, "position-gap": {str(number): gap for number, gap in gaps.items()}},
        numbers=4,
        chart=_chart(figures),
    )


def _figures(graded: Sequence[Graded]) -> dict[str, Any]:
    """Return the shares of answers that are correct and that abstain, and the number of questions."""
    abstained = [(one, one.abstained) for one in graded if one.abstained is not None]
    return {
        "correct": mean_figure([(one, one.shares["correct"]) for one in graded]),
        "abstained": mean_figure(abstained),
        "n": len(graded),
    }


def _gap(by_place: Mapping[str, Sequence[Graded]]) -> dict[str, Any] | None:
    """Return the position gap of the runs with one number of distractors; `None` with fewer than two places.
    The shuffled order is no place: it is a mean of places."""
    correct = {
        place: {one.id: one.shares["correct"] for one in by_place[place]}
        for place in PLACES
        if place in by_place
    }
    return chosen_on_other_half(correct) if len(correct) > 1 else None


def _sentence(item: tuple[int, Mapping[str, Any]]) -> str:
    """Say what the place changes."""
    number, gap = item
    pairs = "{} against {}".format(*gap["chosen"])
    return (
        f"position-gap with {number} distractors: {signed(gap)}: correct answers at the best place minus"
        f" those at the worst ({pairs}), chosen on one half of the questions and compared on the other"
        f" {gap['n']}"
    )


def _chart(figures: Mapping[tuple[str, int], Mapping[str, Any]]) -> Chart | None:
    """Return one line for each place over the numbers of distractors, or one line over the places if there is
    a single number."""
    numbers = sorted({number for _, number in figures})
    places = list(dict.fromkeys(place for place, _ in figures))
    if len(numbers) == 1:
        points = {place: figures[place, numbers[0]]["correct"] for place in places}
        return Chart("Place of the gold", places, {f"{numbers[0]} distractors": points})
    lines = {
        f"gold {place}": {
            str(number): figures[place, number]["correct"] for number in numbers if (place, number) in figures
        }
        for place in places
    }
    return Chart("Distractors beside the gold", list(map(str, numbers)), lines)
