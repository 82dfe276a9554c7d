"""Pages as bags of vectors on the disk: what late interaction (ColBERT, ColPali) compares questions with.

A page has as many vectors as its model makes patches of it, so pages differ in length. All vectors stand one
after the other in one file that is mapped into memory, and `offsets` says where each page begins. Searching
therefore needs no more memory than the block that is being compared, however many pages there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.errors import DataError, StoreError
from fathoms.paths import publish, sealed, temporary_folder
from fathoms.retrieve.vector_formats import FORMATS, Format, decode, encode, stored_type, stored_width

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Offsets = NDArray[np.int64]

_ABOUT = "multi-vectors.json"
_VECTORS = "vectors.bin"
_SCALES = "scales.bin"
_OFFSETS = "offsets.npy"
_VERSION = 1


class MultiVectors:
    """The vectors of many pages, mapped into memory. `write` makes such a folder, `open` reads one."""

    def __init__(self, folder: Path) -> None:
        """Map the files of `folder` into memory; called by `open`, which checks them first."""
        import numpy as np

        about = json.loads((folder / _ABOUT).read_bytes())
        if about["version"] != _VERSION or about["dtype"] not in FORMATS:
            raise ValueError("written by another version of fathoms")
        self.folder = folder
        self.dtype: Format = about["dtype"]
        self.width = int(about["width"])
        """Numbers in a vector."""
        self.offsets: Offsets = np.load(folder / _OFFSETS, allow_pickle=False)
        """Page `i` has the vectors from `offsets[i]` up to and without `offsets[i + 1]`."""
        shape = (int(self.offsets[-1]), stored_width(self.dtype, self.width))
        self._stored: NDArray[np.generic] = np.memmap(
            folder / _VECTORS, dtype=stored_type(self.dtype), mode="r", shape=shape
        )
        self._scales: Floats | None = None
        if self.dtype == "int8":
            self._scales = np.fromfile(folder / _SCALES, dtype="<f4", count=shape[0])

    @classmethod
    def write(cls, folder: Path, pages: Iterable[Floats], dtype: Format = "float32") -> MultiVectors:
        """Write pages, each a float32 array (vectors, width), to a folder, and open it.

        Pages are taken one at a time and may come from a generator. The folder appears under its name only
        when it is complete, and replaces what was there. `vector_formats` says what each `dtype` keeps.
        Raises DataError for a page that cannot be used, or if there is none, and StoreError if the disk does
        not take the files.
        """
        try:
            with temporary_folder(folder.parent) as unfinished:
                _write(unfinished, pages, dtype)
                publish(unfinished, folder)
        except OSError as error:
            raise StoreError(
                f"the vectors of pages cannot be written to {folder} ({error}): free some space, or check"
                " that the folder can be written to"
            ) from error
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> MultiVectors:
        """Open what `write` wrote, after comparing every byte with its checksum. Raises StoreError."""
        state = sealed(folder)
        if state == "missing":
            raise StoreError(
                f"{folder} holds no complete vectors of pages: embed the pages again to write them"
            )
        if state == "damaged":
            raise StoreError(
                f"the vectors of pages in {folder} are damaged: delete the folder, and embed the pages again"
            )
        try:
            return cls(folder)
        except (OSError, EOFError, ValueError, TypeError, LookupError) as error:
            raise StoreError(
                f"the vectors of pages in {folder} cannot be read ({error}): delete the folder, and embed the"
                " pages again"
            ) from error

    def __len__(self) -> int:
        """The number of pages in the index."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """The bytes of all vectors on the disk, with the scales of `int8`."""
        return int(self._stored.nbytes) + (0 if self._scales is None else int(self._scales.nbytes))

    def page(self, number: int) -> Floats:
        """Return the float32 vectors (vectors, width) of a page, counted from 0 (from the end if negative).
        Raises IndexError if there is no such page."""
        at = range(len(self))[number]
        return self.vectors(int(self.offsets[at]), int(self.offsets[at + 1]))

    def vectors(self, first: int, end: int, room: Floats | None = None) -> Floats:
        """Return the float32 vectors from `first` up to and without `end`, counted over all pages.

        With `room`, an array of `room_for` in `vector_formats`, they may be written there, and are then
        overwritten by the next call with it.
        """
        scales = None if self._scales is None else self._scales[first:end]
        return decode(self._stored[first:end], scales, self.width, room)


def _write(folder: Path, pages: Iterable[Floats], dtype: Format) -> None:
    """Write the files of a store."""
    import numpy as np

    offsets = [0]
    width = 0
    with (folder / _VECTORS).open("wb") as vectors, (folder / _SCALES).open("wb") as scales:
        for number, page in enumerate(pages):
            checked = check_page(page, number, width)
            width = checked.shape[1]
            try:
                stored, factors = encode(checked, dtype)
            except DataError as error:
                raise DataError(f"page {number} of the vectors: {error}") from error
            vectors.write(np.ascontiguousarray(stored).data)
            if factors is not None:
                scales.write(factors.astype("<f4").data)
            offsets.append(offsets[-1] + len(checked))
    if not width:
        raise DataError("there are no vectors of pages to store: check that the documents have pages")
    np.save(folder / _OFFSETS, np.array(offsets, dtype=np.int64))
    about = {"version": _VERSION, "dtype": dtype, "width": width}
    (folder / _ABOUT).write_text(json.dumps(about))


def check_page(page: Any, number: int, width: int) -> Floats:
    """Return a page as float32; raises DataError if it cannot be stored. `width` is that of the pages before
    it, or 0."""
    import numpy as np

    found = np.asarray(page)
    if found.ndim != 2 or found.dtype.kind != "f":
        raise DataError(
            f"page {number} of the vectors is a {found.dtype} array of shape {found.shape}, not one of floats"
            " with a row per vector: check what the embedding model returns"
        )
    if not found.size:
        raise DataError(f"page {number} of the vectors has none: leave it out, or check its picture")
    if width and found.shape[1] != width:
        raise DataError(
            f"page {number} has vectors of {found.shape[1]} numbers, the pages before it of {width}: embed"
            " all pages with the same model"
        )
    if not np.isfinite(found).all():
        raise DataError(
            f"page {number} has vectors with numbers that are not finite: check the picture of the page, or"
            " embed it in float32"
        )
    return found.astype(np.float32, copy=False)
