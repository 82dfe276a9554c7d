"""Reciprocal rank fusion by hand, and what a hybrid takes from its parts."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.models import LexicalEmbedder
from fathoms.retrieve import BM25, AnyRetriever, Dense, Hybrid

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
