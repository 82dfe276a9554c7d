"""The base class of all metrics.

A metric is a frozen component that scores one record at a time: `score(facts) -> Score`. The scores of a run
are then pooled into figures with intervals (`pooling.py`). To add a metric, write a file with a subclass and
add its line to `fathoms/registry.py`; tables, exports, comparisons and the gate find it there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, Self

from fathoms.component import Component
from fathoms.metrics.claims.matrix import Matrix
from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.pooled_f1 import F1Counts
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Claim, Document, Failure, Judgement, Record, Rubric, Score, Verdict

Direction = Literal["higher", "lower"]
Need = Literal["answer", "gold", "reference", "hits", "prompt", "evidence", "nuggets", "facts", "citations"]
"""A part of a record that a metric reads."""
Pooling = Literal["categories", "questions", "counts", "f1", "mean-of-ratios"]
"""How the scores of a run become one figure: the unweighted mean of the category means, the mean over all
questions, a ratio of counts that are added up over all records, or the F1 or the mean of two such ratios."""

_PRESENT: dict[Need, tuple[Callable[[Record], bool], str]] = {
    "answer": (lambda record: record.answer is not None, "an answer"),
    "gold": (lambda record: bool(record.question.answers), "gold phrases"),
    "reference": (lambda record: bool((record.question.reference or "").strip()), "a reference answer"),
    "hits": (lambda record: bool(record.hits), "retrieved chunks"),
    "prompt": (lambda record: record.prompt is not None, "a stored prompt"),
    "evidence": (lambda record: bool(record.question.evidence), "gold evidence"),
    "nuggets": (lambda record: bool(record.question.nuggets), "nuggets"),
    "facts": (lambda record: bool(record.question.facts), "facts that a good answer states"),
    "citations": (lambda record: record.citations is not None, "citations"),
}
_OF_QUESTIONS: frozenset[Need] = frozenset({"gold", "reference", "evidence", "nuggets", "facts"})


@dataclass(eq=False, slots=True)  # making a frozen one takes three times as long, and there is one per answer
class Facts:
    """What a metric may read of one record: the record, its scores under the headline profile, and for judged
    metrics the claims of texts and the verdicts, as far as there are any.

    `claims` maps a text and the question that it answers to its claims. `failures` are the texts and
    judgements for which the judge failed. `retrieval_only` says that the run asked for no answers, so that a
    failure is one of the search and no metric of answers applies to it. `ranked` are the scores of retrieval
    metrics by name, as far as they were made together with those of other records. `texts` are the
    parsed documents of the run. Metrics add to `compared` the matrices of verdicts that they read, which
    reports show.
    """

    record: Record
    scores: RecordScore
    claims: Mapping[tuple[str, str], tuple[Claim, ...]] = field(default_factory=dict)
    verdicts: Mapping[Judgement, Verdict] = field(default_factory=dict)
    failures: Mapping[Judgement | tuple[str, str], Failure] = field(default_factory=dict)
    retrieval_only: bool = False
    ranked: Mapping[str, Score] = field(default_factory=dict)
    texts: RunTexts | None = None
    compared: list[Matrix] = field(default_factory=list)


@lru_cache(maxsize=4096)
def shared_score(metric: str, value: float | None, n: int = 1, **why: object) -> Score:
    """Return a score whose reasons are few different ones, as one object for all records that
    have it: making a score takes longer than finding out what it is."""
    return Score(metric=metric, value=value, n=n, why=dict(why))


class Metric(Component):
    """Base class of the metrics.

    The class variables describe a metric to readers: in which `direction` it is better, its `unit`, whether
    tables show it without being asked to (`headline`), what it `needs`, and the `source` that defines it.
    `hit_weight` is how much a hit counts in a ratio of counts where a miss counts 1, such as 2 in F1.
    `cells` are the keys of `Score.why` whose values place an answer in a cross table, which figures count.
    `failed` is the value of a failed call, `None` where failed calls are left out. `group` names the table of
    their own in which reports show metrics that are computed for every run to which they apply, `in_profile`
    that the figures are stored with those of the scoring profiles, and `follows_profile` that the values
    depend on the headline profile. `weight` is how long an answer of 200 words takes, relative to all metrics
    together that every run has; it is `None` for a metric that loads a model, which several processes at once
    would all have to do.
    """

    inert: ClassVar[bool] = True
    group: ClassVar[str | None] = None
    in_profile: ClassVar[bool] = False
    follows_profile: ClassVar[bool] = False
    direction: ClassVar[Direction] = "higher"
    unit: ClassVar[str] = "share"
    headline: ClassVar[bool] = False
    needs: ClassVar[tuple[Need, ...]] = ("answer",)
    pooling: ClassVar[Pooling] = "categories"
    hit_weight: ClassVar[float] = 1.0
    cells: ClassVar[tuple[str, ...]] = ()
    failed: ClassVar[float | None] = None
    source: ClassVar[str] = ""
    weight: ClassVar[int | None] = 0

    @property
    def name(self) -> str:
        """The name under which the metric is stored and shown; by default its kind."""
        return getattr(self, "kind", "") or type(self).__name__

    def __str__(self) -> str:
        return self.name

    @property
    def better(self) -> Direction:
        """Whether higher or lower values are better."""
        return self.direction

    @property
    def measured_in(self) -> str:
        """The unit of the values."""
        return self.unit

    @property
    def is_headline(self) -> bool:
        """Whether tables show the metric without being asked to."""
        return self.headline

    def at(self, base: Path) -> Metric:
        """Return the metric with relative paths and modules resolved from `base`, the folder of the
        configuration."""
        return self

    def check(self) -> None:
        """Raise an error if a requirement (package, weights) is missing; called before a run."""

    def unusable(self) -> str | None:
        """Say why a metric that scoring can do without cannot be computed on this machine; `None` if it can
        be, or if a failed `check` ends the scoring."""
        return None

    def lacks(self, record: Record) -> str | None:
        """Return what the metric needs and the record does not have, `None` if it has everything."""
        for need in self.needs:
            is_there, what = _PRESENT[need]
            if not is_there(record):
                return what
        return None

    def of(self, facts: Facts) -> Score:
        """Score a record, or return a score of `None` that says what the record lacks."""
        record = facts.record
        lacking = self.lacks(record)
        if lacking is None:
            return self.score(facts)
        wanted = self._applies(record) and not (facts.retrieval_only and "answer" in self.needs)
        if record.error is not None and self.failed is not None and wanted:
            return Score(metric=self.name, value=self.failed, n=0, why={"failed": record.error.kind})
        return shared_score(self.name, None, 0, lacks=lacking)

    def _applies(self, record: Record) -> bool:
        """Return whether the question itself has what the metric needs, so that an answer could be scored."""
        return all(_PRESENT[need][0](record) for need in self.needs if need in _OF_QUESTIONS)

    @abstractmethod
    def score(self, facts: Facts) -> Score:
        """Score a record that has everything the metric needs."""

    def ratio(self, score: Score) -> tuple[float, float] | None:
        """Return the numerator, at least 0, and the denominator, at least the numerator, of a score if
        `pooling` is `counts`; `None` if the score does not count."""
        return None

    def f1_counts(self, score: Score) -> F1Counts | None:
        """Return what a score adds to the precision and recall of the run if `pooling` is `f1`, or to the two
        ratios if it is `mean-of-ratios`; `None` if it does not count."""
        return None

    @property
    def halves(self) -> Mapping[str, str]:
        """The parts that are reported wherever the metric is, such as precision and recall, each with the
        name of the metric that it is, empty if there is none."""
        return {}

    def apart(self, score: Score) -> Mapping[str, float]:
        """Return the parts of a score that have a figure of their own, such as the hops of a question."""
        return {name: value for name in self.halves if (value := score.parts.get(name)) is not None}

    def counted(self, score: Score) -> Mapping[str, int]:
        """Return what a report must say of a score, as counts that are added up over the run."""
        return {}


class JudgedMetric(Metric):
    """Base class of the metrics that rest on the verdicts of a judge.

    Scoring first has the judge split `texts` into claims, then asks it for `judgements`, and then scores.
    `splits` says whether the judgements are of claims rather than of whole answers.
    What a judge is asked for twice is paid for once.
    """

    judged: ClassVar[bool] = True
    splits: ClassVar[bool] = True

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"support"})

    def texts(self, record: Record) -> Sequence[tuple[str, str]]:
        """Return the texts to be split into claims, each with the question that it answers."""
        return ()

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Return what the judge must be asked, given the claims of the texts."""
        return ()

    def reading(self, documents: Mapping[str, Document]) -> Self:
        """Return the metric with the parsed documents of the run, if it compares with pages of them."""
        return self
