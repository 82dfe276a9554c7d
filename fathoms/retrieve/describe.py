"""Pages described in words: a model that sees writes what is on a retrieved page, for a model that need not.

It is another way to read a page, beside its text (by the parser or by OCR) and its picture. The description
does not depend on the question, so each page is described once and kept in the cache of replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fathoms.models import Generator
from fathoms.models.caller import ModelCalls
from fathoms.models.chat.room import room_for_prompt
from fathoms.models.describing import DESCRIBE, Describer
from fathoms.registry import OneOf
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.retriever import Index, Retriever
from fathoms.retrieve.wrapping import Wrapping
from fathoms.types import Chunk, Hit, Prompt, Purpose, Question

Described = Annotated[Retriever, OneOf("retrievers", within="describe")]


class Describe(Wrapping):
    """Replaces the pictures of retrieved pages, or of figures and tables, by descriptions of them in words.

    The pages are found by the retriever `first`. Their pictures come from `chunk: {kind: page}` with
    `image_dpi` or `max_pixels`, or from `first: {kind: visual}`. The model that answers gets the descriptions
    and no pictures, so it need not see. A description is kept in the cache by the hash of the picture, the
    model and the prompt, and is made once for all questions, repeats and runs. A page that cannot be
    described fails the question. One without a picture, such as a page that PDFium cannot render, keeps its
    text. Office documents have no page pictures and are refused, or skipped with `ingest.on_error: skip`.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"first", "generate"})
    wraps: ClassVar[str] = "first"

    kind: Literal["describe"] = "describe"
    first: Described = Field(default=Dense(), validate_default=True)
    """The retriever that finds the pages; its `top_k` is the number of pages per question."""
    generate: Generator
    """The model that sees the pages and describes them."""
    keep_text: bool = False
    """Whether the text of the page as parsed stands before its description."""
    prompt: str = Field(default=DESCRIBE, min_length=1)
    """What the model is asked with each picture."""

    @property
    def top_k(self) -> int | None:
        """The most pages per question."""
        return getattr(self.first, "top_k", None)

    def identity(self) -> dict[str, Any]:
        """Extend the identity by those of the first retriever and of the model."""
        return {**super().identity(), "generate": self.generate.identity()}

    def served(self) -> dict[str, Any]:
        """Return what the server of the model reports about the model it runs."""
        return self.generate.served()

    def check(self) -> None:
        """Check the first retriever, and that the model is reachable and sees; raises their errors."""
        super().check()
        room_for_prompt(self.generate, "retrieve.generate")
        self.generate.check()
        self.generate.check_images()

    @property
    def called(self) -> dict[Purpose, Generator]:
        """The model that describes pages."""
        return {"describe": self.generate}

    async def refine(
        self, index: Index, question: Question, candidates: Sequence[Hit], calls: ModelCalls
    ) -> tuple[Hit, ...]:
        """Return the same hits with descriptions in place of pictures. Raises ModelError and Stopped.

        The pages are described at once, as far as the model takes several calls. Where one fails, the others
        are still finished and stored, so that the next question on these pages does not pay for them.
        """
        describer = self.describer(index)

        async def words(chunk: Chunk) -> str | None:
            if chunk.image is None:
                return None
            return await describer.description(chunk.image, _named(chunk), calls)

        found = await asyncio.gather(*(words(hit.chunk) for hit in candidates), return_exceptions=True)
        described = []
        for hit, text in zip(candidates, found, strict=True):
            if isinstance(text, BaseException):
                raise text
            described.append(hit.model_copy(update={"chunk": self._in_words(hit.chunk, text)}))
        return tuple(described)

    def describer(self, index: Index) -> Describer:
        """Return what describes the pages of an index."""
        return Describer(self.generate, self.prompt, index.replies)

    def _in_words(self, chunk: Chunk, description: str | None) -> Chunk:
        """Return a chunk without its picture, and with the description if there is one."""
        text = chunk.text if description is None else description
        if self.keep_text and description is not None:
            text = "\n\n".join(filter(None, (chunk.text.strip(), description)))
        return chunk.model_copy(update={"image": None, "modality": "text", "text": text})

    def without_refining(self, candidates: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the pages with their text as parsed, which stands for descriptions in estimates."""
        return tuple(hit.model_copy(update={"chunk": self._in_words(hit.chunk, None)}) for hit in candidates)

    def refining_prompts(self, question: Question, candidates: Sequence[Hit]) -> list[Prompt]:
        """Return one prompt per picture, also for those whose descriptions are kept."""
        pictures = [hit.chunk.image for hit in candidates if hit.chunk.image is not None]
        return [Describer(self.generate, self.prompt).prompt_for(picture) for picture in pictures]


def _named(chunk: Chunk) -> str:
    """The name of a page in messages, or of a figure or table that was cut out of it (`table1 on page 3 of
    a.pdf`)."""
    if not chunk.pages:
        return chunk.source
    page = f"page {chunk.pages[0]} of {chunk.source}"
    part = chunk.id.removeprefix(f"{chunk.source}#p{chunk.pages[0]}-")
    return page if part == chunk.id else f"{part} on {page}"
