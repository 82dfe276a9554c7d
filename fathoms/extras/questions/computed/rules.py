"""The rules by which answers follow from the table of facts: each is a pure function of the table.

A rule yields each question that it can ask, or the reason why one cannot be asked: that its answer would rest
on a value in doubt, on documents that contradict one another, or on one that a document does not give. A
question rests on the cells of the values in its answer, and on those that name and date their documents.
`contradiction` alone asks about values that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, islice
from operator import eq
from typing import NamedTuple

from fathoms.extras.questions.computed.table import Cell, Given, Table, Thing
from fathoms.extras.questions.computed.values import Field, Key
from fathoms.types import GoldList, GoldNumber, GoldPhrase

Answers = tuple[tuple[GoldPhrase, ...], ...]
MOST_NAMES = 25
"""The most names that a question asks for."""
MOST_CONDITIONS, MOST_PAIRS = 25, 100
"""The most names of a field, the most common ones, and the most pairs of totals that questions are about, so
that a large table takes no longer for each row than a small one."""
_QUARTERS = (0.25, 0.5, 0.75)
_NEAR = 1e-9
_CONVERTED = "0.5%"
"""How far an amount may be off that was converted from several units, which people round."""


class Computed(NamedTuple):
    """A question with its gold answer, in words too, the rule in words, and the cells that it rests on."""

    rule: str
    text: str
    answers: Answers
    reference: str
    statement: str
    cells: tuple[Cell, ...]


class Left(NamedTuple):
    """The reason why a question was left out."""

    reason: str


Found = Iterator[Computed | Left]
DOUBTFUL = Left("its answer would rest on a value in doubt, or on documents that contradict one another")
NOT_GIVEN = Left("a document does not give a value that its answer would need")
TIED = Left("several things have the largest value")


class Condition(NamedTuple):
    """A condition on the value of a field, in words such as `at least 300 m3/h`."""

    field: Field
    words: str
    holds: Callable[[Key], bool]

    def __str__(self) -> str:
        return f"the {self.field.name} is {self.words}"


class _Chosen(NamedTuple):
    """The things for which a condition holds, with what is given of them."""

    things: tuple[Thing, ...]
    given: tuple[Given, ...]


class _Total(NamedTuple):
    """A sum of a field over chosen things, with what is given of each."""

    field: Field
    condition: Condition
    chosen: _Chosen
    value: float
    given: tuple[Given, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the table that the sum rests on."""
        return _cells(self.chosen.things, self.chosen.given, self.given)


def count(table: Table) -> Found:
    """Ask for how many things a condition holds."""
    for condition in _conditions(table):
        chosen = _chosen(table, condition)
        if isinstance(chosen, Left):
            yield chosen
            continue
        number = len(chosen.things)
        text = f"For how many {table.nouns} is the {condition.field.name} {condition.words}?"
        answers: Answers = ((GoldNumber(number=number),),)
        yield Computed(
            "count",
            _question_text(table, text),
            answers,
            f"{number}: {_listed(chosen.things)}.",
            f"the number of {table.nouns} for which {condition}",
            _cells(chosen.things, chosen.given),
        )


def list_(table: Table) -> Found:
    """Ask for which things a condition holds."""
    for condition in _conditions(table):
        chosen = _chosen(table, condition)
        if isinstance(chosen, Left):
            yield chosen
        elif len(chosen.things) <= MOST_NAMES:
            text = (
                f"For which {table.nouns} is the {condition.field.name} {condition.words}? Name all of them."
            )
            yield _naming(
                "list", table, text, chosen.things, f"the {table.nouns} for which {condition}", chosen.given
            )


def sum_(table: Table) -> Found:
    """Ask for the total of an amount over all things for which a condition on a name holds."""
    for one in _totals(table):
        if isinstance(one, Left):
            yield one
            continue
        name, things = one.field.name, one.chosen.things
        text = f"What is the total {name}{_in(one.field)} of all {table.nouns} for which {one.condition}?"
        yield Computed(
            "sum",
            _question_text(table, text),
            ((_number(one.field, one.value),),),
            f"{_shown(one.field, one.value)}, the sum of {_parts(things, one.given)}.",
            f"the sum of {name} over the {table.nouns} for which {one.condition}",
            one.cells,
        )


def argmax(table: Table) -> Found:
    """Ask which of the things for which a condition on a name holds has the largest amount or latest date."""
    for field in table.question_fields:
        if field.kind == "name":
            continue
        for condition in _conditions(table, names_only=True):
            chosen = _chosen(table, condition)
            if isinstance(chosen, Left):
                yield chosen
                continue
            given = _all_given(table, field, chosen.things)
            if isinstance(given, Left):
                yield given
                continue
            best = max(one.key for one in given)
            holders = [thing for thing, one in zip(chosen.things, given, strict=True) if one.key == best]
            if len(holders) > 1 or any(_may_be(one.key, best) for one in given if one.key != best):
                yield TIED
                continue
            most = "largest" if field.kind == "amount" else "latest"
            text = f"Of all {table.nouns} for which {condition}, which one has the {most} {field.name}?"
            yield Computed(
                "argmax",
                _question_text(table, text),
                ((holders[0].name,),),
                f"{holders[0].name}: {_shown(field, best)}.",
                f"the {table.noun} with the {most} {field.name} among those for which {condition}",
                _cells(chosen.things, chosen.given, given),
            )


