"""Vector arithmetic that the embedders share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide every row by its L2 norm; rows of zeros remain zeros."""
    import numpy as np

    norms = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit
