"""Finds the documents in folders and names each by its file name, or by its path where that repeats."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from fathoms.corpora.picture_documents import picture_documents
from fathoms.corpora.transcripts import with_recordings
from fathoms.errors import DataError, UsageError
from fathoms.paths import sha256_file
from fathoms.safety.inputs import READ_ONLY
from fathoms.types import OFFICE, PDF, TRANSCRIPTS, in_one_form

_DOCUMENTS = OFFICE | TRANSCRIPTS | {PDF}
_OWN_FOLDERS = ({"manifest.json", "journal.jsonl"}, {"report.html", "report.json"})
"""Files by which a folder is known as a run or a report of fathoms."""
_TAIL, _END = 4096, b"%%EOF"
_SHOWN = 3
"""The most names of files that a warning gives."""


def find_pdfs(folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Find the documents in a folder and its subfolders; return them by name, sorted, and warnings.

    Questions and evidence refer to a document by its file name. Where several files have the same name, it is
    the path below the folder (`2023/report.pdf`), and files with equal contents are used once, with a
    warning. Documents are
    PDFs, DOCX, PPTX and HTML files, which not every parser reads, and transcripts, of which PDFs are made
    (`with_recordings`). Hidden files and folders, links to files outside of the folder, runs and reports of
    fathoms are left out with a warning. A folder without any document is searched for
    pictures of pages, of which PDFs are made (`picture_documents`). Raises UsageError if the folder does not
    exist.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of documents does not exist")
    paths, left_out = _documents_under(folder)
    if not paths:
        pictures, notes = picture_documents(folder)
        return pictures, left_out + notes
    inside, outside = only_inside(paths, folder)
    pdfs, notes = with_recordings(inside)
    found, twice = _by_name([_File(folder, path, file) for path, file in zip(inside, pdfs, strict=True)])
    return found, left_out + outside + notes + twice


def gather_pdfs(paths: Iterable[Path]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Find the documents of several paths, each a document or a folder, by the rules of `find_pdfs`.

    Raises UsageError for a path that is neither a document nor a folder, and if no document is found at all.
    """
    found: list[tuple[Path, Path]] = []  # each document with the folder below which it is named
    outside: tuple[str, ...] = ()
    for path in paths:
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{path}: there is no such file or folder")
        if path.is_file() and path.suffix.lower() not in _DOCUMENTS:
            known = "or a DOCX, PPTX or HTML file, or a transcript (.vtt, .srt)"
            raise UsageError(f"{path}: expected a PDF or a folder of PDFs, {known}")
        if path.is_dir():
            documents, left_out = _documents_under(path)
            from_pictures, notes = ({}, ()) if documents else picture_documents(path)
            inside, warnings = only_inside(documents, path)
            found += [(path, each) for each in (*inside, *from_pictures.values())]
            outside += left_out + warnings + notes
        else:
            found.append((path.parent, path))
    if not found:
        hint = "\n".join(["no PDF found: name PDFs, or folders that contain PDFs", *outside])
        raise UsageError(hint)
    found = list({path: (folder, path) for folder, path in found}.values())
    recorded, notes = with_recordings(path for _, path in found)
    named, twice = _by_name([_File(*one, file) for one, file in zip(found, recorded, strict=True)])
    return named, outside + notes + twice


def cut_short(path: Path) -> str | None:
    """Return what is wrong with a PDF whose end is missing, as after a download that broke off; `None` for
    any other file.

    Parsers repair such a file as well as they can; a service that it is sent to may read a part of it, or
    refuse it. Readers of PDFs look for `%%EOF` in the last 1,024 bytes; four times as many are read here,
    because some programs append something. Parsers look too, in a process that imports nothing of fathoms.
    """
    if not path.name.lower().endswith(PDF):
        return None
    try:
        descriptor = os.open(path, READ_ONLY)  # half the time of `Path.open`, for each of thousands
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not S_ISREG(found.st_mode):
            return None
        os.lseek(descriptor, max(0, found.st_size - _TAIL), os.SEEK_SET)  # Windows has no `os.pread`
        tail = os.read(descriptor, _TAIL)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None if _END in tail else "its end is missing, so it may be cut: get it once more"


