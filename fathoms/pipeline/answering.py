"""Questions to an ingested corpus: retrieve for all, then prompt and generate for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.config import Component
from fathoms.errors import DocumentError, ModelError, StoreError
from fathoms.ingest import ElementKind, PdfParser, page_images, pdf_part
from fathoms.models import ChatModel, FileLimits
from fathoms.models.caching import ReplyCache
from fathoms.models.calling.lane import Lane
from fathoms.pipeline.attachments import Fitting, in_requests
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import Corpus, FileHandling, Retriever
from fathoms.runs.usage import total
from fathoms.safety.masking import without_known
from fathoms.safety.transport import apart
from fathoms.types import Document, Failure, Hit, Part, Prompt, Question, Record, Reply, Usage

CHARACTERS = 4
"""Of English text, in one token."""


@dataclass(frozen=True)
class Ingested:
    """A corpus that is ready for questions; `folder` is the place in the cache for files made of its PDFs."""

    ingest: PdfParser
    retriever: Retriever
    prompt: PromptBuilder
    generate: ChatModel
    documents: tuple[Document, ...]
    failures: tuple[DocumentError, ...]
    corpus: Corpus
    fingerprints: dict[str, str]
    folder: Path
    replies: ReplyCache | None = None
    """Replies of earlier runs, where they may be taken for new ones."""
    unusable: dict[str, DocumentError] = field(default_factory=dict)
    """Questions that cannot be asked, by id, for a file of theirs cannot be attached."""

    def report(self) -> dict[str, Any]:
        """What came out: counts of documents, pages, tables, pictures and chunks; failures by name.

        Tables and pictures are `None` where the parser does not look for them.
        """

        def total(kind: ElementKind) -> int | None:
            counts = [self.ingest.count(document, kind) for document in self.documents]
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

    @property
    def budget(self) -> int | None:
        """Tokens that a prompt may take, so that a reply has its place; `None` where nobody can tell."""
        window = self.generate.context_window
        return None if window is None else window - (self.generate.max_tokens or 0)

    def retrieve(self, questions: Sequence[Question]) -> dict[str, tuple[Hit, ...]]:
        """The hits of every question by its id, found in one batch.

        Raises ConfigError where the files of a question are more than the model takes.
        """
        rows = self.retriever.search(self.corpus, questions)
        found = {question.id: row for question, row in zip(questions, rows, strict=True)}
        files = self.retriever.files
        return found if files is None else self._attach(files, questions, found)

    def _attach(
        self, files: FileHandling, questions: Sequence[Question], found: dict[str, tuple[Hit, ...]]
    ) -> dict[str, tuple[Hit, ...]]:
        """The files as they go into requests. What cannot be read, cut or shown is its questions' failure, or
        ends all, as `ingest.on_error` says."""
        unread = {failure.document: failure for failure in self.failures}
        for question in questions:
            for name in question.files if files.by == "question-files" else ():
                if name in unread:
                    self.unusable[question.id] = unread[name]
        fitting = self._fitting(files)
        try:
            fitted = fitting.fit(found)
        except OSError as error:
            raise StoreError(f"the cache in {self.folder} cannot be written: {error}") from error
        if fitting.failures and self.ingest.on_error == "fail":
            raise next(iter(fitting.failures.values()))
        self.unusable.update(fitting.failures)
        return fitted

    @property
    def file_limits(self) -> FileLimits:
        """What one request may hold of files."""
        return file_limits(self.generate)

    @property
    def request_limits(self) -> FileLimits | None:
        """The limits by which files are split into several requests; `None` where no files are sent."""
        return None if self.retriever.files is None else self.file_limits

    def _fitting(self, files: FileHandling) -> Fitting:
        """How attached files are made to fit the model's limits."""
        return Fitting(
            limits=self.file_limits,
            form=files.form,
            too_long=files.too_long,
            documents={document.id: document for document in self.documents},
            cut=partial(pdf_part, folder=self.folder / "parts", parser=self.ingest),
            render=partial(
                page_images, dpi=files.image_dpi, folder=self.folder / "images", parser=self.ingest
            ),
        )

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        lane: Lane | None = None,
    ) -> Record:
        """Ask the model. A failure is a record too, with its class and message, never an answer.

        `timeout` is in seconds, for prompt and reply together, with all attempts and the waits between, but
        not the wait for a turn; `lane` is the way to the provider.
        """
        generate, seed = for_repeat(self.generate, repeat)
        record = Record(
            question=question, repeat=repeat, seed=seed, hits=hits, fingerprints=self.fingerprints
        )
        asking = _Asking(self, generate, question, repeat, lane or Lane())
        found = asking.found
        try:
            async with asyncio.timeout(timeout) as deadline:
                await asking.ask(hits, deadline)
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no answer within {timeout:g} s")
        except Exception as failure:  # whatever a client raises is this question's failure, never the run's
            found["error"] = to_failure(failure)
        return record.model_copy(update=found)


