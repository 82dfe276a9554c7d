"""The formats in which vectors are stored, and how each is turned back into float32.

`float32` keeps the vectors as they are, and `float16` rounds each number to 11 significant bits. `int8`
divides each vector by its largest absolute value, multiplies by 127 and rounds, and keeps that factor (the
vector-wise absolute-maximum quantisation of LLM.int8(), Dettmers et al. 2022). `binary` keeps the sign of
each number as one bit, 1 where it is above zero, packed as by `quantize_embeddings(..., "ubinary")` of
sentence-transformers. It is read as +1 and -1, so that a query of floats is compared with signs. That library
rescores with the bits as 1 and 0, which ranks pages alike: both scores differ by a factor of two and by the
sum of the query, which is the same for all pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fathoms.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Stored = NDArray[Any]

Format = Literal["float32", "float16", "int8", "binary"]
FORMATS: tuple[Format, ...] = ("float32", "float16", "int8", "binary")


def stored_type(dtype: Format) -> np.dtype[np.generic]:
    """Return the type of the stored numbers, little-endian on every machine."""
    import numpy as np

    return np.dtype({"float32": "<f4", "float16": "<f2", "int8": "i1", "binary": "u1"}[dtype])


def stored_width(dtype: Format, width: int) -> int:
    """Return how many stored numbers hold one vector of `width` numbers."""
    return (width + 7) // 8 if dtype == "binary" else width


def encode(vectors: Floats, dtype: Format) -> tuple[Stored, Floats | None]:
    """Turn vectors (n, width) into what is stored of them, and the scale of each vector (n,) for `int8`.

    Raises DataError if a number is too large for `float16`.
    """
    import numpy as np

    if dtype == "binary":
        return np.packbits(vectors > 0, axis=1), None
    if dtype == "int8":
        scales = np.abs(vectors).max(axis=1) / np.float32(127)
        scales[scales == 0] = 1  # a vector of zeros
        return np.rint(vectors / scales[:, None]).astype(np.int8), scales
    with np.errstate(over="ignore"):
        stored = vectors.astype(stored_type(dtype))
    if not np.isfinite(stored).all():
        raise DataError("a vector has a number over 65504, which float16 cannot hold; store it as float32")
    return stored, None


def decode(stored: Stored, scales: Floats | None, width: int) -> Floats:
    """Return the float32 vectors (n, width) of what `encode` made of them. For `float32` this is the same
    memory, which may be read-only."""
    import numpy as np

    if stored.dtype == np.uint8:
        signs = np.unpackbits(stored, axis=1, count=width).astype(np.float32)
        signs *= 2
        signs -= 1
        return signs
    vectors: Floats = stored.astype(np.float32, copy=False)
    if scales is not None:
        vectors *= scales[:, None]
    return vectors
