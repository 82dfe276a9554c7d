"""`fathoms metrics`: list the metrics and the sets of metrics."""

from __future__ import annotations

import inspect
from typing import Any

from fathoms.cli import console
from fathoms.cli.options import Json


def metrics(as_json: Json = False) -> int:
    """List the metrics: name, what each needs, which direction is better, and its source.

    A configuration names them under `metrics:`, and `fathoms score RUN --metric NAME` computes one for any
    run.
    """
    from fathoms.compare.question_scores import OF_SWEEPS
    from fathoms.metrics.registry import metric_kinds, sets

    listed: list[dict[str, Any]] = [
        {
            "name": name,
            "needs": list(metric.needs),
            "direction": metric.direction,
            "unit": metric.unit,
            "headline": metric.headline,
            "source": metric.source,
            "description": inspect.cleandoc(metric.__doc__ or "").split("\n\n")[0].replace("\n", " "),
        }
        for name, metric in metric_kinds().items()
    ]
    if as_json:
        members = {name: list(found) for name, found in sets().items()}
        console.show_json({"metrics": listed, "sets": members, "of_several_runs": list(OF_SWEEPS)})
        return 0
    rows = [(one["name"], ", ".join(one["needs"]), one["direction"], one["source"]) for one in listed]
    console.show_table(("metric", "needs", "better", "source"), rows)
    for name, found in sets().items():
        console.say(f"set {name}: {', '.join(found)}")
    console.say("retrieval metrics are named LEVEL-KIND@K, such as hit@5, document-recall@10, r-precision")
    several = "; ".join(f"{name} ({option})" for name, option in OF_SWEEPS.items())
    console.say(f"for gate and compare, of several runs of one command: {several}")
    return 0
