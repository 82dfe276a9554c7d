"""Compares the retrieval of a run with published figures of ViDoRe, subset by subset as MTEB averages.

The subset of a question is its language; `default` is the mean over all questions. Repeats are averaged
within their question. `mean` is the unweighted mean of the subsets, which MTEB calls the score of the task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from fathoms.errors import DataError, UsageError, amount, suggest
from fathoms.extras.papers.mteb import DEFAULT, Published, same
from fathoms.metrics.registry import named
from fathoms.metrics.retrieval.batch import rank_scores
from fathoms.metrics.retrieval.metrics import RetrievalMetric
from fathoms.metrics.retrieval.ranking import ranked_pages
from fathoms.runs.run import Run
from fathoms.types import Record, Score

MEAN = "mean"
"""The row with the mean of the subsets."""
_BATCH = 500


@dataclass(frozen=True)
class MtebCell:
    """One figure of a subset: as published, and that of the run (`None` without a run, or if the run has no
    question of the subset). Both are shares in [0, 1]; `n` counts the questions of the run."""

    subset: str
    metric: str
    published: float
    ours: float | None = None
    n: int = 0

    @property
    def difference(self) -> float | None:
        """Ours minus the published figure."""
        return None if self.ours is None else self.ours - self.published

    @property
    def same(self) -> bool:
        """Whether the two agree in the five digits that MTEB writes."""
        return self.ours is not None and same(self.published, self.ours)


@dataclass(frozen=True)
class OwnFigures:
    """The figures of a run: the mean and the number of questions for each subset and metric, and what
    they lack."""

    means: Mapping[str, Mapping[str, tuple[float, int]]]
    notes: tuple[str, ...] = ()


def figures_of_run(run: Run, metrics: Sequence[str]) -> OwnFigures:
    """Return the figures of a run by the language of its questions, and for all of them as `default`.

    Raises DataError if no question of the run has a value.
    """
    retrieval_metrics = [one for one in named(metrics) if isinstance(one, RetrievalMetric)]
    only = run.is_scored and run.summary.retrieval_only
    deepest = max(one.k for one in retrieval_metrics)
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    lacking: set[str] = set()
    shallow: set[str] = set()
    for record, scores in scored(run, retrieval_metrics, only):
        question = record.question
        if any(score.value is None for score in scores.values()):
            lacking.add(question.id)
            continue
        if scores and len(ranked_pages(record.hits or ())) < deepest:
            shallow.add(question.id)
        language = str(question.metadata.get("language") or question.category)
        for name, score in scores.items():
            for subset in (DEFAULT, language):
                values[subset, name][question.id].append(score.value or 0.0)
    if not values:
        raise DataError(
            f"{run.path}: has no retrieved pages for questions with gold pages: nothing to compare"
        )
    means: dict[str, dict[str, tuple[float, int]]] = {}
    for (subset, name), own in values.items():
        means.setdefault(subset, {})[name] = fmean(map(fmean, own.values())), len(own)
    return OwnFigures(means, tuple(_notes(lacking, shallow, deepest)))


def scored(
    run: Run, metrics: Sequence[RetrievalMetric], only: bool
) -> Iterator[tuple[Record, dict[str, Score]]]:
    """Yield the records of a run with their scores; ir-measures is fast for many at once."""
    records = run.records.read(run.records.entries().values())
    while some := list(islice(records, _BATCH)):
        yield from zip(some, rank_scores(metrics, some, retrieval_only=only), strict=True)


def _notes(lacking: set[str], shallow: set[str], deepest: int) -> Iterator[str]:
    """Say what makes the figures of a run differ from those of MTEB although the retriever is the same."""
    if lacking:
        yield (
            f"there is no value for {amount(len(lacking), 'question')} of the run, because the search"
            " failed or its hits"
            " name no page: they are left out of its figures"
        )
    if shallow:
        yield (
            f"the run has fewer than {deepest} pages for {amount(len(shallow), 'question')}: unless the"
            " documents have"
            f" no more, its figures at {deepest} are too low (raise top_k)"
        )


def compare_published(
    published: Published, own: OwnFigures | None, subsets: Iterable[str] = ()
) -> tuple[MtebCell, ...]:
    """Return a cell for each subset and metric, and those of the mean where there are several subsets.

    `subsets` are the only ones to compare, all by default. The mean of the run is over the same subsets, and
    missing if it has no questions of one of them. Raises UsageError for an unknown subset.
    """
    wanted = tuple(subsets) or tuple(published.cells)
    for one in wanted:
        if one not in published.cells:
            raise UsageError(f"there is no subset '{one}'{suggest(one, published.cells)}")
    cells = []
    for subset in wanted:
        means = {} if own is None else own.means.get(subset, {})
        for metric in published.metrics:
            ours, n = means.get(metric, (None, 0))
            cells.append(MtebCell(subset, metric, published.cells[subset][metric], ours, n))
    return (*cells, *(_means(cells, published.metrics) if len(wanted) > 1 else ()))


def _means(cells: Sequence[MtebCell], metrics: Iterable[str]) -> Iterator[MtebCell]:
    """Yield the unweighted means of the subsets."""
    for metric in metrics:
        own = [cell for cell in cells if cell.metric == metric]
        ours = [cell.ours for cell in own if cell.ours is not None]
        mean = fmean(ours) if len(ours) == len(own) else None
        total = sum(cell.n for cell in own) if mean is not None else 0
        yield MtebCell(MEAN, metric, fmean(cell.published for cell in own), mean, total)


def differing_counts(published: Published, own: OwnFigures) -> Iterator[str]:
    """Yield a sentence for each subset where the run has another number of questions than was published,
    and for each that only one side has."""
    theirs = published.queries or {}
    for subset in published.cells:
        n = max((count for _, count in own.means.get(subset, {}).values()), default=0)
        if not n:
            yield f"the run has no question of the subset '{subset}'"
        elif subset in theirs and theirs[subset] != n:
            yield f"{subset}: {theirs[subset]} queries were published, and the run has {n}"
    if DEFAULT not in published.cells:
        for subset in own.means:
            if subset not in published.cells and subset != DEFAULT:
                yield f"the file has no subset '{subset}', but the run has questions of it"
