"""Calls a language model once for each of several items, such as questions, and stores every reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from fathoms.errors import FathomsError, ModelError, UsageError
from fathoms.judges.judge import Judge
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller, to_failure
from fathoms.models.chat.forms import read_choice
from fathoms.models.protocols import ChatModel
from fathoms.models.stop_reasons import was_cut
from fathoms.types import Failure, Form, Message, Prompt, Question

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
READ = frozenset({"Cut", "Unparsed"})
"""The kinds of failures of calls that had a reply."""
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
    """Return for each item, such as a question, what `read` makes of the reply of the model.

    Where the form of a prompt has choices, `read` gets the chosen one. If `read` returns `None`, the model is
    called once more. A failure says why an item has no result: that of `prompt_for`, a failed call, a reply
    that was cut, or one that cannot be read. Replies are taken from the cache where it has them, so asking
    again after an interruption pays only for what could not be read. ModelError is raised as soon as most
    replies cannot be read (`ReplyCache.note_reading`). Calls are in the order of the items, so that providers
    can reuse the beginning that a prompt shares with the one before. `sample` numbers, from 0, the items with
    the same prompt; it is added to the model's seed.
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
    """Call the model for all items; only as many prompts are in memory as the model takes calls at once."""
    done = 0
    ended: list[FathomsError] = []
    places = asyncio.Semaphore(max(1, model.max_concurrency))

    async def ask(prompt: Prompt | Failure, item: K) -> T | Failure:
        if isinstance(prompt, Failure):
            return prompt
        found = await _read_reply(prompt, model, read, caller, 2 * sample(item))
        failure = found if isinstance(found, Failure) else None
        if caller.replies is not None and (failure is None or failure.kind in READ):
            caller.replies.note_reading(model, failure)
        return found

    async def one(item: K) -> tuple[K, T | Failure]:
        nonlocal done
        async with places:
            prompt = to_failure(ended[0]) if ended else prompt_for(item)
            try:
                found = await ask(prompt, item)
            except FathomsError as error:  # what is in flight is paid for, and awaited
                ended.append(error)
                found = to_failure(error)
        done += 1
        on_done(done, len(items))
        return item, found

    found = dict(await asyncio.gather(*map(one, items)))
    if ended:
        raise ended[0]
    return found


async def _read_reply(
    prompt: Prompt, model: ChatModel, read: Callable[[str], T | None], caller: Caller, first: int
) -> T | Failure:
    """Call the model, and once more if its reply cannot be read, also where the cache has only such replies.
    `first` is the number of the first repeat."""
    choices = prompt.form.choices if prompt.form else ()
    for again in (False, True):
        for repeat in (first, first + 1):
            try:
                reply, _ = await caller.reply(model, prompt, purpose="build", repeat=repeat, again=again)
            except ModelError as error:
                if caller.replies is not None:
                    caller.replies.note_failure(error)
                return to_failure(error)
            if cut := was_cut(reply):
                break
            text = read_choice(reply.text, choices) if choices else reply.text
            if text is not None and (found := read(text)) is not None:
                return found
        if not reply.cached:
            break
    kind, why = ("Cut", "was cut at the token limit of the model") if cut else ("Unparsed", "cannot be used")
    return Failure(kind=kind, message=f"the reply {why}: {reply.text[:200]!r}")
