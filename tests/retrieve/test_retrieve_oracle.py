"""The oracle finds what the gold says, and refuses to guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.corpora import load
from fathoms.errors import ConfigError
from fathoms.ingest import Pdfium
from fathoms.models import ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve import Index, Oracle
from fathoms.runs.cache import Cache
from fathoms.types import Chunk, Document, Evidence, Page, Question

PAGES = ["The valve was re-\nplaced in May.", "A quote that runs", "over two pages. Eﬃcient."]
DOCUMENTS = [
    Document(
        id=name,
        path=Path(name),
        sha256="0" * 64,
        pages=tuple(Page(number=n, text=text) for n, text in enumerate(PAGES, start=1)),
    )
    for name in ("a.pdf", "b.pdf")
]
CHUNKS = [
    Chunk(id=f"{name}#{n}", document=name, pages=pages, text=str(n))
    for name in ("a.pdf", "b.pdf")
    for n, pages in enumerate([(1,), (1, 2), (2, 3), (3,)])
]


def search(*evidence: Evidence, answerable: bool = True, top_k: int | None = None) -> list[str]:
    index = Index(DOCUMENTS, CHUNKS, None, lambda texts: None, Path("nowhere"))
    question = Question(id="q1", text="?", category="c", evidence=evidence, answerable=answerable)
    (found,) = Oracle(top_k=top_k).search(index, [question])
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert {hit.score for hit in found} <= {1.0}
    return [hit.chunk.id for hit in found]


def gold(document: str, page: int | None = None, quote: str | None = None) -> Evidence:
    return Evidence(document=document, page=page, quote=quote)


def test_every_chunk_that_touches_a_gold_page() -> None:
    assert search(gold("a.pdf", 2)) == ["a.pdf#1", "a.pdf#2"]


def test_in_the_order_of_the_evidence_and_once_each() -> None:
    assert search(gold("b.pdf", 3), gold("a.pdf", 1), gold("b.pdf", 2)) == [
        "b.pdf#2",
        "b.pdf#3",
        "a.pdf#0",
        "a.pdf#1",
        "b.pdf#1",
    ]
    assert search(gold("b.pdf", 3), gold("a.pdf", 1), top_k=3) == ["b.pdf#2", "b.pdf#3", "a.pdf#0"]


@pytest.mark.parametrize(
    ("quote", "pages"),
    [
        ("The VALVE was replaced", {"a.pdf#0", "a.pdf#1"}),
        ("efficient", {"a.pdf#2", "a.pdf#3"}),
        ("runs over two", {"a.pdf#1", "a.pdf#2", "a.pdf#3"}),
    ],
)
def test_a_quote_stands_for_its_pages(quote: str, pages: set[str]) -> None:
    assert set(search(gold("a.pdf", quote=quote))) == pages


def test_a_page_is_believed_before_a_quote() -> None:
    assert search(gold("a.pdf", 1, "runs over two")) == ["a.pdf#0", "a.pdf#1"]


@pytest.mark.parametrize("quote", ["not in it", "", "..."])
def test_a_quote_that_is_not_there(quote: str) -> None:
    with pytest.raises(ConfigError, match=r"question q1: the quote of its evidence is not in a\.pdf"):
        search(gold("a.pdf", quote=quote))


@pytest.mark.parametrize("evidence", [(), (gold("a.pdf"),)])
def test_an_answerable_question_without_gold_pages(evidence: tuple[Evidence, ...]) -> None:
    with pytest.raises(ConfigError, match=r"1 answerable question has none \(q1\): give them 'evidence'"):
        search(*evidence)


def test_what_has_no_answer_gets_no_hit() -> None:
    assert search(answerable=False) == []
    assert search(gold("a.pdf", 1), answerable=False) == []


def test_a_document_that_was_left_out_is_skipped() -> None:
    assert search(gold("lost.pdf", 1)) == []
    assert search(gold("lost.pdf", quote="x"), gold("a.pdf", 3)) == ["a.pdf#2", "a.pdf#3"]


@pytest.mark.slow
def test_the_sample_corpus_has_gold_pages_for_all_its_answerable_questions(tmp_path: Path) -> None:
    corpus = load("sample")
    pipeline = Pipeline(ingest=Pdfium(), retrieve=Oracle(), generate=ScriptedModel())
    ingested = pipeline.prepare(corpus.documents, Cache(tmp_path))
    found = ingested.retrieve(corpus.questions)
    texts = {(d.id, page.number): page.text for d in ingested.documents for page in d.pages}
    for question in corpus.questions:
        pages = {(hit.chunk.document, page) for hit in found[question.id] for page in hit.chunk.pages}
        gold_pages = {(evidence.document, evidence.page) for evidence in question.evidence}
        with_text = {place for place in gold_pages if texts[place].strip()}  # one page is a scan
        assert pages >= (with_text if question.answerable else set())
        assert bool(pages) == (question.answerable and bool(with_text))
        assert gold_pages or not question.answerable