def only_inside(paths: Iterable[Path], folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the paths whose files are inside the folder, and a warning for every link that leads out of it.

    This is a security check: a data set from somebody else must not make fathoms read other files of this
    machine and send them to a model.
    """
    found, warnings = [], []
    inside = folder.resolve()
    leads: dict[str, bool] = {}  # folders are resolved once for all of their files
    for path in paths:
        where = os.path.dirname(path)  # noqa: PTH120 - a path for each of thousands would be slow
        if os.path.islink(path):  # noqa: PTH114
            where = str(path)
        if where not in leads:
            leads[where] = leads_out(Path(where), inside)
        if leads[where]:
            warnings.append(f"{path}: left out: it links to a file outside {folder}; move that file there")
        else:
            found.append(path)
    return found, tuple(warnings)


def leads_out(path: Path, resolved_folder: Path) -> bool:
    """Return whether a path is outside of the folder after its symbolic links are resolved."""
    try:
        return not path.resolve().is_relative_to(resolved_folder)
    except (OSError, RuntimeError):  # a link to itself is reported as a document that cannot be read
        return False


def _documents_under(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return everything in a folder and its subfolders whose name ends as that of a document, sorted, and
    warnings about what is left out: hidden files and folders, and runs and reports of fathoms, whose pages
    and plots would be documents too. The files `~$NAME`, with which Office marks documents that are open, are
    no documents.

    Broken links, pipes and folders with such names are included, so that each is reported as a document
    that cannot be read instead of being left out silently.
    """
    found: list[Path] = []
    hidden: list[str] = []
    own: list[str] = []
    for where, folders, files in os.walk(folder):
        here = Path(where)
        if here != folder and any(typical.issubset(files) for typical in _OWN_FOLDERS):
            own.append(here.relative_to(folder).as_posix())
            folders.clear()
            continue
        for name in filter(_is_document, (*folders, *files)):
            if name.startswith("."):
                hidden.append((here / name).relative_to(folder).as_posix())
            else:
                found.append(here / name)
        # a hidden folder holds the files of some program, such as an environment of Python
        programs = [name for name in folders if name.startswith(".") and not _is_document(name)]
        hidden += [
            (here / name).relative_to(folder).as_posix() for name in programs if _holds_any(here / name)
        ]
        folders[:] = [name for name in folders if not name.startswith(".")]
    warnings = [
        f"{folder}: left out, {why}: {', '.join(sorted(names)[:_SHOWN])}"
        + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for why, names in (("hidden", hidden), ("made by fathoms", own))
        if names
    ]
    return sorted(found, key=lambda path: path.parts), tuple(warnings)


def _is_document(name: str) -> bool:
    """Return whether a file of this name is a document."""
    dot = name.rfind(".")  # as `Path.suffix`, which takes a second for 100,000 files
    return dot > 0 and name[dot:].lower() in _DOCUMENTS and not name.startswith("~$")


def _holds_any(folder: Path) -> bool:
    """Return whether there is a document in a folder or its subfolders."""
    return any(
        map(_is_document, (name for _, folders, files in os.walk(folder) for name in (*folders, *files)))
    )


class _File(NamedTuple):
    """A document that was found: the folder below which it is named, its path, and its file, which is another
    one where a PDF was made of it."""

    folder: Path
    path: Path
    file: Path

    def below(self, folder: Path) -> str:
        """Return the path below a folder; for a PDF that was made elsewhere, its name."""
        inside = self.path.is_relative_to(folder)
        return in_one_form(self.path.relative_to(folder).as_posix() if inside else self.path.name)

    def content(self) -> str:
        """Return the hash of the file, or its path if it cannot be read, so that it counts as different."""
        try:
            return sha256_file(self.file) if self.file.is_file() else str(self.file)
        except OSError:
            return str(self.file)


def _by_name(files: Iterable[_File]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the documents by file name, or by their paths where a name repeats, and warnings about copies.
    Raises DataError for two different files that have the same name even so."""
    groups: dict[str, list[_File]] = {}
    for one in files:
        groups.setdefault(in_one_form(one.path.name), []).append(one)
    found: dict[str, Path] = {}
    warnings = []
    for name, group in groups.items():
        different: dict[str, _File] = {}
        for one in group:
            first = different.setdefault(one.content() if len(group) > 1 else "", one)
            if first is not one:
                warnings.append(f"{one.path}: the same file as {first.path}, used once")
        for key, one in _names(name, [*different.values()]):
            if (other := found.setdefault(key, one.file)) is not one.file:
                raise DataError(f"two different documents are called '{key}': {other} and {one.path}")
    return dict(sorted(found.items())), tuple(warnings)


def _names(name: str, files: Sequence[_File]) -> list[tuple[str, _File]]:
    """Return the names of different files with the same file name: their paths below the folder in which they
    were looked for, or below the one that holds all of these folders."""
    if len(files) == 1:
        return [(name, files[0])]
    names = [one.below(one.folder) for one in files]
    if len(set(names)) < len(names):
        common = Path(os.path.commonpath([one.folder.absolute() for one in files]))
        names = [one._replace(path=one.path.absolute()).below(common) for one in files]
    return list(zip(names, files, strict=True))
