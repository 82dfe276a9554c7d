"""Loads the corpus that `data:` names: reads questions, finds documents, verifies checksums."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

from fathoms.corpora.corpus import Corpus, needs
from fathoms.corpora.manifests import Manifest, ManifestFile, find_manifest
from fathoms.corpora.pdfs import find_pdfs, leads_out, only_inside
from fathoms.corpora.pulled import Pulled, read_record
from fathoms.corpora.questions import QuestionFile, read_questions
from fathoms.corpora.quote_pictures import with_pictures
from fathoms.corpora.sources import FileSource, NamedSource
from fathoms.errors import ChecksumError, DataError, amount
from fathoms.paths import sha256_file
from fathoms.safety.inputs import expanded
from fathoms.types import in_one_form

_PATHS = 5
"""Most documents that are given for one name."""
_SHOWN = 20
"""Most missing documents that an error names."""


def load(source: FileSource | NamedSource | str, base: Path = Path()) -> Corpus:
    """Load a data set: read its questions, find its documents and verify the checksums of a named set.

    Relative paths are resolved against `base`, the folder of the configuration, never against the working
    directory (except that the default `base` is the working directory).

    Raises UsageError for an unknown data set and for a file or folder that does not exist, DataError for
    invalid questions, missing documents and a set that was not pulled, and ChecksumError for a pulled file
    that has changed since the pull.
    """
    if isinstance(source, str):
        source = NamedSource(name=find_manifest(source, base).reference)
    return _load_files(source, base) if isinstance(source, FileSource) else _load_named(source, base)


def located(
    source: FileSource | NamedSource, base: Path = Path()
) -> tuple[Path, dict[str, Path], tuple[str, ...]]:
    """Return the path of the question file, the paths of the present documents by name, and warnings.

    Questions are not parsed and checksums not verified. Raises UsageError if the folder of the documents
    does not exist, and DataError for two different documents with the same name and for a set that was not
    pulled.
    """
    if isinstance(source, FileSource):
        folder = source.documents
        return _at(source.questions, base), *(find_pdfs(_at(folder, base)) if folder else ({}, ()))
    manifest = find_manifest(source.name, base)
    return _named_questions(manifest, source, base), *_named_documents(manifest, source, base)


def _load_files(source: FileSource, base: Path) -> Corpus:
    """Load the corpus from the user's own question file and folder of PDFs."""
    path = _at(source.questions, base)
    questions = read_questions(path)
    if source.documents is None:
        return _corpus(path.stem, path, questions, {}, (), ())
    folder = _at(source.documents, base)
    documents, warnings = find_pdfs(folder)
    questions = as_spelt(questions, documents, path)
    missing = _missing(source.missing, questions, documents, (), f"in {folder}")
    return _corpus(path.stem, path, questions, documents, missing, warnings)


def as_spelt(file: QuestionFile, documents: Collection[str], path: Path) -> QuestionFile:
    """Return the questions with the names of documents as the folder spells them, where they differ in case
    or lack the suffix, and one document alone is meant; a warning names them."""
    wanted = set().union(*map(needs, file.questions)).difference(documents)
    folded: dict[str, list[str]] = {}
    for name in documents if wanted else ():
        for spelling in {name, str(PurePosixPath(name).with_suffix(""))}:
            folded.setdefault(spelling.casefold(), []).append(name)
    spelt = {
        name: folded[name.casefold()][0]
        for name in sorted(wanted)
        if len(folded.get(name.casefold(), ())) == 1
    }
    if not spelt:
        return file
    questions = tuple(
        question.model_copy(
            update={
                "files": tuple(spelt.get(name, name) for name in question.files),
                "evidence": tuple(
                    one.model_copy(update={"document": spelt.get(one.document, one.document)})
                    for one in question.evidence
                ),
            }
        )
        for question in file.questions
    )
    named = ", ".join(f"{name} is {meant}" for name, meant in list(spelt.items())[:_SHOWN])
    more = f" and {len(spelt) - _SHOWN} more" if len(spelt) > _SHOWN else ""
    warning = (
        f"{path}: names of documents differ from the files in case or suffix, and are taken as meant:"
        f" {named}{more}"
    )
    return replace(file, questions=questions, warnings=(*file.warnings, warning))


def _load_named(source: NamedSource, base: Path) -> Corpus:
    """Load the corpus of a data set with a manifest; if it lists PDFs, other documents are ignored."""
    manifest = find_manifest(source.name, base)
    path = _named_questions(manifest, source, base)
    tables = [entry.file for entry in (*manifest.tables, *manifest.documents) if not _is_pdf(entry)]
    here = {name: manifest.folder / name for name in tables if (manifest.folder / name).is_file()}
    record = read_record(manifest.folder)
    # Questions and tables are verified before they are read: what they were changed to may not be readable.
    name = path.name if path in here.values() else manifest.questions.file
    read = {**({} if source.documents else here), name: path}
    verified = _verify(manifest, record, read)
    questions = read_questions(path)
    has_none = not (source.documents or manifest.documents or manifest.each_document)
    if has_none and all(question.quotes for question in questions.questions):
        # candidate quotes need no documents, and their pictures are none
        return _corpus(manifest.name, path, questions, {}, (), verified)
    documents, warnings = _named_documents(manifest, source, base)
    warnings += verified + _verify(manifest, record, documents)
    where = f"in {_at(source.documents, base)}" if source.documents else f"({_how_to_get(manifest, True)})"
    # Of a parquet file, the documents are those that it holds: it is missing only if it is not here.
    named = [
        entry.file
        for entry in manifest.documents
        if _is_pdf(entry) or not (source.documents or entry.file in here)
    ]
    missing = _missing(source.missing, questions, documents, named, where)
    return _corpus(manifest.name, path, questions, documents, missing, warnings)


