"""The words of a source that a judge says have decided, checked against the source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fathoms.judges.replies import read_json
from fathoms.types import Form

LONGEST = 2_000
"""The most characters of a quote that are looked for."""
_AROUND = " \t\n\"'“”„‚‘’«».…"  # noqa: RUF001
"""What models put around a quote."""


def quoting_form(labels: Iterable[str]) -> Form:
    """Return the form of a reply that quotes first, so that the label follows from the quote."""
    return Form(
        json_schema={
            "type": "object",
            "properties": {"quote": {"type": "string"}, "label": {"type": "string", "enum": list(labels)}},
            "required": ["quote", "label"],
            "additionalProperties": False,
        }
    )


def quote_of(reply: str, premise: str) -> tuple[str | None, str | None]:
    """Return the words that a reply quotes as they stand in the premise, and what is wrong with them: words
    that do not stand there, one after the other, are no quote. White space may differ."""
    data: Any = read_json(reply)
    said = data.get("quote") if isinstance(data, dict) else None
    if not isinstance(said, str) or not (words := said.strip(_AROUND)[:LONGEST].split()):
        return None, None
    found = re.search(r"\s+".join(map(re.escape, words)), premise)
    return (found[0], None) if found else (None, f"what it quotes is not in the source: {said[:200]!r}")
