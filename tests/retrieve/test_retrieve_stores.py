"""LlamaIndex's vector stores find what exact search finds."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from fathoms.errors import ConfigError, StoreError
from fathoms.retrieve import Dense
from fathoms.retrieve.llamaindex import LlamaIndexStore
from fathoms.retrieve.numpy_store import NumpyStore

LANCEDB: dict[str, Any] = {
    "target": "llama_index.vector_stores.lancedb:LanceDBVectorStore",
    "options": {"uri": "{folder}"},
}
QDRANT: dict[str, Any] = {
    "target": "llama_index.vector_stores.qdrant:QdrantVectorStore",
    "options": {
        "collection_name": "chunks",
        "client": {"target": "qdrant_client:QdrantClient", "options": {"location": ":memory:"}},
    },
}


class Server:
    """A store that outlives the call, as a server's collection does."""

    points: ClassVar[dict[str, Any]] = {}

    def add(self, nodes: list[Any]) -> None:
        self.points.update({node.node_id: node.embedding for node in nodes})

    def query(self, query: Any) -> SimpleNamespace:
        scores = {name: float(np.dot(query.query_embedding, point)) for name, point in self.points.items()}
        best = sorted(scores, key=lambda name: -scores[name])[: query.similarity_top_k]
        return SimpleNamespace(ids=best, similarities=[scores[name] for name in best], nodes=None)


class Files(Server):
    """A store in a folder; it is not searched before a second one has been filled."""

    both: ClassVar[threading.Barrier] = threading.Barrier(2, timeout=60)

    def __init__(self, uri: str) -> None:
        self.path = Path(uri) / "points.json"
        assert not self.path.exists(), "the folder is fresh"

    def add(self, nodes: list[Any]) -> None:
        self.path.write_text(json.dumps({node.node_id: node.embedding for node in nodes}))
        self.both.wait()

    def query(self, query: Any) -> SimpleNamespace:
        self.points = json.loads(self.path.read_text())
        return super().query(query)


class Broken:
    """A store that cannot be made."""

    def __init__(self, uri: str) -> None:
        raise FileExistsError(uri)


def unit(rows: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((rows, 64)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:table_names:DeprecationWarning", "ignore:Payload indexes have no effect:UserWarning"
)
@pytest.mark.parametrize("config", [LANCEDB, QDRANT], ids=["lancedb", "qdrant"])
def test_the_same_hits_as_exact_search(tmp_path: Path, config: dict[str, Any]) -> None:
    pytest.importorskip(config["target"].split(":")[0])
    vectors, queries = unit(400, 1), unit(20, 2)
    store = LlamaIndexStore(**config)
    store.check()
    exact = NumpyStore().search(tmp_path, vectors, queries, 10)
    for _ in range(2):  # the second search finds nothing of the first
        found = store.search(tmp_path, vectors, queries, 10)
        assert [[index for index, _ in row] for row in found] == [
            [index for index, _ in row] for row in exact
        ]
        assert all(row == sorted(row, key=lambda hit: -hit[1]) for row in found)


def test_objects_inside_options(tmp_path: Path) -> None:
    """LlamaIndex's simplest store takes an object of its own that holds the vectors."""
    data = {"target": "llama_index.core.vector_stores.simple:SimpleVectorStoreData", "options": {}}
    store = LlamaIndexStore(options={"data": data})
    store.check()
    vectors = unit(50, 1)
    assert [row[0][0] for row in store.search(tmp_path, vectors, vectors[7:9], 1)] == [7, 8]


def test_what_the_store_says_is_named(tmp_path: Path) -> None:
    store = LlamaIndexStore(target="fractions:Fraction")
    with pytest.raises(StoreError, match=r"vector store fractions:Fraction: AttributeError: .*'add'"):
        store.search(tmp_path, unit(2, 1), unit(1, 2), 1)


@pytest.mark.parametrize(
    "options",
    [
        {"client": {"target": "nowhere.at.all:Client"}},
        {"deep": {"er": {"target": "pathlib:Nothing", "options": {"x": 1}}}},
    ],
)
def test_an_object_that_is_not_there(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="cannot import"):
        LlamaIndexStore(options=options).check()


def test_secrets_inside_an_object_are_refused() -> None:
    with pytest.raises(ValueError, match="looks like a secret"):
        LlamaIndexStore(options={"client": {"target": "a:B", "options": {"api_key": "sk-123"}}})


def test_points_of_another_index_are_not_taken_for_chunks(tmp_path: Path) -> None:
    store = LlamaIndexStore(target=f"{__name__}:Server")
    large, small = unit(50, 1), unit(10, 2)
    for _ in range(2):  # the same index may be filled again
        assert [row[0][0] for row in store.search(tmp_path / "large", large, large[7:9], 1)] == [7, 8]
    with pytest.raises(StoreError, match=r"Server holds points of another index: use \{folder\}"):
        store.search(tmp_path / "small", small, large[7:9], 1)


def test_two_searches_at_once_have_a_folder_each(tmp_path: Path) -> None:
    store = LlamaIndexStore(target=f"{__name__}:Files", options={"uri": "{folder}"})
    vectors = unit(20, 1)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(store.search, tmp_path, vectors, vectors[3:4], 1) for _ in range(2)]
    assert [run.result()[0][0][0] for run in runs] == [3, 3]
    assert list(tmp_path.iterdir()) == [], "nothing is left of them"


def test_a_store_that_breaks_as_it_is_made(tmp_path: Path) -> None:
    store = LlamaIndexStore(target=f"{__name__}:Broken", options={"uri": "{folder}"})
    with pytest.raises(StoreError, match=r"Broken: FileExistsError: .*[.]part"):
        store.search(tmp_path, unit(2, 1), unit(1, 2), 1)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="FileExistsError"):
        store.search(tmp_path / "file", unit(2, 1), unit(1, 2), 1)


def test_identity_holds_the_versions_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    client = {"target": "httpx:Client", "options": {"base_url": "${PLACE}", "api_key": "${KEY}"}}
    store = LlamaIndexStore(target="numpy:Nothing", options={"client": client})
    monkeypatch.setenv("PLACE", "http://one")
    monkeypatch.setenv("KEY", "secret")
    known = store.identity()
    assert {name: known["versions"][name] for name in ("numpy", "httpx")} == {
        name: version(name) for name in ("numpy", "httpx")
    }
    assert Dense(store=store).identity()["store"] == known
    monkeypatch.setenv("KEY", "another")
    assert store.identity() == known
    monkeypatch.setenv("PLACE", "http://two")
    assert store.identity() != known
    assert Dense(store=store).identity() != Dense().identity()


def test_the_version_of_what_comes_with_llama_index_itself() -> None:
    assert LlamaIndexStore().identity()["versions"] == {"llama-index-core": version("llama-index-core")}
