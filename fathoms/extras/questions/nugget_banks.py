"""Reads nugget banks of TREC's report generation tracks, one bank of nuggets a topic.

The forms are those of Auto-ARGUE (RAGTIME 2025), in which nuggets and answers are keyed by their texts, and
of RAGTIME 2026, in which they are lists. A file holds one bank, a list of banks, or one bank a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fathoms.errors import DataError
from fathoms.safety.inputs import json_lines, parse_json, read_text
from fathoms.types import Nugget

SUB_NUGGETS = "nuggets below other nuggets left out"
CLAIMS = "claims left out, because only questions are nuggets"
UNKNOWN = "nuggets whose importance is neither vital nor okay taken as okay"


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    answer: str


class _Nugget(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question: str
    answers: dict[str, _Answer] | list[_Answer] | None = None
    aggregator_type: str | None = None
    importance: str | int | None = None
    sub_nuggets: list[Any] | None = None


class _Bank(BaseModel):
    model_config = ConfigDict(extra="ignore")

    query_id: str | int | None = None
    metadata: dict[str, Any] | None = None
    nugget_bank: dict[str, _Nugget] | list[_Nugget] | None = None
    claim_bank: dict[str, Any] | list[Any] | None = None

    @property
    def topic(self) -> str | None:
        """The id of the topic."""
        found = self.query_id if self.query_id not in (None, "") else (self.metadata or {}).get("topic_id")
        return None if found is None else str(found)


def read_nuggets(path: Path) -> tuple[dict[str, tuple[Nugget, ...]], list[str]]:
    """Return the nuggets of each topic, marked as imported, and notes of what was left out.

    Where all answers of a nugget are wanted (`AND`), they are one accepted answer, joined by "and". Raises
    DataError with the line of what is wrong.
    """
    found: dict[str, tuple[Nugget, ...]] = {}
    notes: Counter[str] = Counter()
    for place, data in _banks(path):
        try:
            bank = _Bank.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise DataError(f"{place}: {where}: {first['msg']}".replace(": :", ":")) from None
        if bank.topic is None:
            raise DataError(f"{place}: the bank names no topic: 'query_id' or 'metadata.topic_id' is missing")
        if bank.topic in found:
            raise DataError(f"{place}: a second bank of the topic '{bank.topic[:200]}'")
        found[bank.topic] = tuple(_nuggets(bank, notes))
        notes[CLAIMS] += len(bank.claim_bank or ())
    if not found:
        raise DataError(f"{path}: contains no nugget bank")
    return found, [f"{path}: {count} {what}" for what, count in notes.items() if count]


def _banks(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each bank of a file with its place."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        values, complaints = json_lines(path)
        if complaints:
            raise DataError("\n".join(complaints))
        yield from ((f"{path}:{line}", value) for line, value in values)
        return
    data = parse_json(read_text(path), str(path))
    for number, value in enumerate(data if isinstance(data, list) else [data], start=1):
        yield f"{path}: bank {number}" if isinstance(data, list) else str(path), value


def _nuggets(bank: _Bank, notes: Counter[str]) -> Iterator[Nugget]:
    """Yield the nuggets of a bank, each question once."""
    written = bank.nugget_bank or ()
    seen: set[str] = set()
    for one in written.values() if isinstance(written, dict) else written:
        notes[SUB_NUGGETS] += len(one.sub_nuggets or ())
        if not one.question.strip() or one.question.strip() in seen:
            continue
        seen.add(one.question.strip())
        rows = one.answers or ()
        answers = [row.answer for row in (rows.values() if isinstance(rows, dict) else rows)]
        answers = [answer for answer in answers if answer.strip()]
        if one.aggregator_type == "AND" and answers:
            answers = [" and ".join(answers)]
        importance: Literal["vital", "okay"] = "vital" if one.importance == "vital" else "okay"
        notes[UNKNOWN] += one.importance not in (None, "vital", "okay")
        yield Nugget(question=one.question, answers=tuple(answers), importance=importance, origin="imported")
