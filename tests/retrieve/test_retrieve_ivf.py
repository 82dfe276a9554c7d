"""Approximate search for chunks: what it finds of exact search, and what it does with its tables."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.cli import main
from fathoms.retrieve import BM25, Dense, Hybrid, Index
from fathoms.retrieve.approximation import recall
from fathoms.retrieve.ivf import IvfStore
from fathoms.retrieve.numpy_store import exact_search
from fathoms.retrieve.segments import Segment, SegmentedVectors
from fathoms.runs.search_notes import search_notes
from fathoms.types import Chunk, Question
from fathoms.types.run.manifest import Manifest
from tests.support.project import Project

pytestmark = pytest.mark.skipif(
    find_spec("lancedb") is None, reason="no LanceDB: pip install 'fathoms[lancedb]'"
)
STORE = IvfStore(groups=6, least=1_000)


def clustered(rows: int, seed: int) -> np.ndarray:
    """Unit vectors around 60 centres, which are the same for every seed."""
    centres = np.random.default_rng(0).standard_normal((60, 32))
    generator = np.random.default_rng(seed)
    result = centres[generator.integers(0, 60, rows)] + 0.6 * generator.standard_normal((rows, 32))
    return (result / np.linalg.norm(result, axis=1, keepdims=True)).astype(np.float32)


def stored(folder: Path, *parts: np.ndarray, counts: list[int] | None = None) -> SegmentedVectors:
    """Vectors in segments, one a part; of the first part only `counts` rows belong to the corpus."""
    for number, part in enumerate(parts):
        if not (folder / f"{number}").exists():
            Segment.write(folder / f"{number}", len(part), [part])
    segments = [Segment.open(folder / f"{number}") for number in range(len(parts))]
    numbers = counts or [len(part) for part in parts]
    return SegmentedVectors([each for each in segments if each], range(len(parts)), [0] * len(parts), numbers)


def rows(found: list[list[tuple[int, float]]]) -> list[list[int]]:
    return [[at for at, _ in row] for row in found]


@pytest.fixture(scope="module")
def large() -> np.ndarray:
    return clustered(6_000, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, large: np.ndarray) -> Path:
    """A folder with a segment of 6,000 vectors, of which a table has been made."""
    found = tmp_path_factory.mktemp("ivf")
    STORE.search(found, stored(found, large), large[:1], 1)
    return found


def test_all_groups_are_exact_search_and_some_are_nearly(folder: Path, large: np.ndarray) -> None:
    vectors, queries = stored(folder, large), clustered(100, 2)
    exact = exact_search(vectors, queries, 10)
    every = IvfStore(groups=100, least=1_000).search(folder, vectors, queries, 10)
    assert every == exact, "the same bytes"
    far = np.random.default_rng(9).standard_normal((100, 32), dtype=np.float32)  # between the centres
    exact = exact_search(vectors, far, 10)
    some = IvfStore(groups=1, least=1_000).search(folder, vectors, far, 10)
    assert 0.1 < recall(rows(some), rows(exact), 10) < 0.9
    scores = dict(exact[0])
    assert all(scores.get(at, score) == score for at, score in some[0])
    assert STORE.nbytes(vectors) > vectors.nbytes


def test_added_and_removed_documents(folder: Path, large: np.ndarray) -> None:
    new = clustered(500, 3)
    vectors = stored(folder, large, new, counts=[5_000, 500])
    tables = len(list(folder.glob("*/vectors.lance")))
    found = rows(STORE.search(folder, vectors, new[:50], 1))
    assert found == [[5_000 + at] for at in range(50)], "the new ones are compared as a whole"
    assert len(list(folder.glob("*/vectors.lance"))) == tables == 1
    gone = rows(STORE.search(folder, vectors, large[5_500:5_550], 10))
    assert all(0 <= at < 5_500 for row in gone for at in row)
    assert all(len(row) == 10 for row in gone)


def test_a_damaged_table_is_made_again(
    folder: Path, large: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    vectors = stored(folder, large)
    path = max(
        (path for path in folder.glob("*/vectors.lance/**/*") if path.is_file()),
        key=lambda p: p.stat().st_size,
    )
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        found = STORE.search(folder, vectors, large[:20], 1)
    assert rows(found) == [[at] for at in range(20)]
    assert len(caplog.records) == 1
    STORE.search(folder, vectors, large[:1], 1)
    assert len(caplog.records) == 1


def test_a_segment_that_is_written_anew_has_another_table(tmp_path: Path) -> None:
    # as by --refresh, after the model changed under the same name
    for seed in (5, 6):
        vectors = clustered(1_200, seed)
        Segment.write(tmp_path / "0", len(vectors), [vectors])
        assert rows(STORE.search(tmp_path, stored(tmp_path, vectors), vectors[:9], 1)) == [
            [n] for n in range(9)
        ]


def test_two_at_once_make_one_table(tmp_path: Path) -> None:
    vectors = stored(tmp_path, clustered(3_000, 7))
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(STORE.search, tmp_path, vectors, clustered(20, 8), 5) for _ in range(2)]
    assert both[0].result() == both[1].result()
    assert len(list(tmp_path.glob("*/vectors.lance"))) == 1


def test_what_is_lost_is_noted(folder: Path, large: np.ndarray) -> None:
    texts = [Chunk(id=f"c{n}", document="d.pdf", pages=(1,), text=str(n)) for n in range(len(large))]
    wanted = clustered(70, 4)
    index = Index((), texts, stored(folder, large), lambda some: wanted[[int(t) for t in some]], folder)
    questions = [Question(id=str(n), text=str(n), category="c") for n in range(70)]
    Dense(store=STORE, top_k=3).assess(index, questions)
    note: dict[str, Any] = index.notes["chunk_approximation"]
    assert (note["k"], note["questions"], note["chunks"]) == (10, 24, 6_000)
    found = STORE.search(folder, stored(folder, large), wanted[::3], 10)
    assert note["recall"] == recall(rows(found), rows(exact_search(large, wanted[::3], 10)), 10)
    (sentence,) = search_notes(Manifest.model_validate(index.notes))
    assert "by vectors of chunks is approximate (store ivf, groups 6, refine 5, least 1000)" in sentence
    hybrid = replace(index, notes={})
    Hybrid(of=[BM25(), Dense(store=STORE)]).assess(hybrid, questions)
    assert hybrid.notes["chunk_approximation"]["k"] == 20, "so many are fused"
    exact = replace(index, notes={})
    Dense().assess(exact, questions)
    assert exact.notes == {}


def test_vectors_that_are_in_memory_are_searched_exactly(tmp_path: Path, large: np.ndarray) -> None:
    assert STORE.search(tmp_path, large, large[:5], 3) == exact_search(large, large[:5], 3)


def test_ingest_prints_the_recall_and_the_manifest_has_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    setting = ["tiny.yaml", "--set", "retrieve.store.kind=ivf"]
    assert main(["ingest", *setting]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of the 3 best chunks of 4 questions by exact search, it finds 100.0 % (recall@3 1.000)" in said
    assert main(["run", *setting, "--no-score"]) == 0
    manifest = json.loads((project.runs()[0] / "manifest.json").read_text())
    assert manifest["chunk_approximation"]["recall"] == 1
    assert manifest["chunk_approximation"]["chunks"] == 3
