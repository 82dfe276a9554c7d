"""The summary of a scored run (`summary.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from fathoms.types.run.figures import (
    JudgeCheck,
    Means,
    MeanScores,
    MetricFigure,
    MetricFigures,
    ProfileFigures,
)
from fathoms.types.run.manifest import PurposeUsage
from fathoms.types.run.part import (
    SCHEMA,
    Amount,
    Count,
    Flag,
    Number,
    Part,
    Positive,
    Whole,
    absent,
    known_cost,
)


class TokenTotals(Part):
    """Tokens of a whole run as counted by the servers, without cached replies."""

    prompt_tokens: Count | None = None
    """Tokens of all prompts; null where any is unknown."""
    completion_tokens: Count | None = None
    """Tokens of all answers; null where any is unknown."""


class JudgingCost(Part):
    """The number of verdicts and of lists of claims that a judge gave, and what they took together: tokens,
    US dollars and seconds, `None` where unknown."""

    verdicts: Count = 0
    """Number of verdicts."""
    lists: Count = 0
    """Number of texts that a model split into claims."""
    prompt_tokens: Count | None = None
    """Tokens of the prompts; null where unknown."""
    completion_tokens: Count | None = None
    """Tokens of the replies; null where unknown."""
    cost: Amount | None = None
    """US dollars; null where unknown."""
    seconds: Amount | None = None
    """Seconds of the calls; null where unknown."""


class ClaimsFigures(Part):
    """How texts were split into claims, and what is known of this way of splitting."""

    decomposer: str | None = None
    """What split the texts."""
    sentence: str = "how the claims were split is not known"
    """What is known of this way of splitting."""


class JudgingFigures(Part):
    """The judge of a run, what judging took at the last scoring, its check against people (`checked`, `None`
    if there was none), and how texts were split into claims, `None` if none were. `kept` is what all results
    took on which the figures rest. Of `unjudged` answers, a part has no verdict."""

    judge: str | None = absent()
    """Kind and model of the judge."""
    key: str | None = absent()
    """Fingerprint of everything that decides its verdicts."""
    checked: JudgeCheck | None = None
    """How well the judge agreed with people when it was last checked; null if it never was."""
    claims: ClaimsFigures | None = None
    """What the verdicts on claims took; null where no claim was judged."""
    asked: Count = 0
    """Calls of this scoring."""
    found: Count = 0
    """Results that the run held before."""
    failed: Count = 0
    """Calls that failed; they are made again when the run is scored again."""
    retried: Count = 0
    """Calls of this scoring that took more than one request. Absent where none did."""
    retries: dict[str, Count] = Field(default_factory=dict)
    """Requests of this scoring that were sent again, by cause, as in `retries` of the run. Absent where
    none was."""
    cost: Number | None = None
    """US dollars of this scoring; null where unknown."""
    over_budget: Flag = False
    """Whether judging was stopped by its budget."""
    total_cost: Number | None = None
    """US dollars of all verdicts and lists of claims that the figures rest on; null where unknown."""
    verdicts: dict[str, Count] = Field(default_factory=dict)
    """Number of verdicts by label."""
    kept: JudgingCost | None = absent()
    """What all results took on which the figures rest, those of earlier scorings included."""
    unjudged: Count = 0
    """Answers that partly have no verdict, because a call failed, its reply could not be read, or the
    budget was used up."""


def _retried(number: int | None, calls: int | None, what: str, causes: Mapping[str, int]) -> str:
    """Say how many calls were retried, with the causes; empty where none was."""
    listed = ", ".join(f"{cause} x {count}" for cause, count in causes.items())
    return f"{number} of {calls} {what} retried{listed and f': {listed}'}" if number else ""


class Counts(Part):
    """Counts of questions and answers; answers and errors count once per repeat. `searched` are questions
    that were only searched for. `same` are the answers that are one text although their questions have
    different gold answers, and `unended` those without a finish reason, `None` where it is not known.
    `retried` are those of the `calls` of models or services that took more than one request."""

    questions: Count | None = absent()
    """Questions in the data set."""
    asked: Count | None = absent()
    """Questions that were to be asked."""
    unanswered: Count | None = absent()
    """Questions with neither an answer nor a failure yet, for example in a run that was stopped."""
    answered: Count | None = absent()
    """Answers; each repeat counts."""
    searched: Count | None = absent()
    """Questions that were only searched for, without asking a model for an answer; each repeat counts.
    Metrics of answers do not apply to them."""
    errors: Count | None = absent()
    """Questions that failed."""
    refused: Count | None = absent()
    """Answers that the model or its vendor refused or a filter blocked. They count as answered, but in no
    cell of the abstention table."""
    unanswerable: Count | None = absent()
    """Questions asked that the documents do not answer."""
    cut_prompts: Count | None = absent()
    """Prompts that did not fit and were cut."""
    cut_by_server: Count | None = absent()
    """Answers to a prompt that the server read only in part."""
    cached: Count | None = absent()
    """Answers that came from the cache."""
    reasoned: Count | None = absent()
    """Answers with reasoning before them. Absent in runs of earlier versions."""
    empty: Count | None = absent()
    """Answers that are empty or hold only reasoning. Absent in runs of earlier versions."""
    markup: Count | None = absent()
    """Answers that are a page of HTML, such as that of a login. Absent in runs of earlier versions."""
    same: Count | None = absent()
    """Answers that are one and the same text, in whatever case and spacing, although no gold answer is
    that of half of their questions or more: those of the most frequent such text. Absent with fewer than
    5 answers, and in runs of earlier versions."""
    unended: Count | None = absent()
    """Answers without a finish reason, whose text may have been cut. Absent where the pipeline never
    gives one, and in runs of earlier versions."""
    calls: Count | None = absent()
    """Calls of models and services: the answer of a question is one, and each call besides it is another;
    those of a judge are left out. Absent in runs of earlier versions."""
    retried: Count | None = absent()
    """Calls that took more than one request. Absent in runs of earlier versions."""

    @property
    def rubbish(self) -> list[str]:
        """What more than half of the answers are that no pipeline means to answer: empty, a page of markup,
        or one text for all questions."""
        kinds = {
            f"{self.empty} empty": self.empty,
            f"{self.markup} pages of HTML": self.markup,
            f"{self.same} with the same text": self.same,
        }
        return [what for what, count in kinds.items() if 2 * (count or 0) > (self.answered or 0)]

    @property
    def suspicions(self) -> list[str]:
        """What a reader of the scores must know about the replies, in sentences."""
        found = []
        if self.rubbish:
            found.append(
                f"most of the {self.answered} answers look wrong ({', '.join(self.rubbish)}): look at them"
                " with 'fathoms show RUN' before you believe the scores"
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


class Seconds(Part):
    """The wall time of a run, and the mean time of a question in each stage; `stages` has the figures with
    their intervals, and `total` for all stages together."""

    wall: Amount | None = None
    """Wall-clock seconds of the whole run; null where unknown."""
    retrieve: Amount | None = None
    """Mean seconds of retrieval per question."""
    expand: Amount | None = None
    """Mean seconds of expansion by a language model per question, with the searches for its texts; absent
    where none does it."""
    rerank: Amount | None = None
    """Mean seconds of reranking by a language model per question; absent where none does."""
    describe: Amount | None = None
    """Mean seconds of describing pages by a model that sees per question, descriptions from the cache
    included; absent where none does."""
    extract: Amount | None = None
    """Mean seconds of asking each document by itself per question; absent where none is."""
    prompt: Amount | None = None
    """Mean seconds of building the prompt per question."""
    generate: Amount | None = None
    """Mean seconds of waiting for the model per question."""
    stages: dict[str, MetricFigure] = Field(default_factory=dict)
    """Mean seconds of a question, by stage and for all stages together (`total`). Repeats are averaged
    within their question, and answers from the cache are left out."""

    @property
    def by_stage(self) -> dict[str, MetricFigure]:
        """The figures of the stages; runs scored by earlier versions have only the means."""
        means = {name: getattr(self, name) for name in ("retrieve", "rerank", "prompt", "generate")}
        old = {name: MetricFigure(value=mean) for name, mean in means.items() if mean is not None}
        return self.stages or old


class ServiceFigures(Part):
    """What the replies of an external pipeline say about it; see `runs.service`."""

    replies: Count = 0
    """Number of replies."""
    unmatched: dict[str, Count] = Field(default_factory=dict)
    """Number of replies in which a path of the mapping matched nothing, by path."""
    unknown: dict[str, Count] = Field(default_factory=dict)
    """Number of names of documents that are no document of the data set, by name."""
    versions: dict[str, Count] = Field(default_factory=dict)
    """Number of replies by the version that the service stated."""
    warnings: tuple[str, ...] = ()
    """All of this in sentences."""


class CurvePoint(Part):
    """A point of a curve of recall: at rank `k`, or with so many `tokens` of retrieved text."""

    k: Count | None = None
    """The rank."""
    tokens: Count | None = None
    """So many tokens of retrieved text."""
    value: Number | None = None
    """The recall; null where no question applies."""
    low: Number | None = None
    """Lower end of the 95 % interval; null if there is none."""
    high: Number | None = None
    """Upper end of the 95 % interval; null if there is none."""
    n: Count = 0
    """Number of questions."""

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class RecallCurves(Part):
    """Recall over ranks and over tokens; see `metrics.retrieval.curves`."""

    level: str = "page"
    """Whether the gold is pages, documents or quotes."""
    by_rank: tuple[CurvePoint, ...] = ()
    """Recall of the gold among the first pages, by rank."""
    by_tokens: tuple[CurvePoint, ...] | None = ()
    """Recall of the gold in the first hits with at most so many tokens of text; null where texts are not
    known."""
    characters_per_token: Number | None = None
    """That of the prompts of the run, or an estimate."""
    estimated: bool = True
    """Whether it is an estimate."""


class SearchSeconds(Part):
    """Mean seconds of the search for one question, with its interval over blocks of questions."""

    value: Number | None = None
    """The mean."""
    low: Number | None = None
    """Lower end of the 95 % interval; null if there is none."""
    high: Number | None = None
    """Upper end of the 95 % interval; null if there is none."""
    n: Count = 0
    """Number of questions."""
    blocks: Count = 0
    """Number of blocks of questions that were searched for together."""

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class RetrievalFigures(Part):
    """Figures of the search of a run; `seconds` only of runs that only searched."""

    seconds: SearchSeconds = Field(default_factory=SearchSeconds)
    """Mean seconds of the search for a question, with a 95 % interval over the blocks of questions that
    were searched for together (null for too few blocks). Only for runs that only searched."""
    curves: RecallCurves | None = absent()
    """Recall of the gold pages (or documents or quotes: `level`) among the first k (`by_rank`) and in the
    first hits with at most so many tokens of text (`by_tokens`, null where texts are not known), each
    point with value, low, high and n. `characters_per_token` is that of the prompts of the run, or an
    estimate (`estimated`)."""


class Correlation(Part):
    """A correlation coefficient with its interval."""

    value: Number | None = None
    low: Number | None = None
    """Lower end of the 95 % interval; null if there is none."""
    high: Number | None = None
    """Upper end of the 95 % interval; null if there is none."""


class LengthGroup(Part):
    """The mean support of a group of answers by length, with its interval and its number of questions."""

    shortest: Number = 0
    """Words of the shortest answer."""
    longest: Number = 0
    """Words of the longest answer."""
    value: Number | None = None
    """The mean; null where no answer has one."""
    low: Number | None = None
    """Lower end of the 95 % interval; null if there is none."""
    high: Number | None = None
    """Upper end of the 95 % interval; null if there is none."""
    method: str | None = None
    """Method of the interval."""
    n: Count = 0
    """Number of questions."""


class LengthSupport(Part):
    """How one kind of support goes with the length of answers; see `metrics.length_support`."""

    n: Count = 0
    spearman: Correlation = Field(default_factory=Correlation)
    groups: tuple[LengthGroup, ...] = ()


class NewQuestions(Part):
    """The question file that a run was scored by instead of its own questions; `corrected` have another gold
    answer in it, and `kept` are scored by that of the run. `written_ids` is as in `Data`."""

    file: str | None = absent()
    """The name of the file."""
    sha256: str | None = absent()
    """sha256 of the file."""
    corrected: tuple[str, ...] = ()
    """Ids in the run of the questions whose gold answer is another than that of the run."""
    kept: tuple[str, ...] = ()
    """Ids of the questions that were scored by the gold answer of the run, because the file does not have
    them, or with another text."""
    written_ids: Flag | None = absent()
    """Whether the ids of all questions of the run stand in the file that it was made with, as far as
    known."""
    own_categories: tuple[str, ...] = ()
    """The categories of the questions that were scored by the gold answer of the run."""


class Summary(Part):
    """The content of `summary.json`. `profile` is the headline profile, `cost` is in US dollars, and `errors`
    counts the failed calls by kind. `retrieval_only` says that nobody was asked for an answer. `questions`
    are `None` where the run is scored by its own."""

    NEEDED: ClassVar = (
        *("schema", "run", "name", "model", "data", "profile"),
        *("complete", "incomplete", "categories", "counts", "profiles"),
    )

    version: Whole = Field(SCHEMA, alias="schema")
    """Version of this schema. A file of a later version must be refused."""
    run: str = ""
    """Id of the run: the name of its directory."""
    name: str | None = absent()
    """The name of the configuration."""
    model: str | None = None
    """The model that answered."""
    data: str | None = None
    """Name of the data set."""
    profile: str | None = absent()
    """The profile whose figures are the headline; a key of `profiles`."""
    complete: Flag = False
    """False where a question or a category of the data set is missing."""
    incomplete: tuple[str, ...] = ()
    """Reasons why the run is not complete, one sentence each."""
    categories: tuple[str, ...] = ()
    """All categories of the data set, in its order."""
    warnings: tuple[str, ...] = ()
    """Parts of the run that could not be used, one sentence each; for example damaged lines of the
    journal."""
    counts: Counts = Field(default_factory=Counts)
    """Counts of questions and answers. Answers and errors count once per repeat."""
    retries: dict[str, Count] = Field(default_factory=dict)
    """Requests that were sent again, by cause: the status of the response before, `timeout`, `no answer`,
    or `rate limit`. Absent where none was, and in runs of earlier versions."""
    repeats: Positive = 1
    """How many times every question was asked."""
    retrieval_only: Flag = False
    """True where the run only searched and nobody was asked for an answer: only figures of retrieval
    apply, and `correctness` and `hallucination` are null."""
    prices: str | None = None
    """The package, with its version, whose list prices are used where the configuration gives no
    price."""
    profiles: dict[str, ProfileFigures] = Field(default_factory=dict)
    """The figures under each profile of scoring."""
    usage: TokenTotals = Field(default_factory=TokenTotals)
    """Tokens of the whole run as counted by the servers, without cached replies."""
    cost: Amount | None = None
    """Cost of the whole run in US dollars, without cached replies; null where any part is unknown."""
    usage_by_purpose: dict[str, PurposeUsage] = Field(default_factory=dict)
    """The same totals by what a model was called for: `answer`, `expand`, `rerank`, `describe`. Absent
    where only answers were asked for."""
    seconds: Seconds = Field(default_factory=Seconds)
    """Seconds: wall-clock time of the whole run, and the mean per question in each stage."""
    errors: dict[str, Count] = Field(default_factory=dict)
    """Failed questions by kind of error."""
    service: ServiceFigures = Field(default_factory=ServiceFigures)
    """What the replies of an external pipeline say about it. Absent where there is nothing to say."""
    judging: JudgingFigures | None = absent()
    """The judge of the metrics that need one, and what judging took. Absent where no metric needs a
    judge."""
    metrics: dict[str, MetricFigures] = Field(default_factory=dict)
    """The figures of every metric whose scores do not depend on a profile, by the name of the metric.
    Absent from runs that were scored before metrics had names."""
    length_against_support: dict[str, LengthSupport] = Field(default_factory=dict)
    """How faithfulness goes with the length of answers, by metric of faithfulness: `n` questions,
    Spearman's rank correlation (`spearman`, with `low` and `high`), and the mean faithfulness in up to
    four `groups` by length, each with its `shortest` and `longest` answer in words. Absent where the run
    was not scored by `answer-length` and a metric of faithfulness."""
    retrieval: RetrievalFigures = Field(default_factory=RetrievalFigures)
    """Figures of the search; absent where no question has gold pages or documents and known hits, and
    answers were asked for."""
    questions: NewQuestions | None = absent()
    """The question file by which the answers were scored instead of by the questions of the run (`fathoms
    score --questions`); absent where these were used."""
    crc: str | None = absent()
    """CRC-32 of all bytes of the file before the comma in front of this key, in hexadecimal."""

    @property
    def judges_labels(self) -> bool:
        """Whether the judge says which answers abstain, under the headline profile."""
        found = self.profiles.get(str(self.profile))
        return found is not None and found.judges_labels

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
    def headline(self) -> MeanScores:
        """The means under the headline profile, all unknown if the run has no such scores."""
        figures = self.profiles.get(self.profile or "")
        return figures.overall if figures else Means()
