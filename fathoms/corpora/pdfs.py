"""Finds the documents in folders and identifies each by its file name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fathoms.corpora.picture_documents import picture_documents
from fathoms.corpora.transcripts import with_recordings
from fathoms.errors import DataError, UsageError
from fathoms.paths import sha256_file
from fathoms.types import OFFICE, PDF, TRANSCRIPTS

_DOCUMENTS = OFFICE | TRANSCRIPTS | {PDF}


def find_pdfs(folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Find the documents in a folder and its subfolders; return them by file name, sorted, and warnings.

    Questions and evidence refer to a document by its file name, so the name must be unique: two files with
    the same name are a warning if their contents are equal, and a DataError if they differ. Documents are
    PDFs, DOCX, PPTX and HTML files, which not every parser reads, and transcripts, of which PDFs are made
    (`with_recordings`). Hidden files are skipped silently, links to files outside of the folder with a
    warning. A folder without any document is searched for
    pictures of pages, of which PDFs are made (`picture_documents`). Raises UsageError if the folder does not
    exist.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of documents does not exist")
    paths = _documents_under(folder)
    if not paths:
        return picture_documents(folder)
    inside, outside = only_inside(paths, folder)
    made, notes = with_recordings(inside)
    found, twice = _by_name(made)
    return found, outside + notes + twice


def gather_pdfs(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Find the documents of several paths, each a document or a folder, by the rules of `find_pdfs`.

    Raises UsageError for a path that is neither a document nor a folder, and if no document is found at all.
    """
    found: list[Path] = []
    outside: tuple[str, ...] = ()
    for path in paths:
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{path}: there is no such file or folder")
        if path.is_file() and path.suffix.lower() not in _DOCUMENTS:
            known = "or a DOCX, PPTX or HTML file, or a transcript (.vtt, .srt)"
            raise UsageError(f"{path}: expected a PDF or a folder of PDFs, {known}")
        if path.is_dir():
            documents = _documents_under(path)
            made, notes = ({}, ()) if documents else picture_documents(path)
            inside, warnings = only_inside(documents, path)
            found += [*inside, *made.values()]
            outside += warnings + notes
        else:
            found.append(path)
    if not found:
        hint = "\n".join(["no PDF found: name PDFs, or folders that contain PDFs", *outside])
        raise UsageError(hint)
    recorded, notes = with_recordings(dict.fromkeys(found))
    named, twice = _by_name(recorded)
    return named, outside + notes + twice


def only_inside(paths: Iterable[Path], folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the paths whose files are inside the folder, and a warning for every link that leads out of it.

    This is a security check: a data set from somebody else must not make fathoms read other files of this
    machine and send them to a model.
    """
    found, warnings = [], []
    inside = folder.resolve()
    leads: dict[Path, bool] = {}  # folders are resolved once for all of their files
    for path in paths:
        if leads_out(path, inside) if path.is_symlink() else _leads_out_once(path.parent, inside, leads):
            warnings.append(f"{path}: left out: it links to a file outside {folder}; move that file there")
        else:
            found.append(path)
    return found, tuple(warnings)


def _leads_out_once(folder: Path, resolved_folder: Path, known: dict[Path, bool]) -> bool:
    """Return `leads_out` of a folder, which is kept in `known`."""
    if folder not in known:
        known[folder] = leads_out(folder, resolved_folder)
    return known[folder]


def leads_out(path: Path, resolved_folder: Path) -> bool:
    """Return whether a path is outside of the folder after its symbolic links are resolved."""
    try:
        return not path.resolve().is_relative_to(resolved_folder)
    except (OSError, RuntimeError):  # a link to itself is reported as a document that cannot be read
        return False


def _documents_under(folder: Path) -> list[Path]:
    """Return everything in a folder and its subfolders whose name ends as that of a document, sorted, without
    hidden files and the files `~$NAME` with which Office marks documents that are open.

    Broken links, pipes and folders with such names are included, so that each is reported as a document
    that cannot be read instead of being left out silently.
    """
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in _DOCUMENTS and not path.name.startswith((".", "~$"))
    ]


def _by_name(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the documents by file name, and warnings about copies. Raises DataError for two different files
    with the same name."""
    found: dict[str, Path] = {}
    warnings = []
    for path in paths:
        first = found.setdefault(path.name, path)
        if first is path:
            continue
        try:
            same = first.is_file() and path.is_file() and sha256_file(first) == sha256_file(path)
        except OSError:  # a file that cannot be read counts as different
            same = False
        if not same:
            raise DataError(f"two different documents are called '{path.name}': {first} and {path}")
        warnings.append(f"{path}: the same file as {first}, used once")
    return dict(sorted(found.items())), tuple(warnings)
