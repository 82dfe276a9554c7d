"""The calls of `retrieve: {kind: each-document}`: one about each document, and one that combines the answers.

Where the partial answers do not fit into one prompt, they are combined in rounds: as many of them at a time
as fit, then the results, until one prompt has the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial

from fathoms.errors import ModelError, PromptTooLongError
from fathoms.models import ChatModel
from fathoms.models.caller import ModelCalls, to_failure
from fathoms.models.chat.room import most_that_fits, room_for_prompt
from fathoms.pipeline.prompt import Draft, PromptBuilder
from fathoms.retrieve import EachDocument
from fathoms.runs.events import happened
from fathoms.types import Hit, Part, Prompt, Question, Reply

Said = tuple[str, str]
"""Where a partial answer comes from, and the answer."""
NOTHING: Said = ("All documents", "None of them says anything that helps.")


def drafts(
    retriever: EachDocument, question: Question, groups: Mapping[str, Sequence[Hit]]
) -> dict[str, Draft]:
    """Return the prompt about each document before it is cut to the context window."""
    builder = PromptBuilder(template="each-document", user=retriever.prompt)
    return {
        name: builder.draft(question.model_copy(update={"files": (name,)}), hits)
        for name, hits in groups.items()
    }


async def ask_each(
    retriever: EachDocument, question: Question, groups: Mapping[str, Sequence[Hit]], calls: ModelCalls
) -> list[Part]:
    """Ask the question of each document, as many at once as the model takes; a document whose call fails for
    good has the error as its part.

    Raises the error of the first document where all of them fail, PromptTooLongError where the question alone
    does not fit, and Stopped.
    """
    model = retriever.generate
    assert model is not None, "the pipeline gives its own where the configuration names none"
    limit = room_for_prompt(model, "retrieve.generate")

    async def ask(document: str, draft: Draft) -> Part | tuple[Part, Exception]:
        prompt = await calls.counted(model, partial(draft.fit, model.count_tokens, limit))
        try:
            reply, _ = await calls.reply(model, prompt, "extract")
            _require_text(reply)
        except Exception as error:
            return Part(
                prompt=prompt, reply=Reply(text=""), document=document, error=to_failure(error)
            ), error
        finally:
            calls.caller.on_part(question.id, calls.repeat)
        nothing = retriever.says_nothing(reply.text)
        return Part(prompt=prompt, reply=reply, document=document, nothing=nothing)

    documents = drafts(retriever, question, groups).items()
    # calls in flight are finished after a failure: a cancelled one would count as an outage
    found = await asyncio.gather(*(ask(*one) for one in documents), return_exceptions=True)
    parts, errors = [], []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        parts.append(one if isinstance(one, Part) else one[0])
        errors += [] if isinstance(one, Part) else [one[1]]
    if errors and len(errors) == len(parts):
        raise errors[0]
    if errors:
        happened(
            "documents-failed", level=logging.WARNING, failed=len(errors), of=len(parts), error=str(errors[0])
        )
    return parts


async def combining(
    builder: PromptBuilder,
    model: ChatModel,
    limit: int | None,
    question: Question,
    parts: Sequence[Part],
    calls: ModelCalls,
) -> Prompt:
    """Return the prompt that combines the partial answers, which has at most `limit` tokens. Raises
    ModelError and Stopped where a round of combining fails."""
    said = [(part.document or "", part.reply.text.strip()) for part in parts if part.is_combined] or [NOTHING]
    while True:
        prompts = await calls.counted(model, partial(_packed, builder, model, limit, question, said))
        if len(prompts) == 1:
            return prompts[0].model_copy(update={"parts": tuple(parts)})
        requests = (calls.reply(model, prompt, "extract") for prompt in prompts)
        replies = await asyncio.gather(*requests, return_exceptions=True)
        said = []
        for number, reply in enumerate(replies, start=1):
            if isinstance(reply, BaseException):
                raise reply
            _require_text(reply[0])  # without it, the answers of a whole group would be lost
            said.append((f"Documents, group {number}", reply[0].text.strip()))


def _require_text(reply: Reply) -> None:
    """Raise ModelError for a refusal or an empty reply, which is no partial answer."""
    if reply.refusal is not None or not reply.text.strip():
        raise ModelError(reply.refusal or f"the reply is empty (stop reason: {reply.stop_reason})")


def _packed(
    builder: PromptBuilder, model: ChatModel, limit: int | None, question: Question, said: Sequence[Said]
) -> list[Prompt]:
    """Return prompts that combine partial answers in order, as many in each as fit. Raises PromptTooLongError
    where not even two of them fit."""
    prompts: list[Prompt] = []
    left = list(said)
    while left:
        number, prompt = len(left), builder.merging(question, left)
        tokens = model.count_tokens(prompt.messages)
        if tokens is not None and limit is not None and tokens > limit:

            def fits(count: int) -> bool:
                messages = builder.merging(question, left[:count]).messages  # noqa: B023 - called at once
                return (model.count_tokens(messages) or 0) <= limit

            number = most_that_fits(len(left), fits)
            if number < min(2, len(said)):
                raise PromptTooLongError(
                    f"question {question.id}: the prompt has no room for the answers of two documents: raise"
                    " generate.n_ctx, or lower retrieve.generate.max_tokens"
                )
            prompt = builder.merging(question, left[:number])
            tokens = model.count_tokens(prompt.messages)
        prompts.append(prompt.model_copy(update={"tokens": tokens, "budget": limit}))
        left = left[number:]
    return prompts
