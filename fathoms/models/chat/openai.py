"""Models of OpenAI, called with its own SDK. PDFs are sent inline or by the id of an upload."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fathoms.models.chat import openai_responses
from fathoms.models.chat.closed import KEEP_SECONDS, ONE_ANSWER, Clock, Closed, Upload, part, tokens
from fathoms.models.chat.closed_errors import FAILED_FINISH, FailedResponseError, Fault, refuse_error
from fathoms.models.chat.completion import chat_messages
from fathoms.models.chat.forms import response_format
from fathoms.models.chat.image_tokens import openai_image_tokens
from fathoms.models.chat.media import PDF, file_bytes, file_name
from fathoms.models.options import VariableName, resolved
from fathoms.models.protocols import ImageLimits
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.safety.transport import async_client
from fathoms.types import Attachment, Prompt, Reply, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_STATUS = {"rate_limit_exceeded": 429, "server_error": 500}
"""The HTTP status that corresponds to an error code in a stream or response with status 200."""


class OpenAILLM(Closed):
    """`kind: openai`: a model of OpenAI. For other servers with the same API, use `kind:
    openai-compatible`."""

    packages: ClassVar[tuple[str, ...]] = ("openai",)
    module: ClassVar[str] = "openai"
    vendor_address: ClassVar[str] = "https://api.openai.com/v1"
    own_keys: ClassVar[frozenset[str]] = frozenset(
        {
            "model",
            "messages",
            "input",
            "stream",
            "stream_options",
            "max_completion_tokens",
            "max_output_tokens",
            "temperature",
            "top_p",
            "seed",
        }
    )

    kind: Literal["openai"] = "openai"
    api: Literal["chat", "responses"] = "chat"
    """`chat` uses the Chat Completions API, `responses` the newer Responses API. Responses are not stored at
    OpenAI unless `options` contains `store: true`."""
    api_key_env: VariableName = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    max_tokens: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens, including reasoning; the limit of the model if not given. Chat
    Completions receive it as `max_completion_tokens`, because reasoning models reject `max_tokens`."""
    seed: int | None = None
    """Random seed of the sampling. OpenAI makes only a best effort to reproduce a reply. Chat Completions
    only."""
    max_images: int | None = Field(default=500, ge=1, le=1_000_000)
    """Maximum number of images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=50, gt=0, le=1_000_000)
    """Maximum size of one request in megabytes (10^6 bytes); no limit if null. A file that is sent inline
    counts 4/3 of its size, because it is encoded in base64."""

    @model_validator(mode="after")
    def _has_a_seed(self) -> OpenAILLM:
        if self.api == "responses" and self.seed is not None:
            raise ValueError("the Responses API takes no 'seed'")
        return self

    @property
    def image_limits(self) -> ImageLimits:
        """The limit of an image in OpenAI's documentation: 20 MB. Sides are scaled down by the server."""
        return ImageLimits(size=20_000_000)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the tokens of an image by the vendor's formula."""
        return openai_image_tokens(self.model, width, height)

    async def ask(self, prompt: Prompt, uploads: dict[str, Upload], key: str) -> Reply:
        """Send one request to `/chat/completions` or `/responses`."""
        client = self.client(key)
        uploaded = {sha256: file.reference for sha256, file in uploads.items()}
        common = {"temperature": self.temperature, "top_p": self.top_p, "extra_body": resolved(self.options)}
        if self.api == "responses":
            request = {
                **openai_responses.request(prompt, uploaded),
                **common,
                "max_output_tokens": self.max_tokens,
            }
            return await openai_responses.ask(client, {"model": self.model, **_given(request)}, self.stream)
        request = {
            "messages": chat_messages(prompt.messages, uploaded),
            **common,
            "max_completion_tokens": self.max_tokens,
            "seed": self.seed,
            **response_format(prompt.form),
        }
        return await _ask_chat(client, {"model": self.model, **_given(request)}, self.stream)

    async def upload(self, file: Attachment, key: str) -> Upload:
        """Upload a file to OpenAI, which keeps it for 24 hours."""
        uploaded = await self.client(key).files.create(
            file=(file_name(file), file_bytes(file), PDF),
            purpose="user_data",
            expires_after={"anchor": "created_at", "seconds": KEEP_SECONDS},
        )
        return Upload(uploaded.id, uploaded.expires_at or time.time() + KEEP_SECONDS)

    def fault(self, error: Exception) -> Fault:
        """Extract status, code and message from an exception of OpenAI's SDK."""
        import openai

        if isinstance(error, FailedResponseError):
            return Fault(str(error), error.status or _STATUS.get(error.code), error.code)
        if isinstance(error, openai.APIConnectionError) or not isinstance(error, openai.APIError):
            return Fault(str(error))
        code = str(error.code or error.type or "error")
        if not isinstance(error, openai.APIStatusError):  # within a stream
            return Fault(error.message, _STATUS.get(code), code)
        message = error.body.get("message") if isinstance(error.body, Mapping) else None
        return Fault(str(message or error.message), error.status_code, code, error.response.headers)

    @staticmethod
    def connect(address: str, key: str, timeout: float) -> AsyncOpenAI:
        """Create a client of the SDK; `timeout` is in seconds."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=key,
            base_url=address,
            timeout=timeout,
            max_retries=0,
            default_headers=ONE_ANSWER,
            http_client=async_client(),
        )


def _given(request: dict[str, Any]) -> dict[str, Any]:
    """Drop the options that are not set, for which the vendor's defaults apply."""
    return {name: value for name, value in request.items() if value is not None}


