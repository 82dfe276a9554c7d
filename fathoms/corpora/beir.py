"""Reads a folder in the layout of BEIR: `queries.jsonl`, `corpus.jsonl`, `qrels/SPLIT.tsv`, each also packed.

A query becomes a question without a gold answer. Its gold evidence are the judged entries of the corpus:
the page that an id such as `varn.pdf#page=3` names, or else the text of the entry as a quote. `test` is read
of several splits.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathoms.corpora.page_ids import place_of
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import Placed
from fathoms.errors import DataError
from fathoms.safety.inputs import LARGEST, decode, parse_json, read_file


def is_beir(folder: Path) -> bool:
    """Whether a folder has the layout of BEIR, with its queries as JSON lines."""
    return any((folder / f"queries.jsonl{ending}").is_file() for ending in ("", ".gz"))


def rows(folder: Path, notes: Notes) -> list[Placed]:
    """Return the questions of a folder in the keys of `rows`; raises DataError for a file that is missing or
    cannot be read."""
    qrels = _judgments(folder, notes)
    gold = {name for found in qrels.values() for name in found}
    texts = {
        str(entry["_id"]): str(entry.get("text") or "")
        for _, entry in _lines(folder / "corpus.jsonl")
        if str(entry.get("_id")) in gold
    }
    found: list[Placed] = []
    for place, query in _lines(folder / "queries.jsonl"):
        judged = qrels.get(str(query.get("_id")), {})
        evidence = list(_evidence(judged, texts, place, notes))
        if not evidence or not isinstance(query.get("text"), str):
            notes.add("queries left out, because this split judges nothing relevant to them", place)
            continue
        found.append((place, {"id": str(query["_id"]), "question": query["text"], "evidence": evidence}))
    return found


def _evidence(
    judged: dict[str, int], texts: dict[str, str], place: str, notes: Notes
) -> Iterator[dict[str, Any]]:
    for name, relevance in judged.items():
        document, pages = place_of(name)
        grade = {"relevance": relevance} if relevance > 1 else {}
        if not pages and not texts.get(name):
            notes.add("judged entries left out, because the corpus has no text of them", place)
            continue
        for page in pages or (None,):
            quote = {} if page else {"quote": texts[name]}
            yield {"document": document, "page": page, **quote, **grade}


def _judgments(folder: Path, notes: Notes) -> dict[str, dict[str, int]]:
    """Return the entries that are relevant to each query, with their grades."""
    splits = sorted(
        one for one in (folder / "qrels").glob("*.tsv*") if one.name.endswith((".tsv", ".tsv.gz"))
    )
    if not splits:
        raise DataError(f"{folder}: no judgments in 'qrels', such as qrels/test.tsv")
    path = next((one for one in splits if one.name.startswith("test.")), splits[0])
    if len(splits) > 1:
        others = ", ".join(one.name for one in splits if one != path)
        notes.add(f"the judgments are those of {path.name}, and not of {others}", f"{path}:1")
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_text(path).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if (number == 1 and cells[-1] == "score") or not line.strip():
            continue
        try:
            query, entry, grade = cells[0], cells[-2], int(float(cells[-1]))
        except (IndexError, ValueError, OverflowError):
            raise DataError(f"{path}:{number}: expected a query, an entry and a score, by tabs") from None
        if grade > 0:
            found.setdefault(query, {})[entry] = grade
    return found


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            entry = parse_json(line, str(path), number)
            if not isinstance(entry, dict) or "_id" not in entry:
                raise DataError(f"{path}:{number}: expected an object with '_id'")
            yield f"{path}:{number}", entry


def _text(path: Path) -> str:
    """Return the text of a file, or of the one with `.gz` after its name, of at most `LARGEST` bytes."""
    packed = path if path.suffix == ".gz" else path.with_name(f"{path.name}.gz")
    if path.suffix != ".gz" and (path.is_file() or not packed.is_file()):
        return decode(read_file(path), path)
    read_file(packed)  # refuses what is no regular file
    try:
        with gzip.open(packed) as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{packed}: cannot be read: {error}") from error
    if len(data) > LARGEST:
        raise DataError(f"{packed}: holds more than {LARGEST // 2**20} MB, the most that is read")
    return decode(data, packed)
