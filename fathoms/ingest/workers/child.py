"""Each PDF in a child process of its own: whatever the file does to the parser, it does it there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from fathoms.ingest.parsers.base import OnPage, PdfParser
from fathoms.ingest.parsers.reading import Reading, check_source, to_document
from fathoms.safety.children import start_child
from fathoms.types import Document

OUTPUT_MB = 64
WORKER = Path(__file__).with_name("worker.py")
TIME_SIGNALS = {"SIGALRM", "SIGXCPU"}
MEMORY_SIGNALS = {"SIGABRT"}
"""PDFium and the C++ library abort where they get no memory; PDFium's failed checks end in other signals."""


class Children:
    """The child processes now running, so that one call ends them all and lets no new one start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def start(self, target: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a child process, see `start_child`. Raises InterruptedError after `stop`."""
        with self._lock:
            if self._stopped:
                raise InterruptedError("stopped")
            process = start_child(target, **options)
            self._running.add(process)
            return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process that still runs, and forget it."""
        _kill(process)
        self._running.discard(process)

    def stop(self) -> None:
        """Kill every running child process, and let no new one start."""
        with self._lock:
            self._stopped = True
            for process in list(self._running):
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and its group."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):  # it ended by itself meanwhile
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


class OneShotReaders:
    """A new process for every file: the way of the parsers that start in no time."""

    def __init__(self, parser: PdfParser, children: Children) -> None:
        self._parser = parser
        self._children = children

    def read(self, path: Path, on_page: OnPage | None = None) -> Document:
        """The document of one file; a text parser is too quick to tell of pages."""
        check_source(path)
        return to_document(path, self._reading(path), self._parser.max_pages)

    def close(self) -> None:
        """Every process has ended with its file."""

    def _reading(self, path: Path) -> Reading:
        """What the child gives for the file."""
        parser = self._parser
        with tempfile.TemporaryFile() as output:
            try:
                code, complaint = self._run(_request(parser, path), output)
            except subprocess.TimeoutExpired:
                return {"error": ("timeout", time_advice(parser.timeout))}
            if code != 0:
                return {"error": death(parser, code, complaint)}
            output.seek(0)
            reading = parser.accepted(json.load(output))
        reason, detail = reading.get("error", ("", ""))
        if reason == "memory" and not detail:
            return {"error": ("memory", memory_advice(parser))}
        return reading

    def _run(self, request: bytes, output: BinaryIO) -> tuple[int, bytes]:
        """Run the worker to its end: its return code and what it printed to stderr.

        Raises subprocess.TimeoutExpired; no process is left behind, however this ends.
        """
        with self._children.start([str(WORKER)], stdout=output, stderr=subprocess.PIPE) as process:
            try:
                _, complaint = process.communicate(request, self._parser.timeout)
                return process.returncode, complaint
            finally:
                self._children.end(process)


def _request(parser: PdfParser, path: Path) -> bytes:
    """What the worker is asked, as JSON."""
    request = {
        "reader": parser.reader_file(),
        "path": str(path.absolute()),
        "options": parser.reader_options(),
        "timeout": parser.timeout,
        "memory_mb": parser.memory_mb,
        "output_mb": OUTPUT_MB,
    }
    return json.dumps(request).encode()


def death(parser: PdfParser, code: int, complaint: bytes) -> tuple[str, str]:
    """Why a child ended without a reading: a reason of DocumentError, and a sentence."""
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    if name in TIME_SIGNALS:
        return "timeout", time_advice(parser.timeout)
    if name in MEMORY_SIGNALS:
        return "memory", memory_advice(parser)
    if name == "SIGKILL":
        return "memory", "had its process killed, most likely for want of memory; parse fewer at once"
    last = complaint.decode(errors="replace").strip().splitlines()[-1:]
    said = ": ".join([name, *last])
    return "crash", f"makes the parser crash ({said}); fetch it again, try another kind, or leave it out"


def time_advice(seconds: float) -> str:
    """What is wrong with a file that takes longer than `timeout`, and what to do."""
    return f"gave no result within {seconds:g} s; raise timeout if the file is sound, or leave it out"


def memory_advice(parser: PdfParser) -> str:
    """What is wrong with a file that needs more than `memory_mb`, and what to do."""
    return f"needs more than {parser.memory_mb} MiB; raise memory_mb if the file is sound, or leave it out"
