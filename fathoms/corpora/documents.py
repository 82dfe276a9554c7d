"""Finding the PDFs of a folder by their file names."""

from __future__ import annotations

from pathlib import Path

from fathoms.errors import DataError, UsageError
from fathoms.paths import sha256_file


def find_pdfs(folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The PDFs in a folder and all folders in it, by file name and sorted, and warnings.

    A name that stands for the same bytes twice is a warning, for different ones a DataError: the file
    name is what questions and evidence know a document by. Hidden files are left out.
    Raises UsageError where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of documents")
    found: dict[str, Path] = {}
    warnings = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() != ".pdf" or path.name.startswith(".") or not path.is_file():
            continue
        first = found.setdefault(path.name, path)
        if first is path:
            continue
        if sha256_file(first) != sha256_file(path):
            raise DataError(f"two different documents are called '{path.name}': {first} and {path}")
        warnings.append(f"{path}: the same file as {first}, used once")
    return dict(sorted(found.items())), tuple(warnings)
