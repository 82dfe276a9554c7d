"""Computes tables of the agreement of people and metrics on rankings, from the files that MiRAGE released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.errors import DataError
from fathoms.extras.papers.figures import Figures
from fathoms.extras.papers.tables import AgreementTable, Source
from fathoms.importers.mirage_release import JudgedClaim, Judgements, Release, find_release

if TYPE_CHECKING:
    from fathoms.stats.ranking import RankAgreement

Cells = Mapping[tuple[str, str, str], "RankAgreement"]
"""The agreement behind each cell, by its row, metric and column."""
_Shares = Mapping[str, Sequence[Sequence[float]]]
"""By `precision`, `recall` and `f1`: the figures of the systems of every topic."""


@dataclass(frozen=True)
class Agreed:
    """The figures of a table of agreement by row, what they rest on by cell, and what was left out, as
    sentences."""

    figures: dict[str, Figures]
    cells: Cells
    notes: tuple[str, ...]


def agreement_figures(table: AgreementTable, folder: Path) -> Agreed:
    """Compute the cells whose files are in a folder.

    Each cell is Kendall's tau-b between two rankings of the systems, by topic, averaged over topics, where a
    topic without a tau counts 0. A claim without a judgement counts as not supported, as in the release.
    People and metrics whose files are absent are left out, and named. Raises UsageError if the folder does
    not exist, and DataError if there is nothing to compare or a file cannot be read.
    """
    from fathoms.stats.ranking import rank_agreement

    release = find_release(folder)
    wanted = {
        (row.row, metric, column): sides
        for row in table.rows
        for metric, printed in row.printed.items()
        for column, figure in zip(table.columns, printed, strict=True)
        if figure is not None and len(sides := table.source(row, metric, column).sides) == 2
    }
    found: dict[Source, list[list[float]] | None] = {}
    notes: list[str] = []
    for side in dict.fromkeys(side for sides in wanted.values() for side in sides):
        found[side] = _figures(release, side, notes)
    cells = {
        place: rank_agreement(ours, theirs)
        for place, (one, other) in wanted.items()
        if (ours := found[one]) is not None and (theirs := found[other]) is not None
    }
    notes = list(dict.fromkeys(notes))
    if not cells:
        raise DataError("\n".join([f"{folder} contains nothing that {table.table} rests on", *notes]))
    figures: dict[str, Figures] = {}
    for (row, metric, column), agreed in cells.items():
        of_row = figures.setdefault(row, Figures(metrics={}, ours={}))
        of_row.metrics.setdefault(metric, {})[column] = agreed.tau.value
    return Agreed(figures, cells, tuple(notes))


def _figures(release: Release, side: Source, notes: list[str]) -> list[list[float]] | None:
    """Return what one side gives to the systems of every topic, in the order of the systems' names; `None`,
    and a note, where its files are absent."""
    if side.metric is not None:
        found, missing = release.metric_outputs(side.metric.folder, side.metric.key)
        if missing:
            notes.append(f"metric_outputs/{side.metric.folder} has no file of {', '.join(missing)}")
            return None
    elif side.annotator is not None and side.figure is not None:
        return _judged(release, side.annotator, side.figure, notes)
    elif side.ratings is not None:
        rated = release.ratings(side.ratings)
        if rated is None:
            notes.append(f"preference_json_{side.ratings}.json is absent: its cells are not compared")
            return None
        found = rated
    else:
        found, missing = release.grounding()
        if missing:
            notes.append(f"there are no grounding judgements of {', '.join(missing)}")
            return None
    return [
        [found[topic][system] for system in sorted(places.values())]
        for topic, places in release.systems.items()
    ]


def _judged(release: Release, annotator: int, figure: str, notes: list[str]) -> list[list[float]] | None:
    """Return a figure of a person's claim judgements; adds a note where claims have no judgement."""
    if lacking := release.lacking(annotator):
        notes.append(f"annotator {annotator} is left out, because files are absent: {', '.join(lacking)}")
        return None
    judged = release.judgements(annotator)
    claims = [claim for one in judged.values() for each in one.values() for claim in _all(each)]
    if empty := sum(claim.judgment is None for claim in claims):
        notes.append(
            f"annotator {annotator}: {empty} of {len(claims)} claims have no judgement and count as not"
            " supported, as in the release"
        )
    return [list(row) for row in _shares(release, judged)[figure]]


def _shares(release: Release, judged: Mapping[str, Mapping[str, Judgements]]) -> _Shares:
    """Return precision, recall and F1 of the systems of every topic, in the order of the systems' names."""
    found: dict[str, list[list[float]]] = {"precision": [], "recall": [], "f1": []}
    for topic, places in release.systems.items():
        pairs = [_precision_recall(judged[system][topic]) for system in sorted(places.values())]
        found["precision"].append([precision for precision, _ in pairs])
        found["recall"].append([recall for _, recall in pairs])
        found["f1"].append([harmonic(*pair) for pair in pairs])
    return found


def _precision_recall(judged: Judgements) -> tuple[float, float]:
    """Return the shares of the claims of the answer and of the reference that are supported, 0 of none."""
    answer = [claim for claims in judged.answer.values() for claim in claims]
    sides = [[claim.judgment is True for claim in side] for side in (answer, judged.reference)]
    precision, recall = (sum(side) / len(side) if side else 0.0 for side in sides)
    return precision, recall


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall, 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _all(judged: Judgements) -> list[JudgedClaim]:
    return [*(claim for claims in judged.answer.values() for claim in claims), *judged.reference]
