"""Reads retrieved contexts as other tools store them: texts, or objects with a text and its place.

There is no common format, so the usual names of each part are tried, in the object itself and in its
`metadata` (as in LangChain and LlamaIndex). Page numbers count from 1 unless said otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fathoms.corpora.page_ids import place_of
from fathoms.errors import DataError
from fathoms.extras.exchange.reading.hits import RetrievedHit

_NAMES = {
    "text": ("text", "content", "page_content", "pageContent", "chunk", "passage"),
    "document": ("document", "source", "file", "file_name", "filename", "file_path", "doc", "document_id"),
    "page": ("page", "page_number", "page_no", "pageNumber"),
    "label": ("page_label",),
    "score": ("score", "relevance_score", "similarity"),
}
_HITS = TypeAdapter(tuple[RetrievedHit, ...])


def contexts_of(value: Any, first_page: int = 1) -> tuple[RetrievedHit, ...] | None:
    """Return retrieved contexts, best first; `None` if the value is `None`.

    The value is one text or a list of texts and objects. `first_page` is the number that the tool gives to
    the first page of a PDF. Raises DataError for a value that cannot be read.
    """
    if value is None:
        return None
    items = [value] if isinstance(value, str | dict) else value
    if not isinstance(items, list):
        raise DataError("contexts: expected a text or a list")
    try:
        return _HITS.validate_python([_parts(item, first_page) for item in items])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        hint = ""
        if first["type"] == "greater_than_equal" and "page" in where and first_page == 1:
            hint = " (if the tool counts pages from 0, add --first-page 0)"
        raise DataError(f"contexts.{where}: {first['msg']}{hint}") from error


def named_contexts(texts: Any, ids: Any) -> tuple[RetrievedHit, ...] | None:
    """Return contexts whose texts and ids stand in two lists; each of them may be missing.

    An id is the name of a document, with `#page=N` if it names a page. Raises DataError for lists of
    different lengths.
    """
    if ids is None:
        return contexts_of(texts)
    if not isinstance(ids, list) or not isinstance(texts, list | None):
        raise DataError("contexts: expected a list of texts and a list of ids")
    if texts and len(texts) != len(ids):
        raise DataError(f"{len(texts)} contexts with {len(ids)} ids: each needs one")
    found = []
    for number, name in enumerate(ids):
        document, pages = place_of(str(name))
        found.append({"text": texts[number] if texts else None, "document": document, "pages": pages})
    try:
        return _HITS.validate_python(found)
    except ValidationError as error:
        raise DataError(f"contexts: {error.errors()[0]['msg']}") from error


def _parts(item: Any, first_page: int) -> Any:
    """Return the parts of one context under our own names."""
    if isinstance(item, str):
        return {"text": item, "document": None}
    if not isinstance(item, dict):
        return item  # refused by the validation
    inner = item.get("metadata")
    places = (item, inner) if isinstance(inner, dict) else (item,)
    found = {part: _first(places, names) for part, names in _NAMES.items()}
    page, label = found["page"], found.pop("label")
    if isinstance(page, str) and page.isdecimal() and len(page) < 10:
        page = int(page)
    if isinstance(page, int):
        page += 1 - first_page
    if page is None and re.fullmatch(r"[1-9][0-9]{0,8}", str(label)):
        page = int(
            label
        )  # as LlamaIndex writes it, from 1; other labels, such as iv, are no numbers of pages
    return {**found, "page": page}


def _first(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> Any:
    """Return the first value that is not null under one of the names in one of the places."""
    values = (place[name] for place in places for name in names if place.get(name) is not None)
    return next(values, None)
