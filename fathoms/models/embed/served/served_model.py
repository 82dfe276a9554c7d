"""What embedders that ask a server share: batches within its limits, retries, and checked replies."""

from __future__ import annotations

import asyncio
import math
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field

from fathoms.errors import ModelError, PromptTooLongError
from fathoms.models.calling.background import run_in_background
from fathoms.models.calling.provider_calls import ProviderCalls
from fathoms.models.chat.openai_compatible import FromServer
from fathoms.models.embed.pages import EmbedsPages
from fathoms.models.embed.served.pictures import Picture, picture_to_send
from fathoms.models.embed.served.replies import matrices
from fathoms.models.embed.served.spent import EmbeddingCalls, EmbeddingPrice
from fathoms.models.options import resolved
from fathoms.models.prices import listed
from fathoms.models.wire import Request, exchange
from fathoms.safety.option_limits import MOST_AT_ONCE, MOST_TEXTS, MOST_TOKENS
from fathoms.types import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_CHARACTERS = 4
"""Estimated characters per token of a question."""
_ANY = "a"
"""Embedded in the place of a blank text, which servers refuse, to learn the length of its vectors."""
_TOO_LARGE = 413
"""The HTTP status of a server that refuses a request for its size."""
_MEGABYTE = 1_000_000
Answer = dict[str, Any]


class Batch(NamedTuple):
    """The inputs of one request: texts of questions, or pictures. The other list is empty."""

    texts: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @property
    def number(self) -> int:
        """The number of inputs, texts and pictures together."""
        return len(self.texts) + len(self.pictures)

    def halves(self) -> tuple[Batch, Batch]:
        """Return the first and the second half of the inputs."""
        middle = self.number // 2
        return (
            Batch(self.texts[:middle], self.pictures[:middle]),
            Batch(self.texts[middle:], self.pictures[middle:]),
        )


