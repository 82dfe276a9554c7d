"""What every pipeline that is not ours has in common: it is asked, and what it tells becomes a record.

Replies are never cached, here or anywhere else: nobody can know what changed behind an address or a
function.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from fathoms.config import fingerprint
from fathoms.errors import DocumentError
from fathoms.models.calling.lane import Lane
from fathoms.models.prices import Priced
from fathoms.pipeline.answering import to_failure
from fathoms.pipeline.external.answer import Answer
from fathoms.pipeline.external.calls import RaisedError
from fathoms.runs.cache import Cache
from fathoms.safety.limits import MOST_AT_ONCE
from fathoms.types import Document, Failure, Hit, Question, Record, Usage

Progress = Callable[[str, int, int], None]
"""Hears (stage, done, total)."""


@dataclass(frozen=True)
class Told:
    """An answer, and the seconds to its first token where it came in pieces."""

    answer: Answer
    first_token: float | None = None


Ask = Callable[[Question], Awaitable[Told]]
"""Asks one question; raises what becomes its failure."""


class ExternalPipeline(Priced):
    """A pipeline behind an address or a function; only the data and the scoring are ours."""

    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """Questions asked at once."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What answers, for the manifest and for tables."""

    @abstractmethod
    def at(self, base: Path) -> ExternalPipeline:
        """With what it names found from `base`, the folder of the configuration. Raises ConfigError."""

    @abstractmethod
    def check(self) -> None:
        """Raise now what would fail with every question."""

    @abstractmethod
    def open(self, documents: Sequence[Document]) -> tuple[Ask, str]:
        """Make it ready for questions on the documents: how it is asked, and a note for people."""

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = lambda stage, done, total: None,
    ) -> Connected:
        """Hash the documents and make the pipeline ready. `workers` are for parsers, and there is none here.

        A document that is not there is the pipeline's own matter, as is everything about reading it.
        """
        there = [
            Document(id=name, path=path, sha256=cache.file_hash(path), pages=())
            for name, path in documents.items()
            if path.is_file()
        ]
        ask, note = self.open(there)
        state = fingerprint("pipeline", self.identity(), sorted((item.id, item.sha256) for item in there))
        return Connected(ask, note, tuple(there), {"pipeline": state}, cost=self.cost)


@dataclass(frozen=True)
class Connected:
    """A pipeline that is ready for questions. Its `documents` have no pages: it reads them itself."""

    ask: Ask
    note: str
    documents: tuple[Document, ...]
    fingerprints: dict[str, str]
    failures: tuple[DocumentError, ...] = ()
    cost: Callable[[Usage, str | None], float | None] = lambda usage, named: None
    """Dollars for the tokens of an answer and the model that it names, where the answer says no cost."""

    def report(self) -> dict[str, Any]:
        """How many documents there are; what the pipeline made of them is not known."""
        unknown = dict.fromkeys(("pages", "tables", "pictures", "chunks"))
        count = {"documents": len(self.documents)}
        return {**count, **unknown, "note": self.note, "warnings": {}, "failures": {}}

    def retrieve(self, questions: Sequence[Question]) -> dict[str, tuple[Hit, ...]]:
        """Nothing yet: what it retrieves comes with its answers, if it tells at all."""
        return {}

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        lane: Lane | None = None,
    ) -> Record:
        """Ask the pipeline. A failure is a record too, with its class and message, never an answer.

        `timeout` is in seconds, with all attempts and the waits between, but not the wait for a turn; `lane`
        is the way to the pipeline. `hits` are those of `retrieve`, and not looked at.
        """
        record = Record(question=question, repeat=repeat, hits=None, fingerprints=self.fingerprints)
        started = time.perf_counter()
        found: dict[str, Any] = {"attempts": 0}

        async def call() -> tuple[Told, float]:
            found["attempts"] += 1
            called = time.perf_counter()
            told = await self.ask(question)
            return told, time.perf_counter() - called

        try:
            async with asyncio.timeout(timeout) as deadline:
                told, seconds = await (lane or Lane()).ask(call, deadline=deadline)
            found |= self._found(question, told, seconds)
        except RaisedError as raised:
            found["error"] = raised.failure
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no answer within {timeout:g} s")
        except Exception as failure:  # whatever goes wrong there is this question's failure, never the run's
            found["error"] = to_failure(failure)
        found["timings"] = {"generate": time.perf_counter() - started}
        return record.model_copy(update=found)

    def _found(self, question: Question, told: Told, seconds: float) -> dict[str, Any]:
        """What a record holds of an answer."""
        answer = told.answer
        reply = answer.reply(answer.answer, first_token=told.first_token, latency=seconds)
        if reply.cost is None:
            reply = reply.model_copy(update={"cost": self.cost(reply.usage, reply.model)})
        return {"hits": answer.hits(question.id), "citations": answer.evidence(), "answer": reply}
