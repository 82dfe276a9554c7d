"""Parses the PDFs behind imported answers; the result estimates what the other pipeline read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fathoms.corpora.pdfs import find_pdfs
from fathoms.errors import DataError
from fathoms.ingest import Pdfium, PyMuPDF, parse_all
from fathoms.pipeline.external.names import TextPlaces
from fathoms.types import Document


@dataclass(frozen=True)
class ParsedFolder:
    """The parsed documents of a folder.

    `parser` is the name and version of the parser, `warnings` are sentences for the user, and `folder` is an
    absolute path.
    """

    documents: tuple[Document, ...] = ()
    parser: str | None = None
    warnings: tuple[str, ...] = ()
    folder: Path | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the documents."""
        return tuple(document.id for document in self.documents)

    @cached_property
    def texts(self) -> TextPlaces | None:
        """The places of texts in the documents; `None` without documents."""
        return TextPlaces(self.documents) if self.documents else None


NO_DOCUMENTS = ParsedFolder()
"""The value for an import without a folder of documents."""


def parse_folder(folder: Path, parser: Pdfium | PyMuPDF, workers: int = 2) -> ParsedFolder:
    """Parse every PDF in a folder and its subfolders, each in its own process.

    A PDF that cannot be read is left out with a warning. Raises UsageError if the folder does not exist,
    DataError if it contains no readable PDF, and MissingExtraError if the parser is not installed.
    """
    paths, warnings = find_pdfs(folder)
    outcomes = parse_all(parser, list(paths.values()), workers=workers)
    documents = tuple(item for item in outcomes if isinstance(item, Document))
    failures = [str(item) for item in outcomes if not isinstance(item, Document)]
    if not documents:
        raise DataError("\n".join([f"{folder} contains no readable PDF", *failures]))
    repaired = [f"{item.id}: {warning}" for item in documents for warning in item.warnings]
    return ParsedFolder(documents, parser.title, (*warnings, *failures, *repaired), folder.absolute())
