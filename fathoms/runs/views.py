"""The question files of a run (`questions/<id>.json`): making them, and reading them as typed values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError
from typing_extensions import TypedDict  # pydantic refuses that of `typing` before Python 3.12

from fathoms.errors import StoreError
from fathoms.paths import old_unique_name, safe_name
from fathoms.runs.folder import read_checked
from fathoms.runs.question_lines import file_names, find_lines, read_lines
from fathoms.types import (
    Call,
    Citation,
    Cut,
    Failure,
    Heatmap,
    Hit,
    KnownName,
    PageBox,
    Prompt,
    Question,
    Quote,
    Record,
    Reply,
    StoredValue,
    TraceIds,
)
from fathoms.types.run.part import Json, misfit
from fathoms.types.run.summary import JudgingCost

Number = int | float  # unlike `float` alone, this keeps 1 apart from 1.0
_View = TypeVar("_View", bound=StoredValue)


_CUT_OUT = re.compile(r"#p\d+-(figure|table)\d+$")
"""The end of the id of a figure or table that was cut out of its page."""
_PROMPT = [name for name, field in Prompt.model_fields.items() if name != "context" and not field.exclude]
"""What is shown of a prompt whose context is a part of its message."""


class AttachedFile(StoredValue):
    """Pages of a PDF that were sent with a message."""

    document: Any = None
    pages: tuple[Any, ...] = ()


class ShownPiece(StoredValue):
    """A text of a chat message, the path of an image, or an attached PDF, as `kind` says."""

    kind: str
    text: str = ""
    image: str = ""
    file: AttachedFile = AttachedFile()


class ShownMessage(StoredValue):
    """A chat message with the paths of its images and its attached PDFs.

    `parts` are its texts, images and files in order. They are empty if the message has the usual order:
    files, images, text.
    """

    role: str
    text: str
    images: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    parts: tuple[ShownPiece, ...] = ()


class ShownPrompt(StoredValue):
    """A prompt as sent, like `Prompt`; `context` is empty where it is a part of a message."""

    messages: tuple[ShownMessage, ...] = ()
    context: str = ""
    cuts: tuple[Cut, ...] = ()
    tokens: int | None = None
    budget: int | None = None
    parts: tuple[ShownPart, ...] = ()


class ShownPart(StoredValue):
    """An earlier request with some of a question's files, and its reply."""

    prompt: ShownPrompt
    reply: Reply


class ShownHit(StoredValue):
    """A retrieved chunk; `rank` and the numbers of the pages count from 1. `heatmap` is of its first page.
    `image` is the picture of a figure or table by itself, and `gold` says of a candidate quote whether it is
    gold; both are `None` for other chunks."""

    rank: int
    score: Number
    document: KnownName
    pages: tuple[int, ...]
    modality: str = ""
    boxes: tuple[PageBox, ...] = ()
    header: str = ""
    text: str
    heatmap: Heatmap | None = None
    image: Path | None = None
    gold: bool | None = None

    @property
    def source(self) -> str:
        """The name of the document, or words that say that it is not known."""
        return self.document or "unknown document"


class ShownRound(StoredValue):
    """A round of retrieval: the search text, the number of calls to models (`None` where unknown), and what
    it found."""

    query: str = ""
    calls: int | None = None
    hits: tuple[ShownHit, ...] = ()


class AnswerFunnel(StoredValue):
    """Phrase recall of one answer at each stage of the funnel, with what each stage lost and gained.

    `missed` maps each phrase that the answer lacks to the stage that lost it. `left_out` says why the
    question does not count in the funnel of the run.
    """

    documents: Number | None = None
    retrieved: Number | None = None
    prompt: Number | None = None
    answer: Number | None = None
    lost: dict[str, Number] = Field(default_factory=dict)
    gained: dict[str, Number] = Field(default_factory=dict)
    missed: dict[str, str] = Field(default_factory=dict)
    left_out: str | None = None

    def recall(self, stage: str) -> Number | None:
        """Return the recall at a stage, `None` if it is not known."""
        found: Number | None = getattr(self, stage)
        return found


class AnswerScores(StoredValue):
    """The scores of one answer under one profile; `None` where a metric does not apply."""

    correctness: Number | None = None
    hallucination: Number | None = None
    abstained: bool | None = None
    abstention: str | None = None
    missed: tuple[str, ...] | None = None
    why: Json | None = None
    funnel: AnswerFunnel | None = None

    @property
    def shown(self) -> tuple[Number | None, Number | None, bool | None]:
        """The correctness, the hallucination, and whether the answer abstained: what reviewers judge."""
        return self.correctness, self.hallucination, self.abstained