class _Asking:
    """One question on its way: `found` is what a record holds of it, put there as it comes, so that a failure
    keeps what there was."""

    def __init__(
        self, ingested: Ingested, generate: ChatModel, question: Question, repeat: int, lane: Lane
    ) -> None:
        self.ingested = ingested
        self.generate = generate
        self.question = question
        self.repeat = repeat
        self.lane = lane
        self.deadline: asyncio.Timeout | None = None
        self.found: dict[str, Any] = {"timings": {"prompt": 0.0, "generate": 0.0}, "attempts": 0}

    async def ask(self, hits: tuple[Hit, ...], deadline: asyncio.Timeout) -> None:
        """Prompt and reply; several, and one that merges, where the files are more than a request takes."""
        ingested, self.deadline = self.ingested, deadline
        if (unusable := ingested.unusable.get(self.question.id)) is not None:
            raise unusable
        requests = in_requests(hits, ingested.request_limits)
        if len(requests) == 1:
            self.found["answer"] = await self._reply(await self._pack(hits))
            return
        asked: list[tuple[Sequence[Hit], Part]] = []
        for request in requests:
            prompt = await self._pack(request, tuple(part for _, part in asked))
            reply = await self._reply(prompt)
            asked.append((request, Part(prompt=prompt.model_copy(update={"parts": ()}), reply=reply)))
        self.found["prompt"] = merging = ingested.prompt.pack_merge(self.question, asked)
        self.found["answer"] = summed([part.reply for _, part in asked], await self._reply(merging))

    async def _pack(self, hits: tuple[Hit, ...], before: tuple[Part, ...] = ()) -> Prompt:
        """The prompt, and the seconds it took; `before` goes along, so that a failure keeps it."""
        ingested, started = self.ingested, time.perf_counter()
        generate = ingested.generate
        pack = partial(ingested.prompt.pack, self.question, hits, generate.count_tokens, ingested.budget)
        try:
            prompt = await self._counted(pack) if generate.counting_waits else pack()
        finally:
            self.found["timings"]["prompt"] += time.perf_counter() - started
        self.found["prompt"] = prompt = prompt.model_copy(update={"parts": before})
        return prompt

    async def _counted(self, pack: Callable[[], Prompt]) -> Prompt:
        """The prompt, where packing asks a server how long it is: as patiently as for a reply, but a stop
        ends it, for nothing has been asked of the model yet."""
        stop = self.lane.stop

        async def count() -> Prompt:
            with stop.waiting():
                return await apart(pack)

        return await self.lane.ask(count, 0, self.deadline)

    async def _reply(self, prompt: Prompt) -> Reply:
        """The model's reply, or the one of an earlier run where that will do."""
        replies = self.ingested.replies
        if replies is None:
            return await self._asked(prompt)
        key = replies.key(prompt, self.repeat)
        if (known := replies.get(key)) is not None:
            return known
        reply = await self._asked(prompt)
        replies.put(key, reply)
        return reply

    async def _asked(self, prompt: Prompt) -> Reply:
        """The model's reply, the attempts and the seconds that it took, waits between them included."""
        generate, started = self.generate, time.perf_counter()

        async def call() -> Reply:
            self.found["attempts"] += 1
            return await generate.reply(prompt)

        try:
            size = prompt_size(prompt) + (generate.max_tokens or 0)
            reply = without_known(await self.lane.ask(call, size, self.deadline))
            return reply.model_copy(update={"cost": generate.cost(reply.usage, reply.model)})
        finally:
            self.found["timings"]["generate"] += time.perf_counter() - started


def for_repeat(model: ChatModel, repeat: int) -> tuple[ChatModel, int | None]:
    """The model as it is asked in this repeat, counted from 0, and its seed: that of the configuration plus
    the repeat; `None` where the model has none, or none was set."""
    seed: int | None = getattr(model, "seed", None)
    if seed is None or not isinstance(model, Component):
        return model, None
    return model.model_copy(update={"seed": seed + repeat}) if repeat else model, seed + repeat


def prompt_size(prompt: Prompt) -> int:
    """Tokens of a prompt: as counted, or else by its characters; files and images are not counted."""
    if prompt.tokens is not None:
        return prompt.tokens
    return sum(len(message.text) for message in prompt.messages) // CHARACTERS


def file_limits(model: ChatModel) -> FileLimits:
    """The model's own limits; none for a model that takes no files or does not know any."""
    return model.file_limits or FileLimits(None, None)


def to_failure(error: Exception) -> Failure:
    """Why a question has no answer, as it is recorded."""
    status = error.status if isinstance(error, ModelError) else None
    retry_after = error.retry_after if isinstance(error, ModelError) else None
    return Failure(kind=type(error).__name__, message=str(error), status=status, retry_after=retry_after)


def summed(parts: Sequence[Reply], last: Reply) -> Reply:
    """The merging reply with the tokens, cost and seconds of all; the first token is that of no one reply.

    Replies of earlier runs are no part of the sums, unless all are.
    """
    new = [reply for reply in [*parts, last] if not reply.cached]
    replies = new or [*parts, last]
    usage = {name: total([getattr(reply.usage, name) for reply in replies]) for name in Usage.model_fields}
    return last.model_copy(
        update={
            "usage": Usage.model_validate(usage),
            "cost": total([reply.cost for reply in replies]),
            "latency": total([reply.latency for reply in replies]),
            "first_token": None,
            "cached": not new,
        }
    )
