"""Reads per-item scores and what people said of the same items, from files of any tool.

A file is CSV, JSON Lines or JSON, in one of these forms:

- rows with a topic, a system and figures: `{"question": "q1", "system": "a", "rouge": 0.4, "quality": 3}`
- rows about two systems with a preference: `{"question": "q1", "first": "a", "second": "b", "better": "b"}`;
  a number is negative if the first is preferred, and positive for the second
- pairs with a part for each system: `{"id": 1, "model1": {"model_name": "a", "f1": 0.4}, "model2": {...}}`
- an object of figures by topic, `{"q1": {"rouge": 0.4}}`, of the system that gives the file its name
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from fathoms.errors import DataError
from fathoms.safety.inputs import LARGEST_IMPORT, json_lines, parse_json, read_text

TOPIC = ("topic", "question_id", "instance_id", "query_id", "q_id", "qid", "id", "question", "query")
"""The keys of a topic, the most telling first."""
SYSTEM = ("system", "pipeline", "run", "model", "model_name", "name")
PAIR = (("first", "second"), ("model1", "model2"), ("a", "b"), ("left", "right"), ("response1", "response2"))
RATER = ("rater", "reviewer", "annotator", "worker")
_FIRST = frozenset({"first", "a", "left", "model1", "response1"})
_SECOND = frozenset({"second", "b", "right", "model2", "response2"})
_TIE = frozenset({"tie", "equal", "same", "both", "neither"})
_LONGEST_CELL = 64 * 2**20

Item = tuple[str, str]
"""A topic and a system."""
Pair = tuple[str, str, str]
"""A topic and two systems, in the order in which their pair came first."""


@dataclass
class ScoreTable:
    """Figures of answers (`scores`, by name and answer), and preferences (`preferences`, by name and pair;
    negative for the first), with all values given for each of them."""

    scores: dict[str, dict[Item, list[float]]] = field(default_factory=dict)
    preferences: dict[str, dict[Pair, list[float]]] = field(default_factory=dict)

    def add(self, other: ScoreTable) -> None:
        """Add what another table has."""
        for name, items in other.scores.items():
            for item, values in items.items():
                self.scores.setdefault(name, {}).setdefault(item, []).extend(values)
        for name, pairs in other.preferences.items():
            for pair, values in pairs.items():
                self.preferences.setdefault(name, {}).setdefault(pair, []).extend(values)

    def means(self, name: str) -> dict[Item, float]:
        """Return the mean of the values of each answer."""
        return {item: fmean(values) for item, values in self.scores[name].items()}


def read_table(paths: Iterable[Path], raters: Sequence[str] = ()) -> ScoreTable:
    """Read files as one table, with the rows of all raters or some; raises DataError for a file that has no
    figures or cannot be read."""
    table = ScoreTable()
    for path in paths:
        found = ScoreTable()
        for place, row in _rows(path):
            if not raters or any(str(row.get(key)) in raters for key in row if key.lower() in RATER):
                _add_row(found, row, place)
        if not found.scores and not found.preferences:
            raise DataError(
                f"{path} has no figures: its rows need a topic ({', '.join(TOPIC[:3])}...), a system"
                f" ({', '.join(SYSTEM[:3])}...) and numbers, or two systems (first, second) and which is"
                " preferred"
            )
        for name, pairs in found.preferences.items():
            if {abs(value) for values in pairs.values() for value in values} == {1.0, 2.0} and (
                min(min(values) for values in pairs.values()) > 0
            ):
                raise DataError(
                    f"{path}: does 1 in '{name}' mean the first answer, or that the second is a little"
                    " better? Write first and second, or numbers below and above 0"
                )
        table.add(found)
    return table


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a file with their places."""
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from _csv_rows(path)
        return
    if path.suffix.lower() == ".jsonl":
        lines, broken = json_lines(path)
        if broken:
            raise DataError(broken[0])
        data: Any = [row for _, row in lines]
    else:
        data = parse_json(read_text(path, LARGEST_IMPORT), str(path))
    if isinstance(data, dict):
        data = [{"topic": topic, "system": path.stem, **_figures_of(one)} for topic, one in data.items()]
    if not isinstance(data, list):
        raise DataError(f"{path}: expected a list of rows, or an object of figures by topic")
    for number, row in enumerate(data, 1):
        if not isinstance(row, dict):
            raise DataError(f"{path}: row {number}: expected an object")
        yield f"{path}: row {number}", row


def _figures_of(one: Any) -> Mapping[str, Any]:
    return one if isinstance(one, dict) else {"score": one}


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = read_text(path, LARGEST_IMPORT).removeprefix("\ufeff")
    header = text.partition("\n")[0]
    separator = max((",", ";", "\t"), key=header.count)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text), delimiter=separator), 2):
            yield f"{path}:{number}", {key: cell for key, cell in row.items() if key and cell}
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    finally:
        csv.field_size_limit(before)


def _add_row(table: ScoreTable, row: Mapping[str, Any], place: str) -> None:
    """Add the figures or preferences of one row."""
    keys = {key.strip().lower(): key for key in row}
    topic = next((keys[name] for name in TOPIC if name in keys), None)
    if topic is None:
        raise DataError(f"{place}: there is no topic: name the column {', '.join(TOPIC[:4])} or the like")
    pair = next(((keys[a], keys[b]) for a, b in PAIR if a in keys and b in keys), None)
    about = str(row[topic])
    used = {topic, *(keys[name] for name in (*TOPIC, *RATER) if name in keys)}
    if pair is None:
        system = next((keys[name] for name in SYSTEM if name in keys), None)
        if system is None:
            raise DataError(
                f"{place}: there is no system: name the column {', '.join(SYSTEM[:4])} or the like"
            )
        for name, value in _numbers({key: row[key] for key in row if key not in used | {system}}):
            table.scores.setdefault(name, {}).setdefault((about, str(row[system])), []).append(value)
        return
    systems = (_system(row[pair[0]]), _system(row[pair[1]]))
    if systems[0] == systems[1]:
        raise DataError(f"{place}: both answers are of {systems[0]}, so that no score tells them apart")
    for side, system in zip(pair, systems, strict=True):
        if isinstance(row[side], dict):
            for name, value in _numbers(row[side]):
                table.scores.setdefault(name, {}).setdefault((about, system), []).append(value)
    for key in row:
        if key not in used and key not in pair:
            preferred = _preference(row[key], systems)
            if preferred is not None:
                pairs = table.preferences.setdefault(key, {})
                turned = (about, systems[1], systems[0])
                if turned in pairs:  # another rater saw the two in the other order
                    pairs[turned].append(-preferred)
                else:
                    pairs.setdefault((about, *systems), []).append(preferred)


def _system(side: Any) -> str:
    """Return the name of a system, which may be one of the keys of a mapping."""
    if not isinstance(side, dict):
        return str(side)
    return str(next((side[name] for name in ("model_name", *SYSTEM) if name in side), "?"))


def _numbers(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a row with their keys, those inside mappings by the path to them."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{key}.")
        elif (number := _number(value)) is not None:
            yield f"{prefix}{key}", number


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _preference(value: Any, systems: tuple[str, str]) -> float | None:
    """Return a preference as a number, negative for the first; `None` if the cell is none."""
    if (number := _number(value)) is not None:
        return number
    word = str(value).strip()
    if word in systems and systems[0] != systems[1]:
        return -1.0 if word == systems[0] else 1.0
    for words, known in ((_FIRST, -1.0), (_SECOND, 1.0), (_TIE, 0.0)):
        if word.lower() in words:
            return known
    return None
