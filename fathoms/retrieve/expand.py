"""Query expansion: a language model rewrites or splits the question, and the rankings of all texts are fused.

Search texts are made one question at a time, right before the question is answered, so that their calls have
the budget, the retries and the record of that question, as those of a reranker.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fathoms.config import read_yaml
from fathoms.errors import ModelError
from fathoms.models import Generator
from fathoms.models.caller import ModelCalls
from fathoms.models.chat.room import room_for_prompt
from fathoms.registry import OneOf
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.fusion import fused
from fathoms.retrieve.retriever import Index, Retriever, as_candidates, fill
from fathoms.retrieve.wrapping import Wrapping
from fathoms.runs.events import happened
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.safety.transport import await_in_thread
from fathoms.types import Form, Hit, Message, Prompt, Purpose, Question, Round

Searched = Annotated[Retriever, OneOf("retrievers", within="expand")]
_LONGEST = 1000
"""Characters of the longest search text; the rest of a longer one is cut off."""
_STARTS = 1000
"""How many brackets of a reply may be the beginning of its list. Without a limit, a reply of brackets alone
takes time that grows with the square of its length."""
_JSON = json.JSONDecoder()


class Expand(Wrapping):
    """Searches for several texts that a language model makes of the question, and fuses the rankings by
    reciprocal rank fusion, each with the same weight.

    If no search text can be read from the model's reply, the question itself is searched for. Such replies
    are counted, and reports name their number. A call that fails for good fails the question.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"retriever", "generate", "prompt"})

    kind: Literal["expand"] = "expand"
    retriever: Searched = Field(default=Dense(), validate_default=True)
    """The retriever that is searched with each text. It returns 20 chunks unless its `top_k` is set."""
    generate: Generator
    """The model that makes the search texts. Its `max_tokens` limits all texts of a question together."""
    mode: Literal["rewrite", "split"] = "rewrite"
    """`rewrite` asks for the question in other words, `split` for one search text per fact that the answer
    needs."""
    queries: int = Field(default=3, ge=1, le=20)
    """The most search texts per question, besides the question itself."""
    original: bool = True
    """Whether the question itself is searched for as well."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks per question after the fusion."""
    k: int = Field(default=60, ge=0, le=1_000_000)
    """Smoothing constant of the fusion, as in `hybrid`."""
    prompt: str | None = None
    """Prompt template that replaces that of the mode. `{question}` is required, `{queries}` is the number of
    texts. It must ask for JSON such as `{"queries": ["...", "..."]}`."""

    @field_validator("retriever")
    @classmethod
    def _give_candidates(cls, retriever: Searched) -> Searched:
        if retriever.pages is not None:
            raise ValueError("retrieval by page images cannot be expanded: its rankings are of pages")
        return as_candidates(retriever)

    @field_validator("prompt")
    @classmethod
    def _has_question(cls, prompt: str | None) -> str | None:
        if prompt is not None and "{question}" not in prompt:
            raise ValueError("must contain {question}")
        return prompt

    def identity(self) -> dict[str, Any]:
        """Extend the identity by those of the inner retriever and of the model, and by the prompt."""
        template = prompts()[self.mode] if self.prompt is None else Template(version=0, text=self.prompt)
        return {
            **super().identity(),
            "generate": self.generate.identity(),
            "prompt": template.model_dump(),
        }

    def served(self) -> dict[str, Any]:
        """Return what the server of the model reports about the model it runs."""
        return self.generate.served()

    def check(self) -> None:
        """Check the inner retriever and the model; raises their errors, and ConfigError if `max_tokens`
        leaves no room for a prompt."""
        super().check()
        room_for_prompt(self.generate, "retrieve.generate")
        self.generate.check()

    @property
    def called(self) -> dict[Purpose, Generator]:
        """The model that makes the search texts."""
        return {"expand": self.generate}

    async def refine(
        self, index: Index, question: Question, candidates: Sequence[Hit], calls: ModelCalls
    ) -> tuple[Hit, ...]:
        """Return the fused hits of the search texts of one question, and append a round for each text."""
        texts = await self._texts(question, calls)
        searched = [question.model_copy(update={"text": text}) for text in texts]
        found = await await_in_thread(lambda: self._search(index, searched))
        rankings = list(zip(texts, found, strict=True))
        if self.original or not texts:
            rankings.insert(0, (question.text, tuple(candidates)))
        number = len(calls.done)  # all texts come from one call, which belongs to the first round
        for at, (text, ranking) in enumerate(rankings):
            calls.rounds.append(Round(query=text, hits=ranking, calls=0 if at else number))
        rows = [row for _, row in rankings]
        return fused(index, rows, [1.0] * len(rows), k=self.k, top_k=self.top_k)

    def _search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Search for all texts of one question; other questions wait, so that nothing is made twice."""
        with index.lock:
            return self.retriever.search(index, questions) if questions else []

    async def _texts(self, question: Question, calls: ModelCalls) -> tuple[str, ...]:
        """Return the search texts that the model makes of a question; none where its reply cannot be read."""
        (prompt,) = self.refining_prompts(question, ())
        try:
            reply, call = await calls.reply(self.generate, prompt, "expand")
        except ModelError as error:
            message = f"the question could not be expanded: {error}"
            raise type(error)(message, status=error.status, retry_after=error.retry_after) from error
        texts = search_texts(reply.text, self.queries)
        if not texts:
            calls.done[-1] = call.model_copy(update={"unread": True})
            happened("expansion-unread", level=logging.WARNING, reply=reply.text[:200])
        return tuple(text for text in texts if not (self.original and text == question.text))

    def without_refining(self, candidates: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the first `top_k` hits of the question as it is."""
        return tuple(candidates[: self.top_k])

    def refining_prompts(self, question: Question, candidates: Sequence[Hit]) -> list[Prompt]:
        """Return the prompt that asks for the search texts."""
        template = self.prompt or prompts()[self.mode].text
        text = fill(template, {"question": question.text, "queries": str(self.queries)})
        return [Prompt(messages=(Message(role="user", text=text),), form=Form(json_schema=self._schema))]

    @property
    def _schema(self) -> dict[str, Any]:
        """The JSON schema of a reply."""
        text = {"type": "string", "minLength": 1, "maxLength": _LONGEST}
        texts = {"type": "array", "items": text, "minItems": 1, "maxItems": self.queries}
        return {
            "type": "object",
            "properties": {"queries": texts},
            "required": ["queries"],
            "additionalProperties": False,
        }


class Template(BaseModel):
    """A prompt template with its version, which is in the fingerprint together with the text."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    version: int
    text: str


@cache
def prompts() -> dict[str, Template]:
    """Return the prompt templates that come with fathoms, by mode."""
    folder = Path(str(files("fathoms.retrieve"))) / "prompts"
    return {path.stem: Template(**read_yaml(path).data) for path in sorted(folder.glob("*.yaml"))}


def search_texts(reply: str, most: int) -> tuple[str, ...]:
    """Read up to `most` search texts from a reply: those of the first JSON list of texts in it.

    Empty and repeated texts are left out. Returns an empty tuple if the reply has no such list, or if 1,000
    brackets come before it.
    """
    at = reply.find("[")
    for _ in range(_STARTS):
        if at < 0:
            break
        try:
            found, _ = _JSON.raw_decode(reply, at)
        except (ValueError, RecursionError):
            found = None
        if found and all(isinstance(text, str) for text in found):
            cleaned = (" ".join(text.split())[:_LONGEST] for text in found)
            return tuple(dict.fromkeys(filter(None, cleaned)))[:most]
        at = reply.find("[", at + 1)
    return ()
