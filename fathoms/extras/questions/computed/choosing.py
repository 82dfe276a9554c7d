"""Chooses questions among those that follow from a table of facts, and writes them as questions of a set.

A set that was made before is compared with what follows from the table now (`compared`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from fathoms.errors import DataError
from fathoms.extras.questions.computed.rules import RULES, Computed, Left
from fathoms.extras.questions.computed.table import Facts, Table
from fathoms.types import Evidence, Question


@dataclass(frozen=True)
class Choice:
    """The questions of a set, how many each rule makes possible, and how many others were left out for which
    reason."""

    questions: tuple[Question, ...]
    possible: dict[str, int]
    left: dict[str, int]


def choose(
    table: Table,
    n: int = 20,
    rules: Sequence[str] = tuple(RULES),
    seed: int = 0,
    least: int = 2,
    most: int | None = None,
) -> Choice:
    """Return `n` questions or, where the table has fewer, all: one of each rule in turn, with the fields and
    the answer that were used least. Each rests on `least` to `most` documents."""
    left: Counter[str] = Counter()
    queues: dict[str, list[Computed]] = {}
    for rule in rules:
        queue: dict[str, Computed] = {}
        for one in RULES[rule](table):
            documents = 0 if isinstance(one, Left) else len({cell.page[0] for cell in one.cells})
            if isinstance(one, Left):
                left[one.reason] += 1
            elif documents < least or (most is not None and documents > most):
                left[f"it would not rest on {least} to {most or 'any number of'} documents"] += 1
            else:
                queue[one.text] = one
        queues[rule] = list(queue.values())
        Random(f"{seed} {rule}").shuffle(queues[rule])
    possible = {rule: len(queue) for rule, queue in queues.items()}
    chosen: list[Computed] = []
    used: Counter[str] = Counter()
    while len(chosen) < n and any(queues.values()):
        for left_over in queues.values():
            if left_over and len(chosen) < n:
                chosen.append(min(left_over, key=partial(_times_used, used)))
                left_over.remove(chosen[-1])
                used.update(_features(chosen[-1]))
    chosen.sort(key=lambda one: list(RULES).index(one.rule))
    numbers: Counter[str] = Counter()
    questions = []
    for one in chosen:
        numbers[one.rule] += 1
        questions.append(_question(one, f"{one.rule}-{numbers[one.rule]:02}", table))
    return Choice(tuple(questions), possible, dict(left))


def _features(one: Computed) -> set[str]:
    """Return what makes questions alike: the fields that they rest on, and their answer."""
    return {one.reference, *(cell.fact.field for cell in one.cells)}


def _times_used(used: Counter[str], one: Computed) -> int:
    """Return how often the fields and the answer of a question were used before."""
    return sum(used[feature] for feature in _features(one))


def _question(one: Computed, id: str, table: Table) -> Question:
    """Return a question with its evidence, and with where its answer comes from."""
    places = dict.fromkeys(cell.page for cell in one.cells)
    lines = dict.fromkeys(cell.fact.line for cell in one.cells if cell.fact.line)
    return Question(
        id=id,
        text=one.text,
        category=one.rule.capitalize(),
        answers=one.answers,
        reference=one.reference,
        evidence=tuple(Evidence(document=document, page=page) for document, page in sorted(places)),
        metadata={
            "rule": one.rule,
            "computed": one.statement,
            "facts": table.source,
            "about": table.fields[table.about].name if table.about else "",
            "dated": table.fields[table.dated].name if table.dated else "",
            "rows": ", ".join(sorted(lines, key=int)),
            "documents": len({document for document, _ in places}),
        },
    )


@dataclass(frozen=True)
class Compared:
    """A computed question of a set, as it is there and as it follows from the table `now`: `None` if it does
    not follow from it any more."""

    before: Question
    now: Question | None

    @property
    def differs(self) -> bool:
        """Whether the answer or the evidence is another one now."""
        return self.now is None or any(
            getattr(self.before, part) != getattr(self.now, part)
            for part in ("answers", "reference", "evidence")
        )


def compared(facts: Facts, questions: Iterable[Question]) -> list[Compared]:
    """Compare the computed questions of a set with what follows from a table; others are left out. Raises
    DataError, QuestionsError or UsageError where the table cannot be read as it was then."""
    groups: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        data = question.metadata
        if data.get("rule") in RULES and "computed" in data:
            if "about" not in data or "dated" not in data:
                raise DataError(
                    f"{question.id} does not say with which --about and --dated it was made: make the set"
                    " once more with 'fathoms questions from-facts'"
                )
            groups.setdefault((str(data["about"]), str(data["dated"])), []).append(question)
    found = []
    for (about, dated), group in groups.items():
        # such a limit is a quartile of the values, which moves when one is mended
        limits = [limit for one in group if (limit := _limit(str(one.metadata["computed"])))]
        table = Table(facts, about or None, dated or None, limits)
        rules = {str(one.metadata["rule"]) for one in group}
        follows = {
            (rule, one.text): one for rule in rules for one in RULES[rule](table) if isinstance(one, Computed)
        }
        for question in group:
            one = follows.get((str(question.metadata["rule"]), question.text))
            now = None if one is None else _question(one, question.id, table)
            found.append(Compared(question, now))
    return found


def changes_of(found: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return the questions of a set whose answers or evidence differ now, with both answers."""
    return [
        {
            "id": one.before.id,
            "question": one.before.text,
            "before": one.before.reference,
            "now": one.now.reference if one.now else None,
        }
        for one in found
        if one.differs
    ]


def _limit(statement: str) -> tuple[str, float] | None:
    """Return the field and the amount of a limit that was asked about, such as `the flow is at least 300`."""
    before, _, after = statement.rpartition(" is at least ")
    field = before.rpartition("for which the ")[2]
    try:
        return (field, float(after.split(" ")[0].replace(",", ""))) if field else None
    except ValueError:
        return None
