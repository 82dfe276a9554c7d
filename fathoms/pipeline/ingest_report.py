"""What came of reading and indexing the documents of a run, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fathoms.corpora.corpus import needs
from fathoms.errors import DocumentError
from fathoms.ingest import PdfParser
from fathoms.pdf.finishing import unread_pages
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.loading import CorpusFacts
from fathoms.retrieve import Index, Retriever
from fathoms.types import DocumentFacts, Question

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


def unread_gold(
    questions: Iterable[Question],
    failures: Iterable[DocumentError],
    documents: Iterable[DocumentFacts],
    parser: PdfParser,
    *,
    by_text: bool = True,
) -> dict[str, DocumentError]:
    """Return, by question id, why questions cannot be asked: a document that they need was not read, or a
    page of their gold evidence is beyond the `max_pages` of the parser or could not be read (which matters
    where its text is used, `by_text`). Without it, any answer would say something of the documents that were
    read, and nothing of the pipeline."""
    unread = {failure.document: failure for failure in failures}
    documents = tuple(documents)
    cut = {each.id for each in documents if each.pages == parser.max_pages}
    lost = {each.id: unread_pages(each.warnings) for each in documents if by_text and each.warnings}
    found: dict[str, DocumentError] = {}
    for question in questions:
        for name in sorted(needs(question) & unread.keys()):
            found[question.id] = unread[name]
        for one in question.gold_evidence:
            if one.document in cut and one.page is not None and one.page > parser.max_pages:
                detail = f"page {one.page} is not read (ingest.max_pages is {parser.max_pages}); raise it"
                found.setdefault(question.id, DocumentError(one.document, "missing", detail))
            elif any(one.page in pages for pages in lost.get(one.document, ())):
                detail = (
                    f"page {one.page} could not be read; fetch the file again, or try another ingest.kind"
                )
                found.setdefault(question.id, DocumentError(one.document, "damaged", detail))
    return found
