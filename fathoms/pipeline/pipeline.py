"""The stages of a fathoms pipeline, from PDFs and questions to records. A newcomer starts reading here.

The runner calls three functions, in this order:

    Pipeline.prepare(documents, cache) -> Ingested      once per corpus: parse, chunk and embed what the
                                                        cache does not hold
    Ingested.retrieve(questions) -> hits by question    once for all questions
    Ingested.answer(question, hits) -> Record           once per question: build the prompt, ask the model

`Ingested` is in `answering.py`, the prompt in `prompt.py`. An experiment (`fathoms/experiment`) adds data and
scoring to a pipeline. A run that only searches has the `Stages` up to retrieval and no model; `searching.py`
has the rest of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import model_validator

from fathoms.component import Component
from fathoms.errors import ConfigError, DocumentError, StoreError
from fathoms.ingest import (
    Chunker,
    PageChunker,
    Parser,
    Pdfium,
    SentenceChunker,
    fitted_picture,
)
from fathoms.ingest.workers.rendering import RenderWork
from fathoms.models import ChatModel, Embedder, Generator, OnnxEmbedder
from fathoms.models.caching import ReplyCache, embed_cached
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.chat.room import room_for_prompt
from fathoms.models.embed import process as embedding
from fathoms.pipeline.answering import Ingested, file_limits
from fathoms.pipeline.attachments import image_bounds
from fathoms.pipeline.document_chunks import ChunksOf, DocumentChunks
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.loading import CorpusFacts, Parts
from fathoms.pipeline.page_index import PageIndexer
from fathoms.pipeline.parsed_documents import ParsedDocuments
from fathoms.pipeline.picture_chunks import PictureChunker, PictureChunks
from fathoms.pipeline.preparation import Preparation, Progress, silent
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.pipeline.vector_index import TextsOf, VectorIndexer
from fathoms.retrieve import (
    AnyRetriever,
    Dense,
    EachDocument,
    Index,
    WholeDocument,
)
from fathoms.retrieve.page_search import PageHandling, PageSearch
from fathoms.retrieve.quotes import ShowsQuotes
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Document, DocumentFacts, Prompt

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Vectors


@dataclass(frozen=True)
class Built:
    """Documents that are parsed, chunked and indexed. `failures` are those that could not be read, `hashes`
    the sha256 of each file by document id, and `times` what the stages took."""

    documents: Sequence[Document]
    failures: tuple[DocumentError, ...]
    index: Index
    hashes: dict[str, str]
    times: IngestTimes
    facts: CorpusFacts


class _Corpus(NamedTuple):
    """The documents and chunks of a corpus, which are loaded when they are asked for, and what is known."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    facts: CorpusFacts
    rows: Mapping[str, ChunksOf]
    """The chunks by document."""

    def texts(self) -> list[TextsOf]:
        """The texts by which the chunks of each document are found."""
        return [
            TextsOf(fingerprint(name, row.facts.digest), row.facts.number, row.indexed)
            for name, row in self.rows.items()
        ]


