"""Makes a document of what a parser returned, as plain data, and the bytes under which it is stored.

A child process does this for the file that it read, so that the parent, which serves all of them, only
stores bytes. It runs this file by its path, so nothing of fathoms is imported here.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TRAILER = b"%%EOF"
EDGE = 1024
"""Bytes at either end of a file in which readers accept the header and the end mark (PDF 1.7, annex H)."""
MAX_WARNINGS = 10
MAX_WARNING = 200
_LOST = re.compile(r"pages? ([0-9][0-9, -]*) could not be read", re.A)
_FEWER = re.compile(r"([0-9]{1,9}) pages could be read, the file claims ([0-9]{1,9})", re.A)
PICTURE = {"kind": "picture"}
UNKNOWN_CHARACTER = "\N{REPLACEMENT CHARACTER}"
NOT_TEXT = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")


def finished(
    name: str, raw: Mapping[str, Any], max_pages: int, sha256: str, complaints: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the fields of a `Document`, given a `RawDocument`, or `{"error": (reason, sentence)}` if the
    parser failed or read no page. `complaints` are warnings about the file; they come first."""
    if "error" in raw:
        reason, detail = raw["error"]
        return {"error": (reason, clean_text(detail))}
    if raw["page_count"] == 0 and not raw["warnings"]:
        return {"error": ("empty", "is a document without pages; export it again")}
    pages = raw["pages"]
    while pages and pages[-1]["text"] is None:
        pages = pages[:-1]
    if not pages:
        return {"error": ("damaged", "has no page that can be read; fetch it again")}
    return {
        "id": name,
        "path": name,
        "sha256": sha256,
        "pages": [_page(number, page) for number, page in enumerate(pages, 1)],
        "warnings": _warnings(raw, pages, max_pages, complaints),
        "page_count": raw["page_count"] if raw["page_count"] > len(pages) else None,
    }


class Packed(NamedTuple):
    """The facts of a document as plain data (see `parsed.ParsedFacts`), its JSON, compressed as the cache
    stores it, the text of its pages, compressed as runs store it, and the bytes of the JSON before that."""

    facts: dict[str, Any]
    document: bytes
    text: bytes
    size: int


def packed(document: Mapping[str, Any]) -> Packed:
    """Pack the fields of a document."""
    pages = document["pages"]
    text = text_of_pages(pages).encode("utf-8", "replace")
    facts = {
        "sha256": document["sha256"],
        "pages": len(pages),
        "page_count": document["page_count"],
        "warnings": document["warnings"],
        "text": hashlib.sha256(text).hexdigest(),
        "elements": Counter(element["kind"] for page in pages for element in page["elements"]),
    }
    whole = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Packed(facts, zlib.compress(whole, 1), zlib.compress(text, 1, wbits=31), len(whole))


def text_of_pages(pages: Sequence[Mapping[str, Any]]) -> str:
    """The text of pages as runs store it, see `runs.documents.text_of_pages`."""
    numbered = [{"number": page["number"], "text": page["text"]} for page in pages]
    return json.dumps(numbered, ensure_ascii=False)


def _page(number: int, page: Mapping[str, Any]) -> dict[str, Any]:
    """Convert one page; a page that could not be read keeps its place, without text."""
    elements = [{**element, "text": clean_text(element["text"])} for element in page.get("elements", ())]
    pictures = [PICTURE] * page.get("pictures", 0)
    return {"number": number, "text": clean_text(page["text"] or ""), "elements": [*pictures, *elements]}


def clean_text(text: str) -> str:
    r"""Return text that every later stage can store, print and embed.

    Line ends become `\n`. Control characters, lone surrogates and noncharacters become U+FFFD, because they
    stand for glyphs whose meaning the font does not tell. Ligatures and spaces stay as the parser gave them.
    """
    return NOT_TEXT.sub(UNKNOWN_CHARACTER, text.replace("\r\n", "\n").replace("\r", "\n"))


def complaints_about(path: str | Path) -> list[str]:
    """Return a warning if a PDF has no end mark."""
    with Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - EDGE))
        return [] if TRAILER in file.read() else ["no end mark (%%EOF): the file may be truncated"]


def _warnings(
    raw: Mapping[str, Any], pages: Sequence[Mapping[str, Any]], max_pages: int, complaints: Sequence[str]
) -> list[str]:
    """Return the warnings about a document, at most `MAX_WARNINGS` lines, and one that names the pages that
    could not be read."""
    found = [*complaints, *dict.fromkeys(clean_text(line)[:MAX_WARNING] for line in raw["warnings"])]
    wanted = min(raw["page_count"], max_pages)
    if wanted < raw["page_count"]:
        found.append(f"only the first {wanted} of {raw['page_count']} pages are read (max_pages)")
    if len(pages) < wanted:
        found.append(f"{len(pages)} pages could be read, the file claims {raw['page_count']}")
    if not any((page["text"] or "").strip() for page in pages):
        found.append("no page has text: a scan, which needs OCR (ingest: {kind: docling}), or damaged")
    if len(found) > MAX_WARNINGS:
        found[MAX_WARNINGS - 1 :] = [f"and {len(found) - MAX_WARNINGS + 1} more"]
    if lost := [number for number, page in enumerate(pages, 1) if page["text"] is None]:
        found.append(f"page{'s' * (len(lost) > 1)} {_ranges(lost)} could not be read")
    return found


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text: `2, 5-9`."""
    ends: list[list[int]] = []
    for number in numbers:
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ends)


def unread_pages(warnings: Sequence[str]) -> list[range]:
    """Return the numbers of the pages that could not be read, of the warnings about a document."""
    found: list[range] = []
    for warning in warnings:
        if match := _LOST.fullmatch(warning):
            for part in match[1].split(", "):
                first, _, last = part.partition("-")
                found.append(range(int(first), int(last or first) + 1))
        elif match := _FEWER.fullmatch(warning):
            found.append(range(int(match[1]) + 1, int(match[2]) + 1))
    return found