class MetricScore(StoredValue):
    """The score of one answer by one metric; see `types.Score`. `ratio` are the numerator and the denominator
    of a metric that adds up counts over all answers."""

    value: Number | None = None
    n: int = 1
    parts: dict[str, Number | None] = Field(default_factory=dict)
    why: Json = Field(default_factory=dict)
    ratio: tuple[Number, Number] | None = None


class ComparedClaim(StoredValue):
    """A claim with the label of the verdict that decided about it, and the place of its premise.

    `premises` is the number of premises that it was compared with, `sentence` the number of its sentence from
    0, and `p` the judge's probability that the premise supports it. `quote` are the words of the premise that
    the judge says have decided. `why` says why a verdict is missing or could not be read.
    """

    claim: str
    label: str
    p: Number | None = None
    premise: str | None = None
    premises: int = 0
    sentence: int | None = None
    quote: str | None = None
    why: str | None = None


class Comparison(StoredValue):
    """The claims of the answer or of the gold answer (`of`) and what they were compared with (`by`)."""

    of: str
    by: str
    claims: tuple[ComparedClaim, ...] = ()


class ComparedClaims(StoredValue):
    """The judged claims of one answer and of its gold answer, and what judging them took."""

    compared: tuple[Comparison, ...] = ()
    judging: JudgingCost = JudgingCost()


class ScoredRepeat(StoredValue):
    """The question asked once: at most one of `answer` and `error` is set, and neither where it was only
    searched for. `scores` are by profile, `metrics` by the
    name of the metric, and `claims` are `None` where no claim was judged.

    `hits` is `None` where the pipeline does not report what it retrieved, and `timings` are seconds by stage.
    """

    repeat: int = 0
    seed: int | None = None
    attempts: int = 1
    hits: tuple[ShownHit, ...] | None = None
    rounds: tuple[ShownRound, ...] = ()
    prompt: ShownPrompt | None = None
    answer: Reply | None = None
    error: Failure | None = None
    calls: tuple[Call, ...] = ()
    citations: tuple[Citation, ...] | None = None
    timings: dict[str, Number] = Field(default_factory=dict)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    finished: str | None = None
    trace: TraceIds | None = None
    scores: dict[str, AnswerScores] = Field(default_factory=dict)
    metrics: dict[str, MetricScore] = Field(default_factory=dict)
    claims: ComparedClaims | None = None

    @property
    def only_searched(self) -> bool:
        """Whether the question was only searched for."""
        return self.answer is None and self.error is None

    def value(self, metric: str, profile: str) -> Number | None:
        """Return the value of any metric; those of FATHOMS-RAG are taken from the scores under a profile."""
        if (read := _IN_PROFILE.get(metric)) is not None:
            return read(self.under(profile))
        found = self.metrics.get(metric)
        return found.value if found else None

    def ratio(self, metric: str) -> tuple[Number, Number] | None:
        """Return the numerator and the denominator of a metric that adds up counts, `None` for any other."""
        found = self.metrics.get(metric)
        return found.ratio if found else None

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

    repeat: int = 0
    answer: Reply | None = None
    error: Failure | None = None
    scores: dict[str, BriefScores] = Field(default_factory=dict)
    metrics: dict[str, BriefValue] = Field(default_factory=dict)

    def under(self, profile: str) -> BriefScores:
        """Return the scores under a profile, empty scores if there are none."""
        return self.scores.get(profile) or _NO_BRIEF_SCORES

    def value(self, metric: str) -> Number | None:
        """Return the value of a metric that is not stored with a profile."""
        found = self.metrics.get(metric)
        return found.get("value") if found else None


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
        return tuple(repeat.value(metric, profile) for repeat in self.repeats)


def view_of(
    record: Record, scores: Mapping[str, Any], metrics: Mapping[str, Any], claims: Mapping[str, Any]
) -> Json:
    """One record as its question file shows it: the answer, its scores by profile and by its other metrics
    and its judged claims first, then how it was produced. Writing it as JSON converts the values of types of
    fathoms in it."""
    whole = dict(vars(record))
    left_out = [name for name in ("service", "rounds", "trace", "retries") if not whole[name]]
    for name in ("question", "released", *left_out):
        del whole[name]
    quotes = {f"{record.question.id}#{quote.id}": quote for quote in record.question.quotes}
    shown = partial(_shown_hit, quotes=quotes)
    whole["hits"] = record.hits and list(map(shown, record.hits))
    if record.rounds:
        whole["rounds"] = [
            {"query": one.query, "calls": one.calls, "hits": list(map(shown, one.hits))}
            for one in record.rounds
        ]
    if record.prompt and any(record.prompt.context in one.text for one in record.prompt.messages):
        # it is a part of the message
        prompt = vars(record.prompt)
        # pydantic takes twice as long to call the method of a message by itself
        messages = [message.stored() for message in record.prompt.messages]
        whole["prompt"] = {name: prompt[name] for name in _PROMPT} | {"messages": messages}
    first = {key: whole.pop(key) for key in ("repeat", "answer", "error")}
    return {**first, "scores": scores, "metrics": metrics, **({"claims": claims} if claims else {}), **whole}


