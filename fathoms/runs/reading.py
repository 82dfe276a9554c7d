"""Reads a scored run as typed values, for reports, comparisons and the command line.

This is the only place that knows which keys older runs lack. A missing key and `null` are read alike: as the
default of the field, which is `None` where a value is not known or does not apply.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, ValidationError, model_validator

from fathoms.config import suggest
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.runs.folder import read_checked, read_part
from fathoms.runs.question_lines import file_names, places
from fathoms.runs.usage import known_cost
from fathoms.runs.views import (
    BriefQuestion,
    Json,
    JudgingCost,
    Number,
    ScoredQuestion,
    brief_question,
    misfit,
    read_views,
    scored_question,
    view_names,
)
from fathoms.types import Question, StoredValue, Usage
from fathoms.types.run.manifest import Ingest, Manifest

PROFILES = ("paper", "paper-by-words", "paper-configured", "released-code", "fathoms", "released")
"""The names under which a run can hold scores; `released` are scores that came with imported results."""


class _Part(StoredValue):
    """Base class of the parts of the manifest and the summary: `null` gives the default of a field."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {k: v for k, v in value.items() if v is not None} if isinstance(value, Mapping) else value


_Kind = TypeVar("_Kind", bound=StoredValue)


class Bounds(_Part):
    """A confidence interval; `n` is the number of questions behind it. Intervals of macro means also have the
    number of `groups` of questions that share no document, and a `clustered` interval that also covers other
    documents, or in `not_clustered` why there is none."""

    low: Number
    high: Number
    method: str | None = None
    n: int | None = None
    groups: int | None = None
    clustered: Bounds | None = None
    not_clustered: str | None = None

    @property
    def pair(self) -> tuple[Number, Number]:
        """The lower and the upper bound."""
        return self.low, self.high


class Rate(_Part):
    """A rate with the number of questions in its denominator."""

    value: Number | None = None
    n: int = 0


class HallucinationRates(_Part):
    """The hallucination rate over all questions, over the answerable and over the unanswerable ones."""

    all: Rate = Rate()
    answerable: Rate = Rate()
    unanswerable: Rate = Rate()


class Means(_Part):
    """The mean scores over some questions; see `metrics.aggregate.summarise`.

    `n` is the number of questions behind `correctness`, and `hallucination_n` that behind `hallucination`.
    `errors` counts failed calls. `intervals` holds a 95 % interval by metric. `hallucination_over` is known
    under the profile `fathoms` only.
    """

    correctness: Number | None = None
    hallucination: Number | None = None
    abstention: Number | None = None
    n: int = 0
    hallucination_n: int = 0
    errors: int = 0
    intervals: dict[str, Bounds | None] = Field(default_factory=dict)
    hallucination_over: HallucinationRates | None = None

    def mean(self, metric: str) -> Number | None:
        """Return the mean of a metric."""
        found: Number | None = getattr(self, metric)
        return found

    def count(self, metric: str) -> int:
        """Return the number of questions behind a metric."""
        return self.hallucination_n if metric == "hallucination" else self.n

    def bounds(self, metric: str) -> tuple[Number, Number] | None:
        """Return the interval of a metric, `None` if it is not known."""
        found = self.intervals.get(metric)
        return found.pair if found else None


class Overall(Means):
    """The mean scores of a run: over its categories (macro) and, as `micro_...`, over its questions."""

    micro_correctness: Number | None = None
    micro_hallucination: Number | None = None
    micro_abstention: Number | None = None

    @property
    def micro(self) -> Means:
        """The means over all questions, each weighted equally, with their intervals."""
        return Means(
            correctness=self.micro_correctness,
            hallucination=self.micro_hallucination,
            abstention=self.micro_abstention,
            n=self.n,
            hallucination_n=self.hallucination_n,
            errors=self.errors,
            intervals={
                name.removeprefix("micro_"): bounds
                for name, bounds in self.intervals.items()
                if name.startswith("micro_")
            },
        )


