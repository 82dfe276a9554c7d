"""The rows of a run: a question with its answers, as its file shows them (`questions/<id>.json`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import (
    Any,
    NotRequired,  # pydantic refuses that of `typing` before Python 3.12
)

from pydantic import Field
from typing_extensions import TypedDict

from fathoms.types import (
    Call,
    Citation,
    Cut,
    Failure,
    Heatmap,
    KnownName,
    PageBox,
    Question,
    Reply,
    ServiceReply,
    StoredValue,
    ToolCall,
    TraceIds,
    Usage,
)
from fathoms.types.run.part import Amount, Count, Json, Number, Positive, Share, absent
from fathoms.types.run.summary import JudgingCost


class AttachedFile(StoredValue):
    """Pages of a PDF that were sent with a message."""

    document: Any = None
    pages: tuple[Any, ...] = ()


class ShownPiece(StoredValue):
    """A text of a chat message, the path of an image, or an attached PDF, as `kind` says."""

    kind: str
    """text, image or file."""
    text: str = ""
    """The text, of a text."""
    image: str = ""
    """The path, of an image."""
    file: AttachedFile = AttachedFile()
    """The attached PDF, of a file; as under `files`."""


class ShownMessage(StoredValue):
    """A chat message with the paths of its images and its attached PDFs.

    `parts` are its texts, images and files in order. They are empty if the message has the usual order:
    files, images, text.
    """

    role: str
    """Role of the message: system, user or assistant."""
    text: str
    """Text of the message."""
    images: tuple[str, ...] = ()
    """Images (paths). They precede the text, unless there are `parts`."""
    files: tuple[AttachedFile, ...] = ()
    """Attached PDFs: document, pages, path, and the sha256 and size of the file as sent. They precede
    the images, unless there are `parts`."""
    parts: tuple[ShownPiece, ...] = ()
    """The texts, images and files in the order in which they were sent. Present only in a message with
    another order than files, images, and one text. `text` then holds all texts, joined by line
    breaks."""


class ShownPrompt(StoredValue):
    """A prompt as sent, like `Prompt`; `context` is empty where it is a part of a message."""

    messages: tuple[ShownMessage, ...] = ()
    """The chat messages, in order."""
    context: str = ""
    """The packed context alone."""
    cuts: tuple[Cut, ...] = ()
    """Context that did not fit the token budget."""
    tokens: Count | None = None
    """Tokens of the messages as the model counts them."""
    budget: Count | None = None
    """The most tokens the messages may take."""
    parts: tuple[ShownPart, ...] = ()
    """Where the files needed several requests, or each document was asked by itself: the prompt and reply of
    each earlier request, which this prompt merges."""


class ShownPart(StoredValue):
    """An earlier request with some of a question's files, or about one `document`, and its reply."""

    prompt: ShownPrompt
    reply: Reply
    document: KnownName = None
    """The document that was asked by itself; absent for a part of the attached files."""
    nothing: bool = False
    """true if the reply says that the document does not help, so that it was not combined; absent
    otherwise."""
    error: Failure | None = None
    """Why the document has no reply; absent where it has one."""

    @property
    def state(self) -> str:
        """What came of asking the document: `combined`, `nothing found`, or the error."""
        return (
            f"failed: {self.error.message}" if self.error else "nothing found" if self.nothing else "combined"
        )


class ShownHit(StoredValue):
    """A retrieved chunk; `rank` and the numbers of the pages count from 1. `heatmap` is of its first page.
    `image` is the picture of a figure or table by itself, and `gold` says of a candidate quote whether it is
    gold; both are `None` for other chunks."""

    rank: Positive
    """Position, from 1."""
    score: Number
    """The retriever's own score; higher is better."""
    document: KnownName
    """File name of the document; null where the pipeline did not say it."""
    pages: tuple[Positive, ...]
    """The pages that the piece is taken from."""
    modality: str = ""
    """text, image (a page as a picture) or file (an attached PDF, whose text is not known)."""
    boxes: tuple[PageBox, ...] = ()
    """Where on the pages the piece is; absent where the parser does not know it."""
    header: str = ""
    """The chunker's description of the chunk's place. It is indexed, and counted as retrieved, together
    with the text. Absent where there is none."""
    text: str
    """The text of the piece."""
    heatmap: Heatmap | None = None
    """How well each patch of the page picture matches the question; absent where the retriever does not
    tell."""
    image: Path | None = None
    """The picture of a figure, a table or a picture quote by itself; absent for other pieces."""
    gold: bool | None = None
    """Whether a candidate quote is gold; absent for other pieces."""

    @property
    def source(self) -> str:
        """The name of the document, or words that say that it is not known."""
        return self.document or "unknown document"


