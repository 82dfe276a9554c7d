"""Searching without asking for answers: from a corpus and questions to records that hold hits alone."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from fathoms.errors import DocumentError, ModelError
from fathoms.ingest import PdfParser
from fathoms.models.caller import Caller, ModelCalls, to_failure
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed.process import embed, embed_questions
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.pipeline.answering import PackedQuestion
from fathoms.pipeline.ingest_report import ingest_report, unread_gold
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.loading import CorpusFacts, clock
from fathoms.pipeline.page_index import QUESTIONS
from fathoms.pipeline.pipeline import Stages
from fathoms.pipeline.preparation import Preparation, Progress, silent
from fathoms.retrieve import EachDocument, Index, Retriever
from fathoms.runs.cache import Cache
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Document, DocumentFacts, Failure, Hit, Question, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import PageEmbedder

    Vectors = NDArray[np.float32]

BLOCK = 16
"""The questions that are searched for at once. Their records are written before the next ones are searched
for, so that little is lost when the run is killed."""
LEAST = 10
"""The least number of different pages that a search goes to."""
_REFUSED = 400
"""The HTTP status of a request that the server does not accept as it is."""
_WARMING = 3
"""So many questions may be refused before a search counts as one that cannot be made at all."""
_DEEPER = 4
"""A search asks for so many times the chunks that are needed at least: several may be of the same page."""


@dataclass(frozen=True)
class Depth:
    """How deep a search must go so that metrics at k can be computed.

    The hits of a question are cut after `top_k` chunks, or after as many more as it takes until they are `k`
    chunks of `k` different pages. With `documents`, they must be of `k` different documents.
    """

    k: int = 0
    documents: bool = False

    def cut(self, hits: Sequence[Hit], top_k: int) -> int | None:
        """Return after how many hits the ranking is deep enough; `None` if it is not."""
        least, seen = max(top_k, self.k), set[tuple[str, int]]()
        for number, hit in enumerate(hits, start=1):
            whole = ((hit.chunk.source, 0),)
            unknown = ((hit.chunk.source, -number),)  # a page that is not known is one of its own
            seen.update(whole if self.documents else hit.chunk.places or unknown)
            if number >= least and len(seen) >= self.k:
                return number
        return None


@dataclass
class Searching:
    """A corpus that is ready to be searched, as the runner uses it (`Prepared`).

    Questions are searched for in blocks when they are asked for, and one by one where a block fails. The time
    of a search is that of its block, divided by its questions; questions are embedded again, and the first
    search of a process, which loads models and may build the index, is not counted.
    """

    ingest: PdfParser
    retriever: Retriever
    depth: Depth
    documents: Sequence[Document]
    facts: CorpusFacts
    failures: tuple[DocumentError, ...]
    index: Index
    fingerprints: dict[str, str]
    times: IngestTimes
    _questions: list[Question] = field(default_factory=list)
    _found: dict[str, tuple[tuple[Hit, ...], float]] = field(default_factory=dict)
    _failed: dict[str, Exception] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_warm: bool = False

    def report(self) -> dict[str, Any]:
        """What came of the documents; see `ingest_report`."""
        return ingest_report(self.facts, self.failures, self.index, self.retriever, self.times)

    def warm_up(self) -> None:
        """Search once, so that models are loaded and the index is made. Raises what would fail every
        question; one that a server refuses (400) is passed over for the next, because it fails alone."""
        searches = self.retriever.needs in ("chunks", "vectors") or self.retriever.pages is not None
        if not self._is_warm and searches:
            self._search_first(self._questions[:_WARMING])
        self._is_warm = True

    def _search_first(self, questions: Sequence[Question]) -> None:
        """Search for the first of these questions that a server does not refuse; raises its last error."""
        try:
            self.retriever.search(self.index, questions[:1])
        except ModelError as error:
            if error.status != _REFUSED or len(questions) == 1:
                raise
            self._search_first(questions[1:])

    @property
    def stated(self) -> Sequence[DocumentFacts]:
        """What the manifest states of each document."""
        return self.facts.documents

    @property
    def notes(self) -> dict[str, Any]:
        """What the retriever records of its search for the manifest."""
        return self.index.notes

    def assess(self, questions: Sequence[Question]) -> None:
        """Have the retriever note what its search loses, if it is approximate."""
        if questions:
            self.retriever.assess(self.index, questions)

    def retrieve(
        self, questions: Sequence[Question], among: Sequence[Question] = ()
    ) -> dict[str, tuple[Hit, ...]]:
        """Note the questions, which are searched for block by block; returns no hits. `among` are all
        questions of the data set, for a retriever that must search for all of them, and then does so now."""
        self._questions = list(questions)
        self._failed.update(
            unread_gold(
                questions, self.failures, self.stated, self.ingest, by_text=self.retriever.files is None
            )
        )
        self.assess(among or questions)
        if self.retriever.searches_all:
            self._search_block(list(among or questions))
            self._is_warm = True
        self.warm_up()
        return {}

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...] = (),
        *,
        repeat: int = 0,
        timeout: float | None = None,
        caller: Caller | None = None,
        packed: PackedQuestion | None = None,
    ) -> Record:
        """Search for one question and return its record, which has no answer. A failure is returned as a
        record with `error` set. `timeout` limits the help of a language model, in seconds."""
        record = Record(question=question, repeat=repeat, attempts=0, fingerprints=self.fingerprints)
        found: dict[str, Any] = {}
        calls = ModelCalls(caller or Caller(), repeat)
        try:
            found["hits"], seconds = await self._hits(question)
            found["timings"] = {"retrieve": seconds}
            for stage in self.retriever.called:
                candidates = found.pop("hits")  # they are no hits yet
                started = time.perf_counter()
                try:
                    async with asyncio.timeout(timeout) as deadline:
                        within = replace(calls, deadline=deadline)
                        found["hits"] = await self._refined(question, candidates, within)
                finally:
                    found["timings"][stage] = time.perf_counter() - started
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no hits within {timeout:g} s")
        except Exception as failure:  # any client error fails this question only
            found["error"] = to_failure(failure)
        return record.model_copy(update={**found, "calls": tuple(calls.done), "rounds": tuple(calls.rounds)})

    async def _hits(self, question: Question) -> tuple[tuple[Hit, ...], float]:
        """The hits of a question and the seconds that they took; searches for its block first if needed.
        Raises the error of this question, which the others of the block do not share."""
        async with self._lock:
            if not self._is_done(question):
                others = (other for other in self._questions if not self._is_done(other))
                block = [question, *(other for other in others if other.id != question.id)][:BLOCK]
                await asyncio.to_thread(self._search_each, block)
        if question.id in self._failed:
            raise self._failed[question.id]
        return self._found[question.id]

    def _is_done(self, question: Question) -> bool:
        """Whether a question was searched for, be it in vain."""
        return question.id in self._found or question.id in self._failed

    def _search_each(self, block: Sequence[Question]) -> None:
        """Search for a block of questions; if that fails, for one after another, and keep the error of each
        that fails."""
        started = clock()
        try:
            self._search_block(block)
            return
        except Exception as error:  # any error of a client fails only the questions that cause it
            if len(block) == 1:
                self._failed[block[0].id] = error
                return
        lost = (clock() - started) / len(block)
        for each in block:
            try:
                self._search_block([each], lost)
            except Exception as error:
                self._failed[each.id] = error

    def searched_together(self, question: Question) -> int:
        """How many questions are searched for at once when this one is asked; 0 if it was searched for."""
        if self._is_done(question):
            return 0
        return min(BLOCK, max(1, sum(not self._is_done(other) for other in self._questions)))

    def _search_block(self, block: Sequence[Question], lost: float = 0) -> None:
        """Search for some questions, and keep their hits and the seconds that each took, with those that were
        lost before."""
        started = clock()
        rows = self.search(block)
        seconds = lost + (clock() - started) / max(1, len(block))
        self._found |= {each.id: (row, seconds) for each, row in zip(block, rows, strict=True)}

    async def _refined(
        self, question: Question, candidates: tuple[Hit, ...], calls: ModelCalls
    ) -> tuple[Hit, ...]:
        """Let the language model help to rank as many chunks as it can, and cut them where the ranking is
        deep enough."""
        own = _top_k(self.retriever) or 0
        deep = self.retriever.model_copy(update={"top_k": MOST_CHUNKS})
        hits = await deep.refine(self.index, question, candidates, calls)
        return hits[: self.depth.cut(hits, own)]

    def search(self, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the hits of questions, as many as `depth` asks for, as far as the retriever finds them.

        A retriever that fuses or reranks candidates finds no more than these.
        """
        own = _top_k(self.retriever)
        if own is None or self.retriever.called:
            return self.retriever.search(self.index, questions)
        found: dict[str, tuple[Hit, ...]] = {}
        left, top_k = list(questions), min(MOST_CHUNKS, _DEEPER * max(own, self.depth.k))
        while left:
            deep = self.retriever.model_copy(update={"top_k": top_k})
            shallow = []
            for question, hits in zip(left, deep.search(self.index, left), strict=True):
                cut = self.depth.cut(hits, own)
                if cut is None and len(hits) == top_k < MOST_CHUNKS:
                    shallow.append(question)
                found[question.id] = hits[:cut]
            left, top_k = shallow, min(MOST_CHUNKS, _DEEPER * top_k)
        return [found[question.id] for question in questions]


