"""Reads PDFs and images for requests and encodes them in base64 or as data URLs."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from fathoms.errors import ModelError
from fathoms.types import Attachment

PDF = "application/pdf"
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def file_name(file: Attachment) -> str:
    """Return the name under which a PDF is sent. It ends in `.pdf` also for a document that is called
    otherwise, such as a recording, because vendors know the type of a file by its name."""
    return file.document if file.document.lower().endswith(".pdf") else f"{file.document}.pdf"


def file_bytes(source: Attachment | Path) -> bytes:
    """Return the bytes of a file.

    Raises ModelError if it cannot be read, or if an attachment has changed since it was ingested.
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
    """Return the bytes of a file in base64; raises ModelError as `file_bytes` does."""
    return base64.b64encode(file_bytes(source)).decode("ascii")


def image_type(path: Path) -> str:
    """Return the media type of an image by its file extension."""
    return IMAGE_TYPES[path.suffix.lower()]


def data_url(source: Attachment | Path, media_type: str) -> str:
    """Return a data URL with the contents of a file; raises ModelError as `file_bytes` does."""
    return f"data:{media_type};base64,{as_base64(source)}"
