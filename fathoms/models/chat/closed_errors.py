"""What a vendor's API says instead of a reply: one tree of errors for all of them, and no secret in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fathoms.errors import ModelError, NoAnswerError, PromptTooLongError, RateLimitError
from fathoms.models.calling.lane import seconds_asked
from fathoms.safety.masking import HIDDEN, mask_of
from fathoms.safety.transport import tls_failure

_LONGEST_QUOTE, _LONGEST_WORD = 300, 200
_OVERLOADED = {429, 529}  # 529 is Anthropic's
_NEVER_FITS = "request too large"  # OpenAI's 429 for a request above the limit of a whole minute
_NO_CREDIT = "insufficient_quota"  # OpenAI's 429 that no waiting ends
_TOO_LONG = re.compile(
    r"prompt is too long|context_length_exceeded|context (length|limit|size|window)|string_above_max_length"
    r"|token count .{0,40}exceeds|payload size exceeds|maximum of \d+ pdf pages",
    re.I,
)
_KEY_REFUSED = re.compile(r"api key not valid|API_KEY_INVALID", re.I)  # Google's, with status 400
_FILTER_CODES = {"content_filter", "content_policy_violation", "invalid_prompt", "bio_policy"}
_FILTER_SENTENCES = re.compile(
    r"(output|input|prompt|response|content) (was |has been )?(blocked|flagged|filtered) (by|as)\b"
    r"|violat\w{1,20} .{0,40}(usage|content) polic",
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
"""What `finish_reason` says of an answer that the server could not make (OpenRouter, vLLM)."""
_DATA = re.compile(r"[\w+/=-]{100,}")


@dataclass(frozen=True)
class Fault:
    """What an exception of an SDK says: HTTP status, message, and the vendor's own `code` (type, reason).

    There is no code where the vendor said nothing, and no status for most errors within a stream.
    """

    message: str
    status: int | None = None
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def words(self) -> str:
        """Code and message, to look for what is meant."""
        return f"{self.code} {self.message}"


@dataclass(frozen=True)
class Sender:
    """Who asked: the address, the variable of the key, the key itself and others (never shown), and for how
    many seconds silence is borne."""

    address: str
    variable: str | None
    key: str = field(repr=False)
    timeout: float | None
    others: tuple[str, ...] = field(default=(), repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may hold."""
        return (self.key, *self.others)

    def masked(self, text: str) -> str:
        """A text without them. What is half of a character (a lone surrogate) becomes a question mark, for
        it could not be written to a file."""
        return without_halves(mask_of(frozenset(self.secrets)).text(text))

    def word(self, value: Any) -> str | None:
        """A short text that the server says, such as the name of a model; None for anything else."""
        return self.masked(value)[:_LONGEST_WORD] if isinstance(value, str) else None

    @property
    def advice(self) -> str:
        """What to do where the key is refused."""
        if self.variable is None:
            return "name the environment variable that holds it in api_key_env"
        return f"set the environment variable {self.variable} to the right one"


class FailedResponseError(Exception):
    """A response that the server ended with an error of its own."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def refuse_error(told: Any) -> None:
    """Raise FailedResponseError for what a server tells under `error`: an object or a text, if anything."""
    if not told:
        return
    found = told if isinstance(told, dict) else getattr(told, "__dict__", {"message": told})
    code = found.get("code") or found.get("type")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    words = found.get("message") or "an error without a message"
    named = str(code) if isinstance(code, str | int) else "error"
    raise FailedResponseError(named, words if isinstance(words, str) else repr(words)[:1000], status)


def without_halves(text: str) -> str:
    """A text whose surrogates are joined where two of them make a character; others become U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def failed_finish(choice: Any, sender: Sender) -> ModelError | None:
    """The error where a choice of a chat completion says that it failed: by an `error` of its own, as
    gateways send it, or by its `finish_reason`. None where it does not."""
    told = choice.get("error")
    if told:
        return reported_error({"error": told}, sender)
    if (reason := choice.get("finish_reason")) in FAILED_FINISH:
        return ModelError(f"{sender.address} ends the answer with finish_reason {reason!r}, and no answer")
    return None


def refusal_in(fault: Fault) -> str | None:
    """The word for a refusal that comes as an error, `None` where it is an error of another sort."""
    if not fault.code or fault.status not in (None, 400, 422):
        return None
    if named := _FILTER_CODES & set(fault.code.split()):
        return min(named)
    return "content filter" if _FILTER_SENTENCES.search(fault.message) else None


