"""Answering questions over an ingested corpus: retrieve for all, then refine, prompt and generate for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from fathoms.answers.citations import parse_citations
from fathoms.errors import ConfigError, DocumentError, StoreError
from fathoms.ingest import PdfParser, page_images, pdf_part
from fathoms.models import ChatModel, FileLimits
from fathoms.models.caller import Caller, ModelCalls, for_repeat, to_failure
from fathoms.pipeline.attachments import Fitting, in_requests
from fathoms.pipeline.each_document import ask_each, combining
from fathoms.pipeline.ingest_report import ingest_report, unread_gold
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.loading import CorpusFacts
from fathoms.pipeline.prompt import Draft, PromptBuilder
from fathoms.retrieve import EachDocument, FileHandling, Index, Retriever
from fathoms.runs.usage import summed, total
from fathoms.types import (
    Document,
    DocumentFacts,
    Failure,
    Hit,
    Part,
    Prompt,
    Question,
    Record,
    Reply,
)


@dataclass(frozen=True)
class Ingested:
    """A corpus that is ready for questions, and the components that answer them.

    `folder` is the cache folder for files made from the PDFs. `failures` are documents that could not be read
    and were left out. `times` says how long parsing, chunking and embedding took.
    """

    ingest: PdfParser
    retriever: Retriever
    prompt: PromptBuilder
    generate: ChatModel
    documents: Sequence[Document]
    facts: CorpusFacts
    failures: tuple[DocumentError, ...]
    index: Index
    fingerprints: dict[str, str]
    folder: Path
    times: IngestTimes = field(default_factory=IngestTimes)
    unusable: dict[str, DocumentError] = field(default_factory=dict)
    """Questions that cannot be asked because one of their files cannot be attached, by question id."""

    def report(self) -> dict[str, Any]:
        """What came of the documents; see `ingest_report`."""
        return ingest_report(self.facts, self.failures, self.index, self.retriever, self.times)

    @property
    def max_prompt_tokens(self) -> int | None:
        """Tokens available to the prompt: context window less `generate.max_tokens`; `None` if unknown."""
        window = self.generate.context_window
        return None if window is None else window - (self.generate.max_tokens or 0)

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
        """Retrieve the hits of all questions in one batch; returns them by question id. Where a language
        model helps to retrieve, these are the candidates from which `answer` starts. `among` are all
        questions of the data set, for a retriever that must search for all of them.

        Raises ConfigError where the attached files or the pictures of a question are more than the model
        accepts.
        """
        self.assess(among or questions)
        if self.retriever.needs != "nothing":
            self.unusable.update(
                unread_gold(
                    questions, self.failures, self.stated, self.ingest, by_text=self.retriever.files is None
                )
            )
        searched = among if among and self.retriever.searches_all else questions
        rows = self.retriever.search(self.index, searched)
        of_all = {question.id: row for question, row in zip(searched, rows, strict=True)}
        found = {question.id: of_all[question.id] for question in questions}
        files = self.retriever.files
        if files is not None:
            return self._attach(files, questions, found)
        self._check_number_of_pictures(found)
        return found

    def _check_number_of_pictures(self, found: dict[str, tuple[Hit, ...]]) -> None:
        """Raise ConfigError if a question has more pictures than the model takes in one request. Where a
        language model will choose among candidates, the first of them stand for its choice."""
        most = file_limits(self.generate).images
        for name, hits in found.items():
            shown = self.retriever.without_refining(hits)
            number = sum(hit.chunk.image is not None for hit in shown)
            if isinstance(self.retriever, EachDocument):
                number = min(number, self.retriever.chunks)
            if most is not None and number > most:
                raise ConfigError(
                    f"retrieve: question {name} has {number} pictures, and the model takes {most} in one"
                    " request: raise generate.max_images, or have the model read their descriptions"
                )

    def _attach(
        self, files: FileHandling, questions: Sequence[Question], found: dict[str, tuple[Hit, ...]]
    ) -> dict[str, tuple[Hit, ...]]:
        """Fit the attached files into requests. A file that cannot be cut or rendered makes its questions
        unusable; where `ingest.on_error` is `fail`, it ends the run instead."""
        folder, parser = self.folder, self.ingest
        fitting = Fitting(
            limits=file_limits(self.generate),
            form=files.form,
            too_long=files.too_long,
            documents={document.id: document for document in self.documents},
            cut=partial(pdf_part, folder=folder / "parts", parser=parser),
            render=partial(
                page_images,
                dpi=files.image_dpi,
                folder=folder / "images",
                parser=parser,
                max_pixels=files.max_pixels,
            ),
            images=self.generate.image_limits,
        )
        try:
            fitted = fitting.fit(found)
        except OSError as error:
            raise StoreError(f"the cache in {self.folder} cannot be written: {error}") from error
        if fitting.failures and self.ingest.on_error == "fail":
            raise DocumentError.stopping([*fitting.failures.values()])
        self.unusable.update(fitting.failures)
        return fitted

    @property
    def request_limits(self) -> FileLimits | None:
        """The limits by which files are split over several requests; `None` where no files are sent."""
        return None if self.retriever.files is None else file_limits(self.generate)

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
        """Ask the model one question. A failure is returned as a record with `error` set, never raised.

        `hits` are what `retrieve` found; where a language model helps to retrieve, it does so first. `packed`
        holds the question's prompts where they were made before, for an estimate. `timeout` limits reranking,
        prompt and reply together, in seconds, including all attempts and the waits between them, but not the
        wait in the queue and for an estimate; `None` means no limit. `caller` applies the providers' rate
        limits and retries.
        """
        _, seed = for_repeat(self.generate, repeat)
        retrieved = () if self.retriever.called else hits  # candidates are no hits yet
        record = Record(
            question=question, repeat=repeat, seed=seed, hits=retrieved, fingerprints=self.fingerprints
        )
        packed = packed or PackedQuestion(self, question, hits)
        in_progress = _QuestionInProgress(packed)
        found = in_progress.found
        try:
            async with asyncio.timeout(timeout) as deadline:
                if (unusable := self.unusable.get(question.id)) is not None:
                    raise unusable
                await in_progress.ask(ModelCalls(caller or Caller(), repeat, deadline))
        except TimeoutError:
            found["error"] = Failure(kind="Timeout", message=f"no answer within {timeout:g} s")
        except Exception as failure:  # any client error fails this question only
            found["error"] = to_failure(failure)
        if (reply := found.get("answer")) is not None:
            found["citations"] = parse_citations(reply.text, found.get("hits", hits))
        return record.model_copy(update=found)


class PackedQuestion:
    """A question and its prompts, one per request to the model. Each prompt is packed once, on first
    use by either the estimate or the answer.

    `retrieved` is what was retrieved for the question, and `hits` what its prompts hold: until a language
    model has reranked them, the first of the candidates stand for those that it will choose.
    """

    def __init__(self, ingested: Ingested, question: Question, retrieved: tuple[Hit, ...]) -> None:
        self.ingested = ingested
        self.question = question
        self.retrieved = retrieved
        self.hits = ingested.retriever.without_refining(retrieved)
        self.seconds = 0.0  # spent on packing
        self._prompts: dict[int, Prompt] = {}

    @cached_property
    def requests(self) -> list[tuple[Hit, ...]]:
        """The hits of each request; attached files may need several requests."""
        return in_requests(self.hits, self.ingested.request_limits)

    @cached_property
    def drafts(self) -> list[Draft]:
        """The prompt of each request before it is cut to the model's context window."""
        return [self.ingested.prompt.draft(self.question, request) for request in self.requests]

    def is_packed(self, number: int) -> bool:
        """Whether the prompt of a request has been made; requests are counted from 0."""
        return number in self._prompts

    def prompt(self, number: int) -> Prompt:
        """The prompt of a request. Raises PromptTooLongError, or ModelError if counting tokens fails."""
        if number not in self._prompts:
            count, limit = self.ingested.generate.count_tokens, self.ingested.max_prompt_tokens
            self._prompts[number] = self.drafts[number].fit(count, limit)
        return self._prompts[number]

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time that a block takes to `seconds`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


