"""Imports what any retriever found from a JSON lines file with the hits of one question per line.

    {"id": "q1", "hits": [{"document": "varn.pdf", "page": 3, "score": 0.92}, {"document": "log.pdf"}]}
    {"question": "What is x?", "hits": []}
    {"id": "q3", "hits": null, "error": "timed out"}

A row names its question by `id`, or by `question`, the text of the question; `files` then tells questions
with the same text apart, as it stands in their file. `hits` of null means that the
search failed; `error` then gives the reason. `rounds` are the rounds of a retriever that searches several
times: `[{"query": ..., "hits": [...], "calls": 2}]`. A table in CSV, TSV or .xlsx has the same keys as
columns; the hits of a row are such a list, or places such as `varn.pdf:3; log.pdf`, best first, and an empty
cell is a failed search.

| key of a hit | value | default |
|---|---|---|
| `document` | the name of the document | required |
| `page`, `pages` | page numbers from 1 | unknown |
| `score` | a finite number, higher is better | 1 / rank |
| `rank` | from 1, different for each hit; given for all hits of a row or for none | the order |
| `text` | the text that was retrieved | unknown |
| `bbox` | (x0, y0, x1, y1) on `page`, in points from the top left corner | unknown |
| `boxes` | a list of such boxes on `page`, or of `{page, bbox}` | unknown |
| `modality` | `text`, `image` or `file` | `text` |
| `chunk` | the id of the chunk | question and rank |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fathoms.corpora.rows import one_or_more
from fathoms.importers.imported import Imported
from fathoms.importers.json_lines import JsonRows
from fathoms.importers.rows import Row, imported_rows
from fathoms.pipeline.external.answer import Context
from fathoms.pipeline.external.names import TextPlaces
from fathoms.types import Box, Chunk, Hit, KnownName, PageBox, Question, Round


class RetrievedHit(Context):
    """One hit; the module describes its keys."""

    text: str | None = None  # type: ignore[assignment]  # a search tells the place, and often not the text
    document: KnownName
    rank: Annotated[int, Field(ge=1)] | None = None
    bbox: Box | None = None
    boxes: tuple[PageBox, ...] = ()
    modality: Literal["text", "image", "file"] = "text"
    chunk: str | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _place_boxes(cls, data: Any) -> Any:
        """Give boxes without a page that of the hit."""
        if not isinstance(data, dict) or not isinstance(data.get("boxes"), list):
            return data
        page = data.get("page")
        boxes = [{"page": page, "bbox": box} if isinstance(box, list) else box for box in data["boxes"]]
        return {**data, "boxes": boxes}

    @model_validator(mode="after")
    def _knows_page_of_box(self) -> RetrievedHit:
        if self.bbox is not None and self.page is None:
            raise ValueError("a 'bbox' needs the 'page' that it is on")
        return self

    def hit(self, name: str, rank: int) -> Hit:
        """The hit with the chunk id `NAME:RANK` unless `chunk` names it; `rank` counts if it has none."""
        rank = rank if self.rank is None else self.rank
        box = () if self.bbox is None or self.page is None else (PageBox(page=self.page, bbox=self.bbox),)
        chunk = Chunk(
            id=self.chunk or f"{name}:{rank}",
            document=self.document,
            pages=self.pages or (() if self.page is None else (self.page,)),
            boxes=box or self.boxes,
            modality=self.modality,
            text=self.text or "",
            whole=self.text is not None,
        )
        return Hit(chunk=chunk, score=1 / rank if self.score is None else self.score, rank=rank)


def hits_of(found: Sequence[RetrievedHit] | None, name: str) -> tuple[Hit, ...] | None:
    """Return retrieved hits as hits of a question, best first; `None` where unknown."""
    if found is None:
        return None
    hits = (one.hit(name, rank) for rank, one in enumerate(found, start=1))
    return tuple(sorted(hits, key=lambda hit: hit.rank))


class _Searched(BaseModel):
    """One search of a pipeline, with the hits that it found."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    hits: tuple[RetrievedHit, ...] | None

    @model_validator(mode="after")
    def _has_different_ranks(self) -> _Searched:
        ranks = [hit.rank for hit in self.hits or () if hit.rank is not None]
        if ranks and (len(ranks) < len(self.hits or ()) or len(set(ranks)) < len(ranks)):
            raise ValueError("give each hit a 'rank' of its own, or none of them")
        return self


class _Round(_Searched):
    """One of several rounds of retrieval."""

    query: str = ""
    hits: tuple[RetrievedHit, ...]
    calls: Annotated[int, Field(ge=0)] | None = None


class _HitsRow(_Searched):
    """One line of the file, parsed."""

    id: str | None = None
    question: str | None = None
    files: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()
    error: str | None = None
    rounds: tuple[_Round, ...] = ()


def read_hits(
    path: Path, questions: Sequence[Question], documents: Iterable[str] = (), texts: TextPlaces | None = None
) -> Imported:
    """Read a file of hits for all or some of `questions`, as records without an answer.

    Names of documents, unknown questions and second rows are treated as by `read_answers`. Raises a DataError
    that lists all invalid rows with `file:line`, and one if no row is about any of the questions.
    """
    rows = JsonRows(path, _HitsRow, "hits")
    found = (_row(line, row) for line, row in rows)
    return imported_rows(path, found, questions, documents, texts, finish=rows.finish)


def _row(line: int, row: _HitsRow) -> Row:
    """Convert a line, a search or a failed one, to a row."""
    return Row(
        line,
        row.id,
        row.question if row.id is None else None,
        row.files,
        error=(row.error or "no hits") if row.hits is None else None,
        hits=partial(hits_of, row.hits or ()),  # a failed search found nothing
        rounds=lambda name: tuple(_round(one, f"{name}:{at}") for at, one in enumerate(row.rounds, start=1)),
    )


def _round(one: _Round, name: str) -> Round:
    """Convert one round of retrieval; `name` is the beginning of the ids of its chunks."""
    return Round(query=one.query, hits=hits_of(one.hits, name) or (), calls=one.calls)
