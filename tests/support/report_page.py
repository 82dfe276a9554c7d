"""A written `report.html`, read back as the page reads it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

Json = dict[str, Any]
CHUNK = re.compile(r'<script type="text/plain" id="chunk-([\w-]+)">([A-Za-z0-9+/=]*)</script>')
OVERVIEW = re.compile(r'<script type="application/json" id="overview">(.*?)</script>', re.DOTALL)


def unpacked(text: str) -> tuple[Json, dict[str, Json]]:
    """The overview and the chunks of a file; pictures are plain images, without JSON."""
    [overview] = OVERVIEW.findall(text)
    chunks = {
        name: json.loads(gzip.decompress(base64.b64decode(data, validate=True)))
        for name, data in CHUNK.findall(text)
        if not name.startswith("picture-")
    }
    return json.loads(overview), chunks


def detail_of(chunks: dict[str, Json], run: int, question: str) -> tuple[Json, list[str]]:
    """The details of a question, and the texts of its chunk."""
    place = chunks["index"]["questions"]["id"].index(question)
    chunk = chunks[f"d{run}-{chunks['index']['runs'][run]['detail'][place]}"]
    return chunk["questions"][question], chunk["texts"]


def text_of(text: Json, texts: list[str]) -> str:
    """A text, wherever it stands."""
    return str(text["s"] if "s" in text else texts[text["p"]])


def highlighted(text: Json, texts: list[str]) -> list[tuple[str, int]]:
    """What is marked in a text, cut out as JavaScript would."""
    raw = text_of(text, texts).encode("utf-16-le")
    return [(raw[2 * a : 2 * b].decode("utf-16-le"), k) for a, b, k in text.get("marks", [])]
