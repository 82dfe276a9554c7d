"""A model that answers by a script: for tests of everything around a model, and for faults on purpose."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.models.prices import Priced
from fathoms.models.protocols import FileLimits
from fathoms.safety.limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TOKENS
from fathoms.types import Message, Prompt, Reply, Usage


class ScriptedModel(Priced):
    """`kind: scripted`: looks for known words in the last message and answers as it was told.

    A token is a word between spaces.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"latency", "max_concurrency", "max_pages"})

    kind: Literal["scripted"] = "scripted"
    model: str = "scripted"
    """The name in reports."""
    replies: dict[str, str] = Field(default_factory=dict)
    """Reply by a part of the last message; the first that fits wins."""
    default: str = "I don't know."
    """The reply where none fits."""
    echo: bool = False
    """Reply with the packed context itself where none fits."""
    fail_on: dict[str, str] = Field(default_factory=dict)
    """Error message by a part of the last message; stronger than a reply."""
    latency: float = Field(default=0.0, ge=0, le=LONGEST_WAIT)
    """Seconds to wait before every reply or error."""
    context_window: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Tokens of prompt and reply together; no limit if not given."""
    max_tokens: int = Field(default=256, ge=1, le=MOST_TOKENS)
    """The longest reply, in tokens."""
    max_pages: int | None = Field(default=None, ge=1, le=1_000_000)
    """Pages of attached PDFs that one request may hold; no limit if not given."""
    max_concurrency: int = Field(default=8, ge=1, le=MOST_AT_ONCE)
    """Requests at once."""

    def check(self) -> None:
        """Nothing can be missing."""

    def check_images(self) -> None:
        """Images are as good as none: nothing but the text is looked at."""

    @property
    def file_limits(self) -> FileLimits:
        """PDFs are taken and not looked at."""
        return FileLimits(self.max_pages, None)

    async def reply(self, prompt: Prompt) -> Reply:
        """The scripted reply; raises ModelError where the script says so."""
        started = time.perf_counter()
        await asyncio.sleep(self.latency)
        asked = prompt.messages[-1].text
        failure = _first(self.fail_on, asked)
        if failure is not None:
            raise ModelError(failure)
        told = _first(self.replies, asked)
        said = (prompt.context if self.echo else self.default) if told is None else told
        words = said.split(" ")
        kept = words[: self.max_tokens]
        return Reply(
            text=" ".join(kept),
            stop_reason="stop" if len(kept) == len(words) else "length",
            usage=Usage(prompt_tokens=self.count_tokens(prompt.messages), completion_tokens=len(kept)),
            latency=time.perf_counter() - started,
        )

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Words of the messages."""
        return sum(len(message.text.split(" ")) for message in messages)

    @property
    def counting_waits(self) -> bool:
        """Words are counted at once."""
        return False


def _first(script: dict[str, str], text: str) -> str | None:
    """The line of the first key that stands in the text."""
    return next((line for key, line in script.items() if key in text), None)
