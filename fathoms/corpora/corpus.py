"""The corpus of a run: the questions, their PDFs, and the choice of the questions to ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from fathoms.errors import UsageError, suggest
from fathoms.runs.metadata import OF, variants_among
from fathoms.types import Question

LONGEST_HINT = 300
"""Longest list of known names, in characters, that is added to an error about an unknown name."""


@dataclass(frozen=True)
class Corpus:
    """A data set that was loaded: its questions, and where its documents lie.

    `documents` maps document ids (file names) to paths. `categories` lists the categories of all questions,
    in the order of the data set, including those of which no question can be asked because documents are
    missing. `missing` lists the documents that the questions or the manifest name but that were not found.
    `derived` are the ids that do not stand in the question file.
    """

    name: str
    questions: tuple[Question, ...]
    documents: dict[str, Path]
    categories: tuple[str, ...]
    questions_sha256: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    derived: frozenset[str] = frozenset()

    def sizes(self) -> dict[str, int]:
        """Return the number of questions per category, including questions whose documents are missing."""
        counted = Counter(question.category for question in self.questions)
        return {category: counted[category] for category in self.categories}

    @property
    def spared(self) -> frozenset[str]:
        """The documents that no question names, without which a run can go on; none where an answerable
        question names no document at all, because its answer may stand in any of them."""
        if any(question.answerable and not needs(question) for question in self.questions):
            return frozenset()
        return frozenset(self.documents).difference(*map(needs, self.questions))

    def left_out(self) -> tuple[Question, ...]:
        """Return the questions that cannot be asked because a document they need is missing."""
        return tuple(q for q in self.questions if not needs(q).isdisjoint(self.missing))

    def select(
        self, limit: int | None = None, categories: Collection[str] = (), ids: Collection[str] = ()
    ) -> tuple[Question, ...]:
        """Return the questions to ask: those that pass both filters and whose documents are all present.

        An empty filter lets every question pass. The questions are in file order. With `limit`, they are
        taken round-robin over the categories instead, so that the selection for a smaller limit is always
        a prefix of the selection for a larger one. Variants come right after their originals, and do not
        count for the limit.

        Raises UsageError for an unknown category or id, for a limit below 1, and for an empty selection.
        """
        # Dictionaries rather than lists: both are looked up once per question.
        categories, ids = dict.fromkeys(categories), dict.fromkeys(ids)
        known_ids = dict.fromkeys(q.id for q in self.questions)
        known = {"category": dict.fromkeys(self.categories), "question": known_ids}
        for noun, names in (("category", categories), ("question", ids)):
            for name in names:
                if name not in known[noun]:
                    hint = suggest(name, list(known[noun]))
                    raise UsageError(f"unknown {noun} '{name}'{hint if len(hint) <= LONGEST_HINT else ''}")
        if limit is not None and limit < 1:
            raise UsageError(f"a limit of {limit} questions is not possible: it must be 1 or more")
        wanted = [
            q
            for q in self.questions
            if (not categories or q.category in categories) and (not ids or q.id in ids)
        ]
        if not wanted:
            raise UsageError(f"no question of '{self.name}' matches both the chosen categories and ids")
        chosen = [q for q in wanted if needs(q).isdisjoint(self.missing)]
        if not chosen:
            lacking = ", ".join(sorted(set().union(*map(needs, wanted)).intersection(self.missing)))
            raise UsageError(
                f"the chosen questions of '{self.name}' need documents that are missing: {lacking}"
            )
        if limit is None:
            return tuple(chosen)
        piles: dict[str, list[Question]] = {category: [] for category in self.categories}
        beside = frozenset(variants_among(chosen))
        of: dict[str, list[Question]] = {}
        for question in chosen:
            if question.id in beside:
                of.setdefault(str(question.metadata[OF]), []).append(question)
            else:
                piles[question.category].append(question)
        rounds = (q for q in chain.from_iterable(zip_longest(*piles.values())) if q is not None)
        return tuple(q for first in islice(rounds, limit) for q in (first, *of.get(first.id, ())))


def needs(question: Question) -> frozenset[str]:
    """Return the documents that must be present for a question to be asked: its files and its evidence."""
    return frozenset(question.files) | {evidence.document for evidence in question.evidence}
