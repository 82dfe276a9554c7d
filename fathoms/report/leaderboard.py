"""The leaderboard: one row of scores per run.

The tables of scores (`score_tables.py`), the page (`html/page/50-leaderboard.js`) and the radars share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fathoms.compare.pairing import difference
from fathoms.errors import DataError
from fathoms.runs.order import times_apart
from fathoms.runs.run import QuestionMean, Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import Means, MeanScores

Metric = Literal["correctness", "hallucination"]
Rank = tuple[int, int]
_SHOWN = 10
"""Most questions that a note names."""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class RunRow:
    """The scores of one run under one profile.

    `label` is the run's name, extended if another run has the same name. `mark` is the footnote mark of an
    incomplete run, otherwise empty. `rank` is the interval of the ranks by Overall correctness that the run
    can have, 1 being the best; `None` where that is not known.
    """

    run: str
    label: str
    name: str
    model: str | None
    profile: str
    mark: str
    overall: MeanScores
    micro: MeanScores
    categories: Mapping[str, MeanScores]
    rank: Rank | None = None

    @property
    def is_best(self) -> bool:
        """Whether the run is shown to be better than all others."""
        return self.rank == (1, 1)

    @property
    def rank_text(self) -> str:
        """The interval of ranks, as `1` or `1 to 4`; a dash where it is not known."""
        if self.rank is None:
            return "-"
        low, high = self.rank
        return f"{low}" if low == high else f"{low} to {high}"

    def cell(self, category: str) -> MeanScores:
        """Return the scores in a category, all unknown if the run does not have it."""
        return self.categories.get(category, Means())


@dataclass(frozen=True)
class Leaderboard:
    """Several runs side by side, with the union of their `categories` and the footnotes with marks."""

    categories: tuple[str, ...]
    rows: tuple[RunRow, ...]
    notes: tuple[str, ...]

    def cells(self, row: RunRow) -> Iterator[tuple[str, MeanScores]]:
        """Yield the column header and the scores of Overall, of all questions, and of every category."""
        yield "Overall", row.overall
        yield "Questions", row.micro
        for category in self.categories:
            yield category, row.cell(category)


def leaderboard(runs: Sequence[Run], scores: str | None = None) -> Leaderboard:
    """Build the table of some runs under the profile `scores`, by default each run's headline profile."""
    footnotes: dict[str, str] = {}
    rows = []
    ranks, about_ranks = ranks_of(runs, scores)
    for run, label, rank in zip(runs, run_labels(runs), ranks, strict=True):
        figures = run.figures(scores)
        row = RunRow(
            run=run.original_id,
            label=label,
            name=run.name,
            model=run.summary.model,
            profile=run.profile(scores),
            mark=footnote_mark(run, footnotes),
            overall=figures.overall,
            micro=figures.overall.micro,
            categories=figures.categories,
            rank=rank,
        )
        rows.append(row)
    listed = [category for run in runs for category in run.summary.categories]
    scored = [category for row in rows for category in row.categories]
    notes = [f"{mark} {reason}" for reason, mark in footnotes.items()]
    profiles = sorted({row.profile for row in rows})
    if len(profiles) > 1:
        notes.append(f"Not comparable: the runs are scored under {' and '.join(profiles)}; name one profile.")
    elif about_ranks:
        notes.append(about_ranks)
    if any(ranks):
        notes.append(
            "Rank 1 to 2: with these questions, its place is between first and second (95 % confidence)."
        )
    if keys := sorted({run.grouped_by for run in runs if run.grouped_by}):
        notes.append(f"Grouped by the metadata {', '.join(keys)} instead of the category.")
    return Leaderboard(tuple(dict.fromkeys(listed + scored)), tuple(rows), tuple(notes))


def ranks_of(runs: Sequence[Run], scores: str | None) -> tuple[Sequence[Rank | None], str | None]:
    """Return the interval of ranks by Overall correctness of each run, and a note why it is not known, or
    which questions it leaves out because not all runs were asked them alike.

    A single run, runs without correctness, and runs under different profiles have none.
    """
    profiles = tuple(run.profile(scores) for run in runs)
    unknown = (None,) * len(runs)
    if len(runs) < 2 or len(set(profiles)) > 1:
        return unknown, None
    found = [run.correctness(profiles[0]) for run in runs]
    if not any(found):
        return unknown, None
    try:
        alike, left_out = _alike(runs, found)
    except DataError as error:
        return unknown, f"Ranks are not known: {error}."
    if not alike:
        return unknown, "Ranks are not known, because the runs were not asked the same questions."
    found = [{pair[0]: one[id] for pair in alike if (id := pair[key])} for key, one in enumerate(found)]
    # the test behind the ranks swaps means, which vary unlike if they are of different numbers of answers
    if len({each.answers for one in found for each in one.values()}) > 1:
        return unknown, "Ranks are not known, because questions have different numbers of answers."
    categories = tuple(each.category for each in found[0].values())
    ranks = _ranks(categories, tuple(tuple(each.mean for each in one.values()) for one in found))
    if not left_out:
        return ranks, None
    shown = ", ".join(left_out[:_SHOWN]) + (
        f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    )
    return ranks, (
        f"Ranks are of the {len(alike)} of {len(alike) + len(left_out)} questions that all runs answered with"
        f" the same gold answer; not counted: {shown}."
    )


