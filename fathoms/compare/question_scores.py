"""The scores of each question of a run, which comparisons and gates work on.

They are read from the table of a scored run, or from a baseline file, which holds only the scores. A
question without a gold answer has no correctness. A failed call has correctness 0 and no hallucination value.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from fathoms.compare.pairing import Difference, difference, is_written
from fathoms.errors import DataError, UsageError, amount_of, some_of, suggest
from fathoms.runs.identity import Identity
from fathoms.runs.metadata import OF_VARIANTS
from fathoms.runs.profile_figures import all_metrics
from fathoms.runs.run import Run
from fathoms.runs.score_table import ScoreTable, in_profile
from fathoms.text.amounts import percent
from fathoms.types import StoredValue
from fathoms.types.run.figures import range_of
from fathoms.types.run.manifest import ParserFacts
from fathoms.types.run.summary import Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = 1
"""The version of the baseline file format."""
_PHRASES = ("match", "hyphens", "set_aside")
_LABELS = ("classifier_key", "set_aside")
# The rules of a profile that each of its metrics depends on.
_RULES = {
    "hallucination": (*_PHRASES, *_LABELS),
    "abstention": _LABELS,
    "truthfulness": (*_PHRASES, *_LABELS),
    "answered-unanswerable": _LABELS,
    "abstained-answerable": _LABELS,
    "abstention-f1": _LABELS,
}
_NEED_LABELS = frozenset(
    {"answer-rate-on-hits", "abstention-on-misses", "accuracy-on-hits", "premise-adopted"}
)
"""The other metrics that rest on which answers abstain; their rules cover the classifier."""
POSITION_GAP, GPD_GO_GAP = "position-gap", "gpd-go-gap"
OF_SWEEPS = {
    POSITION_GAP: "--matrix retrieve.position=first,middle,last",
    GPD_GO_GAP: "--settings gold,gold+distractors",
}
"""The metrics of several runs of one command (`report.of_sweeps`), and the option that makes the runs."""
_OF_OLD_BASELINES = {"correctness": "higher", "hallucination": "lower"}
_OF_SEARCHES = ("recall@10", "ndcg@10")


def _rules(metric: str) -> tuple[str, ...]:
    """Return the rules of the profile that a metric depends on; `truthfulness-2` depends on those of
    `truthfulness`."""
    return _RULES.get("truthfulness" if metric.startswith("truthfulness-") else metric, ())


def _needs_label(metric: str) -> bool:
    """Return whether a metric rests on which answers abstain."""
    return metric in _NEED_LABELS or "classifier_key" in _rules(metric)


class MetricKind(StoredValue):
    """What a comparison must know of a metric: which direction is better, its unit, and a fingerprint of what
    decides its values (`None` for metrics that depend on the profile).

    Of a metric that rests on a `judge`, or on labels that a judge gave to answers, also the share of its
    items without a verdict; of the former also the balanced accuracy of the judge against people, `None` if
    it was never checked, and what that is at least (`JudgeCheck.least`). `by_people` says that people gave
    the verdicts. `counted` are counts that a reader of its values must know, such as nuggets that a language
    model drafted. `judged_of` says for how many of how many questions it was judged where some were left out
    on purpose.
    """

    direction: str = "higher"
    unit: str = "share"
    rules: str | None = None
    judge: str | None = None
    unjudged: float = 0.0
    balanced_accuracy: float | None = None
    least_accuracy: float | None = None
    by_people: bool = False
    counted: dict[str, int] = Field(default_factory=dict)
    judged_of: tuple[int, int] | None = None


class QuestionScore(Identity):
    """The scores of one question: for each metric, one value per repeat in which the metric is defined. For a
    metric that adds up counts over all questions, `ratios` has one numerator and denominator per repeat.
    """

    values: Mapping[str, tuple[float, ...]]
    ratios: Mapping[str, tuple[tuple[float, float], ...]] = Field(default_factory=dict)

    def ratio(self, metric: str) -> tuple[float, float] | None:
        """Return the mean numerator and the mean denominator over the repeats, `None` if there is none."""
        pairs = self.ratios.get(metric)
        return (fmean(top for top, _ in pairs), fmean(bottom for _, bottom in pairs)) if pairs else None

    def mean(self, metric: str) -> float | None:
        """Return the mean over the repeats, or `None` if the metric does not apply."""
        values = self.values.get(metric)
        return fmean(values) if values else None


class QuestionScores(StoredValue):
    """The scores of one run by question id, or of several runs pooled as repeats.

    `metrics` are those that have a value for any question. `runs` are the ids of the runs, oldest first.
    `rules` are the scoring rules of `profile`. `answers` counts all answers asked for, including repeats;
    `failed` counts failed calls, and `cached` the replies reused from an earlier run. `versions` are those
    that the service behind the pipeline had, empty where they are not known. `retrieval_only` says that the
    runs only searched: they have no answers, and no metrics of answers. `parsers` are those that read the
    documents, empty where no parser of fathoms did, and in baselines of earlier versions. `saved_in` is the
    baseline file from which they were read, if they were. `weights` say for how many questions one of each
    category stands; they are empty unless the run is a weighted sample.
    """

    runs: tuple[str, ...]
    profile: str
    rules: dict[str, Any]
    questions: Mapping[str, QuestionScore]
    metrics: dict[str, MetricKind] = Field(
        default_factory=lambda: {name: MetricKind(direction=kind) for name, kind in _OF_OLD_BASELINES.items()}
    )
    answers: int = Field(ge=0)
    failed: int = Field(ge=0)
    cached: int = Field(default=0, ge=0)
    versions: tuple[str, ...] = ()
    retrieval_only: bool = False
    parsers: tuple[ParserFacts, ...] = ()
    weights: dict[str, float] = Field(default_factory=dict)
    saved_in: str | None = Field(default=None, exclude=True)

    def kind_of(self, metric: str) -> MetricKind:
        """Return what is known of a metric; raises UsageError if the run has no value of it."""
        if metric in OF_SWEEPS and metric not in self.metrics:
            raise UsageError(
                f"{names(self)} has no {metric}, which is a figure of the scored runs of one command in one"
                f" folder: make them with 'fathoms run CONFIG {OF_SWEEPS[metric]}' on at least 2 questions"
            )
        if metric not in self.metrics:
            near = suggest(metric, self.metrics)
            if self.retrieval_only:
                raise UsageError(
                    f"{names(self)} only searched and has no metric '{metric}'{near}: name one of its metrics"
                    f" with --metric ({', '.join(self.metrics) or 'it has none'})"
                )
            raise UsageError(
                f"{names(self)} has no metric '{metric}'{near}: 'fathoms score RUN --metric {metric}'"
                " computes it, or says what the run lacks"
            )
        return self.metrics[metric]

    def adds_counts(self, metric: str) -> bool:
        """Return whether a metric is a ratio of counts added up over all questions, without a value for a
        single one."""
        if isinstance(self.questions, StoredQuestions):
            return self.questions.adds_counts(metric)
        return any(metric in question.ratios for question in self.questions.values())

    def values_of(self, metric: str) -> Mapping[str, tuple[float, ...]]:
        """Return the values of a metric by question, one for each repeat in which it is defined."""
        if isinstance(self.questions, StoredQuestions):
            return self.questions.values_of(metric)
        return {name: one.values.get(metric, ()) for name, one in self.questions.items()}

    def means_of(self, metric: str) -> dict[str, float]:
        """Return the mean of a metric over the repeats by question, of those to which it applies."""
        known = ((name, values) for name, values in self.values_of(metric).items() if values)
        return {name: values[0] if len(values) == 1 else fmean(values) for name, values in known}

    @property
    def golds(self) -> Mapping[str, str]:
        """The fingerprint of each question's gold."""
        if isinstance(self.questions, StoredQuestions):
            return self.questions.golds
        return {name: one.gold for name, one in self.questions.items()}

    @property
    def categories(self) -> Mapping[str, str]:
        """The category of each question."""
        if isinstance(self.questions, StoredQuestions):
            return self.questions.categories
        return {name: one.category for name, one in self.questions.items()}

    def documents_of(self, ids: Iterable[str]) -> list[Sequence[str]]:
        """Return the gold documents of some questions."""
        if isinstance(self.questions, StoredQuestions):
            return self.questions.documents_of(ids)
        return [self.questions[name].documents for name in ids]

    def only(self, wanted: Collection[str]) -> QuestionScores:
        """Return the scores of some questions, in their order."""
        if self.questions.keys() == wanted:
            return self
        if isinstance(self.questions, StoredQuestions):
            return self.model_copy(update={"questions": self.questions.only(wanted)})
        selected = {name: question for name, question in self.questions.items() if name in wanted}
        return self.model_copy(update={"questions": selected})

    def higher_is_better(self, metric: str) -> bool:
        """Return whether higher values of a metric are better."""
        return self.kind_of(metric).direction == "higher"

    def rules_of(self, metric: str) -> dict[str, Any]:
        """Return the rules that a metric depends on.

        A classifier is compared by its key and not its options, because the same path may hold other
        exemplars, and the same exemplars may be stored at another path.
        """
        kind = self.kind_of(metric)
        if kind.rules is not None:
            return {"rules": kind.rules, **{key: self.rules.get(key) for key in _rules(metric)}}
        return {key: self.rules.get(key) for key in _RULES.get(metric, _PHRASES)}

    @property
    def judge(self) -> str:
        """The kind of the abstention classifier, or `released flags` for imported scores."""
        classifier = self.rules.get("classifier")
        return str(classifier["kind"]) if classifier else "released flags"


