"""The data types of fathoms: frozen values that all parts of the program exchange and store.

Page numbers are physical pages of the PDF, counted from 1. A score is `None` where a metric does not apply,
never 0. Gold evidence refers to pages of PDFs (`Evidence`), never to chunks, so that every parser and chunker
is scored against the same gold. Unknown keys of stored values are ignored, so that runs of newer versions
stay readable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Box = tuple[float, float, float, float]
Scalar = str | bool | int | float | None


class StoredValue(BaseModel):
    """Base class of the frozen values that are stored in runs and caches."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Element(StoredValue):
    """A layout element of a page. `bbox` is (x0, y0, x1, y1) in points from the top left corner."""

    kind: Literal["text", "table", "picture", "formula", "code"]
    text: str = ""
    bbox: Box | None = None


class Page(StoredValue):
    """A physical page of a document; `number` counts from 1."""

    number: int = Field(ge=1)
    text: str
    elements: tuple[Element, ...] = ()
    image: Path | None = None


class Document(StoredValue):
    """A parsed PDF. `id` is its file name, `warnings` lists what the parser had to repair or skip, and
    `page_count` is the number of pages in the file where `pages` holds fewer.

    `native` is the parser's native output where a chunker reads it (Docling's JSON). It is stored in the
    cache and never in a run.
    """

    id: str
    path: Path
    sha256: str
    pages: tuple[Page, ...]
    warnings: tuple[str, ...] = ()
    page_count: int | None = None
    native: str | None = Field(default=None, exclude=True, repr=False)

    @property
    def text(self) -> str:
        """The text of all pages, joined by empty lines."""
        return "\n\n".join(page.text for page in self.pages)


class Attachment(StoredValue):
    """A PDF that is sent to the model as a file, either whole or as some of its pages cut out.

    `pages` are page numbers of `document`. `path` and `sha256` are of the file as it is sent, and `size` is
    its size in bytes.
    """

    document: str
    pages: tuple[int, ...]
    path: Path
    sha256: str
    size: int


class PageBox(StoredValue):
    """A box on a page: `bbox` is (x0, y0, x1, y1) in points from the top left corner of the page."""

    page: int = Field(ge=1)
    bbox: Box


class Chunk(StoredValue):
    """A piece of one document that is retrieved as a whole.

    `pages` is empty where the pages are not known. `boxes` are the places of the layout elements that the
    chunk is made of, in reading order; empty where the parser does not know them. `header` describes the
    chunk's place (file, page); it is indexed with the text, and shown to the model where the prompt template
    asks for it. `image` is a rendered page for vision models, `file` an attached PDF; an attached file has no
    text, because the vendor reads it. `dropped` counts the characters cut off the end of the text. `whole` is
    false where only the beginning of the text is known and the number of missing characters is not.
    """

    id: str
    document: str
    pages: tuple[int, ...]
    boxes: tuple[PageBox, ...] = ()
    modality: Literal["text", "image", "file"] = "text"
    text: str = ""
    header: str = ""
    image: Path | None = None
    file: Attachment | None = None
    dropped: int = 0
    whole: bool = True

    @property
    def indexed(self) -> str:
        """The text that retrievers index: the header, if there is one, and the text."""
        return f"{self.header}\n\n{self.text}" if self.header else self.text


class Evidence(StoredValue):
    """The place of gold evidence: a document, with a page or a quote in it where known. `step` is the number
    of the hop that it supports in a multi-hop question, from 1."""

    document: str
    page: int | None = Field(default=None, ge=1)
    quote: str | None = None
    bbox: Box | None = None
    step: int | None = Field(default=None, ge=1)


class Quote(StoredValue):
    """A candidate quote of a question: a passage or a picture that an answer may rest on.

    `gold` says whether the answer rests on it; the others are distractors. The `text` of an image is what is
    written in it, `description` describes it, and `image` is its path, relative to the folder of the question
    file.
    """

    id: str
    modality: Literal["text", "image"] = "text"
    text: str = ""
    description: str = ""
    image: Path | None = None
    document: str | None = None
    page: int | None = Field(default=None, ge=1)
    gold: bool = False


class Question(StoredValue):
    """One question of a data set. `answers` lists the accepted variants; each variant is a list of
    phrases that must all occur in the model's answer. Without `answers`, there is no correctness.

    `reference` is the gold answer in running text, `short_answer` and `long_answer` the same at two lengths,
    and `reference_claims` the single statements of the gold answer. `metadata` is free, and its keys can
    group the figures of a report.
    """

    id: str
    text: str
    category: str
    files: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    reference: str | None = None
    evidence: tuple[Evidence, ...] = ()
    hops: int | None = None
    answerable: bool = True
    short_answer: str | None = None
    long_answer: str | None = None
    reference_claims: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    metadata: dict[str, Scalar] = {}

    def __hash__(self) -> int:
        return hash((self.id, self.text))  # `metadata` cannot be hashed


