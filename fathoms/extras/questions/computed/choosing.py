"""Chooses questions among those that follow from a table of facts, and writes them as questions of a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from fathoms.extras.questions.computed.rules import RULES, Computed, Left
from fathoms.extras.questions.computed.table import Table
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
        questions.append(_question(one, f"{one.rule}-{numbers[one.rule]:02}", table.source))
    return Choice(tuple(questions), possible, dict(left))


def _features(one: Computed) -> set[str]:
    """Return what makes questions alike: the fields that they rest on, and their answer."""
    return {one.reference, *(cell.fact.field for cell in one.cells)}


def _times_used(used: Counter[str], one: Computed) -> int:
    """Return how often the fields and the answer of a question were used before."""
    return sum(used[feature] for feature in _features(one))


def _question(one: Computed, id: str, source: str) -> Question:
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
            "facts": source,
            "rows": ", ".join(sorted(lines, key=int)),
            "documents": len({document for document, _ in places}),
        },
    )
