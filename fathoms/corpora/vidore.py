"""The tables of ViDoRe (Faysse et al. 2025; Mace et al. 2025; v3 2026), in parquet, and those of VisRAG's
test sets, which have the layout of version 2.

- Version 1 is one table whose rows hold a query and a page image; several rows can hold the same page.
- Versions 2 and 3 have the layout of BEIR: tables `corpus`, `queries` and `qrels`, in folders or files of
  these names. Columns are `query-id` or `query_id`, and so on.

A document is what `doc_id` names, in the order of its rows or by `page_number_in_doc`, which counts from 0;
a page without a `doc_id` is a document of one page. Boxes of version 3 are in pixels of page images with 200
dots an inch (1700 x 2200 for US letter), so a pixel is 72/200 of a point.

A query is one of VisRAG (Yu et al. 2024) by its id: that of its page with a number behind it
(`6519.png-1`), or for slides, the ids of its pages with `query_number` behind them. The forms of its answer,
and the five per cent by which a number may be off, are those of the authors' script
(scripts/generate/generate.py of OpenBMB/VisRAG).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from fathoms.corpora.released import (
    NEITHER,
    NO_PAGE,
    Notes,
    document_name,
    metadata_of,
    short_gold,
    text_of,
)
from fathoms.corpora.rows import Placed
from fathoms.corpora.tables import columns_of, rows_of
from fathoms.errors import DataError

DPI = 200.0
"""Dots an inch of the page images."""
_TOLERANCE = "5%"
"""How far a number of VisRAG may be off."""
_LETTERED = re.compile(r"\s*([A-Z])[).:]\s*(.+)", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z])(?:[).:\s].*)?", re.DOTALL)
_TABLES = ("corpus", "queries", "qrels")
_DESCRIBING = ("language", "query_types", "query_format", "content_type", "source", "doc_type", "source_type")

PagePlace = tuple[str, int]
"""A document and the number of a page in it, from 1."""


def is_table_of_pages(columns: tuple[str, ...]) -> bool:
    """Whether a table is a corpus or a version 1 table."""
    return "image" in columns and bool({"corpus-id", "corpus_id", "query", "image_filename"} & set(columns))


def tables_under(folder: Path) -> dict[str, list[Path]]:
    """Return the parquet files of `corpus`, `queries` and `qrels`, which are folders, or begin the name of a
    file."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.parquet")):
        names = [*path.relative_to(folder).parts[:-1], path.name.partition("-")[0].removesuffix(".parquet")]
        for table in _TABLES:
            if table in names:
                found[table].append(path)
                break
    return dict(found)


def rows(path: Path) -> tuple[list[Placed], Notes, str]:
    """Return the questions of a folder in the layout of BEIR, or of a table of version 1, in the keys of
    `rows`, with notes, and a hash of what they were read from."""
    notes = Notes()
    if path.is_file() and "query" in (columns := columns_of(path)) and "image" in columns:
        found = list(_paired(path, notes))
    else:
        found = list(_beir(path, tables_under(path if path.is_dir() else _root(path)), notes))
    digest = hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()
    return found, notes, digest


def _root(path: Path) -> Path:
    """Return the folder of a data set for one of its files."""
    return path.parent.parent if path.parent.name in _TABLES else path.parent


def _paired(path: Path, notes: Notes) -> Iterator[Placed]:
    """Yield the questions of a version 1 table."""
    rows = rows_of(path, [name for name in columns_of(path) if name not in ("image", "image_filename")])
    for number, (row, place) in enumerate(zip(rows, places_in_table(path), strict=True), start=1):
        where = f"{path}:{number}"
        if row.get("query") is None:
            continue  # a page without a query is only searched
        question = text_of(row, "query")
        if question is None:
            notes.add("rows left out, because 'query' is not a text", where)
            continue
        yield (
            where,
            {
                "question": question,
                "category": "ViDoRe v1",
                "evidence": [{"document": place[0], "page": place[1]}],
                "reference": text_of(row, "answer"),
                "metadata": metadata_of(row, *_DESCRIBING),
            },
        )


