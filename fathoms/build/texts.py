"""Where phrases stand in the documents as parsed, folded as the scoring folds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from fathoms.metrics.ingestion import ParsedTexts, gold_pages
from fathoms.metrics.phrase_recall import Hyphens, Match, PhraseRecall, fold_text, recall_in, stands_in
from fathoms.types import Document, Question

_LINE_END = re.compile(r"(?<!\s)\s*\n\s*")
"""White space with a line break, looked for once in each run of white space and not from each place in it."""


class Texts:
    """The documents that could be parsed, by name, and how phrases are looked for in them.

    A line break on a page is a space, also for the match `substring`, which would else find no phrase that
    goes over the end of a line.
    """

    def __init__(
        self, documents: Mapping[str, Document], match: Match = "word", hyphens: Hyphens = "both"
    ) -> None:
        if match == "substring":
            documents = {name: _unbroken(document) for name, document in documents.items()}
        self.documents = documents
        self.match = match
        self.hyphens = hyphens
        self.parsed = ParsedTexts(documents)
        self._pages: dict[str, dict[int, str]] = {}

    def fold(self, text: str) -> str:
        """A text as it is compared."""
        return _folded(text, self.match)

    def page_count(self, name: str) -> int:
        """The pages of a file, also of those that were not read."""
        document = self.documents[name]
        return document.page_count or len(document.pages)

    def pages(self, name: str) -> dict[int, str]:
        """The folded text of every page of a document, by number."""
        if name not in self._pages:
            pages = self.documents[name].pages
            self._pages[name] = {page.number: fold_text(page.text, self.match) for page in pages}
        return self._pages[name]

    def gold_documents(self, question: Question) -> tuple[str, ...] | None:
        """The documents that hold the answer (any of them, where none is named); `None` where one of them
        was not parsed."""
        names = tuple(name for name, _ in gold_pages(question)) or tuple(self.documents)
        return names if names and self.documents.keys() >= set(names) else None

    def in_whole(self, question: Question, names: Iterable[str]) -> PhraseRecall:
        """The best variant over the whole text of some documents."""
        texts = [self.parsed.whole(name, self.match) for name in names]
        return recall_in(texts, question.answers, self.match, self.hyphens)

    def gold_text(self, question: Question) -> str:
        """The folded text of the pages that are named as evidence: the first stage of the funnel."""
        return self.parsed.gold(gold_pages(question), self.match)

    def recall(self, text: str, question: Question) -> PhraseRecall:
        """The best variant in a folded text."""
        return recall_in((text,), question.answers, self.match, self.hyphens)

    def holds(self, text: str, phrase: str) -> bool:
        """Whether a folded text holds a phrase."""
        return stands_in((text,), phrase, self.match, self.hyphens)

    def pages_with(self, name: str, phrase: str) -> list[int]:
        """The pages of a document that hold a phrase."""
        return [number for number, text in self.pages(name).items() if self.holds(text, phrase)]


@lru_cache(maxsize=4096)
def _folded(text: str, match: Match) -> str:
    """One short text."""
    return fold_text(text, match)


def _unbroken(document: Document) -> Document:
    """The document with every page on one line."""
    pages = (page.model_copy(update={"text": _LINE_END.sub(" ", page.text)}) for page in document.pages)
    return document.model_copy(update={"pages": tuple(pages)})
