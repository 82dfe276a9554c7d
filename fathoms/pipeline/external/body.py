"""What a service sends back: whole, or in pieces as events; never more than it may be, and UTF-8."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.wire import DONE
from fathoms.safety.masking import Mask

if TYPE_CHECKING:
    import httpx


async def pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The bytes as they come; raises ModelError where they are not UTF-8. The client limits how many."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        async for piece in response.aiter_bytes():
            decoder.decode(piece)
            yield piece
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise ModelError(f"its answer is not valid UTF-8: {error.reason} at byte {error.start}") from error


async def whole(response: httpx.Response) -> str:
    """The text of an answer that comes at once."""
    async with aclosing(pieces(response)) as parts:
        return b"".join([piece async for piece in parts]).decode("utf-8-sig")


def parsed(text: str, mask: Mask) -> Any:
    """JSON without secrets; raises ModelError with the beginning of what it is instead."""
    try:
        return mask.inside(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        what = f"not JSON but {beginning(text, mask)!r}" if text.strip() else "empty"
        raise ModelError(f"its answer is {what}") from error


def _refuse(constant: str) -> None:
    """NaN and infinities are no JSON."""
    raise ValueError(constant)


def beginning(text: str, mask: Mask) -> str:
    """The first words of a text on one line, no secret among them, nor the half of one."""
    return " ".join(mask.text(text)[:1000].split())[:300]


async def events(response: httpx.Response, mask: Mask) -> AsyncGenerator[str, None]:
    """The events of a stream: server-sent ones, or lines where the service sends something else.

    The last is `[DONE]` where that is sent. Raises ModelError for an event of the name `error`, and where
    nobody could tell a whole stream from one that broke off.
    """
    if response.headers.get("Content-Type", "").startswith("text/event-stream"):
        found = _server_sent(response, mask)
    else:
        found = _lines(response)
    async with aclosing(found) as texts:
        async for text in texts:
            if text.strip():
                yield text.strip()
            if text.strip() == DONE:
                return
    if not _has_an_end(response):
        raise NoAnswerError(f"its stream ended without {DONE}, and without a length: it may have broken off")


def _has_an_end(response: httpx.Response) -> bool:
    """Whether a connection that broke would have been noticed."""
    framed = "Content-Length" in response.headers or "Transfer-Encoding" in response.headers
    return framed or response.http_version == "HTTP/2"


async def _server_sent(response: httpx.Response, mask: Mask) -> AsyncGenerator[str, None]:
    """The data of server-sent events, by httpx-sse."""
    import httpx
    from httpx_sse import EventSource

    class Checked(httpx.AsyncByteStream):
        """The same bytes, with an end even where the last event has none."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async with aclosing(pieces(response)) as parts:
                async for piece in parts:
                    yield piece
            yield b"\n\n"

    headers = {"Content-Type": "text/event-stream; charset=utf-8"}
    source = EventSource(httpx.Response(200, headers=headers, stream=Checked()))
    async with aclosing(source.aiter_sse()) as found:
        async for event in found:
            if event.event == "error":
                raise ModelError(f"it reports an error: {beginning(event.data, mask)}")
            yield event.data


async def _lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    """The lines of a stream: JSON has no line breaks but those between its values (NDJSON)."""
    held: list[bytes] = []  # the pieces of one line, joined once: it may be long, and the pieces short
    async with aclosing(pieces(response)) as parts:
        async for piece in parts:
            first, *others = piece.split(b"\n")
            held.append(first)
            for line in others:
                yield b"".join(held).decode("utf-8-sig")
                held = [line]
    yield b"".join(held).decode("utf-8-sig")
