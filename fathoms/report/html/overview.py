"""Builds the overview that the page loads first: the scores and facts of every run, without its questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fathoms.metrics.stages import STAGES
from fathoms.report.funnel import funnel_of, notes
from fathoms.report.html.claims import cost_of, spent
from fathoms.report.html.reading import Sums, known_mean, rounded, spread
from fathoms.report.length import length_sentence
from fathoms.report.metrics_table import MAIN, is_shown, page_metrics
from fathoms.report.modalities import modality_hits
from fathoms.report.stage_times import ingest_lines
from fathoms.runs.run import Run
from fathoms.runs.search_notes import search_notes
from fathoms.safety.masking import HIDDEN, is_secret_name, without_logins
from fathoms.text.amounts import SHARE, UNKNOWN, bracket, duration, figure, measured
from fathoms.types.run.figures import (
    FunnelStages,
    JudgeCheck,
    MeanScores,
    MetricFigure,
    MetricFigures,
    ProfileFigures,
    range_of,
)
from fathoms.types.run.part import Number
from fathoms.types.run.summary import Summary

Json = dict[str, Any]
COUNTS = ("errors", "refused", "cut_prompts", "cut_by_server", "cached")
WARNINGS = 20


def overview_run(key: int, label: str, run: Run, profile: str, sums: Sums) -> Json:
    """Return one run of the overview; values that are not known are `None`."""
    figures, summary, counts = run.figures(profile), run.summary, run.summary.counts
    each = known_mean(sums.costs)
    return {
        "key": key,
        "id": run.original_id,
        "name": run.name,
        "label": label,
        "model": run.summary.model,
        "pipeline": run.pipeline,
        "profile": profile,
        "data": summary.data,
        "complete": summary.complete,
        "incomplete": [] if summary.complete else list(summary.incomplete),
        "warnings": some(list(_warnings(run))),
        "questions": counts.questions,
        "asked": counts.asked,
        "repeats": summary.repeats,
        "retrieval_only": run.summary.retrieval_only,
        "metrics": {
            **({} if run.summary.retrieval_only else {metric: metric_of(figures, metric) for metric in MAIN}),
            **{
                name: further_of(found) | {"shown": is_shown(run, name, found)}
                for name, found in page_metrics(run, profile).items()
            },
        },
        "counts": {name: getattr(counts, name) for name in COUNTS},
        "classifier": figures.classifier.get("kind") if isinstance(figures.classifier, dict) else None,
        "funnel": funnel_figures(run, profile),
        "curves": curves_of(run),
        "modalities": modalities_of(run),
        "lengths": lengths_of(run),
        "cost": {
            "total": cost_of(summary.cost if sums.costs else None),
            "per_question": {"value": rounded(each), "text": cost_of(each)},
        },
        "tokens": {
            "prompt": summary.usage.prompt_tokens,
            "completion": summary.usage.completion_tokens,
        },
        "seconds": seconds_of(summary, sums) | {"documents": list(ingest_lines([run]))},
        "errors": [  # the most frequent first
            {"kind": kind, "n": count, "example": example}
            for kind, (count, example) in sorted(sums.errors.items(), key=lambda item: -item[1][0])
        ],
        "config": flat(run.manifest.config),
        "started": run.manifest.created,
        "documents": documents_of(run),
    }


def judging_of(run: Run) -> Json | None:
    """Return the judge of a run, its check against people, how well its claims were split, and what judging
    took; `None` without a judge."""
    found = run.summary.judging
    if found is None:
        return None
    total = found.kept and spent(found.kept)
    splitting = found.claims and found.claims.sentence
    checked = f"on claims: {(found.checked or JudgeCheck()).sentence}"
    facts = {"judge": found.judge, "checked": checked, "splitting": splitting}
    return {**facts, "failed": found.failed, "kept": total}


_GROUP = ("value", "low", "high", "shortest", "longest", "n")


def lengths_of(run: Run) -> Json:
    """Return, for each kind of support that is known, the groups of answers by length with their mean
    support, and a sentence on how the two go together."""
    return {
        name: {
            "groups": [
                {key: getattr(group, key) for key in _GROUP} | printed(group.value, group.low, group.high)
                for group in found.groups
            ],
            "says": length_sentence(found),
        }
        for name, found in run.summary.length_against_support.items()
        if found.groups
    }


def figure_of(
    mean: Number | None, bounds: tuple[Number, Number] | None, n: int | None, unit: str = SHARE
) -> Json:
    """Return a mean with its interval and the number of values behind it, and how both are printed."""
    low, high = bounds or (None, None)
    return {"mean": mean, "low": low, "high": high, "n": n or 0, **printed(mean, low, high, unit)}


def printed(
    value: Number | None, low: Number | None = None, high: Number | None = None, unit: str = SHARE
) -> Json:
    """Return a figure and its interval as texts, which the page shows as they are."""
    bounds = None if low is None or high is None else (low, high)
    return {"text": measured(value, unit), "range": bracket(bounds, unit).strip()}


def metric_of(figures: ProfileFigures, metric: str) -> Json:
    """Return a metric overall, as the mean over questions (micro), and by category."""

    def of(means: MeanScores) -> Json:
        return figure_of(means.mean(metric), means.bounds(metric), means.count(metric))

    return {
        "overall": of(figures.overall),
        "micro": of(figures.overall.micro),
        "categories": {name: of(means) for name, means in figures.categories.items()},
    }


def further_of(figures: MetricFigures) -> Json:
    """Return a metric outside the leaderboard like `metric_of`, with its unit, the range of its values
    (`None` without bounds), whether a question has a value of its own, and the better direction."""

    def of(found: MetricFigure) -> Json:
        return figure_of(found.value, found.bounds, found.n, figures.unit)

    return {
        "unit": figures.unit,
        "range": range_of(figures.unit),
        "by_question": figures.pooling not in ("counts", "f1", "mean-of-ratios"),
        "direction": figures.direction,
        "overall": of(figures.overall),
        "categories": {name: of(found) for name, found in figures.categories.items()},
    }


def funnel_figures(run: Run, profile: str) -> Json | None:
    """Return the funnel of a run, stage by stage; `None` if only its answers are known."""
    funnel = funnel_of(run, profile)
    if not funnel:
        return None
    known = [stage for stage in STAGES if funnel.overall.at(stage).n]
    return {
        "stages": known,
        "notes": list(notes(funnel, run)),
        "estimated": bool(funnel.estimate),
        "overall": _stages(funnel.overall, known),
        "categories": {name: _stages(stages, known) for name, stages in funnel.categories.items()},
    }


def _stages(stages: FunnelStages, known: Sequence[str]) -> Json:
    """Return what is known of each stage, as one mapping per quantity."""
    keys = {"recall": "recall", "loss": "lost", "gain": "gained", "n": "n", "compared": "compared"}
    figures: Json = {
        ours: {stage: getattr(stages.at(stage), theirs) for stage in known} for ours, theirs in keys.items()
    }
    shown = {
        name: {stage: figure(value) for stage, value in figures[name].items()}
        for name in ("recall", "loss", "gain")
    }
    return figures | {"text": shown}


def curves_of(run: Run) -> Json | None:
    """Return the curves of recall over ranks and over tokens; `None` if the run has none."""
    found = run.summary.retrieval.curves
    if found is None:
        return None
    return {
        **found.model_dump(include={"level", "estimated"}),
        "characters_per_token": f"{found.characters_per_token or 0:.3g}",
        **{
            name: [
                point.model_dump(exclude_none=True) | printed(point.value, point.low, point.high)
                for point in points
            ]
            for name, points in (("by_rank", found.by_rank), ("by_tokens", found.by_tokens or ()))
        },
    }


def modalities_of(run: Run) -> Json:
    """Return, for each modality of the gold, the figures of hit@k by `k`; empty if no modality is stated."""
    return {
        name: [{"k": k, **figure_of(found.value, found.bounds, found.n)} for k, found in by_k.items()]
        for name, by_k in modality_hits(run).items()
    }


def seconds_of(summary: Summary, sums: Sums) -> Json:
    """Return the times of the whole run, of a question, and of each stage, in seconds."""
    whole = _times(sums.whole)
    known = summary.seconds.by_stage
    stages = [
        {"name": name, **(_times(values) or {}), "range": _range(known.get(name))}
        for name, values in sums.seconds.items()
    ]
    return {
        "total": measured(summary.seconds.wall, "seconds"),
        "per_question": {"value": whole and whole["mean"], "text": whole["text"] if whole else UNKNOWN},
        "whole": whole,
        "stages": stages,
        "first_token": _times(sums.first_token),
    }


def _range(found: MetricFigure | None) -> str:
    """Return the interval of a stage's mean as text; empty if it has none."""
    return bracket(found.bounds if found else None, "seconds").strip()


