"""Reading response bodies of a service, at once or as a stream of events, limited in size and UTF-8 only."""

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
    """Yield the bytes as they arrive; raises ModelError where they are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        async for piece in response.aiter_bytes():
            decoder.decode(piece)
            yield piece
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise ModelError(f"its answer is not valid UTF-8: {error.reason} at byte {error.start}") from error


async def whole(response: httpx.Response) -> str:
    """The text of a response that is not streamed."""
    async with aclosing(pieces(response)) as parts:
        return b"".join([piece async for piece in parts]).decode("utf-8-sig")


def parsed(text: str, mask: Mask) -> Any:
    """Parse JSON and mask secrets in it; raises ModelError with the beginning of anything else."""
    try:
        return mask.inside(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        what = f"not JSON but {beginning(text, mask)!r}" if text.strip() else "empty"
        raise ModelError(f"its answer is {what}") from error


def _refuse(constant: str) -> None:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(constant)


def beginning(text: str, mask: Mask) -> str:
    """The beginning of a text on one line, cut only after its secrets have been masked."""
    return " ".join(mask.text(text)[:1000].split())[:300]


async def events(response: httpx.Response, mask: Mask) -> AsyncGenerator[str, None]:
    """Yield the events of a stream: server-sent events, or lines where the content type is another.

    The last one is `[DONE]` if the service sends it. Raises ModelError for an event named `error`, and where
    a complete stream could not be told from one that broke off.
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
    framed = "Content-Length" in response.headers or "Transfer-Encoding" in response.headers
    if not framed and response.http_version != "HTTP/2":  # a broken connection would not have been noticed
        raise NoAnswerError(f"its stream ended without {DONE}, and without a length: it may have broken off")


async def _server_sent(response: httpx.Response, mask: Mask) -> AsyncGenerator[str, None]:
    """The data of server-sent events, parsed by httpx-sse."""
    import httpx
    from httpx_sse import EventSource

    class Checked(httpx.AsyncByteStream):
        """The same bytes with a final empty line, so that a last event without one is parsed too."""

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
    """The lines of a stream of JSON values, one per line (NDJSON)."""
    of_line: list[bytes] = []  # pieces of one line; joining them only once avoids quadratic time
    async with aclosing(pieces(response)) as parts:
        async for piece in parts:
            first, *others = piece.split(b"\n")
            of_line.append(first)
            for line in others:
                yield b"".join(of_line).decode("utf-8-sig")
                of_line = [line]
    yield b"".join(of_line).decode("utf-8-sig")
