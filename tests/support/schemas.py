"""The JSON Schemas of the files of a run, as the documentation has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))


def schema(name: str) -> dict[str, Any]:
    """The schema of one kind of file."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text())
    return found
