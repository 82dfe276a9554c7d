"""The groups by which quote selection is analysed: by place, modality, kind of question and number of gold
quotes. Their figures are parts of metrics, named by `GROUPS`.

The kind of a question and the modalities of its evidence are those of the question's `metadata`, under the
keys of MMDocRAG (`question_type`, `evidence_modality_type`), or else the modalities that the evidence states.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from fathoms.types import Question

if TYPE_CHECKING:  # reading figures does not need what reads answers
    from fathoms.metrics.quotes.selection import Selection

PLACE, THIRD, GOLD_IN, MODALITY, TYPE, GOLD_QUOTES = (
    *("place ", "third ", "gold in ", "modality of evidence ", "question type "),
    "gold quotes ",
)
GROUPS = (PLACE, THIRD, GOLD_IN, MODALITY, TYPE, GOLD_QUOTES)
"""The beginnings of the names of the parts: the place of a gold quote among the candidates of its modality (a
range of places from 21 on), in which third of them it stands, whether the gold are texts, pictures or both, a
modality of the evidence as the data set names it, the kind of the question, and the number of gold quotes."""
SINGLE = 20
"""Places behind this one are pooled by tens: of 60 texts, few questions have gold at any one of them."""
THIRDS = ("front", "middle", "end")
MANY = 6
"""Questions with so many gold quotes or more are one group."""

Parts = dict[str, float | None]


def is_group(part: str) -> bool:
    """Whether a part of a score is that of a group."""
    return part.startswith(GROUPS)


def places_of(selection: Selection) -> Parts:
    """Return for each place of a gold quote whether the quote was cited (1) or not (0); of several in a range
    of places, or in a third of the candidates of their modality, the share that was."""
    found: dict[str, list[float]] = {}
    for item in sorted(selection.gold, key=lambda item: selection.places.get(item, 0)):
        if (place := selection.places.get(item)) is not None:
            names = [f"{PLACE}{_range(place)}"]
            if (size := selection.sizes.get(item[0], 0)) >= len(THIRDS):
                names.append(f"{THIRD}{THIRDS[len(THIRDS) * (place - 1) // size]}")
            for name in names:
                found.setdefault(name, []).append(float(item in selection.cited))
    return {name: fmean(cited) for name, cited in found.items()}


def _range(place: int) -> str:
    first = (place - 1) // 10 * 10 + 1
    return str(place) if place <= SINGLE else f"{first}-{first + 9}"


def values_by_group(question: Question, selection: Selection, value: float) -> Parts:
    """Return the value of a question for each group that it belongs to."""
    gold = {modality for modality, _ in selection.gold}
    where = " and ".join({"text": "texts", "image": "pictures"}[one] for one in sorted(gold, reverse=True))
    count = len(selection.gold)
    names = [f"{GOLD_IN}{where}", f"{GOLD_QUOTES}{count if count < MANY else f'{MANY} or more'}"]
    stated = sorted({one.modality for one in question.evidence if one.modality})
    names += [f"{MODALITY}{one}" for one in _listed(question, "evidence_modality_type") or stated]
    names += [f"{TYPE}{one}" for one in _listed(question, "question_type")]
    return dict.fromkeys(names, value)


def _listed(question: Question, key: str) -> list[str]:
    """Return the values of a key of the metadata, which joins several by commas."""
    found = question.metadata.get(key)
    return [] if found is None else [one.strip() for one in str(found).split(",") if one.strip()]
