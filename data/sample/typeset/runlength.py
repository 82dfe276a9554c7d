"""Images in a PDF as run lengths, so that the bytes do not depend on any compression library.

Pictures are drawn with integer arithmetic only, for the same reason: no two machines can round differently.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import reportlab
from PIL import Image, ImageFont
from reportlab.pdfbase.pdfdoc import PDFDictionary, PDFName, PDFStream, xObjectName
from reportlab.platypus import Flowable

_RUN = re.compile(rb"(.)\1{2,127}", re.DOTALL)
_FONTS = Path(reportlab.__file__).parent / "fonts"


@dataclass(frozen=True)
class Raster:
    """Packed rows of pixels, ``bits`` each, with the colours they stand for as red, green and blue bytes."""

    key: str
    width: int
    height: int
    bits: int
    rows: bytes
    colours: bytes


def font(size: int, cut: str = "") -> ImageFont.FreeTypeFont:
    """Vera, as it comes with ReportLab; ``cut`` is ``Bd``, ``It`` or nothing."""
    return ImageFont.truetype(str(_FONTS / f"Vera{cut}.ttf"), size, layout_engine=ImageFont.Layout.BASIC)


def raster(key: str, image: Image.Image, bits: int, colours: bytes) -> Raster:
    """Pack an image whose pixels are colour numbers below ``2 ** bits``, eight bits to the byte."""
    each = 8 // bits
    padded = Image.new("L", (-(-image.width // each) * each, image.height))
    padded.paste(image)
    pixels = padded.tobytes()
    packed = sum(int.from_bytes(pixels[at::each], "big") << (8 - bits * (at + 1)) for at in range(each))
    return Raster(key, image.width, image.height, bits, packed.to_bytes(len(pixels) // each, "big"), colours)


def run_lengths(data: bytes) -> bytes:
    """Encode for PDF's RunLengthDecode filter."""
    out, at = bytearray(), 0
    for run in _RUN.finditer(data):
        out += _literal(data[at : run.start()])
        out += bytes((257 - len(run[0]), run[0][0]))
        at = run.end()
    return bytes(out + _literal(data[at:]) + b"\x80")


def _literal(data: bytes) -> bytes:
    parts = (data[at : at + 128] for at in range(0, len(data), 128))
    return b"".join(bytes((len(part) - 1,)) + part for part in parts)


class Picture(Flowable):
    """A raster on the page, ``width`` points wide."""

    def __init__(self, image: Raster, width: float) -> None:
        super().__init__()
        self.image = image
        self.width = width
        self.height = width * image.height / image.width

    def wrap(self, *_: float) -> tuple[float, float]:
        """The size is fixed."""
        return self.width, self.height

    def draw(self) -> None:
        """Register the image with the document and paint it."""
        canvas, key = self.canv, self.image.key
        canvas._doc.addForm(key, _stream(self.image))
        canvas._formsinuse.append(key)
        canvas.saveState()
        canvas.transform(self.width, 0, 0, self.height, 0, 0)
        canvas._code.append(f"/{xObjectName(key)} Do")
        canvas.restoreState()


def _stream(image: Raster) -> PDFStream:
    """The image object of the PDF."""
    entries = {
        "Type": PDFName("XObject"),
        "Subtype": PDFName("Image"),
        "Width": image.width,
        "Height": image.height,
        "BitsPerComponent": image.bits,
        "ColorSpace": f"[/Indexed /DeviceRGB {len(image.colours) // 3 - 1} <{image.colours.hex()}>]",
        "Filter": PDFName("RunLengthDecode"),
    }
    return PDFStream(PDFDictionary(entries), run_lengths(image.rows))
