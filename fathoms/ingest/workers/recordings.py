"""Takes the text of recordings from the PDFs that were made of their transcripts, whatever the parser is.

A transcript is text already. A parser with OCR would read the frames instead, and others would lose the order
of scripts that are written from right to left.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from fathoms.executors import OnPage
from fathoms.pdf.child import ChildPool
from fathoms.pdf.parser import MakeDocument, ParserPool, PdfParser
from fathoms.types import TRANSCRIPTS


class RecordingParser(PdfParser):
    """Reads the texts that are embedded in the PDF of a recording."""

    kind: Literal["recording"] = "recording"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    gives_transcripts: ClassVar[bool] = False
    files_per_child: ClassVar[int] = 200
    reader: ClassVar[str] = "fathoms.ingest.parsers.recording_reader"


class Recordings:
    """Reads recordings by themselves, and all other files with the parser of the configuration."""

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