def compare(table: Table) -> Found:
    """Ask by how much the total of an amount over one group of things is larger than over another one."""
    totals = list(_totals(table))
    yield from (one for one in totals if isinstance(one, Left))
    groups: dict[tuple[Field, Field], list[_Total]] = {}
    for total in totals:
        if isinstance(total, _Total):
            groups.setdefault((total.field, total.condition.field), []).append(total)
    pairs = (islice(combinations(group, 2), MOST_PAIRS) for group in groups.values())
    for pair in chain.from_iterable(pairs):
        more, less = sorted(pair, key=lambda one: -one.value)
        field, small = more.field, less.condition
        difference = float(f"{more.value - less.value:.12g}")
        if not difference:
            yield TIED
            continue
        text = (
            f"By how much{_in(field)} is the total {field.name} of all {table.nouns} for which"
            f" {more.condition} larger than that of those for which the {small.field.name} is {small.words}?"
        )
        yield Computed(
            "compare",
            _question_text(table, text),
            ((_number(field, difference),),),
            f"{_shown(field, difference)}: {_shown(field, more.value)} less {_shown(field, less.value)}.",
            f"the sum of {field.name} where {more.condition}, less that where {small}",
            tuple(dict.fromkeys((*more.cells, *less.cells))),
        )


def changed(table: Table) -> Found:
    """Ask for which things a field has changed since a year: by the latest document up to its end, and the
    latest of all."""
    years = sorted({date[:4] for thing in table.things for date in thing.documents if date})
    for field in table.question_fields:
        for year in years[:-1]:
            things: list[Thing] = []
            given: list[Given] = []
            doubtful = False
            for thing in table.things:
                now, then = table.given(thing, field), table.given(thing, field, until=year)
                if now is None or then is None or now == then:
                    continue
                doubtful |= not (now.settled and then.settled)
                if now.settled and then.settled and now.key != then.key:
                    things.append(thing)
                    given.append(Given((*then.cells, *now.cells)))
            if doubtful:
                yield DOUBTFUL
            elif 0 < len(things) <= MOST_NAMES:
                text = (
                    f"For which {table.nouns} has the {field.name} changed since {year}? Compare the latest"
                    f" document up to the end of {year} with the latest of all, and name all {table.nouns}."
                )
                statement = f"the {table.nouns} with another {field.name} now than at the end of {year}"
                yield _naming("changed", table, text, things, statement, given, in_order=False)


def contradiction(table: Table) -> Found:
    """Ask for which things two documents of the same date give different values of a field."""
    for field in table.question_fields:
        things: list[Thing] = []
        given: list[Given] = []
        doubtful = False
        for thing in table.things:
            for date in thing.documents:
                there = table.given(Thing(thing.name, {date: thing.documents[date]}, thing.naming), field)
                if there is None or len({cell.page[0] for cell in there.cells}) < 2:
                    continue
                doubtful |= any(cell.fact.check for cell in there.cells)
                if len({cell.key for cell in there.cells}) > 1 and thing not in things:
                    things.append(thing)
                    given.append(there)
        if doubtful:
            yield DOUBTFUL
        elif 0 < len(things) <= MOST_NAMES:
            same = f" with the same {table.fields[table.dated].name}" if table.dated else ""
            text = (
                f"For which {table.nouns} do documents{same} give different values for the {field.name}? Name"
                " all of them."
            )
            statement = f"the {table.nouns} whose documents{same} contradict one another in {field.name}"
            yield _naming("contradiction", table, text, things, statement, given, in_order=False)


RULES: dict[str, Callable[[Table], Found]] = {
    "count": count,
    "list": list_,
    "sum": sum_,
    "argmax": argmax,
    "compare": compare,
    "changed": changed,
    "contradiction": contradiction,
}
"""The rules by name, in the order of the categories of a question set."""


def _conditions(table: Table, names_only: bool = False) -> Iterator[Condition]:
    """Yield the conditions that can be asked about: each name that several things have, amounts of at least a
    quartile, and each year."""
    for field in table.question_fields:
        every = [given for _, given in table.column(field)]
        keys = [given.key for given in every if given.settled]
        if field.kind == "name":
            counts = Counter(keys)
            common = {key for key, _ in counts.most_common(MOST_CONDITIONS)}
            for key, number in counts.items():
                if key in common and 1 < number < len(every):
                    yield Condition(field, _spelling(table, field, key), partial(eq, key))
        elif names_only:
            continue
        elif field.kind == "date":
            for year in sorted({str(key)[:4] for key in keys}):
                yield Condition(field, f"in {year}", partial(_in_year, year))
        else:
            ordered = sorted({float(key) for key in keys})
            quarters = {ordered[int(part * len(ordered))] for part in _QUARTERS} if ordered else set()
            limits = table.limits.get(field.name, set())
            for least in sorted(quarters - set(ordered[:1]) | limits):  # all have the least
                words = f"at least {_shown(field, least)}"
                yield Condition(field, words, partial(_at_least, least))


