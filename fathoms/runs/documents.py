"""The parsed documents of a run, so that scoring does not need the parser.

Runs on the same documents share them: each document is stored once by its hash, beside the runs
(`Run.put_shared`). A run that is copied elsewhere therefore needs `export_run`, which puts its documents into
the copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.runs.blobs import hash_of
from fathoms.runs.cache import Cache
from fathoms.runs.folder import TooLongError
from fathoms.runs.store import Run
from fathoms.types import Document, DocumentFacts, Page
from fathoms.types.run.manifest import KnownDocument, Manifest

_IN_MEMORY = 256


def keep_documents(
    run: Run,
    documents: Sequence[Document],
    facts: Sequence[DocumentFacts] | None = None,
    cache: Cache | None = None,
) -> None:
    """Store the text of every document that has pages, unless another run has stored it before, and reference
    it in the manifest. A text too long to be read again is left out with a warning in the manifest, and the
    retrieval funnel then does without it.

    With the `facts` of the documents in the same order and a cache, a document whose stored file has not
    changed since it was written or verified is neither loaded nor verified again, and a new file is that of
    the cache where it has one.
    """
    manifest = run.manifest
    known, warnings = dict(manifest.data.documents), list(manifest.data.warnings)
    facts = [_facts_but_text(document) for document in documents] if facts is None else facts
    names = [fact.text for fact in facts if fact.text is not None]
    sound = run.sound_shared(names, cache) if cache else set()
    for number, fact in enumerate(facts):
        if fact.pages:
            entry = known.setdefault(fact.id, KnownDocument(sha256=fact.sha256, pages=fact.pages))
            try:
                text = fact.text if fact.text in sound else _put_text(run, documents, number, fact, cache)
                known[fact.id] = entry.model_copy(update={"text": text})
            except TooLongError as error:
                warnings.append(f"{fact.id}: its text is not kept in the run: {error}")
    if cache:
        run.note_sound_shared(cache)
    data = manifest.data.model_copy(update={"documents": known, "warnings": tuple(warnings)})
    run.write_manifest(manifest.model_copy(update={"data": data}))


def _put_text(
    run: Run, documents: Sequence[Document], number: int, fact: DocumentFacts, cache: Cache | None
) -> str:
    """Store the text of one document, which is loaded only if the cache does not hold its text; returns its
    hash. Raises TooLongError."""
    packed = cache.get("text", fact.text) if cache and fact.text else None
    if packed is None or fact.text is None:
        return run.put_shared(text_of_pages(documents[number]))
    run.put_shared_packed(fact.text, packed)
    return fact.text


def facts_of(document: Document) -> DocumentFacts:
    """Return what a run states of a document, with the hash of its text."""
    return _facts_but_text(document).model_copy(update={"text": hash_of(text_of_pages(document))})


def _facts_but_text(document: Document) -> DocumentFacts:
    """Return what a run states of a document, without the hash of its text."""
    pages, warnings = len(document.pages), document.warnings
    return DocumentFacts(id=document.id, sha256=document.sha256, pages=pages, warnings=warnings)


def text_of_pages(document: Document) -> str:
    """The text of a document as runs store it: JSON of its pages."""
    pages = [{"number": page.number, "text": page.text} for page in document.pages]
    return json.dumps(pages, ensure_ascii=False)


class StoredDocuments(Mapping[str, Document]):
    """The stored documents of a run by id, with their text only. Each is read when it is asked for.

    `missing` are the ids of documents whose text the manifest names and which are not there, as in a run that
    was copied without `fathoms export`. Reading a damaged document raises StoreError.
    """

    def __init__(self, run: Run, manifest: Manifest) -> None:
        self._run = run
        self._documents = manifest.data.documents
        entries = _texts(manifest)
        self.missing = tuple(name for name, entry in entries.items() if not run.has_text(entry))
        absent = set(self.missing)
        self._entries = {name: entry for name, entry in entries.items() if name not in absent}
        self._read = lru_cache(maxsize=_IN_MEMORY)(self._load)

    def __getitem__(self, name: str) -> Document:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def _load(self, name: str) -> Document:
        """Read one document."""
        try:
            pages = tuple(
                Page.model_validate(page) for page in json.loads(self._run.text(self._entries[name]))
            )
        except (ValueError, TypeError, ValidationError) as error:
            raise StoreError(f"{self._run.path}: the text of {name} cannot be read: {error}") from error
        return Document(id=name, path=Path(name), sha256=self._documents[name].sha256 or "", pages=pages)


def missing_sentence(documents: StoredDocuments) -> str | None:
    """Say which documents are missing and what that means; `None` if none is."""
    if not (names := documents.missing):
        return None
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"the parsed text of {shown} is missing, because the run was copied without the folder that runs"
        " share; the funnel does without it. 'fathoms export RUN', where the run was made, writes a complete"
        " copy"
    )


def copy_documents(source: Run, target: Run) -> None:
    """Put the documents of a run into a copy of it; raises StoreError where one is missing or damaged."""
    for name, text in _texts(source.manifest).items():
        if not source.has_text(text):
            raise StoreError(
                f"{source.path}: the parsed text of {name} is missing: the copy would lack it, too"
            )
        target.put_blob(source.text(text))


def _texts(manifest: Manifest) -> dict[str, str]:
    """Return the hash of the text of each document whose text is stored."""
    return {name: one.text for name, one in manifest.data.documents.items() if one.text}
