"""The parsed documents of a run, stored in its blobs so that scoring does not need the parser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.runs.folder import TooLongError
from fathoms.runs.store import Run
from fathoms.types import Document, Page


def keep_documents(run: Run, documents: Iterable[Document]) -> None:
    """Store the text of every document that has pages, and reference it in the manifest. A text too long
    to be read again is left out with a warning in the manifest, and the retrieval funnel then does without
    it."""
    manifest = run.manifest()
    known = manifest["data"].setdefault("documents", {})
    warnings = manifest["data"].setdefault("warnings", [])
    for document in documents:
        if document.pages:
            pages = [{"number": page.number, "text": page.text} for page in document.pages]
            entry = known.setdefault(document.id, {"sha256": document.sha256, "pages": len(document.pages)})
            try:
                entry["text"] = run.put_blob(json.dumps(pages, ensure_ascii=False))
            except TooLongError as error:
                warnings.append(f"{document.id}: its text is not kept in the run: {error}")
    run.write_manifest(manifest)


def read_documents(run: Run, manifest: Mapping[str, Any]) -> dict[str, Document]:
    """Read the stored documents by id, with their text only; raises StoreError where one is damaged."""
    entries: Mapping[str, Mapping[str, Any]] = (manifest.get("data") or {}).get("documents") or {}
    found = {}
    for name, entry in entries.items():
        if entry.get("text"):
            try:
                pages = tuple(Page.model_validate(page) for page in json.loads(run.blob(entry["text"])))
            except (ValueError, TypeError, ValidationError) as error:
                raise StoreError(f"{run.path}: the text of {name} cannot be read: {error}") from error
            found[name] = Document(id=name, path=Path(name), sha256=entry.get("sha256", ""), pages=pages)
    return found