class _QuestionInProgress:
    """One question in progress. `found` collects the fields of its record as they become known, so that a
    failed question keeps what was done before the failure."""

    def __init__(self, packed: PackedQuestion) -> None:
        self.packed = packed
        self.ingested = packed.ingested
        timings = {"prompt": packed.seconds, "generate": 0.0}
        self.found: dict[str, Any] = {"timings": timings, "attempts": 0, "retries": ()}

    async def ask(self, calls: ModelCalls) -> None:
        """Let a language model help to retrieve if there is one, build the prompt and get the reply.

        Where the files need several requests, a last one merges the answers.
        """
        if isinstance(self.ingested.retriever, EachDocument):
            self.found["prompt"] = combining = await self._extract(self.ingested.retriever, calls)
            self.found["answer"] = self.ingested.prompt.answer_in(await self._reply(combining, calls))
            return
        if self.ingested.retriever.called:
            await self._refine(calls)
        question, requests = self.packed.question, self.packed.requests
        if len(requests) == 1:
            reply = await self._reply(await self._prompt(0, calls), calls)
            self.found["answer"] = self.ingested.prompt.answer_in(reply)
            return
        answered: list[tuple[Sequence[Hit], Part]] = []
        for number, request in enumerate(requests):
            prompt = await self._prompt(number, calls, tuple(part for _, part in answered))
            reply = await self._reply(prompt, calls)
            answered.append((request, Part(prompt=prompt.model_copy(update={"parts": ()}), reply=reply)))
        self.found["prompt"] = merging = self.ingested.prompt.pack_merge(question, answered)
        merged = merged_reply([part.reply for _, part in answered], await self._reply(merging, calls))
        self.found["answer"] = self.ingested.prompt.answer_in(merged)

    async def _extract(self, retriever: EachDocument, calls: ModelCalls) -> Prompt:
        """Ask each document by itself; returns the prompt that combines what they say."""
        packed, ingested = self.packed, self.ingested
        self.found["hits"] = packed.retrieved
        with self._calling(calls):
            groups = retriever.by_document(packed.retrieved)
            parts = await ask_each(retriever, packed.question, groups, calls)
            # the record has them even where combining fails
            self.found["prompt"] = Prompt(messages=(), parts=tuple(parts))
            limit = ingested.max_prompt_tokens
            return await combining(ingested.prompt, ingested.generate, limit, packed.question, parts, calls)

    async def _refine(self, calls: ModelCalls) -> None:
        """Let a language model help to find the hits; records its calls, the searches and the seconds."""
        packed = self.packed
        with self._calling(calls):
            hits = await self.ingested.retriever.refine(
                self.ingested.index, packed.question, packed.retrieved, calls
            )
        self.found |= {"hits": hits, "rounds": tuple(calls.rounds)}
        self.packed = PackedQuestion(self.ingested, packed.question, hits)

    @contextmanager
    def _calling(self, calls: ModelCalls) -> Iterator[None]:
        """Record the calls of the language model that helps to retrieve, and the seconds of a block."""
        started = time.perf_counter()
        (stage,) = self.ingested.retriever.called
        try:
            yield
        finally:
            self.found["calls"] = tuple(calls.done)
            self.found["timings"] = {stage: time.perf_counter() - started, **self.found["timings"]}

    async def _prompt(self, number: int, calls: ModelCalls, before: tuple[Part, ...] = ()) -> Prompt:
        """Return the prompt of a request. It has the parts `before`, which a failed record then shows."""
        packed, generate = self.packed, self.ingested.generate
        try:
            with packed.timed():
                if packed.is_packed(number):
                    prompt = packed.prompt(number)
                else:
                    make = partial(packed.prompt, number)
                    prompt = await calls.counted(generate, make)
        finally:
            self.found["timings"]["prompt"] = packed.seconds
        self.found["prompt"] = prompt = prompt.model_copy(update={"parts": before}) if before else prompt
        return prompt

    async def _reply(self, prompt: Prompt, calls: ModelCalls) -> Reply:
        """The model's reply; records the attempts and the seconds taken, including the waits between
        attempts."""
        own = replace(calls, done=[])
        try:
            reply, _ = await own.reply(self.ingested.generate, prompt, "answer")
        finally:
            self.found["attempts"] += sum(call.attempts for call in own.done)
            self.found["retries"] += tuple(cause for call in own.done for cause in call.retries)
            self.found["timings"]["generate"] += sum(call.seconds for call in own.done)
        return reply


def file_limits(model: ChatModel) -> FileLimits:
    """The model's file limits; no limits where it takes no files or does not know any."""
    return model.file_limits or FileLimits(None, None)


def merged_reply(parts: Sequence[Reply], last: Reply) -> Reply:
    """Return the merging reply with the tokens, cost and latency of all replies added up.

    Cached replies are left out of the sums, unless all replies are cached. `first_token` becomes `None`.
    """
    new = [reply for reply in [*parts, last] if not reply.cached]
    replies = new or [*parts, last]
    return last.model_copy(
        update={
            "usage": summed([reply.usage for reply in replies]),
            "cost": total([reply.cost for reply in replies]),
            "latency": total([reply.latency for reply in replies]),
            "first_token": None,
            "cached": not new,
        }
    )
