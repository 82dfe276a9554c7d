"""Writes a PDF whose pages are pictures, without a text layer, the same bytes each time.

Data sets publish pages as pictures, and every parser, page image and attached file here starts from a PDF. A
JPEG goes into the file as it is, without a loss. Anything else is stored losslessly, as the pixels it has.
"""

from __future__ import annotations

import io
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.errors import DataError
from fathoms.paths import temporary_path

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Fit = Callable[[int, int], tuple[float, float]]
"""Gives the width and height of a page in points for a picture's width and height in pixels."""

A4_LONG_SIDE = 842.0
_SMALLEST, _LARGEST = 3.0, 14_400.0
"""The limits of a page's sides in points that PDF readers accept (ISO 32000-1, Annex C)."""
_SPACES = {"L": "DeviceGray", "RGB": "DeviceRGB"}


def long_side(points: float = A4_LONG_SIDE) -> Fit:
    """Return a fit in which the longer side of a page has the given length, by default that of A4."""
    return lambda width, height: (points * width / max(width, height), points * height / max(width, height))


def at_resolution(dpi: float) -> Fit:
    """Return a fit for pictures of a known resolution in dots an inch."""
    return lambda width, height: (width * 72 / dpi, height * 72 / dpi)


class PicturePdf:
    """A PDF that is written page by page, so that only one picture is in memory.

    Pages can be added in any order. A number that is left out becomes an empty page, so that the other pages
    keep their numbers. The file appears at `path` when it is closed.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._part = path, temporary_path(path.parent)
        self._offsets: dict[int, int] = {}
        self._pages: dict[int, int] = {}
        self._last = 2  # objects 1 and 2 are the catalogue and the list of pages, written at the end
        self._size = (A4_LONG_SIDE / 2**0.5, A4_LONG_SIDE)
        self._part.write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")

    def add(self, number: int, picture: bytes, fit: Fit) -> None:
        """Add a page, numbered from 1; raises DataError if the picture cannot be read."""
        stream, keys, size = _encoded(picture)
        width, height = self._size = _within(*fit(*size))
        image = self._write(
            f"<< /Type /XObject /Subtype /Image /Width {size[0]} /Height {size[1]} /BitsPerComponent 8 {keys}"
            f" /Length {len(stream)} >>",
            stream,
        )
        drawn = f"q {width:.3f} 0 0 {height:.3f} 0 0 cm /P Do Q".encode()
        content = self._write(f"<< /Length {len(drawn)} >>", drawn)
        self._pages[number] = self._write(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3f} {height:.3f}] /Contents {content} 0 R"
            f" /Resources << /XObject << /P {image} 0 R >> >> >>"
        )

    def close(self, pages: int | None = None) -> tuple[int, ...]:
        """Finish the file and return the numbers of its empty pages. `pages` is the number of pages, by
        default the highest number that was added."""
        last = max([*self._pages, pages or 1])
        empty = tuple(number for number in range(1, last + 1) if number not in self._pages)
        for number in empty:
            width, height = self._size
            self._pages[number] = self._write(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3f} {height:.3f}] /Resources << >> >>"
            )
        kids = " ".join(f"{self._pages[number]} 0 R" for number in sorted(self._pages))
        self._write(f"<< /Type /Pages /Count {last} /Kids [{kids}] >>", number=2)
        self._write("<< /Type /Catalog /Pages 2 0 R >>", number=1)
        start = self._part.stat().st_size
        table = "".join(f"{self._offsets[number]:010} 00000 n \n" for number in sorted(self._offsets))
        count = len(self._offsets) + 1
        self._append(
            f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
            f"startxref\n{start}\n%%EOF\n".encode()
        )
        self._part.replace(self._path)
        return empty

    def discard(self) -> None:
        """Remove the unfinished file."""
        self._part.unlink(missing_ok=True)

    def _write(self, head: str, stream: bytes | None = None, *, number: int | None = None) -> int:
        """Append an object and return its number, by default the next."""
        if number is None:
            self._last = number = self._last + 1
        body = b"" if stream is None else b"stream\n" + stream + b"\nendstream\n"
        self._offsets[number] = self._part.stat().st_size
        self._append(f"{number} 0 obj\n{head}\n".encode() + body + b"endobj\n")
        return number

    def _append(self, data: bytes) -> None:
        with self._part.open("ab") as file:  # not kept open: a corpus may have a thousand documents
            file.write(data)


def _encoded(picture: bytes) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture as the stream of a PDF, the keys that describe it, and its size in pixels."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of very large pictures, and refuses those that are twice as large.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(picture)) as image:
                if image.format == "JPEG" and image.mode in _SPACES:
                    return picture, f"/ColorSpace /{_SPACES[image.mode]} /Filter /DCTDecode", image.size
                plain = image if image.mode == "L" else _on_white(image)
                packed = zlib.compress(plain.tobytes(), 3)
                return packed, f"/ColorSpace /{_SPACES[plain.mode]} /Filter /FlateDecode", plain.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning) as error:
        raise DataError(f"the picture cannot be read: {error}") from error


def _on_white(image: Picture) -> Picture:
    """Return an image in RGB; what is transparent becomes white, as paper is."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    layered = image.convert("RGBA")
    page = Image.new("RGBA", layered.size, "white")
    page.alpha_composite(layered)
    return page.convert("RGB")


def _within(width: float, height: float) -> tuple[float, float]:
    """Scale a page up or down into the limits that PDF readers accept."""
    scale = min(1.0, _LARGEST / max(width, height))
    return max(width * scale, _SMALLEST), max(height * scale, _SMALLEST)
