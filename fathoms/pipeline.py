"""From PDFs and questions to records. A newcomer starts here.

parse -> chunk -> embed          once a corpus, kept in the cache   (`Pipeline.ingest`)
retrieve                         once for all questions             (`Ingested.retrieve`)
prompt -> generate -> Record     once a question                    (`Ingested.answer`)
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.cache import Cache
from fathoms.config import Component, fingerprint
from fathoms.errors import ConfigError, DocumentError, StoreError
from fathoms.ingest import (
    Chunker,
    ElementKind,
    PageChunker,
    Parser,
    Pdfium,
    SentenceChunker,
    page_images,
    parse_all,
)
from fathoms.models import Embedder, Generator, OnnxEmbedder
from fathoms.models.caching import embed_cached
from fathoms.models.room import room_for_prompt
from fathoms.prompt import PromptBuilder
from fathoms.retrieve import AnyRetriever, Corpus, Dense
from fathoms.types import Chunk, Document, Failure, Hit, Question, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Progress = Callable[[str, int, int], None]
"""Hears (stage, done, total)."""


def silent(stage: str, done: int, total: int) -> None:
    """The progress that nobody listens to."""


class Pipeline(Component):
    """What answers questions over PDFs, stage by stage; each stage is one component."""

    ingest: Parser = Pdfium()
    """How a PDF becomes pages of text."""
    chunk: Chunker = SentenceChunker()
    """How pages become chunks."""
    embed: Embedder = OnnxEmbedder()
    """What turns chunks and questions into vectors."""
    retrieve: AnyRetriever = Dense()
    """Which chunks a question gets."""
    prompt: PromptBuilder = PromptBuilder()
    """How question and chunks are put to the model."""
    generate: Generator
    """The model that answers."""

    @property
    def _image_dpi(self) -> int | None:
        """Dots an inch of the page images that the model is shown, `None` where it is shown none."""
        if isinstance(self.chunk, PageChunker) and self.retrieve.needs in ("chunks", "vectors"):
            return self.chunk.image_dpi
        return None

    def check(self) -> None:
        """Raise now what would fail later: a missing package, missing weights, a dead server."""
        for check in self.checks().values():
            check()

    def checks(self) -> dict[str, Callable[[], None]]:
        """What each stage that this pipeline needs can be asked beforehand, by the name of its key."""
        needs = self.retrieve.needs
        found: dict[str, Callable[[], None]] = {}
        if needs != "nothing":
            found["ingest"] = self.ingest.require
        if needs in ("chunks", "vectors"):
            found["chunk"] = self._check_chunk
        if needs == "vectors":
            found["embed"] = self.embed.check
        return {**found, "retrieve": self.retrieve.check, "generate": self._check_generate}

    def _check_chunk(self) -> None:
        """The chunker, and that it can read what the parser gives."""
        self.chunk.check()
        wanted = self.chunk.reads
        if wanted is not None and wanted != self.ingest.native:
            raise ConfigError(f"chunk: kind '{self.chunk.kind}' needs ingest: {{kind: {wanted}}}")

    def _check_generate(self) -> None:
        """The model, that its reply leaves room for a prompt, and that it sees what it is shown."""
        room_for_prompt(self.generate)
        self.generate.check()
        if self._image_dpi is not None:
            self.generate.check_images()

    def fingerprints(self, documents: Mapping[str, str]) -> dict[str, str]:
        """The state of every stage, given the sha256 of every document by id.

        A stage's fingerprint holds those of its inputs, so it changes when anything before it does.
        Stages that this pipeline does not need have none.
        """
        needs = self.retrieve.needs
        stages: list[tuple[str, Component]] = [("retrieve", self.retrieve)]
        if needs == "vectors":
            stages.insert(0, ("embed", self.embed))
        if needs in ("chunks", "vectors"):
            stages.insert(0, ("chunk", self.chunk))
        if needs != "nothing":
            stages.insert(0, ("parse", self.ingest))
        stages += [("prompt", self.prompt), ("generate", self.generate)]
        state = fingerprint(sorted(documents.items())) if needs != "nothing" else ""
        found: dict[str, str] = {}
        for name, component in stages:
            state = found[name] = fingerprint(name, component.identity(), state)
        return found

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
    ) -> Ingested:
        """Parse, chunk and embed what the cache does not hold yet.

        Raises DocumentError for the first document that cannot be read, unless `ingest.on_error` is
        `skip`: then it is left out and named in `Ingested.failures`.
        """
        if self.retrieve.needs == "nothing":
            documents = {}
        hashes = {name: cache.file_hash(path) for name, path in documents.items() if path.is_file()}
        try:
            parsed, failures = self._parse(documents, hashes, cache, workers, progress)
            images = self._render(parsed, failures, cache)
            parsed = [document for document in parsed if images is None or document.id in images]
            chunks = self._chunk(parsed, cache, progress) if self.retrieve.needs != "documents" else []
            if images is not None:
                chunks = [c.model_copy(update={"image": images[c.document].get(c.pages[0])}) for c in chunks]
            folder = cache.folder / "indexes" / self._index_name(chunks)
            vectors = self._embed(chunks, folder, cache, progress)
        except OSError as error:
            raise StoreError(f"the cache in {cache.folder} cannot be written: {error}") from error
        return Ingested(
            pipeline=self,
            documents=tuple(parsed),
            failures=tuple(failures),
            corpus=Corpus(
                documents=parsed,
                chunks=chunks,
                vectors=vectors,
                embed=partial(_embed_questions, self.embed, cache),
                folder=folder,
            ),
            fingerprints=self.fingerprints(hashes),
        )

    def _index_name(self, chunks: Sequence[Chunk]) -> str:
        """What an index of these chunks is kept under: whatever changes a vector or its place is in it."""
        embedder = self.embed.identity() if self.retrieve.needs == "vectors" else None
        return fingerprint(embedder, [(chunk.id, chunk.indexed) for chunk in chunks])

    def _parse(
        self,
        documents: Mapping[str, Path],
        hashes: Mapping[str, str],
        cache: Cache,
        workers: int,
        progress: Progress,
    ) -> tuple[list[Document], list[DocumentError]]:
        """Every document as parsed, in the order given; new ones in child processes."""
        found: dict[str, Document | DocumentError] = {}
        for name, path in documents.items():
            if (known := self._parsed_before(path, hashes.get(name), cache)) is not None:
                found[name] = known.model_copy(update={"id": name, "path": path})
        new = {path: name for name, path in documents.items() if name not in found}

        def done(path: Path, result: Document | DocumentError) -> None:
            found[new[path]] = result
            progress("parse", len(found), len(documents))
            if isinstance(result, Document):
                self._keep(result, cache)

        pages = partial(progress, "page")
        parse_all(self.ingest, list(new), workers=workers, on_done=done, on_page=pages)
        failures = [item for name in documents if isinstance(item := found[name], DocumentError)]
        if failures and self.ingest.on_error == "fail":
            raise failures[0]
        return [item for name in documents if isinstance(item := found[name], Document)], failures

    def _parsed_before(self, path: Path, sha256: str | None, cache: Cache) -> Document | None:
        """A document from the cache, or from the parser's own form of it."""
        text = cache.get_text("document", fingerprint(self.ingest.identity(), sha256))
        native = self._native(sha256, cache)
        if text is not None and (native is not None or self.chunk.reads is None):
            return Document.model_validate_json(text)
        if sha256 is None or native is None:
            return None
        document = self.ingest.from_native(path, sha256, native)
        self._keep(document, cache)
        return document

    def _native(self, sha256: str | None, cache: Cache) -> str | None:
        """The parser's own form of a file, where it has one and the cache holds it."""
        if self.ingest.native is None:
            return None
        return cache.get_text("native", fingerprint(self.ingest.native_identity(), sha256))

    def _keep(self, document: Document, cache: Cache) -> None:
        """Put a document into the cache, and what it was made of."""
        key = fingerprint(self.ingest.identity(), document.sha256)
        cache.put_text("document", key, document.model_dump_json())
        if document.native is not None:
            key = fingerprint(self.ingest.native_identity(), document.sha256)
            cache.put_text("native", key, document.native)

    def _chunk(self, documents: Sequence[Document], cache: Cache, progress: Progress) -> list[Chunk]:
        """The chunks of all documents, in order."""
        identity = (self.chunk.identity(), self.ingest.identity())
        chunks: list[Chunk] = []
        for number, document in enumerate(documents, start=1):
            key = fingerprint(identity, document.id, document.sha256)
            text = cache.get_text("chunks", key)
            if text is None:
                made = self.chunk.chunk(self._for_chunks(document, cache))
                cache.put_text("chunks", key, json.dumps([chunk.model_dump(mode="json") for chunk in made]))
                progress("chunk", number, len(documents))
            else:
                made = [Chunk.model_validate(item) for item in json.loads(text)]
            chunks += made
        return chunks

    def _for_chunks(self, document: Document, cache: Cache) -> Document:
        """The document with the parser's own form, where the chunker reads that."""
        if self.chunk.reads is None:
            return document
        return document.model_copy(update={"native": self._native(document.sha256, cache)})

    def _render(
        self, documents: Sequence[Document], failures: list[DocumentError], cache: Cache
    ) -> dict[str, dict[int, Path]] | None:
        """The images of the pages of each document, `None` where none are asked for.

        A document that cannot be rendered is one that cannot be read: it joins `failures`, or ends all.
        """
        if (dpi := self._image_dpi) is None:
            return None
        found = {}
        for document in documents:
            try:
                found[document.id] = page_images(document, dpi, cache.folder / "images", self.ingest)
            except DocumentError as error:
                if self.ingest.on_error == "fail":
                    raise
                failures.append(error)
        return found

    def _embed(
        self, chunks: Sequence[Chunk], folder: Path, cache: Cache, progress: Progress
    ) -> Vectors | None:
        """The vectors of all chunks, memory-mapped from the index; made where they are missing."""
        if self.retrieve.needs != "vectors":
            return None
        import numpy as np

        path = folder / "vectors.npy"
        with suppress(OSError, EOFError, ValueError):  # not there, or damaged: made again
            mapped: Vectors = np.load(path, mmap_mode="r")
            if len(mapped) == len(chunks):
                return mapped
        texts = [chunk.indexed for chunk in chunks]
        vectors = embed_cached(self.embed, texts, cache, partial(progress, "embed"))
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"vectors-{os.getpid()}.npy"
        np.save(temporary, vectors)
        temporary.replace(path)
        return vectors


