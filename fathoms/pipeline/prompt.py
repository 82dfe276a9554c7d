"""Packing retrieved hits into the messages that the model is sent, within its token budget.

Templates are data: a shipped one by name (`fathoms/pipeline/prompts/*.yaml`), or texts in the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from fathoms.config import Component, read_yaml, suggest
from fathoms.errors import PromptTooLongError
from fathoms.models.chat.room import most_that_fits
from fathoms.types import Attachment, Cut, Hit, Message, Part, Prompt, Question, Reply

CountTokens = Callable[[Sequence[Message]], int | None]
_FIELD = re.compile(r"\{(\w+)\}")
_PLACES = {
    "system": set[str](),
    "user": {"context", "question", "files"},
    "chunk": {"document", "pages", "header", "text"},
    "merge": {"answers", "question"},
}


class Template(BaseModel):
    """The texts of a prompt. Where `user` has no `{context}`, no retrieved text is packed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = ""
    user: str
    chunk: str = "{text}"
    separator: str = "\n\n"
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


class PromptBuilder(Component):
    """Builds prompts from a shipped template, any text of which can be replaced."""

    template: str = "default"
    """Name of a shipped template, such as `default`, `closed-book` or `attached`."""
    system: str | None = None
    """System message. The empty text sends none; null takes the template's."""
    user: str | None = None
    """User message with the placeholders `{context}`, `{question}` and `{files}`; null takes the
    template's."""
    chunk: str | None = None
    """Text per retrieved chunk, with the placeholders `{document}`, `{pages}`, `{header}` and `{text}`; null
    takes the template's."""
    separator: str | None = None
    """Text between two chunks; null takes the template's."""
    merge: str | None = None
    """User message that merges the answers where attached files needed several requests, with the
    placeholders `{answers}` and `{question}`; null takes the template's."""

    @model_validator(mode="after")
    def _check(self) -> PromptBuilder:
        if self.template not in shipped():
            raise ValueError(f"no template '{self.template}'{suggest(self.template, shipped())}")
        for name, allowed in _PLACES.items():
            unknown = [field for field in _FIELD.findall(getattr(self, name) or "") if field not in allowed]
            if unknown:
                raise ValueError(f"'{name}' has no place '{{{unknown[0]}}}'{suggest(unknown[0], allowed)}")
        for name, place in (("user", "question"), ("merge", "answers"), ("merge", "question")):
            text = getattr(self, name)
            if text is not None and f"{{{place}}}" not in text:
                raise ValueError(f"'{name}' must hold {{{place}}}")
        return self

    def identity(self) -> dict[str, Any]:
        """The texts themselves rather than the template's name, so that renaming a template changes
        nothing."""
        return {"texts": self.texts().model_dump(), "revision": self.revision}

    def texts(self) -> Template:
        """The template with the configured texts in place of its own."""
        own = self.model_dump(exclude={"template"}, exclude_none=True)
        return shipped()[self.template].model_copy(update=own)

    def pack(self, question: Question, hits: Sequence[Hit], count: CountTokens, budget: int | None) -> Prompt:
        """Build the messages for a question, with the context in the order of rank.

        `count` returns the model's token count of messages, `None` where it is unknown; `budget` is the most
        tokens they may take, `None` for no limit. Chunks that do not fit are dropped from the lowest rank up,
        the first that does not fit whole is shortened, and every loss is listed in `Prompt.cuts`. A chunk's
        image or file is kept or dropped with its text. Raises PromptTooLongError where the question does not
        fit even without context.
        """
        texts = self.texts()
        if "{context}" not in texts.user and not any(hit.chunk.file or hit.chunk.image for hit in hits):
            hits = ()  # the template shows no context, so nothing can be cut either
        pieces = [_chunk(texts, hit) for hit in hits]

        def build(kept: Sequence[str]) -> tuple[Message, ...]:
            images = tuple(hit.chunk.image for hit in hits[: len(kept)] if hit.chunk.image is not None)
            files = tuple(hit.chunk.file for hit in hits[: len(kept)] if hit.chunk.file is not None)
            return _messages(texts, question, texts.separator.join(kept), images, files)

        whole = count(build(pieces))
        if whole is None or budget is None or whole <= budget:
            return _prompt(texts, build, pieces, _cuts(hits, pieces, pieces), whole, budget)
        bare = count(build([]))
        if bare is None or bare > budget:
            raise PromptTooLongError(
                f"question {question.id} alone takes {bare} tokens and the model leaves {budget} for the"
                " prompt: raise generate.n_ctx or lower generate.max_tokens"
            )
        kept, tokens = _fit(build, count, pieces, budget)
        return _prompt(texts, build, kept, _cuts(hits, pieces, kept), tokens, budget)

    def pack_merge(self, question: Question, asked: Sequence[tuple[Sequence[Hit], Part]]) -> Prompt:
        """Build the prompt that merges the answers of several requests, which it keeps in `Prompt.parts`."""
        texts = self.texts()
        answers = "\n\n".join(f"{_places(hits)}:\n{_said(part.reply)}" for hits, part in asked)
        text = _fill(texts.merge, {"answers": answers, "question": question.text})
        user = Message(role="user", text=text)
        messages = (Message(role="system", text=texts.system), user) if texts.system else (user,)
        return Prompt(messages=messages, parts=tuple(part for _, part in asked))


