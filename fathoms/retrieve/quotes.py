"""Candidate quotes in the place of retrieval: every question comes with texts and pictures, some of them
gold.

The task of MMDocRAG (Dong et al. 2025): the model chooses among 15 or 20 candidates, and weaves the quotes
that it uses into its answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from fathoms.errors import ConfigError, DataError, amount_of, some_of
from fathoms.retrieve.retriever import Index, Needs, Retriever, hits
from fathoms.types import Chunk, Hit, Question, Quote

Mode = Literal["multimodal", "description", "ocr"]


class ShowsQuotes(Retriever):
    """Base class of the retrievers that hand candidate quotes to the model; no document is read."""

    mode: Mode = "description"
    """What the model gets of a picture: the picture itself in its place (`multimodal`, for a model that
    sees), its `description`, or the text that is written in it (`ocr`)."""

    @property
    def needs(self) -> Needs:
        """Always `nothing`: the quotes come with the questions."""
        return "nothing"

    @property
    def shows_pictures(self) -> bool:
        """Whether the model is shown pictures."""
        return self.mode == "multimodal"

    def _check(self, questions: Sequence[Question]) -> None:
        """Raise ConfigError for questions without quotes, and for pictures without a description or a text,
        if the mode needs it; DataError for pictures that are not there, if the mode shows them."""
        if without := [question.id for question in questions if not question.quotes]:
            raise ConfigError(
                f"retrieve: kind '{self.kind}' needs candidate quotes, and"
                f" {amount_of(len(without), 'questions have none')} ({some_of(without)}):"
                " give them 'quotes', or make them with 'fathoms questions candidates'"
            )
        pictures = [
            (question, quote)
            for question in questions
            for quote in question.quotes
            if quote.modality == "image"
        ]
        self._check_pictures(pictures)

    def _check_pictures(self, pictures: Sequence[tuple[Question, Quote]]) -> None:
        """Raise an error that names the pictures which lack what the mode shows of them."""
        lacking = [
            (question, quote)
            for question, quote in pictures
            if not (
                quote.image is not None and quote.image.is_file()
                if self.shows_pictures
                else self._words(quote).strip()
            )
        ]
        if not lacking:
            return
        if not self.shows_pictures:
            key = "description" if self.mode == "description" else "text"
            names = some_of([f"{quote.id} of question {question.id}" for question, quote in lacking])
            raise ConfigError(
                f"retrieve: mode: '{self.mode}' shows the '{key}' of a picture, and"
                f" {amount_of(len(lacking), 'pictures have none')} ({names}):"
                " add it to the question file, or use another mode"
            )
        names = some_of(
            [f"{quote.image or quote.id} of question {question.id}" for question, quote in lacking]
        )
        raise DataError(
            f"{len(lacking)} pictures of quotes are missing ({names}): put them there, or use"
            " retrieve.mode: description or ocr, which need no pictures"
        )

    def _words(self, quote: Quote) -> str:
        """Return what stands for a quote in the prompt."""
        if quote.modality == "text":
            return quote.text
        return {"multimodal": "", "description": quote.description, "ocr": quote.text}[self.mode]

    def _chunk(self, index: Index, question: Question, quote: Quote, number: int) -> Chunk:
        """Return the chunk of a quote of a question with so many pictures."""
        shown = quote.image if self.shows_pictures and quote.modality == "image" else None
        return Chunk(
            id=f"{question.id}#{quote.id}",
            document=quote.document,
            pages=() if quote.page is None else (quote.page,),
            modality=quote.modality,
            text=self._words(quote),
            image=None if shown is None else index.fitted(shown, number),
        )


class Quotes(ShowsQuotes):
    """Hands the candidate quotes of a question (`quotes` in the question file) to the model: first the texts,
    then the pictures.

    With `prompt: {template: quotes}`, an answer cites the second text as `[2]` and shows the second picture
    as `![...](image2)`.
    """

    kind: Literal["quotes"] = "quotes"
    seed: int | None = None
    """Seed with which every question's texts are shuffled among themselves, and its pictures, too; if not
    given, they keep the order of the question file. Runs with different seeds show how much the places of
    the quotes matter."""

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return all quotes of each question, each with score 1. The id of a chunk is that of the question,
        `#`, and that of the quote; raises as `_check` does."""
        self._check(questions)
        return [self._shown(index, question) for question in questions]

    def _shown(self, index: Index, question: Question) -> tuple[Hit, ...]:
        """Return the hits of one question."""
        texts = [quote for quote in question.quotes if quote.modality == "text"]
        pictures = [quote for quote in question.quotes if quote.modality == "image"]
        if self.seed is not None:
            places = random.Random(f"{self.seed} {question.id}")
            places.shuffle(texts)
            places.shuffle(pictures)
        number = len(pictures)
        return hits([(self._chunk(index, question, quote, number), 1.0) for quote in (*texts, *pictures)])
