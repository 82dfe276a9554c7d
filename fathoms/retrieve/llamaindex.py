"""Any LlamaIndex vector store, used as such."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, fingerprint, import_target, package_version
from fathoms.errors import ConfigError, FathomsError, MissingExtraError, StoreError
from fathoms.models.chat.llamaindex import distribution
from fathoms.models.options import Options, resolved, without_secrets
from fathoms.paths import temporary_folder

if TYPE_CHECKING:
    from fathoms.retrieve.base import Vectors


class LlamaIndexStore(Component):
    """`store: {kind: llamaindex, target: ..., options: {...}}`.

    The chunks are added with the vectors that fathoms made, under UUIDs (some stores take no other ids)
    that no other index has, so every store searches the same points. `{folder}` in an option is a fresh
    folder for a store that keeps files; it goes when the search is done. Where a store wants an object,
    such as the client of a server, the option is `{target: package.module:Class, options: {...}}` in its
    turn.
    """

    packages: ClassVar[tuple[str, ...]] = ("llama-index-core",)

    kind: Literal["llamaindex"] = "llamaindex"
    target: str = "llama_index.core.vector_stores:SimpleVectorStore"
    """The class, as `package.module:Class`."""
    options: Options = Field(default_factory=dict)
    """Its keyword arguments."""

    def identity(self) -> dict[str, Any]:
        """With the versions of the packages of its classes, and what environment variables say (not
        secrets)."""
        own = super().identity()
        names = {distribution(target) for target in (self.target, *_targets(self.options))}
        own["versions"] |= {name: package_version(name) for name in names}
        return {**own, "resolved": fingerprint(without_secrets(self.options))}

    def check(self) -> None:
        """Raise ConfigError for a class or an environment variable that is not here."""
        for target in (self.target, *_targets(self.options)):
            import_target(target)
        resolved(self.options)

    def search(
        self, folder: Path, vectors: Vectors, queries: Vectors, k: int
    ) -> list[list[tuple[int, float]]]:
        """The `k` nearest rows by the store's own measure.

        `folder` is the index's own place: its name is in the ids. Raises ConfigError where the store does
        not take its options, StoreError where it fails or holds points of another index.
        """
        try:
            from llama_index.core.schema import TextNode
            from llama_index.core.vector_stores import VectorStoreQuery
        except ImportError as error:
            raise MissingExtraError("llama-index-core", "llamaindex", "a LlamaIndex vector store") from error

        ids = {_id(folder.name, index): index for index in range(len(vectors))}
        nodes = [TextNode(id_=name, text=name, embedding=vectors[at].tolist()) for name, at in ids.items()]
        wanted = [VectorStoreQuery(query_embedding=query.tolist(), similarity_top_k=k) for query in queries]
        try:
            with temporary_folder(folder.parent) as place:
                store = self._make(str(place))
                store.add(nodes)
                found = [_scored(store.query(query)) for query in wanted]
        except FathomsError:
            raise
        except Exception as error:  # every store has a tree of errors of its own
            raise StoreError(f"vector store {self.target}: {type(error).__name__}: {error}") from error
        if any(name not in ids for row in found for name, _ in row):
            raise StoreError(
                f"vector store {self.target} holds points of another index:"
                " use {folder} in its options, or another collection"
            )
        return [[(ids[name], score) for name, score in row] for row in found]

    def _make(self, folder: str) -> Any:
        """The store, with `{folder}` in its options filled in."""
        try:
            return import_target(self.target)(**_built(resolved(self.options), folder))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"store {self.target}: {error}") from error


def _id(index: str, row: int) -> str:
    """The id of a row of an index."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{index}:{row}"))


def _scored(result: Any) -> list[tuple[str, float]]:
    """What a store found, as (id, score)."""
    names = result.ids or [node.node_id for node in result.nodes or []]
    scores = result.similarities or [0.0] * len(names)
    return [(name, float(score)) for name, score in zip(names, scores, strict=True)]


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
