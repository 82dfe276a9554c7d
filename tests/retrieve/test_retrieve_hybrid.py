"""Reciprocal rank fusion by hand, and what a hybrid takes from its parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.models import LexicalEmbedder
from fathoms.retrieve import BM25, AnyRetriever, Degrade, Dense, Expand, Hybrid, Index, Rerank
from fathoms.retrieve.fusion import fused_pages
from fathoms.retrieve.page_search import PageSearch
from fathoms.types import Chunk, Document, Page

VISUAL = {"kind": "visual", "embed": {"kind": "image-text", "model": "some/model"}}

# By BM25 for "valve" the shorter chunk comes first: c1, c0. By letters (dense) "eavlv" has those of
# "valve", then c1, then c0: c2, c1, c0.
TEXTS = ["valve and a long tail of other words", "valve seat", "eavlv"]


def fused(make, ask, **options):
    (found,) = Hybrid(**options).search(make(TEXTS), ask("valve"))
    return {hit.chunk.id: hit.score for hit in found}


def test_the_rankings_that_are_fused(make, ask) -> None:
    dense, bm25 = (part.search(make(TEXTS), ask("valve"))[0] for part in Hybrid().of)
    assert [hit.chunk.id for hit in dense] == ["c2", "c1", "c0"]
    assert [hit.chunk.id for hit in bm25] == ["c1", "c0"]


def test_fusion_by_hand(make, ask) -> None:
    found = fused(make, ask)
    assert list(found) == ["c1", "c0", "c2"]
    assert found == pytest.approx({"c1": 1 / 62 + 1 / 61, "c0": 1 / 63 + 1 / 62, "c2": 1 / 61})
    assert found["c1"] == pytest.approx(0.0325225, abs=1e-7)


def test_k_and_weights_by_hand(make, ask) -> None:
    assert fused(make, ask, k=0) == pytest.approx({"c1": 1 / 2 + 1, "c2": 1, "c0": 1 / 3 + 1 / 2})
    found = fused(make, ask, k=0, weights=(4, 1))
    assert found == pytest.approx({"c2": 4, "c1": 2 + 1, "c0": 4 / 3 + 1 / 2})
    assert list(found) == ["c2", "c1", "c0"]


def test_equal_sums_keep_the_order_of_the_chunks(make, ask) -> None:
    """c1 is 2 and 1, c2 is 1 and missing; with k = 0 and dense counted twice both have 2."""
    found = fused(make, ask, k=0, weights=(2, 1))
    assert found["c1"] == found["c2"] == 2
    assert list(found)[:2] == ["c1", "c2"]


def test_the_parts_give_twenty_unless_they_say_otherwise(make, ask) -> None:
    assert [part.top_k for part in Hybrid().of] == [20, 20]
    hybrid = Hybrid(of=[{"kind": "dense", "top_k": 1}, {"kind": "bm25"}])
    assert [part.top_k for part in hybrid.of] == [1, 20]
    assert fused(make, ask, of=hybrid.of, top_k=1) == pytest.approx({"c1": 1 / 61})


def test_hybrid_needs_the_most_that_its_parts_need() -> None:
    assert Hybrid().needs == "vectors"
    assert Hybrid(of=(BM25(), BM25(stemmer="none"))).needs == "chunks"


def test_identity_holds_the_parts() -> None:
    assert Hybrid().identity() == Hybrid(of=(Dense(top_k=20), BM25(top_k=20))).identity()
    assert Hybrid(of=(Dense(), BM25(k1=1))).identity() != Hybrid().identity()
    assert Hybrid(k=10).identity() != Hybrid().identity()
    assert "bm25s" in Hybrid().identity()["of"][1]["versions"]


def test_round_trip_through_a_config() -> None:
    adapter = TypeAdapter(AnyRetriever)
    hybrid = adapter.validate_python({"kind": "hybrid", "of": [{"kind": "bm25"}, {"kind": "dense"}]})
    assert isinstance(hybrid, Hybrid)
    assert adapter.validate_python(hybrid.model_dump(mode="json")) == hybrid


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": [{"kind": "bm25"}]}, "at least 2"),
        ({"weights": [1]}, "1 weights for 2 retrievers"),
        ({"weights": [1, 0]}, "greater than 0"),
        ({"of": [{"kind": "none"}, {"kind": "bm25"}]}, "kind"),
        ({"of": [VISUAL, VISUAL]}, "only one of the retrievers can search by page images"),
    ],
)
def test_hybrid_refuses_invalid_options(options: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Hybrid(**options)


def test_real_vectors(make, ask) -> None:
    """With an embedder of words the hybrid finds what both of its parts do."""
    index = make(["voles gnawed the cables", "the yield was 2.91 t/ha", "tips of pelnorite"])
    embed = LexicalEmbedder()
    vectors = embed.embed([chunk.text for chunk in index.chunks])
    index = type(index)((), index.chunks, vectors, embed.embed_queries, index.folder)
    (found,) = Hybrid(top_k=1).search(index, ask("What gnawed cables?"))
    assert found[0].chunk.id == "c0"
    assert found[0].score == pytest.approx(2 / 61)


# Pages: a.pdf has two and b.pdf one. Dense search finds the chunks c1, c0, c3, c4, c2, which are of the pages
# a1, a1, b1, (no page), a2: as pages a1, b1, a2. Search by page images finds a2, b1, a1.
CHUNKS = [("a.pdf", (1,)), ("a.pdf", (1,)), ("a.pdf", (2,)), ("b.pdf", (1,)), ("b.pdf", ())]
OF_CHUNKS = [0.9, 0.95, 0.3, 0.6, 0.5]
OF_PAGES = {(0, 1): 0.1, (0, 2): 0.8, (1, 1): 0.5}
A1, A2, B1 = "a.pdf#p1", "a.pdf#p2", "b.pdf#p1"


def angles(cosines: Sequence[float]) -> np.ndarray:
    """Unit vectors with these cosines to (1, 0)."""
    return np.array([(cosine, (1 - cosine**2) ** 0.5) for cosine in cosines], dtype=np.float32)


@pytest.fixture
def pages(tmp_path: Path) -> Index:
    """The chunks and pages above; every question has the vector (1, 0)."""
    wanted = np.array([[1, 0]], dtype=np.float32)
    documents = [
        Document(
            id=name,
            path=tmp_path / name,
            sha256="0",
            parser="made",
            pages=tuple(Page(number=number, text=f"{name} says {number}") for number in range(1, 1 + last)),
        )
        for name, last in (("a.pdf", 2), ("b.pdf", 1))
    ]
    chunks = [Chunk(id=f"c{n}", document=name, pages=of, text="t") for n, (name, of) in enumerate(CHUNKS)]
    search = PageSearch(
        names=["a.pdf", "b.pdf"],
        places=list(OF_PAGES),
        store=angles(list(OF_PAGES.values())),
        embed=lambda texts: [wanted for _ in texts],
        picture=lambda document, number: tmp_path / f"{document.id}-{number}.png",
    )
    return Index(
        documents,
        chunks,
        angles(OF_CHUNKS),
        lambda texts: wanted.repeat(len(texts), 0),
        tmp_path,
        pages=search,
    )


def by_page(index: Index, ask, **options) -> dict[str, float]:
    (found,) = Hybrid(of=[{"kind": "dense"}, VISUAL], **options).search(index, ask("valve"))
    return {hit.chunk.id: hit.score for hit in found}


def test_the_rankings_of_chunks_and_pages(pages: Index, ask) -> None:
    dense, visual = (part.search(pages, ask("valve"))[0] for part in Hybrid(of=[Dense(), VISUAL]).of)
    assert [hit.chunk.id for hit in dense] == ["c1", "c0", "c3", "c4", "c2"]
    assert [hit.chunk.id for hit in visual] == [A2, B1, A1]


def test_text_and_page_images_are_fused_by_page(pages: Index, ask) -> None:
    """a1 is first and third, a2 third and first: equal sums are in the order of the pages."""
    found = by_page(pages, ask)
    assert list(found) == [A1, A2, B1]
    assert found == pytest.approx({A1: 1 / 61 + 1 / 63, A2: 1 / 63 + 1 / 61, B1: 2 / 62})
    weighted = by_page(pages, ask, k=0, weights=(1, 2), top_k=2)
    assert weighted == pytest.approx({A2: 1 / 3 + 2, A1: 1 + 2 / 3})
    assert list(weighted) == [A2, A1]


def test_the_hits_are_pages_with_their_pictures_and_texts(pages: Index, ask) -> None:
    hybrid = Hybrid(of=[{"kind": "dense"}, VISUAL])
    (found,) = hybrid.search(pages, ask("valve"))
    chunk = found[1].chunk
    assert (chunk.document, chunk.pages, chunk.text, chunk.modality) == (
        *("a.pdf", (2,), "a.pdf says 2"),
        "image",
    )
    assert chunk.image is not None
    assert chunk.image.name == "a.pdf-2.png"
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert (hybrid.needs, hybrid.pages) == ("vectors", hybrid.of[1].pages)
    assert Hybrid(of=(BM25(), VISUAL)).needs == "chunks"
    assert hybrid.index_bytes(pages) == 5 * 2 * 4 + 3 * 2 * 4


def test_a_chunk_of_two_pages_stands_for_both() -> None:
    """The second ranking has a chunk of the pages 1 and 2, then one of page 2, then page 3."""
    rankings = [[(0, 3)], [(0, 1), (0, 2), (0, 2), (0, 3)]]
    assert fused_pages(rankings, (1, 1), k=0, top_k=9) == [
        ((0, 3), 1 + 1 / 3),
        ((0, 1), 1),
        ((0, 2), 1 / 2),
    ]


def test_a_reranker_reads_the_texts_of_pages_and_expansion_refuses_them() -> None:
    first = {"kind": "hybrid", "of": [{"kind": "bm25"}, VISUAL]}
    reranked = Rerank(first=first, by={"kind": "cross-encoder", "model": "some/model"})
    assert reranked.pages is not None
    assert reranked.pages == reranked.first.pages
    with pytest.raises(ValidationError, match="retrieval by page images cannot be expanded"):
        Expand(retriever=first, generate={"kind": "scripted"})
    with pytest.raises(ValidationError, match="retrieval by page images cannot be degraded"):
        Degrade(recall=0.5, retriever=first)
