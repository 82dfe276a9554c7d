"""Extracts the table of facts from documents by a model, which a second reading checks.

The first reading lists what a document gives, with its page; a value that does not stand on that page as
written is in doubt. The second reading, by the judge, says what the same text gives for each field without
seeing the first. Two values that read as the same amount, date or name agree, in whatever unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fathoms.errors import DataError
from fathoms.extras.questions.computed.table import DOUBT, Fact, folded
from fathoms.extras.questions.computed.values import read_field
from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.making.asking import TEXT, Asker, json_form
from fathoms.extras.questions.making.verbatim import on_page
from fathoms.judges.replies import read_json
from fathoms.types import Document, Failure, Form, Prompt

LONGEST = 12_000
"""The most characters of pages that are read in one call; a longer page is read in pieces."""
_SHOWN = 8
"""How many documents are shown for fields to be proposed."""
_BEGINNING = 1500
"""How many characters of each of these are shown."""
_NOT_GIVEN = "not given"
_KEYS = ("field", "value", "unit", "page")
_FORMULA = re.compile(r"^(?:[=@+\s]|-(?!\s?\d))+")
"""How a cell begins that a spreadsheet would run: the text of a document must not."""
_PROPOSE = """\
These are the beginnings of documents of one kind:

{shown}

Name the fields, at most {most}, for which most of these documents give one short value, such as a name, a
date, or a number with its unit. Begin with the field that says what a document is about, such as the name of
a station. Reply with JSON: {{"fields": [NAME, ...]}}"""
_FIRST = """\
From the document {document}:

{pages}

List the facts that this document gives for these fields: {fields}.
Copy each value exactly as it is written, without its unit. Leave out a field that the document gives no value
for. `unit` is the unit as it is written, or empty, and `page` the number of the page.
Reply with JSON: {{"facts": [{{"field": FIELD, "value": VALUE, "unit": UNIT, "page": PAGE}}, ...]}}"""
_SECOND = """\
From the document {document}:

{pages}

What does this text say for each of these fields: {fields}?
Reply with JSON that has each field as a key, and as its value what the text says, with the unit, or
"{not_given}"."""


class Part(NamedTuple):
    """Pages of a document that are read in one call, as pairs of number and text."""

    document: str
    pages: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The pages as prompts show them."""
        return "\n\n".join(f"[page {number}]\n{text}" for number, text in self.pages)


class Extracted(NamedTuple):
    """The facts of documents, and why some of them were not read, by document."""

    facts: tuple[Fact, ...]
    unread: dict[str, str]


def propose(documents: Iterable[Document], asker: Asker, most: int = 8) -> tuple[str, ...]:
    """Return fields that a model proposes for documents; raises DataError if it proposes none."""
    shown = [one.text.strip()[:_BEGINNING] for one in documents if one.text.strip()][:_SHOWN]
    text = _PROPOSE.format(shown="\n\n---\n\n".join(shown), most=most)
    form = json_form(fields={"type": "array", "items": TEXT})
    found = asker.ask("fields", [0], lambda _: plain_prompt(text, form), _read_fields)[0]
    if isinstance(found, Failure):
        raise DataError(f"no fields were proposed: {found.message}; name them with --field")
    return found[:most]


def extract(documents: Iterable[Document], fields: Sequence[str], asker: Asker) -> Extracted:
    """Return what documents give for fields, each fact with `check` where the two readings do not agree."""
    parts = [part for document in documents for part in _parts(document)]

    def first(part: Part) -> Prompt:
        names = {"type": "string", "enum": list(fields)}
        fact = {"field": names, "value": TEXT, "unit": TEXT, "page": {"type": "integer"}}
        items = {"type": "object", "properties": fact, "required": list(fact), "additionalProperties": False}
        return _prompt(_FIRST, part, fields, json_form(facts={"type": "array", "items": items}))

    def second(part: Part) -> Prompt:
        return _prompt(_SECOND, part, fields, json_form(**dict.fromkeys(fields, TEXT)))

    known = {folded(field): field for field in fields}
    listed = asker.ask("facts", parts, first, lambda reply: _read_facts(reply, known))
    again = asker.ask("second-reading", parts, second, lambda reply: _read_again(reply, known), judging=True)
    facts: dict[Fact, None] = {}
    unread: dict[str, str] = {}
    for part in parts:
        one, other = listed[part], again[part]
        if isinstance(one, Failure):
            unread[part.document] = one.message
            continue
        facts |= dict.fromkeys(_checked(part, one, other))
    return Extracted(tuple(facts), unread)


