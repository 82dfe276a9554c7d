"""PDFium, the parser of Chrome: quick, and free for every use. The core's default."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.pdf.parser import ElementKind, LineJoiningParser


class Pdfium(LineJoiningParser):
    r"""Text and pictures of each page by PDFium (pypdfium2).

    The text is in the order of the page's content; the values of form fields and free-text annotations come
    after it. Pictures are the images on a page, not drawings made of lines. Tables are not searched for. A
    page where PDFium leaves text out, because a font is not in the file, is read by PyMuPDF if that is
    installed; a warning says so.
    """

    inert: ClassVar[bool] = True
    kind: Literal["pdfium"] = "pdfium"
    revision: ClassVar[int] = 3
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pymupdf")
    files_per_child: ClassVar[int] = 200
    reader: ClassVar[str] = "fathoms.ingest.parsers.pdfium_reader"
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"picture"})
