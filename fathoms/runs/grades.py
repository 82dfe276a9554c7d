"""The five grades of an interleaved answer, from 0 to 5, as a judge writes them (MMDocRAG, Dong et al. 2025).

Verdicts keep the keys as the judge wrote them, because released replies have keys such as " Factuality",
which the authors' code does not find.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

QUALITY = {
    "fluency": "Fluency",
    "citation-quality": "Citation Quality",
    "text-image-coherence": "Text-Image Coherence",
    "reasoning-logic": "Reasoning Logic",
    "factuality": "Factuality",
}
"""The keys of a judge's reply, by the names of the grades."""
BEST = 5
"""The best grade; 0 is the worst."""


def written_grades(reply: Any) -> dict[str, float]:
    """Return the grades in a reply, by the keys that it has; also numbers in quotes, such as "4" or "4/5"."""
    found: dict[str, float] = {}
    for key, value in reply.items() if isinstance(reply, Mapping) else ():
        number = (
            re.fullmatch(r"\s*(\d(?:\.\d{1,6})?)(?:\s*/\s*5)?\s*", value) if isinstance(value, str) else None
        )
        if number:
            found[str(key)] = float(number[1])
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6:
            found[str(key)] = value
    return found


def grade(written: Mapping[str, float] | None, name: str) -> float | None:
    """Return a grade under its key or, failing that, under one that differs only in case, spaces and signs;
    `None` if there is none from 0 to 5."""
    if written is None:
        return None
    exact = written.get(QUALITY[name])
    same = (value for key, value in written.items() if _plain(key) == _plain(QUALITY[name]))
    value = next(same, None) if exact is None else exact
    return value if value is not None and 0 <= value <= BEST else None


def median_grades(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each grade over several replies, the lower one of two."""
    by_name = {name: [grade(one, name) for one in several] for name in QUALITY}
    known = {name: [one for one in found if one is not None] for name, found in by_name.items()}
    return {QUALITY[name]: median_low(found) for name, found in known.items() if found}


def _plain(key: str) -> str:
    """Return the letters and digits of a key in lower case."""
    return re.sub(r"[\W_]+", "", key).casefold()
