"""Each PDF in a child process of its own: whatever the file does to the parser, it does it there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from fathoms.ingest.parser import PdfParser
from fathoms.ingest.reading import Reading, check_source, to_document
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

    def run(self, request: bytes, output: BinaryIO, timeout: float) -> tuple[int, bytes]:
        """Run the worker to its end: its return code and what it printed to stderr.

        Raises subprocess.TimeoutExpired; no process is left behind, however this ends.
        """
        with self._start(output) as process:
            try:
                _, complaint = process.communicate(request, timeout)
                return process.returncode, complaint
            finally:
                _kill(process)
                self._running.discard(process)

    def stop(self) -> None:
        """Kill all."""
        with self._lock:
            self._stopped = True
            for process in list(self._running):
                _kill(process)

    def _start(self, output: BinaryIO) -> subprocess.Popen[bytes]:
        """A worker in a session of its own: its process group can be killed, and Ctrl-C is not sent to it."""
        with self._lock:
            if self._stopped:
                raise InterruptedError("stopped")
            process = subprocess.Popen(
                [sys.executable, "-P", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
            return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and its group."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):  # it ended by itself meanwhile
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def parse_in_child(parser: PdfParser, path: Path, children: Children | None = None) -> Document:
    """Read one PDF in a child process, within the parser's `timeout` and `memory_mb`.

    Raises DocumentError with the reason for every way in which a file can fail, MissingExtraError where
    the parser's library is not installed. `children` is told of the process, for whoever must end it.
    """
    parser.require()
    check_source(path)
    reading = _read(parser, path, children or Children())
    return to_document(path, reading, parser.max_pages)


def _read(parser: PdfParser, path: Path, children: Children) -> Reading:
    """What the child gives for the file."""
    with tempfile.TemporaryFile() as output:
        try:
            code, complaint = children.run(_request(parser, path), output, parser.timeout)
        except subprocess.TimeoutExpired:
            return {"error": ("timeout", _time_advice(parser))}
        if code != 0:
            return {"error": _death(parser, code, complaint)}
        output.seek(0)
        reading: Reading = json.load(output)
    reason, detail = reading.get("error", ("", ""))
    if reason == "memory" and not detail:
        return {"error": ("memory", _memory_advice(parser))}
    return reading


def _request(parser: PdfParser, path: Path) -> bytes:
    """What the worker is asked, as JSON."""
    spec = find_spec(parser.reader)
    request = {
        "reader": spec.origin if spec else None,
        "path": str(path.absolute()),
        "options": parser.reader_options(),
        "timeout": parser.timeout,
        "memory_mb": parser.memory_mb,
        "output_mb": OUTPUT_MB,
    }
    return json.dumps(request).encode()


def _death(parser: PdfParser, code: int, complaint: bytes) -> tuple[str, str]:
    """Why a child ended without a reading."""
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    if name in TIME_SIGNALS:
        return "timeout", _time_advice(parser)
    if name in MEMORY_SIGNALS:
        return "memory", _memory_advice(parser)
    if name == "SIGKILL":
        return "memory", "had its process killed, most likely for want of memory; parse fewer at once"
    last = complaint.decode(errors="replace").strip().splitlines()[-1:]
    said = ": ".join([name, *last])
    return "crash", f"makes the parser crash ({said}); fetch it again, try another kind, or leave it out"


def _time_advice(parser: PdfParser) -> str:
    return f"gave no result within {parser.timeout:g} s; raise timeout if the file is sound, or leave it out"


def _memory_advice(parser: PdfParser) -> str:
    return f"needs more than {parser.memory_mb} MiB; raise memory_mb if the file is sound, or leave it out"
