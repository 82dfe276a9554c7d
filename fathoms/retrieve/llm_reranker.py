"""Reranking by a language model, which is asked once per chunk to grade its relevance."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from fathoms.component import Component
from fathoms.errors import ModelError
from fathoms.models import Generator
from fathoms.models.caller import ModelCalls
from fathoms.models.calling.stop import Stopped
from fathoms.models.chat.room import most_that_fits, room_for_prompt
from fathoms.runs.events import happened
from fathoms.types import Message, Prompt

NO_GRADE = -1.0
"""Score of a chunk that the model gave no grade: it is ranked after all graded chunks."""

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

    inert: ClassVar[bool] = True
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

    async def grades(self, question: str, passages: Sequence[str], calls: ModelCalls) -> list[float]:
        """Return the grade of each passage from 0 to 10. A passage that does not fit into the context of the
        model is shortened at its end, and a reply without a grade counts as `NO_GRADE`.

        After a failed call no more are started. Raises its ModelError, one where none of the replies has a
        grade, and Stopped.
        """
        room = room_for_prompt(self.generate, "the reranker's generate")
        found: dict[int, str] = {}
        failed: list[Exception | Stopped] = []
        cut = 0
        waiting = iter(enumerate(passages))

        async def grade_next() -> None:
            nonlocal cut
            for number, passage in waiting:
                try:
                    shown = passage
                    if room is not None:
                        fitted = partial(self._fitted, question, passage, room)
                        shown = await calls.counted(self.generate, fitted)
                    cut += shown != passage
                    prompt = self.prompt_of(question, shown)
                    reply, _ = await calls.reply(self.generate, prompt, "rerank")
                    found[number] = reply.text
                except (Exception, Stopped) as error:
                    failed.append(error)
                if failed:
                    return

        # calls in flight are finished after a failure: a cancelled one would count as an outage
        await asyncio.gather(*(grade_next() for _ in passages[: self.generate.max_concurrency]))
        if failed:
            if isinstance(error := failed[0], ModelError):
                message = f"the reranker failed: {error}"
                raise type(error)(message, status=error.status, retry_after=error.retry_after) from error
            raise error
        grades = [grade_of(found[number]) for number in range(len(passages))]
        missing = grades.count(None)
        if grades and missing == len(grades):
            raise ModelError(
                f"no grade from 0 to 10 in {missing} replies of the reranker; one is {found[0]!r}"
            )
        if missing or cut:
            happened(
                "reranking-incomplete",
                level=logging.WARNING,
                passages=len(passages),
                without_grade=missing,
                shortened=cut,
            )
        return [NO_GRADE if grade is None else grade for grade in grades]

    def prompt_of(self, question: str, passage: str) -> Prompt:
        """Return the prompt that asks the model to grade one passage."""
        values = {"question": question, "passage": passage}
        text = _PLACE.sub(lambda place: values[place[1]], self.prompt)
        return Prompt(messages=(Message(role="user", text=text),))

    def _fitted(self, question: str, passage: str, room: int) -> str:
        """Return the longest beginning of the passage with which the prompt has at most `room` tokens."""

        def tokens(length: int) -> int:
            return self.generate.count_tokens(self.prompt_of(question, passage[:length]).messages) or 0

        if tokens(len(passage)) <= room:
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
