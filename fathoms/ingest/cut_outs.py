"""Figures and tables of a document as pictures of their own, cut out of its pages by their boxes.

They are what a layout parser such as Docling finds. A retriever can embed the pictures as it embeds pages,
and models can be shown a figure in place of the whole page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.ingest.workers.page_files import PageRenderer, page_images
from fathoms.paths import publish, sealed, temporary_folder
from fathoms.pdf.parser import PdfParser
from fathoms.pdf.pictures import png_within
from fathoms.pdf.thumbnails import page_thumbnails
from fathoms.runs.cache import tell_damage
from fathoms.runs.sharing import SharedStore
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Box, CutOut, Document

if TYPE_CHECKING:
    from PIL.Image import Image

SMALLEST = 18.0
"""The shortest side in points, a quarter of an inch, of what is cut out; smaller ones are rules and icons."""
MARGIN = 6.0
"""Points around a box that are cut out with it, because layout models often cut off the outer letters."""
_POINTS_PER_INCH = 72


def cut_outs(document: Document) -> list[CutOut]:
    """Return the figures and tables of a document whose boxes its parser knows, in reading order."""
    found = []
    for page in document.pages:
        counts: Counter[str] = Counter()
        for element in page.elements:
            if element.kind not in ("picture", "table") or element.bbox is None:
                continue
            x0, y0, x1, y1 = element.bbox
            if min(x1 - x0, y1 - y0) < SMALLEST:
                continue
            counts[element.kind] += 1
            number = counts[element.kind]
            fields = {"kind": element.kind, "number": number, "bbox": element.bbox, "text": element.text}
            found.append(CutOut.model_validate({"page": page.number, **fields}))
    return found


def has_boxes(document: Document) -> bool:
    """Whether the parser of a document says where on a page any of its elements is."""
    return any(element.bbox is not None for page in document.pages for element in page.elements)


def cut_out_images(
    document: Document,
    dpi: int,
    folder: Path,
    parser: PdfParser,
    *,
    max_pixels: int | None = None,
    max_side: int | None = None,
    max_bytes: int | None = None,
    shared: SharedStore | None = None,
) -> dict[str, Path]:
    """Return the picture of each figure and table of a document by its `name`; the files are kept below
    `folder`, by a hash of the document and of all that they depend on.

    They are cut out of the pages as rendered at `dpi`, with a margin, and made smaller if they have more
    pixels, a longer side in pixels or more bytes than given. What lies outside of its page, or on a page that
    PDFium cannot render, has no picture. The limits are those of `parser`. Images of pages are looked for and
    stored in the shared cache. Raises DocumentError as a parser does.
    """
    found = cut_outs(document)
    if not found:
        return {}
    bounds = {"max_pixels": max_pixels, "max_side": max_side, "max_bytes": max_bytes}
    own = _place(document, found, dpi, folder, bounds)
    state = sealed(own)
    if state == "damaged":
        tell_damage(folder.name, f"the files in {own} are damaged and are made again")
    if state != "sound":
        pages = page_images(document, dpi, folder, parser, shared=shared)
        with temporary_folder(folder) as unfinished:
            _cut(document, found, pages, dpi, bounds, unfinished)
            publish(unfinished, own)
    return {path.stem: path for path in sorted(own.glob("*.png"))}


def not_cut_out(
    documents: Iterable[Document], dpi: int, folder: Path, several_bounds: Iterable[Mapping[str, int]]
) -> list[Document]:
    """Return the documents whose pages must be rendered for `cut_out_images` with one of these bounds."""
    several = [{**dict.fromkeys(("max_pixels", "max_side", "max_bytes")), **each} for each in several_bounds]
    found = [(document, cut_outs(document)) for document in documents]
    return [
        document
        for document, those in found
        if those and any(sealed(_place(document, those, dpi, folder, each)) != "sound" for each in several)
    ]


def _place(
    document: Document, found: list[CutOut], dpi: int, folder: Path, bounds: Mapping[str, int | None]
) -> Path:
    """The folder for the pictures of the figures and tables of a document."""
    renderer = PageRenderer(dpi=dpi, folder=folder).identity()
    boxes = [(each.name, each.bbox) for each in found]
    return folder / fingerprint("cut-outs", renderer, document.sha256, boxes, MARGIN, bounds)


def _cut(
    document: Document,
    found: list[CutOut],
    pages: Mapping[int, Path],
    dpi: int,
    bounds: Mapping[str, int | None],
    folder: Path,
) -> None:
    """Write the pictures of figures and tables as NAME.png."""
    from PIL import Image

    for number in sorted({each.page for each in found} & pages.keys()):
        with Image.open(pages[number]) as page:
            whole = page.convert("RGB")
        scale = _scale(document, number, whole, dpi)
        for each in found:
            if each.page == number and (area := _pixels(each.bbox, scale, whole)) is not None:
                data = png_within(whole.crop(area), **bounds)
                (folder / f"{each.name}.png").write_bytes(data)


def _scale(document: Document, number: int, page: Image, dpi: int) -> float:
    """Return the pixels of a point in the picture of a page. That of a very large page has fewer than `dpi`
    asks for, so the size of the page is then asked for."""
    from fathoms.ingest.workers.pdfium_images import LONGEST_SIDE

    if max(page.size) < LONGEST_SIDE:
        return dpi / _POINTS_PER_INCH
    width, _ = page_thumbnails(document.path, [number], 8)[number].size
    return page.width / width


def _pixels(bbox: Box, scale: float, page: Image) -> tuple[int, int, int, int] | None:
    """Return the pixels of a box with its margin, rounded outwards, as far as they lie on the page; `None` if
    the box lies outside of it."""
    left, top, right, bottom = bbox
    if min(right, bottom) <= 0 or left * scale >= page.width or top * scale >= page.height:
        return None
    x0, y0 = (max(0, math.floor((side - MARGIN) * scale)) for side in (left, top))
    x1, y1 = (math.ceil((side + MARGIN) * scale) for side in (right, bottom))
    return x0, y0, min(page.width, x1), min(page.height, y1)
