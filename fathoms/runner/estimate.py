"""Estimating requests, tokens and dollars of questions without calling the model.

Prompts are packed as they will be sent, from what was retrieved. Their tokens are the model's own count where
it runs in this process. Otherwise four characters of text count as one token, and every page of an attached
PDF and every image as many as the model's adapter says (`page_tokens`). A reply is assumed to have 100
tokens, or `max_tokens` where that is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from fathoms.errors import PromptTooLongError
from fathoms.models import ChatModel, Embedded, ScriptedModel
from fathoms.models.caller import CHARACTERS
from fathoms.pipeline.answering import PackedQuestion
from fathoms.types import Message, Usage

REPLY = 100
"""Tokens assumed for a short answer."""
PAGE = 2000
"""Tokens of a page or an image where the adapter does not say. Vendors state 1,500 to 3,000."""


@dataclass(frozen=True)
class Estimate:
    """The estimate for one or more questions; `most_` fields assume that every reply takes `max_tokens`.

    `most_reply_tokens` is `None` where only the vendor limits replies. Costs are in US dollars, `None` where
    no price is known.
    """

    requests: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    most_reply_tokens: int | None = 0
    cost: float | None = 0.0
    most_cost: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            _sum(self.most_reply_tokens, other.most_reply_tokens),
            _sum(self.cost, other.cost),
            _sum(self.most_cost, other.most_cost),
        )


def estimate(packed: PackedQuestion) -> Estimate:
    """Estimate one question; zero for one that cannot be asked."""
    ingested, question, generate = packed.ingested, packed.question, packed.ingested.generate
    if question.id in ingested.unusable:
        return Estimate()
    counts_here = isinstance(generate, Embedded | ScriptedModel)

    def count(messages: Sequence[Message]) -> int:
        own = generate.count_tokens(messages) if counts_here else None
        return by_rule(generate, messages) if own is None else own

    sizes = []
    try:
        with packed.timed():
            for number, draft in enumerate(packed.drafts):
                tokens = packed.prompt(number).tokens if counts_here else None
                sizes.append(tokens or draft.fit(count, ingested.max_prompt_tokens).tokens or 0)
    except PromptTooLongError:
        return Estimate()
    if len(sizes) > 1:  # the last request merges the answers
        sizes.append(len(question.text) // CHARACTERS + len(sizes) * _reply(generate))
    return sum((_request(generate, size) for size in sizes), Estimate())


def by_rule(model: ChatModel, messages: Sequence[Message]) -> int:
    """Estimate the tokens of messages by the rule in this module's docstring."""
    text = sum(len(message.text) for message in messages) // CHARACTERS
    pages = sum(len(file.pages) for message in messages for file in message.files)
    images = sum(len(message.images) for message in messages)
    return text + (pages + images) * int(getattr(model, "page_tokens", PAGE))


def _request(model: ChatModel, prompt: int) -> Estimate:
    """Estimate one request with a prompt of so many tokens."""
    reply, most = _reply(model), model.max_tokens
    return Estimate(
        requests=1,
        prompt_tokens=prompt,
        reply_tokens=reply,
        most_reply_tokens=most,
        cost=model.cost(Usage(prompt_tokens=prompt, completion_tokens=reply)),
        most_cost=model.cost(Usage(prompt_tokens=prompt, completion_tokens=most)),
    )


def _reply(model: ChatModel) -> int:
    """Tokens that a reply is assumed to have."""
    return REPLY if model.max_tokens is None else min(REPLY, model.max_tokens)


Known = TypeVar("Known", int, float)


def _sum(one: Known | None, other: Known | None) -> Known | None:
    """The sum; `None` where either value is unknown."""
    return None if one is None or other is None else one + other
