"""A model server that answers by a script and fails by one, on a real socket.

    python -m tests.support.fault_server.server --port 8000 --latency 0.05 --fault "429=1@%50"

It speaks OpenAI's API under `/v1` and Ollama's under `/api`, whole and in pieces, and counts what it is
asked: `GET /stats`. Its rules are those of `faults.py`. Nothing is kept of a prompt but its end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from fathoms.errors import UsageError
from tests.support.fault_server.faults import FAULTS, Rule, respond, rule
from tests.support.fault_server.wire import MODEL, OLLAMA, OPENAI, Request, Response, encoded, listing

ANSWER = "I do not know."
_LONGEST_HEAD = 2**16


class _Connection(NamedTuple):
    """Both ends of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class ScriptedServer:
    """A server on one address. `answers` are texts by a word of the question; the first that fits is said.

    `requests` counts the questions that came, `asked` the same by the end of their prompts; what is asked
    beforehand (models, versions) is in neither.
    """

    def __init__(
        self,
        faults: Sequence[str] = (),
        *,
        answers: Mapping[str, str] | None = None,
        default: str = ANSWER,
        latency: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.rules = [rule(text) for text in faults]
        self.answers = dict(answers or {})
        self.default = default
        self.latency = latency
        self.host, self.port = host, port
        self.requests = 0
        self.asked: Counter[str] = Counter()
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where it listens; the API of OpenAI is under `/v1`."""
        return f"http://{self.host}:{self.port}"

    def count(self, word: str) -> int:
        """How often questions with a word were asked."""
        return sum(times for question, times in self.asked.items() if word in question)

    async def start(self) -> None:
        """Listen; a port that was free stays the same from then on."""
        self._server = await asyncio.start_server(
            self._serve, self.host, self.port, limit=_LONGEST_HEAD, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and reset every connection."""
        if self._server is not None:
            for listener in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            await _settle()  # what is being accepted would never be closed if the server were gone
            self._server.close()
            self._server = None
        for writer in list(self._connections):
            _reset(writer)

    @contextmanager
    def running(self) -> Iterator[ScriptedServer]:
        """Started in a thread of its own, and stopped at the end."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True, name="scripted-server")
        thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), loop).result()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _end(self) -> None:
        """Stop, and leave nothing behind."""
        await self.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.stop()  # a restart may have been in the middle of listening again
        # asyncio accepts a connection in a task of its own, and its socket leaks if that is not awaited
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=1)
        await _settle()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until its end."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections.add(writer)
        try:
            while (wanted := await _read(reader)) is not None:
                await self._answer(wanted, _Connection(reader, writer))
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError):
            pass  # whoever asked went away, or speaks neither HTTP nor one of the APIs
        finally:
            self._tasks.discard(task)
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, request: Request, to: _Connection) -> None:
        """One request."""
        if request.path not in (OPENAI, OLLAMA):
            await _send(to, self._besides(request.path))
            return
        question = request.question
        self.requests += 1
        played = self._rule(question)
        self.asked[question] += 1
        if self.latency:
            await asyncio.sleep(self.latency)
        text = next((text for word, text in self.answers.items() if word in question), self.default)
        response = respond(request, text, played)
        if played is not None and played.fault == "restart":
            await self._restart(played.value or 0)
        elif played is not None and played.fault in _PLAYS:
            await _PLAYS[played.fault](to, response, played.value or 0)
        else:
            await _send(to, response)

    def _rule(self, question: str) -> Rule | None:
        """What goes wrong with this request."""
        before = self.asked[question]
        return next((rule for rule in self.rules if rule.fits(self.requests, question, before)), None)

    def _besides(self, path: str) -> Response:
        """What is asked besides questions."""
        found = self._stats() if path == "/stats" else listing(path)
        if found is None:
            return Response((b'{"error": "no such path"}',), status=404)
        return Response((encoded(found),))

    def _stats(self) -> dict[str, Any]:
        """What was asked until now."""
        return {"requests": self.requests, "questions": dict(self.asked)}

    async def _restart(self, pause: float) -> None:
        """Away for so many seconds, and back at the same port."""
        if self._server is None:
            return  # it is on its way already
        await self.stop()
        with _reserved_port(self.host, self.port):
            await asyncio.sleep(pause)
            await self.start()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection, `None` at its end."""
    with suppress(asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        length = next((line[15:] for line in lines if line.lower().startswith("content-length:")), "0")
        body = await reader.readexactly(int(length))
        return Request(lines[0].split(" ")[1], head, json.loads(body) if body else {})
    return None


async def _send(to: _Connection, response: Response, _: float = 0) -> None:
    """A whole answer."""
    to.writer.write(response.head() + response.body())
    await to.writer.drain()


async def _late(to: _Connection, response: Response, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await _send(to, response)


async def _hang(to: _Connection, response: Response, _: float) -> None:
    await to.reader.read()  # until whoever asked goes away


async def _half(to: _Connection, response: Response) -> None:
    """The head and the first half of the body, on their way for sure."""
    body = response.body()
    to.writer.write(response.head() + body[: len(body) // 2])
    await to.writer.drain()
    await asyncio.sleep(0.02)


async def _stall(to: _Connection, response: Response, _: float) -> None:
    await _half(to, response)
    await _hang(to, response, 0)


async def _drip(to: _Connection, response: Response, seconds: float) -> None:
    to.writer.write(response.head())
    for byte in response.body():
        to.writer.write(bytes([byte]))
        await to.writer.drain()
        await asyncio.sleep(seconds)


async def _break(to: _Connection, response: Response, _: float) -> None:
    await _half(to, response)
    _reset(to.writer)


async def _cut(to: _Connection, response: Response, _: float) -> None:
    await _half(to, response)
    to.writer.close()


async def _drop(to: _Connection, response: Response, _: float) -> None:
    to.writer.close()


async def _close(to: _Connection, response: Response, _: float) -> None:
    """The end of the answer and of the connection leave in one packet: were there a moment between the two,
    the next request could be sent in it, and would be lost."""
    if hasattr(socket, "TCP_CORK"):  # only Linux has it
        to.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    to.writer.write(response.head() + response.body())
    to.writer.write_eof()
    to.writer.close()


_PLAYS: dict[str, Callable[[_Connection, Response, float], Awaitable[None]]] = {
    "latency": _late,
    "hang": _hang,
    "stall": _stall,
    "drip": _drip,
    "reset": _break,
    "cut": _cut,
    "drop": _drop,
    "close": _close,
}


@contextmanager
def _reserved_port(host: str, port: int) -> Iterator[None]:
    """Keep a port on which nobody listens: another test's server would take it, and answer for this one."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ended connections may still hold it
        keeper.bind((host, port))
        yield


async def _settle() -> None:
    """Let the event loop finish what it has begun to open or to close."""
    for _ in range(5):
        await asyncio.sleep(0)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a process that dies does."""
    connection = writer.get_extra_info("socket")
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    faults = "\n".join(f"  {name:<10} {sentence}" for name, (_, sentence) in FAULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.fault_server.server",
        description=f"A model server that fails by a script. Its model is '{MODEL}'.",
        epilog=f"A rule is FAULT[=VALUE][@WHERE][*TIMES]; WHERE is 7, 1-10, %100 or a word.\n\n{faults}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one, and prints it")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--answer", default=ANSWER, help="what it says")
    parser.add_argument("--fault", action="append", default=[], metavar="RULE", help="may be repeated")
    return parser.parse_args(arguments)


async def _forever(server: ScriptedServer) -> None:
    """Serve until interrupted."""
    await server.start()
    print(server.address, flush=True)
    await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; returns the exit code."""
    options = _options(arguments)
    try:
        server = ScriptedServer(
            options.fault,
            default=options.answer,
            latency=options.latency,
            host=options.host,
            port=options.port,
        )
        asyncio.run(_forever(server))
    except UsageError as error:
        print(f"tests.support.fault_server.server: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
