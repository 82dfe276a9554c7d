"""Converts the errors of all model servers to the exceptions of fathoms, with secrets masked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import Any

from fathoms.errors import (
    ContentFilterError,
    ModelError,
    NoAnswerError,
    PromptTooLongError,
    RateLimitError,
)
from fathoms.models.calling.retry_after import retry_after_seconds
from fathoms.safety.masking import HIDDEN, mask_of
from fathoms.safety.transport import tls_failure

_LONGEST_QUOTE, _LONGEST_WORD, _LONGEST_BODY = 300, 200, 1000
_OVERLOADED = {429, 529}  # 529 is Anthropic's own status
_NEVER_FITS = "request too large"  # OpenAI's 429 for one request that exceeds the tokens per minute
_NO_CREDIT = "insufficient_quota"  # OpenAI's 429 for an account without credit, where waiting does not help
_TOO_LONG = re.compile(
    r"prompt is too long|context_length_exceeded|context (length|limit|size|window)|string_above_max_length"
    r"|token count .{0,40}exceeds|payload size exceeds|maximum of \d+ pdf pages",
    re.I,
)
_KEY_REFUSED = re.compile(r"api key not valid|API_KEY_INVALID", re.I)  # Google sends these with status 400
_FILTER_CODES = {"content_filter", "content_policy_violation", "invalid_prompt", "bio_policy"}
_FILTER_SENTENCES = re.compile(
    r"(output|input|prompt|response|content) (was |has been )?(blocked|flagged|filtered) (by|as)\b"
    r"|violat\w{1,20} .{0,40}(usage|content) polic"
    r"|ContentPolicyViolation|content management policy",
    re.I,
)
_FILE_GONE = re.compile(
    r"\bfiles?\b.{0,80}(not found|not exist|expired|deleted)"
    r"|\b(no|missing) (such )?file\b|file_(not_found|expired)",
    re.I | re.S,
)
_TIMED_OUT = {"TimeoutException", "APITimeoutError", "TimeoutError"}
_BROKEN_OFF = {"TransportError", "APIConnectionError", "OSError"}
FAILED_FINISH = ("error", "abort")
"""Values of `finish_reason` that mean that the server failed to make the answer (OpenRouter, vLLM)."""
_DATA = re.compile(r"[\w+/=-]{100,}")


@dataclass(frozen=True)
class Fault:
    """The contents of an SDK's exception: HTTP status, message, and the vendor's own `code` (type, reason).

    `code` is empty if the vendor sent no error. `status` is `None` if no answer came, and for most errors
    within a stream. `retry_after` is the wait in seconds that the vendor asks for, `None` if it does not.
    """

    message: str
    status: int | None = None
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def words(self) -> str:
        """Code and message in one text, in which the patterns of known errors are searched."""
        return f"{self.code} {self.message}"


@dataclass(frozen=True)
class Sender:
    """The caller of a server, for error messages and masking.

    It has the address of the server, the environment variable of the key, the key, the time-out in seconds
    (`None` for none), and `others`, which are further secrets. Key and other secrets are never shown.
    """

    address: str
    variable: str | None
    key: str = field(repr=False)
    timeout: float | None
    others: tuple[str, ...] = field(default=(), repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """All texts that no message may contain."""
        return (self.key, *self.others)

    def masked(self, text: str) -> str:
        """Mask the secrets in a text, and replace lone surrogates, which could not be written to a file."""
        return without_lone_surrogates(mask_of(frozenset(self.secrets)).text(text))

    def word(self, value: Any) -> str | None:
        """Return a short text from the server, such as a model name, masked; `None` if it is no text."""
        return self.masked(value)[:_LONGEST_WORD] if isinstance(value, str) else None

    @property
    def advice(self) -> str:
        """Advice for the user if the key is refused."""
        if self.variable is None:
            return "name the environment variable that holds it in api_key_env"
        return f"set the environment variable {self.variable} to the right one"


class FailedResponseError(Exception):
    """Raised if a response with status 200 reports an error."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def refuse_error(reported: Any) -> None:
    """Raise FailedResponseError for the `error` field of a response (object or text) unless it is empty."""
    if not reported:
        return
    found = reported if isinstance(reported, dict) else getattr(reported, "__dict__", {"message": reported})
    code = found.get("code") or found.get("type")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    words = found.get("message") or "an error without a message"
    named = str(code) if isinstance(code, str | int) else "error"
    raise FailedResponseError(named, words if isinstance(words, str) else repr(words)[:1000], status)


