"""Quotes that are searched for: the candidate quotes of all questions are the index.

So MMDocRAG (Dong et al. 2025) measures retrieval, and answers on what was retrieved: of the document of a
question, all quotes are ranked. Its hybrid retrievers rank texts and pictures apart, by different retrievers,
and take 7 and 3, 10 and 5, or 12 and 8 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from fathoms.errors import ConfigError, some_of
from fathoms.registry import OneOf
from fathoms.retrieve.bm25 import BM25
from fathoms.retrieve.quotes import ShowsQuotes
from fathoms.retrieve.retriever import CANDIDATES, Index, Retriever, hits
from fathoms.retrieve.without_gold import deeper
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.text.fingerprints import fingerprint
from fathoms.types import OTHER_QUOTE, Chunk, Hit, Question, Quote

Ranking = Annotated[Retriever, OneOf("retrievers", within="quote-search")]


class _Pooled(NamedTuple):
    """A quote, and the first question that has it."""

    question: Question
    quote: Quote


class QuoteSearch(ShowsQuotes):
    """Searches among the candidate quotes of all questions, gold ones and others. Quotes of several questions
    that are the same count once.

    `quote-recall@20` says which share of its gold quotes a question gets, texts and pictures apart, and the
    metrics of the set `mmdocrag` which of them its answer cites. All questions of the data set are searched
    for, whichever are asked.
    """

    kind: Literal["quote-search"] = "quote-search"
    retriever: Ranking = Field(default=BM25(), validate_default=True)
    """The retriever that ranks quotes by their words: of a picture, those that `mode` shows, or in mode
    `multimodal` its description, or else its text. Its `top_k` does not matter."""
    for_pictures: Ranking | None = None
    """Another retriever for the pictures, where `pictures` is given."""
    number: int = Field(default=20, ge=1, le=MOST_CHUNKS)
    """Number of quotes per question. There are fewer if the retriever finds no more."""
    pictures: int | None = Field(default=None, ge=0)
    """How many of them are pictures, such as 8 of 20; texts and pictures are then ranked apart, and texts
    come first. If not given, both are in one ranking."""
    within: Literal["question-files", "all"] = "question-files"
    """`question-files` searches the quotes of the documents that the question names, or else of those that
    its own quotes name; `all` searches all quotes."""

    @field_validator("retriever", "for_pictures")
    @classmethod
    def _ranks_by_itself(cls, retriever: Ranking | None) -> Ranking | None:
        if retriever is not None and retriever.called:
            raise ValueError("a language model cannot rank so many quotes: take the 'first' of the reranker")
        if retriever is not None and retriever.pages is not None:
            raise ValueError("quotes are found by their words, and 'visual' searches pages")
        return retriever

    @model_validator(mode="after")
    def _divides(self) -> QuoteSearch:
        if self.pictures is None and self.for_pictures is not None:
            raise ValueError("for_pictures: say how many of the quotes are pictures ('pictures: 8')")
        if self.pictures is not None and self.pictures > self.number:
            raise ValueError(f"pictures: {self.pictures} are more than the {self.number} quotes of 'number'")
        return self

    @property
    def searches(self) -> bool:
        """Always, although no document is read."""
        return True

    @property
    def embeds(self) -> bool:
        """Whether one of the retrievers needs vectors of the quotes."""
        return any(one.needs == "vectors" for one in self._retrievers)

    @property
    def most_pictures(self) -> int | None:
        """The most pictures per question."""
        return self.number if self.pictures is None else self.pictures

    @property
    def searches_all(self) -> bool:
        """Always: the quotes of all questions are searched."""
        return True

    @property
    def _retrievers(self) -> tuple[Retriever, ...]:
        return (self.retriever, *((self.for_pictures,) if self.for_pictures else ()))

    def identity(self) -> dict[str, Any]:
        """Extend the identity by those of the retrievers."""
        other = self.for_pictures and self.for_pictures.identity()
        return {**super().identity(), "retriever": self.retriever.identity(), "for_pictures": other}

    def check(self) -> None:
        """Check the retrievers; raises their errors."""
        for one in self._retrievers:
            one.check()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the best quotes of each question as hits; raises as `ranked` does. The id of a quote that
        the question has itself is as with `kind: quotes`."""
        rows = self.ranked(index, questions)
        return [self._hits(index, question, row) for question, row in zip(questions, rows, strict=True)]

    def ranked(self, index: Index, questions: Sequence[Question]) -> list[list[tuple[Quote, float]]]:
        """Return the best quotes of each question with their scores. The first search of an index must be for
        all questions, because their quotes are what is searched.

        A quote that the question has itself is the question's own; the id of another one names the first
        question that has it. Raises ConfigError and DataError as `kind: quotes` does, and for questions whose
        documents are not known.
        """
        pool = index.build_once("the quotes of all questions", lambda: self._pool(questions))
        found: dict[str, list[tuple[Quote, float]]] = {}
        for documents, group in self._by_documents(questions).items():
            pooled = [one for one in pool if self.within == "all" or one.quote.document in documents]
            rows: list[list[tuple[_Pooled, float]]] = [[] for _ in group]
            for part, retriever, number in self._parts(pooled):
                deep = deeper(retriever, max(number, CANDIDATES))
                ranked = deep.search(self._index(index, part, retriever), group)
                by_id = {_id(one): one for one in part}
                for row, best in zip(rows, ranked, strict=True):
                    row += [(by_id[hit.chunk.id], hit.score) for hit in best[:number]]
            for question, row in zip(group, rows, strict=True):
                found[question.id] = list(_named(question, row))
        return [found[question.id] for question in questions]

    def _pool(self, questions: Sequence[Question]) -> list[_Pooled]:
        """Return the different quotes of all questions."""
        self._check(questions)
        found: dict[object, _Pooled] = {}
        for question in questions:
            for quote in question.quotes:
                found.setdefault(quote.content, _Pooled(question, quote))
        if wordless := [
            f"{quote.id} of question {one.id}" for one, quote in found.values() if not _words(self, quote)
        ]:
            raise ConfigError(
                f"retrieve: {len(wordless)} quotes have no words to be found by ({some_of(wordless)}): add a"
                " 'text' or a 'description' to the question file"
            )
        return list(found.values())

    def _by_documents(self, questions: Sequence[Question]) -> Mapping[frozenset[str], list[Question]]:
        """Return the questions by the documents whose quotes are searched; raises ConfigError where these are
        not known."""
        found: dict[frozenset[str], list[Question]] = {}
        for question in questions:
            named = frozenset(question.files or (one.document for one in question.quotes if one.document))
            found.setdefault(named if self.within == "question-files" else frozenset(), []).append(question)
        if self.within == "question-files" and (lost := found.get(frozenset())):
            raise ConfigError(
                f"retrieve: of {len(lost)} questions it is not known in which document their quotes stand"
                f" ({some_of([one.id for one in lost])}): name it by 'files', or set within: all"
            )
        return found

    def _parts(self, pooled: Sequence[_Pooled]) -> Iterator[tuple[list[_Pooled], Retriever, int]]:
        """Yield what is ranked together, with the retriever and how many quotes it finds."""
        if self.pictures is None:
            yield list(pooled), self.retriever, self.number
            return
        texts, pictures = (
            [one for one in pooled if one.quote.modality == modality] for modality in ("text", "image")
        )
        if self.number > self.pictures:
            yield texts, self.retriever, self.number - self.pictures
        if self.pictures:
            yield pictures, self.for_pictures or self.retriever, self.pictures

    def _index(self, index: Index, part: Sequence[_Pooled], retriever: Retriever) -> Index:
        """Return an index of these quotes, which is built once."""
        chunks = [
            Chunk(id=_id(one), document=one.quote.document, pages=(), text=_words(self, one.quote))
            for one in part
        ]
        name = fingerprint("quotes", retriever.needs, [(chunk.id, chunk.text) for chunk in chunks])

        def build() -> Index:
            vectors = None
            if retriever.needs == "vectors" and chunks:
                assert index.embed_texts is not None
                vectors = index.embed_texts([chunk.text for chunk in chunks])
            folder = index.folder.with_name(name)
            return replace(
                index, documents=(), chunks=chunks, vectors=vectors, folder=folder, names=None, built={}
            )

        return index.build_once(name, build)

    def _hits(self, index: Index, question: Question, row: Sequence[tuple[Quote, float]]) -> tuple[Hit, ...]:
        number = sum(quote.modality == "image" for quote, _ in row)
        return hits([(self._chunk(index, question, quote, number), score) for quote, score in row])


def _named(question: Question, row: Sequence[tuple[_Pooled, float]]) -> Iterator[tuple[Quote, float]]:
    """Yield the quotes that were found for a question, its own ones as they are."""
    own = {one.content: one for one in sorted(question.quotes, key=lambda one: one.gold)}
    for one, score in row:
        other = one.quote.model_copy(update={"id": f"{OTHER_QUOTE}{_id(one)}", "gold": False})
        yield own.get(one.quote.content, other), score


def _id(one: _Pooled) -> str:
    return f"{one.question.id}#{one.quote.id}"


def _words(how: ShowsQuotes, quote: Quote) -> str:
    """Return the words by which a quote is found."""
    return how._words(quote).strip() or (quote.description or quote.text).strip()
