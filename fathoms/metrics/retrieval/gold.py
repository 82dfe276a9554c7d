"""The gold of a question for retrieval: documents, pages and boxes, as a whole, by hop and by modality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from fathoms.types import Box, Evidence, Place, Question

GoldBox = tuple[Place, Box]
"""A layout box that holds gold evidence, with its page."""


@dataclass(frozen=True, slots=True)
class Hop:
    """The gold of one hop of a question. `number` counts from 1. `pages` is empty if no evidence of the hop
    names a page, and `boxes` if none has a box."""

    number: int
    documents: frozenset[str] = frozenset()
    pages: frozenset[Place] = frozenset()
    boxes: tuple[GoldBox, ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of one question.

    `documents` are those of the evidence, or else all files of the question. `pages` and `boxes` are those
    that the evidence names; a question whose gold is only documents has none. `without_page` counts the
    pieces of evidence that name no page.

    `hops` are all hops in order, at least one. A question has several if any of its evidence names a hop by
    `step`; evidence without a `step` then belongs to the gold, but to no hop. Where no evidence names a hop,
    the hops cannot be told apart, and the question has one hop with all of its gold.

    `modalities` are the gold pages by the modality of their evidence; a page with evidence of two modalities
    is in both. `grades` are the grades of the gold pages in a data set that grades them, the highest where
    several pieces of evidence are on a page; it is empty where every gold page has the grade 1.
    """

    documents: frozenset[str]
    pages: frozenset[Place]
    boxes: tuple[GoldBox, ...]
    hops: tuple[Hop, ...]
    without_page: int
    modalities: Mapping[str, frozenset[Place]]
    grades: Mapping[Place, int] = field(default_factory=dict)


# Cached, because every metric asks for the gold of each question.
@lru_cache(maxsize=1024)
def gold_of(question: Question) -> Gold:
    """Return the gold of a question.

    It comes from the evidence. A question without evidence has the places of its gold quotes, whose
    modalities are `text` and `image`.
    """
    evidence = question.gold_evidence
    documents = frozenset([item.document for item in evidence]) or frozenset(question.files)
    pages, boxes = _pages(evidence), _boxes(evidence)
    by_modality: dict[str, set[Place]] = {}
    for item in evidence:
        if item.modality and item.page is not None:
            by_modality.setdefault(item.modality, set()).add((item.document, item.page))
    return Gold(
        documents=documents,
        pages=pages,
        boxes=boxes,
        hops=_hops(question, evidence) or (Hop(1, documents, pages, boxes),),
        without_page=sum([item.page is None for item in evidence]),
        modalities={name: frozenset(places) for name, places in by_modality.items()},
        grades=_grades(evidence),
    )


def _grades(evidence: Iterable[Evidence]) -> dict[Place, int]:
    """Return the grade of each gold page, or nothing if none is graded higher than 1."""
    grades: dict[Place, int] = {}
    if not any(item.relevance for item in evidence):  # as in most data sets
        return grades
    for item in evidence:
        if item.page is not None:
            place = (item.document, item.page)
            grades[place] = max(grades.get(place, 1), item.relevance or 1)
    return grades if any(grade > 1 for grade in grades.values()) else {}


def _hops(question: Question, evidence: Iterable[Evidence]) -> tuple[Hop, ...]:
    """Return the hops that evidence names by `step`, none where no evidence does."""
    named = [item.step for item in evidence if item.step is not None]
    if not named:
        return ()
    count = max(question.hops or 1, len(question.steps), *named)
    found = []
    for number in range(1, count + 1):
        own = [item for item in evidence if item.step == number]
        found.append(Hop(number, frozenset(item.document for item in own), _pages(own), _boxes(own)))
    return tuple(found)


def _pages(evidence: Iterable[Evidence]) -> frozenset[Place]:
    return frozenset([(item.document, item.page) for item in evidence if item.page is not None])


def _boxes(evidence: Iterable[Evidence]) -> tuple[GoldBox, ...]:
    """Return the different boxes, in the order of the evidence."""
    places = [
        ((item.document, item.page), item.bbox)
        for item in evidence
        if item.page is not None and item.bbox is not None
    ]
    return tuple(dict.fromkeys(places))
