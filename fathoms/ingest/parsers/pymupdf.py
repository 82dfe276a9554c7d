"""PyMuPDF, the parser of the FATHOMS-RAG paper. AGPL, therefore an extra of its own."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.ingest.parsers.base import ElementKind, PdfParser


class PyMuPDF(PdfParser):
    """Text of each page as `page.get_text()` gives it (the paper's first pipeline), and its pictures.

    A picture is an image shown on the page, each time that it is shown. Tables are not looked for:
    `page.find_tables()` is twenty times slower than the text and finds ruled ones only.
    """

    kind: Literal["pymupdf"] = "pymupdf"
    packages: ClassVar[tuple[str, ...]] = ("pymupdf",)
    extra: ClassVar[str | None] = "pymupdf"
    reader: ClassVar[str] = "fathoms.ingest.parsers.pymupdf_reader"
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"picture"})
