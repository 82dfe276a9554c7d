"""Page images for tests: plain ones, and ones with a text that OCR could read but no parser finds."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw


def picture(
    text: str = "", *, kind: str = "JPEG", size: tuple[int, int] = (170, 220), mode: str = "RGB"
) -> bytes:
    """Return a page image in which a text is painted."""
    image = Image.new(mode, size, "white" if mode != "RGBA" else (255, 255, 255, 0))
    ImageDraw.Draw(image).text((10, 10), text, fill="black")
    data = io.BytesIO()
    image.save(data, kind)
    return data.getvalue()
