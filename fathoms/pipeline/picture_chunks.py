"""Figures and tables as chunks of their own: cut out of their pages, and indexed by words that describe them.

They stand among the chunks of text, so every retriever of texts finds them, and the model that answers is
shown the picture, or its words. `retrieve: {kind: visual, units: figures}` finds them by their pictures
instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from fathoms.component import Component, package_version
from fathoms.errors import DocumentError, ModelError
from fathoms.ingest import MARGIN, PdfParser, cut_out_images, cut_outs
from fathoms.ingest.cut_outs import not_cut_out
from fathoms.ingest.workers.rendering import RenderWork
from fathoms.models import FileLimits, Generator
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller, ModelCalls
from fathoms.models.calling.background import run_in_background
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.chat.room import room_for_prompt
from fathoms.models.describing import DESCRIBE, Describer
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.pipeline.attachments import image_bounds
from fathoms.pipeline.preparation import Preparation
from fathoms.retrieve.page_search import RENDERER
from fathoms.runs.events import happened
from fathoms.types import Call, Chunk, CutOut, Document, PageBox, Prompt

STAGE = "describe pictures"
"""The name of this stage in times and progress bars."""


class PictureChunks(Component):
    """How figures and tables become chunks of their own. Where they are on a page is known from
    `ingest: {kind: docling}` or from a parser of your own that gives boxes."""

    neutral = frozenset({"generate"})

    words: Literal["ocr", "description"] = "ocr"
    """By which words a picture is indexed: those that the parser read in it (`ocr`; the cells of a table, and
    what OCR found if the parser has one), or a `description` by a model that sees."""
    generate: Generator | None = None
    """The model that sees, for `words: description`. Each picture is described once, and the description is
    kept in the cache by the hash of the picture, the model and the prompt."""
    prompt: str = Field(default=DESCRIBE, min_length=1)
    """What the model is asked with each picture."""
    dpi: int = Field(default=150, ge=20, le=600)
    """Resolution of the pictures in dots per inch."""
    show: Literal["images", "text"] = "images"
    """What the model that answers gets of a picture that was found: the picture, with its words where the
    prompt template shows them, or its words alone."""

    @model_validator(mode="after")
    def _has_a_model(self) -> PictureChunks:
        if self.words == "description" and self.generate is None:
            raise ValueError("words: description needs a model that sees: add 'generate: {kind: ..., ...}'")
        if self.words == "ocr" and self.generate is not None:
            raise ValueError("generate: it describes pictures only with words: description")
        return self

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the model and by the versions of the renderer."""
        renderer = {name: package_version(name) for name in RENDERER}
        model = None if self.generate is None else self.generate.identity()
        return {**super().identity(), "generate": model, "renderer": renderer, "margin": MARGIN}

    def by_ocr(self) -> PictureChunks:
        """Return the same with the words of OCR, which stand for descriptions in estimates."""
        return self.model_copy(update={"words": "ocr", "generate": None})

    def served(self) -> dict[str, Any]:
        """Return what the server of the model reports about the model it runs."""
        return {} if self.generate is None else self.generate.served()

    def check(self) -> None:
        """Check that the model is reachable and sees; raises its errors."""
        if self.generate is not None:
            room_for_prompt(self.generate, "pictures.generate")
            self.generate.check()
            self.generate.check_images()


class Picture(NamedTuple):
    """A figure or table of a document, and the files of its picture: `shown` for the model that answers, and
    `described` for the one that describes it; `None` where there is no such model."""

    document: Document
    cut_out: CutOut
    shown: Path | None
    described: Path | None

    @property
    def name(self) -> str:
        """Its name in messages, such as `table1 on page 3 of a.pdf`."""
        own = self.cut_out.name.partition("-")[2]
        return f"{own} on page {self.cut_out.page} of {self.document.id}"


