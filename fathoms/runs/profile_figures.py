"""The figures of a run under a profile, as figures of metrics, also of runs of before there were metrics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fathoms.types.run.figures import (
    AbstentionRates,
    Bounds,
    FunnelStages,
    MeanScores,
    MetricFigure,
    MetricFigures,
    ProfileFigures,
    RunFunnel,
)
from fathoms.types.run.summary import Summary

PROFILES = ("paper", "paper-by-words", "paper-configured", "released-code", "fathoms", "released")
"""The names under which a run can hold scores; `released` are scores that came with imported results."""


_PROFILE_METRICS = {
    "correctness": ("higher", True),
    "hallucination": ("lower", True),
    "abstention": ("lower", False),
}
"""Direction and headline of the metrics whose figures are stored with those of a profile."""
_RATES = {"coverage": "coverage", "selective-accuracy": "selective_accuracy"}


def profile_metrics(figures: ProfileFigures) -> dict[str, MetricFigures]:
    """Return the figures of a profile as figures of metrics: correctness, hallucination, abstention, the
    rates of selective prediction, and the recall at the stages of the funnel."""
    overall, micro = figures.overall, figures.overall.micro
    found = {
        name: MetricFigures(
            direction=direction,
            headline=headline,
            overall=_mean_figure(overall, name),
            micro=_mean_figure(micro, name),
            categories={
                category: _mean_figure(means, name) for category, means in figures.categories.items()
            },
        )
        for name, (direction, headline) in _PROFILE_METRICS.items()
    }
    for name, key in _RATES.items() if figures.abstention_rates else ():
        rates = figures.abstention_rates or AbstentionRates()
        rate = MetricFigure(
            value=getattr(rates, key), n=getattr(rates, f"{key}_n") or 0, **_ends(rates.intervals.get(key))
        )
        found[name] = MetricFigures(overall=rate, micro=rate)
    for stage in ("documents", "retrieved", "prompt") if figures.funnel else ():
        funnel = figures.funnel or RunFunnel()
        found[f"recall-in-{stage}"] = MetricFigures(
            overall=_stage_figure(funnel.overall, stage),
            categories={name: _stage_figure(stages, stage) for name, stages in funnel.categories.items()},
        )
    return found


def _mean_figure(means: MeanScores, metric: str) -> MetricFigure:
    """The mean of a metric with its interval."""
    bounds = means.intervals.get(metric)
    n = means.count(metric) if bounds is None or bounds.n is None else bounds.n
    return MetricFigure(value=means.mean(metric), n=n, **_ends(bounds))


def _stage_figure(stages: FunnelStages, stage: str) -> MetricFigure:
    """The mean recall at a stage."""
    return MetricFigure(value=stages.at(stage).recall, n=stages.at(stage).n)


def _ends(bounds: Bounds | None) -> dict[str, Any]:
    """The bounds of an interval as fields of a figure."""
    return {"low": bounds.low, "high": bounds.high, "method": bounds.method} if bounds else {}


def all_metrics(summary: Summary, profile: str) -> dict[str, MetricFigures]:
    """Return the figures of all metrics of a summary by name, those of FATHOMS-RAG under one profile.

    Metrics whose values depend on another profile are left out.
    """
    others = {name: found for name, found in summary.metrics.items() if found.profile in (None, profile)}
    return {**profile_metrics(summary.profiles[profile]), **others}


def no_such_scores(run: str, wanted: str, there: Collection[str]) -> str:
    """Build the message for a run not scored under a profile, with the command that scores it."""
    if not there:
        return f"{run} has no scores: run 'fathoms score {run}'"
    sentence = f"{run} has no scores '{wanted}' (available: {', '.join(there)})"
    if wanted == "released":
        return f"{sentence}; only imported results have them"
    return f"{sentence}: run 'fathoms score {run} --profile {wanted}'"
