"""Computes how far people agree with the scores: mean ratings by pipeline, and agreement between reviewers.

The means correspond to Table I of the FATHOMS-RAG paper. The unit is the answer: if several reviewers rated
an answer, the mean of their ratings counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Literal

from fathoms.report.section import Reviews
from fathoms.runs.ratings import FILE, Rating, read_ratings
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

Column = Literal["score", "flag"]
COLUMNS: tuple[Column, ...] = ("score", "flag")
HEADERS = ("Pipeline", "Score", "Hallucination", "n")
KAPPA_HEADERS = ("Reviewers", "About", "Same rating", "Kappa", "Weighted", "n")
MEANING = (
    "Agreement of people with the score and with the verdict on hallucination, from 1 (strongly disagree) to"
    " 5 (strongly agree), by pipeline; n answers. [low, high]: 95 %, for other answers of these pipelines."
)
ABOUT: Mapping[Column, str] = {"score": "score", "flag": "hallucination"}
"""What the ratings of a column are about."""
LOWEST, HIGHEST = 1, 5


@dataclass(frozen=True)
class Mean:
    """A mean rating in [1, 5] with its 95 % interval; `n` counts answers, or pipelines for an average."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class PipelineRow:
    """The ratings of one pipeline, with the ids of its runs; a column is `None` if nobody rated it."""

    pipeline: str
    runs: tuple[str, ...]
    score: Mean | None
    flag: Mean | None


@dataclass(frozen=True)
class Kappa:
    """The agreement of two reviewers on the answers that both rated.

    `same` is the share of equal ratings, `kappa` is Cohen's kappa (Cohen 1960), and `weighted` is kappa
    weighted by squared distance (Cohen 1968). A kappa is `None` if chance alone would always give agreement.
    """

    reviewers: tuple[str, str]
    column: Column
    same: float
    kappa: float | None
    weighted: float | None
    n: int


@dataclass(frozen=True)
class Agreement:
    """The agreement over all runs of a report.

    `average` is the unweighted mean of the pipelines by column, as in the paper. `outdated` and
    `other_profiles` count ratings that were left out: those whose scores have changed since, and those of
    other profiles.
    """

    pipelines: tuple[PipelineRow, ...]
    average: Mapping[Column, Mean | None]
    reviewers: tuple[str, ...]
    kappas: tuple[Kappa, ...]
    outdated: int
    other_profiles: int


@dataclass(frozen=True)
class Reviewed:
    """One run with its valid ratings, and the numbers of ratings left out, as in `Agreement`."""

    run: Run
    ratings: tuple[Rating, ...]
    outdated: int
    other_profiles: int


def agreement(runs: Sequence[Run], scores: str | None = None) -> Agreement | None:
    """Return the agreement of people with the scores of some runs under one profile; `None` without ratings.

    Raises StoreError if a file of ratings is damaged.
    """
    read = [reviewed(run, run.profile(scores)) for run in runs]
    if not any(part.ratings or part.outdated or part.other_profiles for part in read):
        return None
    groups: dict[str, list[Reviewed]] = {}
    for part in read:
        if part.ratings:
            groups.setdefault(part.run.pipeline, []).append(part)
    rows = tuple(pipeline_row(name, group) for name, group in groups.items())
    ratings = [rating for part in read for rating in part.ratings]
    return Agreement(
        pipelines=rows,
        average={column: average(_given(group, column) for group in groups.values()) for column in COLUMNS},
        reviewers=tuple(sorted({rating.reviewer for rating in ratings})),
        kappas=tuple(kappas(ratings)),
        outdated=sum(part.outdated for part in read),
        other_profiles=sum(part.other_profiles for part in read),
    )


def reviews(runs: Sequence[Run], scores: str | None) -> Reviews | None:
    """Return the agreement as a report shows it; `None` without ratings."""
    found = agreement(runs, scores)
    if found is None:
        return None
    return Reviews([*agreement_tables(found)], [*remarks(found)], asdict(found))


def reviewed(run: Run, profile: str) -> Reviewed:
    """Read the ratings of one run, and select those whose scores have not changed since."""
    files = [run.path / FILE, *run.reviews]
    latest = {(*rating.item, rating.reviewer): rating for path in files for rating in read_ratings(path)}
    ours = [rating for rating in latest.values() if rating.run == run.original_id]
    under = [rating for rating in ours if rating.profile == profile]
    now = shown_now(run, profile) if under else {}
    current = tuple(rating for rating in under if rating.shown == now.get((rating.question, rating.repeat)))
    return Reviewed(run, current, len(under) - len(current), len(ours) - len(under))