class Stages(Component):
    """The stages of a document-RAG pipeline up to retrieval; each stage is one component."""

    ingest: Parser = Pdfium()
    """The parser that turns a PDF into pages of text."""
    chunk: Chunker = SentenceChunker()
    """The chunker that splits pages into chunks."""
    pictures: PictureChunks | None = None
    """How figures and tables become chunks of their own, which stand among those of text; none do if not
    given."""
    embed: Embedder = OnnxEmbedder()
    """The embedding model for chunks and questions. Used only by retrievers that need vectors."""
    retrieve: AnyRetriever = Dense()
    """The retriever that selects the context of each question."""

    @property
    def cut_out(self) -> PictureChunks | None:
        """How figures and tables become chunks; `None` where they do not, also because nothing is searched in
        chunks."""
        return self.pictures if self.retrieve.needs in ("chunks", "vectors") else None

    @property
    def describes_pictures(self) -> Generator | None:
        """The model that describes figures and tables before anything is asked; `None` if there is none."""
        return None if self.cut_out is None else self.cut_out.generate

    @property
    def _image_dpi(self) -> int | None:
        """Resolution in dots per inch of the page images for the model; `None` if it is shown none."""
        return None

    @property
    def _image_bounds(self) -> dict[str, int]:
        """The bounds of the page images for the model, as `page_images` takes them."""
        return {}

    @property
    def _shows_pages(self) -> bool:
        """Whether the model is shown the pages that retrieval by page images finds."""
        return False

    def _bounds_among(self, number: int | None) -> dict[str, int]:
        """The bounds of each of so many images for the model."""
        return {}

    def _fitted(self, path: Path, number: int, *, folder: Path) -> Path:
        """A picture that the model is shown among so many in a request, made smaller if it must be."""
        return fitted_picture(path, folder, self._bounds_among(number))

    @property
    def _calling(self) -> ExecutionSettings:
        """Where the work is done, and retries and rate limits of the requests to servers that embed pages."""
        return ExecutionSettings()

    def check(self) -> None:
        """Run all `checks` now, so that a missing package, weights or server fails early."""
        for check in self.checks().values():
            check()

    def used_stages(self) -> dict[str, Component]:
        """The stages of this pipeline that can call a server, by the stage's configuration key."""
        found: dict[str, Component] = {"retrieve": self.retrieve}
        if self.retrieve.embeds:
            found["embed"] = self.embed
        if self.cut_out is not None:
            found["pictures"] = self.cut_out
        return found

    def checks(self) -> dict[str, Callable[[], None]]:
        """The check of each stage that this pipeline needs, by the stage's configuration key."""
        needs = self.retrieve.needs
        found: dict[str, Callable[[], None]] = {}
        if needs != "nothing":
            found["ingest"] = self.ingest.require
        if needs in ("chunks", "vectors"):
            found["chunk"] = self._check_chunk
        if self.cut_out is not None:
            found["pictures"] = partial(self._check_pictures, self.cut_out)
        if self.retrieve.embeds:
            found["embed"] = partial(embedding.check, self.embed)
        return {**found, "retrieve": self._check_retrieve}

    def _check_retrieve(self) -> None:
        """Check the retriever, and that the parser can say where the figures are that it cuts out."""
        self.retrieve.check()
        handling = self.retrieve.pages
        if handling is not None and handling.units != "pages" and not self.ingest.gives_boxes:
            raise ConfigError(
                f"visual: units: '{handling.units}' needs to know where figures and tables are on a page,"
                f" which ingest kind '{self.ingest.kind}' does not say: use ingest: {{kind: docling}}, or"
                " units: pages"
            )

    def _check_pictures(self, pictures: PictureChunks) -> None:
        """Check that pictures can be cut out, and that the model that describes them sees."""
        if not self.ingest.gives_boxes:
            raise ConfigError(
                f"pictures: ingest kind '{self.ingest.kind}' does not say where figures and tables are on"
                " a page: use ingest: {kind: docling}"
            )
        pictures.check()

    def _check_chunk(self) -> None:
        """Check the chunker, and that it can read what the parser produces."""
        self.chunk.check()
        wanted = self.chunk.reads
        if wanted is not None and wanted != self.ingest.native:
            raise ConfigError(f"chunk: kind '{self.chunk.kind}' needs ingest: {{kind: {wanted}}}")

    def fingerprints(self, documents: Mapping[str, str]) -> dict[str, str]:
        """Return the fingerprint of every stage, given the sha256 of every document by id.

        A stage's fingerprint covers those of the stages before it, so it changes when any of its inputs does.
        Stages that this pipeline does not need have no fingerprint.
        """
        needs = self.retrieve.needs
        stages: list[tuple[str, Component]] = [("retrieve", self.retrieve)]
        if self.retrieve.embeds:
            stages.insert(0, ("embed", self.embed))
        if needs in ("chunks", "vectors"):
            if self.cut_out is not None:
                stages.insert(0, ("pictures", self.cut_out))
            stages.insert(0, ("chunk", self.chunk))
        if needs != "nothing":
            stages.insert(0, ("parse", self.ingest))
        stages += self._after_retrieval()
        state = fingerprint(sorted(documents.items())) if needs != "nothing" else ""
        found: dict[str, str] = {}
        for name, component in stages:
            if name == "retrieve" and (limits := self._limits_of_files()) is not None:
                state = fingerprint(limits, state)
            state = found[name] = fingerprint(name, component.identity(), state)
        return found

    def _after_retrieval(self) -> list[tuple[str, Component]]:
        """The stages after retrieval, by the names of their fingerprints."""
        return []

    def _limits_of_files(self) -> dict[str, Any] | None:
        """The limits of the model that decide how attached files are split; `None` if nothing is attached."""
        return None

    def by_ocr(self) -> Self:
        """Return a copy with the words of OCR in the place of descriptions, for which no model is asked."""
        if self.cut_out is None:
            return self
        return self.model_copy(update={"pictures": self.cut_out.by_ocr()})

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        spared: Collection[str] = (),
    ) -> Prepared:
        """Make the corpus ready for questions; only a pipeline and a search know what that takes."""
        raise TypeError("prepare a Pipeline or a SearchPipeline, not their stages alone")

    def parse(self, documents: Mapping[str, Path], work: Preparation) -> None:
        """Parse what the cache does not hold yet, and nothing else; raises as `Pipeline.prepare` does."""
        self.model_copy(update={"retrieve": WholeDocument()}).build(documents, work)

    def build(self, documents: Mapping[str, Path], work: Preparation) -> Built:
        """Parse, chunk and embed what the cache does not hold yet; raises as `Pipeline.prepare` does."""
        if self.retrieve.needs == "nothing":
            documents = {}  # for example a closed-book pipeline
        cache = work.cache
        parsed = ParsedDocuments(self.ingest, documents, self._hashes(documents, cache), cache, work.spared)
        try:
            with closing(self._calling.executor(work.workers)) as executor:
                work = replace(work, executor=executor)
                corpus = self._read(parsed, work)
                corpus, pages = self._pages(corpus, parsed, work)
                folder = cache.folder / "indexes" / corpus.facts.index
                vectors = self._embed(corpus, work)
        except OSError as error:
            raise StoreError(f"the cache in {cache.folder} cannot be written: {error}") from error
        queries = partial(embed_cached, self.embed, cache=cache, query=True)
        names = [document.id for document in corpus.facts.documents]
        index = Index(
            corpus.documents,
            corpus.chunks,
            vectors,
            queries,
            folder,
            refresh=cache.refresh,
            pages=pages,
            full=cache.full,
            embed_texts=partial(embed_cached, self.embed, cache=cache),
            replies=ReplyCache(cache),
            lineage=fingerprint("lineage", self.ingest.identity(), self.chunk.identity(), names),
            names=names,
            counts=corpus.facts.chunks,
            fitted=partial(self._fitted, folder=cache.folder / "images"),
        )
        self._prepare(index, work)
        return Built(corpus.documents, tuple(parsed.failures), index, parsed.hashes, work.times, corpus.facts)

    def _prepare(self, index: Index, work: Preparation) -> None:
        """Have the retriever build what it searches, so that no question waits for it."""
        built, started = 0, time.perf_counter()

        def report(done: int, total: int) -> None:
            nonlocal built
            built = done
            work.progress("index", done, total)

        self.retrieve.prepare(index, report)
        if built:
            work.times.took("index", time.perf_counter() - started, built)

    def _hashes(self, documents: Mapping[str, Path], cache: Cache) -> dict[str, str]:
        """The sha256 of the files that exist, by the names of their documents."""
        found = cache.file_hashes(documents.values())
        return {name: found[path] for name, path in documents.items() if path in found}

    def _read(self, parsed: ParsedDocuments, work: Preparation) -> _Corpus:
        """Parse and chunk what the cache does not hold."""
        chunks = None
        if self.retrieve.needs in ("chunks", "vectors"):
            chunks = DocumentChunks(self.chunk, self.ingest.identity(), parsed, work.cache)
        with work.times.stage("parse"):
            parsed.find()
            parsed.parse(work, chunks.unreadable() if chunks else ())
        images = self._render(parsed, work)
        if chunks is None:
            return self._corpus(parsed, {})
        with work.times.stage("chunk"):
            chunks.make(work)
        more: dict[str, list[Chunk]] = {}
        if self.cut_out is not None:
            more = self._chunks_of_pictures(self.cut_out, work).chunks(parsed.sequence(), parsed.leave_out)
        rows = {name: ChunksOf(name, chunks, images.get(name), more.get(name, ())) for name in parsed.names()}
        return self._corpus(parsed, rows)

    def _corpus(self, parsed: ParsedDocuments, chunks: Mapping[str, ChunksOf]) -> _Corpus:
        """The corpus of the documents that could be read, and of the chunks of each."""
        by_name = {name: chunks[name] for name in parsed.names() if name in chunks}
        rows = list(by_name.values())
        facts = CorpusFacts(
            documents=parsed.stated(),
            chunks=tuple(row.facts.number for row in rows),
            # the name of an index is a hash of all that changes a vector or its position
            index=fingerprint(self._embedder, [row.facts.digest for row in rows]),
            tables=parsed.total("table"),
            pictures=parsed.total("picture"),
        )
        return _Corpus(parsed.sequence(), Parts(lambda at: rows[at].load(), facts.chunks), facts, by_name)

    def _pages(
        self, corpus: _Corpus, parsed: ParsedDocuments, work: Preparation
    ) -> tuple[_Corpus, PageSearch | None]:
        """Embed the pictures of all pages for retrieval by page images; `None` where there is none.

        A document that cannot be rendered is treated as unreadable: the corpus that is returned lacks it.
        """
        handling = self.retrieve.pages
        if handling is None:
            return corpus, None
        indexer = self._indexer(handling, corpus.documents, corpus.facts.documents, work)
        pages = indexer.index()
        if not (bad := indexer.failures):
            return corpus, pages
        left = [at for at in range(len(corpus.documents)) if at not in bad]
        parsed.leave_out([*bad.values()])
        new = {position: at for at, position in enumerate(left)}
        places = [(new[position], page) for position, page in pages.places]
        smaller = self._corpus(parsed, corpus.rows)
        return smaller, replace(pages, names=parsed.names(), places=places)

    def _chunks_of_pictures(self, settings: PictureChunks, work: Preparation) -> PictureChunker:
        """What makes chunks of figures and tables."""
        bounds = self._image_bounds if settings.show == "images" else {}
        return PictureChunker(settings, self.ingest, work, bounds, self._calling)

    def undescribed(self, documents: Mapping[str, Path], cache: Cache) -> list[Prompt]:
        """The prompts for descriptions of figures and tables that a model would be asked for, of the
        documents that were parsed before."""
        if self.cut_out is None:
            return []
        parsed = self._found(documents, cache).sequence()
        return self._chunks_of_pictures(self.cut_out, Preparation(cache)).undescribed(parsed)

    def _indexer(
        self,
        handling: PageHandling,
        documents: Sequence[Document],
        facts: Sequence[DocumentFacts],
        work: Preparation,
    ) -> PageIndexer:
        """What embeds the pictures of the pages of these documents."""
        bounds = self._image_bounds if self._shows_pages and handling.shown else None
        return PageIndexer(handling, documents, facts, self.ingest, work, bounds, calling=self._calling)

    def has_embedded_pages(self, documents: Mapping[str, Path], cache: Cache) -> bool:
        """Whether the cache holds the vectors of all pages that retrieval by page images would embed."""
        if (handling := self.retrieve.pages) is None:
            return True
        parsed = self._found(documents, cache)
        if len(parsed.facts) < len(documents):
            return False
        parts = (parsed.sequence(), parsed.stated(), Preparation(cache))
        return self._indexer(handling, *parts).holds_all()

    @property
    def _embedder(self) -> dict[str, Any] | None:
        """The identity of the embedder, `None` if nothing is embedded."""
        return self.embed.identity() if self.retrieve.needs == "vectors" else None

    def _found(self, documents: Mapping[str, Path], cache: Cache) -> ParsedDocuments:
        """The documents that the cache holds as parsed. Nothing is parsed for it."""
        if self.retrieve.needs == "nothing":
            documents = {}
        found = ParsedDocuments(self.ingest, documents, self._hashes(documents, cache), cache)
        found.find()
        return found

    def is_parsed(self, documents: Mapping[str, Path], cache: Cache) -> bool:
        """Whether the cache holds the parse of every document that exists."""
        if self.retrieve.needs == "nothing":
            return True
        found = self._found(documents, cache)
        chunks = DocumentChunks(self.chunk, self.ingest.identity(), found, cache)
        return len(found.facts) == len(found.hashes) and not chunks.unreadable()

    def parsed_before(self, documents: Mapping[str, Path], cache: Cache) -> Sequence[DocumentFacts]:
        """What is known of the documents that the cache holds as parsed. Nothing is parsed for it."""
        return self._found(documents, cache).stated()

    def _render(self, parsed: ParsedDocuments, work: Preparation) -> Mapping[str, Mapping[int, Path]]:
        """Render the page images of each document; none where the model is shown none.

        A document that cannot be rendered is treated as unreadable.
        """
        if (dpi := self._image_dpi) is None:
            return {}
        names = parsed.names()
        render, cache = RenderWork(dpi, self.ingest, self._image_bounds), work.cache
        bare = list(map(parsed.bare, names))
        outcomes = render.all(work.executor, bare, cache.folder / "images", cache.shared)
        rendered: dict[str, Mapping[int, Path]] = {}
        for name, outcome in zip(names, outcomes, strict=True):
            if not isinstance(outcome, DocumentError):
                rendered[name] = outcome
        parsed.leave_out([outcome for outcome in outcomes if isinstance(outcome, DocumentError)])
        return rendered

    def _embed(self, corpus: _Corpus, work: Preparation) -> Vectors | None:
        """The vectors of all chunks, embedded first if missing; `None` if not needed."""
        if self.retrieve.needs != "vectors":
            return None
        return VectorIndexer(self.embed, work).index(corpus.facts.index, corpus.facts.chunks, corpus.texts)