class ServedPageModel(FromServer, EmbedsPages):
    """Base class of embedders of page pictures that ask a server.

    They run in this process. A subclass says how a request of its API looks (`body`), and reads the reply
    (`vectors_in`, `tokens_in`). Requests are retried and limited as `execution` says, like those to language
    models.
    """

    packages: ClassVar[tuple[str, ...]] = ("pillow",)  # makes pictures smaller
    neutral: ClassVar[frozenset[str]] = FromServer.neutral | {"max_megabytes", "price"}
    kind: str
    path: ClassVar[str]
    """Path of the API below `base_url`."""
    most_inputs: ClassVar[int] = MOST_TEXTS
    """The most inputs of a request, whatever `batch_size` is."""
    most_tokens: ClassVar[int | None] = None
    """The most tokens of the pictures of a request; `None` if no limit is known."""
    pixels_a_token: ClassVar[int] = 28 * 28
    """Pixels that take one token, for limits and estimates; by default those of models of the Qwen2-VL
    family."""
    picture_bytes: ClassVar[int | None] = None
    """The most bytes of a picture before it is encoded in base64; `None` if no limit is known."""

    batch_size: int = Field(default=16, ge=1, le=MOST_TEXTS)
    """Maximum number of pages, or of questions, in one request."""
    max_megabytes: float = Field(default=20, gt=0, le=1_000_000)
    """Maximum size of the pictures of one request in megabytes (10^6 bytes), as sent in base64. A picture
    that is larger is sent alone."""
    max_pixels: int | None = Field(default=None, ge=28 * 28, le=2**31)
    """Pictures with more pixels are made smaller before they are sent; none is if not given."""
    dimension: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Length of the vectors, for models that offer several; the model's own if not given."""
    max_concurrency: int = Field(default=2, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time."""
    price: EmbeddingPrice | None = None
    """Prices in US dollars per million tokens of pictures and of texts, for example
    `{image: 0.5, text: 0.1}`. If not given, only questions have a cost, by the list price of the model."""

    @property
    def endpoint(self) -> str:
        """The address of the requests."""
        return f"{self.base_url}/{self.path}"

    @property
    def many(self) -> bool:
        """Whether a page has more than one vector, so that pages are compared by MaxSim."""
        return False

    @abstractmethod
    def body(self, batch: Batch) -> Answer:
        """Return the body of the request for a batch, without `extra_body`."""

    @abstractmethod
    def vectors_in(self, answer: Answer) -> list[Any]:
        """Return the vectors of each input as the reply has them, in the order of the inputs; raises
        ModelError for a reply of another form."""

    @abstractmethod
    def tokens_in(self, answer: Answer) -> int | None:
        """Return the number of tokens that the reply reports for all inputs; `None` if it reports none."""

    def most_of(self, batch: Batch) -> int:
        """Return the most inputs of a request with inputs such as those of the batch."""
        return min(self.batch_size, self.most_inputs)

    def check_presence(self) -> None:
        """Check what can be checked without sending anything; raises ConfigError if the variable of the key
        or another one is not set."""
        self.sender()
        resolved(self.extra_body)

    def check(self) -> None:
        """Check the same as `check_presence`."""
        self.check_presence()

    def reset_outage(self) -> None:
        """Forget that the server gave no answer to an earlier command of this process, so that it is asked
        again. To be called once a command."""

        async def forget() -> None:
            self._calls().reset_outage()

        run_in_background(forget())

    def _calls(self) -> ProviderCalls:
        """The control of the calls to the server, which all embedders at its address share."""
        return _provider_calls(f"{self.kind} {self.base_url}", os.getpid())

    def embed_pages(self, pictures: Sequence[Path], how: EmbeddingCalls | None = None) -> list[Vectors]:
        """Return the vectors of each picture, float32 of shape (vectors, width), in the given order. `how`
        says how the server is called, and counts what the calls took.

        Raises ModelError after the last attempt of a request, for a picture that cannot be read, and for a
        reply that does not match the request.
        """
        read = partial(picture_to_send, max_pixels=self.max_pixels, max_bytes=self.picture_bytes)
        return self._embedded(self._batches(map(read, pictures)), how or EmbeddingCalls())

    def embed_questions(self, texts: Sequence[str], how: EmbeddingCalls | None = None) -> list[Vectors]:
        """Return the vectors of each question, float32 of shape (vectors, width), in the given order; those
        of a blank text are one vector of zeros. Raises ModelError as `embed_pages` does."""
        sent = [text if text.strip() else _ANY for text in texts]
        size = self.most_of(Batch(texts=(_ANY,)))
        batches = (Batch(texts=tuple(sent[at : at + size])) for at in range(0, len(sent), size))
        how = how or EmbeddingCalls()
        keep = how.keep

        def blanked(first: int, vectors: Sequence[Vectors]) -> list[Vectors]:
            part = texts[first : first + len(vectors)]
            return [row if text.strip() else 0 * row[:1] for row, text in zip(vectors, part, strict=True)]

        how.keep = lambda first, vectors: keep(first, blanked(first, vectors))
        try:
            return blanked(0, self._embedded(batches, how))
        finally:
            how.keep = keep

    def _batches(self, pictures: Iterator[Picture]) -> Iterator[Batch]:
        """Put pictures together as far as the limits of a request allow. They are read only when their batch
        is sent, because all pictures of a corpus would take too much memory."""
        batch: list[Picture] = []
        for picture in pictures:
            if batch and not self._fit([*batch, picture]):
                yield Batch(pictures=tuple(batch))
                batch = []
            batch.append(picture)
        if batch:
            yield Batch(pictures=tuple(batch))

    def _fit(self, pictures: Sequence[Picture]) -> bool:
        """Whether pictures fit into one request."""
        size = sum(len(picture.base64) for picture in pictures)
        tokens = sum(map(self._tokens_of, pictures))
        return (
            len(pictures) <= self.most_of(Batch(pictures=tuple(pictures)))
            and size <= self.max_megabytes * _MEGABYTE
            and (self.most_tokens is None or tokens <= self.most_tokens)
        )

    def _tokens_of(self, picture: Picture) -> int:
        """Estimate the tokens of a picture."""
        return math.ceil(picture.pixels / self.pixels_a_token)

    def _embedded(self, batches: Iterator[Batch], how: EmbeddingCalls) -> list[Vectors]:
        """Send batches, `max_concurrency` at a time, and return the vectors of all inputs in order."""
        by_batch = run_in_background(self._sent(batches, how))
        return [vectors for part in by_batch for vectors in part]

    def _check_widths(self, found: Sequence[Vectors], before: set[int]) -> None:
        """Raise ModelError for vectors that are not as long as `dimension` asks for, or not all as long as
        those of earlier replies, whose lengths are in `before`; adds theirs."""
        before |= {vectors.shape[1] for vectors in found}
        if len(before) > 1 or before - {self.dimension or max(before)}:
            raise ModelError(
                f"{self.base_url}: the vectors have {' and '.join(map(str, sorted(before)))} numbers"
                + (f", and dimension: {self.dimension} was asked for" if self.dimension else "")
            )

    async def _sent(self, batches: Iterator[Batch], how: EmbeddingCalls) -> list[list[Vectors]]:
        """Send batches, and keep the vectors of each as soon as they are there; the first that fails ends all
        others."""
        calls = self._calls()
        calls.configure(how.settings)
        places = asyncio.Semaphore(self.max_concurrency)
        tasks: list[asyncio.Task[list[Vectors]]] = []
        widths: set[int] = set()
        first = 0

        async def ask(batch: Batch, first: int) -> list[Vectors]:
            try:
                vectors = await self._send(batch, calls, how)
                self._check_widths(vectors, widths)
                how.keep(first, vectors)
                return vectors
            finally:
                places.release()

        try:
            async with asyncio.TaskGroup() as group:
                for batch in batches:
                    await places.acquire()
                    tasks.append(group.create_task(ask(batch, first)))
                    first += batch.number
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _send(self, batch: Batch, calls: ProviderCalls, how: EmbeddingCalls) -> list[Vectors]:
        """Send one batch, and return the vectors of each input. A batch that is too large for the server is
        sent again in halves."""
        try:
            return await self._send_once(batch, calls, how)
        except PromptTooLongError as error:
            if error.status != _TOO_LARGE or batch.number == 1:
                raise
        parts = [await self._send(half, calls, how) for half in batch.halves()]
        return [vectors for part in parts for vectors in part]

    async def _send_once(self, batch: Batch, calls: ProviderCalls, how: EmbeddingCalls) -> list[Vectors]:
        """Send one batch, and return the vectors of each input."""
        body = {**self.body(batch), **resolved(self.extra_body)}
        request = Request(self.endpoint, body, self.sender(), self.headers())
        size = sum(map(self._tokens_of, batch.pictures)) + sum(map(len, batch.texts)) // _CHARACTERS

        async def attempt() -> Answer:
            heard: list[Answer] = []
            await exchange(request, lambda answer, seconds: heard.append(answer))
            if len(heard) != 1:
                raise ModelError(f"{self.base_url}: the answer is a stream, and not one object")
            return heard[0]

        answer = await calls.make(attempt, size)
        tokens = self.tokens_in(answer)
        how.add(batch.number, tokens, self._cost(tokens, is_text=bool(batch.texts)))
        return matrices(self.vectors_in(answer), batch.number, self.base_url, many=self.many)

    def _cost(self, tokens: int | None, *, is_text: bool) -> float | None:
        """Return the cost of a reply in US dollars; `None` if it is not known. The list prices of pictures
        are not known."""
        if tokens is None:
            return None
        if self.price is not None:
            return self.price.cost(tokens, is_text=is_text)
        usage = Usage(prompt_tokens=tokens, completion_tokens=0)
        return listed(usage, self.model, self.base_url) if is_text else None


@lru_cache(maxsize=64)
def _provider_calls(provider: str, process: int) -> ProviderCalls:
    """Return the control of the calls to a provider, which stays the same for all calls of this process."""
    return ProviderCalls()
