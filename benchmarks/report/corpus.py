"""A made-up corpus: pages of text that compress like English, with a question about a fact on each page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from fathoms.types import Document, Evidence, Page, Question

SOURCES = Path(__file__).parents[2] / "data" / "sample" / "source"
CATEGORIES = ("Text-Only", "Tables", "Images", "Multimodal", "Cross-Document Multimodal")
PAGES = 25
PAGE = 1800
FOLLOWS = 0.6
"""The share of words that follow their word somewhere in the sources; the others come from anywhere."""
UNANSWERABLE = 12
"""Every so many questions, one has no answer in the documents."""


class Corpus:
    """As many pages as questions, 25 to a document. The same number makes the same corpus."""

    def __init__(self, questions: int) -> None:
        self.random = random.Random(questions)
        self.words = " ".join(
            path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.txt"))
        ).split()
        self.follows: dict[str, list[str]] = {}
        for word, after in zip(self.words, self.words[1:], strict=False):
            self.follows.setdefault(word, []).append(after)
        self.names = [f"valve {self._name()}-{number}" for number in range(questions)]
        self.values = [
            f"{self.random.randint(11, 989)}.{self.random.randint(1, 9)} kPa" for _ in range(questions)
        ]
        self.pages = [self._page(number) for number in range(questions)]
        self.questions = [self._question(number) for number in range(questions)]

    @property
    def documents(self) -> Iterator[Document]:
        """The documents as a parser gives them."""
        for number in range(0, len(self.pages), PAGES):
            texts = self.pages[number : number + PAGES]
            name = document_of(number)
            pages = tuple(Page(number=place, text=text) for place, text in enumerate(texts, 1))
            yield Document(id=name, path=Path(name), sha256=f"{number:064d}", pages=pages)

    def text(self, length: int) -> str:
        """Running text of about as many characters."""
        word, result, size = self.random.choice(self.words), [], 0
        while size < length:
            result.append(word)
            size += len(word) + 1
            known = self.follows.get(word) if self.random.random() < FOLLOWS else None
            word = self.random.choice(known or self.words)
        return " ".join(result)

    def _name(self) -> str:
        """A word that there is not."""
        return "".join(self.random.choice("bdfgklmnprstv") + self.random.choice("aeiou") for _ in range(3))

    def _page(self, number: int) -> str:
        """A page with the fact in its middle."""
        fact = f"In this series {self.names[number]} opened at {self.values[number]}."
        return f"{self.text(PAGE // 2)} {fact} {self.text(PAGE // 2)}"

    def _question(self, number: int) -> Question:
        """The question about a page."""
        document, page = document_of(number), number % PAGES + 1
        answerable = number % UNANSWERABLE != UNANSWERABLE - 1
        return Question(
            id=f"q{number:04d}",
            text=f"At what pressure did {self.names[number]} open, as {self.text(60)} in {document} tells?",
            category=CATEGORIES[number * len(CATEGORIES) // len(self.names)],
            files=(document,),
            answers=((self.values[number],), (self.values[number].split()[0], "kilopascal"))
            if answerable
            else (),
            evidence=(Evidence(document=document, page=page),) if answerable else (),
            answerable=answerable,
        )


def document_of(number: int) -> str:
    """The document of a page."""
    return f"series-{number // PAGES:03d}.pdf"
