"""What came of reading and indexing the documents of a run, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fathoms.errors import DocumentError
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.remembered import CorpusFacts
from fathoms.retrieve import Index, Retriever


def ingest_report(
    facts: CorpusFacts,
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
    documents = facts.documents
    return {
        "documents": len(documents),
        "pages": sum(document.pages for document in documents),
        "tables": facts.tables,
        "pictures": facts.pictures,
        "chunks": len(index.chunks),
        "index_bytes": retriever.index_bytes(index),
        "warnings": {d.id: list(d.warnings) for d in documents if d.warnings},
        "failures": {failure.document: failure.detail for failure in failures},
        "times": times.report(),
    }
