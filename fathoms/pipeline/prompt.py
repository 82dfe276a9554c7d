"""Packing retrieved hits into the messages that the model is sent, within its context window.

Templates are data: a shipped one by name (`fathoms/pipeline/prompts/*.yaml`), or texts in the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fathoms.component import Component
from fathoms.config import read_yaml
from fathoms.errors import PromptTooLongError, UsageError, suggest
from fathoms.models.chat.room import most_that_fits
from fathoms.pipeline.prompt_parts import Parts, composed
from fathoms.types import (
    Chunk,
    Cut,
    FilePart,
    Hit,
    ImagePart,
    Message,
    Part,
    Prompt,
    Question,
    Reply,
    TextPart,
)

CountTokens = Callable[[Sequence[Message]], int | None]
_FIELD = re.compile(r"\{(\w+)\}")
_EMPHASIS = " \t\r\n*_"
"""White space, and the signs with which models make marks bold."""
_PLACES = {
    "system": set[str](),
    "user": {"context", "question", "files"},
    "chunk": {"rank", "document", "page", "pages", "header", "text"},
    "picture": {"number", "rank", "document", "page", "pages", "header", "text"},
    "merge": {"answers", "question"},
}

Pictures = Literal["first", "beside"]
Order = Literal["rank", "page"]


class Template(BaseModel):
    """The texts of a prompt, and where the images of retrieved pages stand in it. Where `user` has no
    `{context}`, no retrieved text is packed. A template that has the model think first asks it to write
    `answer_mark` before its answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    system: str = ""
    user: str
    chunk: str = "{text}"
    picture: str = ""
    separator: str = "\n\n"
    answer_mark: str = ""
    short_mark: str = ""
    pictures: Pictures = "first"
    order: Order = "rank"
    parts: Parts | None = None
    merge: str = (
        "The question was asked of each part of the documents by itself:\n\n{answers}\n\n"
        "Question: {question}\n"
        "Give one answer from what the parts say. Say that you do not know only where no part answers it."
    )


@cache
def shipped() -> dict[str, Template]:
    """The templates that come with fathoms, by name."""
    folder = Path(str(files("fathoms.pipeline"))) / "prompts"
    return {path.stem: Template(**read_yaml(path).data) for path in sorted(folder.glob("*.yaml"))}


PARTS = "parts"
"""The shipped template with dimensions, for sweeps of prompts."""


def axes_of_set(name: str) -> list[str]:
    """Return the dimensions of a named set of prompts as `--matrix` takes them, `KEY=V1,V2` each; raises
    UsageError for an unknown set."""
    parts = shipped()[PARTS].parts
    sets = parts.sets if parts else {}
    if name not in sets:
        raise UsageError(f"--prompts: there is no set '{name}'{suggest(name, sets)}")
    return [f"prompt.choose.{dimension}={','.join(names)}" for dimension, names in sets[name].items()]


