"""The data types of fathoms: frozen values that all parts of the program exchange and store.

Page numbers are physical pages of the PDF, counted from 1. A score is `None` where a metric does not apply,
never 0. Gold evidence refers to pages of PDFs (`Evidence`), never to chunks, so that every parser and chunker
is scored against the same gold. Unknown keys of stored values are ignored, so that runs of newer versions
stay readable.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)

Box = tuple[float, float, float, float]


def in_one_form(name: str) -> str:
    """Return the name of a document in the form in which names are compared: Unicode has two spellings of
    letters with marks, and a file system may give another one than somebody types (NFD and NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


DocumentName = Annotated[str, AfterValidator(in_one_form)]
"""The name of a document, in the form in which all names are compared."""
KnownName = Annotated[DocumentName | None, BeforeValidator(lambda name: name or None)]
"""The name of a document, `None` where it is not known; the empty name of earlier runs is read as unknown."""
Place = tuple[str, int]
"""A page of a document: the document's id, and the number of the page from 1."""
Scalar = str | bool | int | float | None
LOST_TEXT = "text may be missing"
"""Part of every warning which says that a parser may have lost text of a file."""
PDF = ".pdf"
WITHOUT_PAGES = frozenset({".docx", ".htm", ".html"})
"""The suffixes of documents that are not divided into pages: all of their text is on page 1."""
OFFICE = WITHOUT_PAGES | {".pptx"}
"""The suffixes of office and web documents; the pages of a PPTX file are its slides."""

TRANSCRIPTS = frozenset({".srt", ".vtt"})
"""The suffixes of recordings: of a transcript and its frames, a PDF is made whose pages are stretches of
time."""


def has_pages(document: str) -> bool:
    """Return whether a document, given by its id, is divided into pages, so that gold pages apply to it."""
    return Path(document).suffix.lower() not in WITHOUT_PAGES


class StoredValue(BaseModel):
    """Base class of the frozen values that are stored in runs and caches."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


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
    """A parsed document. `id` is its file name, `warnings` lists what the parser had to repair or skip, and
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


class DocumentFacts(StoredValue):
    """What a run states of a parsed document. `pages` is their number, 0 where somebody else reads the
    document, and `text` the hash under which runs store its text, `None` if it was not made yet."""

    id: DocumentName
    sha256: str
    pages: int = 0
    warnings: tuple[str, ...] = ()
    text: str | None = None


class Attachment(StoredValue):
    """A PDF that is sent to the model as a file, either whole or as some of its pages cut out.

    `pages` are page numbers of `document`. `path` and `sha256` are of the file as it is sent, and `size` is
    its size in bytes.
    """

    document: DocumentName
    pages: tuple[int, ...]
    path: Path
    sha256: str
    size: int


class PageBox(StoredValue):
    """A box on a page: `bbox` is (x0, y0, x1, y1) in points from the top left corner of the page."""

    page: int = Field(ge=1)
    """Physical page."""
    bbox: Box
    """x0, y0, x1, y1 in points from the top left of the page."""


class CutOut(StoredValue):
    """A figure or a table that is cut out of the picture of its page: `bbox` is (x0, y0, x1, y1) in points
    from the top left corner of the page. `number` counts those of its kind on the page, from 1, in reading
    order. `text` is that of the layout element, such as the cells of a table."""

    page: int = Field(ge=1)
    kind: Literal["picture", "table"]
    number: int = Field(ge=1)
    bbox: Box
    text: str = ""

    @property
    def name(self) -> str:
        """A name within the document, such as `p3-table1` or `p3-figure2`."""
        return f"p{self.page}-{'figure' if self.kind == 'picture' else 'table'}{self.number}"


class Chunk(StoredValue):
    """A piece of one document that is retrieved as a whole.

    `document` is `None` where it is not known, as of a text that a service returns without its place. `pages`
    is empty where the pages are not known. `boxes` are the places of the layout elements that the chunk is
    made of, in reading order; empty where the parser does not know them. `header` describes the chunk's place
    (file, page); it is indexed with the text, and shown to the model where the prompt template asks for it.
    `image` is a rendered page for vision models, `file` an attached PDF; an attached file has no text,
    because the vendor reads it. `dropped` counts the characters cut off the end of the text. `whole` is
    false where only the beginning of the text is known and the number of missing characters is not.
    """

    id: str
    document: KnownName
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
    def source(self) -> str:
        """The name of the document, empty where it is not known."""
        return self.document or ""

    @property
    def indexed(self) -> str:
        """The text that retrievers index: the header, if there is one, and the text."""
        return f"{self.header}\n\n{self.text}" if self.header else self.text

    @property
    def places(self) -> tuple[Place, ...]:
        """The pages that the chunk covers, in order; empty if they are not known.

        A piece of text covers every page with a part of it, a whole document the pages whose text it holds,
        and an attached file all of its pages.
        """
        if self.document is None:
            return ()
        if self.file is None and len(self.pages) == 1:  # as most chunks
            return ((self.document, self.pages[0]),)
        numbers = set(self.pages)
        if self.file is not None:
            numbers.update(self.file.pages)
        return tuple((self.document, number) for number in sorted(numbers))


class Evidence(StoredValue):
    """The place of gold evidence: a document, with a page or a quote in it where known. `step` is the number
    of the hop that it supports in a multi-hop question, from 1. `modality` is what the evidence is, such as
    `text`, `table` or `figure`; data sets have names of their own for it. `relevance` is how relevant the
    place is, in whole numbers from 1, in data sets that grade it; `None` where it is simply relevant."""

    document: DocumentName
    """File name of the document."""
    page: int | None = Field(default=None, ge=1)
    """Physical page."""
    quote: str | None = None
    """A quote from the document."""
    bbox: Box | None = None
    """x0, y0, x1, y1 in points from the top left of the page."""
    step: int | None = Field(default=None, ge=1)
    """The hop of a multi-hop question that it supports, from 1."""
    modality: str | None = None
    """What the place is, such as text, table or figure; data sets have names of their own for it."""
    relevance: int | None = Field(default=None, ge=1)
    """How relevant the place is, from 1, in data sets that grade it."""


class Step(StoredValue):
    """A hop of a multi-hop question: the sub-question that it asks, and its answer, as far as the data set
    has them."""

    question: str = ""
    answer: str = ""


class Quote(StoredValue):
    """A candidate quote of a question: a passage or a picture that an answer may rest on.

    `gold` says whether the answer rests on it; the others are distractors. The `text` of an image is what is
    written in it, `description` describes it, and `image` is its path, relative to the folder of the question
    file.
    """

    id: str
    """Id of the quote, unique within the question."""
    modality: Literal["text", "image"] = "text"
    """text or image."""
    text: str = ""
    """The text of the quote, or what is written in the image."""
    description: str = ""
    """A description of the image."""
    image: Path | None = None
    """Path of the image, relative to the folder of the question file."""
    document: DocumentName | None = None
    """File name of the document."""
    page: int | None = Field(default=None, ge=1)
    """Physical page."""
    gold: bool = False
    """Whether the gold answer rests on it."""

    @property
    def content(self) -> tuple[object, ...]:
        """What makes two quotes, also of different questions, the same."""
        if self.image is not None:
            return "image", self.image
        words = " ".join((self.text or self.description).split())
        return self.modality, self.document, self.page, words


OTHER_QUOTE = "from "
"""How the id of a quote begins that was found for a question and is a candidate of another one alone."""


class Nugget(StoredValue):
    """A question that a good answer to the whole question answers, too (a nugget of ARGUE).

    `answers` are the accepted answers, any one of which is enough; without any, the documents do not answer
    it, and a good answer says so. A `vital` nugget counts twice in weighted figures. `origin` says whether a
    person wrote it, it was imported, or a language model drafted it.
    """

    question: str
    """The question of the nugget."""
    answers: tuple[str, ...] = ()
    """The accepted answers; without any, the documents do not answer it."""
    importance: Literal["vital", "okay"] = "okay"
    """A vital nugget counts twice in weighted figures."""
    origin: Literal["written", "imported", "drafted"] = "written"
    """Whether a person wrote it, it was imported, or a language model drafted it."""


class Fact(StoredValue):
    """One thing that a good answer says, as a statement (a nugget of TREC's RAG tracks).

    A `vital` fact counts 1 in weighted figures, an okay one a half. `origin` says whether a person wrote it,
    it was imported, or a language model drafted it from what was retrieved.
    """

    text: str
    """The statement."""
    importance: Literal["vital", "okay"] = "okay"
    """A vital fact counts 1 in weighted figures, an okay one a half."""
    origin: Literal["written", "imported", "drafted"] = "written"
    """Whether a person wrote it, it was imported, or a language model drafted it."""


class _GoldForm(StoredValue):
    """Base class of the forms of a gold answer that are more than a phrase. `str` gives the notation of
    question files, by which scores and reports name the form."""

    def __str__(self) -> str:
        return _flow(self.model_dump(mode="json", exclude_defaults=True))


class GoldNumber(_GoldForm):
    """A number that the answer must contain: `{number: 41.5, unit: m}`.

    It is found in digits, in English words and in Chinese numerals. With a `unit`, the number must have it or
    one that can be converted to it ("4150 cm"); a unit that fathoms does not know must follow the number as a
    word. Without one, any unit may follow. `tolerance` is a number in the `unit`, or a percentage of `number`
    such as `0.5%`. `decimal` is the decimal mark of texts in which a mark before three digits could be
    either: `1,234` is 1234 with `point` and 1.234 with `comma`.
    """

    number: Annotated[int | float, Field(ge=-1e300, le=1e300)]
    unit: str | None = Field(default=None, min_length=1)
    tolerance: Annotated[int | float, Field(ge=0, le=1e300)] | str = 0
    decimal: Literal["point", "comma"] = "point"

    @field_validator("tolerance")
    @classmethod
    def _is_percentage(cls, tolerance: float | str) -> float | str:
        if isinstance(tolerance, str) and not re.fullmatch(r"\d{1,9}(\.\d{1,9})?\s*%", tolerance):
            raise ValueError("expected a number in the unit, or a percentage such as 0.5%")
        return tolerance

    @property
    def margin(self) -> float:
        """The largest accepted difference, in the unit of the number."""
        if isinstance(self.tolerance, str):
            return abs(self.number) * float(self.tolerance.rstrip("% ")) / 100
        return float(self.tolerance)


class GoldDate(_GoldForm):
    """A date that the answer must contain: `{date: 2024-03-15}`.

    It is found in numeric notations, and in English, French, Spanish, Arabic, Chinese and Japanese.
    `date` is a day (2024-03-15), a month (2024-03) or a year (2024); a more precise date in the answer
    contains it, a less precise one does not. `order` is the order of numbers in `03/04/2024`; without it,
    either order is accepted.
    """

    date: str
    order: Literal["dmy", "mdy"] | None = None

    @field_validator("date", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if isinstance(value, date) and not isinstance(value, datetime):  # YAML reads an unquoted day as one
            return value.isoformat()
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("date")
    @classmethod
    def _exists(cls, value: str) -> str:
        if re.fullmatch(r"\d{4}(-\d\d){0,2}", value):
            with suppress(ValueError):
                date.fromisoformat((value + "-01-01")[:10])
                return value
        raise ValueError("expected a day, a month or a year: 2024-03-15, 2024-03 or 2024")


class GoldRegex(_GoldForm):
    """A regular expression that must match somewhere in the answer: `{regex: 'stages?: (6|six)'}`.

    It is searched for in the text as written, in the syntax of the package `regex`, which is that of Python's
    `re` and more. Case is ignored unless `ignore_case` is false.
    """

    regex: str = Field(min_length=1, max_length=2000)
    ignore_case: bool = True

    @field_validator("regex")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        import regex

        try:
            regex.compile(pattern)
        except regex.error as error:
            raise ValueError(f"not a valid regular expression: {error}") from None
        return pattern


class GoldYesNo(_GoldForm):
    """Whether the answer must say yes or no, in any wording with an English negation: `{yes_no: no}`.

    In French, Spanish, Chinese, Japanese and Arabic, only a yes or no at the beginning of the answer is read.
    """

    yes_no: Literal["yes", "no"]

    @field_validator("yes_no", mode="before")
    @classmethod
    def _from_truth_value(cls, value: Any) -> Any:
        return ("yes" if value else "no") if isinstance(value, bool) else value  # YAML reads `no` as false


def _tag(value: Any) -> str:
    """Return which form of a gold answer a value has, by default a phrase; the tags are not keys, so that the
    place of an error can be told from them."""
    if not isinstance(value, str):
        for key in GOLD_FORMS:
            if key in value if isinstance(value, dict) else hasattr(value, key):
                return f"a {key}"
    return "a phrase"


_Part = (
    Annotated[str, Tag("a phrase"), Field(min_length=1)]
    | Annotated[GoldNumber, Tag("a number")]
    | Annotated[GoldDate, Tag("a date")]
    | Annotated[GoldRegex, Tag("a regex")]
)
GoldPart = Annotated[_Part, Discriminator(_tag)]
"""A phrase, or a form that can stand in `near`."""


def _with_numbers(parts: Any) -> Any:
    """Turn plain numbers in a list into the form `number`."""
    if not isinstance(parts, list | tuple):
        return parts
    plain = [isinstance(part, int | float) and not isinstance(part, bool) for part in parts]
    return [{"number": part} if bare else part for part, bare in zip(parts, plain, strict=True)]


MOST_NEAR = 20
"""The most parts of a `near` form."""


class GoldNear(_GoldForm):
    """Phrases, numbers, dates and expressions that must stand near one another: `{near: [6, stages]}`.

    The shortest stretch of the text that holds all of them, in any order, has at most `within` other words.
    """

    near: tuple[GoldPart, ...] = Field(min_length=2, max_length=MOST_NEAR)
    """At most 20, because every place of every part is compared with those of all others."""
    within: int = Field(default=10, ge=0, le=1000)

    _numbers = field_validator("near", mode="before")(_with_numbers)


class GoldList(_GoldForm):
    """A list whose items must all be in the answer, in any order: `{list: [red, green, blue]}`.

    It counts as one phrase: as found, or not. `at_least` is the number of items that is enough.
    """

    list: tuple[Annotated[_Part | Annotated[GoldNear, Tag("a near")], Discriminator(_tag)], ...] = Field(
        min_length=1, max_length=500
    )
    at_least: int | None = Field(default=None, ge=1)

    _numbers = field_validator("list", mode="before")(_with_numbers)

    @model_validator(mode="after")
    def _has_enough(self) -> GoldList:
        if (self.at_least or 0) > len(self.list):
            raise ValueError(f"'at_least' is {self.at_least}, but the list has {len(self.list)} items")
        return self


GOLD_FORMS: dict[str, type[_GoldForm]] = {
    "number": GoldNumber,
    "date": GoldDate,
    "regex": GoldRegex,
    "yes_no": GoldYesNo,
    "near": GoldNear,
    "list": GoldList,
}
"""The forms of a gold answer that are more than a phrase, by the key that each of them needs."""

GoldPhrase = Annotated[
    Annotated[str, Tag("a phrase")]
    | Annotated[GoldNumber, Tag("a number")]
    | Annotated[GoldDate, Tag("a date")]
    | Annotated[GoldRegex, Tag("a regex")]
    | Annotated[GoldYesNo, Tag("a yes_no")]
    | Annotated[GoldNear, Tag("a near")]
    | Annotated[GoldList, Tag("a list")],
    Discriminator(_tag),
]
"""What an answer must contain: a phrase, or one of `GOLD_FORMS`."""


_PLAIN = re.compile(r"(?!(?:yes|no|true|false|on|off|null|y|n)\Z)[a-z][\w.%°µ/]*(?:[ -][\w.%°µ/]+)*", re.I)


def _flow(value: Any, key: str = "") -> str:
    """Write a JSON value in YAML's flow style on one line; `key` is the key that it belongs to."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(item, name)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and (key in ("date", "yes_no", "tolerance") or _PLAIN.fullmatch(value)):
        return value
    return json.dumps(value, ensure_ascii=False)


HISTORY = "history"
"""The key of the metadata under which stands what was said before a question."""


class Question(StoredValue):
    """One question of a data set. `answers` lists the accepted variants; each variant is a list of
    phrases, or richer forms, that must all occur in the model's answer. Without `answers`, there is no
    correctness.

    `reference` is the gold answer in running text, `short_answer` and `long_answer` the same at two lengths,
    `reference_claims` the single statements of the gold answer, and `nuggets` the questions that it answers.
    `facts` are what a good answer says, drafted from what was retrieved where there is no gold answer.
    `steps` are the hops of a multi-hop question in order; evidence names them by number, from 1. `metadata`
    is free, and its keys can group the figures of a report; judges read the text under `history`. With the
    `reading` `raw`, answers are scored as they are written, with their sources and page numbers.
    """

    id: str
    """Stable id of the question in its data set."""
    text: str
    """The question as asked."""
    category: str
    """The category it is scored in."""
    files: tuple[DocumentName, ...] = ()
    """Names of the documents the question is about."""
    answers: tuple[tuple[GoldPhrase, ...], ...] = ()
    """Gold answers: any one of these variants is enough; a variant is matched when all of its phrases
    (or richer forms) are found. Empty where the gold answer is only a text; there is then no
    correctness."""
    reference: str | None = None
    """A gold answer in running text."""
    evidence: tuple[Evidence, ...] = ()
    """Where the gold answer is in the documents."""
    hops: int | None = None
    """How many pieces of evidence must be joined."""
    steps: tuple[Step, ...] = ()
    """The steps by which a question of several hops is answered, in order."""
    answerable: bool = True
    """Whether the documents hold an answer at all."""
    reading: Literal["raw"] | None = None
    """`raw` where answers are scored as they are written, with their citations and sources."""
    short_answer: str | None = None
    """The gold answer in a few words."""
    long_answer: str | None = None
    """The gold answer in full."""
    reference_claims: tuple[str, ...] = ()
    """The single statements of the gold answer."""
    nuggets: tuple[Nugget, ...] = ()
    """Questions that a good answer to the whole question answers, too."""
    facts: tuple[Fact, ...] = Field(default=(), exclude_if=lambda facts: not facts)
    """Statements that a good answer contains; they need no gold answer. Absent without any, as in earlier
    versions."""
    quotes: tuple[Quote, ...] = ()
    """Candidate quotes: passages and pictures that an answer may rest on, gold ones and distractors."""
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    """Free values of the data set by key; a report can be grouped by one of them."""

    def __hash__(self) -> int:
        return hash(self.id)  # `metadata` cannot be hashed

    @property
    def in_conversation(self) -> str:
        """The text and, if the metadata has a `history`, what was said before: "and the door?" can be judged
        only with it."""
        history = self.metadata.get(HISTORY)
        return f"{self.text}\nWhat was said before:\n{history}" if history else self.text

    @property
    def gold_evidence(self) -> tuple[Evidence, ...]:
        """The evidence, or else the places of the gold quotes whose document is known."""
        return self.evidence or tuple(
            Evidence(document=quote.document, page=quote.page, modality=quote.modality)
            for quote in self.quotes
            if quote.gold and quote.document
        )

    @property
    def is_computed(self) -> bool:
        """Whether the gold answer was worked out of what several documents say, so that none states it: the
        metadata then says under `computed` how."""
        return bool(self.metadata.get("computed"))

    @property
    def gold_pages(self) -> frozenset[Place]:
        """The pages that the gold evidence names."""
        return frozenset((one.document, one.page) for one in self.gold_evidence if one.page is not None)

    @property
    def gold_documents(self) -> frozenset[str]:
        """The documents of the evidence, or else all files; questions that share one are not independent."""
        return frozenset(item.document for item in self.evidence) or frozenset(self.files)


MOST_PATCHES = 4096
"""The most patches of a page whose heatmap is stored."""


class Heatmap(StoredValue):
    """How well each patch of a page picture matches a question, where pages are found by late interaction.

    The patches form a grid of `rows` times `columns` that covers the whole page. `values` are row by row from
    the top left, from 0 (the patch of this page that matches least) to 100 (the one that matches best). So
    they compare the patches of one page, and not pages with one another.
    """

    columns: int = Field(ge=1)
    """Patches side by side, which cover the width of the page."""
    rows: int = Field(ge=1)
    """Rows of patches, which cover the height of the page."""
    values: tuple[Annotated[int, Field(ge=0, le=100)], ...] = Field(max_length=MOST_PATCHES)
    """Row by row from the top left, from 0 (the patch of this page that matches least) to 100 (the one
    that matches best)."""

    @model_validator(mode="after")
    def _is_complete(self) -> Heatmap:
        if len(self.values) != self.columns * self.rows:
            raise ValueError(
                f"a heatmap of {self.columns} x {self.rows} patches has {len(self.values)} values"
            )
        return self


class Hit(StoredValue):
    """A retrieved chunk. `rank` counts from 1, and a higher `score` is better. `heatmap` shows where on the
    page picture the question was found; `None` where the retriever does not tell."""

    chunk: Chunk
    score: float
    rank: int = Field(ge=1)
    heatmap: Heatmap | None = None


class Round(StoredValue):
    """One of several rounds of retrieval for a question: the search text, what it found, and the number of
    calls to models that the round took (`None` where unknown)."""

    query: str = ""
    hits: tuple[Hit, ...] = ()
    calls: int | None = None


class ToolCall(StoredValue):
    """One call of a tool on the way to an answer, with what went in and what came out, as texts."""

    name: str
    """The name of the tool."""
    arguments: str = ""
    """What it was given."""
    result: str = ""
    """What it gave back."""
    error: str | None = None
    """Why it failed; null if it did not."""
    seconds: float | None = None
    """How long it took; null where unknown."""


class _PartOfMessage(StoredValue):
    """Base class of the parts of a message. `kind` is always stored, because readers tell the kinds apart by
    it."""

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}  # type: ignore[attr-defined]


class TextPart(_PartOfMessage):
    """A text in a message."""

    kind: Literal["text"] = "text"
    text: str


class ImagePart(_PartOfMessage):
    """An image in a message: the path of a PNG or JPEG file."""

    kind: Literal["image"] = "image"
    image: Path


class FilePart(_PartOfMessage):
    """A PDF in a message."""

    kind: Literal["file"] = "file"
    file: Attachment


MessagePart = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="kind")]


class Message(StoredValue):
    """One chat message: texts, images and files, in the order in which the model receives them.

    A message is made of its `parts`, or of a `text` with `images` and `files`. The latter are put into the
    usual order: files, then images, then the text. Where `parts` are given, they alone count.

    A message in the usual order is stored as `text`, `images` and `files`, as it always was; every other
    message is stored with its `parts` in addition. Earlier versions read both, without the order.
    """

    role: Literal["system", "user", "assistant"]
    parts: tuple[MessagePart, ...] = Field(min_length=1)

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            role: Literal["system", "user", "assistant"],
            text: str = "",
            images: Sequence[Path] = (),
            files: Sequence[Attachment] = (),
            parts: Sequence[TextPart | ImagePart | FilePart] = (),
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        """Make the parts of `text`, `images` and `files`, unless there are parts."""
        if not isinstance(data, dict) or data.get("parts") or not data.keys() & {"text", "images", "files"}:
            return data
        images, files = data.get("images", ()), data.get("files", ())
        for name, value in (("images", images), ("files", files)):
            if not isinstance(value, list | tuple):
                raise ValueError(f"'{name}' must be a list")
        parts = [
            *({"kind": "file", "file": file} for file in files),
            *({"kind": "image", "image": image} for image in images),
            *([{"kind": "text", "text": data["text"]}] if "text" in data else []),
        ]
        return {**data, "parts": parts}

    @model_serializer(mode="plain")
    def _stored(self, info: SerializationInfo) -> dict[str, Any]:
        return self.stored(exclude_defaults=info.exclude_defaults)

    def stored(self, *, exclude_defaults: bool = False) -> dict[str, Any]:
        """Return the message as it is stored, before its values are converted to JSON."""
        stored: dict[str, Any] = {"role": self.role, "text": self.text}
        is_one_text = len(self.parts) == 1 and self.is_text  # as most are
        lists = {} if is_one_text else {"images": self.images, "files": self.files}
        if not exclude_defaults:
            stored |= {"images": (), "files": ()}
        stored |= {name: found for name, found in lists.items() if found}
        return stored if is_one_text or self.is_in_usual_order else {**stored, "parts": self.parts}

    @property
    def text(self) -> str:
        """The texts, joined by line breaks."""
        return "\n".join([part.text for part in self.parts if isinstance(part, TextPart)])

    @property
    def is_text(self) -> bool:
        """Whether the message has neither images nor files."""
        return all(isinstance(part, TextPart) for part in self.parts)

    @property
    def images(self) -> tuple[Path, ...]:
        """The paths of the images (PNG or JPEG), in order."""
        return tuple(part.image for part in self.parts if isinstance(part, ImagePart))

    @property
    def files(self) -> tuple[Attachment, ...]:
        """The attached PDFs, in order."""
        return tuple(part.file for part in self.parts if isinstance(part, FilePart))

    @property
    def is_in_usual_order(self) -> bool:
        """Whether the parts are files, then images, then exactly one text."""
        kinds = [part.kind for part in self.parts]
        files, images = kinds.count("file"), kinds.count("image")
        return kinds == [*["file"] * files, *["image"] * images, "text"]


class Cut(StoredValue):
    """A chunk that did not fit the token budget: `dropped` of its `length` characters were left out."""

    chunk: str
    """Id of the piece."""
    dropped: int
    """Characters that were cut."""
    length: int
    """Length of the piece in characters."""


class Form(StoredValue):
    """The form that a reply must have: one of the `choices`, or JSON that fits `json_schema`.

    Models that can enforce a form do so; others only read about it in the text of the prompt. With
    `probabilities`, the probability of each choice is wanted, too.
    """

    choices: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None
    probabilities: bool = False


class Prompt(StoredValue):
    """The prompt that is sent to the model. `context` is the packed context alone. `tokens` is the model's
    own count of the messages and `budget` the most they may take; both are `None` where unknown. Where the
    attached files needed several requests, or each document was asked by itself, `parts` are the earlier
    prompts and their replies, which this prompt merges. `form` is the form that the reply must have, `None`
    for free text."""

    messages: tuple[Message, ...]
    context: str = ""
    cuts: tuple[Cut, ...] = ()
    tokens: int | None = None
    budget: int | None = None
    parts: tuple[Part, ...] = ()
    form: Form | None = Field(default=None, exclude=True)


class Usage(StoredValue):
    """Token counts as the server reports them; `None` where it does not.

    `prompt_tokens` includes `cached_tokens` (read from the vendor's cache) and `cache_write_tokens`, and
    `completion_tokens` includes `reasoning_tokens`, whichever way the vendor itself adds them up.
    """

    prompt_tokens: int | None = None
    """Tokens of the prompt."""
    completion_tokens: int | None = None
    """Tokens of the answer."""
    cached_tokens: int | None = None
    """Prompt tokens that the server had in its cache."""
    cache_write_tokens: int | None = None
    """Prompt tokens that the server put into its cache."""
    reasoning_tokens: int | None = None
    """Tokens of the answer that were reasoning."""


class Reply(StoredValue):
    """The model's reply. `reasoning` is stored apart and never scored. `first_token` is the seconds to the
    first token of a streamed reply, `latency` the seconds to the last one.

    `refusal` is the reason where the vendor, the model or a content filter refused; `text` is then what was
    generated before. `model` is the model that the server names. `cost` is in US dollars. `prompt_cut` says
    that the server read less than it was sent; `None` where that is unknown. `lacks_mark` says that the reply
    does not have the marks that the prompt asks for before the answer; its text is then the whole reply.
    Where the prompt asks for a short and a long answer, `short` is the former, and the text the latter.
    `choice_p` are the probabilities of the choices of the prompt's form, where the server reports them.
    """

    text: str
    """The answer text, which is scored."""
    reasoning: str = ""
    """Reasoning that the model gave apart; never scored."""
    stop_reason: str | None = None
    """Why the model stopped, in the server's words."""
    refusal: str | None = None
    """Why the model or its vendor refused, or which filter stepped in; null where they did not."""
    model: str | None = None
    """The model that the server names; null where it names none."""
    usage: Usage = Usage()
    """Tokens as the server counted them."""
    cost: float | None = None
    """Cost in US dollars."""
    first_token: float | None = None
    """Seconds to the first token of a streamed answer."""
    latency: float | None = None
    """Seconds until the answer was complete."""
    cached: bool = False
    """Whether the answer came from the cache of fathoms."""
    prompt_cut: bool | None = None
    """Whether the server read less of the prompt than it was sent; null where unknown."""
    lacks_mark: bool = False
    short: str | None = None
    choice_p: dict[str, float] | None = Field(default=None, exclude=True)


class Part(StoredValue):
    """A prompt with some of a question's files, or with the chunks of one `document`, and its reply."""

    prompt: Prompt
    reply: Reply
    document: DocumentName | None = None
    """The document that was asked by itself (`retrieve: {kind: each-document}`); null for parts of files."""
    nothing: bool = False
    """Whether the reply says that the document does not help, so that it was not combined."""
    error: Failure | None = None
    """Why the document has no reply; null where it has one."""

    @property
    def is_combined(self) -> bool:
        """Whether the reply reached the prompt that combines the partial answers."""
        return not self.nothing and self.error is None


class Failure(StoredValue):
    """Why a question has no answer: the class name of the error and its message. For an HTTP response also
    its status, and the seconds after which the server asks to be called again."""

    kind: str
    """The class of the error."""
    message: str
    """Message of the error."""
    status: int | None = None
    """Status of the server's answer over HTTP; null where there was none."""
    retry_after: float | None = None
    """Seconds after which the server asks to try again; null where it did not say."""


Purpose = Literal["answer", "expand", "extract", "rerank", "judge", "describe", "build"]
"""What a model is called for."""


class Call(StoredValue):
    """A call to a model that is not the answer itself, for example one grade of a reranker.

    `model` is the name that the server reported, or the configured one. `attempts` counts the requests that
    were sent, 0 for a reply from the cache (`cached`), whose `usage` and `cost` were not spent again. `cost`
    is in US dollars, `None` where no price is known. `seconds` include the waits for rate limits and between
    the attempts, and `retries` are why each request but the first was sent. `error` is set where there was no
    reply, and `unread` where there was one that could not be read and was not used.
    """

    purpose: Purpose
    """What the model was called for: expand, extract, rerank, judge, describe or build."""
    model: str | None = None
    """The model, as the server named it or as configured."""
    attempts: int = 1
    """Requests that were sent; 0 for a reply from the cache."""
    retries: tuple[str, ...] = ()
    """Why requests were sent again, in order. Absent in runs of earlier versions."""
    usage: Usage = Usage()
    """Tokens as the server counted them."""
    cost: float | None = None
    """Cost in US dollars; null where unknown."""
    seconds: float = 0.0
    """Seconds, including the waits between the attempts."""
    cached: bool = False
    """Whether the reply came from the cache."""
    unread: bool = False
    """true if the reply could not be read and was not used; absent otherwise."""
    error: Failure | None = None
    """Why there was no reply; null where there was one."""


class Citation(StoredValue):
    """One place that an answer cites.

    `ranks` are the ranks of the hits that the citation names; it is empty where the citation names none that
    was retrieved. A citation that a pipeline reports beside its answer has a `document`. One that is written
    in the answer has a `label`, the reference as written (`2`, `image1`, `a.pdf, p. 4`), the `span` of the
    marker with its brackets, and the span of the `sentence` that it supports. Spans are the offsets of the
    first character and of the one after the last, in the text of the answer.
    """

    document: DocumentName | None = None
    """File name of the document; null where a written reference names nothing that was retrieved."""
    page: int | None = Field(default=None, ge=1)
    """Physical page."""
    quote: str | None = None
    """A quote from the document."""
    bbox: Box | None = None
    """x0, y0, x1, y1 in points from the top left of the page."""
    ranks: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """The ranks of the hits that it names; empty where it names none."""
    label: str | None = None
    """The reference as written in the answer, such as `2` or `a.pdf, p. 4`; null where the pipeline
    reports it."""
    span: tuple[int, int] | None = None
    """The offsets of the marker's first character, and of the one after its last, in the text of the
    answer."""
    sentence: tuple[int, int] | None = None
    """The offsets of the sentence that it supports, counted in the same way."""


class ServiceReply(StoredValue):
    """What is known of one reply of an external pipeline besides the answer.

    `unmatched` are the keys of the configuration whose path (or header) matched nothing in the reply, such as
    `response.contexts`. `unknown` counts the contexts by document, for documents that the data set does not
    have, `placed` those without a document whose texts were found in one, and `nowhere` those whose texts
    were not. `version` is that of the service, `None` where the configuration does not say where it is.
    """

    unmatched: tuple[str, ...] = ()
    """Keys of the configuration whose path or header matched nothing in the reply."""
    unknown: dict[str, int] = {}
    """Number of contexts by document, for documents that the data set does not have."""
    placed: int = 0
    """Number of texts without a document that were found in one document of the data set."""
    nowhere: int = 0
    """Number of texts without a document that stand in none of the data set, or in several."""
    version: str | None = None
    """Version of the service; null where it is not known."""


class TraceIds(StoredValue):
    """The ids under which a question was asked, after W3C Trace Context: 32 hexadecimal digits for the trace,
    and 16 for the span of the request and for the span above it, `None` if fathoms began the trace."""

    trace_id: str = Field(pattern=r"^[0-9a-f]{32}$")
    """The trace, 32 hexadecimal digits."""
    span_id: str = Field(pattern=r"^[0-9a-f]{16}$")
    """The span of the request, 16 hexadecimal digits."""
    parent_id: str | None = Field(default=None, pattern=r"^[0-9a-f]{16}$")
    """The span around the run, from TRACEPARENT; null where there was none."""


RELEASED_SCORES = frozenset(("correctness", "hallucination"))
"""The published scores that make up the profile `released`; others stand in the records alone."""


class Record(StoredValue):
    """The result of asking one question once, stored as one line of the journal. At most one of `answer` and
    `error` is set; a question that was only searched for has neither.

    `repeat` counts from 0; `seed` is its sampling seed, `None` where none is set. `attempts` counts the
    requests for the answer, and `retries` are why some of them were sent again (`cause_of`). `hits` is `None`
    where an external pipeline does not report what it retrieved, and `rounds` are the rounds in which a
    pipeline retrieved, where it reports them; `tools` are the tools that it called. `calls` are the calls to
    models besides the answer. `citations` are the places that the answer itself cites: those that the
    pipeline reports, then those written in the answer; `None` where that is unknown. `timings` are seconds
    per stage (`retrieve`, `rerank`, `prompt`, `generate`), and `fingerprints` identify the state of every
    stage that produced the record. `released` holds scores that were published with imported results.
    """

    question: Question
    repeat: int = 0
    seed: int | None = None
    attempts: int = 1
    retries: tuple[str, ...] = ()
    hits: tuple[Hit, ...] | None = ()
    rounds: tuple[Round, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    prompt: Prompt | None = None
    answer: Reply | None = None
    error: Failure | None = None
    calls: tuple[Call, ...] = ()
    citations: tuple[Citation, ...] | None = None
    timings: dict[str, float] = Field(default_factory=dict)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    released: dict[str, float | None] = Field(default_factory=dict)
    finished: str | None = None
    service: ServiceReply | None = None
    """What is known of the reply of an external pipeline besides the answer."""
    trace: TraceIds | None = None
    """The ids that were sent to an external pipeline with the question."""
    _keep: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def keep(self) -> frozenset[str]:
        """The kinds of parts that stay in the answer when it is read. They are never stored."""
        return self._keep

    def keeping(self, kinds: frozenset[str]) -> Record:
        """Return this record with those kinds of parts left in its answer."""
        record = self.model_copy()
        record._keep = kinds
        return record

    @property
    def only_searched(self) -> bool:
        """Whether the question was only searched for: nobody was asked for an answer."""
        return self.answer is None and self.error is None


class Claim(StoredValue):
    """One claim of a text. `context` is the sentence that it comes from, and `sentence` its number from 0."""

    text: str
    context: str = ""
    sentence: int | None = None


Rubric = Literal[
    "support",
    "grade",
    "correct",
    "abstention",
    "relevant-sentences",
    "questions",
    "nugget",
    "unanswerable",
    "citing",
    "quality",
    "relevance",
    "extent",
]
"""What a judge is asked for; `fathoms.judges.rubrics` says what claim, premise and context are for each.

- `support`: whether the premise supports the claim.
- `grade`, `correct`: a grade from 0 to 10 of an answer by the gold answer, or whether it is correct.
- `abstention`: the kind of an answer: statement, abstention, hedged or refusal.
- `relevant-sentences`: which sentences of a source can help to answer a question.
- `questions`: which questions a text answers, and whether it commits itself to an answer at all.
- `nugget`, `unanswerable`: whether a text answers a question as one of the accepted answers does, and whether
  it says that the question cannot be answered.
- `citing`: whether a sentence without a citation needs one, or only repeats an earlier sentence.
- `quality`: five grades from 0 to 5 of an answer that weaves text, citations and pictures together.
"""


class Judgement(NamedTuple):
    """What a judge is asked: whether the premise supports the claim, or another `rubric`.

    `context` is the sentence that the claim comes from, which pronouns refer to. `image` is a premise that is
    a picture. `wanted` is the number of questions that the rubric `questions` asks for. It is a
    tuple, because a run of many claims makes, hashes and compares a million of them.
    """

    claim: str
    premise: str = ""
    context: str = ""
    image: Path | None = None
    rubric: Rubric = "support"
    wanted: int = 1


class Verdict(StoredValue):
    """One judgement: whether `premise` supports `claim`. For abstention the claim is the answer.

    The label is `supported` or `unsupported`, or with three labels `entailment`, `neutral` or
    `contradiction`, a grade from `0` to `10`, a kind of answer (`statement`, `abstention`, `hedged` or
    `refusal`, with the sentence that decided as `why`), `committal` or `noncommittal` for a text with the
    `questions` that it answers, `needed`, `none` or `repeated` for a sentence without a citation,
    `graded` for an answer with five `grades`, by the keys of the judge's reply (`runs.grades`), a grade from
    `0` to `3` of a passage, `partial` for a claim that a text supports only in part, or
    `unparsed` where the judge's reply could not be read. `relevant` are the numbers, from 1, of the
    relevant sentences of a source, of whose sentences the judge was `shown` so many. `quote` are the
    words of the premise that decided, as the judge says, exactly as they stand there. `p` is the judge's
    probability that the premise supports the claim, `None` where unknown. `votes` counts the labels where
    the judge was asked several times. `usage`, `cost` (US dollars) and `seconds` are what it took, `None`
    where unknown.
    """

    claim: str
    premise: str
    label: str
    why: str | None = None
    context: str | None = None
    quote: str | None = None
    p: float | None = None
    relevant: tuple[int, ...] | None = None
    shown: int | None = None
    questions: tuple[str, ...] | None = None
    grades: dict[str, float] | None = None
    votes: dict[str, int] | None = None
    usage: Usage | None = None
    cost: float | None = None
    seconds: float | None = None

    @property
    def supports(self) -> bool | None:
        """Whether the premise supports the claim; `None` for an unparsed reply."""
        return None if self.label == "unparsed" else self.label in ("supported", "entailment")

    def on(self, claim: str, premise: str, context: str | None) -> Verdict:
        """Return the same verdict on another claim. This is made by hand, because a run may hold a million,
        and a copy or a validation takes twice as long."""
        verdict = object.__new__(Verdict)
        values = {**self.__dict__, "claim": claim, "premise": premise, "context": context}
        object.__setattr__(verdict, "__dict__", values)
        object.__setattr__(verdict, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        object.__setattr__(verdict, "__pydantic_extra__", None)
        object.__setattr__(verdict, "__pydantic_private__", None)
        return verdict


class JudgeCalls(NamedTuple):
    """The calls of a judge: texts to be split into claims with their characters, and calls for verdicts with
    the number of their judgements and the characters of their prompts."""

    texts: int
    text_characters: int
    verdicts: int
    judgements: int
    characters: int


class Spent(StoredValue):
    """What a result of a judge took: tokens, US dollars and seconds; `None` where unknown."""

    usage: Usage | None = None
    cost: float | None = None
    seconds: float | None = None


class Score(StoredValue):
    """The value of one metric for one record; `None` means that the metric does not apply.

    `n` is the number of items that the value rests on (claims, tokens, phrases), 1 where it has no items.
    `parts` are named counts or sub-scores behind the value, such as precision and recall behind an F1. `why`
    is what a reader needs to believe it.
    """

    metric: str
    value: float | None
    n: int = 1
    parts: dict[str, float | None] = Field(default_factory=dict)  # faster than a default, which is copied
    why: dict[str, object] = Field(default_factory=dict)
