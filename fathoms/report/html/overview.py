"""Builds the overview that the page loads first: the scores and facts of every run, without its questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathoms.metrics.intervals import rate_interval
from fathoms.metrics.stages import STAGES
from fathoms.report.funnel import funnel_of, notes
from fathoms.report.html.config import flat
from fathoms.report.html.reading import Sums, known_mean, rounded, spread
from fathoms.report.outcomes import OUTCOMES, RATES
from fathoms.report.view import RunView

Json = dict[str, Any]
METRICS = ("correctness", "hallucination")
COUNTS = ("errors", "refused", "cut_prompts", "cut_by_server", "cached")
WARNINGS = 20


def overview_run(key: int, label: str, run: RunView, profile: str, sums: Sums) -> Json:
    """Return one run of the overview; values that are not known are `None`."""
    figures, summary, manifest = run.figures(profile), run.summary, run.manifest
    counts = summary.get("counts") or {}
    return {
        "key": key,
        "id": run.run,
        "name": run.name,
        "label": label,
        "model": run.model,
        "pipeline": run.pipeline,
        "profile": profile,
        "data": summary.get("data"),
        "complete": bool(summary.get("complete")),
        "incomplete": [] if summary.get("complete") else list(summary.get("incomplete") or ()),
        "warnings": some(list(_warnings(run))),
        "questions": counts.get("questions"),
        "asked": counts.get("asked"),
        "repeats": summary.get("repeats") or 1,
        "metrics": {metric: metric_of(figures, metric) for metric in METRICS},
        "counts": {name: counts.get(name) for name in COUNTS},
        "abstention": abstention_of(figures, summary.get("repeats") or 1),
        "funnel": funnel_figures(run, profile),
        "cost": {
            "total": summary.get("cost") if sums.costs else None,
            "per_question": rounded(known_mean(sums.costs)),
        },
        "tokens": {
            name: (summary.get("usage") or {}).get(f"{name}_tokens") for name in ("prompt", "completion")
        },
        "seconds": seconds_of(summary, sums),
        "errors": errors_of(sums),
        "config": flat(manifest.get("config") or {}),
        "started": manifest.get("created"),
        "documents": documents_of(run),
    }


def figure_of(values: Mapping[str, Any], metric: str, count: str) -> Json:
    """Return a mean with its interval and the number of values behind it."""
    interval = (values.get("intervals") or {}).get(metric) or {}
    return {
        "mean": values.get(metric),  # not rounded here, so that it prints as in the other reports
        "low": interval.get("low"),
        "high": interval.get("high"),
        "n": values.get(count) or 0,
    }


def metric_of(figures: Mapping[str, Any], metric: str) -> Json:
    """Return a metric overall, as the mean over questions (micro), and by category."""
    count = "hallucination_n" if metric == "hallucination" else "n"
    categories = figures.get("categories") or {}
    return {
        "overall": figure_of(figures.get("overall") or {}, metric, count),
        "micro": figure_of(_micro(figures.get("overall") or {}), metric, count),
        "categories": {name: figure_of(values, metric, count) for name, values in categories.items()},
    }


def _micro(overall: Mapping[str, Any]) -> Json:
    """Return the means over all questions under the keys of the overall means."""
    intervals = overall.get("intervals") or {}
    return {
        **{key: overall.get(key) for key in ("n", "hallucination_n")},
        **{metric: overall.get(f"micro_{metric}") for metric in METRICS},
        "intervals": {metric: intervals.get(f"micro_{metric}") for metric in METRICS},
    }


def abstention_of(figures: Mapping[str, Any], repeats: int) -> Json | None:
    """Return the 2 x 2 abstention table with the share of each cell in its line; `None` if it is not
    known."""
    table, rates = figures.get("abstention_table"), figures.get("abstention_rates") or {}
    if not table:
        return None
    classifier = figures.get("classifier")
    return {
        "classifier": classifier.get("kind") if isinstance(classifier, Mapping) else None,
        **{line: _line(table.get(line) or {}, repeats) for line in ("answerable", "unanswerable")},
        **{name: figure_of(rates, name, f"{name}_n") for name in RATES},
    }


def _line(counts: Mapping[str, int], repeats: int) -> Json:
    """Return a line of the abstention table.

    Repeats of one question are not independent, so the intervals use the number of questions, not of answers.
    """
    cells = {name: counts.get(name) or 0 for name in OUTCOMES}
    answers = sum(cells.values())
    # -(-a // b) rounds up
    shares = {name: _share(count, answers, -(-answers // repeats)) for name, count in cells.items()}
    return {**cells, "share": shares}


def _share(count: int, answers: int, questions: int) -> Json | None:
    """Return a share with Wilson's interval, `None` if there are no answers."""
    if not answers:
        return None
    interval = rate_interval(count / answers, questions, answers)
    return figure_of({"share": count / answers, "intervals": {"share": interval}, "n": answers}, "share", "n")


