"""The nouns of fathoms, as frozen values that go through every room unchanged.

Pages are physical pages, counted from 1. Scores are `None` where a metric does not apply, never 0.
Gold is bound to pages of PDFs (`Evidence`), never to chunks, so every parser and chunker is scored on
the same truth. Stored values ignore keys they do not know: a newer run stays readable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Box = tuple[float, float, float, float]


class Noun(BaseModel):
    """A frozen value that is stored in runs and caches."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Element(Noun):
    """One layout element of a page; `bbox` is (x0, y0, x1, y1) in points from the top left."""

    kind: Literal["text", "table", "picture", "formula", "code"]
    text: str = ""
    bbox: Box | None = None


class Page(Noun):
    """One physical page; `number` counts from 1."""

    number: int = Field(ge=1)
    text: str
    elements: tuple[Element, ...] = ()
    image: Path | None = None


class Document(Noun):
    """A PDF as parsed. `id` is its file name, `warnings` what the parser had to repair or skip, `page_count`
    how many pages the file has where `pages` are fewer.

    `native` is the parser's own form of it, where it has one that a chunker reads (Docling's JSON); it is
    kept in the cache and never in a run.
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
        """All pages, joined by an empty line."""
        return "\n\n".join(page.text for page in self.pages)


class Attachment(Noun):
    """A PDF that goes to the model as the file itself, whole or some pages of it cut out as a file.

    `path` and `sha256` are of the very bytes that are sent, `size` counts them; `pages` are those of
    `document`.
    """

    document: str
    pages: tuple[int, ...]
    path: Path
    sha256: str
    size: int


class Chunk(Noun):
    """A piece of one document that is retrieved as a whole.

    `pages` is empty where they are not known. `header` is what the chunker says of its place (file, page):
    it is indexed with the text, and shown to the model where the prompt asks for it. `image` is a rendering
    that a model with vision is shown, `file` a PDF that is attached; the text of an attached file is not
    known, for the vendor reads it. `dropped` counts the characters that were cut off its end; `whole` is
    false where only the beginning of the text is known and nobody says how much follows.
    """

    id: str
    document: str
    pages: tuple[int, ...]
    modality: Literal["text", "image", "file"] = "text"
    text: str = ""
    header: str = ""
    image: Path | None = None
    file: Attachment | None = None
    dropped: int = 0
    whole: bool = True

    @property
    def indexed(self) -> str:
        """What an index makes of it: header and text."""
        return f"{self.header}\n\n{self.text}" if self.header else self.text


class Evidence(Noun):
    """Where a gold answer stands: a page of a document, or a quote in it."""

    document: str
    page: int | None = Field(default=None, ge=1)
    quote: str | None = None
    bbox: Box | None = None


class Question(Noun):
    """One question. `answers` is any-of (outer) lists of all-of phrases (inner)."""

    id: str
    text: str
    category: str
    files: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    reference: str | None = None
    evidence: tuple[Evidence, ...] = ()
    hops: int | None = None
    answerable: bool = True


class Hit(Noun):
    """A retrieved chunk; `rank` counts from 1, a higher `score` is better."""

    chunk: Chunk
    score: float
    rank: int = Field(ge=1)


class Message(Noun):
    """One turn of a chat; `files` (PDFs) and then `images` (PNG or JPEG) stand before the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Path, ...] = ()
    files: tuple[Attachment, ...] = ()


class Cut(Noun):
    """Context that did not fit the token budget: `dropped` of `length` characters of one chunk."""

    chunk: str
    dropped: int
    length: int


class Prompt(Noun):
    """What the model is sent. `context` is the packed context alone; `tokens` the model's own count of
    the messages, `budget` the most they may take; both `None` where nobody can tell. `parts` are what was
    asked before, each with some of the files, and answered: this prompt merges them."""

    messages: tuple[Message, ...]
    context: str = ""
    cuts: tuple[Cut, ...] = ()
    tokens: int | None = None
    budget: int | None = None
    parts: tuple[Part, ...] = ()


class Usage(Noun):
    """Tokens as the server counted them; `None` where it did not say.

    `prompt_tokens` holds `cached_tokens` (read from the vendor's cache) and `cache_write_tokens`,
    `completion_tokens` holds `reasoning_tokens`, however the vendor adds them up.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Reply(Noun):
    """What the model said. `reasoning` is kept apart and never scored; seconds to the first token of a
    streamed reply (`first_token`) and to the last (`latency`).

    `refusal` says why where the vendor or the model refused or a content filter stepped in: `text` is then
    what there was until then. `model` is the model that the server names. `prompt_cut` says that the server
    read less than it was sent; `None` where nobody can tell.
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


class Part(Noun):
    """A prompt with some of the files of a question, and its reply."""

    prompt: Prompt
    reply: Reply


class Failure(Noun):
    """Why a question has no answer: the class of the error and its message; of an answer over HTTP its
    status, and the seconds after which the server asks to try again."""

    kind: str
    message: str
    status: int | None = None
    retry_after: float | None = None


class Record(Noun):
    """One question asked once: the unit of the journal. Either `answer` or `error` is set.

    `timings` are seconds by stage (`retrieve`, `prompt`, `generate`); `fingerprints` name the state of
    every stage that made it. `repeat` counts from 0, `seed` is that of its sampling, `None` where none was
    set. `hits` are `None` where a pipeline does not tell what it retrieved, `citations`
    are the places that the answer itself names, `None` where nobody asked for any. `released` holds scores
    that came with imported results.
    """

    question: Question
    repeat: int = 0
    seed: int | None = None
    attempts: int = 1
    hits: tuple[Hit, ...] | None = ()
    prompt: Prompt | None = None
    answer: Reply | None = None
    error: Failure | None = None
    citations: tuple[Evidence, ...] | None = None
    timings: dict[str, float] = {}
    fingerprints: dict[str, str] = {}
    released: dict[str, float | None] = {}
    finished: str | None = None


class Verdict(Noun):
    """One judgement: does `premise` support `claim`? For abstention the claim is the answer."""

    claim: str
    premise: str
    label: str
    why: str | None = None


class Score(Noun):
    """One metric's value for one record; `None` means that it does not apply."""

    question: str
    metric: str
    value: float | None
    repeat: int = 0
    why: dict[str, object] = {}
