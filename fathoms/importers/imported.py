"""What an importer gives back: records as a pipeline would make them, and what was odd about the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fathoms.types import Question, Record

SHOWN = 10
LARGEST_IMPORT = 2**30
"""Bytes of a file of answers, which may hold everything that was retrieved for each."""


@dataclass(frozen=True)
class Imported:
    """Answers from elsewhere. `questions` are those of the set, `warnings` sentences for people, `pipeline`
    what several runs with different models share."""

    name: str
    model: str | None
    records: tuple[Record, ...]
    questions: tuple[Question, ...]
    warnings: tuple[str, ...] = ()
    pipeline: str | None = None


def missing_warning(questions: Sequence[Question], records: Iterable[Record]) -> list[str]:
    """A sentence about the questions without a record, if there are any."""
    answered = {record.question.id for record in records}
    missing = [question.id for question in questions if question.id not in answered]
    if not missing:
        return []
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return [
        f"{len(missing)} of {len(questions)} questions have no answer: {', '.join(missing[:SHOWN])}{more}"
    ]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """` (did you mean 'x'?)`, or nothing where no name is near."""
    near = difflib.get_close_matches(word, names, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def fold_space(text: str) -> str:
    """Text with every run of white space as one space: what two spellings of one question share."""
    return " ".join(text.split())
