"""From a file to a `Document`: the check before a parser runs, and the plain data that it returns.

A `RawDocument` is JSON, because the child process that reads the file sends it to its parent.
"""

from __future__ import annotations

import stat
from collections.abc import Collection
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from fathoms.errors import DocumentError
from fathoms.paths import sha256_file
from fathoms.pdf.finishing import EDGE, complaints_about, finished
from fathoms.types import OFFICE, PDF, TRANSCRIPTS, Box, Document, has_pages

HEADER = b"%PDF-"
ZIP = b"PK\x03\x04"
"""The first bytes of a DOCX or PPTX file, which is a zip archive."""
NO_PAGES = "has no pages: all of its text counts as page 1, and gold evidence can only name the document"


class RawElement(TypedDict):
    """One layout element, with the fields of `types.Element`."""

    kind: Literal["text", "table", "picture", "formula", "code"]
    text: str
    bbox: Box | None


class RawPage(TypedDict):
    """One page: `text` is `None` if the page could not be read at all.

    `pictures` is a number; parsers that know more about the elements of a page give `elements`.
    """

    text: str | None
    pictures: NotRequired[int]
    elements: NotRequired[list[RawElement]]


class RawDocument(TypedDict, total=False):
    """The result of a parser: either `error` (a reason of DocumentError and a sentence), or the other fields.

    `page_count` is the number of pages that the file claims to have; `pages` may be fewer.
    """

    error: tuple[str, str]
    page_count: int
    pages: list[RawPage]
    warnings: list[str]


def check_source(path: Path, reads: Collection[str] = (PDF,)) -> None:
    """Raise DocumentError for a file that certainly cannot be read, before any parser sees it.

    `reads` are the suffixes of the formats that the parser reads. A file with the suffix of none of them has
    to be a PDF, whatever it is called.
    """
    name, suffix = path.name, path.suffix.lower()
    if any("\ud800" <= character <= "\udfff" for character in str(path)):
        raise DocumentError(ascii(name)[1:-1], "missing", "its path is not valid UTF-8; rename it")
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DocumentError(name, "not-a-pdf", "is a folder; name the PDF files in it")
        if not stat.S_ISREG(mode):  # opening a named pipe would wait for somebody to write to it
            raise DocumentError(name, "not-a-pdf", "is not a regular file; copy its content to one")
        with path.open("rb") as file:
            head = file.read(EDGE)
    except FileNotFoundError:
        raise DocumentError(name, "missing", f"there is no file {path}; check the folder and name") from None
    except OSError as error:
        advice = "check its permissions and links"
        raise DocumentError(name, "missing", f"cannot be opened: {error.strerror}; {advice}") from error
    if not head:
        raise DocumentError(name, "empty", "is an empty file (0 bytes); fetch it again")
    if suffix in OFFICE:
        _check_office(name, suffix, head, reads)
    elif suffix in TRANSCRIPTS and HEADER not in head:
        cue = "00:00:01.000 --> 00:00:04.000"
        raise DocumentError(
            name,
            "empty",
            f"is a transcript without a cue such as {cue}; mend it or take it out of the corpus",
        )
    elif HEADER not in head:
        advice = "convert it to PDF or take it out of the corpus"
        raise DocumentError(name, "not-a-pdf", f"has no PDF header in its first {EDGE} bytes; {advice}")


def _check_office(name: str, suffix: str, head: bytes, reads: Collection[str]) -> None:
    """Raise DocumentError for an office or web document that the parser does not read, or that is none."""
    kind = suffix[1:].upper()
    if suffix not in reads:
        raise DocumentError(
            name,
            "not-a-pdf",
            f"is a {kind} file, which only ingest: {{kind: docling}} reads, as text: choose that parser, save"
            " the file as PDF, or take it out of the corpus",
        )
    if suffix in (".docx", ".pptx") and not head.startswith(ZIP):
        raise DocumentError(
            name,
            "damaged",
            f"is not a {kind} file, because it is no zip archive: if it has a password or comes from an old"
            f" version of Office, save it as {kind} without a password",
        )


def to_document(path: Path, raw: RawDocument, max_pages: int, sha256: str | None = None) -> Document:
    """Make a `Document` of what a parser returned; raises DocumentError if it failed or read no page.

    `sha256` is the hash of the file, if it is already known.
    """
    complaints: list[str] = []
    if "error" not in raw:
        sha256 = sha256 or sha256_file(path)
        if path.suffix.lower() not in OFFICE:
            complaints = complaints_about(path)
        elif not has_pages(path.name):
            complaints = [NO_PAGES]
    fields = finished(path.name, raw, max_pages, sha256 or "", complaints)
    if "error" in fields:
        raise DocumentError(path.name, *fields["error"])
    return Document.model_validate({**fields, "path": path})
