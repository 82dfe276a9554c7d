"""A Docling table structure model that uses only words and rules, and needs no weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, Page, Table, TableStructurePrediction
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseTableStructureOptions
from docling.models.base_layout_model import TABLE_LABELS
from docling.models.base_table_model import BaseTableStructureModel
from docling.utils.profiling import TimeRecorder
from docling_core.types.doc import BoundingBox, TableCell
from docling_core.types.doc.page import TextCell

from fathoms.extras.docling_offline.boxes import Box
from fathoms.extras.docling_offline.page_boxes import box_of, page_rules
from fathoms.extras.docling_offline.table_grid import Cell, read_table
from fathoms.extras.docling_offline.table_lines import Word, read_rules


class GeometricTableOptions(BaseTableStructureOptions):  # mypy does not follow Docling
    """Options of the table model `fathoms_geometric`; there is nothing to set."""

    kind: ClassVar[str] = "fathoms_geometric"


class GeometricTableModel(BaseTableStructureModel):  # mypy does not follow Docling
    """Docling's table stage with `table_grid`; it uses the words of the PDF, or the lines of OCR."""

    def __init__(
        self,
        enabled: bool,
        artifacts_path: Path | None,
        options: GeometricTableOptions,
        accelerator_options: AcceleratorOptions,
        enable_remote_services: Literal[False] = False,
    ) -> None:
        self.enabled = enabled
        self.options = options

    @classmethod
    def get_options_type(cls) -> type[GeometricTableOptions]:
        return GeometricTableOptions

    def predict_tables(
        self, conv_res: ConversionResult, pages: Sequence[Page]
    ) -> Sequence[TableStructurePrediction]:
        """Return the structure of every table that the layout model found, per page."""
        predictions = []
        for page in pages:
            prediction = TableStructurePrediction()
            layout = page.predictions.layout
            with TimeRecorder(conv_res, "table_structure"):
                for cluster in layout.clusters if layout else ():
                    if cluster.label in TABLE_LABELS:
                        prediction.table_map[cluster.id] = _table(page, cluster)
            predictions.append(prediction)
        return predictions


def _table(page: Page, cluster: Cluster) -> Table:
    """Read one table region and return it with its cells."""
    area = box_of(cluster.bbox)
    grid = read_table(table_words(page, cluster), read_rules(page_rules(page), area))
    return Table(
        otsl_seq=grid.otsl(),
        num_rows=grid.rows,
        num_cols=grid.columns,
        table_cells=[_table_cell(cell) for cell in grid.cells],
        id=cluster.id,
        page_no=page.page_no,
        cluster=cluster,
        label=cluster.label,
    )


def table_words(page: Page, cluster: Cluster) -> list[Word]:
    """Return the words in a table.

    OCR gives lines rather than words; each line that overlaps no word of the PDF counts as one word.
    """
    area = box_of(cluster.bbox)
    words = list(_words(page.parsed_page.word_cells if page.parsed_page else [], area))
    read = [cell for cell in cluster.cells if cell.from_ocr or not words]
    return words + [
        word for word in _words(read, area) if not any(word.box.shared(other.box) for other in words)
    ]


def _words(cells: Iterable[TextCell], area: Box) -> Iterator[Word]:
    """Yield the text cells that lie in an area and are not blank."""
    for cell in cells:
        word = Word(box_of(cell.rect.to_bounding_box()), cell.text.strip())
        if word.text and word.box.inside(area) > 0.5:
            yield word


def _table_cell(cell: Cell) -> TableCell:
    return TableCell(
        bbox=BoundingBox(l=cell.box.left, t=cell.box.top, r=cell.box.right, b=cell.box.bottom),
        text=cell.text,
        start_row_offset_idx=cell.row,
        end_row_offset_idx=cell.row + cell.rows,
        start_col_offset_idx=cell.column,
        end_col_offset_idx=cell.column + cell.columns,
        row_span=cell.rows,
        col_span=cell.columns,
        column_header=cell.heading,
        row_header=cell.label,
    )
