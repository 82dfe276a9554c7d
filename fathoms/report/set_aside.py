"""Finds what is no part of what an answer says, as the scores under a profile read it."""

from __future__ import annotations

from collections.abc import Collection

from fathoms.answers import Part, PartKind, read
from fathoms.metrics.profiles import PROFILES
from fathoms.runs.views import ScoredRepeat
from fathoms.types import Chunk, Hit, Question


def set_aside(
    repeat: ScoredRepeat, question: Question, profile: str, keep: Collection[PartKind]
) -> tuple[Part, ...]:
    """Return the parts of an answer that the profile sets aside, in order; `keep` are the kinds that the run
    does not set aside."""
    reads = any(one.reads for one in PROFILES if one.name == profile)
    if repeat.answer is None or question.reading == "raw" or not reads:
        return ()
    hits = repeat.hits and [
        Hit(chunk=Chunk(id="", document=hit.document, pages=hit.pages), score=hit.score, rank=hit.rank)
        for hit in repeat.hits
    ]
    return read(repeat.answer.text, hits, keep).parts