class MetricFigure(_Part):
    """The value of a metric over some questions with its interval and the number `n` of questions."""

    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    method: str | None = None
    n: int = 0

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class JudgedItems(_Part):
    """How many items a metric had judged, how many have no verdict, and the mean of the questions if all of
    those were wrong (`lowest`) or right (`highest`)."""

    items: int = 0
    unjudged: int = 0
    lowest: Number | None = None
    highest: Number | None = None

    @property
    def share(self) -> float:
        """The share of items without a verdict."""
        return self.unjudged / self.items if self.items else 0.0


class PoweredMean(_Part):
    """A prediction-powered mean with its interval; `weight` is the lambda of PPI++."""

    value: Number
    low: Number
    high: Number
    weight: Number = 0.0
    labels: int = 0
    unlabelled: int = 0


class CorrectedRate(_Part):
    """A rate of `items` corrected for the errors of the judge (Rogan & Gladen 1978), and what it rests on."""

    value: Number
    low: Number
    high: Number
    items: str = "answers"
    sensitivity: Number = 0.0
    specificity: Number = 0.0
    positives: int = 0
    negatives: int = 0


class PeopleFigures(_Part):
    """What the labels of people make of a judged metric; see `metrics.people.ByPeople.figures`. `labels` of
    the `answers` with a value have one by people. Where a figure is missing, `why` and the others say why."""

    labels: int = 0
    answers: int = 0
    why: str | None = None
    overall: PoweredMean | None = None
    micro: PoweredMean | None = None
    corrected: CorrectedRate | None = None
    why_not_overall: str | None = None
    why_not_corrected: str | None = None

    @property
    def sentence(self) -> str:
        """Say what the mean would be if people had judged all answers, or why that is not known."""
        shown = self.overall or self.micro
        if shown is None:
            return self.why or "not known"
        over = "the mean" if self.overall else "the mean over all questions"
        text = (
            f"people have labelled answers to {shown.labels} of {shown.labels + shown.unlabelled} questions;"
            f" if they had labelled all, {over} would be {_bounded(shown)} (prediction-powered, PPI++, with"
            f" lambda {shown.weight:.2f} as the weight of the judge)"
        )
        if self.why_not_overall:
            text += f"; {self.why_not_overall}"
        if (rate := self.corrected) is None:
            return text
        return text + (
            f"; corrected for the errors of the judge, the rate over all questions is {_bounded(rate)}"
            f" (Rogan-Gladen, with sensitivity {rate.sensitivity:.2f} on {rate.positives} {rate.items} and"
            f" specificity {rate.specificity:.2f} on {rate.negatives})"
        )


def _bounded(found: PoweredMean | CorrectedRate) -> str:
    """Format a value with its interval."""
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


class JudgeCheck(_Part):
    """How well a judge agreed with people when it was last checked."""

    balanced_accuracy: Number | None = None
    low: Number | None = None
    high: Number | None = None
    n: int = 0
    labels: str | None = None

    @property
    def sentence(self) -> str:
        """Say how well the judge agrees with people."""
        if self.balanced_accuracy is None:
            return "never checked against people"
        return f"balanced accuracy {self.balanced_accuracy:.2f} against people (n = {self.n})"


class ClaimsFigures(_Part):
    """How texts were split into claims, and what is known of this way of splitting."""

    decomposer: str | None = None
    sentence: str = "how the claims were split is not known"


class JudgingFigures(_Part):
    """The judge of a run, what judging took at the last scoring, its check against people (`checked`, `None`
    if there was none), and how texts were split into claims, `None` if none were. `kept` is what all results
    took on which the figures rest. Of `unjudged` answers, a part has no verdict."""

    judge: str | None = None
    key: str | None = None
    checked: JudgeCheck | None = None
    claims: ClaimsFigures | None = None
    asked: int = 0
    found: int = 0
    failed: int = 0
    retried: int = 0
    retries: dict[str, int] = Field(default_factory=dict)
    unjudged: int = 0
    cost: Number | None = None
    total_cost: Number | None = None
    over_budget: bool = False
    verdicts: dict[str, int] = Field(default_factory=dict)
    kept: JudgingCost | None = None


def _retried(number: int | None, calls: int | None, what: str, causes: Mapping[str, int]) -> str:
    """Say how many calls were retried, with the causes; empty where none was."""
    listed = ", ".join(f"{cause} x {count}" for cause, count in causes.items())
    return f"{number} of {calls} {what} retried{listed and f': {listed}'}" if number else ""


