"""What each question of a run scored: what comparisons and gates are made of.

Read from the question files of a scored run, or from a baseline file that keeps the scores alone. A question
without a gold answer has no correctness, and one whose call failed has correctness 0 and no hallucination.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field

from fathoms.config import fingerprint, misread, suggest
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.paths import write_atomic
from fathoms.runs.store import Run, require_all
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Noun

SCHEMA = 1
HIGHER_IS_BETTER = {"correctness": True, "hallucination": False}
_GOLD = ("text", "category", "answers", "answerable")
_RULES = {"correctness": ("match", "hyphens"), "hallucination": ("match", "hyphens", "classifier_key")}
_HEAD = ("match", "hyphens", "classifier", "classifier_key")


class QuestionScore(Noun):
    """One question: by metric one value a repeat, as far as it applies. `gold` is a fingerprint of its
    text, category and answers."""

    category: str
    gold: str
    values: dict[str, tuple[float, ...]]

    def mean(self, metric: str) -> float | None:
        """The mean over the repeats, `None` where the metric does not apply."""
        values = self.values.get(metric)
        return fmean(values) if values else None


class QuestionScores(Noun):
    """The questions of one run by id, or of several runs pooled as repeats.

    `runs` are their ids, oldest first; `rules` say how `profile` judged; `answers` counts what was asked,
    repeats and all, `failed` what got no answer, `cached` what an earlier run had said.
    """

    runs: tuple[str, ...]
    profile: str
    rules: dict[str, Any]
    questions: dict[str, QuestionScore]
    answers: int = Field(ge=0)
    failed: int = Field(ge=0)
    cached: int = Field(default=0, ge=0)

    def rules_of(self, metric: str) -> dict[str, Any]:
        """What of the rules a metric depends on. A classifier is known by its key: the same options may
        stand for other exemplars, and the same exemplars in another place."""
        return {key: self.rules.get(key) for key in _RULES[metric]}

    @property
    def judge(self) -> str:
        """What told abstentions from statements."""
        classifier = self.rules.get("classifier")
        return str(classifier["kind"]) if classifier else "released flags"


def check_metrics(metrics: Iterable[str]) -> None:
    """Raise UsageError for a metric that there is not."""
    for metric in metrics:
        if metric not in HIGHER_IS_BETTER:
            raise UsageError(f"no metric '{metric}'{suggest(metric, HIGHER_IS_BETTER)}")


def read_scores(run: Run, profile: str | None = None) -> QuestionScores:
    """The scores of a run under `profile`, or under its headline profile.

    Raises DataError where the run has no such scores, and StoreError where it is damaged.
    """
    summary = run.summary() or {}
    profiles = summary.get("profiles") or {}
    wanted = str(profile or summary.get("profile"))
    if wanted not in profiles:
        if not profiles:
            raise DataError(f"{run.id} has no scores: run 'fathoms score {run.id}'")
        raise DataError(
            f"{run.id} has no scores '{wanted}' (there are: {', '.join(profiles)}):"
            f" run 'fathoms score {run.id} --profile {wanted}'"
        )
    order = {name: number for number, name in enumerate(summary.get("categories") or ())}
    views = sorted(run.views(), key=lambda view: order.get(view["question"]["category"], len(order)))
    repeats = [repeat for view in views for repeat in view["repeats"]]
    require_all(run.path, summary, len(repeats))
    return QuestionScores(
        runs=(run.id,),
        profile=wanted,
        rules={key: profiles[wanted].get(key) for key in _HEAD},
        questions={view["question"]["id"]: _question(run, view, wanted) for view in views},
        answers=len(repeats),
        failed=sum(repeat["error"] is not None for repeat in repeats),
        cached=sum(bool((repeat["answer"] or {}).get("cached")) for repeat in repeats),
    )


def _question(run: Run, view: Mapping[str, Any], profile: str) -> QuestionScore:
    """One question file."""
    question = view["question"]
    found = [(repeat.get("scores") or {}).get(profile) for repeat in view["repeats"]]
    scores = [row for row in found if row is not None]
    if len(scores) < len(found):
        raise DataError(f"{run.id}: question '{question['id']}' is not scored: run 'fathoms score {run.id}'")
    return QuestionScore(
        category=question["category"],
        gold=fingerprint([question.get(key) for key in _GOLD]),
        values={
            metric: tuple(float(row[metric]) for row in scores if row.get(metric) is not None)
            for metric in HIGHER_IS_BETTER
        },
    )


def pool(parts: Sequence[QuestionScores]) -> QuestionScores:
    """Several runs as repeats of one; raises DataError where they did not ask and judge the same."""
    first = parts[0]
    for other in parts[1:]:
        require_alike(first, other, HIGHER_IS_BETTER)
    return QuestionScores(
        runs=tuple(run for part in parts for run in part.runs),
        profile=first.profile,
        rules=first.rules,
        questions={
            name: question.model_copy(
                update={
                    "values": {
                        metric: tuple(
                            value for part in parts for value in part.questions[name].values.get(metric, ())
                        )
                        for metric in HIGHER_IS_BETTER
                    }
                }
            )
            for name, question in first.questions.items()
        },
        answers=sum(part.answers for part in parts),
        failed=sum(part.failed for part in parts),
        cached=sum(part.cached for part in parts),
    )


def require_alike(first: QuestionScores, other: QuestionScores, metrics: Iterable[str]) -> None:
    """Raise DataError unless both asked the same questions, with the same gold, under the same rules."""
    require_rules(first, other, metrics)
    differing = [
        name
        for name in {**first.questions, **other.questions}
        if name not in first.questions
        or name not in other.questions
        or first.questions[name].gold != other.questions[name].gold
    ]
    if differing:
        some = ", ".join(differing[:5]) + (" ..." if len(differing) > 5 else "")
        raise DataError(f"{names(first)} and {names(other)} did not ask the same questions: {some}")


def require_rules(first: QuestionScores, other: QuestionScores, metrics: Iterable[str]) -> None:
    """Raise DataError unless both were judged under the same profile and rules."""
    if first.profile != other.profile:
        raise DataError(
            f"{names(first)} is judged under the profile '{first.profile}', {names(other)} under"
            f" '{other.profile}': name one with --profile"
        )
    for metric in metrics:
        for scores in (first, other) if metric == "hallucination" else ():
            _require_key(scores)
        if first.rules_of(metric) != other.rules_of(metric):
            raise DataError(
                f"{metric} of {names(first)} and of {names(other)} was judged by different rules: score both"
                " again with 'fathoms score'"
            )


def _require_key(scores: QuestionScores) -> None:
    """Scores of before keys were kept do not say by what they were judged."""
    if scores.rules.get("classifier") and not scores.rules.get("classifier_key"):
        raise DataError(
            f"{names(scores)} does not say which exemplars and cues judged its abstentions: score it again"
            " with 'fathoms score', and save a baseline again"
        )


def names(scores: QuestionScores) -> str:
    """The runs, short enough for a sentence."""
    return scores.runs[0] + (f" and {len(scores.runs) - 1} more" if len(scores.runs) > 1 else "")


@dataclass(frozen=True)
class Matched:
    """The values of one metric where both sides have one, question by question, and `left_out`, those where
    only one or neither has."""

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    left_out: tuple[str, ...]


def match(first: QuestionScores, second: QuestionScores, metric: str, shared: Iterable[str]) -> Matched:
    """Pair the means over repeats of the questions `shared`."""
    rows, left_out = [], []
    for name in shared:
        pair = (first.questions[name].mean(metric), second.questions[name].mean(metric))
        if pair[0] is None or pair[1] is None:
            left_out.append(name)
        else:
            rows.append((name, first.questions[name].category, pair[0], pair[1]))
    if not rows:
        raise DataError(f"no question has {metric} in both {names(first)} and {names(second)}")
    ids, categories, ours, theirs = zip(*rows, strict=True)
    return Matched(ids, categories, ours, theirs, tuple(left_out))


def write_baseline(scores: QuestionScores, path: Path) -> None:
    """Keep the scores in a file of their own; raises StoreError."""
    data = {"schema": SCHEMA, "kind": "baseline", **scores.model_dump(mode="json")}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    try:
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def read_baseline(path: Path) -> QuestionScores:
    """Scores that `write_baseline` kept; raises DataError for any other file."""
    data = parse_json(read_text(path), str(path))
    schema = data.get("schema") if isinstance(data, dict) and data.get("kind") == "baseline" else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(f"{path} was written by a newer fathoms (schema {schema})")
    try:
        if schema is None:
            raise ValueError("no baseline")
        scores = QuestionScores.model_validate(data)
        if any(True for _ in misread(scores, data)):
            raise ValueError("a value of another type")
    except ValueError as error:
        raise DataError(
            f"{path} is no baseline: 'fathoms gate RUN --save-baseline FILE' makes one"
        ) from error
    return scores
