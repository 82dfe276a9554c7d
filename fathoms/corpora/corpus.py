"""The corpus of a run: the questions, their PDFs, and the choice of the questions to ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from fathoms.config import suggest
from fathoms.errors import UsageError
from fathoms.types import Question

LONGEST_HINT = 300
"""Longest list of known names, in characters, that is added to an error about an unknown name."""


@dataclass(frozen=True)
class Corpus:
    """A loaded data set.

    `documents` maps document ids (file names) to paths. `categories` lists the categories of all questions,
    in the order of the data set, including those of which no question can be asked because documents are
    missing. `missing` lists the documents that the questions or the manifest name but that were not found.
    """

    name: str
    questions: tuple[Question, ...]
    documents: dict[str, Path]
    categories: tuple[str, ...]
    questions_sha256: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def sizes(self) -> dict[str, int]:
        """Return the number of questions per category, including questions whose documents are missing."""
        counted = Counter(question.category for question in self.questions)
        return {category: counted[category] for category in self.categories}

    def left_out(self) -> tuple[Question, ...]:
        """Return the questions that cannot be asked because a document they need is missing."""
        return tuple(q for q in self.questions if not needs(q).isdisjoint(self.missing))

    def select(
        self, limit: int | None = None, categories: Collection[str] = (), ids: Collection[str] = ()
    ) -> tuple[Question, ...]:
        """Return the questions to ask: those that pass both filters and whose documents are all present.

        An empty filter lets every question pass. The questions are in file order. With `limit`, they are
        taken round-robin over the categories instead, so that the selection for a smaller limit is always
        a prefix of the selection for a larger one.

        Raises UsageError for an unknown category or id, for a limit below 1, and for an empty selection.
        """
        # Dictionaries rather than lists: both are looked up once per question.
        categories, ids = dict.fromkeys(categories), dict.fromkeys(ids)
        _refuse_unknown("category", categories, dict.fromkeys(self.categories))
        _refuse_unknown("question", ids, dict.fromkeys(q.id for q in self.questions))
        if limit is not None and limit < 1:
            raise UsageError(f"a limit of {limit} questions is not possible: it must be 1 or more")
        wanted = [q for q in self.questions if _matches(q, categories, ids)]
        chosen = [q for q in wanted if needs(q).isdisjoint(self.missing)]
        if not chosen:
            raise UsageError(self._nothing_to_ask(wanted))
        return tuple(chosen if limit is None else self._round_robin(chosen)[:limit])

    def _round_robin(self, questions: Iterable[Question]) -> list[Question]:
        """Reorder questions by taking one of each category in turn until none is left."""
        piles: dict[str, list[Question]] = {category: [] for category in self.categories}
        for question in questions:
            piles[question.category].append(question)
        rounds = chain.from_iterable(zip_longest(*piles.values()))
        return [question for question in rounds if question is not None]

    def _nothing_to_ask(self, wanted: Sequence[Question]) -> str:
        """Return the error message for an empty selection."""
        if not wanted:
            return f"no question of '{self.name}' is in all of the chosen categories and ids"
        lacking = sorted(set().union(*map(needs, wanted)).intersection(self.missing))
        return f"the chosen questions of '{self.name}' need documents that are missing: {', '.join(lacking)}"


def needs(question: Question) -> frozenset[str]:
    """Return the documents that must be present for a question to be asked: its files and its evidence."""
    return frozenset(question.files) | {evidence.document for evidence in question.evidence}


def _matches(question: Question, categories: Collection[str], ids: Collection[str]) -> bool:
    """Return whether a question passes both filters; an empty filter passes every question."""
    return (not categories or question.category in categories) and (not ids or question.id in ids)


def _refuse_unknown(noun: str, wanted: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError for the first name that the corpus does not have."""
    for name in wanted:
        if name not in known:
            hint = suggest(name, list(known))
            raise UsageError(f"unknown {noun} '{name}'{hint if len(hint) <= LONGEST_HINT else ''}")