async def _ask_chat(client: AsyncOpenAI, request: dict[str, Any], stream: bool) -> Reply:
    """Ask for one chat completion, streamed or whole, and return it as a reply."""
    clock = Clock()
    if not stream:
        answer = await client.chat.completions.create(**request)
        _refuse_errors(answer)
        choice = answer.choices[0]
        said, refused = choice.message.content, choice.message.refusal
        return _to_reply(
            said or "", refused or "", _reasoning(choice.message), choice.finish_reason, answer, clock
        )
    return await _streamed(client, request, clock)


async def _streamed(client: AsyncOpenAI, request: dict[str, Any], clock: Clock) -> Reply:
    """Request one chat completion as a stream; its last chunk has the usage and no choices."""
    text, refused, reasoning = "", "", ""
    stop, last = None, None
    request = {**request, "stream": True, "stream_options": {"include_usage": True}}
    async with await client.chat.completions.create(**request) as chunks:
        async for chunk in chunks:
            last = chunk
            _refuse_errors(chunk)
            for choice in chunk.choices:
                said, thought = choice.delta.content or "", _reasoning(choice.delta)
                text, reasoning = text + said, reasoning + thought
                refused += choice.delta.refusal or ""
                stop = choice.finish_reason or stop
                if said or thought or choice.delta.refusal:
                    clock.token()
    if stop is None:
        raise ConnectionError("the stream ended early")
    return _to_reply(text, refused, reasoning, stop, last, clock)


def _refuse_errors(answer: Any) -> None:
    """Raise FailedResponseError if an answer with status 200 reports an error. Servers report it beside the
    choices, in a choice, or as the `finish_reason` of a choice."""
    refuse_error(part(answer, "error"))
    for choice in answer.choices or ():
        refuse_error(part(choice, "error"))
        if (reason := choice.finish_reason) in FAILED_FINISH:
            message = f"the answer ended with finish_reason {reason!r}"
            raise FailedResponseError("error", message)


def _reasoning(message: Any) -> str:
    """Return the reasoning, which OpenAI does not show in chat completions but other servers of its API
    do."""
    return part(message, "reasoning_content") or ""


def _to_reply(text: str, refused: str, reasoning: str, stop: str | None, last: Any, clock: Clock) -> Reply:
    """Make the reply. If the model refused, the text of the refusal is the text of the reply."""
    filtered = "content_filter" if stop == "content_filter" else None
    usage = last.usage
    return Reply(
        text=text or refused,
        reasoning=reasoning,
        stop_reason=stop,
        refusal="refusal" if refused else filtered,
        model=last.model,
        usage=Usage(
            prompt_tokens=tokens(usage, "prompt_tokens"),
            completion_tokens=tokens(usage, "completion_tokens"),
            cached_tokens=tokens(usage, "prompt_tokens_details", "cached_tokens"),
            cache_write_tokens=tokens(usage, "prompt_tokens_details", "cache_write_tokens"),
            reasoning_tokens=tokens(usage, "completion_tokens_details", "reasoning_tokens"),
        ),
        first_token=clock.first,
        latency=clock.last,
    )
