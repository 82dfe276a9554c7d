"""Where the vectors of pages are kept for a search by late interaction: a file of our own, or LanceDB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from fathoms.component import Component
from fathoms.errors import MissingExtraError, StoreError
from fathoms.retrieve.indexes import load_index
from fathoms.retrieve.lance_multi_vectors import LanceIndex, LanceMultiVectors
from fathoms.retrieve.max_sim import best_pages, max_sim
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.vector_formats import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_QUESTIONS = 64
"""Questions that are compared with all pages at once; their scores take 2.5 MB for 10,000 pages."""
Found = list[tuple[int, float]]
"""Rows of an index with their scores, best first."""


class MappedStore(Component):
    """`store: {kind: mapped}`: a file that is mapped into memory and compared as a whole."""

    inert: ClassVar[bool] = True
    kind: Literal["mapped"] = "mapped"

    @property
    def variant(self) -> str | None:
        """What the files of the store depend on besides the vectors: nothing."""
        return None

    @property
    def approximate(self) -> bool:
        """Whether the search may miss some of the best pages."""
        return False

    def check(self) -> None:
        """Do nothing: this store has no requirements."""

    def write(self, folder: Path, pages: Iterable[Floats], precision: Format) -> MultiVectors:
        """Write pages, each a float32 array (vectors, width); raises DataError and StoreError."""
        return MultiVectors.write(folder, pages, precision)

    def load(self, folder: Path) -> MultiVectors | None:
        """Open what `write` wrote; `None` if it is missing or damaged."""
        return load_index(folder, MultiVectors)

    def search(self, pages: MultiVectors, queries: Sequence[Floats], k: int) -> list[Found]:
        """Return the `k` pages with the highest MaxSim of each query (vectors, width), best first. Pages with
        equal scores keep their order."""
        found: list[Found] = []
        for first in range(0, len(queries), _QUESTIONS):
            found += best_pages(max_sim(queries[first : first + _QUESTIONS], pages), k)
        return found


class LanceStore(Component):
    """`store: {kind: lancedb}`: a table of LanceDB, with or without an index of all vectors."""

    packages: ClassVar[tuple[str, ...]] = ("lancedb",)

    inert: ClassVar[bool] = True
    kind: Literal["lancedb"] = "lancedb"
    index: LanceIndex = "none"
    """`none` compares all vectors, `ivf-flat` those of the nearest groups, and `ivf-pq` compresses these by
    product quantisation."""
    refine: int = Field(default=10, ge=1, le=1000)
    """With an index, how many times `top_k` pages are compared exactly."""
    groups: int | None = Field(default=None, ge=1, le=100_000)
    """With an index, how many groups of vectors are compared; LanceDB decides if not given."""

    @property
    def variant(self) -> str | None:
        """What the files of the store depend on besides the vectors."""
        return f"lancedb {self.index}"

    @property
    def approximate(self) -> bool:
        """Whether the search may miss some of the best pages."""
        return self.index != "none"

    def check(self) -> None:
        """Raise MissingExtraError if LanceDB is not installed."""
        for package in ("lancedb", "pyarrow"):
            if find_spec(package) is None:
                raise MissingExtraError(package, "lancedb", "a table of LanceDB")

    def write(self, folder: Path, pages: Iterable[Floats], precision: Format) -> LanceMultiVectors:
        """Write pages, each a float32 array (vectors, width) of vectors of length one; raises DataError and
        StoreError. The precision is always float32."""
        return LanceMultiVectors.write(folder, pages, self.index)

    def load(self, folder: Path) -> LanceMultiVectors | None:
        """Open what `write` wrote; `None` if it is missing or damaged."""

        def opened(place: Path) -> LanceMultiVectors | None:
            try:
                return LanceMultiVectors.open(place)
            except StoreError:
                return None

        return load_index(folder, opened)

    def search(self, pages: LanceMultiVectors, queries: Sequence[Floats], k: int) -> list[Found]:
        """Return the `k` best pages that LanceDB finds for each query, with their MaxSim, best first."""
        return pages.search(queries, k, groups=self.groups, refine=self.refine)


PageStore = Annotated[MappedStore | LanceStore, Field(discriminator="kind")]
