"""Docling's pipeline for PDFs, drawing each page once, at the resolution that the layout model needs.

Docling draws every page at one pixel per point when it is read. Our layout model looks at a sharper picture,
for which the page was drawn again, and the first picture was never used. Drawing took a fifth of the CPU time
of a page.

This module imports Docling, so only the child process may import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docling.models.stages.page_preprocessing.page_preprocessing_model import (
    PagePreprocessingModel,
    PagePreprocessingOptions,
)
from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline

if TYPE_CHECKING:
    from docling.datamodel.base_models import Page


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