_SCORE = re.compile(r"score (-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)")
_RANGES = {"share": (0.0, 1.0), "cosine": (-1.0, 1.0)}


def range_of(unit: str) -> tuple[float, float] | None:
    """Return the lowest and the highest value of a unit: 0 and 1 for `share`, -1 and 1 for `cosine`, those
    that it names for a unit such as `score -1 to 1`, and `None` for one without bounds, such as seconds."""
    if unit in _RANGES:
        return _RANGES[unit]
    found = _SCORE.fullmatch(unit)
    low, high = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    return (low, high) if low < high else None


class MetricFigures(_Part):
    """The figures of one metric: over the run (`overall`), over all questions (`micro`), and by category.

    `direction` says which values are better, and `pooling` how scores become one figure. `headline`
    metrics are shown in all tables, others if they were `asked` for. `judge` is the judge whose verdicts
    the metric rests on by `prompts`, `checked` says how well such verdicts agreed with people, and `splits`
    whether they are verdicts on claims. `people` is what the labels of people make of it, `rules` a
    fingerprint of what decides its values, and `missing` says what the run lacks if the metric applies to
    none of its records. Metrics of a `group` are shown in a table of their own; `parts` are the figures of
    parts, such as hops, and `counted` are counts that a reader of the figures must know. `cells` are those of
    a cross table, each with its `category`, a value by axis, and the number `n` of answers.
    """

    direction: str = "higher"
    unit: str = "share"
    pooling: str = "categories"
    headline: bool = False
    asked: bool = False
    profile: str | None = None
    judge: str | None = None
    checked: JudgeCheck = JudgeCheck()
    prompts: tuple[str, ...] = ()
    splits: bool = False
    rules: str | None = None
    missing: str | None = None
    judged: JudgedItems | None = None
    people: PeopleFigures | None = None
    group: str | None = None
    parts: dict[str, MetricFigure] = Field(default_factory=dict)
    counted: dict[str, int] = Field(default_factory=dict)
    cells: tuple[Json, ...] = ()
    overall: MetricFigure = MetricFigure()
    micro: MetricFigure = MetricFigure()
    categories: dict[str, MetricFigure] = Field(default_factory=dict)

    @property
    def judge_sentence(self) -> str | None:
        """The judge and its prompts, with their versions; `None` without a judge."""
        return f"{self.judge} (prompts {', '.join(self.prompts)})" if self.prompts else self.judge

    def cell(self, category: str) -> MetricFigure:
        """Return the figure of a category, unknown if the metric applies to none of its questions."""
        return self.categories.get(category, MetricFigure())


class AbstentionCounts(_Part):
    """How many questions were answered, and how many were abstained from."""

    answered: int = 0
    abstained: int = 0


class AbstentionTable(_Part):
    """The abstention counts of answerable and of unanswerable questions."""

    answerable: AbstentionCounts | None = None
    unanswerable: AbstentionCounts | None = None

    @property
    def lines(self) -> dict[str, AbstentionCounts]:
        """The lines of the table that are known, by name."""
        lines = {"answerable": self.answerable, "unanswerable": self.unanswerable}
        return {name: line for name, line in lines.items() if line is not None}


class AbstentionRates(_Part):
    """Coverage and selective accuracy, each with the number of answers in its denominator."""

    coverage: Number | None = None
    coverage_n: int | None = None
    selective_accuracy: Number | None = None
    selective_accuracy_n: int | None = None
    intervals: dict[str, Bounds | None] = Field(default_factory=dict)

    def bounds(self, rate: str) -> tuple[Number, Number] | None:
        """Return the interval of a rate, `None` if it is not known."""
        found = self.intervals.get(rate)
        return found.pair if found else None


class FunnelStage(_Part):
    """Mean phrase recall at a stage of the funnel over `n` questions, and what was lost and gained since the
    stage before over `compared` questions. The last two fields count the categories behind these means."""

    recall: Number | None = None
    n: int = 0
    lost: Number | None = None
    gained: Number | None = None
    compared: int = 0
    categories: int | None = None
    compared_categories: int | None = None


