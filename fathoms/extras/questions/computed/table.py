"""The table of facts: which document gives which value for a field, and on which page.

It is a CSV file with the columns `document`, `page`, `field` and `value`, and optionally `unit`, `check`,
`checked_by` and `checked_at`. What a model has extracted is in doubt where `check` says `differs: ...`; a
person settles it by mending the value and emptying the cell. A question that rests on a value in doubt is not
made.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fathoms.corpora.csv_table import cell_starts, separator_of, table_rows
from fathoms.corpora.rows import IGNORED
from fathoms.errors import DataError, QuestionsError, UsageError, suggest
from fathoms.extras.questions.computed.values import Field, Key, read_field
from fathoms.safety.inputs import decode_table, read_file
from fathoms.text.folding import fold_plain
from fathoms.types import Place

NEEDED = ("document", "page", "field", "value")
PERSON = ("checked_by", "checked_at")
"""The columns that say who looked at a row last, and when."""
COLUMNS = (*NEEDED, "unit", "check", *PERSON)
DOUBT = "differs: "
"""How the cell `check` begins of a value on which two readings do not agree."""


@dataclass(frozen=True)
class Fact:
    """One row of the table. `place` is where its value stands in the file, as file:line:column, and `more`
    has the columns that only people read."""

    document: str
    page: int
    field: str
    value: str
    unit: str = ""
    check: str = ""
    place: str = ""
    checked_by: str = ""
    checked_at: str = ""
    more: tuple[tuple[str, str], ...] = ()

    @property
    def written(self) -> str:
        """The value with its unit."""
        return f"{self.value} {self.unit}".strip()

    @property
    def line(self) -> str:
        """The line of the file on which the row begins; empty for a row of no file."""
        return self.place.split(":")[-2] if self.place else ""


@dataclass(frozen=True)
class Facts:
    """The rows of a file, with its name and the beginning of its sha256, and what separates its columns."""

    name: str
    sha256: str
    rows: tuple[Fact, ...]
    warnings: tuple[str, ...] = ()
    separator: str = ","


@dataclass(frozen=True)
class Cell:
    """A row with its value as `read_field` reads it."""

    fact: Fact
    key: Key

    @property
    def page(self) -> Place:
        """The page on which the document gives the value."""
        return self.fact.document, self.fact.page


@dataclass(frozen=True)
class Given:
    """What the table gives for one field of one thing: the cells of its latest documents that give it.
    `settled` is false where they differ, or one of them is in doubt."""

    cells: tuple[Cell, ...]

    @property
    def settled(self) -> bool:
        """Whether there is one value."""
        return len({cell.key for cell in self.cells}) == 1 and not any(cell.fact.check for cell in self.cells)

    @property
    def key(self) -> Key:
        """The one value, if it is settled."""
        return self.cells[0].key


@dataclass(frozen=True)
class Thing:
    """What documents are about, such as a station: its name, its documents by their dates (all under an empty
    one where they have none), and the cells that say both."""

    name: str
    documents: dict[str, tuple[str, ...]]
    naming: dict[str, tuple[Cell, ...]]


def read_facts(path: Path) -> Facts:
    """Read a table of facts; raises QuestionsError, which lists all mistakes with file:line:column."""
    data = read_file(path)
    text, guessed = decode_table(data, path)
    separator = separator_of(text)
    lines = text.split("\n")
    rows: list[Fact] = []
    wrong: list[str] = []
    header, *table = table_rows(text, str(path), separator) or [(1, [])]
    columns = [column.strip().lower() for column in header[1]]
    _check_header(columns, f"{path}:{header[0]}")
    for line, cells in table:
        if len(cells) != len(columns):
            wrong.append(f"{path}:{line}: {len(cells)} cells under a header of {len(columns)} columns")
            continue
        row = {column: " ".join(cell.split()) for column, cell in zip(columns, cells, strict=True)}
        starts = dict(zip(columns, cell_starts(lines[line - 1], separator), strict=False))
        mistakes = list(_mistakes(row))
        # the value of a row that has a line break in a quoted cell has no column of its own
        wrong += [f"{path}:{line}:{starts.get(column, 0) + 1}: {what}" for column, what in mistakes]
        if not mistakes:
            place = f"{path}:{line}:{starts.get('value', 0) + 1}"
            known = {column: row.get(column, "") for column in COLUMNS if column != "page"}
            more = tuple((column, cell) for column, cell in row.items() if column not in COLUMNS)
            rows.append(Fact(page=int(row["page"]), place=place, more=more, **known))
    if wrong:
        raise QuestionsError(wrong)
    if not rows:
        raise DataError(f"{path}: has no facts: write a row with {', '.join(NEEDED)} for each")
    warnings = (guessed,) if guessed else ()
    return Facts(path.name, hashlib.sha256(data).hexdigest()[:12], tuple(rows), warnings, separator)


def is_table_of_facts(path: Path) -> bool:
    """Whether a file is a CSV file with the columns that a table of facts has."""
    if path.suffix.lower() != ".csv" or not path.exists():
        return False
    text, _ = decode_table(read_file(path), path)
    header = next(iter(table_rows(text, str(path), separator_of(text))), (1, []))[1]
    return set(NEEDED) <= {column.strip().lower() for column in header}


def _check_header(columns: Sequence[str], place: str) -> None:
    """Raise DataError for a header that lacks a column, or has an unknown one or one twice."""
    for column in columns:
        if columns.count(column) > 1:
            raise DataError(f"{place}: the column '{column}' appears twice")
        if column not in (*COLUMNS, *IGNORED) and not column.startswith("_"):
            raise DataError(f"{place}: unknown column '{column}'{suggest(column, COLUMNS)}")
    for column in NEEDED:
        if column not in columns:
            raise DataError(
                f"{place}: there is no column '{column}': a table of facts has {', '.join(COLUMNS)}"
            )


def _mistakes(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the column and the complaint of each cell that cannot be used."""
    for column in NEEDED:
        if not row[column]:
            yield column, f"'{column}' is empty: a fact that no document gives has no row"
    if row["page"] and not (row["page"].isdecimal() and int(row["page"][:9]) > 0 and len(row["page"]) < 9):
        yield "page", f"'{row['page'][:40]}' is not a page: write its number in the PDF, counted from 1"
    check = row.get("check", "")
    if check and not check.startswith(DOUBT):
        yield (
            "check",
            f"'{check[:40]}': leave the cell empty, or say '{DOUBT}' and what another reading found",
        )


