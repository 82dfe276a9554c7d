"""From a file to a `Document`: the check before it is read, and the plain data that a reader gives.

A `Reading` is JSON, because it crosses from the child process that reads the PDF.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from fathoms.errors import DocumentError
from fathoms.paths import sha256_file
from fathoms.types import Box, Document, Element, Page

HEADER = b"%PDF-"
TRAILER = b"%%EOF"
EDGE = 1024
"""Bytes at either end of a file in which readers accept the header and the end mark (PDF 1.7, annex H)."""

MAX_WARNINGS = 10
MAX_WARNING = 200
PICTURE = Element(kind="picture")
UNKNOWN_CHARACTER = "\N{REPLACEMENT CHARACTER}"
NOT_TEXT = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")


class ElementReading(TypedDict):
    """One layout element, as `Element` has it."""

    kind: Literal["text", "table", "picture", "formula", "code"]
    text: str
    bbox: Box


class PageReading(TypedDict):
    """One page: `text` is `None` where the page could not be read at all.

    `elements` is for parsers that know more of a page than how many pictures it has.
    """

    text: str | None
    pictures: NotRequired[int]
    elements: NotRequired[list[ElementReading]]


class Reading(TypedDict, total=False):
    """What a reader found. Either `error`, a reason of DocumentError and a sentence, or the rest.

    `page_count` is the number of pages that the file claims; `pages` may be fewer.
    """

    error: tuple[str, str]
    page_count: int
    pages: list[PageReading]
    warnings: list[str]


def check_source(path: Path) -> None:
    """Raise DocumentError for what is no PDF at all, before any parser sees it."""
    name = path.name
    if _undecodable(path):
        raise DocumentError(ascii(name)[1:-1], "missing", "its path is not valid UTF-8; rename it")
    try:
        head = _head(path)
    except FileNotFoundError:
        raise DocumentError(name, "missing", f"there is no file {path}; check the folder and name") from None
    except OSError as error:
        advice = "check its permissions and links"
        raise DocumentError(name, "missing", f"cannot be opened: {error.strerror}; {advice}") from error
    if not head:
        raise DocumentError(name, "empty", "is an empty file (0 bytes); fetch it again")
    if HEADER not in head:
        advice = "convert it to PDF or take it out of the corpus"
        raise DocumentError(name, "not-a-pdf", f"has no PDF header in its first {EDGE} bytes; {advice}")


def _head(path: Path) -> bytes:
    """The first bytes of a file. Only a regular one is opened: a pipe would be waited for."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise DocumentError(path.name, "not-a-pdf", "is a folder; name the PDF files in it")
    if not stat.S_ISREG(mode):
        raise DocumentError(path.name, "not-a-pdf", "is not a regular file; copy its content to one")
    with path.open("rb") as file:
        return file.read(EDGE)


def _undecodable(path: Path) -> bool:
    """Is there a byte in the path that is not UTF-8?"""
    return any("\ud800" <= character <= "\udfff" for character in str(path))


def to_document(path: Path, reading: Reading, max_pages: int, sha256: str | None = None) -> Document:
    """The `Document` of a reading; raises DocumentError for a reading that failed or has no page.

    `sha256` is that of the file, where it is known.
    """
    if "error" in reading:
        reason, detail = reading["error"]
        raise DocumentError(path.name, reason, clean_text(detail))
    if reading["page_count"] == 0 and not reading["warnings"]:
        raise DocumentError(path.name, "empty", "is a PDF without pages; export it again")
    pages = reading["pages"]
    while pages and pages[-1]["text"] is None:
        pages = pages[:-1]
    if not pages:
        raise DocumentError(path.name, "damaged", "has no page that can be read; fetch it again")
    return Document(
        id=path.name,
        path=path,
        sha256=sha256 or sha256_file(path),
        pages=tuple(_page(number, page) for number, page in enumerate(pages, 1)),
        warnings=_warnings(path, reading, pages, max_pages),
        page_count=reading["page_count"] if reading["page_count"] > len(pages) else None,
    )


def _page(number: int, page: PageReading) -> Page:
    """One page of the document; a page that cannot be read keeps its place, without text."""
    pictures = (PICTURE,) * page.get("pictures", 0)
    return Page(
        number=number,
        text=clean_text(page["text"] or ""),
        elements=(*pictures, *map(_element, page.get("elements", []))),
    )


def _element(element: ElementReading) -> Element:
    """One layout element of the document."""
    return Element(kind=element["kind"], text=clean_text(element["text"]), bbox=element["bbox"])


def clean_text(text: str) -> str:
    r"""Unicode that every later stage can store, print and embed.

    Line ends become `\n`. Control characters, lone surrogates and noncharacters become U+FFFD, as they
    stand for glyphs whose meaning the font does not tell. Ligatures and spaces stay as the parser gave them.
    """
    return NOT_TEXT.sub(UNKNOWN_CHARACTER, text.replace("\r\n", "\n").replace("\r", "\n"))


def _warnings(path: Path, reading: Reading, pages: list[PageReading], max_pages: int) -> tuple[str, ...]:
    """Everything that is not as it should be, at most `MAX_WARNINGS` lines."""
    found = list(dict.fromkeys(clean_text(line)[:MAX_WARNING] for line in reading["warnings"]))
    if not _has_end_mark(path):
        found.insert(0, "no end mark (%%EOF): the file may be truncated")
    wanted = min(reading["page_count"], max_pages)
    if wanted < reading["page_count"]:
        found.append(f"only the first {wanted} of {reading['page_count']} pages are read (max_pages)")
    if len(pages) < wanted:
        found.append(f"{len(pages)} pages could be read, the file claims {reading['page_count']}")
    if not any((page["text"] or "").strip() for page in pages):
        found.append("no page has text: a scan that needs OCR, or damaged")
    lost = [number for number, page in enumerate(pages, 1) if page["text"] is None]
    found += [f"page {number} could not be read" for number in lost]
    if len(found) > MAX_WARNINGS:
        found[MAX_WARNINGS - 1 :] = [f"and {len(found) - MAX_WARNINGS + 1} more"]
    return tuple(found)


def _has_end_mark(path: Path) -> bool:
    """Does the file end as a whole PDF does?"""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - EDGE))
        return TRAILER in file.read(EDGE)