def _top_k(retriever: Retriever) -> int | None:
    """The number of chunks that a retriever returns; `None` if it is not limited."""
    return getattr(retriever, "top_k", None)


class SearchPipeline(Stages):
    """The stages of a pipeline that only searches, as deep as `depth` says."""

    @field_validator("retrieve")
    @classmethod
    def _ask_no_document(cls, retrieve: Retriever) -> Retriever:
        """Leave out the model that would be asked what each document says."""
        is_asking = isinstance(retrieve, EachDocument)
        return retrieve.model_copy(update={"generate": None}) if is_asking else retrieve

    @property
    @abstractmethod
    def depth(self) -> Depth:
        """How deep the search must go for the metrics of the run."""

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        spared: Collection[str] = (),
    ) -> Searching:
        """Parse, chunk and embed what the cache does not hold yet, and return the corpus ready to be
        searched; raises as `Pipeline.prepare` does."""
        built = self.build(documents, Preparation(cache, workers, progress, spared=spared))
        pages, handling = built.index.pages, self.retrieve.pages
        if pages is not None and handling is not None:
            pages = replace(pages, embed=UncachedQuestions(handling.embed, self._calling, built.times))
        return Searching(
            ingest=self.ingest,
            retriever=self.retrieve,
            depth=self.depth,
            documents=built.documents,
            facts=built.facts,
            failures=built.failures,
            # questions are embedded again, because the time that this takes is measured
            index=replace(built.index, embed=partial(embed, self.embed, query=True), pages=pages),
            fingerprints=self.fingerprints(built.hashes),
            times=built.times,
        )