def written_facts(facts: Sequence[Fact], separator: str = ",") -> str:
    """Return the text of a table of facts, which reads back as the same rows."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n", delimiter=separator)
    columns = [one for one in COLUMNS if one not in PERSON or any(getattr(fact, one) for fact in facts)]
    more = list(dict.fromkeys(column for fact in facts for column, _ in fact.more))
    table.writerow([*columns, *more])
    for fact in facts:
        values = dict(fact.more)
        table.writerow(
            [*(getattr(fact, one) for one in columns), *(values.get(column, "") for column in more)]
        )
    return out.getvalue()


def unreadable(rows: Sequence[Fact]) -> dict[int, str]:
    """Return what is wrong with the values that do not fit the others of their field, by row number."""
    by_field: dict[str, list[int]] = {}
    for at, fact in enumerate(rows):
        by_field.setdefault(folded(fact.field), []).append(at)
    found: dict[int, str] = {}
    for places in by_field.values():
        read = read_field(rows[places[0]].field, [(rows[at].value, rows[at].unit) for at in places])
        found |= {places[number]: what for number, what in read.wrong.items()}
    return found


class Table:
    """The facts by thing and field. Without `about`, the field that says what a document is about, each
    document is a thing of its own; `dated` is the field with its date. `limits` are amounts of fields that
    are asked about besides quartiles."""

    def __init__(
        self,
        facts: Facts,
        about: str | None = None,
        dated: str | None = None,
        limits: Iterable[tuple[str, float]] = (),
    ) -> None:
        self.source = f"{facts.name} (sha256 {facts.sha256}...)"
        self.fields: dict[str, Field] = {}
        self._cells: dict[tuple[str, str], list[Cell]] = {}
        self._columns: dict[str, list[tuple[Thing, Given]]] = {}
        self._read(facts.rows)
        self.about, self.dated = self._named(about, "--about"), self._named(dated, "--dated")
        self.limits: dict[str, set[float]] = {}
        for field, least in limits:
            self.limits.setdefault(field, set()).add(least)
        if self.dated and self.fields[self.dated].kind != "date":
            raise UsageError(f"--dated {dated}: its values are not dates")
        self.things = self._things()

    @property
    def noun(self) -> str:
        """What a thing is called."""
        return self.fields[self.about].name if self.about else "document"

    @property
    def nouns(self) -> str:
        """What several things are called."""
        for end, several in (("y", "ies"), ("s", "ses"), ("x", "xes"), ("ch", "ches"), ("sh", "shes")):
            if self.noun.endswith(end) and not self.noun.endswith(("ay", "ey", "oy", "uy")):
                return self.noun.removesuffix(end) + several
        return f"{self.noun}s"

    @property
    def question_fields(self) -> tuple[Field, ...]:
        """The fields that questions can be about."""
        return tuple(field for name, field in self.fields.items() if name not in (self.about, self.dated))

    @cached_property
    def in_order(self) -> bool:
        """Whether some thing has documents of several dates, of which the latest counts."""
        return any(len(thing.documents) > 1 for thing in self.things)

    def column(self, field: Field) -> list[tuple[Thing, Given]]:
        """Return the things for which some document gives a field, with what is given."""
        if field.name not in self._columns:
            every = [(thing, self.given(thing, field)) for thing in self.things]
            self._columns[field.name] = [(thing, given) for thing, given in every if given]
        return self._columns[field.name]

    def given(self, thing: Thing, field: Field, until: str | None = None) -> Given | None:
        """Return what the latest documents of a thing give for a field, `None` if none gives it. Only dates
        up to that of `until` count; a year counts whole."""
        for date in sorted(thing.documents, reverse=True):
            if until is None or date[: len(until)] <= until:
                cells = [
                    cell
                    for document in thing.documents[date]
                    for cell in self._cells.get((document, folded(field.name)), ())
                ]
                if cells:
                    return Given(tuple(cells))
        return None

    def _named(self, name: str | None, option: str) -> str | None:
        """Return the key of a field that an option names; raises UsageError if there is none."""
        if name is None:
            return None
        if folded(name) not in self.fields:
            names = [field.name for field in self.fields.values()]
            raise UsageError(f"{option} {name}: the table has no such field{suggest(name, names)}")
        return folded(name)

    def _read(self, rows: Sequence[Fact]) -> None:
        """Read the values of each field. A value that a document gives twice counts once, on its first
        page."""
        wrong: list[tuple[int, str]] = []
        by_field: dict[str, list[int]] = {}
        for at, fact in enumerate(rows):
            by_field.setdefault(folded(fact.field), []).append(at)
        for key, places in by_field.items():
            written = [(rows[at].value, rows[at].unit) for at in places]
            self.fields[key], values, mistakes = read_field(rows[places[0]].field, written)
            for number, what in mistakes.items():
                row = rows[places[number]]
                wrong.append((places[number], f"{row.place or row.document}: {what}"))
            for at, value in zip(places, values, strict=True):
                cells = self._cells.setdefault((rows[at].document, key), [])
                if value not in {cell.key for cell in cells}:
                    cells.append(Cell(rows[at], value))
        if wrong:
            raise QuestionsError([what for _, what in sorted(wrong)])

    def _things(self) -> tuple[Thing, ...]:
        """Gather the documents of each thing. Raises DataError for a document that names two, or none."""
        names: dict[str, str] = {}
        found: dict[str, dict[str, list[str]]] = {}
        naming: dict[str, tuple[Cell, ...]] = {}
        exact: int | None = None
        for document in dict.fromkeys(document for document, _ in self._cells):
            about = self._one(document, self.about)
            date = self._one(document, self.dated)
            if date and len(str(date.key)) != (exact := exact or len(str(date.key))):
                raise DataError(
                    f"{date.fact.place}: '{date.fact.field}' of {document} is {date.key}, and that of other"
                    " documents is more or less exact: documents can be put in order if all have a day, a"
                    " month or a year"
                )
            key = str(about.key) if about else document
            names.setdefault(key, about.fact.value if about else document.rpartition(".")[0] or document)
            found.setdefault(key, {}).setdefault(str(date.key) if date else "", []).append(document)
            naming[document] = tuple(cell for cell in (about, date) if cell)
        return tuple(
            Thing(
                names[key],
                {date: tuple(one) for date, one in dates.items()},
                {one: naming[one] for every in dates.values() for one in every},
            )
            for key, dates in found.items()
        )

    def _one(self, document: str, field: str | None) -> Cell | None:
        """Return the one value that a document gives for the field that names or dates it."""
        if field is None:
            return None
        cells = self._cells.get((document, field), [])
        if len(cells) != 1 or cells[0].fact.check:
            what = (
                "has no" if not cells else "has more than one" if len(cells) > 1 else "is in doubt about its"
            )
            raise DataError(
                f"{cells[0].fact.place + ': ' if cells else ''}{document} {what} '{self.fields[field].name}',"
                " which every document needs: mend its rows"
            )
        return cells[0]


def folded(name: str) -> str:
    """Return the name of a field as fields are compared."""
    return fold_plain(name, hyphens=True)
