"""Reading the replies of language models that judge, and checking the words that they quote of a source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from fathoms.models.sentences import sentences
from fathoms.runs.grades import QUALITY, grade, written_grades
from fathoms.types import Form, Judgement

_HALF = re.compile("[\ud800-\udfff]")
_LONGEST = 2_000
"""The most characters of a quote that are looked for."""
_AROUND = " \t\n\"'“”„‚‘’«».…"  # noqa: RUF001
"""What models put around a quote."""


def read_json(reply: str) -> Any:
    """Parse the JSON in a reply, repaired if damaged; `None` if there is none. Half of a character, as in
    `\\ud83d` alone, cannot be stored and is replaced."""
    try:
        found = json.loads(reply)
    except ValueError:
        from json_repair import repair_json

        starts = [reply.index(mark) for mark in "[{" if mark in reply]
        found = repair_json(reply[min(starts) :], return_objects=True) if starts else None
    return _storable(found) if "\\ud" in reply.lower() else found


def _storable(value: Any) -> Any:
    """Return a value of JSON with the replacement character in place of halves of characters."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value


def read_list(reply: str, judgement: Judgement, premise: str) -> dict[str, Any] | None:
    """Read a reply on relevant sentences, on questions or with grades as fields of a verdict; `None` if it
    cannot be read. `premise` is what the judge was shown of the source."""
    data = read_json(reply)
    if judgement.rubric == "quality":
        return read_grades(data)
    if judgement.rubric == "questions":
        return _questions(data, judgement.wanted)
    return _relevant(data, len(sentences(premise)), reply)


def read_grades(data: Any) -> dict[str, Any] | None:
    """Read the five grades of an answer, as far as they were given; `None` if there is none of them."""
    grades = written_grades(data)
    known = any(grade(grades, name) is not None for name in QUALITY)
    return {"label": "graded", "grades": grades} if known else None


def _relevant(data: Any, shown: int, reply: str) -> dict[str, Any] | None:
    """Read the numbers of the relevant sentences; numbers that no sentence has make a reply unreadable."""
    numbers = data.get("sentences") if isinstance(data, dict) else data
    if numbers is None and "insufficient information" in reply.lower():
        numbers = []  # what RAGAS has its model say
    if not isinstance(numbers, list):
        return None
    if not all(type(number) is int and 1 <= number <= shown for number in numbers):
        return None
    label = "supported" if numbers else "unsupported"
    return {"label": label, "relevant": tuple(sorted(set(numbers))), "shown": shown}


def _questions(data: Any, wanted: int) -> dict[str, Any] | None:
    """Read the questions that a text answers: as many as were wanted, unless it is noncommittal."""
    if not isinstance(data, dict) or not isinstance(data.get("noncommittal"), bool | int):
        return None
    found = data.get("questions")
    texts = [text.strip() for text in found if isinstance(text, str)] if isinstance(found, list) else []
    texts = [text for text in texts if text][:wanted]
    if data["noncommittal"]:
        return {"label": "noncommittal", "questions": tuple(texts)}
    return {"label": "committal", "questions": tuple(texts)} if len(texts) == wanted else None


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
    if not isinstance(said, str) or not (words := said.strip(_AROUND)[:_LONGEST].split()):
        return None, None
    found = re.search(r"\s+".join(map(re.escape, words)), premise)
    return (found[0], None) if found else (None, f"what it quotes is not in the source: {said[:200]!r}")
