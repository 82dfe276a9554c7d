"""Each PDF in a process of its own: whatever the file does to the parser, it does it there."""

from __future__ import annotations

from pathlib import Path

from fathoms.ingest.parsers.base import OnPage, PdfParser
from fathoms.ingest.parsers.raw import RawDocument, check_source, to_document
from fathoms.safety.children import Child, ChildEndedError, Children, ended_with
from fathoms.types import Document

OUTPUT_MB = 64
"""Largest answer of a child, and largest file that it may write, in MiB."""
WORKER = str(Path(__file__).with_name("worker.py"))


class OneShotPool:
    """Reads every file in a process of its own: for the parsers that start quickly.

    Child processes wait for further files if the parser `forks`: each then reads a file in a copy of itself
    (see `worker`). One that broke or was stopped is replaced by the next file that needs it.
    """

    def __init__(self, parser: PdfParser, children: Children) -> None:
        self._parser = parser
        self._children = children
        self._idle: list[Child] = []

    def read(self, path: Path, on_page: OnPage | None = None) -> Document:
        """Read one file; raises DocumentError. `on_page` is not called: these parsers are quick."""
        check_source(path)
        return to_document(path, self._read(path), self._parser.max_pages)

    def close(self) -> None:
        """End the processes that wait for a file."""
        while self._idle:
            self._idle.pop().end()

    def _child(self) -> Child:
        """Return a process that waits for a file, or start one. Threads share the list, whose operations are
        atomic."""
        while self._idle:
            try:
                child = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if child.alive:
                return child
            child.end()
        return self._children.start(WORKER, stderr="log", most=OUTPUT_MB * 1024 * 1024)

    def _read(self, path: Path) -> RawDocument:
        """Return the answer of the child process, or the error that its death or silence means."""
        parser = self._parser
        child, sound = self._child(), False
        try:
            child.send(
                {
                    "reader": parser.reader_file(),
                    "path": str(path.absolute()),
                    "options": parser.reader_options(),
                    "timeout": parser.timeout,
                    "memory_mb": parser.memory_mb,
                    "output_mb": OUTPUT_MB,
                    "forks": parser.forks,
                }
            )
            found = child.receive(parser.timeout)[0]
            sound = parser.forks
            if parser.forks and isinstance(found, dict) and "ended" in found:
                raise ended_with(int(found["ended"]))
        except TimeoutError:
            return {"error": ("timeout", time_advice(parser.timeout))}
        except ChildEndedError as ended:
            return {"error": death(parser, ended)}
        finally:
            if sound and child.alive:
                self._idle.append(child)
            else:
                child.end()
        raw = parser.accepted(found)
        if tuple(raw.get("error", ())) == ("memory", ""):
            return {"error": ("memory", memory_advice(parser))}
        return raw


def death(parser: PdfParser, ended: ChildEndedError) -> tuple[str, str]:
    """Return why a child process ended without an answer: a reason of DocumentError, and a sentence."""
    if ended.cause == "time":
        return "timeout", time_advice(parser.timeout)
    if ended.cause == "memory":
        return "memory", memory_advice(parser)
    if ended.cause == "killed":
        return "memory", "caused its process to be killed, probably for lack of memory; parse fewer at once"
    said = f"{ended.how}: {ended.last_line}" if ended.last_line else ended.how
    return "crash", f"makes the parser crash ({said}); fetch it again, try another kind, or leave it out"


def time_advice(seconds: float) -> str:
    """Return what is wrong with a file that takes longer than `timeout`, and what to do."""
    return f"gave no result within {seconds:g} s; raise timeout if the file is sound, or leave it out"


def memory_advice(parser: PdfParser) -> str:
    """Return what is wrong with a file that needs more than `memory_mb`, and what to do."""
    return f"needs more than {parser.memory_mb} MiB; raise memory_mb if the file is sound, or leave it out"
