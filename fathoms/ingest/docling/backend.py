"""Docling's own PDF backend, with its page images drawn by PDFium.

The text comes from docling-parse, as by default. Its renderer, new in Docling, leaves images of some kinds
as plain yellow boxes (JPEG 2000, run-length: docling-parse 7.23), and then a scanned page has nothing that
OCR could read, without a word of warning. Docling drew its pages by PDFium before, in the paper's days too.
Imports Docling, therefore only for the child process.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2 as pdfium
from docling.backend.docling_parse_backend import (
    ThreadedDoclingParseDocumentBackend,
    ThreadedDoclingParsePageBackend,
)
from docling.datamodel.backend_options import PdfBackendOptions
from docling.utils.locks import pypdfium2_lock
from docling_core.types.doc import BoundingBox
from PIL.Image import Resampling

if TYPE_CHECKING:
    from docling.datamodel.document import InputDocument
    from PIL.Image import Image

SHARPER = 2
"""Pages are drawn this much larger and shrunk, which keeps thin strokes: so does Docling's PDFium backend."""


class PdfiumImagesBackend(ThreadedDoclingParseDocumentBackend):  # type: ignore[misc]
    """Text by docling-parse, images by PDFium."""

    def __init__(
        self,
        in_doc: InputDocument,
        path_or_stream: BytesIO | Path,
        options: PdfBackendOptions | None = None,
    ) -> None:
        super().__init__(in_doc, path_or_stream, options)
        with pypdfium2_lock:
            self._pdfium = pdfium.PdfDocument(path_or_stream)

    def iter_pages(self) -> Iterator[ThreadedDoclingParsePageBackend]:
        """The pages as they are parsed."""
        for page in super().iter_pages():
            yield PdfiumImagesPage(page, self._pdfium)

    def unload(self) -> None:
        """Let go of both documents."""
        super().unload()
        with pypdfium2_lock:
            self._pdfium.close()


class PdfiumImagesPage(ThreadedDoclingParsePageBackend):  # type: ignore[misc]
    """A page whose image PDFium draws."""

    def __init__(self, page: ThreadedDoclingParsePageBackend, document: pdfium.PdfDocument) -> None:
        super().__init__(page._result)
        self._document = document

    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image:
        """The page or a part of it, `scale` pixels a point; by docling-parse where PDFium refuses it."""
        size = self.get_size()
        box = cropbox or BoundingBox(l=0, t=0, r=size.width, b=size.height)
        part = box.to_top_left_origin(size.height)
        margins = (part.l, size.height - part.b, size.width - part.r, part.t)
        try:
            with pypdfium2_lock:
                page = self._document[self.page_no - 1]
                drawn: Image = page.render(scale=scale * SHARPER, crop=margins).to_pil().convert("RGB")
                page.close()
        except (pdfium.PdfiumError, ValueError):  # ValueError: a part without area
            drawn = super().get_page_image(scale, cropbox)
        pixels = (max(1, round(part.width * scale)), max(1, round(part.height * scale)))
        return drawn.resize(pixels, Resampling.BOX)
