"""Asking a language model one thing about each of several items, such as questions, each once and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from fathoms.errors import ModelError, UsageError
from fathoms.judges.base import Judge
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller, to_failure
from fathoms.models.protocols import ChatModel
from fathoms.models.stop_reasons import was_cut
from fathoms.types import Failure, Form, Message, Prompt, Question

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")
"""A question mark in Latin, Chinese, Arabic and Greek script."""


def plain_prompt(text: str, form: Form | None = None) -> Prompt:
    """Return a prompt with one message."""
    return Prompt(messages=(Message(role="user", text=text),), form=form)


def model_of(judge: Judge, what: str) -> ChatModel:
    """Return the language model of a judge, which is checked first. `what` says what it is for, such as
    `draft nuggets`. Raises UsageError for a judge without one, and the errors of `judge.check`."""
    models = list(judge.parts().values())
    if not models:
        raise UsageError(f"{judge.name} has no language model that could {what}: name a judge of kind llm")
    judge.check()
    model: ChatModel = models[-1]
    return model


def ask_each(
    questions: Sequence[Question],
    model: ChatModel,
    prompt_for: Callable[[Question], Prompt | Failure],
    read: Callable[[str], T | None],
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, T | Failure]:
    """Return what the model says of each question, by its id, as `ask_all` does."""
    found = ask_all(questions, model, prompt_for, read, replies, on_done)
    return {question.id: said for question, said in found.items()}


def ask_all(
    items: Sequence[K],
    model: ChatModel,
    prompt_for: Callable[[K], Prompt | Failure],
    read: Callable[[str], T | None],
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
    sample: Callable[[K], int] = lambda item: 0,
) -> dict[K, T | Failure]:
    """Return what the model says of each item, such as a question, as `read` makes it of the reply.

    A reply that `read` returns `None` for is asked for once more. A failure says why there is none: that of
    `prompt_for`, a failed call, a reply that was cut, or one that cannot be read. Replies are taken from the
    cache where it has them, so asking again after an interruption pays nothing twice. Items are asked about
    in their order, so that providers can use what they keep of a prompt that begins like the one before.
    `sample` numbers, from 0, the items that ask the same several times; it is added to the model's seed.
    """
    return asyncio.run(_ask_all(items, model, prompt_for, read, Caller(replies=replies), on_done, sample))


async def _ask_all(
    items: Sequence[K],
    model: ChatModel,
    prompt_for: Callable[[K], Prompt | Failure],
    read: Callable[[str], T | None],
    caller: Caller,
    on_done: Callable[[int, int], None],
    sample: Callable[[K], int],
) -> dict[K, T | Failure]:
    """Ask about all items; only so many prompts are in memory as the model takes calls at once."""
    done = 0
    places = asyncio.Semaphore(max(1, model.max_concurrency))

    async def one(item: K) -> tuple[K, T | Failure]:
        nonlocal done
        async with places:
            prompt = prompt_for(item)
            if isinstance(prompt, Failure):
                found: T | Failure = prompt
            else:
                found = await _asked(prompt, model, read, caller, 2 * sample(item))
        done += 1
        on_done(done, len(items))
        return item, found

    return dict(await asyncio.gather(*map(one, items)))


async def _asked(
    prompt: Prompt, model: ChatModel, read: Callable[[str], T | None], caller: Caller, first: int
) -> T | Failure:
    """Ask once, and once more for a reply that cannot be read. `first` is the number of the first repeat."""
    text = ""
    for repeat in (first, first + 1):
        try:
            reply, _ = await caller.reply(model, prompt, purpose="build", repeat=repeat)
        except ModelError as error:
            if caller.replies is not None:
                caller.replies.note_failure(error)
            return to_failure(error)
        if was_cut(reply):
            return Failure(kind="Cut", message="the reply was cut at the token limit of the model")
        if (found := read(reply.text)) is not None:
            return found
        text = reply.text
    return Failure(kind="Unparsed", message=f"the reply cannot be used: {text[:200]!r}")