def _named_questions(manifest: Manifest, source: NamedSource, base: Path) -> Path:
    """Return the path of the question file: one of the set by its name, another configured one, or else the
    first of the set. Raises DataError if a file of the set is not on this machine."""
    others = [Path(entry.file) for entry in manifest.tables]
    if source.questions and source.questions not in others:
        return _at(source.questions, base)
    path = manifest.folder / (source.questions or manifest.questions.file)
    if not path.is_file() or leads_out(path, manifest.folder.resolve()):
        raise DataError(f"the data set '{manifest.name}' is not on this machine: {_how_to_get(manifest)}")
    return path


def _named_documents(
    manifest: Manifest, source: NamedSource, base: Path
) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the paths of the documents that are present, and warnings. Where the manifest lists PDFs, they
    are these, in its order; otherwise all that the folder holds."""
    listed = [entry.file for entry in manifest.documents if _is_pdf(entry)]
    if source.documents or not listed:
        found, warnings = find_pdfs(_at(source.documents, base) if source.documents else manifest.folder)
    else:
        names = {manifest.folder / name: in_one_form(name) for name in listed}
        inside, warnings = only_inside([path for path in names if path.is_file()], manifest.folder)
        found = {names[path]: path for path in inside}
    return {name: found[name] for name in map(in_one_form, listed or found) if name in found}, warnings


def _is_pdf(entry: ManifestFile) -> bool:
    """Return whether a file of a manifest is a PDF, rather than a table of pages or of judgements."""
    return entry.file.lower().endswith(".pdf")


def _verify(manifest: Manifest, pulled: Pulled, files: Mapping[str, Path]) -> tuple[str, ...]:
    """Verify the sha256 of every file that is used, and return warnings.

    A file in the data set's own folder must match its record, or its pin if there is no record; otherwise
    ChecksumError is raised. A file that the user supplied may differ from the pinned one, with a warning.
    """
    warnings = []
    for entry in manifest.with_recorded(pulled.files):
        path = files.get(entry.file) or files.get(in_one_form(entry.file))
        if path is None or path.is_dir():  # a folder with the parts of a table
            continue
        found = sha256_file(path)
        own = path.parent == manifest.folder  # not a file that the configuration gives instead
        record = pulled.files.get(entry.file) if own else None
        expected = record.sha256 if record else entry.sha256
        # A record comes first: a file that was copied with a warning must still be the file of that warning.
        if own and expected not in (None, found):
            raise ChecksumError(path, str(expected), found)
        if record and record.warning:
            warnings.append(f"{path}: {record.warning}")
        elif expected not in (None, found):
            warnings.append(f"{path}: sha256 is {found}, the one of '{manifest.name}' is {expected}")
    return tuple(warnings)


def _missing(
    policy: Literal["fail", "skip"],
    questions: QuestionFile,
    documents: Collection[str],
    named: Collection[str],
    where: str,
) -> tuple[str, ...]:
    """Return the documents that the questions or the manifest name but that are not present, sorted.

    Raises DataError if there are any. With the policy `skip` it does so only if not a single question can be
    asked without them.
    """
    wanted = {*map(in_one_form, named)}.union(*map(needs, questions.questions))
    missing = tuple(sorted(wanted.difference(documents)))
    total = len(questions.questions)
    possible = sum(needs(question).isdisjoint(missing) for question in questions.questions)
    if missing and (policy == "fail" or not possible):
        way_out = "; data: {missing: skip} (--set data.missing=skip) asks the "
        way_out += f"{possible} of {amount(total, 'question')} that do not need them"
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        names = ", ".join(name + _paths_of(name, documents) for name in missing[:_SHOWN]) + more
        raise DataError(f"documents are missing {where}: {names}{way_out if possible else ''}")
    return missing


def _paths_of(name: str, documents: Collection[str]) -> str:
    """Say which documents have a file name, where several have it and are named by their paths."""
    found = [each for each in documents if each.endswith(f"/{name}")]
    return f" (did you mean {' or '.join(found[:_PATHS])}?)" if found else ""


def _corpus(
    name: str,
    path: Path,
    questions: QuestionFile,
    documents: dict[str, Path],
    missing: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Corpus:
    """Build the corpus from its parts: `path` is that of the question file, and `warnings` are those about
    documents."""
    return Corpus(
        name=name,
        questions=with_pictures(questions.questions, path),
        documents=documents,
        categories=questions.categories,
        questions_sha256=questions.sha256,
        missing=missing,
        warnings=questions.warnings + warnings,
        derived=questions.derived,
    )


def _at(path: Path, base: Path) -> Path:
    """Resolve a path of a configuration against `base`, the configuration's folder, unless it is absolute."""
    return base / expanded(path)


def _how_to_get(manifest: Manifest, questions_are_here: bool = False) -> str:
    """Return the advice for a user whose machine lacks files of a data set."""
    if manifest.shipped:
        return f"its files have to be in {manifest.folder}"
    if manifest.by_hand:
        return manifest.by_hand
    if questions_are_here and not (manifest.documents or manifest.each_document):
        home = f" from {manifest.homepage}" if manifest.homepage else ""
        return (
            f"they are not part of 'data pull': get them{home}, and add 'documents: FOLDER' to the data set"
        )
    return f"run 'fathoms data pull {manifest.reference}'"