def read_scores(run: Run, profile: str | None = None) -> QuestionScores:
    """Read the scores of a run under `profile`, by default the profile that its reports show first. Variants
    of questions have those of `OF_VARIANTS` alone.

    Raises DataError if the run has no such scores, and StoreError if the run is damaged.
    """
    summary = run.summary if run.is_scored else Summary()
    wanted = str(profile or summary.profile)
    if wanted not in summary.profiles:
        if not summary.profiles:
            raise DataError(f"{run.id} has no scores: run 'fathoms score {run.id}'")
        raise DataError(
            f"{run.id} has no scores '{wanted}' (available: {', '.join(summary.profiles)}):"
            f" run 'fathoms score {run.id} --profile {wanted}'"
        )
    listed = all_metrics(summary, wanted)
    table = run.scores
    if (unscored := table.first_without(wanted)) is not None:
        raise DataError(f"{run.id}: question '{unscored}' is not scored: run 'fathoms score {run.id}'")
    written = (summary.questions or run.manifest.data).written_ids
    questions = StoredQuestions.of(table, wanted, listed, run.manifest.data.variant_ids, written)
    figures = summary.profiles[wanted]
    given = table.total("answer/answered")
    unlabelled = given - table.total(in_profile(wanted, "labelled"), "answer/answered")
    without_label = unlabelled / given if figures.judges_labels and given else 0.0
    return QuestionScores.model_construct(
        set(QuestionScores.model_fields),  # the table was checked when it was read
        runs=(run.id,),
        profile=wanted,
        rules={
            "match": figures.match,
            "hyphens": figures.hyphens,
            "set_aside": None if figures.set_aside is None else list(figures.set_aside),
            "classifier": figures.classifier,
            "classifier_key": figures.classifier_key,
        },
        questions=questions.sorted_by(summary.categories),
        metrics={
            name: MetricKind(
                direction=kind.direction,
                unit=kind.unit,
                rules=kind.rules,
                judge=kind.judge,
                unjudged=max(
                    kind.judged.share if kind.judged else 0.0,
                    without_label if kind.splits or _needs_label(name) else 0.0,
                ),
                balanced_accuracy=kind.checked.balanced_accuracy,
                least_accuracy=kind.checked.least,
                by_people=kind.checked.people,
                counted=kind.counted,
                judged_of=(kind.until.judged, kind.until.of) if kind.until else None,
            )
            for name, kind in listed.items()
            if questions.has(name) or (name in _OF_OLD_BASELINES and not summary.retrieval_only)
        },
        answers=len(table),
        failed=table.failed,
        cached=table.total("answer/cached"),
        versions=tuple(summary.service.versions),
        retrieval_only=summary.retrieval_only,
        parsers=(parser,) if (parser := run.manifest.read_by) else (),
        weights=run.manifest.data.weights,
    )


