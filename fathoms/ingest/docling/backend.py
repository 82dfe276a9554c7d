"""How Docling reads and draws the pages of a PDF: text from docling-parse, and images from PDFium, once for
each page and at the resolution that the layout model needs.

Text extraction is Docling's default. The renderer of docling-parse, however, draws some images (JPEG 2000 and
run-length encoded ones, as of docling-parse 7.23) as plain yellow boxes without a warning, so that OCR finds
nothing on such a scanned page. Earlier Docling versions, such as that of the paper, rendered with PDFium.

Docling draws every page at one pixel per point when it is read. Our layout model looks at a sharper picture,
for which the page was drawn again, and the first picture was never used. Drawing took a fifth of the CPU time
of a page.

This module imports Docling, so only the child process may import it.
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
from docling.models.stages.page_preprocessing.page_preprocessing_model import (
    PagePreprocessingModel,
    PagePreprocessingOptions,
)
from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline
from docling.utils.locks import pypdfium2_lock
from docling_core.types.doc import BoundingBox
from PIL.Image import Resampling

if TYPE_CHECKING:
    from docling.datamodel.base_models import Page
    from docling.datamodel.document import InputDocument
    from PIL.Image import Image

SHARPER = 2
"""Pages are rendered larger by this factor and then scaled down, which preserves thin strokes; Docling's own
PDFium backend does the same."""


class PdfiumImagesBackend(ThreadedDoclingParseDocumentBackend):  # type: ignore[misc]
    """A document backend with text from docling-parse and page images from PDFium."""

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
        """Yield each page as soon as it is parsed."""
        for page in super().iter_pages():
            yield PdfiumImagesPage(page, self._pdfium)

    def unload(self) -> None:
        """Close the document in both libraries."""
        super().unload()
        with pypdfium2_lock:
            self._pdfium.close()


class PdfiumImagesPage(ThreadedDoclingParsePageBackend):  # type: ignore[misc]
    """A page backend whose image is rendered by PDFium."""

    def __init__(self, page: ThreadedDoclingParsePageBackend, document: pdfium.PdfDocument) -> None:
        super().__init__(page._result)
        self._document = document

    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image:
        """Render the page or its part `cropbox` at `scale` pixels per point.

        Falls back to docling-parse if PDFium cannot render it.
        """
        size = self.get_size()
        box = cropbox or BoundingBox(l=0, t=0, r=size.width, b=size.height)
        part = box.to_top_left_origin(size.height)
        margins = (part.l, size.height - part.b, size.width - part.r, part.t)
        try:
            with pypdfium2_lock:
                page = self._document[self.page_no - 1]
                # pixels of four bytes, red first, are what Pillow takes over without a copy
                drawn: Image = page.render(
                    scale=scale * SHARPER, crop=margins, prefer_bgrx=True, rev_byteorder=True
                ).to_pil()
                page.close()
        except (pdfium.PdfiumError, ValueError):  # ValueError: a part without area
            drawn = super().get_page_image(scale, cropbox)
        pixels = (max(1, round(part.width * scale)), max(1, round(part.height * scale)))
        if drawn.size == (pixels[0] * SHARPER, pixels[1] * SHARPER):
            drawn = drawn.reduce(SHARPER)  # the means that `resize` calculates, several times as fast
        else:
            drawn = drawn.resize(pixels, Resampling.BOX)
        return drawn.convert("RGB")


class DrawsOncePipeline(StandardPdfPipeline):  # type: ignore[misc]
    """Docling's pipeline; stages that need a page at another resolution get it drawn when they ask."""

    def _init_models(self) -> None:
        super()._init_models()
        scale = getattr(self.pipeline_options.layout_options, "scale", 1.0)  # Docling's own models take 1.0
        self.preprocessing_model: PagePreprocessingModel = DrawsOnce(self.preprocessing_model.options, scale)


class DrawsOnce(PagePreprocessingModel):  # type: ignore[misc]
    """Docling's first stage, which draws pages at `scale` pixels per point."""

    def __init__(self, options: PagePreprocessingOptions, scale: float) -> None:
        super().__init__(options)
        self._scale = scale

    def _populate_page_images(self, page: Page) -> Page:
        page.get_image(scale=self._scale)
        return page
