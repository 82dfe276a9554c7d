"""A Docling layout model whose weights need no hub: PicoDet, trained on the ten classes of CDLA."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, LayoutPrediction, Page
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseLayoutOptions
from docling.models.base_layout_model import BaseLayoutModel
from docling.utils.profiling import TimeRecorder
from docling_core.types.doc import BoundingBox, DocItemLabel
from pydantic import Field

from fathoms.extras.docling_offline.boxes import Box
from fathoms.extras.docling_offline.layout_detector import Region, load
from fathoms.extras.docling_offline.layout_ink import ink_blocks
from fathoms.extras.docling_offline.layout_regions import CERTAIN, PageContent, refine
from fathoms.extras.docling_offline.page_boxes import box_of, page_bitmaps, page_drawings, page_rules
from fathoms.extras.docling_offline.table_lines import Word
from fathoms.models.weights.weights import locate

if TYPE_CHECKING:
    from PIL.Image import Image

LABELS = {
    "text": DocItemLabel.TEXT,
    "title": DocItemLabel.SECTION_HEADER,
    "figure": DocItemLabel.PICTURE,
    "figure_caption": DocItemLabel.CAPTION,
    "table": DocItemLabel.TABLE,
    "table_caption": DocItemLabel.CAPTION,
    "header": DocItemLabel.PAGE_HEADER,
    "footer": DocItemLabel.PAGE_FOOTER,
    "reference": DocItemLabel.TEXT,
    "equation": DocItemLabel.FORMULA,
}
DOCLING_THRESHOLD = 0.5
"""The score below which Docling's post-processing drops a region. It fits Docling's own models, whose
scores are higher than PicoDet's."""


class CdlaLayoutOptions(BaseLayoutOptions):  # mypy does not follow Docling
    """Options of the layout model `fathoms_cdla`; `fathoms models pull layout-cdla` fetches its weights."""

    kind: ClassVar[str] = "fathoms_cdla"

    weights: str = "layout-cdla"
    """The name of the asset, or the path of the ONNX file."""
    confidence: float = Field(default=0.4, gt=0, lt=1)
    """The minimum score of a region."""
    scale: float = Field(default=1.5, gt=0, le=100)
    """Resolution of the page image in pixels per point; the model then scales the image to 608 by 800."""


class CdlaLayoutModel(BaseLayoutModel):  # mypy does not follow Docling
    """Docling's layout stage with PicoDet; Docling's own post-processing assigns the text to the regions."""

    def __init__(
        self,
        artifacts_path: Path | None,
        accelerator_options: AcceleratorOptions,
        options: CdlaLayoutOptions,
        enable_remote_services: bool = False,
    ) -> None:
        self.options = options
        self._detector = load(str(locate(options.weights)), accelerator_options.num_threads)

    @classmethod
    def get_options_type(cls) -> type[CdlaLayoutOptions]:
        return CdlaLayoutOptions

    def predict_layout(self, conv_res: ConversionResult, pages: Sequence[Page]) -> Sequence[LayoutPrediction]:
        """Return the regions of every page, without their text."""
        predictions = []
        for page in pages:
            with TimeRecorder(conv_res, "layout"):
                regions = self._regions(page)
            clusters = [self._cluster(number, region) for number, region in enumerate(regions)]
            predictions.append(LayoutPrediction(clusters=clusters))
        return predictions

    def _regions(self, page: Page) -> list[Region]:
        """Return the regions that the model finds on a page, corrected with what the PDF says. A page that
        could not be read has none."""
        if page._backend is None or not page._backend.is_valid() or page.size is None:
            return []
        image = page.get_image(scale=self.options.scale)
        if image is None:
            return []
        area = Box(0, 0, page.size.width, page.size.height)
        content = page_content(page, area)
        found = refine(self._detector.detect(image, area, self.options.confidence), content)
        return [*found, *scan_regions(image, area, found)] if content.scanned else found

    def _cluster(self, number: int, region: Region) -> Cluster:
        """Convert a region to a Docling cluster. Scores from `confidence` to 1 are mapped linearly to
        `DOCLING_THRESHOLD` to 1, so that Docling drops no region."""
        least = self.options.confidence
        box = region.box
        return Cluster(
            id=number,
            label=LABELS[region.label],
            bbox=BoundingBox(l=box.left, t=box.top, r=box.right, b=box.bottom),
            confidence=DOCLING_THRESHOLD
            + (1 - DOCLING_THRESHOLD) * max(0.0, region.score - least) / (1 - least),
        )


def scan_regions(image: Image, area: Box, found: Sequence[Region]) -> list[Region]:
    """Return additional regions for a scan: ink outside the known regions as text, and the page as a figure.

    Docling runs OCR only inside regions. The figure makes it read the whole page; Docling's post-processing
    drops a picture that covers a page. The text regions keep the lines of a paragraph together.
    """
    blocks = ink_blocks(image, area, [region.box for region in found])
    return [*(Region("text", CERTAIN, block) for block in blocks), Region("figure", CERTAIN, area)]


def page_content(page: Page, area: Box) -> PageContent:
    """Return what the PDF itself draws on a page: words, rules, drawings and bitmaps."""
    cells = page.parsed_page.word_cells if page.parsed_page else []
    return PageContent(
        page=area,
        words=[Word(box_of(cell.rect.to_bounding_box()), cell.text) for cell in cells if cell.text.strip()],
        rules=page_rules(page),
        drawings=page_drawings(page),
        bitmaps=page_bitmaps(page),
    )
