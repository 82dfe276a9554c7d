"""The questions of all runs together, each once, in the order of the data sets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fathoms.errors import DataError
from fathoms.report.html.texts import start
from fathoms.report.text import gold
from fathoms.report.view import RunView

QUESTION = 2000
"""Characters of a question that are listed; the details have it whole."""
GOLD = 200


class Questions:
    """What the runs asked. The same id with another text or other answers is another question, and has the
    name of its data set, or else the run's, in its id."""

    def __init__(self, runs: Sequence[RunView]) -> None:
        self.ids: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._identities: list[tuple[str, str]] = []
        self._keys: list[tuple[Any, ...]] = []
        categories = dict.fromkeys(name for run in runs for name in run.categories)
        self._categories = {name: number for number, name in enumerate(categories)}
        asked = [(run.manifest.get("data") or {}).get("asked_ids") or () for run in runs]
        self._asked = {name: number for ids in reversed(asked) for number, name in enumerate(ids)}

    def place(self, question: Mapping[str, Any], run: RunView) -> tuple[str, int]:
        """The id of a question in this report, and its place; the first time it is added."""
        original, identity = str(question["id"]), _identity(question)
        data = str(run.summary.get("data") or "")
        named = [f"{original} ({other})" for other in (data, run.run) if other]
        for name in (original, *named):
            if name not in self.ids:
                self._add(name, question, identity)
                return name, self.ids[name]
            if self._identities[self.ids[name]] == identity:
                return name, self.ids[name]
        raise DataError(f"{run.run} has two different questions '{original}'")

    def _add(self, name: str, question: Mapping[str, Any], identity: tuple[str, str]) -> None:
        """A question that is new."""
        category = str(question.get("category") or "")
        self.ids[name] = len(self._rows)
        self._identities.append(identity)
        row = {
            "id": name,
            "category": category,
            "text": start(question.get("text") or "", QUESTION),
            "answerable": bool(question.get("answerable", True)),
            "gold": start(gold(dict(question)), GOLD),
        }
        self._rows.append(row)
        number = self._asked.get(str(question["id"]), len(self._asked))
        self._keys.append((self._categories.get(category, len(self._categories)), number, natural(name)))

    def order(self) -> list[int]:
        """The places in the order of the data sets: by category, and in it as asked, or else by id."""
        return sorted(range(len(self._rows)), key=self._keys.__getitem__)

    def columns(self, order: Sequence[int]) -> dict[str, list[Any]]:
        """What is listed of the questions, one list a column."""
        names = ("id", "category", "text", "answerable", "gold")
        return {name: [self._rows[place][name] for place in order] for name in names}


def _identity(question: Mapping[str, Any]) -> tuple[str, str]:
    """What makes a question the same: its text and what answers it."""
    return str(question.get("text")), repr((question.get("answers"), question.get("answerable", True)))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """A key that sorts `q2` before `q10`."""
    parts = re.split(r"([0-9]{1,18})", text)
    return [
        (part.isascii() and part.isdigit(), int(part) if part.isascii() and part.isdigit() else 0, part)
        for part in parts
    ]
