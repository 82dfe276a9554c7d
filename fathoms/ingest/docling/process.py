"""The parent's side of a long-lived child process that converts documents with Docling."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from fathoms.ingest.docling.errors import unusable
from fathoms.ingest.parsers.base import OnPage
from fathoms.ingest.parsers.reading import Reading
from fathoms.ingest.workers.child import Children, death, memory_advice, time_advice

if TYPE_CHECKING:
    from fathoms.ingest.docling.parser import Docling

TARGET = ["-m", "fathoms.ingest.docling.worker"]
START = 600
"""Time limit in seconds for loading the libraries and local weights."""
DOWNLOAD = 7200
"""Time limit in seconds for the same where weights may have to be downloaded first."""

NO_MEMORY = ("bad_alloc", "MemoryError", "allocate", "Resource temporarily unavailable")
"""Parts of library error messages that mean a lack of memory; the last appears when no thread can start."""


class BreakdownError(Exception):
    """A conversion failed as a whole; `reason` is one of DocumentError's, `detail` a sentence for the user.

    `pages` is the number of pages to convert. `None` means that a retry page by page makes no sense: the
    number is not known, or the converter reported that the file itself cannot be converted.
    """

    def __init__(self, reason: str, detail: str, pages: int | None) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.pages = pages


class Converted:
    """The answer to a request; its fields are those of `convert.Answer`."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.reading: Reading = message["reading"]
        self.native: str = message["native"]
        self.failed = {int(number): str(reason) for number, reason in message["failed"].items()}


class DoclingProcess:
    """A child process with its own Docling converter; the constructor waits until its models are loaded.

    The constructor raises ConfigError or ModelError (see `errors.unusable`) if the converter cannot be built.
    """

    def __init__(self, parser: Docling, children: Children, threads: int) -> None:
        self._parser = parser
        self._children = children
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        try:
            self._process = children.start(
                TARGET,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=parser.environment(threads),
            )
        except BaseException:
            self._complaints.close()
            raise
        self._messages: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._send(parser.settings(threads))
        self._await_ready()

    @property
    def alive(self) -> bool:
        """Whether the process still runs, so that it can take another request."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kill the process if it still runs, and close its pipes and files."""
        self._children.end(self._process)
        self._process.wait()
        self._complaints.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()

    def convert(self, path: Path, first: int, last: int, seconds: float, on_page: OnPage) -> Converted:
        """Convert the pages from `first` to `last` of a file within `seconds`.

        Raises BreakdownError if the file cannot be converted, the process dies or the time is up. In the last
        two cases the process has ended.
        """
        deadline = time.monotonic() + seconds
        request = {"path": str(path.absolute()), "first": first, "last": last}
        self._send(request)
        pages = None
        while True:
            left = deadline - time.monotonic()
            message = self._receive(min(left, self._parser.page_timeout))
            if "page" in message:
                done, pages = message["page"]
                on_page(done, pages)
            elif "error" in message:
                raise BreakdownError(*explain(self._parser, *message["error"]), None)
            elif "silent" in message:
                self.end()
                advice = time_advice(seconds) if left < self._parser.page_timeout else self._page_advice()
                raise BreakdownError("timeout", advice, pages)
            elif "ended" in message:
                raise BreakdownError(*self._death(), pages)
            else:
                return Converted(message)

    def _send(self, message: Any) -> None:
        """Send one JSON line to the process; if it has died, the next `_receive` reports that."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Put every message of the process into the queue, and `ended` when it exits; runs in a thread."""
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed by `end`
            for line in self._process.stdout:
                self._messages.put(json.loads(line))
        self._messages.put({"ended": True})

    def _receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message, or `{"silent": True}` if none arrives within `seconds`."""
        try:
            message: dict[str, Any] = self._messages.get(timeout=max(0.0, seconds))
        except Empty:
            return {"silent": True}
        return message

    def _await_ready(self) -> None:
        """Wait until the models are loaded; raises ConfigError or ModelError if the process fails."""
        message = self._receive(DOWNLOAD if self._parser.needs_hub else START)
        if "ready" in message:
            return
        said = message.get("unusable")
        if said is None:
            _, detail = self._death() if "ended" in message else ("", "did not start in time")
            said = {"classes": [], "said": detail}
        self.end()
        raise unusable(self._parser, said["classes"], said["said"])

    def _page_advice(self) -> str:
        """Return the error text for a file that hangs, with advice for the user."""
        return f"finished no page within {self._parser.page_timeout:g} s; raise page_timeout, or leave it out"

    def _death(self) -> tuple[str, str]:
        """Return why the process ended: a reason of DocumentError and a sentence for the user."""
        code = self._process.wait()
        self._complaints.seek(0)
        found = death(self._parser, code, self._complaints.read())
        self.end()
        return explain(self._parser, *found)


def explain(parser: Docling, reason: str, detail: str) -> tuple[str, str]:
    """Return the reason and the sentence, replaced by `memory` and advice if the text hints at low memory."""
    if not detail or any(sign in detail for sign in NO_MEMORY):
        return "memory", memory_advice(parser)
    return reason, detail
