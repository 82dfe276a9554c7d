"""Token pooling: fewer vectors per page, by merging those that are alike (Clavié et al. 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def pool_tokens(page: Floats, factor: float) -> Floats:
    """Merge the vectors of a page (n, width) into n // `factor` (at least one) of length one.

    The vectors must have length one. They are clustered by Ward's method on their cosine distances, cut so
    that the wanted number of clusters remains, and each cluster is replaced by its normalised mean. This is
    `HierarchicalTokenPooling(factor, num_protected_tokens=0)` of sentence-transformers, in the same order of
    clusters. Fewer vectors may come back where distances are equal. colpali-engine differs: it clusters rows
    of the matrix of similarities. Raises UsageError if `factor` is below 1.
    """
    import numpy as np

    if not factor >= 1:
        raise UsageError(f"the factor of token pooling is {factor}; it must be 1 or more")
    count = max(int(len(page) // factor), 1)
    if count < len(page):
        page = _means(page, _clusters(page, count))
    lengths = np.linalg.norm(page, axis=1, keepdims=True)
    pooled: Floats = (page / np.maximum(lengths, 1e-12)).astype(np.float32)
    return pooled


def _clusters(page: Floats, count: int) -> NDArray[np.int64]:
    """Return the number of the cluster (n,) of each vector, from 0 on without gaps."""
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = np.clip(1 - page @ page.T, 0, 2)
    tree = linkage(squareform(distances, checks=False), method="ward")
    labels = fcluster(tree, t=count, criterion="maxclust")
    found: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1]
    return found


def _means(page: Floats, clusters: NDArray[np.int64]) -> Floats:
    """Return the mean vector of each cluster, in the order of their numbers."""
    import numpy as np

    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    begins = np.cumsum(sizes) - sizes
    sums: Floats = np.add.reduceat(page[order], begins, axis=0)
    sums /= sizes[:, None]
    return sums
