"""Compares a week of production with a week of reference and all weeks between them.

The weeks have different questions, so that no question can be compared with itself. If nothing has changed,
the scores of one route, those of the reference and of every week since, are exchangeable: draws from the
questions that users ask there. So the sequential test of the gate (`stats.sequential`) takes the routes in
the place of the questions, and its budget of false alarms holds. It does not say why a week is worse: users
may ask harder questions of the same route.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fathoms.compare.question_scores import QuestionScores, read_scores, scores_like
from fathoms.errors import DataError
from fathoms.runs.run import Run

Routes = Mapping[str, Sequence[float]]
"""The scores of a week by route, from 0 to 1, higher ones better."""


@dataclass(frozen=True)
class Check:
    """A metric of a week beside the reference: the values by route (`None` without one) of the reference and
    of each week since, the p value of "not worse", the evidence so far, and whether it is an alarm. `runs`
    are those of these weeks, this one last, and `skipped` earlier weeks that were judged in another way."""

    metric: str
    runs: tuple[str, ...]
    series: Mapping[str, tuple[float | None, ...]]
    p: float | None
    evidence: float
    alarm: bool
    skipped: tuple[str, ...] = ()


def check(metric: str, run: Run, earlier: Sequence[Run], checks: int) -> Check:
    """Compare a run by a metric; `earlier` are the reference and the weeks since, oldest first, and `checks`
    counts the metrics that are watched. Raises DataError if the run has no value of the metric, or the
    reference was judged in another way."""
    from fathoms.stats.sequential import evidence, level_alone, needed, night_p

    scores = [read_scores(one) for one in (*earlier, run)]
    rules = scores[-1].rules_of(metric)
    fits = [metric in one.metrics and one.rules_of(metric) == rules for one in scores]
    if not fits[0]:
        raise DataError(
            f"{earlier[0].id} has no {metric} by the same judge and rules: score it in the same way, or name"
            " another 'reference'"
        )
    fitting = [one for one, fit in zip(scores, fits, strict=True) if fit]
    weeks = [routes(one, metric) for one in fitting]
    names = list(dict.fromkeys(name for week in weeks for name in week))
    pool: dict[str, list[float]] = {name: list(weeks[0].get(name, ())) for name in names}
    found = []
    lower = False
    ids = tuple(one.runs[0] for one in fitting)
    for id, week in zip(ids[1:], weeks[1:], strict=True):
        tonight = [week.get(name, ()) for name in names]
        before = [list(pool[name]) for name in names]
        found.append(night_p(before, tonight, _draw(id, metric)))
        both = [name for name in week if pool[name]]
        lower = sum(fmean(week[name]) - fmean(pool[name]) for name in both) < 0
        for name, values in week.items():
            pool[name] += values
    so_far, last = evidence(found)[-1], found[-1]
    # where sums are equal, a random number decides the p value; it must not decide an alarm of a single week
    surely = night_p(before, tonight, draw=0)
    alone = surely is not None and surely <= level_alone(len(found), checks)
    skipped = tuple(one.runs[0] for one, fit in zip(scores, fits, strict=True) if not fit)
    return Check(
        metric=metric,
        runs=ids,
        series={name: tuple(_mean(one, metric, name) for one in fitting) for name in names},
        p=last,
        evidence=so_far,
        # a week that is no worse is no alarm, whatever the weeks before it were
        alarm=lower and (so_far >= needed(checks) or alone),
        skipped=skipped,
    )


def routes(scores: QuestionScores, metric: str) -> dict[str, list[float]]:
    """Return the scores of questions by route, scaled to [0, 1] and turned round where lower ones are
    better."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    categories = scores.categories
    for name, value in goodness(scores, metric).items():
        found[categories[name]].append(value)
    return dict(found)


def goodness(scores: QuestionScores, metric: str) -> dict[str, float]:
    """Return the score of each question to which a metric applies, from 0 (worst) to 1."""
    return {name: fmean(values) for name, values in scores_like(scores, scores, metric).items()}


def _mean(scores: QuestionScores, metric: str, route: str) -> float | None:
    """Return the mean of a metric over the questions of a route."""
    categories = scores.categories
    found = [value for name, value in scores.means_of(metric).items() if categories[name] == route]
    return fmean(found) if found else None


def _draw(run: str, metric: str) -> float:
    """Return a number in [0, 1) that is the same whenever the weeks are compared again."""
    digest = hashlib.sha256(f"{run} {metric}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
