"""The PDFs behind imported answers, as our parser reads them: an estimate of what another pipeline read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fathoms.config import package_version
from fathoms.corpora.documents import find_pdfs
from fathoms.errors import DataError
from fathoms.ingest import Pdfium, PyMuPDF, parse_all
from fathoms.types import Document


@dataclass(frozen=True)
class Parsed:
    """Documents of a folder as `parser` (its name and version) reads them; `warnings` are sentences for
    people."""

    documents: tuple[Document, ...] = ()
    parser: str | None = None
    warnings: tuple[str, ...] = ()
    folder: Path | None = None


NO_DOCUMENTS = Parsed()
"""The documents of an import that was given none."""


def parse_folder(folder: Path, parser: Pdfium | PyMuPDF, workers: int = 2) -> Parsed:
    """Read every PDF under a folder, each in a process of its own.

    One that cannot be read is left out, and named in the warnings. Raises UsageError where there is no such
    folder, DataError where it holds no PDF that can be read, and MissingExtraError for a missing parser.
    """
    paths, warnings = find_pdfs(folder)
    outcomes = parse_all(parser, list(paths.values()), workers=workers)
    documents = tuple(item for item in outcomes if isinstance(item, Document))
    failures = [str(item) for item in outcomes if not isinstance(item, Document)]
    if not documents:
        raise DataError("\n".join([f"{folder} holds no PDF that can be read", *failures]))
    repaired = [f"{item.id}: {warning}" for item in documents for warning in item.warnings]
    package = parser.packages[0]
    name = f"{parser.kind} ({package} {package_version(package)})"
    return Parsed(documents, name, (*warnings, *failures, *repaired), folder.absolute())