class ShownRound(StoredValue):
    """A round of retrieval: the search text, the number of calls to models (`None` where unknown), and what
    it found."""

    query: str = ""
    """The search text; empty where it is not known."""
    calls: Count | None = None
    """Number of calls to models that the round took; null where unknown."""
    hits: tuple[ShownHit, ...] = ()
    """What the round found, best first; each as under `repeats[].hits`."""


class AnswerFunnel(StoredValue):
    """Phrase recall of one answer at each stage of the funnel, with what each stage lost and gained.

    `missed` maps each phrase that the answer lacks to the stage that lost it. `left_out` says why the
    question does not count in the funnel of the run.
    """

    documents: Share | None = None
    """Phrase recall of the gold answer in the gold documents as parsed, or in their gold pages."""
    retrieved: Share | None = None
    """Phrase recall in what was retrieved."""
    prompt: Share | None = None
    """Phrase recall in the context of the prompt, after packing."""
    answer: Share | None = None
    """Phrase recall in the answer: the correctness."""
    lost: dict[str, Share] = Field(default_factory=dict)
    """Phrase recall that each stage lost against the one before it, where both are known."""
    gained: dict[str, Share] = Field(default_factory=dict)
    """Phrase recall that each stage gained over the one before it, where both are known."""
    missed: dict[str, str] = Field(default_factory=dict)
    """Phrases that the answer lacks."""
    left_out: str | None = None
    """Why the question is left out of the funnel's figures: unanswerable, no-phrases, yes-no,
    computed or common."""

    def recall(self, stage: str) -> Number | None:
        """Return the recall at a stage, `None` if it is not known."""
        found: Number | None = getattr(self, stage)
        return found


class AnswerScores(StoredValue):
    """The scores of one answer under one profile; `None` where a metric does not apply."""

    correctness: Share | None = None
    """Highest share of a variant's phrases found in the answer; 0 for a failed question, null for an
    unanswerable one."""
    hallucination: Share | None = None
    """1 for an answer that is neither fully right nor an abstention, else 0; null where the question
    failed."""
    abstained: bool | None = None
    """Whether the answer is an abstention or empty; null for a refusal and where the question
    failed."""
    abstention: str | None = None
    """What the answer was classified as: statement, abstention, empty or refusal; null where the
    question failed."""
    matched: tuple[str, ...] | None = None
    """Gold phrases that were found."""
    missed: tuple[str, ...] | None = None
    """Phrases of the best variant that were not found."""
    why: Json | None = None
    """Basis of the classification: `clause` and `reason`, or `nearest` exemplar and `cosine`."""
    funnel: AnswerFunnel | None = None
    """Retrieval funnel: the stage where the answer was lost; null where only the answer is known, and
    for released scores."""

    @property
    def shown(self) -> tuple[Number | None, Number | None, bool | None]:
        """The correctness, the hallucination, and whether the answer abstained: what reviewers judge."""
        return self.correctness, self.hallucination, self.abstained


class MetricScore(TypedDict, total=False):
    """The score of one answer by one metric; see `types.Score`. `ratio` are the numerator and the denominator
    of a metric that adds up counts over all answers."""

    value: Number | None
    """The score, in the unit of the metric; null where the metric does not apply."""
    n: Count
    """Number of items behind the value, 1 if absent."""
    parts: dict[str, Number | None]
    """Named figures from which the value was made."""
    why: Json
    """Reason for the value; `lacks` names what the record lacks."""
    ratio: list[Number] | None
    """The numerator and the denominator of a metric that adds up counts over all answers."""


class Decided(TypedDict):
    """The verdict that decided about a claim."""

    label: str
    """The label of the verdict that decided: one that supports the claim, else one that is missing
    (failed) or unparsed, else a contradiction, else any."""
    p: NotRequired[Number | None]
    """The judge's probability that the premise supports the claim."""
    premise: NotRequired[str | None]
    """The premise that decided, such as 'hit 3' or 'a.pdf, page 4'; null if there was none."""
    why: NotRequired[str | None]
    """Why a verdict is missing or could not be read, or what the judge could not read."""
    quote: NotRequired[str | None]
    """The words of the premise that decided, as the judge says; only where they stand there word by
    word."""


