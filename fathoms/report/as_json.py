"""The figures of runs for programs: what `fathoms report --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathoms.report.review.agreement import agreement, agreement_json
from fathoms.report.view import RunView

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


def report_json(runs: Sequence[RunView], scores: str | None = None) -> list[dict[str, Any]]:
    """One object a run, numbers unrounded, `None` where a metric does not apply. `agreement` is over all the
    runs, and the same in every object; `None` where nobody reviewed them.

    Raises DataError, naming the profiles there are, where a run has no scores under `scores`, and UsageError
    where that is the name of no profile.
    """
    reviewed = agreement_json(agreement(runs, scores))
    return [run_json(run, scores) | {"agreement": reviewed} for run in runs]


def run_json(run: RunView, scores: str | None = None) -> dict[str, Any]:
    """The object of one run."""
    figures = run.figures(scores)
    return {
        "run": run.run,
        "name": run.name,
        "model": run.model,
        "profile": run.profile(scores),
        "overall": pick(figures.get("overall") or {}, OVERALL),
        "categories": {
            name: pick(values, CATEGORY) for name, values in (figures.get("categories") or {}).items()
        },
        "funnel": figures.get("funnel"),
        "abstention_table": figures.get("abstention_table"),
        "abstention_rates": figures.get("abstention_rates"),
    }


def pick(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Some keys of a mapping; counts that are missing are 0, means that are missing are `None`."""
    return {key: values.get(key, 0 if key in ("n", "errors") else None) for key in keys}