class Hit(StoredValue):
    """A retrieved chunk. `rank` counts from 1, and a higher `score` is better."""

    chunk: Chunk
    score: float
    rank: int = Field(ge=1)


class Message(StoredValue):
    """One chat message. Its `files` (PDFs) come first, then its `images` (PNG or JPEG), then its text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Path, ...] = ()
    files: tuple[Attachment, ...] = ()


class Cut(StoredValue):
    """A chunk that did not fit the token budget: `dropped` of its `length` characters were left out."""

    chunk: str
    dropped: int
    length: int


class Prompt(StoredValue):
    """The prompt that is sent to the model. `context` is the packed context alone. `tokens` is the model's
    own count of the messages and `budget` the most they may take; both are `None` where unknown. Where the
    attached files needed several requests, `parts` are the earlier prompts and their replies, which this
    prompt merges."""

    messages: tuple[Message, ...]
    context: str = ""
    cuts: tuple[Cut, ...] = ()
    tokens: int | None = None
    budget: int | None = None
    parts: tuple[Part, ...] = ()


class Usage(StoredValue):
    """Token counts as the server reports them; `None` where it does not.

    `prompt_tokens` includes `cached_tokens` (read from the vendor's cache) and `cache_write_tokens`, and
    `completion_tokens` includes `reasoning_tokens`, whichever way the vendor itself adds them up.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Reply(StoredValue):
    """The model's reply. `reasoning` is stored apart and never scored. `first_token` is the seconds to the
    first token of a streamed reply, `latency` the seconds to the last one.

    `refusal` is the reason where the vendor, the model or a content filter refused; `text` is then what was
    generated before. `model` is the model that the server names. `cost` is in US dollars. `prompt_cut` says
    that the server read less than it was sent; `None` where that is unknown.
    """

    text: str
    reasoning: str = ""
    stop_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    cost: float | None = None
    first_token: float | None = None
    latency: float | None = None
    cached: bool = False
    prompt_cut: bool | None = None


class Part(StoredValue):
    """A prompt with some of a question's files, and its reply."""

    prompt: Prompt
    reply: Reply


class Failure(StoredValue):
    """Why a question has no answer: the class name of the error and its message. For an HTTP response also
    its status, and the seconds after which the server asks to be called again."""

    kind: str
    message: str
    status: int | None = None
    retry_after: float | None = None


class Citation(StoredValue):
    """One place that an answer cites.

    `ranks` are the ranks of the hits that the citation names; it is empty where the citation names none that
    was retrieved. A citation that a pipeline reports beside its answer has a `document`. One that is written
    in the answer has a `label`, the reference as written (`2`, `image1`, `a.pdf, p. 4`), the `span` of the
    marker with its brackets, and the span of the `sentence` that it supports. Spans are the offsets of the
    first character and of the one after the last, in the text of the answer.
    """

    document: str | None = None
    page: int | None = Field(default=None, ge=1)
    quote: str | None = None
    bbox: Box | None = None
    ranks: tuple[int, ...] = ()
    label: str | None = None
    span: tuple[int, int] | None = None
    sentence: tuple[int, int] | None = None


class Record(StoredValue):
    """The result of asking one question once, stored as one line of the journal. Either `answer` or `error`
    is set.

    `repeat` counts from 0; `seed` is its sampling seed, `None` where none is set. `hits` is `None` where an
    external pipeline does not report what it retrieved. `citations` are the places that the answer itself
    cites: those that the pipeline reports, then those written in the answer. They are `None` where that is
    unknown. `timings` are seconds per stage (`retrieve`, `prompt`,
    `generate`), and `fingerprints` identify the state of every stage that produced the record. `released`
    holds scores that were published with imported results.
    """

    question: Question
    repeat: int = 0
    seed: int | None = None
    attempts: int = 1
    hits: tuple[Hit, ...] | None = ()
    prompt: Prompt | None = None
    answer: Reply | None = None
    error: Failure | None = None
    citations: tuple[Citation, ...] | None = None
    timings: dict[str, float] = {}
    fingerprints: dict[str, str] = {}
    released: dict[str, float | None] = {}
    finished: str | None = None


class Verdict(StoredValue):
    """One judgement: whether `premise` supports `claim`. For abstention the claim is the answer."""

    claim: str
    premise: str
    label: str
    why: str | None = None


class Score(StoredValue):
    """The value of one metric for one record; `None` means that the metric does not apply."""

    question: str
    metric: str
    value: float | None
    repeat: int = 0
    why: dict[str, object] = {}
