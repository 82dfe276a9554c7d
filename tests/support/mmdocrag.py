"""Files in the form of those that MMDocRAG released."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GRADES = ("Fluency", "Citation Quality", "Text-Image Coherence", "Reasoning Logic", "Factuality")
"""The keys of a judge's reply."""


def write(path: Path, rows: Sequence[Any]) -> Path:
    """Write a row a line, as JSON; a text is written as it is, for lines that are not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
