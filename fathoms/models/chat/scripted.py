"""A model with scripted replies and errors, for tests of everything around a model."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.errors import ModelError
from fathoms.models.chat.chat_component import ChatComponent
from fathoms.models.protocols import FileLimits
from fathoms.paths import sha256_file
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TOKENS
from fathoms.types import Message, Prompt, Reply, Usage


class ScriptedModel(ChatComponent):
    """`kind: scripted`: searches the last message for given texts and pictures and gives the reply configured
    for them.

    Tokens are counted as words between spaces.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"latency", "max_concurrency", "max_pages"})

    inert: ClassVar[bool] = True
    kind: Literal["scripted"] = "scripted"
    model: str = "scripted"
    """Name of the model in reports."""
    replies: dict[str, str] = Field(default_factory=dict)
    """Maps a text to the reply that is given if the last message contains it. The first match is used."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """Maps the sha256 of a picture file to the reply that is given if the last message shows this picture. It
    takes precedence over `replies`."""
    patterns: dict[str, str] = Field(default_factory=dict)
    """Maps a regular expression to the reply that is given if it is found in the last message and nothing of
    `pictures` and `replies` matches. `\\1` or `\\g<name>` in the reply stands for what a group matched. The
    first match is used."""
    default: str = "I don't know."
    """The reply if nothing of `pictures`, `replies` and `patterns` matches."""
    echo: bool = False
    """Whether to reply with the packed context instead of `default` if nothing else matches."""
    fail_on: dict[str, str] = Field(default_factory=dict)
    """Maps a text to the message of the error that is raised if the last message contains it. It takes
    precedence over `replies`."""
    latency: float = Field(default=0.0, ge=0, le=LONGEST_WAIT)
    """Seconds to wait before every reply or error."""
    context_window: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Context window in tokens, prompt and reply together; no limit if not given."""
    max_tokens: int = Field(default=256, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens; longer replies are cut."""
    max_pages: int | None = Field(default=None, ge=1, le=1_000_000)
    """Maximum number of pages of attached PDFs in one request; no limit if not given."""
    max_concurrency: int = Field(default=8, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time."""

    @field_validator("patterns")
    @classmethod
    def _valid(cls, patterns: dict[str, str]) -> dict[str, str]:
        """Refuse what is no regular expression."""
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"'{pattern}' is no regular expression: {error}") from None
        return patterns

    def identity(self) -> dict[str, Any]:
        """Leave out newer options where they are not used, so that replies in older caches are found."""
        found = super().identity()
        for name in ("pictures", "patterns"):
            if not found["options"][name]:
                del found["options"][name]
        return found

    def check(self) -> None:
        """Do nothing: this model has no requirements."""

    @property
    def file_limits(self) -> FileLimits:
        """Limits of requests with PDFs, which are accepted and ignored."""
        return FileLimits(self.max_pages, None)

    async def reply(self, prompt: Prompt) -> Reply:
        """Return the scripted reply after `latency` seconds; raises ModelError if `fail_on` matches."""
        started = time.perf_counter()
        await asyncio.sleep(self.latency)
        text = prompt.messages[-1].text
        failure = _first(self.fail_on, text)
        if failure is not None:
            raise ModelError(failure)
        reply = self._seen(prompt.messages[-1])
        reply = _first(self.replies, text) if reply is None else reply
        reply = self._by_pattern(text) if reply is None else reply
        said = (prompt.context if self.echo else self.default) if reply is None else reply
        words = said.split(" ")
        reply_words = words[: self.max_tokens]
        return Reply(
            text=" ".join(reply_words),
            stop_reason="stop" if len(reply_words) == len(words) else "length",
            usage=Usage(prompt_tokens=self.count_tokens(prompt.messages), completion_tokens=len(reply_words)),
            latency=time.perf_counter() - started,
        )

    def _by_pattern(self, text: str) -> str | None:
        """Return the reply of the first regular expression that is found in a text, `None` if none is."""
        for pattern, reply in self.patterns.items():
            if (found := re.search(pattern, text, re.DOTALL)) is not None:
                return found.expand(reply)
        return None

    def _seen(self, message: Message) -> str | None:
        """Return the reply to the first picture of a message that has one, `None` if none has."""
        shown = (sha256_file(path) for path in message.images) if self.pictures else iter(())
        return next((self.pictures[name] for name in shown if name in self.pictures), None)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the number of words in the messages."""
        return sum(len(message.text.split(" ")) for message in messages)


def _first(script: dict[str, str], text: str) -> str | None:
    """Return the value of the first key that occurs in the text, `None` if none does."""
    return next((line for key, line in script.items() if key in text), None)