def places_in_table(path: Path) -> Iterator[PagePlace]:
    """Yield the document and page of every row of a version 1 table. A page is named by its file, or else by
    the hash of its picture, so that rows with the same picture share a page."""
    named = "image_filename" in columns_of(path)
    for row in rows_of(path, ["image_filename"] if named else ["image"]):
        name = text_of(row, "image_filename")
        if name is None:
            name = hashlib.sha256(picture_of(row.get("image")) or b"").hexdigest()[:32]
        stem = name.rpartition(".")[0] if "." in name else name
        yield document_name(stem), 1


def _beir(path: Path, tables: dict[str, list[Path]], notes: Notes) -> Iterator[Placed]:
    """Yield the questions of a folder in the layout of BEIR."""
    if missing := [table for table in _TABLES if table not in tables]:
        raise DataError(f"{path}: has no parquet file for {', '.join(missing)}, which ViDoRe's layout needs")
    places = corpus_places(tables["corpus"])
    gold = _judgements(tables["qrels"], places, notes)
    for table in tables["queries"]:
        for number, row in enumerate(rows_of(table), start=1):
            where, name, question = f"{table}:{number}", _id(row, "query"), text_of(row, "query")
            if name is None or question is None:
                notes.add("rows left out, because the id or the text of the query has the wrong type", where)
                continue
            evidence = gold.get(name, [])
            answer = _answer(row, _is_visrag(name, places), where, notes)
            if not evidence:
                notes.add(NO_PAGE if answer else NEITHER, where)
                if not answer:
                    continue
            yield (
                where,
                {
                    "question": question,
                    "category": text_of(row, "language") or "Uncategorised",
                    "id": name,
                    "evidence": evidence,
                    **answer,
                    "metadata": metadata_of(row, *_DESCRIBING),
                },
            )


def _answer(row: dict[str, Any], visrag: bool, where: str, notes: Notes) -> dict[str, Any]:
    """Return the gold answer of a query in the keys of `rows`, empty if there is none, which is a fault in a
    set of VisRAG alone."""
    if not visrag:
        text = text_of(row, "answer")
        return {} if text is None else {"reference": text}
    answer = _visrag_gold(row)
    if not answer:
        notes.add("questions without a gold answer, or with one that is none of the options", where)
    return answer


def _is_visrag(query: str, pages: Collection[str]) -> bool:
    """Whether the id of a query is built as in VisRAG; `pages` are the ids of the corpus."""
    return "query_number" in query or query.rpartition("-")[0] in pages


def _visrag_gold(row: dict[str, Any]) -> dict[str, Any]:
    """Return the gold answer of a query in the keys of `rows`, empty if there is none.

    Of options, the right one is the one whose letter the answer is or begins with. Any text of a list is
    accepted.
    """
    answer, options = row.get("answer"), row.get("options")
    if options and isinstance(options, list) and all(isinstance(one, str) for one in options):
        return _by_option(str(answer or ""), options)
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        number = {"number": answer, "tolerance": _TOLERANCE} if answer else {"number": answer}
        return {"answers": [[number]], "short_answer": str(answer)}
    if isinstance(answer, list):
        texts = [one for one in answer if isinstance(one, str) and one.strip()]
        accepted = [short_gold(one)["answers"][0] for one in texts]
        return {"answers": accepted, "short_answer": texts[0]} if texts else {}
    text = text_of(row, "answer")
    return {} if text is None else short_gold(text)


