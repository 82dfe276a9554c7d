"""What came of reading and indexing the documents of a run, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fathoms.errors import DocumentError
from fathoms.ingest import ElementKind, PdfParser
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.retrieve import Index, Retriever
from fathoms.types import Document


def ingest_report(
    parser: PdfParser,
    documents: Sequence[Document],
    failures: Iterable[DocumentError],
    index: Index,
    retriever: Retriever,
    times: IngestTimes,
) -> dict[str, Any]:
    """Return counts of documents, pages, tables, pictures and chunks, the bytes of the index, the documents'
    warnings and failures, and how long each stage took (`times`).

    `tables` and `pictures` are `None` where the parser does not detect them, and `index_bytes` where the
    retriever does not know them.
    """

    def total(kind: ElementKind) -> int | None:
        counts = [parser.count(document, kind) for document in documents]
        return None if None in counts else sum(count or 0 for count in counts)

    return {
        "documents": len(documents),
        "pages": sum(len(document.pages) for document in documents),
        "tables": total("table"),
        "pictures": total("picture"),
        "chunks": len(index.chunks),
        "index_bytes": retriever.index_bytes(index),
        "warnings": {d.id: list(d.warnings) for d in documents if d.warnings},
        "failures": {failure.document: failure.detail for failure in failures},
        "times": times.report(),
    }
