"""PDFs are read in child processes: whatever a file does to the parser, it does it there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fathoms.executors import OnPage, Ready
from fathoms.paths import sha256_file
from fathoms.pdf import finishing
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.parser import MakeDocument, PdfParser
from fathoms.pdf.raw import RawDocument, to_document
from fathoms.safety.children import Child, ChildEndedError, Children

OUTPUT_MB = 64
"""Largest answer of a child, and largest file that it may write, in MiB."""
WORKER = str(Path(__file__).with_name("worker.py"))


class ChildPool:
    """Reads files in child processes, as many in each as the parser says (`files_per_child`).

    A process in which a file failed is replaced. The failure may come from what an earlier file left behind,
    so the file is then read once more, by a process that has read no other.
    """

    def __init__(
        self, parser: PdfParser, children: Children, hash_of: Callable[[Path], str] = sha256_file
    ) -> None:
        self._parser = parser
        self._hash_of = hash_of
        self._children = children
        self._idle: list[tuple[Child, int]] = []

    def read(self, path: Path, on_page: OnPage | None = None) -> MakeDocument:
        """Read one file; raises DocumentError for one that no process has to read. `on_page` is not called:
        these parsers are quick."""
        self._parser.check_file(path)
        child, files = self._waiting() or (self._new(), 0)
        found = self._read(child, path, files)
        if files and not isinstance(found, Parsed) and found.get("error", ("timeout",))[0] != "timeout":
            found = self._read(self._new(), path)
        return Ready(found) if isinstance(found, Parsed) else partial(self._document, path, found)

    def _document(self, path: Path, raw: RawDocument) -> Parsed:
        """Make the document of a file that was read; raises DocumentError."""
        sha256 = None if "error" in raw else self._hash_of(path)
        return Parsed.of(to_document(path, raw, self._parser.max_pages, sha256))

    def close(self) -> None:
        """End the processes that wait for a file."""
        while found := self._waiting():
            found[0].end()

    def _waiting(self) -> tuple[Child, int] | None:
        """Take a process that waits for a file, with the number of files it has read; `None` if there is
        none."""
        while self._idle:
            try:
                child, files = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if child.alive:
                return child, files
            child.end()
        return None

    def _new(self) -> Child:
        """Start a process that has read no file yet."""
        return self._children.start(WORKER, stderr="log", most=OUTPUT_MB * 1024 * 1024)

    def _read(self, child: Child, path: Path, files: int = 0) -> Parsed | RawDocument:
        """Return the answer of a process that has read so many files, or the error that its death or silence
        means. The process then waits for another file, or is ended."""
        sound = False
        try:
            found = self._answer(child, path)
            sound = (
                isinstance(found, Parsed) or "error" not in found
            ) and files + 1 < self._parser.files_per_child
        except TimeoutError:
            return {"error": ("timeout", time_advice(self._parser.timeout))}
        except ChildEndedError as ended:
            return {"error": death(self._parser, ended)}
        finally:
            if sound:
                self._idle.append((child, files + 1))
            else:
                child.end()
        if not isinstance(found, Parsed) and tuple(found.get("error", ())) == ("memory", ""):
            return {"error": ("memory", memory_advice(self._parser))}
        return found

    def _answer(self, child: Child, path: Path) -> Parsed | RawDocument:
        """Have a process read a file; raises TimeoutError and ChildEndedError."""
        parser = self._parser
        request = {
            "reader": parser.reader_file(),
            "path": str(path.absolute()),
            "options": parser.reader_options(),
            "timeout": parser.timeout,
            "memory_mb": parser.memory_mb,
            "output_mb": OUTPUT_MB,
        }
        if not parser.needs_check:
            document = {"name": path.name, "max_pages": parser.max_pages, "sha256": self._hash_of(path)}
            request |= {"finish": finishing.__file__, "document": document}
        child.send(request)
        message, data = child.receive(parser.timeout)
        if parser.needs_check:
            return parser.accepted(message)
        try:
            if list(message) == ["error"]:
                reason, sentence = message["error"]
                return {"error": (str(reason), str(sentence))}
            return Parsed.from_child(message, data)
        except (ValueError, TypeError, LookupError):
            return {"error": ("crash", "makes the parser return no document; fetch the file again")}


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