def _in_year(year: str, key: Key) -> bool:
    """Whether a date is in a year."""
    return str(key).startswith(year)


def _at_least(least: float, key: Key) -> bool:
    """Whether an amount reaches a limit, which may have been converted from another unit."""
    return float(key) >= least - _NEAR * abs(least)


def _spelling(table: Table, field: Field, key: Key) -> str:
    """Return how the first document writes a name."""
    found = (cell for _, given in table.column(field) for cell in given.cells if cell.key == key)
    return next(found).fact.value


def _chosen(table: Table, condition: Condition) -> _Chosen | Left:
    """Return the things for which a condition holds, or why that is not certain."""
    things: list[Thing] = []
    every: list[Given] = []
    for thing, given in table.column(condition.field):
        holds = {condition.holds(cell.key) for cell in given.cells}
        if len(holds) > 1 or any(cell.fact.check for cell in given.cells):
            return DOUBTFUL
        if holds == {True}:
            things.append(thing)
            every.append(given)
    return _Chosen(tuple(things), tuple(every))


def _all_given(table: Table, field: Field, things: Sequence[Thing]) -> tuple[Given, ...] | Left:
    """Return the settled values of a field for things, or why there is not one for each."""
    found = [table.given(thing, field) for thing in things]
    given = tuple(one for one in found if one is not None)
    if len(given) < len(found):
        return NOT_GIVEN
    return given if all(one.settled for one in given) else DOUBTFUL


def _totals(table: Table) -> Iterator[_Total | Left]:
    """Yield the total of each field that adds up over the things for which a condition on a name holds, or
    why it is not certain."""
    for field in table.question_fields:
        if field.kind == "amount" and field.adds_up:
            for condition in _conditions(table, names_only=True):
                chosen = _chosen(table, condition)
                if isinstance(chosen, Left):
                    yield chosen
                elif isinstance(given := _all_given(table, field, chosen.things), Left):
                    yield given
                else:
                    value = float(f"{sum(float(one.key) for one in given):.12g}")
                    yield _Total(field, condition, chosen, value, given)


def _may_be(key: Key, other: Key) -> bool:
    """Whether one of two dates is less precise than the other, and may be the same day."""
    return isinstance(key, str) and (key.startswith(str(other)) or str(other).startswith(key))


def _question_text(table: Table, text: str, in_order: bool = True) -> str:
    """Return the text of a question, with a sentence that says which documents count where that is not
    plain."""
    if not (in_order and table.in_order):
        return text
    return (
        f"{text} Where several documents are about one {table.noun}, the latest that gives the value counts."
    )


def _naming(
    rule: str,
    table: Table,
    text: str,
    things: Sequence[Thing],
    statement: str,
    given: Sequence[Given],
    *,
    in_order: bool = True,
) -> Computed:
    """Return a question whose answer is the names of things."""
    answers: Answers = ((GoldList(list=tuple(thing.name for thing in things)),),)
    return Computed(
        rule,
        _question_text(table, text, in_order),
        answers,
        f"{_listed(things)}.",
        statement,
        _cells(things, given),
    )


def _cells(things: Sequence[Thing], *given: Sequence[Given]) -> tuple[Cell, ...]:
    """Return the cells that an answer rests on, each once: the values, and what names and dates their
    documents."""
    found: dict[Cell, None] = {}
    for every in given:
        for thing, one in zip(things, every, strict=True):
            for cell in one.cells:
                found |= dict.fromkeys((*thing.naming[cell.fact.document], cell))
    return tuple(found)


def _number(field: Field, value: float) -> GoldNumber:
    """Return an amount as a gold answer; one that was converted may be rounded."""
    return GoldNumber(
        number=int(value) if value == int(value) else value,
        unit=field.unit or None,
        tolerance=_CONVERTED if field.mixed else 0,
    )


def _in(field: Field) -> str:
    """Return the words for the unit of an amount."""
    return f", in {field.unit}," if field.unit else ""


def _shown(field: Field, key: Key) -> str:
    """Write a value with its unit."""
    return f"{key:,.12g} {field.unit}".strip() if isinstance(key, float) else str(key)


def _listed(things: Sequence[Thing]) -> str:
    """List the names of things."""
    return ", ".join(thing.name for thing in things) or "none"


def _parts(things: Sequence[Thing], given: Sequence[Given]) -> str:
    """List what each thing adds to a sum."""
    return ", ".join(
        f"{thing.name} {one.cells[0].fact.written}" for thing, one in zip(things, given, strict=True)
    )