def funnel_figures(run: RunView, profile: str) -> Json | None:
    """Return the funnel of a run, stage by stage; `None` if only its answers are known."""
    funnel = funnel_of(run, profile)
    if not funnel:
        return None
    known = [stage for stage in STAGES if (funnel["overall"].get(stage) or {}).get("n")]
    categories = funnel.get("categories") or {}
    return {
        "stages": known,
        "notes": list(notes(funnel, run))[1:],  # the first note explains the terminal table
        "estimated": bool(funnel.get("estimate")),
        "overall": _stages(funnel["overall"], known),
        "categories": {name: _stages(stages, known) for name, stages in categories.items()},
    }


def _stages(stages: Mapping[str, Any], known: Sequence[str]) -> Json:
    """Return what is known of each stage, as one mapping per quantity."""
    keys = {"recall": "recall", "loss": "lost", "gain": "gained", "n": "n", "compared": "compared"}
    return {
        ours: {stage: (stages.get(stage) or {}).get(theirs) for stage in known}
        for ours, theirs in keys.items()
    }


def seconds_of(summary: Mapping[str, Any], sums: Sums) -> Json:
    """Return the times of the whole run, of a question, and of each stage, in seconds."""
    whole = spread(sums.whole)
    stages = [{"name": name, **(spread(values) or {})} for name, values in sums.seconds.items()]
    return {
        "total": rounded((summary.get("seconds") or {}).get("wall")),
        "per_question": whole["mean"] if whole else None,
        "whole": whole,
        "stages": stages,
        "first_token": spread(sums.first_token),
    }


def errors_of(sums: Sums) -> list[Json]:
    """Return the kinds of failure, the most frequent first."""
    kinds = sorted(sums.errors.items(), key=lambda item: -item[1][0])
    return [{"kind": kind, "n": count, "example": example} for kind, (count, example) in kinds]


def documents_of(run: RunView) -> Json:
    """Return how many documents were read (`None` if not known), and which could not be read."""
    failures = run.ingest.get("failures") or {}
    kept = (run.manifest.get("data") or {}).get("documents") or {}
    number = run.ingest.get("documents", len(kept) or None)
    return {"n": number, "failed": [{"document": name, "why": why} for name, why in failures.items()]}


def _warnings(run: RunView) -> Iterator[str]:
    """Yield the warnings that a reader of the scores should know."""
    if cut := (run.summary.get("counts") or {}).get("cut_by_server"):
        subject = "1 prompt was" if cut == 1 else f"{cut} prompts were"
        yield f"{subject} cut by the server: raise generate.n_ctx or retrieve less"
    yield from map(str, (run.manifest.get("data") or {}).get("warnings") or ())
    for document, said in (run.ingest.get("warnings") or {}).items():
        yield from (f"{document}: {warning}" for warning in said)


def some(sentences: list[str]) -> list[str]:
    """Return the first `WARNINGS` sentences, and one that counts the others."""
    more = len(sentences) - WARNINGS
    return sentences if more <= 0 else [*sentences[:WARNINGS], f"and {more} more: manifest.json has them"]