def _prompt(template: str, part: Part, fields: Sequence[str], form: Form) -> Prompt:
    """Return a prompt that shows pages and names the fields."""
    text = template.format(
        document=part.document, pages=part.text, fields=", ".join(fields), not_given=_NOT_GIVEN
    )
    return plain_prompt(text, form)


def _parts(document: Document) -> Iterator[Part]:
    """Divide the pages of a document into parts that are not too long; a piece of a page is a page of its
    own there."""
    pages: list[tuple[int, str]] = []
    size = 0
    for page in document.pages:
        text = page.text.strip()
        for start in range(0, len(text), LONGEST):
            piece = text[start : start + LONGEST]
            if pages and size + len(piece) > LONGEST:
                yield Part(document.id, tuple(pages))
                pages, size = [], 0
            pages.append((page.number, piece))
            size += len(piece)
    if pages:
        yield Part(document.id, tuple(pages))


def _read_fields(reply: str) -> tuple[str, ...] | None:
    """Read the names of fields, each once; `None` if there is none."""
    data = read_json(reply)
    rows = data.get("fields") if isinstance(data, dict) else data
    names = [" ".join(row.split()) for row in rows if isinstance(row, str)] if isinstance(rows, list) else []
    return tuple({folded(name): name for name in names if name}.values()) or None


def _read_facts(reply: str, known: Mapping[str, str]) -> list[Fact] | None:
    """Read the facts of a first reading, which have no document yet; `None` if there is no list of them."""
    data = read_json(reply)
    rows = data.get("facts") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return None
    found = []
    for row in rows:
        values = row if isinstance(row, dict) else {}
        said = {key: _cell(values.get(key)) for key in _KEYS}
        field = known.get(folded(said["field"]))
        if field and said["value"] and folded(said["value"]) != _NOT_GIVEN:
            page = int(said["page"]) if said["page"].isdecimal() and len(said["page"]) < 9 else 0
            value = said["value"].removesuffix(said["unit"]).strip() or said["value"]
            found.append(Fact("", page, field, value, said["unit"]))
    return found


def _cell(value: object) -> str:
    """Return a value of a reply as a cell of the table, on one line and never a formula."""
    return "" if value is None else _FORMULA.sub("", " ".join(str(value).split()))


def _read_again(reply: str, known: Mapping[str, str]) -> dict[str, str] | None:
    """Read what a second reading says for each field; `None` if it is no object."""
    data = read_json(reply)
    if not isinstance(data, dict):
        return None
    found = {}
    for key, value in data.items():
        text = _cell(value)
        if (field := known.get(folded(str(key)))) and text and folded(text).strip(". ") != _NOT_GIVEN:
            found[field] = text
    return found


def _checked(part: Part, listed: Sequence[Fact], again: Mapping[str, str] | Failure) -> Iterator[Fact]:
    """Yield the facts of a part of a document with what is in doubt about each, and what the second reading
    alone found."""
    found = set()
    for fact in listed:
        found.add(fact.field)
        page = _page_with(part, fact)
        if isinstance(again, Failure):
            check = f"{DOUBT}there is no second reading: {again.message}"
        elif page is None:
            check = f"{DOUBT}'{fact.value}' does not stand there as written"
        elif (other := again.get(fact.field)) is None:
            check = f"{DOUBT}a second reading found no value"
        else:
            check = "" if _same(fact, other) else f"{DOUBT}{other}"
        numbers = [number for number, _ in part.pages]
        stated = fact.page if fact.page in numbers else numbers[0]
        yield Fact(part.document, page or stated, fact.field, fact.value, fact.unit, " ".join(check.split()))
    for field, value in {} if isinstance(again, Failure) else again.items():
        if field not in found:
            check = f"{DOUBT}the first reading found no value"
            one = Fact(part.document, part.pages[0][0], field, value, "", check)
            yield Fact(part.document, _page_with(part, one) or one.page, field, value, "", check)


def _page_with(part: Part, fact: Fact) -> int | None:
    """Return the page on which a value stands as written: the one that was named, or else the first."""
    pages = [number for number, text in part.pages if on_page(fact.value, text)]
    return fact.page if fact.page in pages else min(pages, default=None)


def _same(fact: Fact, other: str) -> bool:
    """Whether two readings say the same: an amount in any unit, a date in any notation, or a name."""
    for written in ((fact.value, fact.unit), (fact.written, "")):
        _, (one, two), wrong = read_field(fact.field, [written, (other, "")])
        if not wrong and one == two:
            return True
    return folded(fact.written) == folded(other)
