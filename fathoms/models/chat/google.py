"""Gemini models, called with Google's SDK (Gemini API). PDFs are sent inline or uploaded to the Files API."""

from __future__ import annotations

import asyncio
import io
import re
import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, ValidationError

from fathoms.errors import ConfigError, ModelError
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
from fathoms.models.chat.closed_errors import Fault
from fathoms.models.chat.forms import schema_of
from fathoms.models.chat.image_tokens import gemini_image_tokens
from fathoms.models.chat.media import PDF, file_bytes, image_type
from fathoms.models.options import VariableName, resolved
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.safety.transport import async_client
from fathoms.types import Attachment, FilePart, Form, ImagePart, Message, Prompt, Reply, TextPart, Usage

if TYPE_CHECKING:
    from google.genai import Client, types

_REFUSALS = {
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
}
"""Finish reasons that mean that a content filter stopped the answer."""
_FAILED = {"OTHER", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
"""Finish reasons that mean that the answer failed. If there is some text already, it is kept as the reply."""
_POLL_SECONDS = 0.5
_DELAY = re.compile(r"([\d.]+)s")


class GoogleLLM(Closed):
    """`kind: google`: a Gemini model, called through Google's Gemini API (not Vertex AI)."""

    packages: ClassVar[tuple[str, ...]] = ("google-genai",)
    module: ClassVar[str] = "google.genai"
    vendor_address: ClassVar[str] = "https://generativelanguage.googleapis.com"
    own_keys: ClassVar[frozenset[str]] = frozenset(
        {"system_instruction", "max_output_tokens", "temperature", "top_p", "seed", "http_options", "tools"}
    )

    page_tokens: ClassVar[int] = 258  # from Google's documentation

    kind: Literal["google"] = "google"
    api_key_env: VariableName = "GEMINI_API_KEY"
    """The environment variable that holds the key."""
    max_tokens: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens, including reasoning; the limit of the model if not given."""
    seed: int | None = None
    """Random seed of the sampling. Google makes only a best effort to reproduce a reply."""
    max_pages: int | None = Field(default=1000, ge=1, le=1_000_000)
    """Maximum number of PDF pages in one request; no limit if null."""
    max_images: int | None = Field(default=3000, ge=1, le=1_000_000)
    """Maximum number of images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=50, gt=0, le=1_000_000)
    """Maximum size of one request in megabytes (10^6 bytes); no limit if null. A file that is sent inline
    counts 4/3 of its size, because it is encoded in base64."""

    def image_tokens(self, width: int, height: int) -> int:
        """Return the tokens of an image by the vendor's formula."""
        return gemini_image_tokens(self.model, width, height, self.options.get("media_resolution"))

    def check(self) -> None:
        """Check SDK and key, and validate `options` with the SDK's `GenerateContentConfig`.

        Raises MissingExtraError or ConfigError.
        """
        super().check()
        self._config("")

    async def ask(self, prompt: Prompt, uploads: dict[str, Upload], key: str) -> Reply:
        """Send one request to `:generateContent` or `:streamGenerateContent`."""
        contents: Any = [
            _content(message, uploads) for message in prompt.messages if message.role != "system"
        ]
        request: dict[str, Any] = {"model": self.model, "contents": contents}
        request["config"] = self._config(system_text(prompt), prompt.form)
        models, clock = self.client(key).aio.models, Clock()
        if not self.stream:
            return _to_reply([await models.generate_content(**request)], clock)
        answers: list[types.GenerateContentResponse] = []
        async for answer in await models.generate_content_stream(**request):
            if any(piece.text for piece in _parts(answer)):
                clock.token()
            answers.append(answer)
        reply = _to_reply(answers, clock)
        if reply.stop_reason is None and reply.refusal is None:
            raise ConnectionError("the stream ended early")
        return reply

    def _config(self, system: str, form: Form | None = None) -> types.GenerateContentConfig:
        """Return the settings of a request; raises ConfigError if the SDK rejects one of the `options`."""
        from google.genai import types

        own = {
            "system_instruction": system or None,
            "max_output_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "automatic_function_calling": {"disable": True},
            "response_mime_type": "application/json" if form else None,
            "response_json_schema": schema_of(form) if form else None,
        }
        given = {name: value for name, value in own.items() if value is not None}
        try:
            return types.GenerateContentConfig.model_validate({**given, **resolved(self.options)})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ConfigError(f"generate.options.{place}: {first['msg']}") from error

    async def upload(self, file: Attachment, key: str) -> Upload:
        """Upload a file to Google, which keeps it for two days, and wait until it is processed."""
        files = self.client(key).aio.files
        uploaded = await files.upload(
            file=io.BytesIO(file_bytes(file)),
            config={"mime_type": PDF, "display_name": file.document},
        )
        ends = time.monotonic() + self.request_timeout
        while (state := part(uploaded, "state", "value")) == "PROCESSING" and time.monotonic() < ends:
            await asyncio.sleep(_POLL_SECONDS)
            uploaded = await files.get(name=uploaded.name or "")
        if state != "ACTIVE" or uploaded.uri is None:
            raise ModelError(
                f"{self.address} did not finish processing '{file.document}' (its state is {state})"
            )
        over = uploaded.expiration_time
        return Upload(uploaded.uri, over.timestamp() if over else time.time() + KEEP_SECONDS)

    def fault(self, error: Exception) -> Fault:
        """Extract status, code and message from an exception of Google's SDK.

        The details in the response body contain the reason and the time to wait.
        """
        from google.genai import errors

        if not isinstance(error, errors.APIError):
            return Fault(str(error))
        body: Any = error.details if isinstance(error.details, dict) else {}
        inner = body["error"] if isinstance(body.get("error"), dict) else body
        details = [item for item in inner.get("details") or () if isinstance(item, dict)]
        reasons = [str(item["reason"]) for item in details if "reason" in item]
        code = " ".join([error.status or "error", *reasons])
        headers = part(error, "response", "headers") or {}
        message = str(error.message or error)
        delays = (_DELAY.fullmatch(str(item.get("retryDelay"))) for item in details)
        wait = next((float(match[1]) for match in delays if match), None)
        return Fault(message, error.code, code, headers, wait)

    @staticmethod
    def connect(address: str, key: str, timeout: float) -> Client:
        """Create a client of the SDK; `timeout` is in seconds."""
        from google.genai import Client, types

        options = types.HttpOptions(
            base_url=address,
            timeout=int(timeout * 1000),
            # with httpx, because the SDK would otherwise use aiohttp if installed, with retries of its own
            httpx_async_client=async_client(headers=ONE_ANSWER),
        )
        return Client(vertexai=False, api_key=key, http_options=options)