def without_lone_surrogates(text: str) -> str:
    """Join surrogate pairs in a text to characters and replace lone surrogates by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def failed_finish(choice: Any, sender: Sender) -> ModelError | None:
    """Return the error if a choice of a chat completion failed, otherwise `None`.

    A failed choice has its own `error`, as gateways send it, or a `finish_reason` that means failure.
    """
    reported = choice.get("error")
    if reported:
        return reported_error({"error": reported}, sender)
    if (reason := choice.get("finish_reason")) in FAILED_FINISH:
        return ModelError(f"{sender.address} ended the answer with finish_reason {reason!r}")
    return None


def refusal_in(fault: Fault) -> str | None:
    """Return a name for the refusal if the error is one by a content filter; `None` for other errors."""
    if not fault.code or fault.status not in (None, 400, 422):
        return None
    if named := _FILTER_CODES & set(fault.code.split()):
        return min(named)
    return "content filter" if _FILTER_SENTENCES.search(fault.message) else None


def is_file_gone(fault: Fault) -> bool:
    """Return whether the error means that the vendor no longer has an uploaded file."""
    return fault.status in (400, 403, 404, 410) and _FILE_GONE.search(fault.words) is not None


def as_error(error: Exception, fault: Fault, sender: Sender) -> ModelError:
    """Convert an exception of an SDK to a ModelError or one of its kinds, such as RateLimitError."""
    if fault.status is None and not fault.code:
        return _without_answer(error, sender)
    quote = quoted(fault.message, *sender.secrets)
    text = f"{sender.address} answers {fault.status or 'in the middle of the stream'}: {quote}"
    if fault.status == 401 or _KEY_REFUSED.search(fault.words):
        return ModelError(f"{sender.address} refuses the key: {sender.advice}", status=fault.status)
    if fault.status == 403 and sender.variable is not None:
        return ModelError(f"{text} (the key is that of {sender.variable})", status=403)
    if refusal := refusal_in(fault):
        return ContentFilterError(text, refusal, status=fault.status)
    if _is_too_long(fault):
        return PromptTooLongError(text, status=fault.status)
    wait = retry_after_seconds(fault.headers)
    wait = fault.retry_after if wait is None else wait
    if fault.status in _OVERLOADED and _NO_CREDIT not in fault.words:
        return RateLimitError(text, status=fault.status, retry_after=wait)
    return ModelError(text, status=fault.status, retry_after=wait)


def reported_error(
    value: dict[str, Any],
    sender: Sender,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ModelError:
    """Convert a JSON object that reports an error to an exception.

    The error is an object or a text under `error`, or the object itself. `status` is the HTTP status, or
    `None` if it was 200.
    """
    inner = value.get("error") or value
    details = inner if isinstance(inner, dict) else {"message": inner}
    message = details.get("message") or details.get("detail") or inner
    if isinstance(needed := details.get("n_prompt_tokens"), int):  # sent by llama.cpp's server
        window = details.get("n_ctx")
        return PromptTooLongError(
            f"{sender.address}: the prompt takes {needed} tokens and the context holds"
            f" {window if isinstance(window, int) else 'fewer'}: raise n_ctx or retrieve less",
            status=status,
        )
    named = (details.get(name) for name in ("code", "type"))
    code = " ".join(str(name) for name in named if name and isinstance(name, str | int))
    meant = details.get("code")  # gateways report the status of the server behind them here
    if status is None and isinstance(meant, int) and 400 <= meant < 600:
        status = meant
    words = message if isinstance(message, str) else _as_json(message)
    fault = Fault(message=words, status=status, code=code or "error", headers=headers or {})
    return as_error(ModelError(words), fault, sender)


def response_error(body: bytes, sender: Sender, status: int, headers: Mapping[str, str]) -> ModelError:
    """Convert a response whose status is not 200, or the beginning of one, to an exception. Its body may be
    JSON, a text or a web page."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = {"message": sender.masked(text)[:_LONGEST_BODY] or responses.get(status, "nothing")}
    return reported_error(value, sender, status, dict(headers))


def _as_json(value: Any) -> str:
    """Return a value as JSON, or a fixed text if it cannot be encoded."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "an error that cannot be shown"


def _is_too_long(fault: Fault) -> bool:
    """Return whether the error means that the request is too large."""
    if fault.status in _OVERLOADED:
        return _NEVER_FITS in fault.message.lower()
    named = _TOO_LONG.search(fault.words) is not None
    return fault.status == 413 or (named and (fault.status is None or fault.status < 500))


def _without_answer(error: Exception, sender: Sender) -> ModelError:
    """Convert an exception without an HTTP status, such as a time-out or a broken connection."""
    names = {kind.__name__ for kind in type(error).__mro__}
    cause = type(error.__cause__ or error).__name__
    if untrusted := tls_failure(error, sender.address):
        return ModelError(f"{sender.address}: {untrusted}")
    if refused := ours(error):
        return type(refused)(f"{sender.address}: {refused}")
    if names & _TIMED_OUT:
        silence = f"sent nothing for {sender.timeout:g} seconds ({cause}): raise generate.request_timeout"
        return NoAnswerError(f"{sender.address} {silence}")
    if names & _BROKEN_OFF:
        return NoAnswerError(f"{sender.address}: no connection, or it broke off ({cause})")
    text = quoted(str(error), *sender.secrets)
    other = f"sent an answer that does not follow its API ({type(error).__name__}: {text})"
    return ModelError(f"{sender.address} {other}")


def ours(error: BaseException | None) -> ModelError | None:
    """Return the ModelError of fathoms that an SDK has wrapped in its own exception, or `None`."""
    while error is not None:
        if isinstance(error, ModelError):
            return error
        error = error.__cause__ or error.__context__
    return None


def quoted(text: str, *secrets: str) -> str:
    """Return a server's message as a short line without secrets and base64 data.

    Vendors repeat a refused key with its middle masked. A word that contains a masked part is hidden
    completely.
    """
    words = mask_of(frozenset(secrets)).text(text).split()
    text = _DATA.sub("...", " ".join(HIDDEN if HIDDEN in word else word for word in words))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."