class PromptBuilder(Component):
    """Builds prompts from a shipped template, whose texts can be replaced."""

    template: str = "default"
    """Name of a shipped template, such as `default`, `cited`, `closed-book` or `attached`."""
    choose: dict[str, str] = Field(default_factory=dict)
    """What to take of each dimension of the template `parts`, such as `{init: expert, style: ex3, reasoning:
    verify, ids: shown}`; the first of its choices where none is named."""
    examples: int = Field(default=0, ge=0, le=100)
    """Number of worked examples in the prompt, which the template `parts` has (5)."""
    system: str | None = None
    """System message. The empty text sends none; null takes the template's."""
    user: str | None = None
    """User message with the placeholders `{context}`, `{question}` and `{files}`; null: the template's."""
    chunk: str | None = None
    """Text per retrieved chunk, with the placeholders `{rank}` (from 1, best first), `{document}`, `{page}`
    (the first page of the chunk), `{pages}` (all of its pages), `{header}` and `{text}`; null takes the
    template's. An answer can cite a chunk as `[1]` where the prompt shows its `{rank}`."""
    picture: str | None = None
    """Text per retrieved figure, table or other picture, with `{number}`, which counts the retrieved pictures
    from 1, besides the placeholders of `chunk`. An answer can cite it as `(image1)` where the prompt shows
    its `{number}`. The empty text uses `chunk` for pictures, too; null takes the template's."""
    separator: str | None = None
    """Text between two chunks; null takes the template's."""
    answer_mark: str | None = None
    """Text in the reply after which the answer stands, such as `Answer:`. What the model writes before its
    last occurrence is kept as reasoning and not scored; a reply without it is kept whole, and counted. Where
    it does not stand letter by letter, capitals, bold and blanks before its colon make no difference. The
    empty text takes every reply as it is; null takes the template's."""
    short_mark: str | None = None
    """Text in the reply after which a short answer stands, such as `Short answer:`, where the prompt asks for
    a short answer and then, after `answer_mark`, for a long one. The long one is the answer, and metrics such
    as `short-exact-match` read the short one. A reply that lacks one of the two is kept whole, and counted.
    Null takes the template's."""
    pictures: Pictures | None = None
    """Where the images of retrieved pages stand: `first` puts all of them before the text of the message,
    `beside` each one after the text of its page, in place of `{context}`, which `user` can then have only
    once; null takes the template's."""
    order: Order | None = None
    """The order of the retrieved chunks: `rank`, best first, or `page`, by document (that of the best chunk
    first) and then by page, as a reader would turn them. What does not fit is left out by rank in both cases.
    Null takes the template's."""
    merge: str | None = None
    """User message that merges the answers where attached files needed several requests, with the
    placeholders `{answers}` and `{question}`; null takes the template's."""

    @model_validator(mode="after")
    def _check(self) -> PromptBuilder:
        if self.template not in shipped():
            raise ValueError(f"no template '{self.template}'{suggest(self.template, shipped())}")
        parts = shipped()[self.template].parts
        if parts is None and (self.choose or self.examples):
            raise ValueError(f"'choose' and 'examples' need template: parts; '{self.template}' has none")
        if parts is not None and self.user is not None:
            raise ValueError("'user' would replace the parts of the template: leave it out, or take another")
        if parts is not None and (complaint := parts.complaint(self.choose, self.examples)):
            raise ValueError(complaint)
        for name, allowed in _PLACES.items():
            unknown = [field for field in _FIELD.findall(getattr(self, name) or "") if field not in allowed]
            if unknown:
                raise ValueError(f"'{name}' cannot contain '{{{unknown[0]}}}'{suggest(unknown[0], allowed)}")
        for name, place in (("user", "question"), ("merge", "answers"), ("merge", "question")):
            text = getattr(self, name)
            if text is not None and f"{{{place}}}" not in text:
                raise ValueError(f"'{name}' must contain {{{place}}}")
        texts = self.texts()
        if texts.short_mark and not texts.answer_mark:
            raise ValueError("'short_mark' needs an 'answer_mark', after which the long answer stands")
        if texts.pictures == "beside" and texts.user.count("{context}") > 1:
            raise ValueError(
                "'user' can contain {context} only once with pictures: beside, because each picture is shown"
                " once: leave out the other, or set pictures: first"
            )
        return self

    def __hash__(self) -> int:
        return hash((self.template, self.user, self.examples, *self.choose.items()))  # a dict has no hash

    def identity(self) -> dict[str, Any]:
        """The texts rather than the template's name, so that renaming a template changes nothing."""
        texts = self.texts().model_dump(exclude={"parts"})
        # prompts without these have the identity that they had before there were such options
        later = {"picture": "", "answer_mark": "", "short_mark": "", "pictures": "first", "order": "rank"}
        for name, before in later.items():
            if texts[name] == before:
                del texts[name]
        return {"texts": texts, "revision": self.revision}

    def texts(self) -> Template:
        """Return the template with the configured texts in place of its own, and with the chosen parts."""
        own = self.model_dump(exclude={"template", "choose", "examples"}, exclude_none=True)
        template = shipped()[self.template].model_copy(update=own)
        if template.parts is None:
            return template
        texts = {name: getattr(template, name) for name in ("system", "user", "chunk")}
        filled = composed(template.parts, texts, self.choose, self.examples)
        if self.answer_mark is not None:
            filled["answer_mark"] = self.answer_mark
        return template.model_copy(update={**filled, "parts": None})

    def draft(self, question: Question, hits: Sequence[Hit]) -> Draft:
        """Fill the chunk template for every hit; `Draft.fit` then makes the prompt."""
        texts = _texts_of(self)
        if "{context}" not in texts.user and not any(hit.chunk.file or hit.chunk.image for hit in hits):
            hits = ()  # the template shows no context, so nothing can be cut either
        pieces = []
        pictures = 0
        for hit in hits:
            chunk = hit.chunk
            pictures += chunk.modality == "image"
            values = {
                "rank": str(hit.rank),
                "number": str(pictures),
                "document": chunk.source,
                "page": str(chunk.pages[0]) if chunk.pages else "",
                "pages": ", ".join(map(str, chunk.pages)),
                "header": chunk.header,
                "text": chunk.text,
            }
            is_picture = chunk.modality == "image" and texts.picture
            pieces.append(_fill(texts.picture if is_picture else texts.chunk, values))
        return Draft(texts, question, hits, pieces)

    def answer_in(self, reply: Reply) -> Reply:
        """Return the reply with only the answer as its text, if the template has an `answer_mark`; with a
        `short_mark`, the short answer apart."""
        texts = _texts_of(self)
        mark, short_mark = texts.answer_mark, texts.short_mark
        if not mark:
            return reply
        parts = after_mark(reply.text, mark)
        short = None
        if parts and short_mark:
            long = parts[1].strip(_EMPHASIS)
            parts = after_mark(parts[0], short_mark)
            short = parts[1].strip(_EMPHASIS) if parts else None
            parts = (parts[0], long) if parts and short and long else None
        if not parts:
            return reply.model_copy(update={"lacks_mark": True})
        before, answer = parts
        reasoning = "\n\n".join(filter(None, [reply.reasoning, before.strip(_EMPHASIS)]))
        return reply.model_copy(update={"text": answer.strip(), "reasoning": reasoning, "short": short})

    def pack_merge(self, question: Question, answered: Sequence[tuple[Sequence[Hit], Part]]) -> Prompt:
        """Return the prompt that merges the answers of several requests, with these in `Prompt.parts`."""
        merging = self.merging(question, [(_places(hits), _said(part.reply)) for hits, part in answered])
        return merging.model_copy(update={"parts": tuple(part for _, part in answered)})

    def merging(self, question: Question, said: Sequence[tuple[str, str]]) -> Prompt:
        """Return the prompt that merges answers, each under the name of its source."""
        texts = _texts_of(self)
        answers = "\n\n".join(f"{source}:\n{answer}" for source, answer in said)
        text = _fill(texts.merge, {"answers": answers, "question": question.text})
        return Prompt(messages=_with_system(texts, Message(role="user", text=text)))