class ListedClaim(Decided):
    """A claim with the verdict that decided about it."""

    claim: str
    """The text of the claim."""


class ComparedClaim(ListedClaim):
    """A claim with the label of the verdict that decided about it, and the place of its premise.

    `premises` is the number of premises that it was compared with, `sentence` the number of its sentence from
    0, and `p` the judge's probability that the premise supports it. `quote` are the words of the premise that
    the judge says have decided. `why` says why a verdict is missing or could not be read.
    """

    premises: NotRequired[Count]
    """How many premises the claim was compared with."""
    sentence: NotRequired[Count | None]
    """The number of its sentence in the text, from 0; absent where unknown."""


class Comparison(TypedDict):
    """The claims of the answer or of the gold answer (`of`) and what they were compared with (`by`)."""

    of: str
    """Whose claims: answer or gold."""
    by: str
    """What they were compared with, such as retrieved (each retrieved text or picture), context (all of
    them together), cited sources, gold answer, gold pages or answer."""
    claims: list[ComparedClaim]
    """The claims, in the order of the text."""


class ComparedClaims(TypedDict, total=False):
    """The judged claims of one answer and of its gold answer, and what judging them took."""

    compared: list[Comparison]
    """The claims of the answer or of the gold answer, by what they were compared with."""
    judging: JudgingCost
    """What the verdicts on these claims and the lists of claims took."""


class ScoredRepeat(StoredValue):
    """The question asked once: at most one of `answer` and `error` is set, and neither where it was only
    searched for. `scores` are by profile, `metrics` by the
    name of the metric, and `claims` are `None` where no claim was judged.

    `hits` is `None` where the pipeline does not report what it retrieved, and `timings` are seconds by stage.
    """

    repeat: Count = 0
    """Number of the repeat, from 0."""
    seed: int | None = None
    """The seed of its sampling; null where none was set."""
    attempts: Count = 1
    """How often the model was called until there was an answer or the last failure."""
    hits: tuple[ShownHit, ...] | None = None
    """The retrieved chunks, best first; null where the pipeline does not report them."""
    rounds: tuple[ShownRound, ...] = ()
    """The rounds of retrieval, in order: those that a pipeline reports, or one per search text of query
    expansion. Absent where there are none."""
    tools: tuple[ToolCall, ...] = ()
    """The calls of tools, in order. Absent where there are none."""
    prompt: ShownPrompt | None = None
    """What was sent to the model; null where nothing was sent."""
    answer: Reply | None = None
    """The model's reply; null where the question failed or was only searched for."""
    error: Failure | None = None
    """Why there is no answer, or why the search failed; null where neither failed."""
    calls: tuple[Call, ...] = ()
    """Calls to models besides the answer itself, such as the grades of a reranker."""
    citations: tuple[Citation, ...] | None = None
    """The places that the answer cites: those that the pipeline reports, then those written in the
    answer; null where that is unknown."""
    timings: dict[str, Amount] = Field(default_factory=dict)
    """Seconds by stage: retrieve, expand or rerank (where a language model does it), prompt,
    generate."""
    fingerprints: dict[str, str] = Field(default_factory=dict)
    """Fingerprints of the stages that produced the answer."""
    finished: str | None = None
    """Time when the answer was complete, ISO 8601 in UTC."""
    trace: TraceIds | None = None
    """Ids that an external pipeline was sent with the question, as W3C Trace Context has them. Absent
    where none were sent."""
    scores: dict[str, AnswerScores] = Field(default_factory=dict)
    """Scores by profile (paper, released-code, fathoms, or released for scores that came with imported
    results). Empty until the run is scored."""
    metrics: dict[str, MetricScore] = Field(default_factory=dict)
    """Scores by every metric whose scores do not depend on a profile, by the name of the metric. Empty
    until the run is scored."""
    claims: ComparedClaims | None = None
    """The claims that a judge judged for the metrics of this answer, each with the verdict that
    decided. Absent where no claim was judged."""

    retries: tuple[str, ...] = ()
    """Why each request but the first was sent."""
    service: ServiceReply | None = None
    """What is known of the reply of an external pipeline besides the answer."""

    @property
    def only_searched(self) -> bool:
        """Whether the question was only searched for."""
        return self.answer is None and self.error is None

    def value(self, metric: str, profile: str) -> Number | None:
        """Return the value of any metric; those of FATHOMS-RAG are taken from the scores under a profile."""
        if (read := _IN_PROFILE.get(metric)) is not None:
            return read(self.under(profile))
        found = self.metrics.get(metric)
        return found.get("value") if found else None

    def ratio(self, metric: str) -> tuple[Number, Number] | None:
        """Return the numerator and the denominator of a metric that adds up counts, `None` for any other."""
        found = self.metrics.get(metric)
        ratio = found.get("ratio") if found else None
        return (ratio[0], ratio[1]) if ratio else None

    def under(self, profile: str) -> AnswerScores:
        """Return the scores under a profile, empty scores if there are none."""
        return self.scores.get(profile) or _NO_SCORES