@dataclass
class UncachedQuestions:
    """Embeds texts of questions for a search whose time is measured, so never from the cache, and adds what a
    server took to `times`. `calling` are the retries and rate limits of its requests.

    Where a request fails, the vectors that arrived before it are stored for the next call with their texts,
    so that they are not paid for twice.
    """

    embedder: PageEmbedder
    calling: ExecutionSettings
    times: IngestTimes
    _arrived: dict[str, Vectors] = field(default_factory=dict)

    def __call__(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text, float32 of shape (vectors, width); raises the errors of the
        embedder."""
        there = {text: self._arrived.pop(text) for text in dict.fromkeys(texts) if text in self._arrived}
        missing = [text for text in dict.fromkeys(texts) if text not in there]

        def arrived(first: int, vectors: Sequence[Vectors]) -> None:
            there.update(zip(missing[first : first + len(vectors)], vectors, strict=True))

        how, started = EmbeddingCalls(self.calling, keep=arrived), time.perf_counter()
        try:
            if missing:
                there |= dict(zip(missing, embed_questions(self.embedder, missing, how), strict=True))
        except BaseException:
            self._arrived |= there
            raise
        finally:
            self.times.add_calls(QUESTIONS, time.perf_counter() - started, how)
        return [there[text] for text in texts]
