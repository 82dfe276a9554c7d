"""What goes wrong with which request: a rule is one line of text.

    FAULT[=VALUE][@WHERE][*TIMES]

    reset                   every answer breaks off in its middle
    429=0.5@1-10            the first ten requests are refused, and told to come back after half a second
    hang@%100               every hundredth request gets no answer
    status=503@tower*2      a question with the word "tower" is answered the third time

`WHERE` is the number of a request (from 1), a range of them, `%N` for every Nth, or a word of the question;
without it the rule is for every request. `TIMES` counts for each question by itself. The first rule that fits
a request is the one that is played.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fathoms.errors import UsageError
from tests.support.fault_server.wire import Request, Response, Saying, encoded, say, stream

_RULE = re.compile(
    r"(?P<fault>[a-z0-9-]+)(=(?P<value>[0-9.]+))?(@(?P<where>[^*]+))?(\*(?P<times>[0-9]+))?", re.S
)
_NUMBERS = re.compile(r"(?P<first>[0-9]+)(-(?P<last>[0-9]+))?")
_PAGE = b"<html><body><h1>Welcome to the proxy</h1></body></html>"

CONNECTION = {
    "latency": (1.0, "the answer comes VALUE seconds later"),
    "hang": (None, "no answer ever comes"),
    "stall": (None, "silence after the first half of the answer"),
    "drip": (0.05, "the body comes byte by byte, one every VALUE seconds"),
    "reset": (None, "the connection is reset in the middle of the body"),
    "cut": (None, "the connection is closed in the middle of the body"),
    "drop": (None, "the connection is closed without an answer"),
    "close": (None, "a good answer, and the connection is closed without a word about it"),
    "restart": (0.5, "every connection is reset, and for VALUE seconds nobody listens"),
}
"""What happens to a connection: the value where none is given, and a sentence."""

ANSWERS = {
    "429": (None, "too many requests; with VALUE also Retry-After, in seconds"),
    "429-ms": (200.0, "the same with retry-after-ms, in milliseconds"),
    "status": (500.0, "the status VALUE, and a sentence"),
    "echo": (401.0, "the status VALUE, and everything that was sent, headers too, as text"),
    "error": (None, "status 200 and an error in the JSON, of a stream after the first piece"),
    "html": (None, "status 200 and a page for people"),
    "empty": (None, "status 200 and no body"),
    "truncated": (None, "JSON that ends in its middle, though nothing broke off"),
    "blank": (None, "an answer of no words"),
    "null": (None, "null in the place of the answer"),
    "number": (None, "a number in the place of the answer"),
    "usage": (None, "a text in the place of the counts of tokens"),
    "choices": (None, "an answer in which nothing is said"),
    "large": (10e6, "an answer of VALUE bytes"),
    "utf8": (None, "an answer with a byte that is not UTF-8"),
}
"""What is answered instead, as above."""

FAULTS = {**CONNECTION, **ANSWERS}


@dataclass(frozen=True)
class Rule:
    """One fault, and the requests that it is for."""

    fault: str
    value: float | None = None
    first: int = 1
    last: int | None = None
    every: int = 1
    word: str = ""
    times: int | None = None

    def fits(self, number: int, question: str, before: int) -> bool:
        """Whether it is for a request: its number, its question, and how often that was asked before."""
        in_range = self.first <= number and (self.last is None or number <= self.last)
        in_time = self.times is None or before < self.times
        return in_range and in_time and number % self.every == 0 and self.word in question


def rule(text: str) -> Rule:
    """A rule of its text; raises UsageError."""
    found = _RULE.fullmatch(text)
    if found is None or found["fault"] not in FAULTS:
        raise UsageError(f"'{text}' is no rule: want FAULT[=VALUE][@WHERE][*TIMES], FAULT one of {_names()}")
    value, _ = FAULTS[found["fault"]]
    times = None if found["times"] is None else int(found["times"])
    one_rule = Rule(found["fault"], float(found["value"]) if found["value"] else value, times=times)
    where = found["where"] or ""
    return Rule(**{**vars(one_rule), **_place(where)})


def _names() -> str:
    """All faults."""
    return ", ".join(FAULTS)


def _place(where: str) -> dict[str, object]:
    """The fields of a rule that say which requests it is for."""
    if numbers := _NUMBERS.fullmatch(where):
        first = int(numbers["first"])
        return {"first": first, "last": int(numbers["last"] or first)}
    if re.fullmatch("%[1-9][0-9]*", where):
        return {"every": int(where[1:])}
    return {"word": where}


def respond(request: Request, text: str, played: Rule | None) -> Response:
    """The answer `text`, or what a rule puts in its place."""
    if played is None or played.fault in CONNECTION:
        return say(request, Saying(text))
    if played.fault in _SAYINGS:
        return say(request, _SAYINGS[played.fault](text, played.value))
    return _RESPONSES[played.fault](request, text, played.value)


def _long(text: str, size: int) -> str:
    """The text, and words after it."""
    return (text + " and so on" * (size // 10 + 1))[:size]


_SAYINGS: dict[str, Callable[[str, float | None], Saying]] = {
    "blank": lambda text, value: Saying(""),
    "null": lambda text, value: Saying(None),
    "number": lambda text, value: Saying(42),
    "usage": lambda text, value: Saying(text, tokens="many"),
    "choices": lambda text, value: Saying(text, choices=False),
    "large": lambda text, value: Saying(_long(text, int(value or 0))),
    "utf8": lambda text, value: Saying(f"{text} \udcff"),
}


def _status(request: Request, text: str, value: float | None) -> Response:
    return _refusal(int(value or 500), "it does not work today")


def _too_many(request: Request, text: str, value: float | None) -> Response:
    headers = {} if value is None else {"Retry-After": f"{value:g}"}
    return _refusal(429, "too many requests", headers)


def _too_many_ms(request: Request, text: str, value: float | None) -> Response:
    return _refusal(429, "too many requests", {"retry-after-ms": f"{value:g}"})


def _echo(request: Request, text: str, value: float | None) -> Response:
    sent = f"refused was: {request.head} {encoded(request.body).decode()}"
    return Response((sent.encode(),), "text/plain", int(value or 401))


def _error(request: Request, text: str, value: float | None) -> Response:
    reported = encoded({"error": {"message": "the model ran out of memory", "code": 500}})
    if not request.streams:
        return Response((reported,))
    first, *_ = say(request, Saying(text)).parts
    end = reported + b"\n" if first.startswith(b"{") else stream([reported]).parts[0]
    return Response((first, end), say(request, Saying(text)).content_type, chunked=True)


def _truncated(request: Request, text: str, value: float | None) -> Response:
    whole = say(request, Saying(text))
    body = b"".join(whole.parts)
    return Response((body[: len(body) // 2],), whole.content_type, chunked=whole.chunked)


def _refusal(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """An error in OpenAI's words."""
    reported = encoded({"error": {"message": message, "type": "scripted", "code": status}})
    return Response((reported,), status=status, headers=headers or {})


_RESPONSES: dict[str, Callable[[Request, str, float | None], Response]] = {
    "429": _too_many,
    "429-ms": _too_many_ms,
    "status": _status,
    "echo": _echo,
    "error": _error,
    "html": lambda asked, text, value: Response((_PAGE,), "text/html"),
    "empty": lambda asked, text, value: Response(()),
    "truncated": _truncated,
}
