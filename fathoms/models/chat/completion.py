"""Converts between the types of fathoms and the JSON of OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender, failed_finish
from fathoms.models.chat.media import data_url, image_type
from fathoms.models.chat.reasoning import split_reasoning
from fathoms.safety.masking import known_mask
from fathoms.types import Message, Reply, Usage

_LONGEST_QUOTE = 300
_LARGEST_COUNT = 2**53
_KINDS = {dict: "an object", bool: "true or false"}


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert messages to the format of the API: plain text, or images followed by the text."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Return the content parts of a message with images, or only its text if it has none."""
    if not message.images:
        return message.text
    images = [
        {"type": "image_url", "image_url": {"url": data_url(path, image_type(path))}}
        for path in message.images
    ]
    return [*images, {"type": "text", "text": message.text}]


class Completion:
    """Collects the pieces of an answer and makes a reply of them, with secrets masked.

    `first` is the time in seconds to the first token of a stream, `None` if unknown; `last` is the time to
    the latest piece.
    """

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refused: list[str] = []
        self._stop: str | None = None
        self._model: str | None = None
        self._usage: dict[str, Any] = {}
        self._is_whole = False
        self.first: float | None = None
        self.last = 0.0

    def hear(self, value: dict[str, Any], seconds: float) -> None:
        """Add a completion or a chunk of one; raises ModelError if the value is neither."""
        self.last = seconds
        try:
            self._take(value)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            told = self._sender.masked(repr(error))[:_LONGEST_QUOTE]
            address = self._sender.address
            raise ModelError(f"{address}: the answer is not a chat completion ({told})") from error

    def _take(self, value: dict[str, Any]) -> None:
        """Read text, reasoning, refusal, usage and finish reason from a completion or a chunk."""
        self._usage = value.get("usage") or self._usage
        self._model = self._sender.word(value.get("model")) or self._model
        choices = value["choices"] if "choices" in value or not value.get("usage") else []
        if not choices:  # the chunk with the usage has no choices
            return
        choice = choices[0]
        if (failed := failed_finish(choice, self._sender)) is not None:
            raise failed
        is_chunk = "delta" in choice
        part = (choice["delta"] if is_chunk else choice["message"]) or {}
        said = [
            _text(self._text, part.get("content")),
            _text(self._reasoning, part.get("reasoning_content") or part.get("reasoning")),
            _text(self._refused, part.get("refusal")),
        ]
        self._stop = self._sender.word(choice.get("finish_reason")) or self._stop
        self._is_whole = self._is_whole or not is_chunk
        if is_chunk and any(said) and self.first is None:
            self.first = self.last

    def reply(self) -> Reply:
        """Make the reply; raises NoAnswerError if the stream ended before the answer was complete."""
        if not self._is_whole and self._stop is None:
            raise NoAnswerError(f"{self._sender.address}: the stream ended before the answer was complete")
        reasoning, text = split_reasoning(self._sender.masked("".join(self._text)))
        refused = self._sender.masked("".join(self._refused))
        filtered = "content_filter" if self._stop == "content_filter" else None
        return Reply(
            text=text or refused,
            reasoning=self._sender.masked("".join(self._reasoning)) or reasoning,
            stop_reason=self._stop,
            refusal="refusal" if refused else filtered,
            model=self._model,
            usage=usage(self._usage),
            first_token=self.first,
            latency=self.last,
        )


def _text(parts: list[str], said: Any) -> bool:
    """Append a text, or the texts of a list of parts, and return whether there was any. Raises TypeError or
    AttributeError for another type of value."""
    if isinstance(said, list):
        said = "".join(part.get("text") or "" for part in said)
    if said is not None and not isinstance(said, str):
        raise TypeError(
            f"expected a text, got {_KINDS.get(type(said)) or known_mask().text(repr(said))[:40]}"
        )
    if said:
        parts.append(said)
    return bool(said)


def usage(told: Any) -> Usage:
    """Convert the `usage` object of OpenAI's API; invalid numbers become `None`."""
    return Usage(
        prompt_tokens=count(told, "prompt_tokens"),
        completion_tokens=count(told, "completion_tokens"),
        cached_tokens=count(told, "prompt_tokens_details", "cached_tokens"),
        reasoning_tokens=count(told, "completion_tokens_details", "reasoning_tokens"),
    )


def count(value: Any, *path: str) -> int | None:
    """Follow a path of keys and return the count at its end; `None` if it is not a valid count."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return as_count(value)


def as_count(value: Any) -> int | None:
    """Return a number of tokens that a server reported; `None` if the value cannot be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT
    return value if is_count else None
