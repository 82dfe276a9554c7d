"""What all external pipelines share: asking questions and turning the answers into records.

Replies of external pipelines are never cached, because nobody can know what changed behind an address or a
function.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from fathoms.errors import DocumentError
from fathoms.models.caller import Caller, to_failure
from fathoms.models.prices import Priced
from fathoms.pipeline.answering import PackedQuestion
from fathoms.pipeline.external.answer import Answer, renamed, renamed_in_rounds, with_places
from fathoms.pipeline.external.calls import RaisedError
from fathoms.pipeline.external.names import DocumentNames, TextPlaces
from fathoms.pipeline.external.reading import Unmatched
from fathoms.pipeline.external.tracing import around, new_ids
from fathoms.runs.cache import Cache
from fathoms.safety.masking import without_known
from fathoms.safety.option_limits import MOST_AT_ONCE
from fathoms.text.fingerprints import fingerprint
from fathoms.types import (
    Document,
    DocumentFacts,
    Failure,
    Hit,
    Question,
    Record,
    ServiceReply,
    TraceIds,
    Usage,
)

if TYPE_CHECKING:
    from fathoms.pipeline.pipeline import Built


UNREAD = "the assumed parser cannot read it: "
"""How a warning about a document begins that the pipeline may read in another way."""


class PipelineReply(NamedTuple):
    """What an external pipeline replied to one question.

    `first_token` is the seconds to the first token where the answer was streamed. `unmatched` are the paths
    of the configuration that matched nothing in the reply, and `version` is the version of the service; both
    are known of services only.
    """

    answer: Answer
    first_token: float | None = None
    unmatched: tuple[Unmatched, ...] = ()
    version: str | None = None


Ask = Callable[[Question, TraceIds], Awaitable[PipelineReply]]
"""Asks one question under trace ids; an exception that it raises becomes the question's failure."""


class ExternalPipeline(Priced):
    """An external pipeline, reached by HTTP or as Python code; fathoms supplies the data and the scoring."""

    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """The most questions in flight at once."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the pipeline in the manifest and in tables."""

    @property
    def sends_trace(self) -> bool:
        """Whether trace ids go to the pipeline with each question, so that they are kept with the answer."""
        return False

    @abstractmethod
    def at(self, base: Path) -> ExternalPipeline:
        """Return a copy whose relative paths and modules are resolved from `base`, the folder of the
        configuration. Raises ConfigError."""

    @abstractmethod
    def check(self) -> None:
        """Raise now what would fail with every question."""

    @abstractmethod
    def open(self, documents: Sequence[Document]) -> tuple[Ask, str]:
        """Make the pipeline ready for questions; returns how to ask it, and a note for people."""

    def prepare(self, documents: Mapping[str, Path], cache: Cache) -> Connected:
        """Hash the documents and make the pipeline ready.

        Missing documents are skipped without an error, because the pipeline reads documents itself.
        """
        there = [
            Document(id=name, path=path, sha256=cache.file_hash(path), pages=())
            for name, path in documents.items()
            if path.is_file()
        ]
        ask, note = self.open(there)
        state = fingerprint("pipeline", self.identity(), sorted((item.id, item.sha256) for item in there))
        return Connected(
            ask,
            note,
            there,
            [DocumentFacts(id=item.id, sha256=item.sha256) for item in there],
            {"pipeline": state},
            names=DocumentNames(documents),
            cost=self.cost,
            sends_trace=self.sends_trace,
        )


