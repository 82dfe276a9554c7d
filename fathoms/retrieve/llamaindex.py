"""Any LlamaIndex vector store, used as such."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, fingerprint, import_target
from fathoms.errors import ConfigError, MissingExtraError, StoreError
from fathoms.models.options import Options, resolved

if TYPE_CHECKING:
    from fathoms.retrieve.base import Vectors


class LlamaIndexStore(Component):
    """`store: {kind: llamaindex, target: ..., options: {...}}`.

    The chunks are added with the vectors that fathoms made, under UUIDs (some stores take no other ids),
    so every store searches the same points. A store that keeps files gets a fresh place when
    `{folder}` stands in an option. Where a store wants an object, such as the client of a server, the
    option is `{target: package.module:Class, options: {...}}` in its turn.
    """

    packages: ClassVar[tuple[str, ...]] = ("llama-index-core",)

    kind: Literal["llamaindex"] = "llamaindex"
    target: str = "llama_index.core.vector_stores:SimpleVectorStore"
    """The class, as `package.module:Class`."""
    options: Options = Field(default_factory=dict)
    """Its keyword arguments."""

    def check(self) -> None:
        """Raise ConfigError for a class or an environment variable that is not here."""
        for target in (self.target, *_targets(self.options)):
            import_target(target)
        resolved(self.options)

    def search(
        self, folder: Path, vectors: Vectors, queries: Vectors, k: int
    ) -> list[list[tuple[int, float]]]:
        """The `k` nearest rows by the store's own measure; raises ConfigError where it cannot be made."""
        try:
            from llama_index.core.schema import TextNode
            from llama_index.core.vector_stores import VectorStoreQuery
        except ImportError as error:
            raise MissingExtraError("llama-index-core", "llamaindex", "a LlamaIndex vector store") from error

        ids = {str(uuid.uuid5(uuid.NAMESPACE_OID, str(index))): index for index in range(len(vectors))}
        nodes = [TextNode(id_=name, text=name, embedding=vectors[at].tolist()) for name, at in ids.items()]
        wanted = [VectorStoreQuery(query_embedding=query.tolist(), similarity_top_k=k) for query in queries]
        store = self._make(folder / f"store-{fingerprint(self.identity())[:16]}")
        try:
            store.add(nodes)
            return [_rows(store.query(query), ids) for query in wanted]
        except Exception as error:  # every store has a tree of errors of its own
            raise StoreError(f"vector store {self.target}: {type(error).__name__}: {error}") from error

    def _make(self, folder: Path) -> Any:
        """The store, with `{folder}` in its options filled in."""
        shutil.rmtree(folder, ignore_errors=True)  # a store that appends would hold every chunk twice
        folder.mkdir(parents=True)
        try:
            return import_target(self.target)(**_built(resolved(self.options), str(folder)))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"store {self.target}: {error}") from error


def _rows(result: Any, ids: dict[str, int]) -> list[tuple[int, float]]:
    """What a store found, as (row, score)."""
    names = result.ids or [node.node_id for node in result.nodes or []]
    scores = result.similarities or [0.0] * len(names)
    return [(ids[name], float(score)) for name, score in zip(names, scores, strict=True)]


def _is_object(value: Any) -> bool:
    """Whether an option stands for an object that is to be made."""
    return isinstance(value, dict) and "target" in value and value.keys() <= {"target", "options"}


def _targets(value: Any) -> Iterator[str]:
    """The classes of all objects inside the options."""
    if _is_object(value):
        yield value["target"]
    if isinstance(value, dict):
        for child in value.values():
            yield from _targets(child)


def _built(value: Any, folder: str) -> Any:
    """The options with `{folder}` filled in and their objects made."""
    if isinstance(value, str):
        return value.replace("{folder}", folder)
    if not isinstance(value, dict):
        return value
    built = {key: _built(child, folder) for key, child in value.items()}
    return import_target(built["target"])(**built.get("options", {})) if _is_object(value) else built
