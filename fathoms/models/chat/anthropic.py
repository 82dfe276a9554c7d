"""Claude models, called with Anthropic's SDK. PDFs are sent inline or by the id of an upload."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.models.chat.closed import (
    KEEP_SECONDS,
    ONE_ANSWER,
    Clock,
    Closed,
    Upload,
    part,
    system_text,
    tokens,
    total,
)
from fathoms.models.chat.closed_errors import FailedResponseError, Fault, refuse_error
from fathoms.models.chat.image_tokens import anthropic_image_tokens
from fathoms.models.chat.media import PDF, as_base64, file_bytes, file_name, image_type
from fathoms.models.options import VariableName, resolved
from fathoms.models.protocols import ImageLimits
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.safety.transport import async_client
from fathoms.types import Attachment, FilePart, ImagePart, Message, Prompt, Reply, TextPart, Usage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_STATUS = {"rate_limit_error": 429, "overloaded_error": 529, "api_error": 500, "timeout_error": 504}
"""The HTTP status that corresponds to an error type in a stream with status 200."""


class AnthropicLLM(Closed):
    """`kind: anthropic`: a Claude model, called through Anthropic's API."""

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
    """Maximum length of a reply in tokens, including reasoning."""
    max_pages: int | None = Field(default=100, ge=1, le=1_000_000)
    """Maximum number of PDF pages in one request; no limit if null."""
    max_images: int | None = Field(default=100, ge=1, le=1_000_000)
    """Maximum number of images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=32, gt=0, le=1_000_000)
    """Maximum size of one request in megabytes (10^6 bytes); no limit if null. A file that is sent inline
    counts 4/3 of its size, because it is encoded in base64; an uploaded file does not count."""

    @property
    def image_limits(self) -> ImageLimits:
        """The limits of an image in Anthropic's documentation, as it was read in November 2026: 8,000 pixels
        on each side, 2,000 in a request with more than 20 images, and 5 MB in base64."""
        return ImageLimits(side=8000, many=20, side_of_many=2000, size=5_000_000)

    def image_tokens(self, width: int, height: int) -> int:
        """Return the tokens of an image by the vendor's formula."""
        return anthropic_image_tokens(self.model, width, height)

    async def ask(self, prompt: Prompt, uploads: dict[str, Upload], key: str) -> Reply:
        """Send one request to `/v1/messages`."""
        request = self._request(prompt, uploads)
        client, clock = self.client(key), Clock()
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

    def _request(self, prompt: Prompt, uploads: dict[str, Upload]) -> dict[str, Any]:
        """Return the arguments of the SDK's call."""
        messages = [
            {"role": message.role, "content": _content(message, uploads)}
            for message in prompt.messages
            if message.role != "system"
        ]
        # the SDK has removed these two arguments, because newer models reject them; the paper's models need
        # them
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

    async def upload(self, file: Attachment, key: str) -> Upload:
        """Upload a file to Anthropic, which keeps it for 24 hours."""
        uploaded = await self.client(key).files.upload(
            file=(file_name(file), file_bytes(file), PDF), expires_in_seconds=KEEP_SECONDS
        )
        ends = uploaded.expires_at
        return Upload(uploaded.id, ends.timestamp() if ends else time.time() + KEEP_SECONDS)

    def fault(self, error: Exception) -> Fault:
        """Extract status, code and message from an exception of Anthropic's SDK."""
        import anthropic

        if isinstance(error, FailedResponseError):
            return Fault(str(error), error.status or _STATUS.get(error.code), error.code)
        if not isinstance(error, anthropic.APIStatusError):
            return Fault(str(error))
        details = error.body.get("error") if isinstance(error.body, dict) else None
        details = details if isinstance(details, dict) else {}
        code = str(details.get("type") or "")
        status = error.status_code if error.status_code != 200 else _STATUS.get(code)
        return Fault(
            str(details.get("message") or error.message), status, code or "error", error.response.headers
        )

    @staticmethod
    def connect(address: str, key: str, timeout: float) -> AsyncAnthropic:
        """Create a client of the SDK; `timeout` is in seconds."""
        import httpx2
        from anthropic import AsyncAnthropic

        # the paper's models are deprecated on purpose; the config names them, so a warning would add nothing
        warnings.filterwarnings("ignore", r"The model '.*' is deprecated", DeprecationWarning)
        return AsyncAnthropic(
            api_key=key,
            base_url=address,
            timeout=timeout,
            max_retries=0,
            default_headers=ONE_ANSWER,
            http_client=async_client(httpx2),
        )


def _content(message: Message, uploads: dict[str, Upload]) -> Any:
    """Convert a message to content blocks in the order of its parts, or to its text if it has only text."""
    if not message.files and not message.images:
        return message.text
    return [_block(piece, uploads) for piece in message.parts]


def _block(piece: TextPart | ImagePart | FilePart, uploads: dict[str, Upload]) -> dict[str, Any]:
    """Convert one part of a message to a content block."""
    if isinstance(piece, TextPart):
        return {"type": "text", "text": piece.text}
    if isinstance(piece, ImagePart):
        data, kind = as_base64(piece.image), image_type(piece.image)
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    if upload := uploads.get(piece.file.sha256):
        source = {"type": "file", "file_id": upload.reference}
    else:
        source = {"type": "base64", "media_type": PDF, "data": as_base64(piece.file)}
    return {"type": "document", "source": source, "title": piece.file.document}


def _to_reply(message: Any, clock: Clock) -> Reply:
    """Make the reply. `stop_details`, if present, has the category of a refusal."""
    usage, refusal = message.usage, None
    # Anthropic's `input_tokens` excludes the tokens that were read from the cache or written to it
    cached, written = tokens(usage, "cache_read_input_tokens"), tokens(usage, "cache_creation_input_tokens")
    if message.stop_reason == "refusal":
        category = part(message, "stop_details", "category")
        refusal = f"refusal: {category}" if category else "refusal"
    return Reply(
        text="".join(block.text for block in message.content if block.type == "text"),
        reasoning="\n".join(block.thinking for block in message.content if block.type == "thinking"),
        stop_reason=message.stop_reason,
        refusal=refusal,
        model=message.model,
        usage=Usage(
            prompt_tokens=total(tokens(usage, "input_tokens"), cached, written),
            completion_tokens=tokens(usage, "output_tokens"),
            cached_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=tokens(usage, "output_tokens_details", "thinking_tokens"),
        ),
        first_token=clock.first,
        latency=clock.last,
    )