def _shown_hit(hit: Hit, quotes: Mapping[str, Quote]) -> Json:
    """One hit as a question file shows it. `quotes` are the candidate quotes of the question by the ids of
    their chunks."""
    chunk, quote = hit.chunk, quotes.get(hit.chunk.id)
    image = chunk.image if quote or _CUT_OUT.search(chunk.id) else None  # and not of a whole page
    if quote is not None and image is None:  # the model read its description
        image = quote.image
    return (
        {"rank": hit.rank, "score": hit.score, "document": chunk.document}
        | {"pages": list(chunk.pages), "modality": chunk.modality}
        | ({"header": chunk.header} if chunk.header else {})
        | ({"boxes": chunk.boxes} if chunk.boxes else {})
        | {"text": chunk.text}
        | ({"heatmap": hit.heatmap} if hit.heatmap else {})
        | ({"image": image} if image else {})
        | ({"gold": quote.gold} if quote else {})
    )


def view_names(question: str) -> tuple[str, str]:
    """The name of a question's file under `questions/`, and its name in runs of earlier versions."""
    return f"{safe_name(question, unique=True)}.json", f"{old_unique_name(question)}.json"


def read_views(root: Path, asked: Sequence[str] = ()) -> Iterator[Json]:
    """Yield the JSON of every question of a run: first the questions `asked`, in their order, then any others
    by the name of their file, or of a large run in the order in which they were answered.

    Raises StoreError for what is damaged, for a file that has the name of another question, and for two lines
    of one question, because a question would then be counted twice.
    """
    in_lines: set[str] = set()
    for view in read_lines(root):
        if (id := view["question"]["id"]) in in_lines:
            raise StoreError(
                f"{root / 'questions'} holds the question '{id}' twice: run 'fathoms score {root}'"
            )
        in_lines.add(id)
        yield view
    if in_lines:  # a scoring that did not end can leave files beside them
        yield from (view for view in _read_files(root, asked) if view["question"]["id"] not in in_lines)
    else:
        yield from _read_files(root, asked)


def _read_files(root: Path, asked: Sequence[str]) -> Iterator[Json]:
    """Yield the JSON of the files that hold one question each."""
    order = {name: number for number, id in enumerate(asked) for name in view_names(id)}
    paths = (root / "questions").glob("*.json")
    for path in sorted(paths, key=lambda path: (order.get(path.name, len(order)), path.name)):
        view = read_checked(root, f"questions/{path.name}", "question")
        name, old = view_names(view["question"]["id"])
        if path.name == old != name and os.path.lexists(path.with_name(name)):
            continue  # there is a newer file with the current name
        if path.name not in (name, old):
            raise StoreError(f"{path} holds a question whose file is {name}: 'fathoms score' sets it aside")
        yield view


def find_views(root: Path, questions: Collection[str], asked: Sequence[str]) -> Iterator[Json]:
    """Yield the JSON of some questions of a run, from lines and from files that hold one question each.
    Raises StoreError for what is damaged."""
    if file_names(root):
        yield from find_lines(root, questions, asked)
    for question in questions:
        for name in view_names(question):
            if os.path.lexists(root / "questions" / name):
                yield read_checked(root, f"questions/{name}", "question")


def scored_question(view: Json) -> ScoredQuestion:
    """Convert the JSON of a question file; raises StoreError if it cannot be used."""
    return _converted(ScoredQuestion, view)


def brief_question(view: Json) -> BriefQuestion:
    """Convert what tables need of a question file; raises StoreError if it cannot be used."""
    return _converted(BriefQuestion, view)


def _converted(kind: type[_View], view: Json) -> _View:
    """Convert the JSON of a question file; raises StoreError."""
    try:
        return kind.model_validate(view)
    except ValidationError as error:
        raise StoreError(f"question '{view['question']['id']}' cannot be used: {misfit(error)}") from None