def _chunk(texts: Template, hit: Hit) -> str:
    """Render one hit with the chunk template."""
    chunk = hit.chunk
    pages = ", ".join(map(str, chunk.pages))
    values = {"document": chunk.document, "pages": pages, "header": chunk.header, "text": chunk.text}
    return _fill(texts.chunk, values)


def _messages(
    texts: Template,
    question: Question,
    context: str,
    images: tuple[Path, ...],
    files: tuple[Attachment, ...],
) -> tuple[Message, ...]:
    """The system message, if there is one, and the user message."""
    values = {"context": context, "question": question.text, "files": ", ".join(question.files)}
    text = _fill(texts.user, values).strip("\n")
    user = Message(role="user", text=text, images=images, files=files)
    return (Message(role="system", text=texts.system), user) if texts.system else (user,)


def _places(hits: Sequence[Hit]) -> str:
    """The documents and pages attached to a request, such as `a.pdf, pages 1-50; b.pdf, pages 1-3`."""
    pages: dict[str, list[int]] = {}
    for hit in hits:
        pages.setdefault(hit.chunk.document, []).extend(hit.chunk.pages)
    return "; ".join(f"{name}, pages {found[0]}-{found[-1]}" for name, found in pages.items())


def _said(reply: Reply) -> str:
    """The answer to one request, or a note that the model refused."""
    return reply.text if reply.refusal is None else f"(no answer: {reply.refusal})"


def _fill(template: str, values: dict[str, str]) -> str:
    """Fill placeholders in one pass, so that braces inside a value stay text."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)


def _fit(
    build: Callable[[Sequence[str]], tuple[Message, ...]],
    count: CountTokens,
    pieces: Sequence[str],
    budget: int,
) -> tuple[list[str], int]:
    """The longest prefix of `pieces` that fits, with the last piece shortened, and its token count."""

    def tokens(kept: Sequence[str]) -> int:
        return count(build(kept)) or 0

    number = most_that_fits(len(pieces), lambda n: tokens(pieces[:n]) <= budget)
    kept, edge = list(pieces[:number]), pieces[number]
    length = most_that_fits(len(edge), lambda n: tokens([*kept, edge[:n]]) <= budget)
    if edge[:length].strip():
        kept.append(edge[:length])
    return kept, tokens(kept)


def _cuts(hits: Sequence[Hit], pieces: Sequence[str], kept: Sequence[str]) -> tuple[Cut, ...]:
    """The characters lost per chunk, both in packing and before it (`Chunk.dropped`)."""
    lengths = [len(piece) for piece in kept] + [0] * (len(pieces) - len(kept))
    lost = [len(piece) - length for piece, length in zip(pieces, lengths, strict=True)]
    return tuple(
        Cut(chunk=hit.chunk.id, dropped=dropped + hit.chunk.dropped, length=len(piece) + hit.chunk.dropped)
        for hit, piece, dropped in zip(hits, pieces, lost, strict=True)
        if dropped + hit.chunk.dropped
    )


def _prompt(
    texts: Template,
    build: Callable[[Sequence[str]], tuple[Message, ...]],
    kept: Sequence[str],
    cuts: tuple[Cut, ...],
    tokens: int | None,
    budget: int | None,
) -> Prompt:
    """Assemble the prompt; its `context` is empty where the template shows none."""
    context = texts.separator.join(kept) if "{context}" in texts.user else ""
    return Prompt(messages=build(kept), context=context, cuts=cuts, tokens=tokens, budget=budget)
