"""What the gold of a question is, what hits cover, and how hits become ranked documents, pages and chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.metrics.retrieval.coverage import UNKNOWN_PAGE, boxes_of, pages_of
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.metrics.retrieval.ranking import ranked_chunks, ranked_documents, ranked_pages
from fathoms.types import Attachment, Chunk, Evidence, Hit, PageBox, Question, Quote, Step


def question(**more) -> Question:
    return Question(id="q", text="?", category="c", **more)


def evidence(document: str, page: int | None = None, **more) -> Evidence:
    return Evidence(document=document, page=page, quote=None if page else "words", **more)


def hit(rank: int, document: str, *pages: int, id: str = "", **more) -> Hit:
    chunk = Chunk(id=id or f"{document}#{rank}", document=document, pages=pages, **more)
    return Hit(chunk=chunk, score=1 / rank, rank=rank)


def test_a_page_counts_once_at_its_best_rank_and_a_chunk_over_two_pages_covers_both():
    hits = [hit(1, "b.pdf", 3), hit(2, "b.pdf", 3), hit(3, "a.pdf", 10, 9), hit(4, "b.pdf", 4, 3)]
    assert ranked_pages(hits) == [("b.pdf", 3), ("a.pdf", 9), ("a.pdf", 10), ("b.pdf", 4)]
    assert ranked_pages(reversed(hits)) == ranked_pages(hits), "the order is that of the ranks"
    assert ranked_documents(hits) == ["b.pdf", "a.pdf"]


def test_items_of_one_rank_are_in_the_order_of_document_and_page():
    tied = [hit(1, "b.pdf", 2), hit(1, "a.pdf", 10, 2), hit(1, "a.pdf", 9)]
    assert ranked_pages(tied) == [("a.pdf", 2), ("a.pdf", 9), ("a.pdf", 10), ("b.pdf", 2)]
    assert ranked_documents(tied) == ["a.pdf", "b.pdf"]


def test_a_hit_without_pages_takes_one_place_of_its_own():
    pages = ranked_pages([hit(1, "a.pdf"), hit(2, "a.pdf"), hit(3, "a.pdf", 7)])
    assert pages == [("a.pdf", UNKNOWN_PAGE), ("a.pdf", UNKNOWN_PAGE), ("a.pdf", 7)]


def test_a_chunk_that_is_retrieved_twice_counts_at_its_best_rank():
    hits = [hit(1, "a.pdf", 1, id="x"), hit(2, "a.pdf", 2, id="y"), hit(3, "a.pdf", 1, id="x")]
    assert [chunk.id for chunk in ranked_chunks(hits)] == ["x", "y"]


def test_attached_files_and_page_images_cover_their_pages():
    file = Attachment(document="a.pdf", pages=(3, 4), path=Path("a.pdf"), sha256="0", size=1)
    assert pages_of(Chunk(id="f", document="a.pdf", pages=(), modality="file", file=file)) == (
        ("a.pdf", 3),
        ("a.pdf", 4),
    )
    assert pages_of(Chunk(id="i", document="a.pdf", pages=(7,), modality="image")) == (("a.pdf", 7),)
    placed = Chunk(id="t", document="a.pdf", pages=(2,), boxes=(PageBox(page=2, bbox=(0, 0, 1, 1)),))
    assert boxes_of(placed) == ((("a.pdf", 2), (0, 0, 1, 1)),)


def test_gold_by_hop_with_hops_that_have_no_page():
    one_question = question(
        evidence=(
            evidence("a.pdf", 1, step=1),
            evidence("a.pdf", 2, step=1),
            evidence("b.pdf", step=2),
            evidence("c.pdf", 9),
        ),
        steps=(Step(), Step(), Step()),
    )
    gold = gold_of(one_question)
    assert gold.pages == {("a.pdf", 1), ("a.pdf", 2), ("c.pdf", 9)}
    assert [(hop.number, set(hop.pages)) for hop in gold.hops] == [
        (1, {("a.pdf", 1), ("a.pdf", 2)}),
        (2, set()),
        (3, set()),
    ]
    assert gold.hops[1].documents == {"b.pdf"}
    assert gold.without_page == 1


def test_hops_that_no_evidence_names_cannot_be_told_apart():
    gold = gold_of(question(evidence=(evidence("a.pdf", 1), evidence("b.pdf", 2)), hops=2))
    assert [set(hop.pages) for hop in gold.hops] == [{("a.pdf", 1), ("b.pdf", 2)}]


@pytest.mark.parametrize(
    ("more", "documents", "pages"),
    [
        ({"files": ("a.pdf", "b.pdf")}, {"a.pdf", "b.pdf"}, set()),
        ({"files": ("a.pdf", "b.pdf"), "evidence": (evidence("b.pdf"),)}, {"b.pdf"}, set()),
        ({}, set(), set()),
    ],
)
def test_gold_that_names_no_page(more, documents, pages):
    gold = gold_of(question(**more))
    assert (gold.documents, gold.pages) == (documents, pages)


def test_gold_by_modality_comes_from_evidence_or_else_from_gold_quotes():
    one_question = question(
        evidence=(
            evidence("a.pdf", 1, modality="table", bbox=(0, 0, 5, 5)),
            evidence("a.pdf", 1, modality="text", bbox=(0, 0, 5, 5)),
        )
    )
    assert gold_of(one_question).modalities == {"table": {("a.pdf", 1)}, "text": {("a.pdf", 1)}}
    assert gold_of(one_question).boxes == ((("a.pdf", 1), (0, 0, 5, 5)),)
    quotes = (
        Quote(id="1", document="a.pdf", page=4, gold=True),
        Quote(id="i1", modality="image", document="a.pdf", page=5, gold=True),
        Quote(id="2", document="a.pdf", page=6),
    )
    gold = gold_of(question(quotes=quotes))
    assert gold.modalities == {"text": {("a.pdf", 4)}, "image": {("a.pdf", 5)}}
    assert gold.pages == {("a.pdf", 4), ("a.pdf", 5)}
