"""Claude, by Anthropic's own SDK: PDFs as document blocks, inline or by the id of an uploaded file."""

from __future__ import annotations

import asyncio
import time
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.models.chat.closed import (
    KEEP_SECONDS,
    ONE_ANSWER,
    Clock,
    Closed,
    part,
    system_text,
    tokens,
    total,
)
from fathoms.models.chat.closed_errors import FailedResponseError, Fault, refuse_error
from fathoms.models.chat.closed_uploads import Held
from fathoms.models.chat.media import PDF, as_base64, file_bytes, image_type
from fathoms.models.options import VariableName, resolved
from fathoms.safety.limits import MOST_TOKENS
from fathoms.safety.transport import async_client
from fathoms.types import Attachment, Message, Prompt, Reply, Usage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_STATUS = {"rate_limit_error": 429, "overloaded_error": 529, "api_error": 500, "timeout_error": 504}
"""What an error means that comes within a stream, whose own status was 200."""


class AnthropicLLM(Closed):
    """`kind: anthropic`: a Claude model at Anthropic."""

    packages: ClassVar[tuple[str, ...]] = ("anthropic",)
    module: ClassVar[str] = "anthropic"
    vendor_address: ClassVar[str] = "https://api.anthropic.com"
    own_keys: ClassVar[frozenset[str]] = frozenset(
        {"model", "messages", "system", "stream", "max_tokens", "temperature", "top_p"}
    )

    uploaded_weight: ClassVar[float] = 0.0

    kind: Literal["anthropic"] = "anthropic"
    api_key_env: VariableName = "ANTHROPIC_API_KEY"
    """The environment variable that holds the key."""
    max_tokens: int = Field(default=1024, ge=1, le=MOST_TOKENS)
    """The longest reply in tokens, reasoning included."""
    max_pages: int | None = Field(default=100, ge=1, le=1_000_000)
    """Pages of PDFs in one request; no limit if null."""
    max_images: int | None = Field(default=100, ge=1, le=1_000_000)
    """Images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=32, gt=0, le=1_000_000)
    """Megabytes (10^6 bytes) of one request, where a file that is sent inline takes four thirds of its size
    and one that was uploaded takes nothing; no limit if null."""

    async def ask(self, prompt: Prompt, held: dict[str, Held], key: str) -> Reply:
        """One request to `/v1/messages`."""
        request = self._request(prompt, held)
        client, clock = self._client(key), Clock()
        if not self.stream:
            message = await client.messages.create(**request)
            refuse_error(part(message, "error"))
            return _to_reply(message, clock)
        async with client.messages.stream(**request) as events:
            complete = False
            async for event in events:
                if event.type == "content_block_delta":
                    clock.token()
                complete = complete or event.type == "message_stop"
            if not complete:
                raise ConnectionError("the stream ended early")
            return _to_reply(await events.get_final_message(), clock)

    def _request(self, prompt: Prompt, held: dict[str, Held]) -> dict[str, Any]:
        """The body, as the SDK takes it."""
        messages = [
            {"role": message.role, "content": _content(message, held)}
            for message in prompt.messages
            if message.role != "system"
        ]
        # the SDK has no argument for these any more: newer models take neither, the paper's do
        sampling = {"temperature": self.temperature, "top_p": self.top_p}
        given = {name: value for name, value in sampling.items() if value is not None}
        system = system_text(prompt)
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": messages,
            **({"system": system} if system else {}),
            "extra_body": {**given, **resolved(self.options)},
        }

    async def upload(self, file: Attachment, key: str) -> Held:
        """Have Anthropic keep a file for a day."""
        kept = await self._client(key).files.upload(
            file=(file.document, file_bytes(file), PDF), expires_in_seconds=KEEP_SECONDS
        )
        ends = kept.expires_at
        return Held(kept.id, ends.timestamp() if ends else time.time() + KEEP_SECONDS)

    def fault(self, error: Exception) -> Fault:
        """What Anthropic's SDK raised."""
        import anthropic

        if isinstance(error, FailedResponseError):
            return Fault(str(error), error.status or _STATUS.get(error.code), error.code)
        if not isinstance(error, anthropic.APIStatusError):
            return Fault(str(error))
        told = error.body.get("error") if isinstance(error.body, dict) else None
        told = told if isinstance(told, dict) else {}
        code = str(told.get("type") or "")
        status = error.status_code if error.status_code != 200 else _STATUS.get(code)
        return Fault(
            str(told.get("message") or error.message), status, code or "error", error.response.headers
        )

    def _client(self, key: str) -> AsyncAnthropic:
        """The SDK's client, made once an event loop."""
        return _client(self.address, key, self.request_timeout, asyncio.get_running_loop())


@lru_cache(maxsize=8)
def _client(address: str, key: str, timeout: float, scope: object) -> AsyncAnthropic:
    """A client of the SDK; the scope is its event loop."""
    import httpx2
    from anthropic import AsyncAnthropic

    # the paper's models are old, and a run is to say so once: in its config
    warnings.filterwarnings("ignore", r"The model '.*' is deprecated", DeprecationWarning)
    return AsyncAnthropic(
        api_key=key,
        base_url=address,
        timeout=timeout,
        max_retries=0,
        default_headers=ONE_ANSWER,
        http_client=async_client(httpx2),
    )


def _content(message: Message, held: dict[str, Held]) -> Any:
    """Documents, then images, then the text."""
    if not message.files and not message.images:
        return message.text
    documents = [
        {"type": "document", "source": _source(file, held.get(file.sha256)), "title": file.document}
        for file in message.files
    ]
    images = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image_type(path), "data": as_base64(path)},
        }
        for path in message.images
    ]
    return [*documents, *images, {"type": "text", "text": message.text}]


def _source(file: Attachment, held: Held | None) -> dict[str, str]:
    """The file itself, or its id."""
    if held is not None:
        return {"type": "file", "file_id": held.reference}
    return {"type": "base64", "media_type": PDF, "data": as_base64(file)}


def _to_reply(message: Any, clock: Clock) -> Reply:
    """The noun. `stop_details` says more of a refusal where the model does."""
    refusal = None
    if message.stop_reason == "refusal":
        category = part(message, "stop_details", "category")
        refusal = f"refusal: {category}" if category else "refusal"
    return Reply(
        text="".join(block.text for block in message.content if block.type == "text"),
        reasoning="\n".join(block.thinking for block in message.content if block.type == "thinking"),
        stop_reason=message.stop_reason,
        refusal=refusal,
        model=message.model,
        usage=_usage(message.usage),
        first_token=clock.first,
        latency=clock.last,
    )


def _usage(usage: Any) -> Usage:
    """Anthropic counts what was read from its cache and written to it apart from the rest of the prompt."""
    cached, written = tokens(usage, "cache_read_input_tokens"), tokens(usage, "cache_creation_input_tokens")
    return Usage(
        prompt_tokens=total(tokens(usage, "input_tokens"), cached, written),
        completion_tokens=tokens(usage, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=tokens(usage, "output_tokens_details", "thinking_tokens"),
    )
