"""Files as requests hold them: PDFs and images, in base64 or as addresses of data."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from fathoms.errors import ModelError
from fathoms.types import Attachment

PDF = "application/pdf"
IMAGE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def file_bytes(source: Attachment | Path) -> bytes:
    """The bytes of a file as they are.

    Raises ModelError where they cannot be read any more, or an attachment is not the file that it was.
    """
    path = source.path if isinstance(source, Attachment) else source
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be attached: {error.strerror}") from error
    if isinstance(source, Attachment) and hashlib.sha256(data).hexdigest() != source.sha256:
        raise ModelError(f"{path} has changed since it was ingested: start a new run")
    return data


def as_base64(source: Attachment | Path) -> str:
    """The same in base64."""
    return base64.b64encode(file_bytes(source)).decode("ascii")


def image_type(path: Path) -> str:
    """The media type of an image that a model is shown."""
    return IMAGE_TYPES[path.suffix.lower()]


def data_url(source: Attachment | Path, media_type: str) -> str:
    """A file as an address that holds it."""
    return f"data:{media_type};base64,{as_base64(source)}"
