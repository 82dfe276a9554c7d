"""The labels that an abstention classifier gives to answers."""

from __future__ import annotations

from typing import Literal

from fathoms.answers import Reading
from fathoms.types import StoredValue

Label = Literal["statement", "abstention", "asks-back", "empty", "refusal"]
"""An answer that says it does not know is an `abstention`; a question back instead of an answer `asks-back`,
and counts as an abstention; one that declines to answer, for safety, is a `refusal`; no text, reasoning alone
or the text of a failure is `empty`, and neither a statement nor an abstention; anything else is a
`statement`."""

ABSTAINS: frozenset[Label] = frozenset({"abstention", "asks-back"})
"""The labels that count as abstaining."""


def classified_text(reading: Reading) -> str:
    """Return the text of an answer that is classified: what it says; an envelope without an answer says that
    there is none."""
    return "N/A" if reading.is_null else reading.text


class Why(StoredValue):
    """The reason for a label: the deciding clause (in lower case) and why it decided, or the nearest exemplar
    and its cosine similarity."""

    clause: str | None = None
    reason: str | None = None
    nearest: str | None = None
    cosine: float | None = None