def _embed_questions(embedder: Embedder, cache: Cache, texts: Sequence[str]) -> Vectors:
    """Questions are embedded through the cache too, as questions."""
    return embed_cached(embedder, texts, cache, query=True)


@dataclass(frozen=True)
class Ingested:
    """A corpus that is ready for questions."""

    pipeline: Pipeline
    documents: tuple[Document, ...]
    failures: tuple[DocumentError, ...]
    corpus: Corpus
    fingerprints: dict[str, str]

    def report(self) -> dict[str, Any]:
        """What came out: counts of documents, pages, tables, pictures and chunks; failures by name.

        Tables and pictures are `None` where the parser does not look for them.
        """
        ingest = self.pipeline.ingest

        def total(kind: ElementKind) -> int | None:
            counts = [ingest.count(document, kind) for document in self.documents]
            return None if None in counts else sum(count or 0 for count in counts)

        return {
            "documents": len(self.documents),
            "pages": sum(len(document.pages) for document in self.documents),
            "tables": total("table"),
            "pictures": total("picture"),
            "chunks": len(self.corpus.chunks),
            "warnings": {d.id: list(d.warnings) for d in self.documents if d.warnings},
            "failures": {failure.document: failure.detail for failure in self.failures},
        }

    def retrieve(self, questions: Sequence[Question]) -> dict[str, tuple[Hit, ...]]:
        """The hits of every question by its id, found in one batch."""
        found = self.pipeline.retrieve.search(self.corpus, questions)
        return {question.id: row for question, row in zip(questions, found, strict=True)}

    async def answer(
        self, question: Question, hits: tuple[Hit, ...], *, repeat: int = 0, timeout: float | None = None
    ) -> Record:
        """Ask the model. A failure is a record too, with its class and message, never an answer.

        `timeout` is in seconds, for prompt and reply together.
        """
        record = Record(question=question, repeat=repeat, hits=hits, fingerprints=self.fingerprints)
        found: dict[str, Any] = {"timings": {}}
        try:
            async with asyncio.timeout(timeout):
                await self._ask(question, hits, found)
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no answer within {timeout:g} s")
        except Exception as failure:  # whatever a client raises is this question's failure, never the run's
            found["error"] = Failure(kind=type(failure).__name__, message=str(failure))
        return record.model_copy(update=found)

    async def _ask(self, question: Question, hits: tuple[Hit, ...], found: dict[str, Any]) -> None:
        """Prompt and reply, put into `found` as they come, so that a failure keeps what there was."""
        generate, timings = self.pipeline.generate, found["timings"]
        window = generate.context_window
        budget = None if window is None else window - (generate.max_tokens or 0)
        started = time.perf_counter()
        pack = partial(self.pipeline.prompt.pack, question, hits, generate.count_tokens, budget)
        found["prompt"] = prompt = await asyncio.to_thread(pack)  # counting tokens may ask a server
        timings["prompt"] = time.perf_counter() - started
        started = time.perf_counter()
        found["answer"] = await generate.reply(prompt)
        timings["generate"] = time.perf_counter() - started
