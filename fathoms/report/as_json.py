"""Builds the JSON report of runs, which `fathoms report --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fathoms.report.leaderboard import ranks_of
from fathoms.report.sections import reviews, sections_json
from fathoms.report.shrunk import shrunk_categories
from fathoms.report.stage_times import ingest_json, stage_times
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigure, MetricFigures

OVERALL = (
    "correctness",
    "hallucination",
    "micro_correctness",
    "micro_hallucination",
    "n",
    "errors",
    "intervals",
)
CATEGORY = ("correctness", "hallucination", "n", "intervals")


def report_json(
    runs: Sequence[Run], scores: str | None = None, *, shrink: bool = False
) -> list[dict[str, Any]]:
    """Return one object per run, with unrounded numbers and `None` where a metric does not apply.

    `rank` is the interval of ranks by Overall correctness among these runs, such as `[1, 4]`, and `None`
    where it is not known. Tables of runs that belong together, such as `settings` for the settings of one
    pipeline, are the same in every object (`sections.py`). `seconds` has the seconds of a question by stage,
    and in `times` how many times the fastest of these runs it takes. With `shrink`, `shrunk` has the means of
    `shrunk_categories`. `agreement` covers all the runs together, and is the same in every object; it is
    `None` without reviews.

    Raises DataError, naming the available profiles, if a run was not scored under `scores`, and UsageError if
    `scores` is not the name of a profile.
    """
    reviewed = reviews(runs, scores)
    ranks, _ = ranks_of(runs, scores)
    _, times = stage_times(runs)
    together = sections_json(runs)
    return [
        run_json(run, scores)
        | {"rank": rank, "agreement": reviewed and dict(reviewed.figures)}
        | {"seconds": {stage: figure_json(one.figure) | {"times": one.times} for stage, one in took.items()}}
        | {"ingest_seconds": ingest_json(run)}
        | together
        | ({"shrunk": {k: asdict(v) for k, v in shrunk_categories(run, scores).items()}} if shrink else {})
        for run, rank, took in zip(runs, ranks, times, strict=True)
    ]


def run_json(run: Run, scores: str | None = None) -> dict[str, Any]:
    """Build the object of one run. `retrieval` has the figures of its search, where it has any. `by` is the
    key of the metadata whose values are the categories; absent where they are the categories of the data
    set."""
    profile = run.profile(scores)
    summary = run.summary.plain()  # as stored, with the keys of any version
    figures = summary["profiles"][profile]
    return {
        "run": run.original_id,
        **({"by": run.grouped_by} if run.grouped_by else {}),
        "name": run.name,
        "model": run.summary.model,
        "profile": profile,
        "overall": _with_rates(figures.get("overall") or {}, OVERALL),
        "categories": {
            name: _with_rates(values, CATEGORY) for name, values in (figures.get("categories") or {}).items()
        },
        "funnel": figures.get("funnel"),
        "abstention_table": figures.get("abstention_table"),
        "abstention_rates": figures.get("abstention_rates"),
        **({"retrieval_only": True} if run.summary.retrieval_only else {}),
        **{
            key: found
            for key in ("retrieval", "length_against_support", "judging")
            if (found := summary.get(key))
        },
        "metrics": {name: metric_json(found) for name, found in run.metrics(scores).items()},
    }


def metric_json(figures: MetricFigures) -> dict[str, Any]:
    """Build the object of one metric: its figures overall and by category, its direction and its judge."""
    return {
        "overall": figure_json(figures.overall),
        "micro": figure_json(figures.micro),
        "categories": {name: figure_json(figure) for name, figure in figures.categories.items()},
        "direction": figures.direction,
        "unit": figures.unit,
        "judge": figures.judge,
        **({"prompts": list(figures.prompts)} if figures.prompts else {}),
        **(
            {"people": figures.people.model_dump(exclude_none=True, exclude_unset=True)}
            if figures.people
            else {}
        ),
        **({"until": figures.until.model_dump()} if figures.until else {}),
        **({"cells": list(figures.cells)} if figures.cells else {}),
        "missing": figures.missing,
        **(
            {"parts": {name: figure_json(one) for name, one in figures.parts.items()}}
            if figures.parts
            else {}
        ),
        **({"counted": figures.counted} if figures.counted else {}),
    }


def figure_json(figure: MetricFigure) -> dict[str, Any]:
    """Build the object of one figure: the value, its 95 % interval and the number of questions."""
    return {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n}


def _with_rates(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Select keys, and the hallucination rates by answerability where the run has them."""
    rates = values.get("hallucination_over")
    return pick(values, keys) | ({"hallucination_over": rates} if rates else {})


def pick(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Select keys of a mapping; missing counts become 0, and other missing values become `None`."""
    return {key: values.get(key, 0 if key in ("n", "errors") else None) for key in keys}
