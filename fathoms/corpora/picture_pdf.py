"""Writes a PDF whose pages are pictures, with or without invisible text, the same bytes each time.

Data sets publish pages as pictures, and every parser, page image and attached file here starts from a PDF. A
JPEG goes into the file as it is, without a loss. Anything else is stored losslessly, as the pixels it has.
"""

from __future__ import annotations

import io
import warnings
import zlib
from collections.abc import Callable, Sequence
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
_TEXT_SIZE, _TEXT_WIDTH = 10.0, 500
"""The largest size of invisible text in points, and the width of its characters in thousandths of it."""
_CMAP = """\
/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Invisible def /CMapType 2 def
1 begincodespacerange <0000> <FFFF> endcodespacerange
{table}
endcmap CMapName currentdict /CMap defineresource pop end end
"""
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
        self._catalogue = ""
        self._font = 0  # the number of the font's object, once a page has text
        self._codes: dict[str, int] = {}
        self._part.write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")

    def add(self, number: int, picture: bytes | None, fit: Fit, *, text: str = "") -> None:
        """Add a page, numbered from 1; raises DataError if the picture cannot be read.

        A page without a picture is as large as the page before it. `text` is invisible and can be searched
        and copied; readers that expect visual order reverse scripts that are written from right to left.
        """
        drawn, resources = [], []
        if picture is not None:
            stream, keys, size = _encoded(picture)
            self._size = _within(*fit(*size))
            image = self._write(
                f"<< /Type /XObject /Subtype /Image /Width {size[0]} /Height {size[1]} /BitsPerComponent 8"
                f" {keys} /Length {len(stream)} >>",
                stream,
            )
            drawn.append(f"q {self._size[0]:.3f} 0 0 {self._size[1]:.3f} 0 0 cm /P Do Q")
            resources.append(f"/XObject << /P {image} 0 R >>")
        width, height = self._size
        if text:
            drawn.append(self._invisible(text.split("\n")))
            resources.append(f"/Font << /F {self._font} 0 R >>")
        body = "\n".join(drawn).encode()
        content = self._write(f"<< /Length {len(body)} >>", body)
        self._pages[number] = self._write(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3f} {height:.3f}] /Contents {content} 0 R"
            f" /Resources << {' '.join(resources)} >> >>"
        )

    def label(self, labels: Sequence[str]) -> None:
        """Give the pages labels in ASCII without brackets, which readers show instead of their numbers."""
        entries = " ".join(f"{index} << /P ({label}) >>" for index, label in enumerate(labels))
        self._catalogue += f" /PageLabels << /Nums [{entries}] >>"

    def embed(self, name: str, data: bytes) -> None:
        """Embed a file, at most one, under a name in ASCII without brackets."""
        packed = zlib.compress(data, 9)
        file = self._write(f"<< /Type /EmbeddedFile /Filter /FlateDecode /Length {len(packed)} >>", packed)
        spec = self._write(f"<< /Type /Filespec /F ({name}) /UF ({name}) /EF << /F {file} 0 R >> >>")
        self._catalogue += f" /Names << /EmbeddedFiles << /Names [({name}) {spec} 0 R] >> >>"

    def _invisible(self, lines: Sequence[str]) -> str:
        """Return the operators that write lines of invisible text from the top of a page, each squeezed into
        its width."""
        if not self._font:
            self._font = self._last = self._last + 1
        width, height = self._size
        step = height / (len(lines) + 1)
        size = min(_TEXT_SIZE, step)
        found = ["BT 3 Tr"]
        for number, line in enumerate(lines, start=1):
            codes = "".join(f"{self._codes.setdefault(each, len(self._codes) + 1):04X}" for each in line)
            squeezed = min(100.0, 100 * width / max(1.0, len(line) * _TEXT_WIDTH / 1000 * size))
            found.append(f"/F {size:.2f} Tf {squeezed:.2f} Tz 1 0 0 1 0 {height - number * step:.2f} Tm")
            found.append(f"<{codes}> Tj")
        return "\n".join([*found, "ET"])

    def _write_font(self) -> None:
        """Write the font of the invisible text: it has no glyphs, and a table of what its codes mean."""
        means = [(code, each.encode("utf-16-be", "replace").hex()) for each, code in self._codes.items()]
        parts = [means[start : start + 100] for start in range(0, len(means), 100)]
        table = "\n".join(
            f"{len(part)} beginbfchar\n"
            + "\n".join(f"<{code:04X}> <{mean}>" for code, mean in part)
            + "\nendbfchar"
            for part in parts
        )
        cmap = _CMAP.format(table=table).encode()
        meaning = self._write(f"<< /Length {len(cmap)} >>", cmap)
        described = self._write(
            "<< /Type /FontDescriptor /FontName /Invisible /Flags 4 /FontBBox [0 0 500 1000] /ItalicAngle 0"
            " /Ascent 1000 /Descent 0 /CapHeight 1000 /StemV 80 >>"
        )
        glyphs = self._write(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Invisible /CIDSystemInfo << /Registry (Adobe)"
            f" /Ordering (Identity) /Supplement 0 >> /DW {_TEXT_WIDTH} /FontDescriptor {described} 0 R >>"
        )
        self._write(
            "<< /Type /Font /Subtype /Type0 /BaseFont /Invisible /Encoding /Identity-H"
            f" /DescendantFonts [{glyphs} 0 R] /ToUnicode {meaning} 0 R >>",
            number=self._font,
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
        if self._font:
            self._write_font()
        kids = " ".join(f"{self._pages[number]} 0 R" for number in sorted(self._pages))
        self._write(f"<< /Type /Pages /Count {last} /Kids [{kids}] >>", number=2)
        self._write(f"<< /Type /Catalog /Pages 2 0 R{self._catalogue} >>", number=1)
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
        """Remove the file that was not written to its end."""
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
