"""Builds a Docling converter from plain settings and converts documents with it.

This runs in a child process. Importing the module loads no model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from fathoms import hooks
from fathoms.executors import OnPage
from fathoms.ingest.docling.options import CdlaLayout, GeometricTables
from fathoms.models.weights.hub import repair_torchvision
from fathoms.pdf.raw import RawDocument
from fathoms.types import OFFICE

if TYPE_CHECKING:
    from docling.datamodel.document import ConversionResult
    from docling.datamodel.pipeline_options import PdfPipelineOptions

UNSEEN = 0.1
"""Resolution, in pixels per point, at which docling-parse renders pages. It reports their lines only if it
renders, but PDFium draws the images that are used (see `backend`), so the lowest resolution will do."""


class Answer(TypedDict):
    """The result of a conversion.

    `raw` holds the pages, `native` Docling's document as JSON (see `export`), and `failed` the error
    message for each page that failed, by page number.
    """

    raw: RawDocument
    native: str
    failed: dict[int, str]


class RefusedError(Exception):
    """A PDF cannot be read at all; `reason` is one of DocumentError's, `detail` a sentence for the user."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class Converter:
    """A Docling converter with its models loaded; it converts one document at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        repair_torchvision()
        from docling.datamodel.backend_options import HTMLBackendOptions, ThreadedDoclingParseBackendOptions
        from docling.datamodel.base_models import InputFormat
        from docling.document_converter import DocumentConverter, HTMLFormatOption, PdfFormatOption

        from fathoms.ingest.docling.backend import DrawsOncePipeline, PdfiumImagesBackend

        self._picture_text = settings["picture_text"]
        option = PdfFormatOption(
            pipeline_cls=DrawsOncePipeline,
            pipeline_options=pipeline_options(settings),
            backend=PdfiumImagesBackend,
            backend_options=ThreadedDoclingParseBackendOptions(
                parser_threads=settings["threads"], render_scale=UNSEEN
            ),
        )
        # a page from somebody else must not make this machine read its files or ask other servers
        html = HTMLFormatOption(
            backend_options=HTMLBackendOptions(enable_local_fetch=False, enable_remote_fetch=False)
        )
        self._docling = DocumentConverter(
            [InputFormat.PDF, InputFormat.DOCX, InputFormat.PPTX, InputFormat.HTML],
            {InputFormat.PDF: option, InputFormat.HTML: html},
        )
        self._docling.initialize_pipeline(InputFormat.PDF)

    def read(self, path: Path, first: int, last: int, on_page: OnPage) -> Answer:
        """Convert the pages from `first` to `last`, both inclusive and counted from 1.

        `on_page` is called with the numbers of completed and of all pages: once at the start, then after each
        page. Raises RefusedError for a PDF that cannot be opened. Pages that fail are listed in `failed`.
        An office or web document is converted at once and without `on_page`, because Docling reports no
        pages of it; it fails as a whole.
        """
        if path.suffix.lower() in OFFICE:
            return self._office(path, last)
        from docling.datamodel.progress import ConversionProgressEvent, PageCompletedProgress

        from fathoms.ingest.docling.export import Conversion

        def hear(event: ConversionProgressEvent) -> None:
            if isinstance(event, PageCompletedProgress):
                on_page(event.completed_pages, event.total_pages)

        count, complaints = inspect(path)
        if count == 0:
            empty: RawDocument = {"page_count": 0, "pages": [], "warnings": complaints}
            return {"raw": empty, "native": "", "failed": {}}
        on_page(0, max(0, min(count, last) - first + 1))
        result = self._docling.convert(
            path, raises_on_error=False, page_range=(first, last), progress_callback=hear
        )
        failed = failures(result)
        conversion = Conversion(result.document, result.input.page_count, tuple(complaints))
        raw = conversion.raw(self._picture_text)
        return {"raw": raw, "native": conversion.pack(), "failed": failed}

    def _office(self, path: Path, last: int) -> Answer:
        """Convert an office or web document, of a PPTX file the slides up to `last`."""
        from fathoms.ingest.docling.export import Conversion, to_points

        result = self._docling.convert(path, raises_on_error=False, page_range=(1, last))
        if failed := failures(result, "save it again, or save it as PDF"):
            raise RefusedError("damaged", f"cannot be converted ({'; '.join(failed.values())})")
        if path.suffix.lower() == ".pptx":
            to_points(result.document)
        conversion = Conversion(result.document, result.input.page_count or 1)
        return {"raw": conversion.raw(self._picture_text), "native": conversion.pack(), "failed": {}}


def inspect(path: Path) -> tuple[int, list[str]]:
    """Return the number of pages according to PDFium, and warnings about repairs.

    Raises RefusedError for a file that PDFium cannot open.
    """
    import pypdfium2 as pdfium
    import pypdfium2.raw as pdfium_c

    from fathoms.ingest.parsers.pdfium_reader import refusal

    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        raise RefusedError(*refusal(error.err_code)) from error
    with document:
        sound = pdfium_c.FPDF_DocumentHasValidCrossReferenceTable(document)
        return len(document), [] if sound else ["repaired: the cross-reference table was rebuilt"]


def failures(result: ConversionResult, advice: str = "fetch it again, or try kind: pdfium") -> dict[int, str]:
    """Return the error message for each failed page; raises RefusedError, with advice, if the whole document
    failed."""
    from docling.datamodel.base_models import ConversionStatus

    failed = {error.page_no: error.error_message for error in result.errors if error.page_no is not None}
    if result.status is ConversionStatus.FAILURE and not failed:
        said = "; ".join(error.error_message for error in result.errors) or "Docling gives no reason"
        raise RefusedError("damaged", f"cannot be converted ({said}); {advice}")
    return failed


def pipeline_options(settings: dict[str, Any]) -> PdfPipelineOptions:
    """Return Docling's pipeline options for the settings of the three stages."""
    from docling.datamodel import pipeline_options as docling
    from docling.datamodel.accelerator_options import AcceleratorOptions

    ocr, layout, tables = settings["ocr"], settings["layout"], settings["tables"]
    options = docling.PdfPipelineOptions(
        do_ocr=ocr["kind"] != "none",
        do_table_structure=tables["kind"] != "none",
        layout_options=docling.LayoutObjectDetectionOptions()
        if layout["kind"] == "docling"
        else hooks.needed(CdlaLayout.provided_as).get_options_type()(weights=layout["weights"]),
        allow_external_plugins=settings["plugins"],
        accelerator_options=AcceleratorOptions(num_threads=settings["threads"], device=settings["device"]),
        ocr_batch_size=1,  # gives progress per page, at no cost: EasyOCR reads each page separately anyway
    )
    if options.do_ocr:
        options.ocr_options = docling.EasyOcrOptions(
            lang=list(ocr["languages"]),
            mode=docling.OcrMode.FULL_PAGE if ocr["full_page"] else docling.OcrMode.DEFAULT,
            scale=ocr["scale"],
            model_storage_directory=ocr["weights"],
            download_enabled=ocr["weights"] is None,
        )
    if tables["kind"] == "tableformer":
        options.table_structure_options = docling.TableStructureOptions(
            do_cell_matching=tables["cell_matching"], mode=docling.TableFormerMode(tables["mode"])
        )
    elif options.do_table_structure:
        options.table_structure_options = hooks.needed(GeometricTables.provided_as).get_options_type()()
    return options
