"""Multiple choice turned open-ended by its right option, as in MRAG-Suite (Ji 2025, section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fathoms.errors import DataError, some_of, suggest

OPTIONS, RIGHT = "options", "right"
_NAMED = re.compile(r"(?P<name>[A-Za-z]|[0-9]{1,3})\s?[:.)]\s(?P<text>.+)", re.DOTALL)


def open_ended(place: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without `options` and `right`, the name of the right option: its text becomes the accepted
    answer and the short answer, unless the row has them, and the options are not shown to the model.

    Options are a mapping from names to texts, or a list, whose names are A, B, C and so on. `metadata` keeps
    them as a text in the notation of a CSV cell (`in_cell`), and the name of the right one. Raises DataError,
    with the place, if the right option is not among them.
    """
    if OPTIONS not in data and RIGHT not in data:
        return dict(data)
    found = data.get(OPTIONS)
    if isinstance(found, list):
        found = {chr(ord("A") + number): text for number, text in enumerate(found[:26])}
    if isinstance(found, dict):
        found = {str(name): str(one) if type(one) in (int, float) else one for name, one in found.items()}
    if not isinstance(found, dict) or not found or not all(isinstance(one, str) for one in found.values()):
        raise DataError(f"{place}: {OPTIONS}: expected texts by name, such as {{A: red, B: green}}")
    if data.get(RIGHT) is None:
        raise DataError(f"{place}: {RIGHT}: missing: name the right one of the options {some_of([*found])}")
    right = str(data[RIGHT]).strip()
    if right not in found:
        raise DataError(f"{place}: {RIGHT}: '{right[:80]}' is none of the options{suggest(right, found)}")
    row = {key: value for key, value in data.items() if key not in (OPTIONS, RIGHT)}
    metadata = row.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        choices = " | ".join(f"{name}: {text}" for name, text in found.items())
        row["metadata"] = {OPTIONS: choices, RIGHT: right, **(metadata or {})}
    row = {key: value for key, value in row.items() if value not in (None, [])}
    return {"answers": [[found[right]]], "short_answer": found[right], **row}


def in_cell(cell: str) -> Any:
    """Return the options in a cell of a CSV file that is no JSON: texts by name for `A: red | B: green`, and
    a list of texts for `red | green`. Raises DataError where two options have the same name."""
    texts = [text.strip() for text in cell.split(" | ")]
    named = [_NAMED.fullmatch(text) for text in texts]
    if None in named:
        return texts
    found = {match["name"]: match["text"] for match in named if match}
    if len(found) < len(texts):
        raise DataError(f"two options have the same name, among {some_of([*found])}: rename one of them")
    return found