class FunnelStages(_Part):
    """The four stages of the funnel."""

    documents: FunnelStage = FunnelStage()
    retrieved: FunnelStage = FunnelStage()
    prompt: FunnelStage = FunnelStage()
    answer: FunnelStage = FunnelStage()

    def at(self, stage: str) -> FunnelStage:
        """Return a stage by its name."""
        found: FunnelStage = getattr(self, stage)
        return found


class RunFunnel(_Part):
    """The retrieval funnel of a run. `left_out` counts the questions left out by reason, and `estimate` is
    the parser of the documents' text where the pipeline read another text."""

    overall: FunnelStages = FunnelStages()
    categories: dict[str, FunnelStages] = Field(default_factory=dict)
    left_out: dict[str, int] = Field(default_factory=dict)
    chance: Number | None = None
    estimate: str | None = None


class ProfileFigures(_Part):
    """The figures of a run under one profile, with the rules behind them."""

    match: str | None = None
    hyphens: str | None = None
    set_aside: tuple[str, ...] | None = None
    classifier: Json | str | None = None
    classifier_key: str | None = None
    labels: dict[str, int] = Field(default_factory=dict)
    overall: Overall = Overall()
    categories: dict[str, Means] = Field(default_factory=dict)
    abstention_table: AbstentionTable = AbstentionTable()
    abstention_rates: AbstentionRates | None = None
    funnel: RunFunnel | None = None

    @property
    def judges_labels(self) -> bool:
        """Whether the judge of the run says which answers abstain."""
        return isinstance(self.classifier, dict) and self.classifier.get("kind") == "judge"


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


def _mean_figure(means: Means, metric: str) -> MetricFigure:
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


class Counts(_Part):
    """Counts of questions and answers; answers and errors count once per repeat. `searched` are questions
    that were only searched for. `same` are the answers that are one text although their questions have
    different gold answers, and `unended` those without a finish reason, `None` where it is not known.
    `retried` are those of the `calls` of models or services that took more than one request."""

    questions: int | None = None
    asked: int | None = None
    answered: int | None = None
    searched: int | None = None
    errors: int | None = None
    unanswered: int | None = None
    unanswerable: int | None = None
    cut_prompts: int | None = None
    refused: int | None = None
    cut_by_server: int | None = None
    cached: int | None = None
    reasoned: int | None = None
    empty: int | None = None
    markup: int | None = None
    same: int | None = None
    unended: int | None = None
    calls: int | None = None
    retried: int | None = None

    @property
    def rubbish(self) -> list[str]:
        """What more than half of the answers are that no pipeline means to answer: empty, a page of markup,
        or one text for all questions."""
        kinds = {
            f"{self.empty} empty": self.empty,
            f"{self.markup} pages of HTML": self.markup,
            f"{self.same} all the same": self.same,
        }
        return [what for what, count in kinds.items() if 2 * (count or 0) > (self.answered or 0)]

    @property
    def suspicions(self) -> list[str]:
        """What a reader of the scores must know about the replies, in sentences."""
        found = []
        if self.rubbish:
            found.append(
                f"of {self.answered} answers, {' and '.join(self.rubbish)}: look at them with 'fathoms show"
                " RUN' before you believe the scores"
            )
        if self.unended:
            are = "replies has" if self.unended == 1 else "replies have"
            found.append(
                f"{self.unended} of {self.answered} {are} no finish reason: the text may have been cut"
            )
        return found

    @property
    def done(self) -> int:
        """The number of records: answers, failures, and questions that were only searched for."""
        return (self.answered or 0) + (self.errors or 0) + (self.searched or 0)


class Seconds(_Part):
    """The wall time of a run, and the mean time of a question in each stage; `stages` has the figures with
    their intervals, and `total` for all stages together."""

    wall: Number | None = None
    retrieve: Number | None = None
    rerank: Number | None = None
    prompt: Number | None = None
    generate: Number | None = None
    stages: dict[str, MetricFigure] = Field(default_factory=dict)

    @property
    def by_stage(self) -> dict[str, MetricFigure]:
        """The figures of the stages; runs scored by earlier versions have only the means."""
        means = {name: getattr(self, name) for name in ("retrieve", "rerank", "prompt", "generate")}
        old = {name: MetricFigure(value=mean) for name, mean in means.items() if mean is not None}
        return self.stages or old