def after_mark(text: str, mark: str) -> tuple[str, str] | None:
    """Return what stands before and after the last place of a mark in a reply; `None` without one.

    Where the mark does not stand there letter by letter, it counts in capitals or small letters too, in bold
    and with blanks before its colon: a mark of several words anywhere, one of a single word at the beginning
    of a line. A mark of white space alone counts only as it is.
    """
    before, found, after = text.rpartition(mark)
    if not found:
        places = list(_loose(mark).finditer(text)) if mark.strip() else []
        if not places:
            return None
        before, after = text[: places[-1].start()], text[places[-1].end() :]
    return before, after.lstrip(_EMPHASIS) if before.endswith(("*", "_")) else after.strip()


@lru_cache(maxsize=64)
def _loose(mark: str) -> re.Pattern[str]:
    """Compile the pattern of the places that are taken for a mark."""
    words = mark.strip().removesuffix(":").split()
    line = r"^[ \t>#*_-]{0,9}"
    start = rf"(?:{line}|(?<!\w))" if len(words) > 1 else line
    end = r"[ \t*_]{0,4}[:\uff1a]" if mark.strip().endswith(":") else ""
    return re.compile(start + r"[\s*_]{1,4}".join(map(re.escape, words)) + end, re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=64)
def _texts_of(builder: PromptBuilder) -> Template:
    """Return the texts of a builder, which all questions share."""
    return builder.texts()