def _by_option(answer: str, options: list[str]) -> dict[str, Any]:
    """Return the options by their own letters if all have one, or else by their places, and the right one;
    empty if none is named, or two have the same letter."""
    lettered = [found for one in options if (found := _LETTERED.fullmatch(one))]
    if len(lettered) == len(options):
        named = {found[1]: found[2].strip() for found in lettered}
    else:
        named = {chr(ord("A") + number): one.strip() for number, one in enumerate(options)}
    letter = _NAMED.fullmatch(answer)
    right = letter[1].upper() if letter else ""
    return {"options": named, "right": right} if right in named and len(named) == len(options) else {}


def corpus_places(paths: list[Path]) -> dict[str, PagePlace]:
    """Return the document and page of every row of a corpus, by its id; no picture is read.

    Raises DataError for ids of the wrong type, and for an id, or a page of a document, that occurs twice.
    """
    places: dict[str, PagePlace] = {}
    pages: Counter[str] = Counter()
    for path in paths:
        wanted = ["corpus-id", "corpus_id", "doc-id", "doc_id", "page_number_in_doc"]
        for number, row in enumerate(rows_of(path, wanted), start=1):
            name, document = _id(row, "corpus"), _id(row, "doc")
            if name is None or name in places:
                raise DataError(f"{path}:{number}: the id of the page is missing or occurs twice")
            file = document_name(document or f"page-{name}")
            pages[file] += 1
            page = row.get("page_number_in_doc")
            places[name] = (file, page + 1 if isinstance(page, int) and page >= 0 else pages[file])
    if len(set(places.values())) < len(places):
        twice = next(place for place, times in Counter(places.values()).items() if times > 1)
        raise DataError(f"{paths[0]}: page {twice[1]} of {twice[0]} occurs twice")
    return places


def _judgements(
    paths: list[Path], places: dict[str, PagePlace], notes: Notes
) -> dict[str, list[dict[str, Any]]]:
    """Return the evidence of each query: its relevant pages with their grades, and a piece for each box."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in paths:
        for number, row in enumerate(rows_of(path), start=1):
            where, query, page = f"{path}:{number}", _id(row, "query"), _id(row, "corpus")
            score = row.get("score")
            if query is None or page is None or not isinstance(score, int | float) or score != int(score):
                notes.add("judgements left out, because an id or the score has the wrong type", where)
            elif page not in places:
                notes.add("judgements left out, because their page is not in the corpus", where)
            elif score < 1:
                notes.add("judgements of pages that are not relevant (score 0)", where)
            else:
                document, at = places[page]
                kinds = [one for one in row.get("content_type") or [] if not one.startswith("N/A")]
                gold = {
                    "document": document,
                    "page": at,
                    "relevance": int(score),
                    "modality": kinds[0] if len(kinds) == 1 else None,
                }
                found[query] += [{**gold, "bbox": box} for box in _boxes(row, where, notes)] or [gold]
    return found


def _boxes(row: dict[str, Any], where: str, notes: Notes) -> Iterator[tuple[float, float, float, float]]:
    """Yield the boxes of a judgement in points from the top left of the page."""
    for box in row.get("bounding_boxes") or []:
        sides = [box.get(side) if isinstance(box, dict) else None for side in ("x1", "y1", "x2", "y2")]
        x0, y0, x1, y1 = (float(side) * 72 / DPI if isinstance(side, int | float) else -1.0 for side in sides)
        if min(x0, y0) < 0 or x0 >= x1 or y0 >= y1:
            notes.add("boxes left out, because they enclose no area", where)
        else:
            yield x0, y0, x1, y1


def _id(row: dict[str, Any], of: str) -> str | None:
    """Return an id as a text, from the column that either version has; `None` if it is neither a text nor a
    whole number."""
    value = row.get(f"{of}_id", row.get(f"{of}-id"))
    return str(value) if type(value) is int or (isinstance(value, str) and value) else None


def picture_of(value: Any) -> bytes | None:
    """Return the bytes of a picture, which are a value of their own or the `bytes` of an image column."""
    if isinstance(value, dict):
        value = value.get("bytes")
    return value if isinstance(value, bytes) else None
