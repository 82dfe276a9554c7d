"""Options of `retrieve: {kind: visual}`: what they lose, worked by hand, and what makes no sense together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.errors import ModelError
from fathoms.models import CrossEncoder, ImageTextEmbedder, MultiVectorEmbedder
from fathoms.models.chat.scripted import ScriptedModel
from fathoms.retrieve import BM25, Describe, Hybrid, Index, Rerank, Visual
from fathoms.retrieve.max_sim import best_pages, max_sim, max_sim_of_each
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import PageSearch
from fathoms.retrieve.two_stages import mean_vectors
from fathoms.runs.search_notes import approximations
from fathoms.types import Question
from fathoms.types.run.manifest import Manifest

MANY = MultiVectorEmbedder(model="vidore/colqwen2-v1.0-hf")
ONE = ImageTextEmbedder(model="google/siglip2-base-patch16-512")
PAGES = [[[0.6, 0.8]], [[0.8, 0.6]], [[1, -0.1], [0, 1], [0, 1], [0, 1]]]
QUERIES = {"first": [[1, 0]], "second": [[0, 1]]}
QUESTIONS = [Question(id=name, text=name, category="c") for name in QUERIES]


def floats(rows: Any) -> Any:
    return np.array(rows, dtype=np.float32)


def index(folder: Path, visual: Visual) -> Index:
    """The pages as these options keep them. `exact` compares the vectors as they are, by the formula."""
    store = MultiVectors.write(folder / "store", map(floats, PAGES), visual.precision)

    def exact(texts: Any, k: int) -> list[list[int]]:
        products = [[(floats(page) @ floats(QUERIES[text][0])).max() for page in PAGES] for text in texts]
        return np.argsort(-np.array(products), axis=1, kind="stable")[:, :k].tolist()

    pages = PageSearch(
        names=["a.pdf"],
        places=[(0, 1), (0, 2), (0, 3)],
        store=store,
        embed=lambda texts: [floats(QUERIES[text]) for text in texts],
        picture=lambda *_: None,
        means=mean_vectors(store) if visual.candidates else None,
        exact=exact,
    )
    return Index([], [], None, lambda texts: floats([]), folder, pages=pages)


def test_signs_lose_pages(tmp_path: Path) -> None:
    """Exact search finds pages 3, 2 for the first question and 3, 1 for the second. By their signs, all pages
    have the score 1 for both, so the first two pages are found: one of two each time."""
    visual = Visual(embed=MANY, top_k=2, precision="binary")
    built_index = index(tmp_path, visual)
    visual.assess(built_index, QUESTIONS)
    note = built_index.notes["approximation"]
    assert note == {
        "options": {"precision": "binary"},
        "k": 2,
        "recall": 0.5,
        "questions": 2,
        "pages": 3,
    }
    assert [[at for (_, at), _ in row] for row in visual.ranked(built_index, QUESTIONS)] == [[1, 2], [1, 2]]
    assert "".join(approximations(Manifest.model_validate({"approximation": note}))) == (
        "the search by page images is approximate (precision binary): of the 2 best pages of 2 questions by"
        " exact search, it finds 50.0 % (recall@2 0.500)"
    )


def test_candidates_lose_pages(tmp_path: Path) -> None:
    """Page 3 is the best for both, but on average it is like the second question only."""
    visual = Visual(embed=MANY, top_k=1, candidates=1)
    built_index = index(tmp_path, visual)
    visual.assess(built_index, QUESTIONS)
    assert built_index.notes["approximation"]["recall"] == 0.5
    assert [[at for (_, at), _ in row] for row in visual.ranked(built_index, QUESTIONS)] == [[2], [3]]
    wide = visual.model_copy(update={"candidates": 3})
    wide.assess(built_index, QUESTIONS)
    assert built_index.notes["approximation"]["recall"] == 1


def test_retrievers_around_it_say_the_same(tmp_path: Path) -> None:
    visual = Visual(embed=MANY, top_k=2, precision="binary")
    built_index = index(tmp_path, visual)
    hybrid = Hybrid(of=(BM25(), visual))
    described = Describe(first=hybrid, generate=ScriptedModel())
    reranked = Rerank(first=hybrid, by=CrossEncoder(model="cross-encoder/ettin-reranker-17m-v1"))
    for outer in (hybrid, described, reranked):
        built_index.notes.clear()
        outer.assess(built_index, QUESTIONS)
        assert built_index.notes["approximation"]["recall"] == 0.5


def test_an_exact_search_says_nothing(tmp_path: Path) -> None:
    visual = Visual(embed=MANY)
    built_index = index(tmp_path, visual)
    visual.assess(built_index, QUESTIONS)
    assert built_index.notes == {}


def test_at_most_32_questions_are_compared(tmp_path: Path) -> None:
    visual = Visual(embed=MANY, precision="int8")
    built_index = index(tmp_path, visual)
    for count, expected in ((32, 32), (33, 17), (100, 25)):
        visual.assess(built_index, QUESTIONS[:1] * count)
        assert built_index.notes["approximation"]["questions"] == expected


def test_pages_in_no_store_have_the_same_scores(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    pages = [generator.standard_normal((length, 16), dtype=np.float32) for length in range(1, 60)]
    queries = [generator.standard_normal((length, 16), dtype=np.float32) for length in (3, 1, 20)]
    ours, theirs = (
        max_sim_of_each(queries, iter(pages)),
        max_sim(queries, MultiVectors.write(tmp_path / "s", pages)),
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert best_pages(ours, 59)[0][0][0] == best_pages(theirs, 1)[0][0][0]
    assert max_sim_of_each([floats([[1, 0], [0.8, 0.6]])], map(floats, PAGES)).tolist() == [
        [pytest.approx(1.56), pytest.approx(1.8), pytest.approx(1.74)]
    ]
    assert max_sim_of_each(queries, []).shape == (3, 0)
    with pytest.raises(ModelError, match="vectors of 16 numbers"):
        max_sim_of_each(queries, map(floats, PAGES))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"embed": ONE, "precision": "int8"}, "precision: kind 'image-text' gives one vector a page"),
        ({"embed": ONE, "pooling": 2}, "pooling: kind 'image-text' gives one vector a page"),
        ({"embed": ONE, "candidates": 9}, "candidates: kind 'image-text' gives one vector a page"),
        ({"embed": ONE, "store": {"kind": "lancedb"}}, "store: kind 'image-text' gives one vector a page"),
        ({"embed": ONE, "heatmap": True}, "heatmap: it is not known which patches"),
        (
            {"embed": MANY, "heatmap": True, "pooling": 2},
            "heatmap: with 'pooling', the vectors of the patches",
        ),
        (
            {"embed": MANY, "heatmap": True, "store": {"kind": "lancedb"}},
            "heatmap: with 'store', the vectors",
        ),
        ({"embed": MANY, "precision": "int8", "store": {"kind": "lancedb"}}, "precision: it is for store"),
        ({"embed": MANY, "candidates": 9, "store": {"kind": "lancedb"}}, "candidates: it is for store"),
        ({"embed": MANY, "candidates": 9, "top_k": 10}, "candidates: 9 are fewer than the 10 pages"),
        ({"embed": MANY, "pooling": 0.5}, "greater than or equal to 1"),
        ({"embed": MANY, "precision": "int4"}, "'float32', 'float16', 'int8' or 'binary'"),
    ],
)
def test_options_that_make_no_sense_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Visual(**options)


def test_other_stores_are_other_fingerprints() -> None:
    plain = Visual(embed=MANY)
    others = [
        plain.model_copy(update={"precision": "int8"}),
        plain.model_copy(update={"pooling": 2.0}),
        plain.model_copy(update={"candidates": 9}),
        Visual(embed=MANY, store={"kind": "lancedb"}),  # type: ignore[arg-type]
        Visual(embed=MANY, store={"kind": "lancedb", "index": "ivf-pq"}),  # type: ignore[arg-type]
    ]
    assert all(other.identity() != plain.identity() for other in others)
    keys = [other.pages.keeping.key for other in (plain, *others)]
    assert keys[0] == keys[3] == ()  # the means of candidates stand beside the same vectors
    assert len(set(keys)) == 5