def _times(values: Sequence[float]) -> Json | None:
    """Return what `spread` does, with the mean also as text and the percentiles only so."""
    found = spread(values)
    texts = found and {name: duration(found[name]) for name in ("mean", "p50", "p95")}
    return found and texts and {**found, **texts, "mean": found["mean"], "text": texts["mean"]}


def documents_of(run: Run) -> Json:
    """Return how many documents were read (`None` if not known), and which could not be read."""
    number = run.manifest.ingest.documents
    if number is None:
        number = run.manifest.data.document_count or None
    failed = [{"document": name, "why": why} for name, why in run.manifest.ingest.failures.items()]
    return {"n": number, "failed": failed}


def _warnings(run: Run) -> Iterator[str]:
    """Yield the warnings that a reader of the scores should know."""
    if cut := run.summary.counts.cut_by_server:
        subject = "1 prompt was" if cut == 1 else f"{cut} prompts were"
        yield f"{subject} cut by the server: raise generate.n_ctx or retrieve less"
    yield from run.summary.service.warnings
    yield from search_notes(run.manifest)
    yield from run.manifest.data.warnings
    for document, said in run.manifest.ingest.warnings.items():
        yield from (f"{document}: {warning}" for warning in said)


def some(sentences: list[str]) -> list[str]:
    """Return the first `WARNINGS` sentences, and one that counts the others."""
    more = len(sentences) - WARNINGS
    return sentences if more <= 0 else [*sentences[:WARNINGS], f"and {more} more: manifest.json has them"]


def flat(config: Any) -> list[list[str]]:
    """Return dotted keys with their values, in the order of the file.

    Values of keys that name a secret are masked, and so are logins and secrets in URLs. Keys such as
    `api_key_env` are shown, as they hold the name of an environment variable.
    """
    return [[key, value] for key, value in _lines("", config) if key]


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the lines of one value."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            name = f"{prefix}.{key}" if prefix else str(key)
            if child and is_secret_name(str(key)) and not isinstance(child, int | float):  # not max_tokens
                yield name, HIDDEN
            else:
                yield from _lines(name, child)
    elif isinstance(value, list) and any(isinstance(child, dict | list) for child in value):
        for number, child in enumerate(value):
            yield from _lines(f"{prefix}.{number}", child)
    else:
        yield prefix, _text(value)


def _text(value: Any) -> str:
    """Format a value roughly as in YAML."""
    if isinstance(value, list):
        return ", ".join(map(_text, value)) if value else "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return without_logins(str(value)) if value != {} else "none"
