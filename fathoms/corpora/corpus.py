"""The corpus: questions, the PDFs they are about, and which of them can be asked here."""

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


@dataclass(frozen=True)
class Corpus:
    """A data set that is loaded.

    `documents` maps ids (file names) to paths, in the order of the ids. `categories` are those of all
    the questions, in the order of the data set, also where none of their questions can be asked here.
    `missing` are documents that questions name and that are not there.
    """

    name: str
    questions: tuple[Question, ...]
    documents: dict[str, Path]
    categories: tuple[str, ...]
    questions_sha256: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def sizes(self) -> dict[str, int]:
        """How many questions each category has, whether they can be asked here or not."""
        counted = Counter(question.category for question in self.questions)
        return {category: counted[category] for category in self.categories}

    def left_out(self) -> tuple[Question, ...]:
        """The questions that cannot be asked here, because a document of theirs is missing."""
        return tuple(q for q in self.questions if not needs(q).isdisjoint(self.missing))

    def select(
        self, limit: int | None = None, categories: Collection[str] = (), ids: Collection[str] = ()
    ) -> tuple[Question, ...]:
        """The questions of some categories or ids whose documents are here; no filter means all of them.

        They come in the order of the file. With `limit` they come round-robin over the categories
        instead, so that a smaller limit is always the beginning of a larger one.
        Raises UsageError for an unknown name, and where nothing is left to ask.
        """
        categories, ids = dict.fromkeys(categories), dict.fromkeys(ids)  # looked up once a question
        _refuse_unknown("category", categories, dict.fromkeys(self.categories))
        _refuse_unknown("question", ids, dict.fromkeys(q.id for q in self.questions))
        if limit is not None and limit < 1:
            raise UsageError(f"a limit of {limit} questions: want 1 or more")
        wanted = [q for q in self.questions if _matches(q, categories, ids)]
        chosen = [q for q in wanted if needs(q).isdisjoint(self.missing)]
        if not chosen:
            raise UsageError(self._nothing_to_ask(wanted))
        return tuple(chosen if limit is None else self._round_robin(chosen)[:limit])

    def _round_robin(self, questions: Iterable[Question]) -> list[Question]:
        """One question of each category in turn, until none is left."""
        piles: dict[str, list[Question]] = {category: [] for category in self.categories}
        for question in questions:
            piles[question.category].append(question)
        rounds = chain.from_iterable(zip_longest(*piles.values()))
        return [question for question in rounds if question is not None]

    def _nothing_to_ask(self, wanted: Sequence[Question]) -> str:
        """Why a selection is empty."""
        if not wanted:
            return f"no question of '{self.name}' is in all of the chosen categories and ids"
        lacking = sorted(set().union(*map(needs, wanted)).intersection(self.missing))
        return f"the chosen questions of '{self.name}' need documents that are missing: {', '.join(lacking)}"


def needs(question: Question) -> frozenset[str]:
    """The documents without which a question cannot be asked."""
    return frozenset(question.files) | {evidence.document for evidence in question.evidence}


def _matches(question: Question, categories: Collection[str], ids: Collection[str]) -> bool:
    """Whether a question passes both filters; an empty one lets everything pass."""
    return (not categories or question.category in categories) and (not ids or question.id in ids)


def _refuse_unknown(noun: str, wanted: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError for the first name that the corpus does not have."""
    for name in wanted:
        if name not in known:
            hint = suggest(name, list(known))
            raise UsageError(f"unknown {noun} '{name}'{hint if len(hint) <= LONGEST_HINT else ''}")
