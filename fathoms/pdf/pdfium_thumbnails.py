"""Renders images of some pages. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
from pypdfium2 import raw

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument, RawPage

TALLEST = 3
"""Largest ratio of height to width; a longer page is rendered narrower."""
QUALITY = 60
MOST_CHARACTERS = 50_000
"""The most characters of a page whose words are listed."""
MOST_PICTURES = 100
"""The most pictures of a page whose places are listed."""
LINE_END_HYPHEN = "\ufffe"
"""The character with which PDFium replaces a hyphen and the line break after it."""
FINE = 16
"""The parts of a point to which places are rounded."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Write `0001.jpg`, ... for the pages `options["numbers"]` into `options["folder"]`, at most
    `options["width"]` pixels wide, and with `options["words"]` the words of each into `0001.json`."""
    with pdfium.PdfDocument(path) as document:
        numbers = [number for number in options["numbers"] if 0 < number <= len(document)]
        pages = [_render(document, number, options) for number in numbers]
        return {"page_count": len(pages), "pages": pages, "warnings": []}


def _render(document: pdfium.PdfDocument, number: int, options: dict[str, Any]) -> RawPage:
    """Render one page; a page that PDFium cannot render has no picture. Its only element is the page itself,
    with its number as text and its size in points as box."""
    width = options["width"]
    try:
        page = document[number - 1]
        size = page.get_width(), page.get_height()
        scale = min(width / size[0], TALLEST * width / size[1])
        image = page.render(scale=scale).to_pil().convert("RGB")
    except (pdfium.PdfiumError, ZeroDivisionError):
        return {"text": None, "pictures": 0}
    target = Path(options["folder"]) / f"{number:04}.jpg"
    image.save(target, quality=QUALITY, optimize=True)
    if options.get("words"):
        words = [*_words(page, size), *_pictures(page, size)]
        target.with_suffix(".json").write_text(json.dumps(words), encoding="utf-8")
    return {"text": "", "elements": [{"kind": "picture", "text": str(number), "bbox": (0.0, 0.0, *size)}]}


def _words(page: pdfium.PdfPage, size: tuple[float, float]) -> list[list[Any]]:
    """Return the words of a page, each with its box in points from the top left and what follows it: a space,
    a line break, or nothing. A sign of a script without spaces is a word of its own."""
    text = page.get_textpage()
    edges = [ctypes.c_double() for _ in range(4)]
    left, right, bottom, top = edges
    words: list[list[Any]] = []
    letters = ""
    box: tuple[float, ...] | None = None

    def end(after: str) -> None:
        nonlocal letters, box
        if letters and box:
            words.append([letters, *_from_top_left(page, size, box), after])
        elif words and len(after) >= len(words[-1][-1]):
            words[-1][-1] = after
        letters, box = "", None

    for at in range(min(raw.FPDFText_CountChars(text), MOST_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(text, at)
        letter = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if letter.isspace() or not code:
            end("\n" if letter in "\r\n" else " ")
            continue
        wide = "\u3040" <= letter <= "\u9fff"
        if wide:
            end("")
        if letter == LINE_END_HYPHEN:
            letters += "-"
        else:
            letters += letter
        if raw.FPDFText_GetCharBox(text, at, *edges) and right.value > left.value:
            here = (left.value, bottom.value, right.value, top.value)
            box = here if box is None else _around(box, here)
        if wide or letter == LINE_END_HYPHEN:
            end("" if wide else "\n")
    end("\n")
    return words


def _pictures(page: pdfium.PdfPage, size: tuple[float, float]) -> Iterator[list[Any]]:
    """Yield the place of each picture of a page, as a word without letters."""
    for found in islice(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]), MOST_PICTURES):
        yield ["", *_from_top_left(page, size, found.get_bounds()), "\n"]


def _around(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[float, ...]:
    """Return the box around two boxes."""
    return (*map(min, first[:2], second[:2]), *map(max, first[2:], second[2:]))


def _from_top_left(
    page: pdfium.PdfPage, size: tuple[float, float], box: tuple[float, ...]
) -> tuple[float, ...]:
    """Convert a box of the file, which knows neither rotation nor a cut of its page, to the page as shown."""
    x, y = ctypes.c_int(), ctypes.c_int()
    found = []
    for across, up in (box[:2], box[2:]):
        shown = (0, 0, round(FINE * size[0]), round(FINE * size[1]), 0)
        raw.FPDF_PageToDevice(page, *shown, across, up, x, y)
        found.append((x.value / FINE, y.value / FINE))
    (left, top), (right, bottom) = found
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)