@dataclass(frozen=True)
class Connected:
    """An external pipeline that is ready for questions.

    Its `documents` have no pages until they are read (`with_texts`); then `parser` says by what.
    """

    ask: Ask
    note: str
    documents: Sequence[Document]
    stated: Sequence[DocumentFacts]
    """The hash of each document, and what is known of its text."""
    fingerprints: dict[str, str]
    names: DocumentNames
    texts: TextPlaces = field(default_factory=lambda: TextPlaces(()))
    failures: tuple[DocumentError, ...] = ()
    parser: str | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    """What came of reading the documents, as `report` says it."""
    cost: Callable[[Usage, str | None], float | None] = lambda usage, named: None
    """Cost in US dollars of some token usage and the model named; used where an answer reports no cost."""
    sends_trace: bool = False
    """Whether the trace ids go to the pipeline."""

    def with_texts(self, read: Built, parser: str) -> Connected:
        """Return the same with the texts of the documents as an assumed parser reads them. One that it cannot
        read is no failure, because the pipeline may read it in another way."""
        facts = read.facts.documents
        if not facts:
            return self
        names = {fact.id for fact in facts}
        unread = (fact for fact in self.stated if fact.id not in names)
        warnings = {fact.id: list(fact.warnings) for fact in facts if fact.warnings}
        return replace(
            self,
            documents=read.documents,
            stated=(*facts, *unread),
            parser=parser,
            texts=TextPlaces(read.documents),
            read={
                "pages": sum(fact.pages for fact in facts),
                "warnings": warnings | {one.document: [UNREAD + one.detail] for one in read.failures},
                "times": read.times.report(),
            },
        )

    def report(self) -> dict[str, Any]:
        """The number of documents, and what came of reading them; other counts are unknown (`None`)."""
        unknown = dict.fromkeys(("pages", "tables", "pictures", "chunks"))
        found = {"note": self.note, "warnings": {}, "failures": {}}
        return {**unknown, **found, **self.read, "documents": len(self.stated)}

    @property
    def notes(self) -> dict[str, Any]:
        """Nothing: fathoms does not search here."""
        return {}

    def assess(self, questions: Sequence[Question]) -> None:
        """Do nothing: fathoms does not search here."""

    def retrieve(
        self, questions: Sequence[Question], among: Sequence[Question] = ()
    ) -> dict[str, tuple[Hit, ...]]:
        """Return nothing: an external pipeline reports its contexts, if at all, with its answers."""
        return {}

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        caller: Caller | None = None,
        packed: PackedQuestion | None = None,
    ) -> Record:
        """Ask the pipeline one question. A failure is returned as a record with `error` set, never raised.

        `timeout` is in seconds and includes all attempts and the waits between them, but not the wait in the
        queue; `None` means no limit. `caller` applies rate limits and retries. `hits` and
        `packed` are ignored.
        """
        record = Record(question=question, repeat=repeat, hits=None, fingerprints=self.fingerprints)
        started = time.perf_counter()
        ids = new_ids(around())
        found: dict[str, Any] = {"attempts": 0, "trace": ids if self.sends_trace else None}
        retries: list[str] = []

        async def call() -> tuple[PipelineReply, float]:
            found["attempts"] += 1
            called = time.perf_counter()
            reply = await self.ask(question, ids)
            return reply, time.perf_counter() - called

        try:
            async with asyncio.timeout(timeout) as deadline:
                given, seconds = await (caller or Caller()).calls.make(call, 0, deadline, retries)
            answer = given.answer
            reported, rounds, *placing = await asyncio.to_thread(
                with_places, answer.hits(question.id), answer.searched(question.id), self.names, self.texts
            )
            reply = answer.reply(answer.answer, first_token=given.first_token, latency=seconds)
            if reply.cost is None:
                reply = reply.model_copy(update={"cost": self.cost(reply.usage, reply.model)})
            reply = without_known(reply)  # before the places of citations in its text are noted
            found |= {
                "hits": None if reported is None else renamed(reported, self._named),
                "rounds": renamed_in_rounds(rounds, self._named),
                "citations": answer.cited(reply.text, reported, self._named),
                "answer": reply,
                "service": self._service(given, *placing),
            }
            if given.version is not None:
                found["fingerprints"] = {**self.fingerprints, "service": fingerprint(given.version)}
        except RaisedError as raised:
            found["error"] = raised.failure
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no answer within {timeout:g} s")
        except Exception as failure:  # any error fails this question only, never the run
            found["error"] = to_failure(failure)
        found["retries"] = tuple(retries)
        found["timings"] = {"generate": time.perf_counter() - started}
        return record.model_copy(update=found)

    def _named(self, document: str) -> str:
        """The name of a document in the data set, or the name as given where the data set has no such one."""
        return self.names.find(document) or document

    def _service(self, reply: PipelineReply, placed: int, nowhere: int) -> ServiceReply | None:
        """What a reply says of the service, and what it lacks; `None` where there is nothing to say."""
        given = (reply.answer.all_contexts or ()) if self.names else ()
        contexts = [one.document for one in given if one.document and self.names.without_key(one.document)]
        found = ServiceReply(
            unmatched=tuple(path.name for path in reply.unmatched),
            unknown=Counter(name for name in contexts if self.names.find(name) is None),
            placed=placed,
            nowhere=nowhere if self.names else 0,
            version=reply.version,
        )
        return None if found == ServiceReply() else found
