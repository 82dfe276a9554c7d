"""The parsed documents of a run, so that scoring does not need the parser.

Runs on the same documents share them: each document is stored once by its hash, beside the runs
(`Texts.put_shared`). A run that is copied elsewhere therefore needs `export_run`, which puts its documents
into the copy.

Which documents a run is about, with their hashes, stands in its manifest, or if they are many, in a list that
is stored once as well. A run that is copied without `export_run` must still say what it was made of, so the
list is a file of the run's own folder, too (`Texts.put_list`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fathoms.errors import StoreError
from fathoms.runs.blobs import hash_of
from fathoms.runs.cache import Cache
from fathoms.runs.folder import TooLongError
from fathoms.runs.run import Run
from fathoms.runs.writing import write_manifest
from fathoms.safety.masking import record_mask
from fathoms.types import Document, DocumentFacts, Page
from fathoms.types.run.manifest import DocumentList, KnownDocument, Manifest

LISTED = 1_000
"""The manifest names so many documents itself; of more, it gives the hash of their list."""
_IN_MEMORY = 256


def stated(facts: Sequence[DocumentFacts]) -> dict[str, Any]:
    """Return what the manifest of a new run says of its documents, before their texts are stored; nothing of
    so many that they will be in a list of their own."""
    return {} if len(facts) > LISTED else {"documents": {fact.id: _known(fact) for fact in facts}}


def _known(fact: DocumentFacts, text: str | None = None) -> KnownDocument:
    """Return what a run states of a document, whose text is stored if its hash is given."""
    found: dict[str, Any] = {"sha256": fact.sha256, "pages": fact.pages or None, "text": text}
    # of tens of thousands, validating what was just made would take most of the time
    return KnownDocument.model_construct(**{key: one for key, one in found.items() if one is not None})


def listed_documents(run: Run, manifest: Manifest) -> Mapping[str, KnownDocument]:
    """Return what a run states of each of its documents, by id; raises StoreError where it has a list of them
    that is missing or damaged."""
    if (listed := manifest.data.document_list) is None:
        return manifest.data.documents
    try:
        return _parsed(run.texts.get(listed.sha256))
    except (StoreError, ValidationError) as error:
        why = f"{run.path}: the list of its documents cannot be read: {error}"
        raise StoreError(f"{why}; copy the folder 'blobs' of the run again") from error


@functools.lru_cache(maxsize=2)  # scoring and reporting ask several times
def _parsed(text: str) -> Mapping[str, KnownDocument]:
    """Parse a list of documents."""
    return _list().validate_json(text)


@functools.cache
def _list() -> TypeAdapter[dict[str, KnownDocument]]:
    """Return what reads and writes a list of documents."""
    return TypeAdapter(dict[str, KnownDocument])


def keep_documents(
    run: Run,
    documents: Sequence[Document],
    facts: Sequence[DocumentFacts] | None = None,
    cache: Cache | None = None,
) -> None:
    """Store the text of every document that has pages, unless another run has stored it before, and reference
    it in the manifest, or in the list of so many documents (`LISTED`). A text too long to be read again is
    left out with a warning in the manifest, and the retrieval funnel then does without it.

    With the `facts` of the documents in the same order and a cache, a document whose stored file has not
    changed since it was written or verified is neither loaded nor verified again, and a new file is that of
    the cache where it has one.
    """
    manifest = run.manifest
    warnings = list(manifest.data.warnings)
    facts = [_facts_but_text(document) for document in documents] if facts is None else facts
    names = [fact.text for fact in facts if fact.text is not None]
    sound = run.texts.sound_shared(names, cache) if cache else set()
    found: dict[str, KnownDocument] = {}
    for number, fact in enumerate(facts):
        text = None
        try:
            if fact.pages:
                text = fact.text if fact.text in sound else _put_text(run, documents, number, fact, cache)
        except TooLongError as error:
            warnings.append(f"{fact.id}: its text is not kept in the run: {error}")
        found[fact.id] = _known(fact, text)
    if cache:
        run.texts.note_sound_shared(cache)
    changes: dict[str, Any] = {"warnings": tuple(warnings)}
    if len(found) > LISTED:
        plain = _list().dump_python(found, mode="json", exclude_unset=True)
        listed = json.dumps(record_mask().inside(plain))
        changes["document_list"] = DocumentList(documents=len(found), sha256=run.texts.put_list(listed))
    else:
        changes["documents"] = manifest.data.documents | {
            name: one for name, one in found.items() if one.pages
        }
    data = manifest.data.model_copy(update=changes)
    write_manifest(run, manifest.model_copy(update={"data": data}))


def _put_text(
    run: Run, documents: Sequence[Document], number: int, fact: DocumentFacts, cache: Cache | None
) -> str:
    """Store the text of one document, which is loaded only if the cache does not hold its text; returns its
    hash. Raises TooLongError."""
    packed = cache.get("text", fact.text) if cache and fact.text else None
    if packed is None or fact.text is None:
        return run.texts.put_shared(text_of_pages(documents[number]))
    run.texts.put_shared_packed(fact.text, packed)
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

    Some are `missing`, as in a run that was copied without `fathoms export`. Reading a damaged document
    raises StoreError.
    """

    def __init__(self, run: Run, manifest: Manifest) -> None:
        self._run = run
        self._manifest = manifest
        self._read = functools.lru_cache(maxsize=_IN_MEMORY)(self._load)

    @functools.cached_property
    def listed(self) -> Mapping[str, KnownDocument]:
        """What the run states of each of its documents, those without a stored text too."""
        return listed_documents(self._run, self._manifest)

    @functools.cached_property
    def missing(self) -> tuple[str, ...]:
        """The ids of documents whose text the run names and which is not there."""
        texts = {name: text for name, entry in self.listed.items() if (text := entry.text)}
        there = self._run.texts.there(set(texts.values()))
        return tuple(name for name, text in texts.items() if text not in there)

    @functools.cached_property
    def _entries(self) -> dict[str, KnownDocument]:
        """What the run states of each document whose text is there."""
        absent = set(self.missing)
        return {name: one for name, one in self.listed.items() if one.text and name not in absent}

    def __getitem__(self, name: str) -> Document:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def _load(self, name: str) -> Document:
        """Return one document with the text of its pages."""
        entry = self._entries[name]
        try:
            text = self._run.texts.get(entry.text or "")
            pages = tuple(map(Page.model_validate, json.loads(text)))
        except (ValueError, TypeError, ValidationError) as error:
            raise StoreError(f"{self._run.path}: the text of {name} cannot be read: {error}") from error
        return Document(id=name, path=Path(name), sha256=entry.sha256 or "", pages=pages)


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
    documents = StoredDocuments(source, source.manifest)
    if documents.missing:
        name = documents.missing[0]
        raise StoreError(f"{source.path}: the parsed text of {name} is missing: the copy would lack it, too")
    for name in documents:
        target.texts.put(source.texts.get(documents.listed[name].text or ""))
