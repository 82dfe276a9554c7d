"""Restores retrieved chunks that a result file cuts short, from the text of the pages they come from.

Each page is split as the pipeline split it. A cut chunk is replaced by the piece of its page that begins with
the same text. Only letters and digits are compared, because parsers rarely agree on the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fathoms.importers.imported import Imported, fold_letters
from fathoms.ingest import SentenceChunker
from fathoms.types import Document, Hit

_Pieces = Mapping[tuple[str, int], Sequence[str]]
"""The texts of the chunks of each page, by document and page number."""


def rebuild(imported: Imported, documents: Iterable[Document], splitter: SentenceChunker) -> Imported:
    """Replace cut chunks by whole ones, where exactly one piece of the page begins with the same text.

    `splitter` must be configured as the pipeline's. Chunks that cannot be rebuilt stay cut; a warning says
    how many were rebuilt. Raises MissingExtraError if LlamaIndex is not installed.
    """
    cut = [hit for record in imported.records for hit in record.hits or () if not hit.chunk.whole]
    if not cut:
        return imported
    wanted = {hit.chunk.document for hit in cut}
    pieces: dict[tuple[str, int], list[str]] = {}
    for document in documents:
        for chunk in splitter.chunk(document) if document.id in wanted else ():
            pieces.setdefault((chunk.source, chunk.pages[0]), []).append(chunk.text)
    records = tuple(
        record.model_copy(update={"hits": tuple(_rebuilt(hit, pieces) for hit in record.hits)})
        if record.hits
        else record
        for record in imported.records
    )
    left = sum(not hit.chunk.whole for record in records for hit in record.hits or ())
    warning = f"{imported.name}: {len(cut) - left} of {len(cut)} cut chunks were rebuilt from their pages"
    return replace(imported, records=records, warnings=(*imported.warnings, warning))


def _rebuilt(hit: Hit, pieces: _Pieces) -> Hit:
    """Return the hit with its whole chunk; unchanged if not exactly one piece of its page matches."""
    chunk = hit.chunk
    if chunk.whole or not chunk.pages:
        return hit
    beginning = fold_letters(chunk.text.removesuffix("..."))
    candidates = pieces.get((chunk.source, chunk.pages[0]), ())
    found = [text for text in candidates if fold_letters(text).startswith(beginning)]
    if len(found) != 1:
        return hit
    return hit.model_copy(update={"chunk": chunk.model_copy(update={"text": found[0], "whole": True})})
