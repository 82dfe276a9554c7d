"""Finding the PDFs of a folder by their file names."""

from __future__ import annotations

from collections.abc import Iterable
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
    return _by_name(_pdfs_under(folder))


def gather_pdfs(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The same for several paths, each a folder or a PDF.

    Raises UsageError also for what is neither, and where there is no PDF at all.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{path}: no such PDF or folder of PDFs")
        if path.is_file() and path.suffix.lower() != ".pdf":
            raise UsageError(f"{path}: want a PDF, or a folder of PDFs")
        found += _pdfs_under(path) if path.is_dir() else [path]
    if not found:
        raise UsageError("no PDF there: name PDFs, or folders that hold some")
    return _by_name(dict.fromkeys(found))


def _pdfs_under(folder: Path) -> list[Path]:
    """The PDFs in a folder and all folders in it."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".pdf" and not path.name.startswith(".") and path.is_file()
    ]


def _by_name(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """PDFs by file name, and warnings; raises DataError for two different ones of one name."""
    found: dict[str, Path] = {}
    warnings = []
    for path in paths:
        first = found.setdefault(path.name, path)
        if first is path:
            continue
        if sha256_file(first) != sha256_file(path):
            raise DataError(f"two different documents are called '{path.name}': {first} and {path}")
        warnings.append(f"{path}: the same file as {first}, used once")
    return dict(sorted(found.items())), tuple(warnings)
