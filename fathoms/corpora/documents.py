"""Finding the PDFs of a folder by their file names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fathoms.errors import DataError, UsageError
from fathoms.paths import sha256_file


def find_pdfs(folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The PDFs in a folder and all folders in it, by file name and sorted, and warnings.

    A name that stands for the same bytes twice is a warning, for different ones a DataError: the file
    name is what questions and evidence know a document by. Hidden files are left out, and links to files
    that are not in the folder. Raises UsageError where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of documents")
    inside, outside = only_inside(_pdfs_under(folder), folder)
    found, twice = _by_name(inside)
    return found, outside + twice


def gather_pdfs(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The same for several paths, each a folder or a PDF.

    Raises UsageError also for what is neither, and where there is no PDF at all.
    """
    found: list[Path] = []
    outside: tuple[str, ...] = ()
    for path in paths:
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{path}: no such PDF or folder of PDFs")
        if path.is_file() and path.suffix.lower() != ".pdf":
            raise UsageError(f"{path}: want a PDF, or a folder of PDFs")
        if path.is_dir():
            inside, warnings = only_inside(_pdfs_under(path), path)
            found += inside
            outside += warnings
        else:
            found.append(path)
    if not found:
        hint = "\n".join(["no PDF there: name PDFs, or folders that hold some", *outside])
        raise UsageError(hint)
    named, twice = _by_name(dict.fromkeys(found))
    return named, outside + twice


def only_inside(paths: Iterable[Path], folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The paths whose files are in the folder, and a warning for every link that leads out of it.

    A data set that somebody handed over must not make us read, and send to a model, other files of this
    machine.
    """
    found, warnings = [], []
    for path in paths:
        if leads_out(path, folder):
            warnings.append(f"{path}: left out: it links to a file that is not in {folder}; put that there")
        else:
            found.append(path)
    return found, tuple(warnings)


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path in a folder stands for a file that is not in that folder."""
    return not path.resolve().is_relative_to(folder.resolve())


def _pdfs_under(folder: Path) -> list[Path]:
    """Everything in a folder and all folders in it that is called a PDF.

    A link to nothing, a pipe or a folder of such a name is among it: it is reported as a document that
    cannot be read when its turn comes. Left out here, it would be missing without a word.
    """
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".pdf" and not path.name.startswith(".")
    ]


def _by_name(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """PDFs by file name, and warnings; raises DataError for two different ones of one name."""
    found: dict[str, Path] = {}
    warnings = []
    for path in paths:
        first = found.setdefault(path.name, path)
        if first is path:
            continue
        if not _same(first, path):
            raise DataError(f"two different documents are called '{path.name}': {first} and {path}")
        warnings.append(f"{path}: the same file as {first}, used once")
    return dict(sorted(found.items())), tuple(warnings)


def _same(first: Path, second: Path) -> bool:
    """Whether two files hold the same bytes; what cannot be read is not the same as anything."""
    try:
        return first.is_file() and second.is_file() and sha256_file(first) == sha256_file(second)
    except OSError:
        return False
