"""PyMuPDF, the parser of the FATHOMS-RAG paper. Its licence is the AGPL, so it is a separate extra."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.pdf.parser import ElementKind, LineJoiningParser


class PyMuPDF(LineJoiningParser):
    """Text of each page by `page.get_text()`, and its pictures.

    With `join_lines: false` the text is as PyMuPDF returns it (the paper's first pipeline).

    An image that a page shows several times counts each time. Tables are not searched for, because
    `page.find_tables()` takes twenty times as long as the text and finds only tables with ruling lines.
    """

    inert: ClassVar[bool] = True
    kind: Literal["pymupdf"] = "pymupdf"
    revision: ClassVar[int] = 2
    packages: ClassVar[tuple[str, ...]] = ("pymupdf",)
    extra: ClassVar[str | None] = "pymupdf"
    files_per_child: ClassVar[int] = 200
    reader: ClassVar[str] = "fathoms.ingest.parsers.pymupdf_reader"
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"picture"})