class ServiceFigures(_Part):
    """What the replies of an external pipeline say about it; see `runs.service`."""

    replies: int = 0
    unmatched: dict[str, int] = Field(default_factory=dict)
    unknown: dict[str, int] = Field(default_factory=dict)
    versions: dict[str, int] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class CurvePoint(_Part):
    """A point of a curve of recall: at rank `k`, or with so many `tokens` of retrieved text."""

    k: int | None = None
    tokens: int | None = None
    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    n: int = 0

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class RecallCurves(_Part):
    """Recall over ranks and over tokens; see `metrics.retrieval.curves`."""

    level: str = "page"
    by_rank: tuple[CurvePoint, ...] = ()
    by_tokens: tuple[CurvePoint, ...] = ()
    characters_per_token: Number | None = None
    estimated: bool = True


class SearchSeconds(_Part):
    """Mean seconds of the search for one question, with its interval over blocks of questions."""

    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    n: int = 0
    blocks: int = 0

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class RetrievalFigures(_Part):
    """Figures of the search of a run; `seconds` only of runs that only searched."""

    seconds: SearchSeconds = SearchSeconds()
    curves: RecallCurves | None = None


class Correlation(_Part):
    """A correlation coefficient with its interval."""

    value: Number | None = None
    low: Number | None = None
    high: Number | None = None


class LengthGroup(Correlation):
    """The mean support of a group of answers by length, with its interval and its number of questions;
    `shortest` and `longest` are words."""

    shortest: Number = 0
    longest: Number = 0
    n: int = 0


class LengthSupport(_Part):
    """How one kind of support goes with the length of answers; see `metrics.length_support`."""

    n: int = 0
    spearman: Correlation = Correlation()
    groups: tuple[LengthGroup, ...] = ()


class PurposeUsage(_Part):
    """What the calls for one purpose took: their number, tokens, and cost in US dollars. Tokens and cost are
    `None` where any is unknown."""

    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Number | None = None


class NewQuestions(_Part):
    """The question file that a run was scored by instead of its own questions; `corrected` have another gold
    answer in it, and `kept` are scored by that of the run. `written_ids` is as in `Data`."""

    file: str | None = None
    sha256: str | None = None
    corrected: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    written_ids: bool | None = None


class Summary(_Part):
    """The content of `summary.json`. `profile` is the headline profile, `cost` is in US dollars, and `errors`
    counts the failed calls by kind. `retrieval_only` says that nobody was asked for an answer. `questions`
    are `None` where the run is scored by its own."""

    name: str | None = None
    model: str | None = None
    data: str | None = None
    profile: str | None = None
    complete: bool = False
    incomplete: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    questions: NewQuestions | None = None
    counts: Counts = Counts()
    repeats: int = 1
    retrieval_only: bool = False
    retrieval: RetrievalFigures = RetrievalFigures()
    profiles: dict[str, ProfileFigures] = Field(default_factory=dict)
    metrics: dict[str, MetricFigures] = Field(default_factory=dict)
    judging: JudgingFigures | None = None
    length_against_support: dict[str, LengthSupport] = Field(default_factory=dict)
    usage: Usage = Usage()
    cost: Number | None = None
    retries: dict[str, int] = Field(default_factory=dict)
    usage_by_purpose: dict[str, PurposeUsage] = Field(default_factory=dict)
    seconds: Seconds = Seconds()
    errors: dict[str, int] = Field(default_factory=dict)
    service: ServiceFigures = ServiceFigures()

    @property
    def all_failed(self) -> bool:
        """Whether there is no answer because every call failed, so that no figure says anything."""
        return bool(self.counts.errors) and self.counts.done == self.counts.errors

    @property
    def known_cost(self) -> Number | None:
        """The cost, as far as it is known."""
        return known_cost(self.cost, self.counts.done, self.counts.errors)

    @property
    def retried(self) -> str:
        """How many calls were retried, with the causes, and how many of the last judging; empty where none
        was."""
        counts, judging = self.counts, self.judging or JudgingFigures()
        parts = [_retried(counts.retried, counts.calls, "calls", self.retries)]
        parts.append(_retried(judging.retried, judging.asked, "calls of the judge", judging.retries))
        return "; ".join(filter(None, parts))

    @property
    def headline(self) -> Means:
        """The means under the headline profile, all unknown if the run has no such scores."""
        figures = self.profiles.get(self.profile or "")
        return figures.overall if figures else Means()