class StoredQuestions(Mapping[str, QuestionScore]):
    """The scores of the questions of a run by id. Each is made from the run's table when it is asked for: a
    large run has 100,000, and a comparison needs a column or two of them."""

    def __init__(
        self,
        table: ScoreTable,
        profile: str,
        metrics: Iterable[str],
        variants: Collection[str],
        written: bool | None,
        numbers: Mapping[str, int],
    ) -> None:
        self._table = table
        self._profile = profile
        self._metrics = tuple(metrics)
        self._of_variants = tuple(name for name in self._metrics if name in OF_VARIANTS)
        self._counting = [name for name in self._metrics if table.adds_counts(name)]
        self._variants = variants
        self._written = written
        self._numbers = numbers

    @classmethod
    def of(
        cls,
        table: ScoreTable,
        profile: str,
        metrics: Iterable[str],
        variants: Collection[str],
        written: bool | None,
    ) -> StoredQuestions:
        """Return the questions of a table; of the variants, those that have any scores of their own."""
        numbers = {id: number for number, id in enumerate(table.ids)}
        whole = cls(table, profile, metrics, variants, written, numbers)
        bare = {id for id in variants if id in numbers and not any(whole[id].values.values())}
        return whole.only(numbers.keys() - bare) if bare else whole

    def _with(self, numbers: Mapping[str, int]) -> StoredQuestions:
        """Return these questions with other numbers of rows by id."""
        return StoredQuestions(
            self._table, self._profile, self._metrics, self._variants, self._written, numbers
        )

    def only(self, wanted: Collection[str]) -> StoredQuestions:
        """Return some of the questions, in their order."""
        return self._with({id: number for id, number in self._numbers.items() if id in wanted})

    def sorted_by(self, categories: Sequence[str]) -> StoredQuestions:
        """Return the questions in the order of their categories."""
        parts: dict[str, dict[str, int]] = {name: {} for name in categories}
        rest: dict[str, int] = {}
        for id, number in self._numbers.items():
            parts.get(self._table.category_of[number], rest)[id] = number
        return self._with({id: number for part in (*parts.values(), rest) for id, number in part.items()})

    def __getitem__(self, id: str) -> QuestionScore:
        number, names = self._numbers[id], self._own(id)
        pairs = {name: self._table.ratios(number, name) for name in self._counting if name in names}
        return QuestionScore.model_construct(
            set(QuestionScore.model_fields),
            **self._table.identity(number),
            written=self._written,
            values=_Values(self._table, number, self._profile, names),
            ratios={name: some for name, some in pairs.items() if some},
        )

    def _own(self, id: str) -> tuple[str, ...]:
        """The metrics that apply to a question."""
        return self._of_variants if id in self._variants else self._metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def values_of(self, metric: str) -> Mapping[str, tuple[float, ...]]:
        """Return the values of a metric by question."""
        if metric not in self._metrics:
            return dict.fromkeys(self._numbers, ())
        rows = self._table.all_values(metric, self._profile)
        found = {id: rows[number] for id, number in self._numbers.items()}
        lacking = () if metric in OF_VARIANTS else self._variants
        return found | {id: () for id in lacking if id in found}

    def adds_counts(self, metric: str) -> bool:
        """Return whether any question has counts of a metric that adds them up."""
        return metric in self._counting and self._any(metric, self._table.having(metric, None))

    def has(self, metric: str) -> bool:
        """Return whether any question has a value of a metric, or counts that are added up."""
        return self._any(metric, self._table.having(metric, self._profile))

    def _any(self, metric: str, having: NDArray[Any]) -> bool:
        """Return whether a metric that some questions of the table have applies to any of these questions."""
        return bool(having[self._rows if metric in OF_VARIANTS else self._rows_of_originals].any())

    @cached_property
    def _rows(self) -> NDArray[Any]:
        """The number of each question in the table."""
        import numpy as np

        return np.fromiter(self._numbers.values(), np.int64, len(self))

    @cached_property
    def _rows_of_originals(self) -> NDArray[Any]:
        """The number of each question that is no variant of another."""
        own = self._numbers.keys() - self._variants
        return self._rows if len(own) == len(self) else self.only(own)._rows

    @cached_property
    def golds(self) -> Mapping[str, str]:
        """The fingerprint of each question's gold."""
        golds = self._table.golds()
        return {id: golds[number] for id, number in self._numbers.items()}

    @cached_property
    def categories(self) -> Mapping[str, str]:
        """The category of each question."""
        return {id: self._table.category_of[number] for id, number in self._numbers.items()}

    def documents_of(self, ids: Iterable[str]) -> list[Sequence[str]]:
        """Return the gold documents of some questions."""
        return [self._table.documents_of[self._numbers[id]] for id in ids]

    def are_those_of(self, other: Mapping[str, QuestionScore]) -> bool:
        """Return whether another run has exactly these questions in this order, by ids that stand in its
        question file."""
        if not isinstance(other, StoredQuestions):
            return False
        return (
            self._numbers.keys() == other._numbers.keys()
            and all(map(self._is_written, self._numbers))
            and (self._written == other._written or all(map(other._is_written, other._numbers)))
            and self._table.same_questions(self._rows, other._table, other._rows)
        )

    def _is_written(self, id: str) -> bool:
        """Return whether the id of a question stands in the question file, as far as is known."""
        return is_written(id, self._table.category_of[self._numbers[id]], self._written)


