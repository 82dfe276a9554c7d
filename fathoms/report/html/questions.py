"""Collects the questions of all runs, each once, in the order of the data sets."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

from fathoms.errors import DataError
from fathoms.report.html.texts import start
from fathoms.report.text import gold
from fathoms.runs.run import Run
from fathoms.text.ids import looks_derived, same_words
from fathoms.types import Question

QUESTION = 2000
"""Characters of a question's text in the index; the details have the whole text."""
GOLD = 200
COLUMNS = ("id", "category", "text", "answerable", "gold")


class Questions:
    """The questions that the runs asked.

    They are paired as `compare` pairs them: by their ids, or where an id does not stand in the question file,
    by their texts. If two questions share an id but differ in text or gold answers, the later one gets the
    name of its data set or run appended to its id.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.ids: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._identities: list[Hashable] = []
        self._documents: list[frozenset[str]] = []
        self._written: list[bool] = []
        self._by_text: dict[Hashable, list[str]] = {}
        self._names: dict[str, dict[tuple[str, Hashable], str]] = {}
        self._taken: dict[str, set[str]] = {}
        self._keys: list[tuple[Any, ...]] = []
        categories = dict.fromkeys(name for run in runs for name in run.summary.categories)
        self._categories = {name: number for number, name in enumerate(categories)}
        orders = [run.manifest.data.asked_ids for run in runs]
        # reversed, so that the order of the first run takes precedence
        self._order = {name: number for ids in reversed(orders) for number, name in enumerate(ids)}

    def place(self, question: Question, run: Run) -> tuple[str, int]:
        """Return a question's id in this report and its index; a new question is added."""
        key = question.id, _identity(question)
        names = self._names.setdefault(run.original_id, {})
        if key not in names:
            said = (run.summary.questions or run.manifest.data).written_ids
            written = not looks_derived(question.id, question.category) if said is None else said
            names[key] = self._name_of(question, run, key[1], written=written)
            self._taken.setdefault(run.original_id, set()).add(names[key])
        return names[key], self.ids[names[key]]

    def _name_of(self, question: Question, run: Run, identity: Hashable, *, written: bool) -> str:
        """Return the id in this report of a question that is met first in a run; a new question is added."""
        same = self.ids.get(question.id)
        if same is None or not (written and self._written[same]):
            taken = self._taken.get(run.original_id, ())
            alike = [one for one in self._by_text.get(identity, ()) if one not in taken]
            if len(alike) > 1:
                there = [one for one in alike if self._documents[self.ids[one]] == question.gold_documents]
                alike = there or alike
            if len(alike) == 1 or question.id in alike:
                return question.id if question.id in alike else alike[0]
        named = [f"{question.id} ({other})" for other in (run.summary.data, run.original_id) if other]
        for name in (question.id, *named):
            if name not in self.ids:
                self._add(name, question, identity, written=written)
                return name
            if self._identities[self.ids[name]] == identity:
                return name
        raise DataError(f"{run.original_id} has two different questions '{question.id}'")

    def _add(self, name: str, question: Question, identity: Hashable, *, written: bool) -> None:
        """Append the row of a question that no earlier run has asked, and remember its identity."""
        self.ids[name] = len(self._rows)
        self._identities.append(identity)
        self._documents.append(question.gold_documents)
        self._written.append(written)
        self._by_text.setdefault(identity, []).append(name)
        row = {
            "id": name,
            "category": question.category,
            "text": start(question.text, QUESTION),
            "answerable": question.answerable,
            "gold": start(gold(question), GOLD),
        }
        self._rows.append(row)
        number = self._order.get(question.id, len(self._order))
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


def _identity(question: Question) -> Hashable:
    """Return what two questions share that are the same, whatever their ids: the words, and the gold answer
    in any form; of a question without one, its evidence."""
    evidence = () if question.answers or question.reference else question.evidence
    gold = (question.answers, question.answerable, question.reference, question.short_answer)
    more = (question.long_answer, question.reference_claims, question.nuggets, question.facts)
    return same_words(question.text), repr((gold, more, question.reading, evidence))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts `q2` before `q10`."""
    parts = re.split(r"([0-9]{1,18})", text)
    return [
        (part.isascii() and part.isdigit(), int(part) if part.isascii() and part.isdigit() else 0, part)
        for part in parts
    ]
