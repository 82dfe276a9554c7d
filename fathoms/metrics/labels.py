"""The labels that an abstention classifier gives to answers."""

from __future__ import annotations

from typing import Literal

from fathoms.types import StoredValue

Label = Literal["statement", "abstention", "empty", "refusal"]
"""An answer that says it does not know is an `abstention`; one that declines to answer, for safety, is a
`refusal`; no text, or the text of a failure, is `empty`; anything else is a `statement`."""


class Why(StoredValue):
    """The reason for a label: the deciding clause (in lower case) and why it decided, or the nearest exemplar
    and its cosine similarity."""

    clause: str | None = None
    reason: str | None = None
    nearest: str | None = None
    cosine: float | None = None
