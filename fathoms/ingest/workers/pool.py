"""Chooses the child processes that parse files: those that load models for Docling, others otherwise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Literal

from fathoms.executors import OnPage
from fathoms.ingest.parsers.pdfium import Pdfium
from fathoms.ingest.workers.second_opinion import SecondOpinion
from fathoms.paths import sha256_file
from fathoms.pdf.child import ChildPool
from fathoms.pdf.parser import MakeDocument, ParserPool, PdfParser
from fathoms.safety.children import Children
from fathoms.types import TRANSCRIPTS, Document


class RecordingParser(PdfParser):
    """Reads the texts that are embedded in the PDF of a recording."""

    kind: Literal["recording"] = "recording"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    gives_transcripts: ClassVar[bool] = False
    files_per_child: ClassVar[int] = 200
    reader: ClassVar[str] = "fathoms.ingest.parsers.recording_reader"


class Recordings:
    """Reads recordings by themselves, and all other files with the parser of the configuration.

    A transcript is text already. A parser with OCR would read the frames instead, and others would lose the
    order of scripts that are written from right to left.
    """

    def __init__(self, pool: ParserPool, recordings: ChildPool) -> None:
        self._pool = pool
        self._recordings = recordings

    def read(self, path: Path, on_page: OnPage | None = None) -> MakeDocument:
        """Read one file; raises DocumentError."""
        return (self._recordings if path.suffix.lower() in TRANSCRIPTS else self._pool).read(path, on_page)

    def close(self) -> None:
        """End the processes that wait for a file."""
        self._pool.close()
        self._recordings.close()


def pool_of(
    parser: PdfParser, children: Children, workers: int, hash_of: Callable[[Path], str] = sha256_file
) -> ParserPool:
    """Return the pool for a parser, with `workers` processes at a time, all started by `children`."""
    pool = _pool_of(parser, children, workers, hash_of)
    if not parser.gives_transcripts:
        return pool
    limits = parser.model_dump(include={"timeout", "memory_mb", "max_pages"})
    return Recordings(pool, ChildPool(RecordingParser(**limits), children, hash_of))


def _pool_of(
    parser: PdfParser, children: Children, workers: int, hash_of: Callable[[Path], str]
) -> ParserPool:
    """Return the pool for the files that are no recordings."""
    if parser.kind == "docling":  # its models take many seconds to load
        from fathoms.ingest.docling.parser import Docling
        from fathoms.ingest.docling.pool import DoclingPool

        assert isinstance(parser, Docling)
        return DoclingPool(parser, children, workers, hash_of)
    pool = ChildPool(parser, children, hash_of)
    if not isinstance(parser, Pdfium):
        return pool
    from fathoms.ingest.parsers.pymupdf import PyMuPDF

    shared = parser.model_dump(include={"timeout", "memory_mb", "max_pages", "join_lines"})
    other = PyMuPDF(**shared)
    return SecondOpinion(pool, ChildPool(other, children, hash_of))


def parse_in_child(parser: PdfParser, path: Path, children: Children | None = None) -> Document:
    """Read one PDF in a child process, within the parser's `timeout` and `memory_mb`.

    `children` starts the process, for those who want to end it early. Raises DocumentError
    with the reason if the file cannot be read, and MissingExtraError if the parser's library is not
    installed.
    """
    parser.require()
    with closing(pool_of(parser, children or Children(), workers=1)) as pool:
        return pool.read(path)().open(path)
