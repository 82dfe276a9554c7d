"""Converts between the types of fathoms and the JSON of OpenAI's Chat Completions API."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathoms.answers.reasoning import split_parts, split_reasoning
from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender, failed_finish
from fathoms.models.chat.media import PDF, data_url, file_name, image_type
from fathoms.safety.masking import known_mask
from fathoms.types import Attachment, FilePart, Form, ImagePart, Message, Reply, TextPart, Usage

_LONGEST_QUOTE = 300
_LARGEST_COUNT = 2**53
_KINDS = {dict: "an object", bool: "true or false"}


def chat_messages(
    messages: Sequence[Message], uploaded: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Convert messages to the format of the API.

    `uploaded` maps the sha256 of uploaded files to their ids; all other files are sent with the request.
    """
    return [{"role": message.role, "content": _content(message, uploaded or {})} for message in messages]


def _content(message: Message, uploaded: Mapping[str, str]) -> str | list[dict[str, Any]]:
    """Convert a message to content parts in the order of its parts, or to its text if it has only text.

    Plain text is accepted by every server, a list of content parts only by some.
    """
    if not message.files and not message.images:
        return message.text
    return [_content_part(part, uploaded) for part in message.parts]


def _content_part(part: TextPart | ImagePart | FilePart, uploaded: Mapping[str, str]) -> dict[str, Any]:
    """Convert one part of a message to a content part."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": data_url(part.image, image_type(part.image))}}
    return {"type": "file", "file": attached(part.file, uploaded)}


def attached(file: Attachment, uploaded: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a file part: the id of an uploaded file, or the name and the data of the file.

    The Responses API uses the same fields.
    """
    if file.sha256 in uploaded:
        return {"file_id": uploaded[file.sha256]}
    return {"filename": file_name(file), "file_data": data_url(file, PDF)}


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
        self._first_tokens: dict[str, float] = {}
        self._is_whole = False
        self.first: float | None = None
        self.last = 0.0

    def hear(self, value: dict[str, Any], seconds: float) -> None:
        """Add a completion or a chunk of one; raises ModelError if the value is neither."""
        self.last = seconds
        try:
            self._take(value)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            problem = self._sender.masked(repr(error))[:_LONGEST_QUOTE]
            address = self._sender.address
            raise ModelError(f"{address}: the answer is not a chat completion ({problem})") from error

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
        if not self._first_tokens:
            self._first_tokens = _probabilities(choice.get("logprobs"))
        is_chunk = "delta" in choice
        part = (choice["delta"] if is_chunk else choice["message"]) or {}
        said = [
            self._say(part.get("content")),
            _text(self._reasoning, part.get("reasoning_content") or part.get("reasoning")),
            _text(self._refused, part.get("refusal")),
        ]
        self._stop = self._sender.word(choice.get("finish_reason")) or self._stop
        self._is_whole = self._is_whole or not is_chunk
        if is_chunk and any(said) and self.first is None:
            self.first = self.last

    def _say(self, content: Any) -> bool:
        """Append the content of a message, which may have parts with reasoning, and return whether there was
        any."""
        thought, said = split_parts(content) or ("", None if content == [] else content)
        return any([_text(self._reasoning, thought), _text(self._text, said)])

    def reply(self, *, is_whole: bool = False) -> Reply:
        """Make the reply; raises NoAnswerError if the stream ended before the answer was complete. It is
        complete with a finish reason, or if it has a text and the server said that it is (`is_whole`)."""
        said = self._text or self._reasoning or self._refused
        if not (self._is_whole or (is_whole and said)) and self._stop is None:
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
            choice_p=self._first_tokens or None,
        )


def with_choice_p(reply: Reply, form: Form) -> Reply:
    """Turn the probabilities of the first token into those of the choices of a form, which add up to 1.

    A token counts for the choice that begins with it, whatever its case and the spaces around it. The
    probabilities become `None` if the server reported none, or if a token begins several choices.
    """
    found = dict.fromkeys(form.choices, 0.0)
    for token, p in (reply.choice_p or {}).items():
        word = token.strip().lower()
        matching = [choice for choice in form.choices if word and choice.startswith(word)]
        if len(matching) > 1:
            return reply.model_copy(update={"choice_p": None})
        for choice in matching:
            found[choice] += p
    total = sum(found.values())
    shares = {choice: p / total for choice, p in found.items()} if total else None
    return reply.model_copy(update={"choice_p": shares})


def _probabilities(choice: Any) -> dict[str, float]:
    """Read the probabilities of the likeliest first tokens; empty if there are none."""
    content = choice.get("content") if isinstance(choice, dict) else None
    first = content[0] if content else {}
    found: dict[str, float] = {}
    for row in first.get("top_logprobs") or []:
        token, logprob = row.get("token"), row.get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float):
            found[token] = found.get(token, 0.0) + math.exp(min(float(logprob), 0.0))
    return found


def _text(parts: list[str], said: Any) -> bool:
    """Append a text and return whether there was any. Raises TypeError for another type of value."""
    if said is not None and not isinstance(said, str):
        raise TypeError(
            f"expected a text, got {_KINDS.get(type(said)) or known_mask().text(repr(said))[:40]}"
        )
    if said:
        parts.append(said)
    return bool(said)


def usage(given: Any) -> Usage:
    """Convert the `usage` object of OpenAI's API; invalid numbers become `None`."""
    return Usage(
        prompt_tokens=count(given, "prompt_tokens"),
        completion_tokens=count(given, "completion_tokens"),
        cached_tokens=count(given, "prompt_tokens_details", "cached_tokens"),
        reasoning_tokens=count(given, "completion_tokens_details", "reasoning_tokens"),
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
