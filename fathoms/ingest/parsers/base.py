"""What every PDF parser has: its limits, and the way from a file to a `Document`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from fathoms.config import Component
from fathoms.errors import MissingExtraError
from fathoms.ingest.parsers.reading import Reading, check_source, to_document
from fathoms.types import Document

LOST_TEXT = "text may be missing"
"""Part of every warning that says that a parser may have lost text of a file."""

ElementKind = Literal["text", "table", "picture", "formula", "code"]
OnPage = Callable[[int, int], None]
"""Hears how many pages are done, and how many there are."""


class Readers(Protocol):
    """The child processes that read the files of one call; safe for as many threads as there are workers."""

    def read(self, path: Path, on_page: OnPage | None = None) -> Document:
        """The document of one file; raises DocumentError with the reason."""

    def close(self) -> None:
        """End the processes that wait for a file."""


class PdfParser(Component):
    """A PDF parser: options, and the name of the module whose `read(path, options)` does the work.

    That module imports nothing of fathoms, so that a child process that runs it starts quickly.
    """

    reader: ClassVar[str]
    extra: ClassVar[str | None] = None
    finds: ClassVar[frozenset[ElementKind]] = frozenset()
    native: ClassVar[str | None] = None
    """The name of the parser's own form of a document, where it has one: `Document.native` holds it."""
    neutral: ClassVar[frozenset[str]] = frozenset({"timeout", "memory_mb", "on_error"})

    kind: str
    timeout: float = Field(default=120, gt=0, le=86_400)
    """Seconds that one PDF may take, from the start of its process."""
    memory_mb: int = Field(default=2048, ge=64, le=1_048_576)
    """MiB of address space that one PDF may take, beyond what the parser's library takes to load."""
    on_error: Literal["fail", "skip"] = "fail"
    """What an unreadable PDF does: stop the run, or be left out of the corpus and reported."""
    max_pages: int = Field(default=2000, ge=1, le=1_000_000)
    """Pages read of one PDF; a longer one is cut there, with a warning."""

    def parse(self, path: Path) -> Document:
        """Read a PDF in this process, with no limits; raises DocumentError, MissingExtraError.

        For files you trust and for debugging: a hostile file can take the process down, and PDFium and
        MuPDF are not safe to use from several threads. `parse_in_child` has neither problem.
        """
        self.require()
        check_source(path)
        read = run_path(self.reader_file())["read"]
        reading = self.accepted(read(str(path.absolute()), self.reader_options()))
        return to_document(path, reading, self.max_pages)

    def require(self) -> None:
        """Raise MissingExtraError where the parser's library is not installed."""
        for package in self.packages:
            if self.extra is not None and find_spec(package) is None:
                raise MissingExtraError(package, self.extra, f"ingest kind '{self.kind}'")

    def native_identity(self) -> dict[str, Any]:
        """Everything that decides the parser's own form: what is made of it later is not in it."""
        return self.identity()

    def from_native(self, path: Path, sha256: str, native: str) -> Document:
        """The document that is made of the parser's own form, with no look at the PDF.

        Raises TypeError for a parser that has none (`native` is `None`).
        """
        raise TypeError(f"ingest kind '{self.kind}' has no form of its own")

    def reader_file(self) -> str:
        """The path of the module with `read`."""
        spec = find_spec(self.reader)
        return str(spec.origin) if spec else ""

    def accepted(self, reading: Any) -> Reading:
        """What `read` returned, as a reading; our own readers need no check."""
        found: Reading = reading
        return found

    def reader_options(self) -> dict[str, Any]:
        """The options that the reader is given: those that change its result."""
        return self.model_dump(mode="json", exclude={"kind", *self.neutral})

    def count(self, document: Document, kind: ElementKind) -> int | None:
        """How many elements of a kind the document has, `None` where this parser does not look for them."""
        if kind not in self.finds:
            return None
        return sum(element.kind == kind for page in document.pages for element in page.elements)
