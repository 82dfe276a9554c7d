"""Searches phrases in the parsed documents, with the same normalisation as the scoring."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from fathoms.metrics.ingestion import ParsedTexts, gold_pages
from fathoms.metrics.phrase_recall import (
    Folded,
    Hyphens,
    Match,
    PhraseRecall,
    fold_text,
    recall_in,
    searchable,
    stands_in,
)
from fathoms.types import Document, GoldPhrase, Question

_LINE_END = re.compile(r"(?<!\s)\s*\n\s*")
"""White space that contains a line break. The lookbehind makes it start only at the beginning of a run of
white space, which keeps long runs from taking quadratic time."""


class Texts:
    """The parsed documents by name, and how phrases are searched for in them.

    Line breaks count as spaces. For the match `substring` they are replaced here, as it would otherwise find
    no phrase that continues on the next line.
    """

    def __init__(
        self, documents: Mapping[str, Document], match: Match = "word", hyphens: Hyphens = "both"
    ) -> None:
        if match == "substring":
            unbroken = {}
            for name, document in documents.items():
                pages = [
                    page.model_copy(update={"text": _LINE_END.sub(" ", page.text)}) for page in document.pages
                ]
                unbroken[name] = document.model_copy(update={"pages": tuple(pages)})
            documents = unbroken
        self.documents = documents
        self.match = match
        self.hyphens = hyphens
        self.parsed = ParsedTexts(documents)
        self._pages: dict[str, dict[int, Folded]] = {}

    def fold(self, text: str) -> Folded:
        """Normalise a short text for comparison; cached."""
        return _folded(text, self.match)

    def page_count(self, name: str) -> int:
        """Return the number of pages of a file, including pages that were not read."""
        document = self.documents[name]
        return document.page_count or len(document.pages)

    def pages(self, name: str) -> dict[int, Folded]:
        """Return the normalised text of every page of a document, by page number."""
        if name not in self._pages:
            pages = self.documents[name].pages
            self._pages[name] = {page.number: fold_text(page.text, self.match) for page in pages}
        return self._pages[name]

    def gold_documents(self, question: Question) -> tuple[str, ...] | None:
        """Return the names of the documents that hold the answer: all documents if the question names none,
        and `None` if one of them was not parsed."""
        names = tuple(name for name, _ in gold_pages(question)) or tuple(self.documents)
        return names if names and self.documents.keys() >= set(names) else None

    def in_whole(self, question: Question, names: Iterable[str]) -> PhraseRecall:
        """Return the recall of the best answer variant over the whole text of some documents."""
        texts = [self.parsed.whole(name, self.match) for name in names]
        return recall_in(texts, searchable(question.answers), self.match, self.hyphens)

    def gold_text(self, question: Question) -> Folded:
        """Return the normalised text of the gold pages, which is the first stage of the funnel."""
        return self.parsed.gold(gold_pages(question), self.match)

    def recall(self, text: Folded, question: Question) -> PhraseRecall:
        """Return the recall of the best answer variant in a normalised text."""
        return recall_in((text,), searchable(question.answers), self.match, self.hyphens)

    def holds(self, text: Folded, phrase: GoldPhrase) -> bool:
        """Return whether a normalised text contains a phrase."""
        return stands_in((text,), phrase, self.match, self.hyphens)

    def pages_with(self, name: str, phrase: GoldPhrase) -> list[int]:
        """Return the numbers of the pages of a document that contain a phrase."""
        return [number for number, text in self.pages(name).items() if self.holds(text, phrase)]


_folded = lru_cache(maxsize=4096)(fold_text)
