"""Dense search with any vector store of LlamaIndex."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Loads, package_version
from fathoms.config import import_target
from fathoms.errors import ConfigError, FathomsError, MissingExtraError, StoreError
from fathoms.models.chat.llamaindex import distribution
from fathoms.models.options import Options, resolved, without_secrets
from fathoms.paths import temporary_folder
from fathoms.retrieve.retriever import VectorStore
from fathoms.text.fingerprints import fingerprint

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Floats, Vectors


class LlamaIndexStore(VectorStore):
    """`store: {kind: llamaindex, target: ..., options: {...}}`: search in a vector store of LlamaIndex.

    The store gets the vectors that fathoms computed, so all stores search the same points. The ids are UUIDs
    (some stores accept no other ids) that are unique to this index. `{folder}` in an option is replaced by a
    new temporary folder, for stores that keep files; it is deleted after the search. If the store needs an
    object, such as a client of a server, write the option as
    `{target: package.module:Class, options: {...}}`.
    """

    packages: ClassVar[tuple[str, ...]] = ("llama-index-core",)

    loads: ClassVar[Mapping[str, Loads]] = {"target": Loads("code")}

    kind: Literal["llamaindex"] = "llamaindex"
    target: str = "llama_index.core.vector_stores:SimpleVectorStore"
    """The class of the vector store, as `package.module:Class`."""
    options: Options = Field(default_factory=dict)
    """Keyword arguments of the class. `${NAME}` in a text is replaced by that environment variable."""

    @property
    def approximate(self) -> bool:
        """Whether the search is known to miss some of the best chunks; of foreign stores nothing is known."""
        return False

    def nbytes(self, vectors: Vectors) -> int:
        """Return the bytes of what is kept besides the vectors: nothing after the search."""
        return 0

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the versions of the packages that define the classes, and by the values of
        environment variables in the options, except secrets."""
        own = super().identity()
        names = {distribution(target) for target in (self.target, *_targets(self.options))}
        own["versions"] |= {name: package_version(name) for name in names}
        return {**own, "resolved": fingerprint(without_secrets(self.options))}

    def check(self) -> None:
        """Raise ConfigError if a class cannot be imported or an environment variable is not set."""
        for target in (self.target, *_targets(self.options)):
            import_target(target)
        resolved(self.options)

    def search(
        self, folder: Path, vectors: Vectors, queries: Floats, k: int
    ) -> list[list[tuple[int, float]]]:
        """Return the `k` nearest rows of `vectors` for each query as (row, score), by the store's own
        measure.

        `folder` is the cache folder of the index; its name is part of the ids. Raises ConfigError if the
        store does not accept its options, StoreError if it fails or returns points of another index.
        """
        import numpy as np

        try:
            from llama_index.core.schema import TextNode
            from llama_index.core.vector_stores import VectorStoreQuery
        except ImportError as error:
            raise MissingExtraError("llama-index-core", "llamaindex", "a LlamaIndex vector store") from error

        ids = {
            str(uuid.uuid5(uuid.NAMESPACE_OID, f"{folder.name}:{row}")): row for row in range(len(vectors))
        }
        rows = np.asarray(vectors)
        nodes = [TextNode(id_=name, text=name, embedding=rows[at].tolist()) for name, at in ids.items()]
        wanted = [VectorStoreQuery(query_embedding=query.tolist(), similarity_top_k=k) for query in queries]
        try:
            with temporary_folder(folder.parent) as place:
                store = self._make(str(place))
                store.add(nodes)
                found = [_scored(store.query(query)) for query in wanted]
        except FathomsError:
            raise
        except Exception as error:  # every store has its own exception classes
            raise StoreError(f"vector store {self.target}: {type(error).__name__}: {error}") from error
        if any(name not in ids for row in found for name, _ in row):
            raise StoreError(
                f"vector store {self.target} holds points of another index:"
                " use {folder} in its options, or another collection"
            )
        return [[(ids[name], score) for name, score in row] for row in found]

    def _make(self, folder: str) -> Any:
        """Create the store, with `{folder}` in its options replaced by `folder`."""
        try:
            return import_target(self.target)(**_built(resolved(self.options), folder))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"store {self.target}: {error}") from error


def _scored(result: Any) -> list[tuple[str, float]]:
    """Convert the result of a query to (id, score) pairs."""
    names = result.ids or [node.node_id for node in result.nodes or []]
    scores = result.similarities or [0.0] * len(names)
    return [(name, float(score)) for name, score in zip(names, scores, strict=True)]


def _is_object(value: Any) -> bool:
    """Return whether the value of an option describes an object to create (`target`, `options`)."""
    return isinstance(value, dict) and "target" in value and value.keys() <= {"target", "options"}


def _targets(value: Any) -> Iterator[str]:
    """Yield the `target` of every object described inside the options."""
    if _is_object(value):
        yield value["target"]
    if isinstance(value, dict):
        for child in value.values():
            yield from _targets(child)


def _built(value: Any, folder: str) -> Any:
    """Return the options with `{folder}` replaced and the described objects created."""
    if isinstance(value, str):
        return value.replace("{folder}", folder)
    if not isinstance(value, dict):
        return value
    built = {key: _built(child, folder) for key, child in value.items()}
    return import_target(built["target"])(**built.get("options", {})) if _is_object(value) else built
