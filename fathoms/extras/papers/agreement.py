"""Computes tables of the agreement of people's rankings, from the judgements that MiRAGE released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """Compute the cells that rest on the judgements in a folder.

    Each cell is Kendall's tau-b between two rankings of the systems, by topic, averaged over topics, where a
    topic without a tau counts 0. A claim without a judgement counts as not supported, as in the release.
    People whose files are absent are left out. Raises UsageError if the folder does not exist, and DataError
    if it has no judgements at all or files that cannot be read.
    """
    from fathoms.stats.ranking import rank_agreement

    release = find_release(folder)
    wanted = {
        (row.row, metric, column): source
        for row in table.rows
        for metric in row.printed
        for column in table.columns
        if (source := table.source(row, metric, column)).is_complete
    }
    shares, notes = _judged(release, wanted.values())
    ratings, missing = _rated(release, wanted.values())
    cells = {
        place: rank_agreement(shares[source.annotator][source.figure], ratings[source.ratings])
        for place, source in wanted.items()
        if source.annotator in shares and source.ratings in ratings and source.figure
    }
    if not cells:
        raise DataError("\n".join([f"{folder} contains no judgements of {table.table}", *notes, *missing]))
    figures: dict[str, Figures] = {}
    for (row, metric, column), found in cells.items():
        of_row = figures.setdefault(row, Figures(metrics={}, ours={}))
        of_row.metrics.setdefault(metric, {})[column] = found.tau.value
    return Agreed(figures, cells, (*notes, *missing))


def _judged(release: Release, sources: Iterable[Source]) -> tuple[dict[int | None, _Shares], list[str]]:
    """Return the figures by person whose files are complete, and a sentence for everyone else and for claims
    without a judgement."""
    found: dict[int | None, _Shares] = {}
    notes = []
    for annotator in sorted({source.annotator for source in sources if source.annotator is not None}):
        if lacking := release.lacking(annotator):
            notes.append(f"annotator {annotator} is left out, because files are absent: {', '.join(lacking)}")
            continue
        judged = release.judgements(annotator)
        found[annotator] = _shares(release, judged)
        claims = [claim for one in judged.values() for each in one.values() for claim in _all(each)]
        if empty := sum(claim.judgment is None for claim in claims):
            notes.append(
                f"annotator {annotator}: {empty} of {len(claims)} claims have no judgement and count as not"
                " supported, as in the release"
            )
    return found, notes


def _rated(
    release: Release, sources: Iterable[Source]
) -> tuple[dict[int | None, list[list[float]]], list[str]]:
    """Return the quality judgements of the systems of every topic, by person, and what is absent."""
    found: dict[int | None, list[list[float]]] = {}
    notes = []
    for number in sorted({source.ratings for source in sources if source.ratings is not None}):
        ratings = release.ratings(number)
        if ratings is None:
            notes.append(f"preference_json_{number}.json is absent: its cells are not compared")
        else:
            found[number] = [
                [ratings[topic][system] for system in sorted(places.values())]
                for topic, places in release.systems.items()
            ]
    return found, notes


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
