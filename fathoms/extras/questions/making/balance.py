"""Chooses the questions of a set so that it covers the documents evenly, or as a target says, and reports
what it covers."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fathoms.types import Document, Question

ROWS = ("document", "modality", "category", "type", "hops")
EVENLY = frozenset({"document", "modality", "hops"})
"""The properties by which a set is balanced without a target."""
Property = tuple[str, str]
"""A property of a question with its value, such as `("modality", "table")`."""
Target = Mapping[str, Mapping[str, float]]
"""The wanted shares of the values of a property; what they leave is for all other values together."""
_OTHERS = ""
OTHER = "other"
_STATED = "question_type"
"""The key of the metadata of a question whose data set states its type, as MMDocRAG does."""
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|long|far|old|high|large|deep|wide|fast)\b")
_WORDS = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b")
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|may)\b[^,;:]*\?"
)


@dataclass(frozen=True)
class Coverage:
    """How many questions of a set have each value of a property, such as a document or a modality, and how
    many pages of each document are evidence, out of all. Documents and wanted values without a question are
    there with 0. `short` has the values where a target wants more answerable questions than there are: how
    many there are, and how many are wanted."""

    counts: Mapping[str, Mapping[str, int]]
    pages: Mapping[str, tuple[int, int]]
    short: Mapping[Property, tuple[int, int]]

    @property
    def lacking(self) -> list[str]:
        """What the set has no question on, such as `document manual.pdf`."""
        return [
            f"{name} {value}"
            for name, values in self.counts.items()
            for value, count in values.items()
            if not count and (name, value) not in self.short
        ]


def shortage(target: Target, number: int, questions: Iterable[Question]) -> dict[Property, tuple[int, int]]:
    """Return the values where a target wants more answerable questions than there are, if it wants so many
    in all: how many there are, and how many are wanted, which is rounded down."""
    counts = Counter(one for question in questions if question.answerable for one in properties(question))
    wanted = {
        (name, value): int(share * number + 1e-9)
        for name, shares in target.items()
        for value, share in shares.items()
    }
    return {one: (counts[one], most) for one, most in wanted.items() if counts[one] < most}


def balanced(
    questions: Sequence[Question],
    number: int,
    target: Target | None = None,
    have: Iterable[Question] = (),
) -> list[Question]:
    """Return `number` of the questions, chosen one by one to complete those that a set has already, in their
    original order."""
    places = choose([properties(one) for one in questions], number, target or {}, map(properties, have))
    return [questions[at] for at in sorted(places)]


def choose(
    rows: Sequence[Sequence[Property]],
    number: int,
    target: Target,
    have: Iterable[Sequence[Property]] = (),
) -> list[int]:
    """Return the places of so many of the rows, in the order in which they are chosen: each time the row
    whose values are furthest from the shares of the target, and among equals the rarest by document, modality
    and hops together; then the order of the rows decides."""
    counts: Counter[Property] = Counter()
    left: dict[tuple[Property, ...], deque[int]] = {}
    for at, row in enumerate(rows):
        decides = tuple(one for one in row if one[0] in EVENLY or one[0] in target)
        left.setdefault(decides, deque()).append(at)
    for row in have:
        counts.update(_counted(row, target))

    def place(row: tuple[Property, ...]) -> tuple[float, int, int]:
        full = sum(_fullness(name, row, counts, target) for name in target)
        return full, sum(counts[one] for one in row if _evenly(one, target)), left[row][0]

    chosen: list[int] = []
    while left and len(chosen) < number:
        # of rows with the same values, the first is taken
        best = min(left, key=place)
        chosen.append(left[best].popleft())
        counts.update(_counted(best, target))
        if not left[best]:
            del left[best]
    return chosen


def coverage(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    modalities: Sequence[str] = (),
    target: Target | None = None,
    number: int = 0,
) -> Coverage:
    """Return what a set of questions covers of documents, and lacks of a target for so many answerable
    ones."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ROWS}
    counts["document"].update(dict.fromkeys(documents, 0))
    counts["modality"].update(dict.fromkeys(modalities, 0))
    gold: dict[str, set[int]] = {name: set() for name in documents}
    for question in questions:
        for name, value in properties(question):
            counts[name][value] += 1
        for document, page in question.gold_pages:
            if document in gold:
                gold[document].add(page)
    sizes = {name: document.page_count or len(document.pages) for name, document in documents.items()}
    return Coverage(
        {name: dict(values) for name, values in counts.items()},
        {name: (len(gold[name]), size) for name, size in sizes.items()},
        shortage(target or {}, number, questions),
    )


def properties(question: Question) -> list[Property]:
    """Return the documents, modalities, category, type and hops of a question."""
    found = [("document", name) for name in sorted(question.gold_documents)]
    modalities: Collection[str] = {each.modality for each in question.evidence if each.modality}
    found += [("modality", one) for one in sorted(modalities)]
    found += [("category", question.category), ("type", question_type(question))]
    return [*found, ("hops", str(question.hops or 1))]


def _evenly(one: Property, target: Target) -> bool:
    """Whether a value counts for an even choice: of a property that has no target."""
    return one[0] in EVENLY and one[0] not in target


def _counted(row: Iterable[Property], target: Target) -> set[Property]:
    """Return what a chosen row counts as: its values, those without a share as the others."""
    return {(name, _OTHERS if name in target and value not in target[name] else value) for name, value in row}


def _fullness(name: str, row: Sequence[Property], counts: Mapping[Property, int], target: Target) -> float:
    """Return how far the values of a row would be above their shares of a property if it were chosen: the
    largest count, as a multiple of the share of its value. A value with no share comes last."""
    shares = target[name]
    rest = max(1 - sum(shares.values()), 0)
    return max(
        (
            (counts[one] + 1) / max(rest if one[1] == _OTHERS else shares[one[1]], 1e-9)
            for one in _counted(row, target)
            if one[0] == name
        ),
        default=0,
    )


def question_type(question: Question) -> str:
    """Return the type of a question: what its data set states, or else the first word by which an English
    question asks (`who`, `what`, `which`, `when`, `where`, `why`, `how`), `how many` for quantities,
    `yes/no`, or `other`, such as for other languages."""
    if isinstance(stated := question.metadata.get(_STATED), str) and stated:
        return stated
    text = " ".join(question.text.casefold().split())
    asks = _WORDS.search(text)
    if _YES_NO.match(text):
        return "yes/no"
    if asks is None:
        return OTHER
    quantity = _HOW_MANY.match(text, asks.start())
    return "how many" if quantity else {"whom": "who", "whose": "who"}.get(asks[0], asks[0])
