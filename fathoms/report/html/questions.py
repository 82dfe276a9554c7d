"""Collects the questions of all runs, each once, in the order of the data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fathoms.errors import DataError
from fathoms.report.html.texts import start
from fathoms.report.text import gold
from fathoms.runs.reading import ScoredRun
from fathoms.types import Question

QUESTION = 2000
"""Characters of a question's text in the index; the details have the whole text."""
GOLD = 200
COLUMNS = ("id", "category", "text", "answerable", "gold")


class Questions:
    """The questions that the runs asked.

    If two questions share an id but differ in text or gold answers, the later one gets the name of its data
    set or run appended to its id.
    """

    def __init__(self, runs: Sequence[ScoredRun]) -> None:
        self.ids: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._identities: list[tuple[str, str]] = []
        self._keys: list[tuple[Any, ...]] = []
        categories = dict.fromkeys(name for run in runs for name in run.categories)
        self._categories = {name: number for number, name in enumerate(categories)}
        asked = [run.manifest.data.asked_ids for run in runs]
        # reversed, so that the order of the first run takes precedence
        self._asked = {name: number for ids in reversed(asked) for number, name in enumerate(ids)}

    def place(self, question: Question, run: ScoredRun) -> tuple[str, int]:
        """Return a question's id in this report and its index; a new question is added."""
        original = question.id
        # two questions are the same if their text, gold answers and answerability are
        identity = (question.text, repr((question.answers, question.answerable)))
        named = [f"{original} ({other})" for other in (run.summary.data, run.run) if other]
        for name in (original, *named):
            if name not in self.ids:
                self._add(name, question, identity)
                return name, self.ids[name]
            if self._identities[self.ids[name]] == identity:
                return name, self.ids[name]
        raise DataError(f"{run.run} has two different questions '{original}'")

    def _add(self, name: str, question: Question, identity: tuple[str, str]) -> None:
        """Append the row of a question that no earlier run has asked, and remember its identity."""
        self.ids[name] = len(self._rows)
        self._identities.append(identity)
        row = {
            "id": name,
            "category": question.category,
            "text": start(question.text, QUESTION),
            "answerable": question.answerable,
            "gold": start(gold(question), GOLD),
        }
        self._rows.append(row)
        number = self._asked.get(question.id, len(self._asked))
        category = self._categories.get(question.category, len(self._categories))
        self._keys.append((category, number, natural(name)))

    def order(self) -> list[int]:
        """Return the indices sorted by category, then in the order of the questions, then by id."""
        return sorted(range(len(self._rows)), key=self._keys.__getitem__)

    def columns(self, order: Sequence[int], names: Sequence[str] = COLUMNS) -> dict[str, list[Any]]:
        """Return the index columns of the questions, one list per column."""
        return {name: [self._rows[place][name] for place in order] for name in names}

    def row(self, place: int) -> dict[str, Any]:
        """Return the row of one question, by the names of `COLUMNS`; raises IndexError."""
        return self._rows[place]


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts `q2` before `q10`."""
    parts = re.split(r"([0-9]{1,18})", text)
    return [
        (part.isascii() and part.isdigit(), int(part) if part.isascii() and part.isdigit() else 0, part)
        for part in parts
    ]