def shown_now(run: Run, profile: str) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return the scores that a reviewer of each answer would see now, by question id and repeat."""
    return {
        (view.question.id, repeat.repeat): repeat.under(profile).shown
        for view in run.questions()
        for repeat in view.repeats
    }


def pipeline_row(name: str, group: Sequence[Reviewed]) -> PipelineRow:
    """Compute the mean ratings of one pipeline over all its runs."""
    score, flag = (mean_rating(_given(group, column)) for column in COLUMNS)
    return PipelineRow(name, tuple(part.run.original_id for part in group), score, flag)


def _given(group: Sequence[Reviewed], column: Column) -> list[float]:
    """Return the mean rating of every answer of one pipeline."""
    return answers((rating for part in group for rating in part.ratings), column)


def value(rating: Rating, column: Column) -> int | None:
    """Return the rating in a column, `None` if it was not given."""
    return rating.score_rating if column == "score" else rating.flag_rating


def answers(ratings: Iterable[Rating], column: Column) -> list[float]:
    """Return the mean rating of every answer that was rated in a column."""
    found: dict[tuple[str, str, int, str], list[int]] = {}
    for rating in ratings:
        if (given := value(rating, column)) is not None:
            found.setdefault(rating.item, []).append(given)
    return [fmean(values) for values in found.values()]


def mean_rating(values: Sequence[float]) -> Mean | None:
    """Return the mean of ratings with its interval; `None` without ratings."""
    return _mean([values], len(values)) if values else None


def average(pipelines: Iterable[Sequence[float]]) -> Mean | None:
    """Return the unweighted mean of pipelines, from the ratings of each; `None` without ratings."""
    known = [values for values in pipelines if values]
    return _mean(known, len(known)) if known else None


def _mean(pipelines: Sequence[Sequence[float]], n: int) -> Mean:
    """Return the mean of means with the interval of scores (`stats.intervals`) on the scale from 1 to 5.

    A t interval would have no width if all ratings agree, as in the first row of the paper's table.
    """
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    width, count = HIGHEST - LOWEST, len(pipelines)
    scores = [(np.array(values, dtype=float) - LOWEST) / width for values in pipelines]
    found = stratified_interval(scores, np.full(count, 1 / count))
    mean = fmean(map(fmean, pipelines))
    return Mean(mean, min(LOWEST + width * found.low, mean), max(LOWEST + width * found.high, mean), n)


def kappas(ratings: Sequence[Rating]) -> Iterator[Kappa]:
    """Yield the agreement of every pair of reviewers in every column, on the answers that both rated."""
    by_reviewer: dict[str, dict[tuple[str, str, int, str], Rating]] = {}
    for rating in ratings:
        by_reviewer.setdefault(rating.reviewer, {})[rating.item] = rating
    for (first, ours), (second, theirs) in combinations(sorted(by_reviewer.items()), 2):
        shared = [item for item in ours if item in theirs]
        for column in COLUMNS:
            both = [(value(ours[item], column), value(theirs[item], column)) for item in shared]
            pairs = [(a, b) for a, b in both if a is not None and b is not None]
            if pairs:
                same = fmean(a == b for a, b in pairs)
                plain, weighted = rated_alike(pairs), rated_alike(pairs, quadratic=True)
                yield Kappa((first, second), column, same, plain, weighted, len(pairs))


def rated_alike(pairs: Sequence[tuple[int, int]], *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa of pairs of ratings from 1 to 5."""
    import numpy as np

    from fathoms.stats.kappa import kappa

    table = np.zeros((HIGHEST, HIGHEST))
    for first, second in pairs:
        table[first - LOWEST, second - LOWEST] += 1
    return kappa(table, quadratic=quadratic)


def agreement_tables(found: Agreement) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Yield the headers and lines of the tables of means and of kappas that are not empty."""
    for headers, lines in ((HEADERS, mean_cells(found)), (KAPPA_HEADERS, kappa_cells(found))):
        if filled := list(lines):
            yield headers, filled


def mean_cells(found: Agreement) -> Iterator[list[str]]:
    """Yield a line for each pipeline, and one for their unweighted mean if there are several."""
    for row in found.pipelines:
        ns = dict.fromkeys(str(mean.n if mean else 0) for mean in (row.score, row.flag))
        yield [row.pipeline, mean_text(row.score), mean_text(row.flag), "/".join(ns)]
    if len(found.pipelines) > 1:
        yield ["Average (unweighted)", *(mean_text(found.average[column]) for column in COLUMNS), ""]


def mean_text(mean: Mean | None) -> str:
    """Format a mean with its interval."""
    return f"{figure(mean.mean)} [{figure(mean.low)}, {figure(mean.high)}]" if mean else "n/a"


def kappa_cells(found: Agreement) -> Iterator[list[str]]:
    """Yield a line for each pair of reviewers and each column."""
    for pair in found.kappas:
        figures = map(figure, (pair.same, pair.kappa, pair.weighted))
        yield [" and ".join(pair.reviewers), ABOUT[pair.column], *figures, str(pair.n)]


def remarks(found: Agreement) -> Iterator[str]:
    """Explain the tables, name the reviewers, and count the ratings that do not count."""
    if found.reviewers:
        yield f"Reviewers: {', '.join(found.reviewers)}. {MEANING}"
    if found.kappas:
        yield "Kappa is Cohen's, on the answers that both rated; weighted: by the squared distance."
    if found.outdated:
        yield f"Ratings not counted because the scores have changed since: {found.outdated}."
    if found.other_profiles:
        yield f"Ratings not counted because they are of another profile's scores: {found.other_profiles}."