def _content(message: Message, uploads: dict[str, Upload]) -> types.Content:
    """Convert a message to content parts, in the order of its parts."""
    from google.genai import types

    parts = [_part(piece, uploads) for piece in message.parts]
    return types.Content(role="model" if message.role == "assistant" else "user", parts=parts)


def _part(piece: TextPart | ImagePart | FilePart, uploads: dict[str, Upload]) -> types.Part:
    """Convert one part of a message. The API accepts no file names."""
    from google.genai import types

    if isinstance(piece, TextPart):
        return types.Part.from_text(text=piece.text)
    if isinstance(piece, ImagePart):
        return types.Part.from_bytes(data=file_bytes(piece.image), mime_type=image_type(piece.image))
    if upload := uploads.get(piece.file.sha256):
        return types.Part.from_uri(file_uri=upload.reference, mime_type=PDF)
    return types.Part.from_bytes(data=file_bytes(piece.file), mime_type=PDF)


def _parts(answer: Any) -> list[types.Part]:
    """Return the content parts of the first candidate."""
    candidates = answer.candidates or ()
    return list(part(candidates[0], "content", "parts") or ()) if candidates else []


def _to_reply(answers: list[Any], clock: Clock) -> Reply:
    """Make the reply from the answers of a stream or from a single answer. Raises ValueError if there is
    neither text nor a reason for a refusal."""
    pieces = [piece for answer in answers for piece in _parts(answer) if piece.text]
    stop = _last(candidate.finish_reason for answer in answers for candidate in answer.candidates or ())
    blocked = _last(part(answer, "prompt_feedback", "block_reason") for answer in answers)
    stop_word = part(stop, "value")
    filtered = stop_word if stop_word in _REFUSALS else None
    if not any(answer.candidates for answer in answers) and blocked is None:
        raise ValueError("no candidate, and no reason for that")
    said = "".join(piece.text or "" for piece in pieces if not piece.thought)
    usage = _last(answer.usage_metadata for answer in answers)
    thoughts = tokens(usage, "thoughts_token_count")
    if stop_word in _FAILED and not said:
        raise ValueError(f"it has no text and ended with finishReason {stop_word}")
    return Reply(
        text=said,
        reasoning="".join(piece.text or "" for piece in pieces if piece.thought),
        stop_reason=stop_word,
        refusal=f"prompt blocked: {blocked.value}" if blocked else filtered,
        model=_last(answer.model_version for answer in answers),
        usage=Usage(
            prompt_tokens=tokens(usage, "prompt_token_count"),
            # Google counts reasoning separately; cached tokens are part of the prompt
            completion_tokens=total(tokens(usage, "candidates_token_count"), thoughts),
            cached_tokens=tokens(usage, "cached_content_token_count"),
            reasoning_tokens=thoughts,
        ),
        first_token=clock.first,
        latency=clock.last,
    )


def _last(values: Any) -> Any:
    """Return the last value that is not `None`, or `None`."""
    return next((value for value in reversed(list(values)) if value is not None), None)
