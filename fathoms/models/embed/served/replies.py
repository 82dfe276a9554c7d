"""The vectors in the reply of an embedding server, checked before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.errors import ModelError
from fathoms.models.embed.vectors import normalised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def by_index(answer: dict[str, Any], who: str, *names: str) -> list[Any]:
    """Return the vectors under `data` of a reply in the form of OpenAI's API, in the order of their `index`.

    `names` are the fields of an entry that may hold its vectors; the first one present is taken.
    Raises ModelError, whose message begins with `who`, for a reply of another form.
    """
    rows = answer.get("data")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ModelError(f"{who}: the answer contains no list of vectors under 'data'")
    found = [
        (row.get("index", at), next((row[n] for n in names if n in row), None)) for at, row in enumerate(rows)
    ]
    indexes = [index for index, _ in found]
    if sorted(map(str, indexes)) != sorted(map(str, range(len(rows)))):
        raise ModelError(f"{who}: the vectors of the answer are not numbered from 0 to {len(rows) - 1}")
    return [vector for _, vector in sorted(found, key=lambda pair: int(pair[0]))]


def matrices(found: Sequence[Any], count: int, who: str, *, many: bool) -> list[Vectors]:
    """Return the vectors of each input, float32 of shape (vectors, width).

    With `many`, each input has a list of vectors, which stay as they were sent; otherwise one, which is
    divided by its L2 norm. Raises ModelError, whose message begins with `who`, unless there are `count`
    inputs, whose vectors have finite numbers and the same width.
    """
    if len(found) != count:
        raise ModelError(f"{who}: {count} inputs were sent, the answer has vectors of {len(found)}")
    by_input = [_matrix(one if many else [one], who, many=many) for one in found]
    widths = sorted({matrix.shape[1] for matrix in by_input})
    if len(widths) > 1:
        raise ModelError(f"{who}: the answer has vectors of {' and '.join(map(str, widths))} numbers")
    return by_input if many else [normalised(matrix) for matrix in by_input]


def _matrix(vectors: Any, who: str, *, many: bool) -> Vectors:
    """Return the vectors of one input; raises ModelError if they are not lists of numbers of one length."""
    import numpy as np

    expected = "a list of vectors for each input" if many else "one vector for each input"
    if not isinstance(vectors, list) or not all(isinstance(vector, list) for vector in vectors):
        raise ModelError(f"{who}: the answer does not have {expected}")
    try:
        with np.errstate(over="ignore"):  # numbers beyond float32 are refused below
            matrix = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{who}: the answer does not have {expected}, of numbers") from error
    if matrix.ndim != 2 or not matrix.size:
        raise ModelError(f"{who}: the answer does not have {expected}")
    if not np.isfinite(matrix).all():
        raise ModelError(f"{who}: the answer contains numbers that are not finite")
    return matrix
