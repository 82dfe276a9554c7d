"""Reranking by a language model: one question a chunk, answered with a grade."""

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
from fathoms.safety.transport import apart
from fathoms.types import Message, Prompt

T = TypeVar("T")

NO_GRADE = -1.0
"""The score of a chunk where the model gave no grade: it comes after all that have one."""

_LONGEST = 600.0
"""Seconds for the grade of one passage."""
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
    """`kind: llm`: pointwise relevance by any model that answers prompts, each chunk graded by itself, so
    that the grade of one does not depend on which others were found."""

    neutral: ClassVar[frozenset[str]] = frozenset({"generate"})

    kind: Literal["llm"] = "llm"
    generate: Generator
    """The model; a few tokens of reply are enough unless it thinks aloud."""
    prompt: str = _PROMPT
    """What it is asked: `{question}` and `{passage}` are filled in. The grade is read as 0 to 10."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        missing = {"question", "passage"} - set(_PLACE.findall(prompt))
        if missing:
            raise ValueError(f"it must hold {{{min(missing)}}}")
        return prompt

    def identity(self) -> dict[str, Any]:
        """The model counts by its own identity."""
        return {**super().identity(), "generate": self.generate.identity()}

    def served(self) -> dict[str, Any]:
        """What the server of the model says it runs."""
        return self.generate.served()

    def check(self) -> None:
        """Raise what the model would, and ConfigError where its reply leaves no room for a prompt."""
        room_for_prompt(self.generate, "the reranker's generate")
        self.generate.check()

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """A grade from 0 to 10 for each (question, passage), in the order given; `NO_GRADE` for a reply that
        holds none. A passage that the model's context has no room for is shortened at its end.

        Raises ModelError where a call fails, and where no reply at all holds a grade.
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
        """What the model says to each pair, `max_concurrency` calls at once."""
        free = asyncio.Semaphore(self.generate.max_concurrency)

        async def ask(question: str, passage: str) -> tuple[str, bool]:
            async with free:
                async with asyncio.timeout(_LONGEST):  # a server may send one byte a second for ever
                    kept = await apart(partial(self._fitted, question, passage))  # may ask a server
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
        """What the model is asked about one passage."""
        values = {"question": question, "passage": passage}
        text = _PLACE.sub(lambda place: values[place[1]], self.prompt)
        return (Message(role="user", text=text),)

    def _fitted(self, question: str, passage: str) -> str:
        """As much of the passage, from its beginning, as the context has room for."""
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
    """The grade in a reply: the number from 0 to 10 that it begins with, or the only one in it.

    `7`, `7/10`, `Grade: 7.`, `**7** out of 10` are 7; `None` where there is no such number, or several.
    """
    text = _SCALE.sub(" ", reply.replace("*", "")).strip()
    if first := _GRADE.match(text):
        return float(first[0])
    found = set(map(float, _GRADE.findall(text)))
    return found.pop() if len(found) == 1 else None


def _run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where the caller is inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
