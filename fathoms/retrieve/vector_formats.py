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

from functools import lru_cache
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


def room_for(rows: int, width: int) -> Floats:
    """Return an array in which `decode` can put up to so many vectors of `width` numbers."""
    import numpy as np

    return np.empty((rows, stored_width("binary", width) * 8), dtype=np.float32)


def decode(stored: Stored, scales: Floats | None, width: int, room: Floats | None = None) -> Floats:
    """Return the float32 vectors (n, width) of what `encode` made of them.

    For `float32` this is the same memory, which may be read-only. The others are written into `room`, an
    array of `room_for`, or into a new one: filling new memory for each block takes as long as decoding it.
    """
    import numpy as np

    if stored.dtype.kind == "f" and stored.dtype.itemsize == 4:
        return stored.astype(np.float32, copy=False)
    whole = (room_for(len(stored), width) if room is None else room)[: len(stored)]
    vectors = whole[:, :width]
    if stored.dtype == np.uint8:
        np.take(_signs(), stored, axis=0, out=whole.reshape(*stored.shape, 8), mode="clip")
    elif stored.dtype == np.int8:
        np.copyto(vectors, stored)
    else:
        _widen(stored, vectors)
    if scales is not None:
        vectors *= scales[:, None]
    return vectors


@lru_cache(maxsize=1)
def _signs() -> Floats:
    """The eight signs (256, 8), +1 or -1, of every byte, highest bit first."""
    import numpy as np

    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    return np.where(bits, np.float32(1), np.float32(-1))


def _widen(halves: Stored, out: Floats) -> None:
    """Convert float16 to float32 exactly, in a seventh of the time of `astype`, which goes number by number.

    Shifting the bits of a finite float16 by 13 puts exponent and fraction where float32 has them. The
    exponent then counts from -127 instead of -15, so the number is 2 ** -112 times what it should be.
    Subnormal numbers come out right, too: they are subnormal in float32 before they are multiplied.
    """
    import numpy as np

    bits = out.view(np.int32)
    np.copyto(bits, halves.view("<i2"))  # the sign is copied into all higher bits
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, np.int32(-0x70000001), out=bits)  # of the copies of the sign, only the highest stays
    np.multiply(out, np.float32(2.0**112), out=out)