class _Values(Mapping[str, tuple[float, ...]]):
    """The values of one question by metric, each read from the table of its run where it is needed: a run
    has dozens of metrics, and most comparisons need two."""

    __slots__ = ("_metrics", "_number", "_profile", "_table")

    def __init__(self, table: ScoreTable, number: int, profile: str, metrics: tuple[str, ...]) -> None:
        self._table = table
        self._number = number
        self._profile = profile
        self._metrics = metrics

    def __getitem__(self, metric: str) -> tuple[float, ...]:
        if metric not in self._metrics:
            raise KeyError(metric)
        return self._table.values(self._number, metric, self._profile)

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


class _PooledValues(Mapping[str, tuple[float, ...]]):
    """The values of one question in several runs, one run after the other, as `_Values`."""

    __slots__ = ("_metrics", "_parts")

    def __init__(self, parts: Sequence[Mapping[str, tuple[float, ...]]], metrics: Mapping[str, None]) -> None:
        self._parts = parts
        self._metrics = metrics

    def __getitem__(self, metric: str) -> tuple[float, ...]:
        if metric not in self._metrics:
            raise KeyError(metric)
        return tuple(value for part in self._parts for value in part.get(metric, ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


def default_metrics(runs: Sequence[QuestionScores]) -> tuple[str, ...]:
    """Return the metrics by which runs are compared unless others are named: correctness and hallucination.
    Where one of the runs only searched, they are `recall@10` and `ndcg@10`, or what all of them have."""
    if not any(run.retrieval_only for run in runs):
        return tuple(_OF_OLD_BASELINES)
    shared = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
    best = tuple(name for name in _OF_SEARCHES if name in shared)
    # documents are the same whatever the retriever does
    others = tuple(name for name in shared if name != "recall-in-documents")
    return best or others or tuple(_OF_OLD_BASELINES)


def pool(parts: Sequence[QuestionScores]) -> QuestionScores:
    """Pool several runs as repeats of one run.

    Raises DataError if their questions, profiles or scoring rules differ.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    shared = dict.fromkeys(name for name in first.metrics if all(name in part.metrics for part in parts))
    for other in parts[1:]:
        require_alike(first, other, shared)
    parts = [first, *(aligned(first, other)[0] for other in parts[1:])]
    return QuestionScores(
        runs=tuple(run for part in parts for run in part.runs),
        profile=first.profile,
        rules=first.rules,
        questions={
            name: question.model_copy(
                update={
                    "values": _PooledValues([part.questions[name].values for part in parts], shared),
                    "ratios": {
                        metric: tuple(
                            pair for part in parts for pair in part.questions[name].ratios.get(metric, ())
                        )
                        for metric in question.ratios
                        if metric in shared
                    },
                }
            )
            for name, question in first.questions.items()
        },
        metrics={name: _pooled(name, parts) for name in shared},
        answers=sum(part.answers for part in parts),
        failed=sum(part.failed for part in parts),
        cached=sum(part.cached for part in parts),
        versions=tuple(dict.fromkeys(version for part in parts for version in part.versions)),
        parsers=tuple({str(parser): parser for part in parts for parser in part.parsers}.values()),
        retrieval_only=all(part.retrieval_only for part in parts),
        weights=first.weights,
    )


def _pooled(metric: str, parts: Sequence[QuestionScores]) -> MetricKind:
    """Return what is known of a metric in the first of several runs, with the counts of all of them; of its
    judge, what is known of the worst of them."""
    kinds = [part.metrics[metric] for part in parts]
    counted: Counter[str] = Counter()
    for kind in kinds:
        counted.update(kind.counted)
    checks = [kind.balanced_accuracy for kind in kinds if kind.balanced_accuracy is not None]
    least = [kind.least_accuracy for kind in kinds if kind.least_accuracy is not None]
    return kinds[0].model_copy(
        update={
            "counted": dict(counted),
            "unjudged": max(kind.unjudged for kind in kinds),
            "balanced_accuracy": min(checks) if len(checks) == len(kinds) else None,
            "least_accuracy": min(least) if len(least) == len(kinds) else None,
            "by_people": all(kind.by_people for kind in kinds),
            "judged_of": next((kind.judged_of for kind in kinds if kind.judged_of), None),
        }
    )


def count_notes(runs: Iterable[QuestionScores], metrics: Iterable[str]) -> tuple[str, ...]:
    """Say what the values of some metrics rest on in each run, where a reader must know it, such as
    `argue.nugget-coverage of RUN: 3 nuggets that a language model drafted`, and that verdicts are missing.
    """
    wanted = list(metrics)
    metrics_of: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for metric, kind in ((name, run.metrics[name]) for name in wanted if name in run.metrics):
            whats = [amount_of(count, what) for what, count in kind.counted.items()]
            if kind.unjudged:
                whats.append(f"{percent(kind.unjudged, 1)} of what it rests on has no verdict of the judge")
            for what in whats:
                metrics_of.setdefault((names(run), what), []).append(metric)
    return tuple(f"{', '.join(listed)} of {run}: {what}" for (run, what), listed in metrics_of.items())


def parser_notes(baseline: QuestionScores, runs: Iterable[QuestionScores], *, old: bool) -> tuple[str, ...]:
    """Say where runs and their baseline read the documents by different revisions of one parser, so that the
    text, and what is retrieved of it, can differ although the configuration does not. A baseline without
    parsers may be an `old` one, which does not name them."""
    before = {parser.kind: parser.revision for parser in baseline.parsers}
    found: dict[str, None] = {}
    for run in runs:
        for kind, revision in ((parser.kind, parser.revision) for parser in run.parsers):
            earlier = before.get(kind, None if old and not before else revision)
            if earlier != revision:
                was, now = (
                    f"revision {one}" if one else "an unknown revision" for one in (earlier, revision)
                )
                found[
                    f"{names(baseline)} read the documents by {kind} of {was}, {names(run)} by {kind} of"
                    f" {now}: their text, and so what is retrieved, can differ with the same configuration;"
                    " to see what else changed, make the older of them again"
                ] = None
    return tuple(found)


def require_alike(first: QuestionScores, other: QuestionScores, metrics: Iterable[str]) -> None:
    """Raise DataError unless both have the same questions, gold answers, profile and scoring rules."""
    require_rules(first, other, metrics)
    _, found = aligned(first, other)
    if differing := [*found.changed, *found.removed, *found.added]:
        raise DataError(
            f"{names(first)} and {names(other)} did not ask the same questions: {some_of(differing)}"
        )


def aligned(first: QuestionScores, other: QuestionScores) -> tuple[QuestionScores, Difference]:
    """Return the scores of `other` with the ids and categories that its questions have in `first`, and what
    differs between the two. Equal `gold` then says that the scores of a question can be compared. A question
    that only `other` has keeps its id; where `first` has another of this id, the run is added to it."""
    ours, theirs = first.questions, other.questions
    if isinstance(ours, StoredQuestions) and ours.are_those_of(theirs):
        return other, Difference(dict(zip(ours, ours, strict=True)))
    found = difference(ours, theirs, (names(first), names(other)))
    changed = frozenset(found.changed)
    questions = {}
    for name, own in found.pairs.items():
        reference, one = ours[name], theirs[own]
        gold = f"not that of {reference.gold}" if name in changed else reference.gold
        questions[name] = one.model_copy(update={"category": reference.category, "gold": gold})
    for name in found.added:
        own = f"{name} of {names(other)}" if name in first.questions else name
        questions[own] = other.questions[name]
    return other.model_copy(update={"questions": questions}), found


def require_rules(first: QuestionScores, other: QuestionScores, metrics: Iterable[str]) -> None:
    """Raise DataError unless both were scored under the same profile and rules."""
    if first.profile != other.profile:
        raise DataError(
            f"{names(first)} is judged under the profile '{first.profile}', {names(other)} under"
            f" '{other.profile}': 'fathoms score {' '.join((*first.runs, *other.runs))} --profile"
            f" {first.profile}' judges both under one"
        )
    if first.weights and other.weights and first.weights != other.weights:
        raise DataError(
            f"{names(first)} and {names(other)} are samples with other rates by category, which have no"
            " common weights: answer one sample with both pipelines"
        )
    for metric in metrics:
        for scores in (first, other):
            require_whole(scores, metric)
        for scores in (first, other) if "classifier_key" in _rules(metric) else ():
            _require_key(scores)
        if first.rules_of(metric) != other.rules_of(metric):
            raise DataError(
                f"{metric} of {names(first)} and of {names(other)} was judged by different rules:"
                f" {_alike(first, other)}"
            )


def require_whole(scores: QuestionScores, metric: str) -> None:
    """Raise DataError for a metric that was judged for a part of the questions on purpose, and for one that
    adds up counts in a weighted sample."""
    if judged := scores.kind_of(metric).judged_of:
        raise DataError(
            f"{metric} of {names(scores)} was judged for {judged[0]} of {judged[1]} questions until its"
            " interval was narrow (--until-width): 'fathoms score' without it judges the rest"
        )
    if scores.weights and scores.adds_counts(metric):
        raise DataError(
            f"{metric} adds up counts over all questions, and those of {names(scores)} are a weighted sample:"
            " name a metric that is a mean"
        )


def _alike(first: QuestionScores, other: QuestionScores) -> str:
    """Return the command that judges both by one rule. Where the abstention classifiers differ in their
    options, it gives those of the first to both; but those of the other if the first is a saved baseline,
    because the nights to come have these, too."""
    rules = (first if first.saved_in is None else other).rules
    runs, ours = " ".join((*first.runs, *other.runs)), rules.get("classifier")
    command = f"fathoms score {runs} --profile {first.profile}"
    if isinstance(ours, dict) and first.rules.get("classifier") != other.rules.get("classifier"):
        options = {name: value for name, value in ours.items() if value is not None}
        if first.profile == "paper-configured":  # its classifier has the embedder and exemplars of any kind
            options = {name: options[name] for name in ("embed", "exemplars") if name in options}
        command += f" --set {shlex.quote('abstention=' + json.dumps(options))}"
    return f"run {command}{_saved_again(first)}"


def _saved_again(scores: QuestionScores) -> str:
    """Return what to do once the runs were scored again: a baseline file holds scores of its own."""
    if scores.saved_in is None:
        return ""
    return (
        f", and save the baseline again: fathoms gate {' '.join(scores.runs)}"
        f" --save-baseline {shlex.quote(scores.saved_in)}"
    )


def _require_key(scores: QuestionScores) -> None:
    """Raise DataError for old scores without a classifier key: their exemplars and cues are unknown."""
    if scores.rules.get("classifier") and not scores.rules.get("classifier_key"):
        raise DataError(
            f"{names(scores)} does not say which exemplars and cues judged its abstentions: run fathoms score"
            f" {' '.join(scores.runs)}{_saved_again(scores)}"
        )


def names(scores: QuestionScores) -> str:
    """Return the names of the runs, shortened for a message."""
    return scores.runs[0] + (f" and {len(scores.runs) - 1} more" if len(scores.runs) > 1 else "")


@dataclass(frozen=True)
class Matched:
    """The paired values of one metric, one pair per question.

    `left_out` are the questions for which the metric is not defined on both sides.
    """

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class MatchedRatios:
    """The paired numerators and denominators of one metric, one of each per question, as in `Matched`."""

    ids: tuple[str, ...]
    categories: tuple[str, ...]
    first: tuple[tuple[float, float], ...]
    second: tuple[tuple[float, float], ...]
    left_out: tuple[str, ...]


def match_ratios(
    first: QuestionScores, second: QuestionScores, metric: str, shared: Iterable[str]
) -> MatchedRatios:
    """Pair the ratios of the questions `shared`; raises DataError if the ratio of a side has no value."""
    rows, left_out = [], []
    for name in shared:
        pair = (first.questions[name].ratio(metric), second.questions[name].ratio(metric))
        if pair[0] is None or pair[1] is None:
            left_out.append(name)
        else:
            rows.append((name, first.questions[name].category, pair[0], pair[1]))
    for scores, place in ((first, 2), (second, 3)):
        if not any(row[place][1] for row in rows):
            raise DataError(
                f"{metric} has no value in {names(scores)}, over the questions that both answered"
            )
    ids, categories, ours, theirs = zip(*rows, strict=True)
    return MatchedRatios(ids, categories, ours, theirs, tuple(left_out))


def match(first: QuestionScores, second: QuestionScores, metric: str, shared: Iterable[str]) -> Matched:
    """Pair the means over repeats of the questions `shared`; raises DataError if no pair is left."""
    ours, theirs, categories = first.means_of(metric), second.means_of(metric), first.categories
    candidates = list(shared)
    ids = tuple(name for name in candidates if name in ours and name in theirs)
    if not ids:
        raise DataError(f"no question has {metric} in both {names(first)} and {names(second)}")
    left_out = tuple(name for name in candidates if name not in ours or name not in theirs)
    before, after = (tuple(map(side.__getitem__, ids)) for side in (ours, theirs))
    return Matched(ids, tuple(map(categories.__getitem__, ids)), before, after, left_out)


def scores_like(run: QuestionScores, baseline: QuestionScores, metric: str) -> dict[str, tuple[float, ...]]:
    """Return the scores of the questions that have the same gold answer in the baseline, scaled to [0, 1] and
    turned round where lower ones are better."""
    low, high = range_of(baseline.kind_of(metric).unit) or (0.0, 1.0)
    better = baseline.higher_is_better(metric)
    found = {}
    golds, answered = run.golds, run.values_of(metric)
    for name, gold in baseline.golds.items():
        if golds.get(name) == gold and (values := answered[name]):
            shares = ((value - low) / (high - low) for value in values)
            found[name] = tuple(share if better else 1 - share for share in shares)
    return found
