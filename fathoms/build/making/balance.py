"""Choosing the questions of a set so that it covers the documents evenly, and saying what it covers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.types import Document, Question

ROWS = ("document", "modality", "category", "hops")


@dataclass(frozen=True)
class Coverage:
    """How many questions of a set have each value of a property, such as a document or a modality, and how
    many pages of each document are evidence, out of all. Documents and wanted modalities without a question
    are there with 0."""

    counts: Mapping[str, Mapping[str, int]]
    pages: Mapping[str, tuple[int, int]]

    @property
    def lacking(self) -> list[str]:
        """What the set has no question on, such as `document manual.pdf`."""
        return [
            f"{name} {value}"
            for name, values in self.counts.items()
            for value, count in values.items()
            if not count
        ]


def balanced(questions: Sequence[Question], number: int) -> list[Question]:
    """Return so many of the questions, chosen one by one, each from what is rarest so far: by document,
    modality and number of hops together. The order of the questions decides between equals, and is kept."""
    counts: Counter[tuple[str, str]] = Counter()
    left: dict[tuple[tuple[str, str], ...], deque[int]] = {}
    for at, question in enumerate(questions):
        left.setdefault(tuple(_values(question)), deque()).append(at)
    chosen: set[int] = set()
    while left and len(chosen) < number:
        # questions with the same values are equals, of which the first is taken
        best = min(left, key=lambda values: (sum(counts[value] for value in values), left[values][0]))
        chosen.add(left[best].popleft())
        counts.update(best)
        if not left[best]:
            del left[best]
    return [question for at, question in enumerate(questions) if at in chosen]


def coverage(
    questions: Sequence[Question], documents: Mapping[str, Document], modalities: Sequence[str] = ()
) -> Coverage:
    """Return what a set of questions covers of documents."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ROWS}
    counts["document"].update(dict.fromkeys(documents, 0))
    counts["modality"].update(dict.fromkeys(modalities, 0))
    gold: dict[str, set[int]] = {name: set() for name in documents}
    for question in questions:
        for name, value in set(_values(question)):
            counts[name][value] += 1
        counts["category"][question.category] += 1
        for document, page in question.gold_pages:
            if document in gold:
                gold[document].add(page)
    sizes = {name: document.page_count or len(document.pages) for name, document in documents.items()}
    return Coverage(
        {name: dict(values) for name, values in counts.items()},
        {name: (len(gold[name]), size) for name, size in sizes.items()},
    )


def _values(question: Question) -> list[tuple[str, str]]:
    """Return the documents, modalities and hops of a question."""
    found = [("document", name) for name in sorted(question.gold_documents)]
    found += [
        ("modality", one) for one in sorted({each.modality for each in question.evidence if each.modality})
    ]
    return [*found, ("hops", str(question.hops or 1))]
