"""LlamaIndex's vector stores find what exact search finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.errors import ConfigError, StoreError
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
    for _ in range(2):  # the second search finds a store that is there, and makes it afresh
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
