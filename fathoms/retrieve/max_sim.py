"""MaxSim, the score of late interaction: how well the vectors of a page answer each vector of a question.

For each vector of the question, the largest inner product with any vector of the page is taken, and these are
summed (Khattab and Zaharia 2020, ColBERT, equation 3). The scores here are exact for the vectors as stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fathoms.errors import ModelError
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.vector_formats import room_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_PRODUCTS = 1_048_576
"""Inner products that are computed at once (4 MiB): enough for a fast matrix product, and few enough that
they are still in the processor's cache when their largest are looked for."""
_ROWS = 4096
"""Stored vectors that are compared at once at most, so that they stay in the cache, too, when decoded."""
_TOKENS = 2048
"""Vectors of questions that are compared with all pages at once."""


def max_sim(queries: Sequence[Floats], pages: MultiVectors) -> Floats:
    """Return the MaxSim of each query, an array (vectors, width), with each page: (queries, pages), float32.

    The vectors of all queries are multiplied with a block of stored vectors at a time, so that memory does
    not grow with the number or the length of pages. Raises ModelError for a query that cannot be compared.
    """
    import numpy as np

    scores = np.empty((len(queries), len(pages)), dtype=np.float32)
    checked = [check_query(query, pages.width) for query in queries]
    first = 0
    while first < len(checked):
        end, tokens = first + 1, len(checked[first])
        while end < len(checked) and tokens + len(checked[end]) <= _TOKENS:
            tokens += len(checked[end])
            end += 1
        compare(checked[first:end], pages, scores[first:end])
        first = end
    return scores


def compare(
    queries: Sequence[Floats], pages: MultiVectors, scores: Floats, *, products: int = _PRODUCTS
) -> None:
    """Write the MaxSim of each query with each page into `scores`. As many as `products` inner products are
    computed at once, or those of one vector if they are more."""
    import numpy as np

    tokens = np.concatenate(queries)
    begins = np.cumsum([0, *(len(query) for query in queries[:-1])])
    total = int(pages.offsets[-1])
    rows = min(max(products // len(tokens), 1), _ROWS, total)
    room = room_for(rows, pages.width)
    results = np.empty(len(tokens) * rows, dtype=np.float32)
    before: Floats | None = None  # the largest products with the page that the last block cut in two
    page = 0
    for first in range(0, total, rows):
        end = min(first + rows, total)
        until = int(np.searchsorted(pages.offsets, end))  # pages up to here begin before the end of the block
        inner = pages.offsets[page + 1 : until]
        block = results[: len(tokens) * (end - first)].reshape(len(tokens), end - first)
        np.matmul(tokens, pages.vectors(first, end, room).T, out=block)
        largest: Floats = np.maximum.reduceat(block, np.concatenate([[0], inner - first]), axis=1)
        if before is not None:
            np.maximum(largest[:, 0], before, out=largest[:, 0])
        cut = pages.offsets[until] > end
        before = largest[:, -1].copy() if cut else None
        whole = until - 1 if cut else until
        if whole > page:
            scores[:, page:whole] = np.add.reduceat(largest[:, : whole - page], begins, axis=0)
        page = whole


def max_sim_of_each(queries: Sequence[Floats], pages: Iterable[Floats]) -> Floats:
    """Return the MaxSim of each query (vectors, width) with each of these pages (vectors, width), which may
    come from a generator: (queries, pages), float32.

    It is what `max_sim` returns for a store of the pages, for pages that are in none. Raises ModelError for a
    query that cannot be compared.
    """
    import numpy as np

    columns = []
    tokens: Floats | None = None
    begins = np.cumsum([0, *(len(query) for query in queries[:-1])])
    for page in pages:
        if tokens is None:
            tokens = np.concatenate([check_query(query, page.shape[1]) for query in queries])
        columns.append(np.add.reduceat((tokens @ page.T).max(axis=1), begins))
    if not columns:
        return np.empty((len(queries), 0), dtype=np.float32)
    scores: Floats = np.stack(columns, axis=1)
    return scores


def best_pages(scores: Floats, k: int) -> list[list[tuple[int, float]]]:
    """Return the `k` highest of the scores (queries, pages) of each query as (page, score), best first. Pages
    with equal scores keep their order."""
    import numpy as np

    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(scores, order, axis=1)
    return [
        list(zip(row.tolist(), values.tolist(), strict=True)) for row, values in zip(order, best, strict=True)
    ]


def max_sim_of_candidates(query: Floats, pages: MultiVectors, candidates: Sequence[int]) -> Floats:
    """Return the MaxSim of one query (vectors, width) with the pages of these numbers, in their order.

    Raises ModelError for a query that cannot be compared, and IndexError for a page that does not exist.
    """
    import numpy as np

    tokens = check_query(query, pages.width)
    numbers = np.arange(len(pages))[
        np.asarray(candidates, dtype=np.int64)
    ]  # negative ones count from the end
    scores = np.empty(len(numbers), dtype=np.float32)
    lengths = np.diff(pages.offsets)[numbers]
    first = 0
    while first < len(numbers):
        # as many pages as fit into one block, or one that is larger
        end = first + max(int(np.searchsorted(np.cumsum(lengths[first:]), _ROWS, side="right")), 1)
        ends = np.cumsum(lengths[first:end])
        room = room_for(int(ends[-1]), pages.width)
        begins = ends - lengths[first:end]
        for number, here, there in zip(numbers[first:end], begins, ends, strict=True):
            stored, after = int(pages.offsets[number]), int(pages.offsets[number + 1])
            room[here:there, : pages.width] = pages.vectors(stored, after, room[here:there])
        products = tokens @ room[:, : pages.width].T
        scores[first:end] = np.maximum.reduceat(products, begins, axis=1).sum(axis=0)
        first = end
    return scores


def check_query(query: Floats, width: int) -> Floats:
    """Return a query as float32; raises ModelError if it cannot be compared with vectors of `width`."""
    import numpy as np

    if query.ndim != 2 or not len(query):
        raise ModelError(
            f"embed: a question has an array of shape {query.shape} instead of one row or more of vectors;"
            " check the embedding model"
        )
    if query.shape[1] != width:
        raise ModelError(
            f"embed: questions have vectors of {query.shape[1]} numbers, the stored pages of {width}: the"
            " embedding model has changed; run again with --refresh"
        )
    if not np.isfinite(query).all():
        raise ModelError("embed: a question has numbers that are not finite; embed it in float32")
    return query.astype(np.float32, copy=False)
