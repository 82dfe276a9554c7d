"""Adapters of closed APIs that ask the server of `vendor_servers`, and what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.models import AnthropicLLM, GoogleLLM, OpenAILLM
from fathoms.models.chat.closed import Closed
from fathoms.paths import sha256_file
from fathoms.types import Attachment, Message, Prompt, Reply
from tests.support.vendor_servers import Vendors

APIS = ("anthropic", "chat", "responses", "google")
VARIABLE = "FATHOMS_TEST_VENDOR_KEY"


def adapter(api: str, server: Vendors, **options: Any) -> Closed:
    """The adapter of an API, with the key in `VARIABLE`."""
    common = {"api_key_env": VARIABLE, "request_timeout": 20, **options}
    if api == "anthropic":
        return AnthropicLLM(model="claude-x", base_url=server.base_url("anthropic"), **common)
    if api == "google":
        return GoogleLLM(model="gemini-x", base_url=server.base_url("google"), **common)
    return OpenAILLM(model="gpt-x", api=api, base_url=server.base_url("openai"), **common)  # type: ignore[arg-type]


def attached(path: Path) -> Attachment:
    """A whole PDF."""
    return Attachment(
        document=path.name, pages=(1,), path=path, sha256=sha256_file(path), size=path.stat().st_size
    )


def prompt(
    text: str = "What is it?", files: Sequence[Path] = (), images: Sequence[Path] = (), system: str = ""
) -> Prompt:
    """A question with PDFs and images."""
    above = (Message(role="system", text=system),) if system else ()
    user = Message(role="user", text=text, images=tuple(images), files=tuple(map(attached, files)))
    return Prompt(messages=(*above, user))


def replies_to(model: Closed, *prompts: Prompt) -> list[Reply]:
    """The replies to prompts that are asked at the same time."""

    async def ask() -> list[Reply]:
        return list(await asyncio.gather(*(model.reply(prompt) for prompt in prompts)))

    return asyncio.run(ask())


def answered(model: Closed, prompt: Prompt) -> Reply:
    """The reply to one prompt."""
    (reply,) = replies_to(model, prompt)
    return reply
