"""Exact search against a plain sort, and LlamaIndex's store against ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fathoms.errors import ConfigError
from fathoms.retrieve import ClosedBook, Dense, Index
from fathoms.retrieve.llamaindex import LlamaIndexStore
from fathoms.retrieve.numpy_store import NumpyStore, exact_search
from fathoms.retrieve.segments import Segment, SegmentedVectors
from fathoms.types import Chunk, Question


def unit(rows: int, seed: int, width: int = 16) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_by_hand(tmp_path: Path) -> None:
    # cosines with (1, 0): 0.6, 1.0, 0.0, 0.8
    vectors = np.array([[0.6, 0.8], [1, 0], [0, 1], [0.8, -0.6]], dtype=np.float32)
    found = NumpyStore().search(tmp_path, vectors, np.array([[1, 0]], dtype=np.float32), 3)
    assert [index for index, _ in found[0]] == [1, 3, 0]
    assert [score for _, score in found[0]] == pytest.approx([1.0, 0.8, 0.6])


def test_the_same_as_a_full_sort(tmp_path: Path) -> None:
    vectors, queries = unit(1000, 1), unit(600, 2)
    found = NumpyStore().search(tmp_path, vectors, queries, 10)
    expected = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :10]
    assert [[index for index, _ in row] for row in found] == expected.tolist()


def test_ties_keep_the_order_of_the_chunks(tmp_path: Path) -> None:
    vectors = np.ones((50, 1), dtype=np.float32)
    found = NumpyStore().search(tmp_path, vectors, np.ones((1, 1), dtype=np.float32), 5)
    assert [index for index, _ in found[0]] == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_rows_of_all_blocks_are_compared_and_ties_keep_their_order_across_them(tmp_path: Path) -> None:
    # whole numbers, so that scores are exact however the product is divided, and tie in every block
    generator = np.random.default_rng(5)
    vectors = generator.integers(-2, 3, (40_000, 3)).astype(np.float32)
    queries = generator.integers(-2, 3, (1_100, 3)).astype(np.float32)
    found = NumpyStore().search(tmp_path, vectors, queries, 700)
    for query in (0, 1, 1_023, 1_024, 1_099):
        expected = np.argsort(-(vectors @ queries[query]), kind="stable")[:700]
        assert [index for index, _ in found[query]] == expected.tolist()


def unit_of_one_direction(rows: int) -> np.ndarray:
    """Vectors that differ by some of the last digits of float32, with copies among them."""
    generator = np.random.default_rng(6)
    result = unit(1, 7, 384) + generator.integers(-2, 3, (rows, 384)).astype(np.float32) * 2.0**-27
    result[rows // 2 :: 3] = result[: len(result[rows // 2 :: 3])]
    return result.astype(np.float32)


def in_segments(folder: Path, vectors: np.ndarray) -> SegmentedVectors:
    """The vectors in three segments, in another order, among others that do not belong to them."""
    of, first, counts = [], [], []
    pieces = {0: [], 1: [], 2: []}
    for number, piece in enumerate(np.array_split(vectors, 40)):
        of.append(number % 3)
        pieces[number % 3].append((number, piece))
        counts.append(len(piece))
    first = [0] * len(counts)
    for segment, parts in pieces.items():
        blocks, at = [], 0
        for number, piece in reversed(parts):
            blocks += [unit(5, number, vectors.shape[1]), piece]
            first[number] = at + 5
            at += 5 + len(piece)
        Segment.write(folder / str(segment), at, blocks)
    segments = [Segment.open(folder / str(number)) for number in range(3)]
    return SegmentedVectors([each for each in segments if each], of, first, counts)


@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_the_same_to_the_byte_however_they_are_computed(tmp_path: Path, threads: int) -> None:
    # the reference computes every score by itself; a product in float32 misplaces most of these neighbours
    vectors, queries = unit_of_one_direction(3_000), unit(20, 8, 384)
    exact = [
        [float(np.float32(each)) for each in (vectors.astype(float) * query).sum(axis=1)]
        for query in queries.astype(float)
    ]
    expected = [sorted(enumerate(row), key=lambda pair: (-pair[1], pair[0]))[:50] for row in exact]
    product = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :50]
    assert [[at for at, _ in row] for row in expected] != product.tolist()
    stored = in_segments(tmp_path, vectors)
    assert np.array_equal(stored, vectors)
    with threadpool_limits(threads):
        for block in (7, 500, 16_384):
            assert exact_search(vectors, queries, 50, block=block) == expected
            assert exact_search(stored, queries, 50, block=block) == expected
        alone = [exact_search(stored, query[None], 50)[0] for query in queries]
    assert alone == expected


def test_llamaindex_store_finds_the_same(tmp_path: Path) -> None:
    vectors, queries = unit(200, 3), unit(20, 4)
    ours = NumpyStore().search(tmp_path, vectors, queries, 5)
    theirs = LlamaIndexStore().search(tmp_path, vectors, queries, 5)
    assert [[i for i, _ in row] for row in theirs] == [[i for i, _ in row] for row in ours]
    assert np.allclose([[s for _, s in r] for r in theirs], [[s for _, s in r] for r in ours], atol=1e-5)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("llama_index.core.vector_stores:Nothing", {}),
        ("llama_index.core.vector_stores:SimpleVectorStore", {"nonsense": 1, "data": 3}),
    ],
)
def test_a_store_that_cannot_be_made(tmp_path: Path, target: str, options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        LlamaIndexStore(target=target, options=options).search(tmp_path, unit(2, 1), unit(1, 1), 1)


def index(tmp_path: Path, rows: int) -> Index:
    chunks = [Chunk(id=f"c{n}", document="d.pdf", pages=(1,), text=str(n)) for n in range(rows)]
    return Index((), chunks, unit(rows, 5), lambda texts: unit(rows, 5)[[int(t) for t in texts]], tmp_path)


def questions(*texts: str) -> list[Question]:
    return [Question(id=text, text=text, category="c") for text in texts]


def test_dense_ranks_from_one(tmp_path: Path) -> None:
    found = Dense(top_k=3).search(index(tmp_path, 9), questions("4", "7"))
    assert [row[0].chunk.id for row in found] == ["c4", "c7"]
    assert [hit.rank for hit in found[0]] == [1, 2, 3]
    assert found[0][0].score == pytest.approx(1.0, abs=1e-6)


def test_fewer_chunks_than_asked_for(tmp_path: Path) -> None:
    assert len(Dense(top_k=30).search(index(tmp_path, 2), questions("1"))[0]) == 2
    empty = Index((), [], None, lambda texts: unit(1, 1), tmp_path)
    assert Dense().search(empty, questions("1")) == [()]


def test_closed_book_finds_nothing(tmp_path: Path) -> None:
    assert ClosedBook().search(index(tmp_path, 9), questions("4")) == [()]
