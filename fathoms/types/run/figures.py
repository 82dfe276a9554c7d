"""The figures of the summary of a run: what a profile, a metric and a stage came to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from fathoms.types.run.part import Amount, Count, Flag, Json, Number, Part, Positive, Share, Whole, absent


class ClusteredBounds(Part):
    """An interval that also covers other documents (CR2 standard error, t distribution)."""

    low: Share
    """Lower end."""
    high: Share
    """Upper end."""
    df: Amount | None = absent()
    """Degrees of freedom of the t distribution."""

    @property
    def pair(self) -> tuple[Number, Number]:
        """The lower and the upper bound."""
        return self.low, self.high


class Bounds(Part):
    """A confidence interval; `n` is the number of questions behind it. Intervals of macro means also have the
    number of `groups` of questions that share no document, and a `clustered` interval that also covers other
    documents, or in `not_clustered` why there is none."""

    NEEDED: ClassVar = ("low", "high", "method", "n")

    low: Share
    """Lower end."""
    high: Share
    """Upper end."""
    method: str | None = absent()
    """Method: blaker (one category of 0/1 scores), score (all other scores), log-t or t (values without
    bounds). Older runs: wilson (0/1 scores), wilson-conservative (fractions or means of repeats), bca and
    mover (means of categories)."""
    n: Positive | None = absent()
    groups: Positive | None = None
    clustered: ClusteredBounds | None = None
    """Interval that also covers other documents (CR2 standard error, t distribution), where the documents
    allow it; otherwise null."""
    not_clustered: str | None = None
    """Why there is no clustered interval; null where there is one."""

    @property
    def pair(self) -> tuple[Number, Number]:
        """The lower and the upper bound."""
        return self.low, self.high


class Rate(Part):
    """A rate with the number of questions in its denominator."""

    NEEDED: ClassVar = ("value", "n")

    value: Share | None = None
    """The rate; null where no question applies."""
    n: Count = 0
    """Questions in the denominator."""


class HallucinationRates(Part):
    """The hallucination rate over all questions, over the answerable and over the unanswerable ones."""

    all: Rate = Field(default_factory=Rate)
    """Over all questions."""
    answerable: Rate = Field(default_factory=Rate)
    """Over the answerable questions."""
    unanswerable: Rate = Field(default_factory=Rate)
    """Over the unanswerable questions."""


class MeanScores(Part):
    """The mean scores over some questions; see `metrics.aggregate.summarise`.

    `n` is the number of questions behind `correctness`, and `hallucination_n` that behind `hallucination`.
    `errors` counts failed calls. `intervals` holds a 95 % interval by metric. `hallucination_over` is known
    under the profile `fathoms` only.
    """

    NEEDED: ClassVar = ("correctness", "hallucination", "n")

    correctness: Share | None = None
    """Mean phrase recall; null where no question applies."""
    hallucination: Share | None = None
    """Share of hallucinated answers; null where no question applies."""
    abstention: Share | None = None
    """Share of abstentions among the answers to answerable questions; null where there are none."""
    n: Count = 0
    """Questions behind `correctness`: failed ones included, those without a gold answer left out."""
    hallucination_n: Count = 0
    """Questions behind `hallucination`, failed ones left out."""
    errors: Count = 0
    """Calls that failed."""

    if TYPE_CHECKING:  # each kind has them where they stand in its file
        intervals: dict[str, Bounds | None]
        hallucination_over: HallucinationRates | None

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


class Means(MeanScores):
    """The mean scores over the questions of one category."""

    intervals: dict[str, Bounds | None] = Field(default_factory=dict)
    """95 % interval of the mean per metric, for other questions of the same kind on the same documents;
    null where no question applies. Absent in runs scored by earlier versions."""
    hallucination_over: HallucinationRates | None = absent()
    """Hallucination rate over `all`, over the `answerable` and over the `unanswerable` questions; under
    the profile `fathoms` only."""


class Overall(MeanScores):
    """The mean scores of a run: over its categories (macro) and, as `micro_...`, over its questions."""

    micro_correctness: Share | None = None
    """Mean correctness over all questions, each weighted equally (micro)."""
    micro_hallucination: Share | None = None
    """Share of hallucinated answers over all questions, each weighted equally (micro)."""
    micro_abstention: Share | None = None
    """Share of abstentions over all questions, each weighted equally (micro)."""
    intervals: dict[str, Bounds | None] = Field(default_factory=dict)
    """Intervals like those of a category, for the macro means and, under `micro_<metric>`, for the means
    over all questions."""
    hallucination_over: HallucinationRates | None = absent()
    """Hallucination rate over `all`, over the `answerable` and over the `unanswerable` questions; under
    the profile `fathoms` only."""

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


class MetricFigure(Part):
    """The value of a metric over some questions with its interval and the number `n` of questions."""

    value: Number | None = None
    """The figure; null where the metric applies to no question."""
    low: Number | None = None
    """Lower end of the 95 % interval; null if there is none."""
    high: Number | None = None
    """Upper end of the 95 % interval; null if there is none."""
    method: str | None = None
    """Method of the interval."""
    n: Count = 0
    """Questions behind the figure."""

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class JudgedItems(Part):
    """How many items a metric had judged, how many have no verdict, and the mean of the questions if all of
    those were wrong (`lowest`) or right (`highest`)."""

    items: Count = 0
    """Claims that were to be judged."""
    unjudged: Count = 0
    """Claims without a readable verdict."""
    lowest: Number | None = None
    """Mean over the questions if all claims without a verdict were wrong."""
    highest: Number | None = None
    """Mean over the questions if all claims without a verdict were right."""

    @property
    def share(self) -> float:
        """The share of items without a verdict."""
        return self.unjudged / self.items if self.items else 0.0


class StoppedEarly(Part):
    """How a metric was judged for a part of the questions on purpose, because its interval was narrow enough
    (`fathoms score --until-width`)."""

    judged: Count = 0
    """Questions that were judged, in a random order."""
    of: Count = 0
    """Questions to which the metric may apply."""
    width: Number = 0.0
    """The width of the interval that was asked for."""
    low: Number = 0.0
    """Lower bound of the figure if all were judged, with 95 % confidence whenever one stops."""
    high: Number = 0.0
    """Upper bound."""

    @property
    def sentence(self) -> str:
        """Say how many questions were judged."""
        return f"judged {self.judged} of {self.of} questions, the others not on purpose"


class PoweredMean(Part):
    """A prediction-powered mean with its interval; `weight` is the lambda of PPI++."""

    value: Number
    """The value."""
    judge: Number | None = absent()
    """The mean by the judge alone."""
    low: Number
    """Lower bound, 95 %."""
    high: Number
    """Upper bound, 95 %."""
    weight: Number = 0.0
    """Lambda: how much the values of the judge count, from 0 to 1."""
    labels: Whole = 0
    """Answers that count as labelled."""
    unlabelled: Whole = 0
    """Other answers."""
    to_halve: Count | None = absent()
    """How many more labels would make the interval half as wide; absent where labelling all answers would
    not."""


class CorrectedRate(Part):
    """A rate of `items` corrected for the errors of the judge (Rogan & Gladen 1978), and what it rests on."""

    value: Number
    """The value."""
    low: Number
    """Lower bound, 95 %."""
    high: Number
    """Upper bound, 95 %."""
    items: str = "answers"
    """What the rate is of: `answers` or `claims`."""
    sensitivity: Number = 0.0
    """Share of the positives to which the judge says yes."""
    specificity: Number = 0.0
    """Share of the negatives to which the judge says no."""
    positives: Whole = 0
    """Labelled items to which people say yes."""
    negatives: Whole = 0
    """Labelled items to which people say no."""


class PeopleFigures(Part):
    """What the labels of people make of a judged metric; see `metrics.people.ByPeople.figures`. `labels` of
    the `answers` with a value have one by people. Where a figure is missing, `why` and the others say why."""

    labels: Count = 0
    """Answers with a value by the labels of people, one for each question."""
    answers: Count = 0
    """Answers with a value by the judge, one for each question."""
    why: str | None = absent()
    """Why there is no figure."""
    overall: PoweredMean | None = None
    """The figure `overall` if people had labelled all answers: prediction-powered, PPI++."""
    micro: PoweredMean | None = None
    """The figure `micro` if people had labelled all answers: prediction-powered, PPI++."""
    weighted: Flag = absent(False)
    """Whether the labelled answers were drawn with different chances, for which these figures allow."""
    drawn_otherwise: Count = absent(0)
    """Questions with labels that do not count, because their answers belong to another sample."""
    corrected: CorrectedRate | None = None
    """The rate over all questions, corrected for the errors of the judge: Rogan and Gladen, with the
    interval of Lang and Reiczigel."""
    why_not_overall: str | None = absent()
    """Why `overall` is null."""
    why_not_corrected: str | None = absent()
    """Why there is no `corrected`."""

    @property
    def brief(self) -> str:
        """Say the corrected mean, or why it is not known."""
        shown = self.overall or self.micro
        if shown is None:
            return self.why or ""
        halving = shown.to_halve
        more = "" if halving is None else f", and {halving} more labels would halve the interval"
        return f"{_bounded(shown)} if corrected by the labels of people{more}"

    @property
    def sentence(self) -> str:
        """Say what the mean would be if people had judged all answers, or why that is not known."""
        shown = self.overall or self.micro
        if shown is None:
            return self.why or "not known"
        over = "the mean" if self.overall else "the mean over all questions"
        by_judge = "" if shown.judge is None else f" instead of {shown.judge:.3f} by the judge alone"
        drawn = "weighted by the chances with which they were drawn, " if self.weighted else ""
        text = (
            f"people have labelled answers to {shown.labels} of {shown.labels + shown.unlabelled} questions;"
            f" if they had labelled all, {over} would be {_bounded(shown)}{by_judge} (prediction-powered,"
            f" PPI++, {drawn}with lambda {shown.weight:.2f} as the weight of the judge)"
        )
        more = "labels on all answers would not" if shown.to_halve is None else f"{shown.to_halve} more would"
        text += f"; {more} halve the interval"
        if self.why_not_overall:
            text += f"; {self.why_not_overall}"
        if self.drawn_otherwise:
            text += f"; labels on {self.drawn_otherwise} more, which belong to another sample, do not count"
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


class JudgeCheck(Part):
    """How well a judge agreed with people when it was last checked."""

    judge: str = absent("")
    """The judge."""
    balanced_accuracy: Number | None = None
    """Mean of sensitivity and specificity."""
    low: Number | None = None
    """Lower end of its 95 % interval."""
    high: Number | None = None
    """Upper end of its 95 % interval."""
    least: Number | None = absent(None)
    """What it is at least, with 98.75 % confidence."""
    n: Count = 0
    """Number of labels by people."""
    labels: str | None = None
    """The file with the labels."""
    people: Flag = absent(False)
    """Whether the judge is a person, who is checked against nobody; absent for other judges."""

    @property
    def sentence(self) -> str:
        """Say how well the judge agrees with people."""
        if self.people:
            return "a person"
        if self.balanced_accuracy is None:
            return "never checked against people"
        return f"balanced accuracy {self.balanced_accuracy:.2f} against people (n = {self.n})"


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


class MetricFigures(Part):
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

    direction: Literal["higher", "lower"] = "higher"
    """Which values are better."""
    unit: str = "share"
    """Unit of the values; a `share` is in [0, 1]."""
    pooling: Literal["categories", "questions", "counts", "f1", "mean-of-ratios"] = "categories"
    """How the scores become one figure: the mean of the category means (`categories`), the mean over the
    questions (`questions`), a ratio of counts added up over all answers (`counts`), the F1 of two such
    ratios (`f1`), or their mean (`mean-of-ratios`). Absent in runs of earlier versions."""
    headline: Flag = False
    """Whether tables show the metric without being asked to."""
    judge: str | None = None
    """The judge whose verdicts the metric rests on."""
    prompts: tuple[str, ...] = ()
    """The prompts by which the judge was asked, each with its version, or that it is the user's own;
    absent for a judge without prompts."""
    checked: JudgeCheck = Field(default_factory=JudgeCheck)
    """How well such verdicts of the judge agreed with people; absent if that was never checked."""
    rules: str | None = None
    """Fingerprint of what decides the values; figures with equal rules can be compared."""
    missing: str | None = None
    """What the run lacks, if the metric applies to none of its answers."""
    judged: JudgedItems | None = absent()
    """Of a metric that rests on a judge: how much of it was judged."""
    people: PeopleFigures | None = absent()
    """Of a metric that rests on a judge: what the labels of people make of it."""
    until: StoppedEarly | None = absent()
    """Of a metric that was judged for a part of the questions on purpose: for how many, and the interval."""
    splits: Flag = False
    cells: tuple[Json, ...] = ()
    """The cells of the cross table of a metric that has one, with the answers in each; absent
    otherwise."""
    group: str | None = absent()
    """The table of their own in which reports show metrics that are computed wherever they apply:
    `retrieval`. Absent for other metrics."""
    parts: dict[str, MetricFigure] = Field(default_factory=dict)
    """Figures of parts, such as the hops of a question (`hop 1`) or the modalities of its evidence
    (`modality table`): means over the questions that have the part. Absent where there are none."""
    counted: dict[str, Count] = Field(default_factory=dict)
    """What a reader of the figures must know, as counts over the run, such as retrieved chunks without a
    page. Absent where there is nothing to count."""
    overall: MetricFigure = Field(default_factory=MetricFigure)
    """Over the whole run."""
    micro: MetricFigure = Field(default_factory=MetricFigure)
    """Over all questions, each weighted equally."""
    categories: dict[str, MetricFigure] = Field(default_factory=dict)
    """Figures by category."""
    asked: Flag = False
    """Whether the run was scored by the metric on request, beyond the set `fathoms`."""
    profile: str | None = absent()
    """The profile whose correctness and labels the values depend on; absent where they depend on none."""

    @property
    def judge_sentence(self) -> str | None:
        """The judge and its prompts, with their versions, and for how many questions it was asked if not for
        all; `None` without a judge."""
        text = f"{self.judge} (prompts {', '.join(self.prompts)})" if self.prompts else self.judge
        return f"{text}; {self.until.sentence}" if self.until else text

    def cell(self, category: str) -> MetricFigure:
        """Return the figure of a category, unknown if the metric applies to none of its questions."""
        return self.categories.get(category, MetricFigure())


class AbstentionCounts(Part):
    """How many questions were answered, and how many were abstained from."""

    NEEDED: ClassVar = ("answered", "abstained")

    answered: Count = 0
    """Answers that say something."""
    abstained: Count = 0
    """Answers that abstain or are empty."""


class AbstentionTable(Part):
    """The abstention counts of answerable and of unanswerable questions."""

    answerable: AbstentionCounts | None = absent()
    """The answerable questions."""
    unanswerable: AbstentionCounts | None = absent()
    """The unanswerable questions."""

    @property
    def lines(self) -> dict[str, AbstentionCounts]:
        """The lines of the table that are known, by name."""
        lines = {"answerable": self.answerable, "unanswerable": self.unanswerable}
        return {name: line for name, line in lines.items() if line is not None}


class AbstentionShares(Part):
    """The abstention counts of some questions as shares; null where there is no answer."""

    answered: Share | None = None
    """Share of the answers that say something."""
    abstained: Share | None = None
    """Share of the answers that abstain or are empty."""


class AbstentionRates(Part):
    """Coverage and selective accuracy, each with the number of answers in its denominator."""

    answerable: AbstentionShares | None = None
    """The answerable questions."""
    unanswerable: AbstentionShares | None = None
    """The unanswerable questions."""
    coverage: Share | None = None
    """Share of answerable questions that were answered, failed calls and refusals left out; null where
    there are none."""
    selective_accuracy: Share | None = None
    """Share of fully correct answers among the answered questions; null where nothing was answered."""
    coverage_n: Count | None = absent()
    """Denominator of coverage: number of answers."""
    selective_accuracy_n: Count | None = absent()
    """Denominator of selective accuracy: number of answers."""
    intervals: dict[str, Bounds | None] = Field(default_factory=dict)
    """95 % interval per rate, for other questions on the same documents; `n` counts questions, not
    repeats."""

    def bounds(self, rate: str) -> tuple[Number, Number] | None:
        """Return the interval of a rate, `None` if it is not known."""
        found = self.intervals.get(rate)
        return found.pair if found else None


class FunnelStage(Part):
    """Mean phrase recall at a stage of the funnel over `n` questions, and what was lost and gained since the
    stage before over `compared` questions."""

    recall: Share | None = None
    """Mean phrase recall."""
    n: Count = 0
    """Questions behind `recall`."""
    lost: Share | None = None
    """Mean phrase recall lost at this stage."""
    gained: Share | None = None
    """Mean phrase recall gained at this stage."""
    compared: Count = 0
    """Questions behind `lost` and `gained`, for which this stage and the one before it are known."""


class OverallStage(FunnelStage):
    """The means of the categories at a stage of the funnel, with the number of categories behind them."""

    categories: Count | None = absent()
    """In `overall` only: number of categories behind `recall`."""
    compared_categories: Count | None = absent()
    """In `overall` only: number of categories behind `lost` and `gained`."""

    @model_serializer(mode="wrap")
    def _with_means_first(self, handler: SerializerFunctionWrapHandler) -> Json:
        found: Json = handler(self)
        return {key: found.pop(key) for key in ("recall", "lost", "gained") if key in found} | found


class FunnelStages(Part):
    """The four stages of the funnel in one category."""

    documents: FunnelStage = Field(default_factory=FunnelStage)
    retrieved: FunnelStage = Field(default_factory=FunnelStage)
    prompt: FunnelStage = Field(default_factory=FunnelStage)
    answer: FunnelStage = Field(default_factory=FunnelStage)

    def at(self, stage: str) -> FunnelStage:
        """Return a stage by its name."""
        found: FunnelStage = getattr(self, stage)
        return found


class OverallStages(FunnelStages):
    """The four stages of the funnel over all categories."""

    documents: OverallStage = Field(default_factory=OverallStage)
    retrieved: OverallStage = Field(default_factory=OverallStage)
    prompt: OverallStage = Field(default_factory=OverallStage)
    answer: OverallStage = Field(default_factory=OverallStage)

    def at(self, stage: str) -> OverallStage:
        """Return a stage by its name."""
        found: OverallStage = getattr(self, stage)
        return found


class RunFunnel(Part):
    """The retrieval funnel of a run. `left_out` counts the questions left out by reason, and `estimate` is
    the parser of the documents' text where the pipeline read another text."""

    overall: OverallStages = Field(default_factory=OverallStages)
    """Unweighted means of the categories."""
    categories: dict[str, FunnelStages] = Field(default_factory=dict)
    """By category."""
    left_out: dict[str, Count] = Field(default_factory=dict)
    """Questions left out of all figures, by reason: unanswerable, yes-no, computed, common."""
    chance: Share | None = None
    """Mean share of the documents other than the gold ones that contain a complete answer."""
    estimate: str | None = None
    """The parser whose text represents the documents, where it is not the text that the pipeline read."""