@dataclass(frozen=True)
class Draft:
    """The texts of a question's prompt with all its hits, not yet cut to the model's context window."""

    texts: Template
    question: Question
    hits: Sequence[Hit]
    pieces: Sequence[str]
    """The text of each hit, in the order of rank."""

    def fit(self, count: CountTokens, limit: int | None) -> Prompt:
        """Build the prompt, with at most `limit` tokens as `count` counts them.

        Where it is too long, the hits of the lowest ranks are left out and the last one in the prompt is
        shortened; every loss is listed in `Prompt.cuts`. A chunk's image or file stays or goes with its text.
        Where `limit` or the count is `None`, nothing is cut. Raises PromptTooLongError where the
        question does not fit even without context.
        """
        pieces, messages = list(self.pieces), self._messages(self.pieces)
        tokens = count(messages)
        if tokens is not None and limit is not None and tokens > limit:
            bare = count(self._messages([]))
            if bare is None or bare > limit:
                raise PromptTooLongError(
                    f"question {self.question.id} alone takes {bare} tokens and the model leaves {limit} for"
                    " the prompt: raise generate.n_ctx or lower generate.max_tokens"
                )
            pieces, tokens = self._longest(count, limit)
            messages = self._messages(pieces)
        shown = self.texts.separator.join(pieces[place] for place in self._places(len(pieces)))
        return Prompt(
            messages=messages,
            context=shown if "{context}" in self.texts.user else "",
            cuts=self._cuts(pieces),
            tokens=tokens,
            budget=limit,
        )

    def _messages(self, pieces: Sequence[str]) -> tuple[Message, ...]:
        """The system message, if there is one, and the user message with the first pieces."""
        places = self._places(len(pieces))
        chunks = [self.hits[place].chunk for place in places]
        values = {"question": self.question.text, "files": ", ".join(self.question.files)}
        if self.texts.pictures == "beside" and any(chunk.image is not None for chunk in chunks):
            parts = self._beside(chunks, [pieces[place] for place in places], values)
            return _with_system(self.texts, Message(role="user", parts=parts))
        values["context"] = self.texts.separator.join(pieces[place] for place in places)
        user = Message(
            role="user",
            text=_fill(self.texts.user, values).strip("\n"),
            images=tuple(chunk.image for chunk in chunks if chunk.image is not None),
            files=tuple(chunk.file for chunk in chunks if chunk.file is not None),
        )
        return _with_system(self.texts, user)

    def _places(self, number: int) -> list[int]:
        """The indexes of the first hits in the order in which they are shown."""
        places = list(range(number))
        if self.texts.order == "rank":
            return places
        documents: dict[str, int] = {}
        for place in places:
            documents.setdefault(self.hits[place].chunk.source, place)

        def turned(place: int) -> tuple[int, int, int]:
            chunk = self.hits[place].chunk
            return documents[chunk.source], chunk.pages[0] if chunk.pages else 0, place

        return sorted(places, key=turned)

    def _beside(
        self, chunks: Sequence[Chunk], pieces: Sequence[str], values: dict[str, str]
    ) -> tuple[TextPart | ImagePart | FilePart, ...]:
        """The parts of a user message in which each image follows the text of its chunk.

        Neighbouring texts are one part. Without `{context}`, the chunks stand before the message.
        """
        before, placed, after = self.texts.user.partition("{context}")
        text = _fill(before, values).lstrip("\n") if placed else ""
        parts: list[TextPart | ImagePart | FilePart] = [
            FilePart(file=chunk.file) for chunk in chunks if chunk.file is not None
        ]
        for number, (chunk, piece) in enumerate(zip(chunks, pieces, strict=True)):
            text += (self.texts.separator if number else "") + (piece if placed else "")
            if chunk.image is not None:
                parts += [*([TextPart(text=text)] if text.strip() else []), ImagePart(image=chunk.image)]
                text = ""
        text = (text + _fill(after if placed else before, values)).strip("\n")
        return (*parts, *([TextPart(text=text)] if text.strip() else []))

    def _longest(self, count: CountTokens, limit: int) -> tuple[list[str], int]:
        """The longest prefix of the pieces that fits, with its last piece shortened, and its token count."""

        def tokens(fitting: Sequence[str]) -> int:
            return count(self._messages(fitting)) or 0

        pieces = self.pieces
        number = most_that_fits(len(pieces), lambda n: tokens(pieces[:n]) <= limit)
        fitting, edge = list(pieces[:number]), pieces[number]
        length = most_that_fits(len(edge), lambda n: tokens([*fitting, edge[:n]]) <= limit)
        if edge[:length].strip():
            fitting.append(edge[:length])
        return fitting, tokens(fitting)

    def _cuts(self, shown: Sequence[str]) -> tuple[Cut, ...]:
        """The characters lost per chunk, both in packing and before it (`Chunk.dropped`)."""
        cuts = []
        for number, (hit, piece) in enumerate(zip(self.hits, self.pieces, strict=True)):
            chunk, rest = hit.chunk, len(shown[number]) if number < len(shown) else 0
            if dropped := len(piece) - rest + chunk.dropped:
                cuts.append(Cut(chunk=chunk.id, dropped=dropped, length=len(piece) + chunk.dropped))
        return tuple(cuts)


def _with_system(texts: Template, user: Message) -> tuple[Message, ...]:
    """The messages of a prompt: the system message, if there is one, and the user message."""
    return (Message(role="system", text=texts.system), user) if texts.system else (user,)


def _places(hits: Sequence[Hit]) -> str:
    """The documents and pages attached to a request, such as `a.pdf, pages 1-50; b.pdf, pages 1-3`."""
    pages: dict[str, list[int]] = {}
    for hit in hits:
        pages.setdefault(hit.chunk.source, []).extend(hit.chunk.pages)
    return "; ".join(f"{name}, pages {found[0]}-{found[-1]}" for name, found in pages.items())


def _said(reply: Reply) -> str:
    """The answer to one request, or a note that the model refused."""
    return reply.text if reply.refusal is None else f"(no answer: {reply.refusal})"


def _fill(template: str, values: dict[str, str]) -> str:
    """Fill placeholders in one pass, so that braces inside a value stay text."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)
