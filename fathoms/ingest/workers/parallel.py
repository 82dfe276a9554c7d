"""Parsing as work for an executor: many PDFs at once, each in a child process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.errors import DocumentError
from fathoms.executors import LocalExecutor, OnPage, Packed, Ready, Work
from fathoms.ingest.workers.pool import pool_of
from fathoms.paths import sha256_file
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.parser import MakeDocument, ParserPool, PdfParser
from fathoms.safety.children import Children
from fathoms.types import Document

Outcome = Parsed | DocumentError


@dataclass(frozen=True)
class ParseWork(Work[Path, Outcome]):
    """Reads PDFs with a parser; the outcome of a file that cannot be read is its DocumentError.

    `hash_of` returns the sha256 of a file that was read, and is called in several threads at a time. A worker
    of a cluster is sent the bytes of a file, so it needs no disk in common with this machine.
    """

    parser: PdfParser
    hash_of: Callable[[Path], str] = sha256_file

    def open(self, children: Children, workers: int) -> _Parsing:
        """Return the child processes of the parser."""
        return _Parsing(pool_of(self.parser, children, workers, self.hash_of))

    def identity(self) -> dict[str, Any]:
        """The identity of the parser."""
        return self.parser.identity()

    def for_workers(self) -> ParseWork:
        """A parser that shares a machine with others uses one thread there unless a number is given."""
        parser = self.parser
        if getattr(parser, "threads", 0) is None:
            parser = parser.model_copy(update={"threads": 1})
        return ParseWork(parser)

    def sent(self, item: Path) -> Packed:
        """Return the file as it is sent to another machine."""
        return Packed.of(item)

    def arrived(self, sent: Packed, folder: Path) -> Path:
        """The file, with its own name."""
        return sent.unpack(folder)

    def killed(self, item: Path, why: str) -> Outcome:
        """The failure of the document."""
        return DocumentError(item.name, "crash", f"{why}; fetch it again, or leave it out")


class _Parsing:
    """The pool of a parser, which gives the errors of documents as outcomes."""

    def __init__(self, pool: ParserPool) -> None:
        self._pool = pool
        self.close = pool.close

    def do(self, item: Path, on_page: OnPage) -> Callable[[], Outcome]:
        """Read a file, and return what gives the document, or the error that occurred instead."""
        try:
            make = self._pool.read(item, on_page)
        except DocumentError as error:
            return Ready(error)
        return make if isinstance(make, Ready) else partial(_document_or_error, make)


def _document_or_error(make: MakeDocument) -> Outcome:
    """Make the document of a file that was read; returns the error if that fails."""
    try:
        return make()
    except DocumentError as error:
        return error


def parse_all(
    parser: PdfParser,
    paths: Sequence[Path],
    *,
    workers: int,
    on_done: Callable[[Path, Document | DocumentError], None] | None = None,
    on_page: OnPage | None = None,
) -> list[Document | DocumentError]:
    """Read many PDFs with `workers` child processes at a time; the outcomes are in the order of `paths`.

    The outcome of a file that cannot be read is its DocumentError; obeying `on_error` is up to the caller.
    The callbacks are those of `Executor.run`, `on_done` with the path of the file.
    """
    parser.require()
    found: dict[int, Document | DocumentError] = {}

    def done(at: int, outcome: Outcome, seconds: float) -> None:
        found[at] = outcome if isinstance(outcome, DocumentError) else outcome.open(paths[at])
        if on_done is not None:
            on_done(paths[at], found[at])

    LocalExecutor(workers).run(ParseWork(parser), paths, done, on_page, keep=False)
    return [found[at] for at in range(len(paths))]
