"""Pictures made smaller until they fit the limits of a model, and made PNG where their name does not fit."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.errors import DataError, StoreError
from fathoms.paths import publish, sealed, sha256_file, temporary_folder
from fathoms.text.fingerprints import fingerprint

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "MPO": (".jpg", ".jpeg"),  # a JPEG picture with further ones after it
    "GIF": (".gif",),
    "WEBP": (".webp",),
}
"""The formats that models are sent, and the endings of file names by which their media types are known."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
"""What Pillow may open, for other formats by programs of their own, such as Ghostscript."""
_ATTEMPTS = 8
"""How often a picture is made smaller, at most, until its file is small enough."""


def fitted_picture(path: Path, folder: Path, bounds: Mapping[str, int]) -> Path:
    """Return a picture within the bounds, which are any of `max_pixels`, `max_side` (the longer side in
    pixels) and `max_bytes`: the file itself if its name also ends as its format says, or else a PNG, smaller
    if it must be, which is kept below `folder` by the hash of the file and the bounds.

    Raises DataError for a file that is no PNG, JPEG, GIF or WebP picture, and StoreError where the folder
    cannot be written.
    """
    from PIL import Image

    try:
        with Image.open(path, formats=FORMATS) as picture:  # reads only the head of the file
            named = path.suffix.lower() in SUFFIXES.get(picture.format or "", ())
            if named and _fits(picture, path.stat().st_size, bounds):
                return path
            own = folder / fingerprint("fitted picture", sha256_file(path), dict(bounds))
            if sealed(own) == "sound":
                return own / "picture.png"
            data = png_within(opaque(picture), **bounds)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is not a picture that can be read: {error}") from error
    try:
        with temporary_folder(folder) as unfinished:
            (unfinished / "picture.png").write_bytes(data)
            publish(unfinished, own)
    except OSError as error:
        raise StoreError(f"the cache in {folder} cannot be written: {error}") from error
    return own / "picture.png"


def opaque(picture: Image) -> Image:
    """Return a picture in RGB, with white where it is transparent, as a page would show it."""
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        import PIL.Image

        seen = picture.convert("RGBA")
        ground = PIL.Image.new("RGBA", seen.size, "white")
        return PIL.Image.alpha_composite(ground, seen).convert("RGB")
    return picture.convert("RGB")


def _fits(picture: Image, size: int, bounds: Mapping[str, int]) -> bool:
    """Whether a picture in a file of `size` bytes is within the bounds."""
    pixels = picture.width * picture.height
    found = {"max_pixels": pixels, "max_side": max(picture.size), "max_bytes": size}
    return all(found[name] <= bound for name, bound in bounds.items())


def png_within(
    picture: Image,
    *,
    max_pixels: int | None = None,
    max_side: int | None = None,
    max_bytes: int | None = None,
) -> bytes:
    """Return a picture as a PNG file within the bounds; like a page, it is made smaller a few times at most
    until it has few enough bytes."""
    factor = 1.0
    if max_pixels is not None:
        factor = min(factor, math.sqrt(max_pixels / (picture.width * picture.height)))
    if max_side is not None:
        factor = min(factor, max_side / max(picture.size))
    data = _png(picture, factor)
    for _ in range(_ATTEMPTS if max_bytes else 0):
        if max_bytes is None or len(data) <= max_bytes:
            break
        factor *= max(0.5, 0.95 * math.sqrt(max_bytes / len(data)))
        data = _png(picture, factor)
    return data


def _png(picture: Image, factor: float) -> bytes:
    """Return a picture as a PNG file, with both sides multiplied and rounded down."""
    buffer = io.BytesIO()
    width, height = (max(1, int(side * factor)) for side in picture.size)
    (picture if factor == 1 else picture.resize((width, height))).save(buffer, "PNG")
    return buffer.getvalue()