class QuestionMean(NamedTuple):
    """The mean of a metric over the repeats of a question.

    `asked` is the digest of what two runs must share (`_what_is_asked`), and `answers` the number of its
    repeats with a value.
    """

    asked: bytes
    category: str
    mean: float
    answers: int


def _what_is_asked(question: Question) -> bytes:
    """Return a digest of what two runs must share to be compared on a question: its text, category and gold
    answers."""
    shared = question.model_dump_json(include={"text", "category", "answers", "answerable", "reading"})
    return hashlib.sha256(shared.encode()).digest()


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values, `None` if there is none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class ScoredRun:
    """One scored run.

    `manifest_json` and `summary_json` are the files as they are, to be passed on whole; `manifest` and
    `summary` are the same as typed values. `views` returns the JSON of the question files, read from disk one
    by one, again at every call. `reviews` are rating files outside the run's folder. `grouped_by` is the key
    of the metadata whose values stand in place of the categories (see `report.grouping`).
    """

    run: str
    path: Path | None
    manifest_json: Mapping[str, Any]
    summary_json: Mapping[str, Any]
    views: Callable[[], Iterable[Json]]
    reviews: tuple[Path, ...] = ()
    grouped_by: str | None = None

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; raises StoreError if it cannot be used."""
        return _typed(Manifest, self.manifest_json, f"manifest.json of {self.run}")

    @cached_property
    def summary(self) -> Summary:
        """The summary; raises StoreError if it cannot be used."""
        return _typed(Summary, self.summary_json, f"summary.json of {self.run}")

    def questions(self) -> Iterator[ScoredQuestion]:
        """Yield every question in the order of the file names; only one is in memory at a time.

        Raises StoreError for a damaged file, and after the last question if the number of answers differs
        from that in the summary.
        """
        return map(scored_question, self.views())

    def brief_questions(self) -> Iterator[BriefQuestion]:
        """Yield every question as `questions` does, with what tables need of it."""
        return map(brief_question, self.views())

    def correctness(self, profile: str) -> Mapping[str, QuestionMean]:
        """Return the correctness of each question that has one and is no variant, by its id; the files are
        read once."""
        if profile not in self._correctness:
            self._correctness[profile] = {
                (asked := view.question).id: QuestionMean(
                    _what_is_asked(asked), asked.category, sum(known) / len(known), len(known)
                )
                for view in self.questions()
                if view.question.id not in self.manifest.data.variant_ids
                and (known := [v for v in view.values("correctness", profile) if v is not None])
            }
        return self._correctness[profile]

    @cached_property
    def kept(self) -> dict[tuple[object, ...], Any]:
        """What was computed from all question files, by a key of whoever computed it: reading them takes
        longer than anything else in a report."""
        return {}

    @cached_property
    def asked(self) -> dict[str, bytes]:
        """Digests of what two runs must share to be compared, by question id. The files are read once."""
        return {
            asked.id: _what_is_asked(asked) for asked in (view.question for view in self.brief_questions())
        }

    @cached_property
    def _correctness(self) -> dict[str, dict[str, QuestionMean]]:
        """The means that `correctness` has read before, by profile and question."""
        return {}

    @property
    def name(self) -> str:
        """The name given in the configuration, or the run's id if there is none."""
        return self.summary.name or self.manifest.name or self.run

    @property
    def retrieval_only(self) -> bool:
        """Whether the run only searched, so that only figures of retrieval apply to it."""
        return self.summary.retrieval_only

    @property
    def model(self) -> str | None:
        """The model that answered, `None` if the run does not say."""
        return self.summary.model

    @property
    def pipeline(self) -> str:
        """The pipeline regardless of the model, as an importer of published results named it, or the name."""
        return self.manifest.pipeline or self.name

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the data set in its own order, including those that were not asked."""
        return self.summary.categories

    @property
    def ingest(self) -> Ingest:
        """What came of reading the documents, empty if none were read."""
        return self.manifest.data.ingest or Ingest()

    def profile(self, scores: str | None = None) -> str:
        """Return `scores`, or with `None` the run's headline profile.

        Raises UsageError if `scores` is not the name of a profile, and DataError if the run was not scored
        under it.
        """
        wanted = scores or self.summary.profile
        if wanted in self.summary.profiles:
            return str(wanted)
        if scores and scores not in PROFILES:
            raise UsageError(f"there are no scores '{scores}'{suggest(scores, PROFILES)}")
        raise DataError(no_such_scores(self.run, str(wanted), self.summary.profiles))

    def figures(self, scores: str | None = None) -> ProfileFigures:
        """Return the scores under one profile; raises as `profile` does."""
        return self.summary.profiles[self.profile(scores)]

    def metrics(self, scores: str | None = None) -> dict[str, MetricFigures]:
        """Return the figures of all metrics by name, those of FATHOMS-RAG under one profile; raises as
        `profile` does. The values of a metric that applies to no record of the run are `None`."""
        return all_metrics(self.summary, self.profile(scores))

    @property
    def judges_labels(self) -> bool:
        """Whether the judge says which answers abstain, under the headline profile."""
        found = self.summary.profiles.get(str(self.summary.profile))
        return found is not None and found.judges_labels

    @cached_property
    def _line_files(self) -> Mapping[str, str]:
        """The files of the questions of a large run, by id."""
        large = self.path is not None and file_names(self.path)
        return places(self.path, self.manifest.data.asked_ids) if self.path and large else {}

    def question_file(self, question: str) -> Path | None:
        """Return the file with the view of one question, which of a large run holds many questions; `None` if
        the run is not on disk."""
        if self.path is None:
            return None
        if name := self._line_files.get(question):
            return self.path / "questions" / name
        file, old = (self.path / "questions" / name for name in view_names(question))
        return old if old != file and not file.exists() and old.exists() else file


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


def load(run_dir: Path) -> ScoredRun:
    """Read a run directory; raises StoreError if it is not a run or is not scored yet."""
    if not os.path.lexists(run_dir / "manifest.json"):
        raise StoreError(f"{run_dir} is not a run: it has no manifest.json")
    if not os.path.lexists(run_dir / "summary.json"):
        raise StoreError(f"{run_dir} has no summary.json: run 'fathoms score {run_dir}'")
    manifest = read_manifest(run_dir).plain()
    summary = read_checked(run_dir, "summary.json", "summary")
    name = str(manifest.get("run") or run_dir.name)
    run = ScoredRun(name, run_dir, manifest, summary, lambda: _all_views(run_dir, run.manifest, run.summary))
    return run


def read_manifest(run_dir: Path) -> Manifest:
    """Read the manifest of a run; raises StoreError."""
    return read_part(run_dir, "manifest.json", Manifest)


def read_summary(run_dir: Path) -> Summary | None:
    """Read the summary of a run, `None` if it was never scored; raises StoreError."""
    if not os.path.lexists(run_dir / "summary.json"):
        return None
    return _typed(Summary, read_checked(run_dir, "summary.json", "summary"), f"{run_dir}/summary.json")


def read_questions(run_dir: Path, summary: Summary) -> Iterator[ScoredQuestion]:
    """Yield the questions of a run as `ScoredRun.questions` does."""
    return map(scored_question, _all_views(run_dir, read_manifest(run_dir), summary))


def _all_views(run_dir: Path, manifest: Manifest, summary: Summary) -> Iterator[Json]:
    """Yield the question files of a run in the order of its questions, and check that there are as many
    answers as its summary counts."""
    found, counts = 0, summary.counts
    for view in read_views(run_dir, manifest.data.asked_ids):
        found += len(view["repeats"])
        yield view
    if counts.answered is not None and counts.done != found:
        raise StoreError(
            f"{run_dir}: its summary counts {counts.done} answers, and its question files hold {found}:"
            f" run 'fathoms score {run_dir}'"
        )


def _typed(kind: type[_Kind], value: Mapping[str, Any], place: str) -> _Kind:
    """Convert a JSON object; raises StoreError if it does not fit."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise StoreError(f"{place} cannot be used: {misfit(error)}") from None
