"""Converts between the types of fathoms and the requests and responses of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.models.chat.closed import Clock, part, tokens
from fathoms.models.chat.closed_errors import FailedResponseError, refuse_error
from fathoms.models.chat.completion import attached
from fathoms.models.chat.media import data_url, image_type
from fathoms.types import FilePart, ImagePart, Message, Prompt, Reply, TextPart, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_TOKENS = {
    "response.output_text.delta",
    "response.refusal.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_UNFINISHED = {"failed", "cancelled", "queued", "in_progress"}
"""Statuses of a response without a complete answer. `incomplete` is not one of them: such an answer was cut
off by the token limit or a filter, which `incomplete_details` states."""
_REFUSALS = {"invalid_prompt", "bio_policy", "image_content_policy_violation"}
"""Error codes of a response that was refused because of the content of the prompt."""


def request(prompt: Prompt, uploaded: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of the request body that depends on the prompt.

    `uploaded` maps the sha256 of uploaded files to their ids; all other files are sent with the request.
    """
    turns = [{"role": message.role, "content": _content(message, uploaded)} for message in prompt.messages]
    return {"input": turns, "store": False}


async def ask(client: AsyncOpenAI, body: dict[str, Any], stream: bool) -> Reply:
    """Ask the Responses API for one response, streamed or whole, and return it as a reply."""
    clock = Clock()
    if not stream:
        return _to_reply(await client.responses.create(**body), clock)
    last: Any = None
    async with await client.responses.create(**body, stream=True) as events:
        async for event in events:
            if event.type in _TOKENS:
                clock.token()
            elif event.type in _ENDS:
                last = part(event, "response")
            elif event.type == "error":
                details = {"code": part(event, "code"), "message": part(event, "message") or ""}
                refuse_error(part(event, "error") or details)
    if last is None:
        raise ConnectionError("the stream ended early")
    return _to_reply(last, clock)


def _content(message: Message, uploaded: Mapping[str, str]) -> Any:
    """Convert a message to content parts in the order of its parts, or to its text if it has only text."""
    if not message.files and not message.images:
        return message.text
    return [_content_part(piece, uploaded) for piece in message.parts]


def _content_part(piece: TextPart | ImagePart | FilePart, uploaded: Mapping[str, str]) -> dict[str, Any]:
    """Convert one part of a message to a content part."""
    if isinstance(piece, TextPart):
        return {"type": "input_text", "text": piece.text}
    if isinstance(piece, ImagePart):
        url = data_url(piece.image, image_type(piece.image))
        return {"type": "input_image", "detail": "auto", "image_url": url}
    return {"type": "input_file", **attached(piece.file, uploaded)}


def _to_reply(response: Any, clock: Clock) -> Reply:
    """Make the reply. Its stop reason is the reason why it is incomplete, or otherwise its status. Raises
    FailedResponseError if the response failed."""
    error, usage = response.error, response.usage
    if error is not None and part(error, "code") not in _REFUSALS:
        refuse_error(error)
    if response.status in _UNFINISHED and error is None:
        raise FailedResponseError(
            "error", f"the response has the status {response.status!r} and contains no answer"
        )
    said = [piece for item in response.output if item.type == "message" for piece in item.content]
    refused = "".join(piece.refusal for piece in said if piece.type == "refusal")
    cause = part(response, "incomplete_details", "reason")
    filtered = cause if cause == "content_filter" else part(error, "code")
    return Reply(
        text="".join(piece.text for piece in said if piece.type == "output_text") or refused,
        reasoning="\n".join(filter(None, map(_thought, response.output))),
        stop_reason=cause or response.status,
        refusal="refusal" if refused else filtered,
        model=response.model,
        usage=Usage(
            prompt_tokens=tokens(usage, "input_tokens"),
            completion_tokens=tokens(usage, "output_tokens"),
            cached_tokens=tokens(usage, "input_tokens_details", "cached_tokens"),
            cache_write_tokens=tokens(usage, "input_tokens_details", "cache_write_tokens"),
            reasoning_tokens=tokens(usage, "output_tokens_details", "reasoning_tokens"),
        ),
        first_token=clock.first,
        latency=clock.last,
    )


def _thought(item: Any) -> str:
    """Return the reasoning and its summary in an output item; empty for other items."""
    if item.type != "reasoning":
        return ""
    return "\n".join(piece.text for piece in [*(part(item, "content") or ()), *item.summary])
