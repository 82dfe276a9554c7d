"""The base class of parsers: limits on time and memory, and how a file becomes a `Document`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from fathoms.component import Component, package_version
from fathoms.errors import MissingExtraError
from fathoms.executors import OnPage
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.raw import RawDocument, check_source, to_document
from fathoms.types import PDF, Document

ElementKind = Literal["text", "table", "picture", "formula", "code"]

MakeDocument = Callable[[], Parsed]
"""Makes the document of a file that a child process has read; it can be called in another thread."""


class ParserPool(Protocol):
    """The child processes that parse the files of one call; safe for as many threads as it has workers."""

    def read(self, path: Path, on_page: OnPage | None = None) -> MakeDocument:
        """Parse one file, and return what makes its document, so that the next file can be read meanwhile.

        Both raise DocumentError with the reason.
        """

    def close(self) -> None:
        """End the processes that are idle."""


class PdfParser(Component):
    """A PDF parser: its options, and the name of the module whose `read(path, options)` reads a file.

    That module imports nothing of fathoms, so that the child process that runs it starts quickly.
    """

    reader: ClassVar[str]
    extra: ClassVar[str | None] = None
    finds: ClassVar[frozenset[ElementKind]] = frozenset()
    reads: ClassVar[frozenset[str]] = frozenset({PDF})
    """The suffixes of the formats that the parser reads."""
    gives_transcripts: ClassVar[bool] = True
    """Whether the text of a recording is that of its transcript, rather than what the parser reads in the PDF
    that was made of it."""
    gives_boxes: ClassVar[bool] = False
    """Whether the parser can say where on a page figures and tables are."""
    files_per_child: ClassVar[int] = 1
    """How many files one child process reads, one after another, before a new one takes its place."""
    needs_check: ClassVar[bool] = False
    """Whether `accepted` has to check what `read` returns, before anything is made of it."""
    native: ClassVar[str | None] = None
    """Name of the parser's own document format, if it has one; `Document.native` holds a document in it."""
    neutral: ClassVar[frozenset[str]] = frozenset({"timeout", "memory_mb", "on_error"})

    kind: str
    timeout: float = Field(default=120, gt=0, le=86_400)
    """Time limit in seconds for one PDF, from the start of its process."""
    memory_mb: int = Field(default=2048, ge=64, le=1_048_576)
    """Memory limit in MiB: the address space that one PDF may take beyond the parser's library."""
    on_error: Literal["fail", "skip"] = "fail"
    """What happens if a PDF cannot be read: the run stops, or the PDF is skipped and reported."""
    max_pages: int = Field(default=2000, ge=1, le=1_000_000)
    """Maximum number of pages that are read of one PDF; a longer PDF is cut there, with a warning."""

    @property
    def title(self) -> str:
        """The kind with the version of its library: `pdfium (pypdfium2 5.1.0)`."""
        return f"{self.kind} ({self.packages[0]} {package_version(self.packages[0])})"

    def parse(self, path: Path) -> Document:
        """Read a PDF in this process, without limits; raises DocumentError or MissingExtraError.

        Use it for files that you trust and for debugging: a hostile file can crash the process, and PDFium
        and MuPDF are not thread-safe. `parse_in_child` has neither problem.
        """
        self.require()
        self.check_file(path)
        read = run_path(self.reader_file())["read"]
        raw = self.accepted(read(str(path.absolute()), self.reader_options()))
        return to_document(path, raw, self.max_pages)

    def check_file(self, path: Path) -> None:
        """Raise DocumentError for a file that certainly cannot be read, such as one of a format that this
        parser does not read."""
        check_source(path, self.reads)

    def require(self) -> None:
        """Raise MissingExtraError if the parser's library is not installed."""
        for package in self.packages:
            if self.extra is not None and find_spec(package) is None:
                raise MissingExtraError(package, self.extra, f"ingest kind '{self.kind}'")

    def require_downloads(self) -> str:
        """Return what the parser's library will download at its first use, if anything; raises ServerError
        where it cannot."""
        return ""

    def native_identity(self) -> dict[str, Any]:
        """Return what a document in the parser's own format depends on, for the cache."""
        return self.identity()

    def from_native(self, path: Path, sha256: str, native: str) -> Document:
        """Make the document from the parser's own format, without reading the PDF.

        Raises TypeError for a parser that has no such format (`native` is `None`).
        """
        raise TypeError(f"ingest kind '{self.kind}' has no document format of its own")

    def reader_file(self) -> str:
        """Return the path of the module with `read`."""
        return _file_of(self.reader)

    def accepted(self, returned: Any) -> RawDocument:
        """Check what `read` returned; the modules of fathoms itself need no check."""
        raw: RawDocument = returned
        return raw

    def reader_options(self) -> dict[str, Any]:
        """Return the options for `read`: those that change its result."""
        return self.model_dump(mode="json", exclude={"kind", *self.neutral})

    def count(self, document: Document, kind: ElementKind) -> int | None:
        """Count the elements of a kind in the document; `None` if this parser does not look for them."""
        if kind not in self.finds:
            return None
        return sum(element.kind == kind for page in document.pages for element in page.elements)


class LineJoiningParser(PdfParser):
    """A parser that gives the text as it stands on the page, and can join its words and lines."""

    join_lines: bool = True
    """Whether words and lines are joined that the end of a line breaks, so that retrieval and the model read
    whole words; `false` gives the text as the parser's library returns it."""


@cache
def _file_of(module: str) -> str:
    """Return the path of a module, which is looked for once: that takes as long as reading a short page."""
    spec = find_spec(module)
    return str(spec.origin) if spec else ""