_NO_SCORES = AnswerScores()


class BriefScores(StoredValue):
    """What a table shows of the scores of one answer under one profile."""

    correctness: Number | None = None
    hallucination: Number | None = None
    abstained: bool | None = None


class BriefValue(TypedDict, total=False):
    """The value of one metric for one answer; a class of its own would take three times as long to read."""

    value: Number | None


class BriefRepeat(StoredValue):
    """What a table shows of the question asked once; the fields are those of `ScoredRepeat`."""

    repeat: Count = 0
    answer: Reply | None = None
    error: Failure | None = None
    scores: dict[str, BriefScores] = Field(default_factory=dict)
    metrics: dict[str, BriefValue] = Field(default_factory=dict)

    def under(self, profile: str) -> BriefScores:
        """Return the scores under a profile, empty scores if there are none."""
        return self.scores.get(profile) or _NO_BRIEF_SCORES


_NO_BRIEF_SCORES = BriefScores()


class BriefQuestion(StoredValue):
    """A question of a run with what tables show of its repeats. Reading it takes half the time of reading a
    `ScoredQuestion`."""

    question: Question
    repeats: tuple[BriefRepeat, ...] = ()


def _abstained(scores: AnswerScores) -> Number | None:
    """1 for an abstention, 0 for a statement."""
    return None if scores.abstained is None else int(scores.abstained)


def _recall_at(stage: str) -> Callable[[AnswerScores], Number | None]:
    """Read the recall at a stage of the funnel."""
    return lambda scores: scores.funnel.recall(stage) if scores.funnel else None


_IN_PROFILE: dict[str, Callable[[AnswerScores], Number | None]] = {
    "correctness": lambda scores: scores.correctness,
    "hallucination": lambda scores: scores.hallucination,
    "abstention": _abstained,
    **{f"recall-in-{stage}": _recall_at(stage) for stage in ("documents", "retrieved", "prompt")},
}


class ScoredQuestion(StoredValue):
    """A question of a run with all its repeats."""

    question: Question
    repeats: tuple[ScoredRepeat, ...] = ()

    def values(self, metric: str, profile: str) -> tuple[Number | None, ...]:
        """Return the value of a metric for each repeat; abstention applies to answerable questions alone."""
        if metric == "abstention" and not self.question.answerable:
            return (None,) * len(self.repeats)
        return tuple([repeat.value(metric, profile) for repeat in self.repeats])


class FileUsage(Usage):
    """The tokens of a reply, which no sum of can be infinite."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class FileReply(Reply):
    """The reply to a question as its file must have it."""

    usage: FileUsage = Field(default_factory=FileUsage)
    cost: Amount | None = None
    first_token: Amount | None = None
    latency: Amount | None = None


class FileCall(Call):
    """A call besides the answer as its file must have it."""

    attempts: Count = 1
    usage: FileUsage = Field(default_factory=FileUsage)
    cost: Amount | None = None
    seconds: Amount = 0.0


class FileRepeat(ScoredRepeat):
    """A repeat as its file must have it: answered, failed, or only searched for."""

    repeat: Count
    answer: FileReply | None
    error: Failure | None
    calls: tuple[FileCall, ...] = ()


class QuestionFile(StoredValue):
    """One question with everything known about it: gold answer, retrieved context, prompt, answer and scores
    of every repeat."""

    version: Count = Field(alias="schema")
    """Version of this schema. A file of a later version must be refused."""
    run: str
    """Id of the run: the name of its directory."""
    question: Question
    """The question with its gold."""
    repeats: tuple[FileRepeat, ...]
    """Once for every time that the question was asked."""
    crc: str | None = absent()
    """CRC-32 of all bytes of the line or file before the comma in front of this key, in hexadecimal."""