@dataclass(frozen=True)
class PictureChunker:
    """Makes the chunks of figures and tables of documents. `bounds` are those of the pictures for the model
    that answers, as `cut_out_images` takes them, and `calling` the retries and rate limits of the describing
    model."""

    settings: PictureChunks
    parser: PdfParser
    work: Preparation
    bounds: Mapping[str, int]
    calling: ExecutionSettings

    def chunks(
        self, documents: Sequence[Document], leave_out: Callable[[Sequence[DocumentError]], None]
    ) -> dict[str, list[Chunk]]:
        """Return the chunks of the figures and tables of each document, by its id.

        A document whose pages cannot be rendered has none; `leave_out` is given the errors of all of these
        before anything is described, and may raise one. Raises ModelError for a picture that cannot be
        described.
        """
        found: dict[str, list[Picture]] = {}
        failures: list[DocumentError] = []
        failed = self._render(documents)
        for document in documents:
            try:
                if document.id in failed:
                    raise failed[document.id]
                found[document.id] = list(self._pictures(document))
            except DocumentError as error:
                failures.append(error)
        leave_out(failures)
        words = iter(self._words([picture for row in found.values() for picture in row]))
        return {name: [self._chunk(one, next(words)) for one in row] for name, row in found.items()}

    def undescribed(self, documents: Sequence[Document]) -> list[Prompt]:
        """Return the prompts with which the model would be asked for descriptions that are not kept yet.
        Pages are rendered if need be; documents that cannot be rendered have none."""
        describer = self._describer()
        found: list[Prompt] = []
        if describer is None:
            return found
        for document in documents:
            with suppress(DocumentError):
                paths = [picture.described for picture in self._pictures(document)]
                found += [
                    describer.prompt_for(path) for path in paths if path and not describer.is_cached(path)
                ]
        return found

    def _render(self, documents: Sequence[Document]) -> dict[str, DocumentError]:
        """Render the pages from which pictures must be cut, all by the executor; returns the errors of
        documents by their ids."""
        several = [bounds for bounds in (self._for_answers, self._for_descriptions) if bounds is not None]
        folder = self.work.cache.folder / "images"
        wanted = not_cut_out(documents, self.settings.dpi, folder, several or [{}])
        work = RenderWork(self.settings.dpi, self.parser, {})
        rendered = work.all(self.work.executor, wanted, folder, self.work.cache.shared)
        pairs = zip(wanted, rendered, strict=True)
        return {document.id: error for document, error in pairs if isinstance(error, DocumentError)}

    @property
    def _for_answers(self) -> Mapping[str, int] | None:
        """The bounds of pictures for the model that answers; `None` if it is shown none."""
        return self.bounds if self.settings.show == "images" else None

    @property
    def _for_descriptions(self) -> Mapping[str, int] | None:
        """The bounds of pictures for the model that describes them; `None` if there is none."""
        if (model := self.settings.generate) is None:
            return None
        return image_bounds(model.image_limits, model.file_limits or FileLimits(None, None), 1)

    def _pictures(self, document: Document) -> Iterator[Picture]:
        """Yield the figures and tables of a document that have a picture; raises DocumentError."""
        shown = None if self._for_answers is None else self._cut(document, self._for_answers)
        described = None if self._for_descriptions is None else self._cut(document, self._for_descriptions)
        there = self._cut(document, {}) if shown is None and described is None else shown or described or {}
        for cut_out in cut_outs(document):
            if (name := cut_out.name) in there:
                yield Picture(document, cut_out, (shown or {}).get(name), (described or {}).get(name))

    def _cut(self, document: Document, bounds: Mapping[str, int]) -> dict[str, Path]:
        """Return the pictures of the figures and tables of a document by their names."""
        folder, shared = self.work.cache.folder / "images", self.work.cache.shared
        return cut_out_images(document, self.settings.dpi, folder, self.parser, shared=shared, **bounds)

    def _describer(self) -> Describer | None:
        """Return what describes pictures; `None` where OCR gives the words."""
        model = self.settings.generate
        return None if model is None else Describer(model, self.settings.prompt, ReplyCache(self.work.cache))

    def _words(self, pictures: Sequence[Picture]) -> list[str]:
        """Return the words by which each picture is indexed, in their order."""
        describer = self._describer()
        if describer is None:
            return [picture.cut_out.text for picture in pictures]
        calls = ModelCalls(Caller(ProviderCalls(self.calling)))
        with self.work.times.stage(STAGE):
            try:
                return run_in_background(self._described(describer, pictures, calls))
            finally:  # what was paid for counts, whatever failed then
                self._count(calls.done)

    async def _described(
        self, describer: Describer, pictures: Sequence[Picture], calls: ModelCalls
    ) -> list[str]:
        """Describe pictures, as many at once as the model takes. Where one fails, the others are still
        finished and stored; then the first error is raised."""
        done = 0

        async def describe(picture: Picture) -> str:
            nonlocal done
            assert picture.described is not None
            text = await describer.description(picture.described, picture.name, calls)
            done += 1
            self.work.progress(STAGE, done, len(pictures))
            return text

        descriptions = await asyncio.gather(*map(describe, pictures), return_exceptions=True)
        words = []
        for picture, text in zip(pictures, descriptions, strict=True):
            if isinstance(text, ModelError) and self.parser.on_error == "skip":
                happened("picture-not-described", level=logging.WARNING, picture=picture.name, why=str(text))
                text = picture.cut_out.text
            if isinstance(text, BaseException):
                raise text
            words.append(text)
        return words

    def _count(self, calls: Sequence[Call]) -> None:
        """Add what the descriptions took to the times of ingestion; those from the cache took nothing."""
        took = EmbeddingCalls(self.calling)
        for call in calls:
            if not call.cached and call.error is None:
                used = (call.usage.prompt_tokens, call.usage.completion_tokens)
                took.add(1, None if None in used else sum(used), call.cost)  # type: ignore[arg-type]
        self.work.times.add_items(STAGE, took.inputs)
        self.work.times.called(STAGE, took)

    def _chunk(self, picture: Picture, words: str) -> Chunk:
        """Return the chunk of a figure or table."""
        document, cut_out = picture.document, picture.cut_out
        return Chunk(
            id=f"{document.id}#{cut_out.name}",
            document=document.id,
            pages=(cut_out.page,),
            boxes=(PageBox(page=cut_out.page, bbox=cut_out.bbox),),
            modality="image",
            text=words,
            image=picture.shown,
        )
