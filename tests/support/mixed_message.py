"""A message whose texts, images and files are in an order of their own, and what a server must receive."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.types import FilePart, ImagePart, Message, Prompt, TextPart
from tests.support.vendor_clients import attached


@dataclass(frozen=True)
class Mixed:
    """`parts` are the texts of the message, and the bytes of its images and files, in order."""

    message: Message
    parts: tuple[str | bytes, ...]

    @property
    def prompt(self) -> Prompt:
        return Prompt(messages=(self.message,))

    @property
    def without_file(self) -> Prompt:
        """The prompt for models that take no PDFs: all but the last part."""
        return Prompt(messages=(Message(role="user", parts=self.message.parts[:-1]),))


def mixed_message(folder: Path, pdf: Path) -> Mixed:
    """Text, image, text, image, file. The two images differ and lie in the folder."""
    from PIL import Image

    red, blue = folder / "red.png", folder / "blue.png"
    for path in (red, blue):
        Image.new("RGB", (8, 8), path.stem).save(path)
    parts = (
        TextPart(text="This is red:"),
        ImagePart(image=red),
        TextPart(text="This is blue:"),
        ImagePart(image=blue),
        FilePart(file=attached(pdf)),
    )
    contents = ("This is red:", red.read_bytes(), "This is blue:", blue.read_bytes(), pdf.read_bytes())
    return Mixed(Message(role="user", parts=parts), contents)


def received(content: list[dict[str, Any]]) -> tuple[str | bytes, ...]:
    """The texts, images and files of content parts of the Chat Completions API, in order."""
    return tuple(_received(part) for part in content)


def _received(part: dict[str, Any]) -> str | bytes:
    if part["type"] == "text":
        return str(part["text"])
    url = part["image_url"]["url"] if part["type"] == "image_url" else part["file"]["file_data"]
    return base64.b64decode(url.partition(",")[2], validate=True)
