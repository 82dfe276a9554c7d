"""A scored run as flat tables: one row for each answer, each hit and each judged claim."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fathoms.extras.exchange.writing.columns import ANSWERS, CLAIMS, HITS, Column, metric_columns
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.runs.run import Run
from fathoms.types import Question, Reply
from fathoms.types.run.figures import MetricFigures
from fathoms.types.run.rows import ComparedClaims, ScoredQuestion, ScoredRepeat
from fathoms.types.run.summary import JudgingCost

Row = tuple[Any, ...]
_IN_COLUMNS = frozenset(
    {"correctness", "hallucination", "abstention", "latency", "prompt-tokens", "completion-tokens", "cost"}
)
"""Metrics that have a column of another name, or the same figure in one."""


@dataclass(frozen=True)
class Table:
    """A table: its name, its columns, and the rows that one question gives, with one value per column."""

    name: str
    columns: tuple[Column, ...]
    rows: Callable[[ScoredQuestion], Iterator[Row]]


def tables_of(run: Run, scores: str | None = None) -> tuple[Table, ...]:
    """Return the tables `answers`, `hits` and `claims` of a run under one profile.

    Raises as `Run.profile` does.
    """
    profile = run.profile(scores)
    found = _of_answers(run.metrics(profile))
    metrics = metric_columns(list(found), [one.unit for one in found.values()])
    names = [name for name, _ in metrics]
    head = (run.original_id, run.name, run.summary.model, profile)
    return (
        Table(
            "answers",
            (*ANSWERS, *(column for _, column in metrics)),
            lambda view: (_answer(head, view.question, one, names) for one in view.repeats),
        ),
        Table("hits", HITS, lambda view: _hits(run.original_id, view)),
        Table("claims", CLAIMS, lambda view: _claims(run.original_id, view)),
    )


def _of_answers(metrics: dict[str, MetricFigures]) -> dict[str, MetricFigures]:
    """Leave out the metrics that have columns already, and those that only a whole run has."""
    run_only = ("coverage", "selective-accuracy")
    return {name: found for name, found in metrics.items() if name not in {*_IN_COLUMNS, *run_only}}


def _answer(head: Row, question: Question, repeat: ScoredRepeat, metrics: Sequence[str]) -> Row:
    """Return the row of one answer, in the order of `ANSWERS`."""
    profile = head[-1]
    scores, answer, error = repeat.under(profile), repeat.answer or Reply(text=""), repeat.error
    usage = answer.usage
    return (
        *head,
        question.id,
        question.category,
        repeat.repeat,
        question.answerable,
        scores.correctness,
        scores.hallucination,
        scores.abstained,
        error and error.kind,
        usage.prompt_tokens,
        usage.completion_tokens,
        answer.cost,
        answer.latency,
        question.text,
        question.reference,
        _json(question.model_dump(mode="json")["answers"]),
        _json(question.files),
        _json(question.metadata),
        repeat.answer and answer.text,
        answer.refusal,
        answer.stop_reason,
        error and error.message,
        repeat.attempts,
        None if repeat.answer is None else answer.cached,
        answer.first_token,
        usage.cached_tokens,
        usage.reasoning_tokens,
        *(repeat.timings.get(stage) for stage in ("retrieve", "rerank", "prompt", "generate")),
        len(repeat.calls),
        _sum([call.cost for call in repeat.calls if not call.cached]),
        *_judging(repeat.claims),
        repeat.finished,
        *(repeat.value(metric, profile) for metric in metrics),
    )


def _judging(claims: ComparedClaims | None) -> Row:
    """Return what judging one answer took."""
    if claims is None:
        return (None,) * 5
    found = claims.get("judging", JudgingCost())
    return found.verdicts, found.prompt_tokens, found.completion_tokens, found.cost, found.seconds


def _hits(run: str, view: ScoredQuestion) -> Iterator[Row]:
    """Yield the rows of the hits of one question."""
    gold = gold_of(view.question).pages
    for repeat in view.repeats:
        for hit in repeat.hits or ():
            yield (
                run,
                view.question.id,
                repeat.repeat,
                hit.rank,
                hit.score,
                hit.document,
                hit.pages[0] if hit.pages else None,
                _json(hit.pages),
                hit.modality or "text",
                any((hit.document, page) in gold for page in hit.pages) if gold and hit.document else None,
                hit.text,
            )


def _claims(run: str, view: ScoredQuestion) -> Iterator[Row]:
    """Yield the rows of the judged claims of one question."""
    for repeat in view.repeats:
        for compared in repeat.claims.get("compared", []) if repeat.claims else ():
            for one in compared["claims"]:
                place = (run, view.question.id, repeat.repeat, compared["of"], compared["by"])
                verdict = (one["claim"], one["label"], one.get("p"), one.get("premise"))
                yield *place, *verdict, one.get("premises", 0), *map(one.get, ("sentence", "quote", "why"))


def _sum(values: Sequence[float | None]) -> float | None:
    """Add up values; `None` if there are none, or one is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _json(value: Any) -> str | None:
    """Write a value as JSON; nothing for an empty one."""
    return json.dumps(value, ensure_ascii=False) if value else None
