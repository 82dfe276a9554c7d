"""Writes a run in the layout of BEIR, and its rankings as MTEB saves predictions.

| file | content |
|---|---|
| `corpus.jsonl` | `{"_id": ..., "title": ..., "text": ...}`: every page (or document) of the run |
| `queries.jsonl` | `{"_id": ..., "text": ...}` |
| `qrels/test.tsv` | the header `query-id`, `corpus-id`, `score`, then one relevant id a line |
| `results/NAME.json` | `{query: {id: score}}`, as `EvaluateRetrieval.evaluate` of BEIR takes it |
| `NAME_predictions.json` | the same as MTEB 2 saves and loads it: `{"default": {"test": ...}}`, and a name |

Ids are those of `corpora/page_ids.py`. BEIR's `GenericDataLoader` reads the first three files.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fathoms.corpora.page_ids import page_id, place_of, word
from fathoms.corpora.writing import refuse_existing, write_new
from fathoms.extras.exchange.writing.rankings import Level, Rankings
from fathoms.paths import safe_name
from fathoms.types import Document


def write_beir(found: Rankings, documents: Mapping[str, Document], folder: Path) -> list[Path]:
    """Write the files into a folder and return their paths; `documents` are the parsed documents by id.

    A page or document without a known text has an empty one. Raises UsageError if a file exists, and
    StoreError if one cannot be written.
    """
    name = safe_name(found.name)
    results = {word(one.question.id): dict(one.retrieved) for one in found.rankings}
    model = {"model_name": found.name, "revision": None}
    texts = {
        folder / "corpus.jsonl": _lines(_corpus(found, documents)),
        folder / "queries.jsonl": _lines(
            {"_id": word(one.question.id), "text": one.question.text} for one in found.rankings
        ),
        folder / "qrels" / "test.tsv": _qrels(found),
        folder / "results" / f"{name}.json": _json(results),
        folder / f"{name}_predictions.json": _json({"mteb_model_meta": model, "default": {"test": results}}),
    }
    for path in texts:
        refuse_existing(path)
    for path, text in texts.items():
        write_new(path, text)
    return list(texts)


def _corpus(found: Rankings, documents: Mapping[str, Document]) -> Iterable[dict[str, str]]:
    """Yield every page or document that is known, then those that are only ranked or relevant."""
    entries = dict(_texts(found.level, documents))
    for one in found.rankings:
        for name, _ in (*one.retrieved, *one.relevant):
            entries.setdefault(name, "")
    for name, text in entries.items():
        yield {"_id": name, "title": place_of(name)[0], "text": text}


def _texts(level: Level, documents: Mapping[str, Document]) -> Iterable[tuple[str, str]]:
    """Yield the id and the text of every page or document."""
    for document in documents.values():
        if level == "document":
            yield word(document.id), document.text
        else:
            for page in document.pages:
                yield page_id(document.id, (page.number,)), page.text


def _qrels(found: Rankings) -> str:
    """Return the relevance judgments as a table with tabs."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(("query-id", "corpus-id", "score"))
    for one in found.rankings:
        writer.writerows((word(one.question.id), name, grade) for name, grade in one.relevant)
    return text.getvalue()


def _lines(rows: Iterable[dict[str, str]]) -> str:
    """Return rows as JSON lines."""
    return "".join(_json(row) + "\n" for row in rows)


def _json(value: Any) -> str:
    """Return a value as JSON on one line, with characters of all scripts as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
