"""PDFium, the parser of Chrome: quick, and free for every use. The core's default."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.pdf.parser import ElementKind, PdfParser


class Pdfium(PdfParser):
    r"""Text and pictures of each page by PDFium (pypdfium2).

    The text is in the order of the page's content. A hyphen at the end of a line is kept with its line break
    (`exam-\nple`), because nothing tells whether it belongs to the word. Pictures are the images on a page,
    not drawings made of lines. Tables are not searched for.
    """

    inert: ClassVar[bool] = True
    kind: Literal["pdfium"] = "pdfium"
    revision: ClassVar[int] = 2
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    files_per_child: ClassVar[int] = 200
    reader: ClassVar[str] = "fathoms.ingest.parsers.pdfium_reader"
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"picture"})
