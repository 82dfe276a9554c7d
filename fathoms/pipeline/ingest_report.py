"""What came of reading and indexing the documents of a run, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fathoms.errors import DocumentError
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.remembered import CorpusFacts
from fathoms.retrieve import Index, Retriever

_NO_CUT_OUTS = (
    "the parser found no place of a figure or table in it, so 'units' of the retriever 'visual' finds none"
    " there"
)


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
    warnings = {document.id: list(document.warnings) for document in documents}
    for name in [] if index.pages is None else index.pages.without_cut_outs:
        warnings[name].append(_NO_CUT_OUTS)
    return {
        "documents": len(documents),
        "pages": sum(document.pages for document in documents),
        "tables": facts.tables,
        "pictures": facts.pictures,
        "chunks": len(index.chunks),
        "index_bytes": retriever.index_bytes(index),
        "warnings": {name: sentences for name, sentences in warnings.items() if sentences},
        "failures": {failure.document: failure.detail for failure in failures},
        "times": times.report(),
    }
