"""The base class of all retrievers, and the index that they search."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from pydantic import field_validator

from fathoms.component import Component
from fathoms.errors import suggest
from fathoms.models import Generator
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import ModelCalls
from fathoms.retrieve.page_search import PageHandling, PageSearch
from fathoms.types import Chunk, Document, Hit, Prompt, Purpose, Question

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Floats, Vectors


T = TypeVar("T")


@dataclass(frozen=True)
class Index:
    """The documents, chunks and vectors that a retriever searches.

    `chunks` is empty if the retriever needs only documents. `vectors` is a float32 array of shape
    (len(chunks), d) with L2-normalised rows, in memory or on the disk, or `None` if the retriever does not
    need vectors. `embed` maps texts of questions to vectors in the same space. `folder` is the cache folder
    of this index, named by a hash of the ids and texts of all chunks; what a retriever makes of them can be
    stored beside it. With `refresh`, what was stored there before is not used. `full` is called with the
    error that kept something from being stored. `pages` are searched by their images, `None` if the retriever
    does not need them.
    """

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    vectors: Vectors | None
    embed: Callable[[Sequence[str]], Floats]
    folder: Path
    refresh: bool = False
    pages: PageSearch | None = None
    full: Callable[[Exception], None] = field(default=lambda error: None, compare=False, repr=False)
    names: Sequence[str] | None = None
    """The ids of the documents, and in `counts` the number of chunks of each, if both are known before any is
    loaded."""
    counts: Sequence[int] = ()
    built: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What retrievers have built from this index, such as that of BM25, by a key of their own."""
    embed_texts: Callable[[Sequence[str]], Floats] | None = None
    """Maps texts that are no chunks of the index, and that a retriever ranks as if they were, to vectors."""
    lineage: str = ""
    """A hash of the names of the documents and of how they are read and split: the same after one of them has
    changed."""
    replies: ReplyCache | None = None
    """The cache of replies that every run uses, such as descriptions of pictures."""
    notes: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What retrievers report of a search for the manifest of the run, by a name."""
    fitted: Callable[[Path, int], Path] = field(default=lambda path, number: path, compare=False, repr=False)
    """Makes a picture that the model is shown small enough for a request with so many pictures, and returns
    the path of the file to send."""
    lock: Lock = field(default_factory=Lock, compare=False, repr=False)
    """Held by a search that runs in a thread."""

    @property
    def by_id(self) -> Mapping[str, Document]:
        """The documents by their ids; each is loaded when it is first used."""
        return self.build_once("documents by id", lambda: _ById(self.documents, self.names))

    def positions(self, document: str) -> Sequence[int]:
        """Return the positions of the chunks of a document."""
        return self.build_once("positions", self._positions).get(document, ())

    def position(self, chunk: Chunk) -> int:
        """Return the position of a chunk, by its id."""

        def by_id() -> dict[str, int]:
            return {self.chunks[at].id: at for at in self.positions(chunk.source)}

        return self.build_once(f"positions in {chunk.source}", by_id)[chunk.id]

    def _positions(self) -> dict[str, Sequence[int]]:
        """The positions of the chunks of each document."""
        if self.names is not None:
            ends = list(accumulate(self.counts, initial=0))
            return dict(zip(self.names, map(range, ends, ends[1:]), strict=False))
        found: dict[str, list[int]] = {}
        for at, chunk in enumerate(self.chunks):
            found.setdefault(chunk.source, []).append(at)
        return {**found}

    def build_once(self, key: str, make: Callable[[], T]) -> T:
        """Return what `make` returned when it was first called with this key."""
        if key not in self.built:
            self.built[key] = make()
        found: T = self.built[key]
        return found


class _ById(Mapping[str, Document]):
    """Documents by their ids, in order. They are loaded to know their ids only if no `names` are given."""

    def __init__(self, documents: Sequence[Document], names: Sequence[str] | None) -> None:
        self._documents = documents
        ids = [document.id for document in documents] if names is None else names
        self._places = {name: at for at, name in enumerate(ids)}

    def __getitem__(self, name: str) -> Document:
        return self._documents[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


Needs = Literal["nothing", "documents", "chunks", "vectors"]
"""The input that a retriever needs; each value includes everything that the values before it provide."""


@dataclass(frozen=True)
class FileHandling:
    """How whole files are sent to the model. The fields are documented in `fathoms.retrieve.files.Files`."""

    by: Literal["question-files", "all"]
    form: Literal["pdf", "images"]
    too_long: Literal["refuse", "split", "images"]
    image_dpi: int
    max_pixels: int | None = None


class VectorStore(Component):
    """Base class of the stores that find the vectors nearest to those of questions."""

    @property
    def approximate(self) -> bool:
        """Whether the search may miss some of the best chunks."""
        return False

    def nbytes(self, vectors: Vectors) -> int:
        """Return the bytes of what is kept besides the vectors."""
        return 0

    def check(self) -> None:
        """Raise an error if a requirement is missing; called before a run."""

    @abstractmethod
    def search(
        self, folder: Path, vectors: Vectors, queries: Floats, k: int
    ) -> list[list[tuple[int, float]]]:
        """Return the `k` rows of `vectors` (n, d) with the highest inner product for each row of `queries`
        (q, d), each with its score, best first. `folder` is the cache folder of the index."""


CANDIDATES = 20
"""Default `top_k` of a retriever whose results are fused or reranked afterwards."""


RANKS_TEXTS = frozenset(
    {"hybrid", "rerank", "expand", "describe", "degrade", "distractors", "injected", "quote-search"}
    | {"each-document"}
)
"""The kinds that take a retriever which ranks all chunks of an index by their texts (`usable_in`)."""


class Retriever(Component):
    """Base class of the retrieval methods: a retriever finds ranked chunks for questions."""

    inert: ClassVar[bool] = True

    @property
    def needs(self) -> Needs:
        """The part of the index that must be prepared before the search."""
        return "vectors"

    @property
    def searches(self) -> bool:
        """Whether it searches for anything."""
        return self.needs != "nothing"

    @property
    def embeds(self) -> bool:
        """Whether texts are embedded for the search."""
        return self.needs == "vectors"

    @property
    def files(self) -> FileHandling | None:
        """How the hits are sent to the model if they are whole files; `None` if they are text."""
        return None

    @property
    def pages(self) -> PageHandling | None:
        """How pages are embedded and shown as images; `None` if the retriever does not search by them."""
        return None

    @property
    def shows_pictures(self) -> bool:
        """Whether its hits have pictures of their own, which the model that answers is shown."""
        return False

    @property
    def most_pictures(self) -> int | None:
        """The most pictures of pages among the hits of a question; `None` if their number is not known."""
        return getattr(self, "top_k", None)

    @property
    def searches_all(self) -> bool:
        """Whether the hits of a question depend on the other questions of the data set, so that all of them
        must be searched for, whichever are asked."""
        return False

    def check(self) -> None:
        """Raise an error if a requirement (package, weights, server) is missing; called before a run."""

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of what a search reads besides the texts, by default those of the vectors; `None`
        if that is not known, as before the first search where the index is made for it."""
        return None if index.vectors is None else int(index.vectors.nbytes)

    def prepare(self, index: Index, progress: Callable[[int, int], None]) -> None:
        """Build and store what `search` would have to build first, such as an index of words, unless it is
        there; `progress` is then called with the chunks done and all chunks."""

    def assess(self, index: Index, questions: Sequence[Question]) -> None:
        """Note in `Index.notes` what an approximate search loses on these questions; called once, before the
        first search."""

    @abstractmethod
    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the hits of each question, best first, in the order of the questions; where a model is
        `called`, these are the candidates for `refine`."""

    @property
    def called(self) -> dict[Purpose, Generator]:
        """The language model that `refine` calls, by its purpose, which is also the name of the stage in
        `timings`; empty where `search` returns the final hits."""
        return {}

    async def refine(
        self, index: Index, question: Question, candidates: Sequence[Hit], calls: ModelCalls
    ) -> tuple[Hit, ...]:
        """Return the final hits of one question, made of its candidates and by further searches with the help
        of the language model.

        `calls` makes its calls and lists them, and each search with a text of its own. Raises ModelError and
        Stopped.
        """
        return tuple(candidates)

    def without_refining(self, candidates: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return as many of the candidates as `refine` would, without calling a model; for estimates."""
        return tuple(candidates)

    def refining_prompts(self, question: Question, candidates: Sequence[Hit]) -> list[Prompt]:
        """Return the prompts of the calls that `refine` makes, before they are cut to the context window."""
        return []


