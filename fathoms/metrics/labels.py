"""What a classifier of abstention says of an answer."""

from __future__ import annotations

from typing import Literal

from fathoms.types import Noun

Label = Literal["statement", "abstention", "empty", "refusal"]
"""`abstention` says that the answer is not known (epistemic), `refusal` that it will not be given (safety);
`empty` is no text, or the text of a failure."""


class Why(Noun):
    """What a label rests on: the clause that decided, in lower case, and the reason; or the nearest exemplar
    and its cosine."""

    clause: str | None = None
    reason: str | None = None
    nearest: str | None = None
    cosine: float | None = None