class Pipeline(Stages):
    """A document-RAG pipeline, configured stage by stage; each stage is one component."""

    prompt: PromptBuilder = PromptBuilder()
    """The prompt that puts the question and its retrieved context to the model."""
    generate: Generator
    """The model that answers the questions."""

    @model_validator(mode="before")
    @classmethod
    def _ask_documents_with_the_same_model(cls, given: Any) -> Any:
        """Where each document is asked by itself and no model is named for that, take the one that
        answers."""
        retrieve = given.get("retrieve") if isinstance(given, Mapping) else None
        if isinstance(retrieve, EachDocument):
            retrieve = retrieve.model_dump(mode="json")
        if not isinstance(retrieve, Mapping) or retrieve.get("kind") != "each-document":
            return given
        if retrieve.get("generate") is not None or "generate" not in given:
            return given
        return {**given, "retrieve": {**retrieve, "generate": given["generate"]}}

    @property
    def _image_dpi(self) -> int | None:
        """Resolution in dots per inch of the page images for the model; `None` if it is shown none."""
        if isinstance(self.chunk, PageChunker) and self.retrieve.needs in ("chunks", "vectors"):
            return self.chunk.dpi
        return None

    @property
    def _image_bounds(self) -> dict[str, int]:
        """The pixel budget of the configuration, and what the model takes.

        The limits of the model are in no fingerprint: they follow from its kind and from `top_k`, and no
        answer was ever given to an image beyond them.
        """
        return self._bounds_among(self._sees[1])

    def _bounds_among(self, number: int | None) -> dict[str, int]:
        """The bounds of each of so many images in one request; `None` for an unknown number."""
        if not isinstance(self.chunk, PageChunker) and not self._shows_pages:
            return {}
        model = self._sees[0]
        limits = file_limits(model)
        bounds = image_bounds(model.image_limits, limits, number)
        if limits.size is not None and number:  # all images of a prompt together
            share = int(limits.size / limits.image_weight / number)
            bounds["max_bytes"] = min(share, bounds.get("max_bytes", share))
        if isinstance(self.chunk, PageChunker) and self.chunk.max_pixels is not None:
            bounds["max_pixels"] = self.chunk.max_pixels
        return bounds

    @property
    def _shows_pages(self) -> bool:
        """Whether the model is shown the pages that retrieval by page images finds, or other pictures that
        come with the hits."""
        pages = self.retrieve.pages
        cut_out = self.cut_out is not None and self.cut_out.show == "images"
        return self.retrieve.shows_pictures or cut_out or (pages is not None and pages.shown)

    @property
    def _sees(self) -> tuple[ChatModel, int | None]:
        """The model that is shown page images, and the most of them in one of its requests; `None` if their
        number is not known."""
        called = self.retrieve.called
        if "describe" in called:
            return called["describe"], 1
        if "extract" in called:
            return called["extract"], self.retrieve.most_pictures
        return self.generate, self.retrieve.most_pictures

    def checks(self) -> dict[str, Callable[[], None]]:
        """The check of each stage that this pipeline needs, by the stage's configuration key."""
        return {**super().checks(), "generate": self._check_generate}

    def _check_generate(self) -> None:
        """Check that the model is reachable, has room for a prompt, and takes the images or files it gets."""
        room_for_prompt(self.generate)
        self.generate.check()
        files = self.retrieve.files
        # search by page images makes its own hits, with no picture of `chunk: {kind: page}` in them
        by_pages = self.retrieve.pages is not None or self._shows_pages
        shown = self._shows_pages if by_pages else self._image_dpi is not None
        model, number = self._sees
        most = file_limits(model).images
        if "describe" in self.retrieve.called:
            self._check_described(shown)
        if shown and number is not None and most is not None and number > most:
            raise ConfigError(
                f"retrieve.top_k: {number} page images are more than the {most} that the model takes in one"
                " request: lower it, or raise generate.max_images"
            )
        if (shown and model is self.generate) or (files and "images" in (files.form, files.too_long)):
            self.generate.check_images()
        if files and files.form == "pdf" and self.generate.file_limits is None:
            raise ConfigError(
                f"generate: kind '{self.generate.kind}' takes no PDFs: set retrieve.form to 'images' for a"
                " vision model, or retrieve: {kind: whole-document} for the text"
            )
        texts = self.prompt.texts()
        if isinstance(self.retrieve, ShowsQuotes) and not (
            "{rank}" in texts.chunk and "{number}" in texts.picture
        ):
            raise ConfigError(
                f"prompt: the template '{self.prompt.template}' does not show the numbers by which texts and"
                " pictures are cited ({rank} in 'chunk', {number} in 'picture'): set prompt: {template:"
                " quotes}"
            )
        if self.retrieve.kind in ("distractors", "injected") and texts.order == "page":
            raise ConfigError(
                f"prompt.order: 'page' sorts the chunks by their pages, and kind '{self.retrieve.kind}' has a"
                " 'position' for them: set prompt.order: rank"
            )
        if files and self.prompt.template == "default" and self.prompt.user is None:
            raise ConfigError(
                "prompt: the template 'default' refers to retrieved context, but files are attached instead:"
                " set prompt: {template: attached}"
            )

    def _check_described(self, shown: bool) -> None:
        """Check that there are pictures to describe, and that the prompt has room for the descriptions."""
        if not shown:
            raise ConfigError(
                "retrieve: kind 'describe' needs pictures of pages: set chunk: {kind: page, max_pixels:"
                " 1_000_000}, or first: {kind: visual, ...}"
            )
        if "{text}" not in self.prompt.texts().chunk:
            raise ConfigError(
                f"prompt: the template '{self.prompt.template}' does not show the text of a page, and kind"
                " 'describe' gives the model nothing else: use one with {text} in 'chunk', such as 'default'"
            )

    def _after_retrieval(self) -> list[tuple[str, Component]]:
        """The prompt and the model."""
        return [("prompt", self.prompt), ("generate", self.generate)]

    def _limits_of_files(self) -> dict[str, Any] | None:
        """The limits of the model, if files are attached."""
        return None if self.retrieve.files is None else asdict(file_limits(self.generate))

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        spared: Collection[str] = (),
    ) -> Ingested:
        """Parse, chunk and embed what the cache does not hold yet, and return the corpus ready for questions.

        `workers` is the number of parser processes. Documents that cannot be read are left out and listed in
        `Ingested.failures`. Unless `ingest.on_error` is `skip`, one DocumentError names them all where one of
        them is not `spared`. Raises StoreError where the cache cannot be written.
        """
        built = self.build(documents, Preparation(cache, workers, progress, spared=spared))
        return Ingested(
            ingest=self.ingest,
            retriever=self.retrieve,
            prompt=self.prompt,
            generate=self.generate,
            documents=built.documents,
            facts=built.facts,
            failures=built.failures,
            index=built.index,
            fingerprints=self.fingerprints(built.hashes),
            folder=cache.folder,
            times=built.times,
        )
