"""Vectors of a corpus in segments: what is embedded and written when documents come, go, change or break."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import ModelError
from fathoms.models import LexicalEmbedder
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.preparation import Preparation
from fathoms.pipeline.vector_index import TextsOf, VectorIndexer
from fathoms.retrieve.numpy_store import exact_search
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint

Corpus = dict[str, list[str]]


@dataclass
class Work:
    """What was done for an index: its vectors, the number of texts that were embedded, the documents that
    were read, and the files of segments."""

    vectors: np.ndarray
    embedded: int
    read: list[str] = field(default_factory=list)


def corpus(documents: int, chunks: int = 3) -> Corpus:
    return {f"d{n}": [f"alpha{n} beta{n % 7} gamma{c}" for c in range(chunks)] for n in range(documents)}


def index(folder: Path, found: Corpus, embedder: LexicalEmbedder | None = None, **options: int) -> Work:
    """Make the index of a corpus as a new process would."""
    cache, times = Cache(folder), IngestTimes()
    read: list[str] = []

    def loaded(name: str) -> Sequence[str]:
        read.append(name)
        return found[name]

    def documents() -> list[TextsOf]:
        return [
            TextsOf(fingerprint(name, texts), len(texts), lambda name=name: loaded(name))
            for name, texts in found.items()
        ]

    work = Preparation(cache, times=times)
    indexer = VectorIndexer(embedder or LexicalEmbedder(), work, **options)
    vectors = indexer.index(fingerprint(list(found.items())), [len(t) for t in found.values()], documents)
    embedded = sum(int(took["made"]) for took in times.report().values())
    cache.close()
    return Work(np.array(vectors), embedded, read)


def segments(folder: Path) -> dict[str, int]:
    """The sizes of the files of vectors by the names of their segments."""
    return {path.parent.name: path.stat().st_size for path in folder.glob("indexes/*/vectors.npy")}


def expected(found: Corpus) -> np.ndarray:
    return LexicalEmbedder().embed([text for texts in found.values() for text in texts])


def test_by_hand(tmp_path: Path) -> None:
    # the third document has the only word of the question
    found = {"a": ["red", "green"], "b": [], "c": ["blue"]}
    vectors = index(tmp_path, found).vectors
    ((best, *_),) = exact_search(vectors, LexicalEmbedder().embed_queries(["blue"]), 3)
    assert best == (2, pytest.approx(1.0))
    assert index(tmp_path, {"b": []}).vectors.shape == (0, 0)


def test_one_percent_more_documents_cost_one_percent(tmp_path: Path) -> None:
    old = corpus(300)
    assert (work := index(tmp_path, old)).embedded == 900
    (whole,) = segments(tmp_path).values()
    again = index(tmp_path, old)
    assert (again.embedded, again.read) == (0, []), "a hit reads nothing but the segments"
    assert np.array_equal(again.vectors, work.vectors)

    new = {"another": ["delta", "epsilon"], **old, "between": ["zeta"]}
    grown = index(tmp_path, new)
    assert (grown.embedded, grown.read) == (3, ["another", "between"])
    assert sorted(segments(tmp_path).values())[0] < whole / 100
    assert np.array_equal(grown.vectors, expected(new)), "the same as all at once"


def test_documents_that_go_or_change(tmp_path: Path) -> None:
    old = corpus(20)
    index(tmp_path, old)
    fewer = {name: texts for name, texts in old.items() if name not in ("d0", "d7", "d19")}
    assert (found := index(tmp_path, fewer)).read == []
    assert np.array_equal(found.vectors, expected(fewer))
    changed = {**fewer, "d3": ["something else", *old["d3"][1:]]}
    assert (found := index(tmp_path, changed)).embedded == 1, "the other two texts are known"
    assert found.read == ["d3"]
    assert np.array_equal(found.vectors, expected(changed))
    assert index(tmp_path, dict(reversed(changed.items()))).read == [], "another order"


def test_segments_and_blocks_of_any_size(tmp_path: Path) -> None:
    found = {**corpus(23), "long": [f"word{n}" for n in range(30)]}
    work = index(tmp_path, found, rows=12, texts=5)
    assert len(segments(tmp_path)) == 6, "of four documents each, the last with the long document"
    assert np.array_equal(work.vectors, expected(found))


def test_a_damaged_segment_is_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = corpus(8)
    index(tmp_path, found, rows=12)
    before = segments(tmp_path)
    path = sorted(tmp_path.glob("indexes/*/vectors.npy"))[0]
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        work = index(tmp_path, found, rows=12)
    assert len(caplog.records) == 1
    assert (len(work.read), work.embedded) == (4, 0)
    assert segments(tmp_path) == before
    assert np.array_equal(work.vectors, expected(found))
    more = {**found, "new": ["omega"]}
    path.unlink()
    assert np.array_equal(index(tmp_path, more, rows=12).vectors, expected(more))


@pytest.mark.parametrize(
    "change", [{"first": (9, 9, 9)}, {"first": (0, 0, 3)}, {"of": (0, 0, 1)}, {"of": (0,)}, {"segments": ()}]
)
def test_a_list_of_another_corpus_is_made_again(tmp_path: Path, change: dict[str, object]) -> None:
    found = corpus(3)
    index(tmp_path, found)
    cache = Cache(tmp_path)
    name = fingerprint(list(found.items()))
    listed = json.loads(cache.get_text("vector-index", name) or "")
    cache.put_text("vector-index", name, json.dumps({**listed, **change}))
    cache.close()
    assert np.array_equal(index(tmp_path, found).vectors, expected(found))
    assert index(tmp_path, found).read == []


def test_a_disk_that_takes_no_segment_changes_no_result(tmp_path: Path) -> None:
    (tmp_path / "indexes").write_text("a file where the folder should be")
    found = corpus(5)
    assert np.array_equal(index(tmp_path, found).vectors, expected(found))


def test_a_model_that_changed_under_the_same_name_is_told(tmp_path: Path) -> None:
    class Renamed(LexicalEmbedder):
        def identity(self) -> dict[str, object]:
            return LexicalEmbedder().identity()

    old = corpus(3)
    index(tmp_path, old)
    with pytest.raises(ModelError, match=r"vectors of \d+ numbers, others of .*run again with --refresh"):
        index(tmp_path, {**old, "new": ["omega"]}, Renamed(dimension=1024))


_MAKE = """
import sys
from pathlib import Path
from tests.pipeline.test_vector_index import corpus, index
index(Path(sys.argv[1]), corpus(int(sys.argv[2]), 40), rows=200, texts=100)
"""


@pytest.mark.slow
def test_killed_at_any_moment_and_two_at_once(tmp_path: Path) -> None:
    """Processes with different corpora fill one cache and are killed; what they leave is used or replaced."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}

    def start(documents: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _MAKE, str(tmp_path), str(documents)]
        return subprocess.Popen(command, env=environment, cwd=root)

    for wanted in (1, 3):
        both = [start(90), start(100)]
        deadline = time.monotonic() + 60
        while len(segments(tmp_path)) < wanted and time.monotonic() < deadline:
            time.sleep(0.002)
        for process in both:
            process.send_signal(signal.SIGKILL)
            process.wait()
    both = [start(90), start(100)]
    assert [process.wait(120) for process in both] == [0, 0]
    found = corpus(100, 40)
    work = index(tmp_path, found)
    assert (work.embedded, work.read) == (0, [])
    assert np.array_equal(work.vectors, expected(found))
    assert list((tmp_path / "indexes").glob(".*.part")) == []
