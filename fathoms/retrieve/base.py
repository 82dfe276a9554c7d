"""What every retriever has in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import field_validator

from fathoms.config import Component, suggest
from fathoms.types import Chunk, Document, Hit, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """All that can be retrieved from.

    `chunks` is empty where the retriever asked for documents only. `vectors` is float32 of shape
    (len(chunks), d), L2-normalised, or `None` where it did not ask for them; `embed` turns questions into
    the same space; `folder` is this index's own place in the cache.
    """

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    vectors: Vectors | None
    embed: Callable[[Sequence[str]], Vectors]
    folder: Path


Needs = Literal["nothing", "documents", "chunks", "vectors"]
"""What a retriever works on; each includes the one before it."""


@dataclass(frozen=True)
class FileHandling:
    """How whole files are sent to the model; the fields are those of `Files`, which documents them."""

    by: Literal["question-files", "all"]
    form: Literal["pdf", "images"]
    too_long: Literal["refuse", "split", "images"]
    image_dpi: int


CANDIDATES = 20
"""How many chunks a retriever gives to what fuses or reranks them, where the config does not say."""


class Retriever(Component):
    """Finds chunks for questions."""

    @property
    def needs(self) -> Needs:
        """What must be there before it can search."""
        return "vectors"

    @property
    def files(self) -> FileHandling | None:
        """How its hits are sent where they are whole files; `None` where they are text, as usual."""
        return None

    def check(self) -> None:
        """Raise now what would fail later."""

    @abstractmethod
    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The hits of every question, best first."""


R = TypeVar("R", bound=Retriever)


def as_candidates(retriever: R) -> R:
    """The retriever with a `top_k` of `CANDIDATES`, unless it was given one."""
    if "top_k" in retriever.model_fields_set:
        return retriever
    return retriever.model_copy(update={"top_k": CANDIDATES})


def hits(found: Sequence[tuple[Chunk, float]]) -> tuple[Hit, ...]:
    """Ranked hits from (chunk, score), best first."""
    return tuple(
        Hit(chunk=chunk, score=score, rank=rank) for rank, (chunk, score) in enumerate(found, start=1)
    )


class TextQuery(Retriever):
    """What retrievers share that search with the text of the question."""

    query: str = "{question}"
    """The text that is searched with: `{question}` and `{files}` are filled in."""

    @field_validator("query")
    @classmethod
    def _check_places(cls, query: str) -> str:
        places = _PLACE.findall(query)
        unknown = [place for place in places if place not in _PLACES]
        if unknown:
            raise ValueError(f"there is no place '{{{unknown[0]}}}'{suggest(unknown[0], _PLACES)}")
        if "question" not in places:
            raise ValueError("it must hold {question}")
        return query

    def queries(self, questions: Sequence[Question]) -> list[str]:
        """The text of every question as it is searched with."""
        return [_fill(self.query, question) for question in questions]


_PLACE = re.compile(r"\{(\w+)\}")
_PLACES = ("question", "files")


def _fill(template: str, question: Question) -> str:
    """The template with its places filled in one pass: braces in a question are text."""
    values = {"question": question.text, "files": ", ".join(question.files)}
    return _PLACE.sub(lambda place: values[place[1]], template)