R = TypeVar("R", bound=Retriever)


def as_candidates(retriever: R) -> R:
    """Return the retriever with `top_k` set to `CANDIDATES`, unless the config sets `top_k`."""
    if "top_k" in retriever.model_fields_set:
        return retriever
    return retriever.model_copy(update={"top_k": CANDIDATES})


def hits(found: Sequence[tuple[Chunk, float]]) -> tuple[Hit, ...]:
    """Make ranked hits from (chunk, score) pairs that are already sorted, best first."""
    return tuple(
        Hit(chunk=chunk, score=score, rank=rank) for rank, (chunk, score) in enumerate(found, start=1)
    )


class TextQuery(Retriever):
    """Base class of retrievers that search with a text made from the question."""

    query: str = "{question}"
    """Template of the search text. `{question}` is replaced by the question, `{files}` by the comma-separated
    names of the question's files. It must contain `{question}`."""

    @field_validator("query")
    @classmethod
    def _check_placeholders(cls, query: str) -> str:
        placeholders = _PLACEHOLDER.findall(query)
        for name in placeholders:
            if name not in ("question", "files"):
                raise ValueError(f"unknown placeholder '{{{name}}}'{suggest(name, ('question', 'files'))}")
        if "question" not in placeholders:
            raise ValueError("must contain {question}")
        return query

    def queries(self, questions: Sequence[Question]) -> list[str]:
        """Return the search text of each question."""
        return [
            fill(self.query, {"question": question.text, "files": ", ".join(question.files)})
            for question in questions
        ]


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in the template in one pass, so that braces inside a value are left as they are. Other
    placeholders than those of `values` are left, too."""
    return _PLACEHOLDER.sub(lambda place: values.get(place[1], place[0]), template)
