"""Converts between the types of fathoms and the JSON of Ollama's chat API."""

from __future__ import annotations

from typing import Any

from fathoms.answers.reasoning import split_reasoning
from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import FAILED_FINISH, Sender
from fathoms.models.chat.completion import count
from fathoms.models.chat.media import as_base64
from fathoms.types import Message, Reply, Usage


class OllamaAnswer:
    """Collects the pieces of a streamed answer, or a complete answer, and makes a reply of them."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._text: list[str] = []
        self._thought: list[str] = []
        self._last: dict[str, Any] = {}
        self._first_token: float | None = None
        self._seconds = 0.0

    def hear(self, value: dict[str, Any], seconds: float) -> None:
        """Add a piece of the answer; raises ModelError if the value is not one or reports an error."""
        self._seconds = seconds
        message = value.get("message")
        found = message if isinstance(message, dict) else {}
        text, thought = found.get("content") or "", found.get("thinking") or ""
        if value.get("done_reason") in FAILED_FINISH:
            raise ModelError(f"{self._sender.address} ended the stream with an error instead of an answer")
        if not (found and isinstance(text, str) and isinstance(thought, str)):
            raise ModelError(f"{self._sender.address}: the answer is not one of Ollama's chat API")
        self._text.append(text)
        self._thought.append(thought)
        self._last = value
        if (text or thought) and self._first_token is None and not value.get("done"):
            self._first_token = self._seconds

    def reply(self) -> Reply:
        """Make the reply; raises NoAnswerError if the stream ended before the answer was complete."""
        if not self._last.get("done"):
            raise NoAnswerError(f"{self._sender.address}: the stream ended before the answer was complete")
        reasoning, text = split_reasoning(self._sender.masked("".join(self._text)))
        return Reply(
            text=text,
            reasoning=self._sender.masked("".join(self._thought)) or reasoning,
            stop_reason=self._sender.word(self._last.get("done_reason")),
            model=self._sender.word(self._last.get("model")),
            usage=Usage(
                prompt_tokens=count(self._last, "prompt_eval_count"),
                completion_tokens=count(self._last, "eval_count"),
            ),
            first_token=self._first_token,
            latency=self._seconds,
        )


def chat_message(message: Message) -> dict[str, Any]:
    """Convert a message to the format of the API: one text, and the images in base64.

    The API has no place for an image within the text: it puts all images before the text. A message in
    another order is therefore sent with its images first and its texts joined by line breaks.
    """
    images = [as_base64(path) for path in message.images]
    return {"role": message.role, "content": message.text} | ({"images": images} if images else {})