class ProfileFigures(Part):
    """The figures of a run under one profile, with the rules behind them."""

    NEEDED: ClassVar = ("overall", "categories")

    match: str | None = None
    """How phrases are matched: substring or word."""
    hyphens: str | None = None
    """Where hyphens are read as spaces: both, or in the answer only."""
    set_aside: tuple[str, ...] | None = None
    """The kinds of parts that are no part of what an answer says, such as citations and lists of sources;
    null where the raw answer is scored. Absent in runs scored by earlier versions, which scored the raw
    answer."""
    classifier: Json | str | None = None
    """Options of the classifier that distinguishes abstentions from statements; null for released
    scores."""
    classifier_key: str | None = None
    """Fingerprint of everything that decides the classifier's labels: options, cues, exemplars, embedder
    and weights; null for released scores. Absent in runs scored by earlier versions."""
    overall: Overall = Field(default_factory=Overall)
    """Over all categories."""
    categories: dict[str, Means] = Field(default_factory=dict)
    """By category; categories without a question are absent."""
    labels: dict[str, Count] = Field(default_factory=dict)
    """Answers by label: statement, abstention (does not know), refusal (will not say), empty. Absent for
    released scores."""
    abstention_table: AbstentionTable = Field(default_factory=AbstentionTable)
    """Counts of answers by answerable or not and answered or not; failed questions are left out. Absent
    for released scores."""
    abstention_rates: AbstentionRates | None = None
    """Rates computed from the abstention table. Absent for released scores."""
    funnel: RunFunnel | None = None
    """Retrieval funnel: the stages where answers were lost; absent where only the answers are known, and
    for released scores."""

    @property
    def judges_labels(self) -> bool:
        """Whether the judge of the run says which answers abstain."""
        return isinstance(self.classifier, dict) and self.classifier.get("kind") == "judge"