def _alike(
    runs: Sequence[Run], found: Sequence[Mapping[str, QuestionMean]]
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the ids in each run of the questions that all runs were asked alike, and the ids of the others.
    Raises DataError where it is not known which questions are the same."""
    if all(
        one.keys() == found[0].keys() and run.question_digests == runs[0].question_digests
        for one, run in zip(found, runs, strict=True)
    ):
        return [(name,) * len(runs) for name in found[0]], []
    first = runs[0]
    others = [
        difference(first.identities, run.identities, (first.original_id, run.original_id)) for run in runs[1:]
    ]
    changed = {name for one in others for name in one.changed}
    pairs = [(name, *(one.pairs.get(name, "") for one in others)) for name in found[0]]
    alike = [
        pair
        for pair in pairs
        if pair[0] not in changed and all(name in one for name, one in zip(pair, found, strict=True))
    ]
    there = {pair[0] for pair in alike}
    added = dict.fromkeys(
        name for one, means in zip(others, found[1:], strict=True) for name in one.added if name in means
    )
    return alike, [*(name for name in found[0] if name not in there), *added]


@lru_cache(maxsize=4)  # a report draws its table in several formats
def _ranks(categories: Sequence[str], scores: Sequence[Sequence[float]]) -> Sequence[Rank]:
    """Compute the intervals of ranks from a row of scores for each run; `categories` are of the questions."""
    import numpy as np

    from fathoms.stats.difference import macro_weights
    from fathoms.stats.ranks import rank_intervals

    codes = {name: code for code, name in enumerate(dict.fromkeys(categories))}
    return rank_intervals(np.array(scores), macro_weights([codes[name] for name in categories]))


def labelled(runs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """Return the label of each run, with the mark of its footnote if it is incomplete, and the footnotes."""
    footnotes: dict[str, str] = {}
    labels = [
        label + footnote_mark(run, footnotes) for run, label in zip(runs, run_labels(runs), strict=True)
    ]
    return labels, [f"{mark} {reason}" for reason, mark in footnotes.items()]


def footnote_mark(run: Run, footnotes: dict[str, str]) -> str:
    """Return the superscript number for the reason why a run is incomplete, empty if it is complete.

    Runs that are incomplete for the same reason share a number; `footnotes` has those of all reasons
    so far.
    """
    if run.summary.complete:
        return ""
    reasons = run.summary.incomplete or ["the run does not say why"]
    reason = "incomplete: " + "; ".join(part.rstrip(".") for part in reasons)
    return footnotes.setdefault(reason, str(len(footnotes) + 1).translate(SUPERSCRIPTS))


def with_interval(means: MeanScores, metric: Metric) -> str:
    """Format a mean with its interval."""
    return figure(means.mean(metric)) + bracket(means.bounds(metric))


def interval_note(run: Run, profile: str) -> str | None:
    """Explain the bracketed intervals of one run; `None` if it has none."""
    figures = run.figures(profile)
    found = figures.overall.intervals.get("correctness")
    if not found:
        return None
    parts = ["[low, high]: 95 % intervals, for other questions on these documents"]
    groups = found.groups
    if found.clustered:
        wide = bracket(found.clustered.pair).strip()
        parts.append(f"overall correctness with other documents too: {wide}, {groups} groups")
    elif found.not_clustered:
        parts.append(f"not for other documents ({found.not_clustered})")
    elif groups is not None:  # a run that was scored before the reason was stored
        parts.append(f"{groups} group{'s' * (groups != 1)} of documents, not clustered")
    return "; ".join(parts)


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Return a distinct label for each run: its name, followed by the model, or by the time of the run if
    names and models are both the same: `night (27 Nov)`, or `night (13:28)` if they are of one day."""
    names = [run.name for run in runs]
    pairs = [(run.name, run.summary.model) for run in runs]
    alike: dict[tuple[str, str | None], list[str]] = {}
    for run, pair in zip(runs, pairs, strict=True):
        alike.setdefault(pair, []).append(run.original_id)
    times = {pair: dict(zip(ids, times_apart(ids), strict=True)) for pair, ids in alike.items()}
    labels = []
    for run, pair in zip(runs, pairs, strict=True):
        more = times[pair][run.original_id] if pairs.count(pair) > 1 else run.summary.model
        labels.append(f"{run.name} ({more})" if more and names.count(run.name) > 1 else run.name)
    return labels
