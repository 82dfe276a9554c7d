"""JSON Schemas (2020-12) of the files in a run directory.

They allow keys that they do not name, and so must readers: a later version may add keys under the same
`schema` number, which is raised only when a key changes its meaning or goes away.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

NAMES = ("manifest", "question", "rating", "summary")


def schema(name: str) -> dict[str, Any]:
    """The schema of `manifest.json`, of `summary.json`, of `questions/<id>.json` (`question`) or of a line of
    `reviews.jsonl` (`rating`)."""
    if name not in NAMES:
        raise ValueError(f"no schema '{name}' (there are: {', '.join(NAMES)})")
    text = files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value