def is_file_gone(fault: Fault) -> bool:
    """Whether the vendor no longer has a file that was uploaded before."""
    return fault.status in (400, 403, 404, 410) and _FILE_GONE.search(fault.words) is not None


def as_error(error: Exception, fault: Fault, sender: Sender) -> ModelError:
    """The error of our tree."""
    if fault.status is None and not fault.code:
        return _without_answer(error, sender)
    quote = quoted(fault.message, *sender.secrets)
    told = f"{sender.address} answers {fault.status or 'in the middle of the stream'}: {quote}"
    if fault.status == 401 or _KEY_REFUSED.search(fault.words):
        return ModelError(f"{sender.address} refuses the key: {sender.advice}", status=fault.status)
    if fault.status == 403 and sender.variable is not None:
        return ModelError(f"{told} (the key is that of {sender.variable})", status=403)
    if _is_too_long(fault):
        return PromptTooLongError(told, status=fault.status)
    wait = seconds_asked(fault.headers)
    wait = fault.retry_after if wait is None else wait
    if fault.status in _OVERLOADED and _NO_CREDIT not in fault.words:
        return RateLimitError(told, status=fault.status, retry_after=wait)
    return ModelError(told, status=fault.status, retry_after=wait)


def reported_error(
    value: dict[str, Any],
    sender: Sender,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ModelError:
    """The error for a JSON object in which a server tells of one: as an object or a text under `error`, or
    in the object itself. `status` is None where the status of the answer was 200."""
    inner = value.get("error") or value
    told = inner if isinstance(inner, dict) else {"message": inner}
    message = told.get("message") or told.get("detail") or inner
    if isinstance(needed := told.get("n_prompt_tokens"), int):  # llama.cpp's
        window = told.get("n_ctx")
        return PromptTooLongError(
            f"{sender.address}: the prompt takes {needed} tokens and the context holds"
            f" {window if isinstance(window, int) else 'fewer'}: raise n_ctx or retrieve less",
            status=status,
        )
    named = (told.get(name) for name in ("code", "type"))
    code = " ".join(str(name) for name in named if name and isinstance(name, str | int))
    meant = told.get("code")  # gateways put the status of the server behind them here
    if status is None and isinstance(meant, int) and 400 <= meant < 600:
        status = meant
    words = message if isinstance(message, str) else _as_json(message)
    fault = Fault(message=words, status=status, code=code or "error", headers=headers or {})
    return as_error(ModelError(words), fault, sender)


def _as_json(value: Any) -> str:
    """A value in words; one that is nested too deep has none."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "an error that cannot be shown"


def _is_too_long(fault: Fault) -> bool:
    """Whether the words say that there is too much in the request."""
    if fault.status in _OVERLOADED:
        return _NEVER_FITS in fault.message.lower()
    named = _TOO_LONG.search(fault.words) is not None
    return fault.status == 413 or (named and (fault.status is None or fault.status < 500))


def _without_answer(error: Exception, sender: Sender) -> ModelError:
    """What happened where no status came."""
    names = {kind.__name__ for kind in type(error).__mro__}
    told = type(error.__cause__ or error).__name__
    if untrusted := tls_failure(error, sender.address):
        return ModelError(f"{sender.address}: {untrusted}")
    if refused := ours(error):
        return type(refused)(f"{sender.address}: {refused}")
    if names & _TIMED_OUT:
        silence = f"says nothing for {sender.timeout:g} seconds ({told}): raise generate.request_timeout?"
        return NoAnswerError(f"{sender.address} {silence}")
    if names & _BROKEN_OFF:
        return NoAnswerError(f"{sender.address}: no connection, or it broke off ({told})")
    text = quoted(str(error), *sender.secrets)
    other = f"answers with something that is no reply of its API ({type(error).__name__}: {text})"
    return ModelError(f"{sender.address} {other}")


def ours(error: BaseException | None) -> ModelError | None:
    """The error of `transport` that an SDK has put into one of its own; None where there is none."""
    while error is not None:
        if isinstance(error, ModelError):
            return error
        error = error.__cause__ or error.__context__
    return None


def quoted(text: str, *secrets: str) -> str:
    """A server's words in one line: short, without secrets and without base64. Vendors repeat a refused key
    with its middle masked: such a word is left out whole."""
    words = mask_of(frozenset(secrets)).text(text).split()
    text = _DATA.sub("...", " ".join(HIDDEN if HIDDEN in word else word for word in words))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."
