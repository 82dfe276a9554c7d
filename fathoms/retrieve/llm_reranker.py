"""Reranking by a language model, which is asked once per chunk to grade its relevance."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import field_validator

from fathoms.config import Component
from fathoms.errors import ModelError
from fathoms.models import Generator
from fathoms.models.chat.room import most_that_fits, room_for_prompt
from fathoms.safety.transport import await_in_thread
from fathoms.types import Message, Prompt

T = TypeVar("T")

NO_GRADE = -1.0
"""Score of a chunk that the model gave no grade: it is ranked after all graded chunks."""

_LONGEST = 600.0
"""Time limit in seconds for grading one passage."""
_PROMPT = """\
Does the passage help to answer the question? Grade it with a whole number from 0 to 10:
0 has nothing to do with the question, 5 is about the same subject, 10 holds the answer.

Question: {question}

Passage:
{passage}

Reply with the number alone."""

_PLACE = re.compile(r"\{(question|passage)\}")
_SCALE = re.compile(r"\b(?:from )?0 ?(?:to|-|\u2013) ?10\b|(?:/|\bout of) ?10\b", re.I)
_GRADE = re.compile(r"(?<![\w.,-])(?:10(?:\.0+)?|\d(?:\.\d+)?)(?![\w%]|[.,]\d)")


class LLMReranker(Component):
    """`kind: llm`: pointwise reranking by any generator. Each chunk is graded on its own, so its grade does
    not depend on which other chunks were found."""

    neutral: ClassVar[frozenset[str]] = frozenset({"generate"})

    kind: Literal["llm"] = "llm"
    generate: Generator
    """The model that grades. A `max_tokens` of a few tokens is enough unless the model reasons first."""
    prompt: str = _PROMPT
    """Prompt template; `{question}` and `{passage}` are filled in, and both are required. It must ask for a
    grade from 0 to 10."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        missing = {"question", "passage"} - set(_PLACE.findall(prompt))
        if missing:
            raise ValueError(f"must contain {{{min(missing)}}}")
        return prompt

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identity of the model."""
        return {**super().identity(), "generate": self.generate.identity()}

    def served(self) -> dict[str, Any]:
        """Return what the server reports about the model it runs."""
        return self.generate.served()

    def check(self) -> None:
        """Check the model; raises its errors, and ConfigError if `max_tokens` leaves no room for a prompt."""
        room_for_prompt(self.generate, "the reranker's generate")
        self.generate.check()

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return a grade from 0 to 10 for each (question, passage) pair, in the given order.

        A reply without a grade counts as `NO_GRADE`. A passage that does not fit into the context of the
        model is shortened at its end. Raises ModelError if a call fails, or if none of the replies has a
        grade.
        """
        replies = _run(self._replies(pairs))
        grades = [grade_of(reply) for reply in replies]
        missing = grades.count(None)
        if grades and missing == len(grades):
            raise ModelError(
                f"no grade from 0 to 10 in {missing} replies of the reranker; one is {replies[0]!r}"
            )
        if missing:
            logging.getLogger(__name__).warning("no grade in %d of %d replies", missing, len(grades))
        return [NO_GRADE if grade is None else grade for grade in grades]

    async def _replies(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Return the reply to each pair, with at most `max_concurrency` calls at a time."""
        free = asyncio.Semaphore(self.generate.max_concurrency)

        async def ask(question: str, passage: str) -> tuple[str, bool]:
            async with free:
                # the time-outs of the clients restart with every byte that the server sends
                async with asyncio.timeout(_LONGEST):
                    # counting tokens may send a blocking request, which must not run on the event loop
                    kept = await await_in_thread(partial(self._fitted, question, passage))
                    reply = await self.generate.reply(Prompt(messages=self._messages(question, kept)))
            return reply.text, kept != passage

        try:
            found = await asyncio.gather(*(ask(*pair) for pair in pairs))
        except TimeoutError as error:
            raise ModelError(f"the reranker failed: no grade within {_LONGEST:g} s") from error
        except ModelError as error:
            raise ModelError(f"the reranker failed: {error}") from error
        if cut := sum(shortened for _, shortened in found):
            logging.getLogger(__name__).warning(
                "%d of %d passages were shortened to fit the context of the reranker", cut, len(found)
            )
        return [reply for reply, _ in found]

    def _messages(self, question: str, passage: str) -> tuple[Message, ...]:
        """Return the messages that ask the model to grade one passage."""
        values = {"question": question, "passage": passage}
        text = _PLACE.sub(lambda place: values[place[1]], self.prompt)
        return (Message(role="user", text=text),)

    def _fitted(self, question: str, passage: str) -> str:
        """Return the longest beginning of the passage that fits into the context of the model."""
        room = room_for_prompt(self.generate, "the reranker's generate")

        def tokens(length: int) -> int:
            return self.generate.count_tokens(self._messages(question, passage[:length])) or 0

        if room is None or tokens(len(passage)) <= room:
            return passage
        if (bare := tokens(0)) > room:
            raise ModelError(
                f"the question without a passage takes {bare} tokens and the model leaves {room} for the"
                " prompt"
            )
        return passage[: most_that_fits(len(passage), lambda length: tokens(length) <= room)]


def grade_of(reply: str) -> float | None:
    """Read the grade from a reply: the number from 0 to 10 at its beginning, or the only such number in it.

    `7`, `7/10`, `Grade: 7.` and `**7** out of 10` all give 7. Returns `None` if the reply has no such number,
    or several different ones.
    """
    text = _SCALE.sub(" ", reply.replace("*", "")).strip()
    if first := _GRADE.match(text):
        return float(first[0])
    found = set(map(float, _GRADE.findall(text)))
    return found.pop() if len(found) == 1 else None


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result, even if the caller already runs inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
