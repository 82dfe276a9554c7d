"""Pictures as they are sent to an embedding model: within the limits of its server, in base64."""

from __future__ import annotations

import base64
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fathoms.errors import ModelError
from fathoms.models.chat.media import file_bytes, image_type

if TYPE_CHECKING:
    from PIL.Image import Image

_SMALLER = 0.8
"""By what the sides are multiplied as long as a picture has too many bytes."""
_SHORTEST = 28
"""The shortest side in pixels that such a picture may get; models read patches of 14 to 28 pixels."""


class Picture(NamedTuple):
    """A picture to be sent: its bytes in base64, its media type, and its number of pixels."""

    base64: str
    media_type: str
    pixels: int

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:{self.media_type};base64,{self.base64}"


def picture_to_send(path: Path, max_pixels: int | None, max_bytes: int | None) -> Picture:
    """Return the picture in a PNG or JPEG file as it is sent.

    The file is sent as it is, unless it has more pixels or bytes than given: the picture is then made
    smaller, in proportion, and sent as PNG. Raises ModelError if it cannot be read, or cannot be made small
    enough.
    """
    from PIL import Image

    data = file_bytes(path)
    try:
        with Image.open(io.BytesIO(data)) as picture:
            pixels = picture.width * picture.height
            factor = 1.0 if max_pixels is None else min(1.0, math.sqrt(max_pixels / pixels))
            if factor == 1.0 and (max_bytes is None or len(data) <= max_bytes):
                return Picture(_encoded(data), image_type(path), pixels)
            whole = picture.convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(f"{path} is not a picture that can be read: {error}") from error
    while True:
        smaller = _resized(whole, factor)
        data = _png(smaller)
        if max_bytes is None or len(data) <= max_bytes:
            return Picture(_encoded(data), "image/png", smaller.width * smaller.height)
        if min(smaller.size) <= _SHORTEST:
            raise ModelError(f"{path} cannot be made as small as {max_bytes} bytes, which the server allows")
        factor *= _SMALLER


def _resized(picture: Image, factor: float) -> Image:
    """Return the picture with both sides multiplied, rounded down to whole pixels."""
    width, height = (max(1, int(side * factor)) for side in picture.size)
    return picture.resize((width, height))  # bicubic, which averages over all pixels of a larger picture


def _png(picture: Image) -> bytes:
    """Return a picture as a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _encoded(data: bytes) -> str:
    """Return bytes as a text in base64."""
    return base64.b64encode(data).decode("ascii")
