"""Reads an answer for reports as its scores read it."""

from __future__ import annotations

from fathoms.answers import SETTABLE, Reading, read
from fathoms.types import Chunk, Hit, Question
from fathoms.types.run.figures import ProfileFigures
from fathoms.types.run.rows import ScoredRepeat


def read_answer(repeat: ScoredRepeat, question: Question, figures: ProfileFigures) -> Reading | None:
    """Read an answer as it was read under a profile; `None` where its raw text was scored: by earlier
    versions, under the profiles that do so, and where the question says so."""
    if repeat.answer is None or question.reading == "raw" or figures.set_aside is None:
        return None
    hits = [
        Hit(chunk=Chunk(id="", document=hit.document, pages=hit.pages), score=hit.score, rank=hit.rank)
        for hit in repeat.hits or ()
    ]
    return read(
        repeat.answer.text, None if repeat.hits is None else hits, frozenset(SETTABLE) - {*figures.set_aside}
    )
