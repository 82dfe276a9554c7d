"""Imports data sets and results of Ragas: JSON lines, JSON or CSV with one sample per row.

As Ragas 0.4 writes them: `EvaluationDataset.to_jsonl` and `to_csv`, `EvaluationResult.to_pandas()` saved by
pandas, and the files of experiments.

| column | becomes |
|---|---|
| `user_input` | the text of the question |
| `response` | the answer; where other rows have one, a row without failed |
| `retrieved_contexts`, `retrieved_context_ids` | the hits, an id being the document (`varn.pdf#page=3`) |
| `reference` | the gold answer in running text |
| `reference_context_ids` | gold evidence |
| `persona_name`, `query_style`, `query_length` | metadata of the question |
| every other column of numbers | a released score |

Conversations (`user_input` as a list of messages) are left out. `reference_contexts`, `rubrics` and
`multi_responses` are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.corpora.page_ids import place_of
from fathoms.corpora.released import listed
from fathoms.errors import DataError
from fathoms.extras.exchange.reading.contexts import named_contexts
from fathoms.extras.exchange.reading.foreign import (
    ForeignRow,
    Options,
    found_hits,
    imported,
    numbers,
    scalars,
    usable,
)
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row
from fathoms.safety.inputs import LARGEST_IMPORT, json_lines, parse_json, read_text
from fathoms.types import Evidence

_LISTS = ("retrieved_contexts", "retrieved_context_ids", "reference_contexts", "reference_context_ids")
_METADATA = ("persona_name", "query_style", "query_length")
_KNOWN = frozenset(
    ("user_input", "response", "reference", "rubrics", "rubric", "multi_responses", *_LISTS, *_METADATA)
)


def read_ragas(path: Path, options: Options) -> Imported:
    """Read a file of Ragas. Rows that cannot be used are left out and named in warnings.

    Raises DataError if the file is in no format of Ragas, or if none of its rows can be used.
    """
    values, complaints, what = _values(path)
    answered = any(isinstance(value, dict) and value.get("response") is not None for _, value in values)
    rows, more = usable(values, partial(_row, what=what, answered=answered), path, what)
    return imported(path, rows, [*complaints, *more], options)


def _values(path: Path) -> tuple[list[tuple[int, Any]], list[str], str]:
    """Return the rows with their numbers, a message for each that cannot be read, and what numbers count."""
    if path.suffix.lower() == ".csv":
        return _table(path), [], "line"
    if path.suffix.lower() != ".json":
        values, complaints = json_lines(path, nan_as_null=True)
        return values, complaints, "line"
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
    if not isinstance(data, list):
        raise DataError(f"{path}: expected a list of samples (of pandas: to_json(FILE, orient='records'))")
    return list(enumerate(data, start=1)), [], "sample"


def _table(path: Path) -> list[tuple[int, Any]]:
    """Return the rows of a table with their lines; empty cells are null, and numbers are read as such."""
    from fathoms.corpora.csv_table import table_rows

    (_, header), *rows = table_rows(read_text(path, LARGEST_IMPORT), str(path), ",") or [(1, [])]
    if "user_input" not in header:
        raise DataError(f"{path}:1: no column 'user_input': this is no file of Ragas")
    return [(line, dict(zip(header, map(_cell, header, cells), strict=False))) for line, cells in rows]


def _cell(column: str, text: str) -> Any:
    """Return the value of a cell: lists are in Python's or NumPy's notation, and scores are numbers."""
    if not text:
        return None
    if column in _LISTS:
        found = listed(text)
        return text if found is None else found  # a text is refused later, with the place of the row
    if column not in _KNOWN:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _row(number: int, value: Any, *, what: str, answered: bool) -> ForeignRow:
    """Convert one sample; raises DataError."""
    if not isinstance(value, dict):
        raise DataError("expected an object with 'user_input'")
    question, response, reference = (value.get(key) for key in ("user_input", "response", "reference"))
    if isinstance(question, list):
        raise DataError("'user_input' is a conversation: only single questions can be imported")
    if not isinstance(question, str) or not question.strip():
        raise DataError("'user_input' has no text")
    if not isinstance(response, str | None) or not isinstance(reference, str | None):
        raise DataError("'response' and 'reference' have to be texts")
    found = named_contexts(value.get("retrieved_contexts"), value.get("retrieved_context_ids"))
    if response is None and not answered and found is None:
        raise DataError("neither 'response' nor 'retrieved_contexts': there is nothing to score")
    row = Row(
        number,
        question=question,
        what=what,
        answer=response,
        error="no response" if response is None and answered else None,
        hits=found_hits(found),
        released=numbers({name: item for name, item in value.items() if name not in _KNOWN}),
    )
    return ForeignRow(
        row,
        reference=reference,
        evidence=tuple(_evidence(value.get("reference_context_ids") or ())),
        metadata=dict(scalars({name: value.get(name) for name in _METADATA})),
    )


def _evidence(ids: Any) -> Iterable[Evidence]:
    """Yield the gold places that ids name; raises DataError."""
    if not isinstance(ids, list | tuple):
        raise DataError("'reference_context_ids' has to be a list")
    for name in ids:
        document, pages = place_of(str(name))
        for page in pages or (None,):
            yield Evidence(document=document, page=page)
