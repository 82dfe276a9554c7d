"""Reads the values of a field of the table of facts as amounts in one unit, as dates, or as names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from fathoms.metrics.gold.dates import dates
from fathoms.metrics.gold.numbers import quantities
from fathoms.metrics.gold.units import Unit, meanings
from fathoms.text.folding import fold_plain

Kind = Literal["amount", "date", "name"]
Key = float | str
"""A value that equals another one if it says the same: a number in the unit of its field, a date such as
2024-03-15, or a folded name."""


class Field(NamedTuple):
    """A field of the table: what its values are, the unit in which its amounts are counted, and whether they
    were written in several units. `adds_up` is false for temperatures and percentages."""

    name: str
    kind: Kind
    unit: str = ""
    mixed: bool = False
    adds_up: bool = True


class Read(NamedTuple):
    """A field as it was read: its values, and what is wrong with some of them, by their numbers."""

    field: Field
    keys: list[Key]
    wrong: dict[int, str]


class _Amount(NamedTuple):
    value: float
    unit: str
    units: tuple[Unit, ...]


def read_field(name: str, written: Sequence[tuple[str, str]]) -> Read:
    """Read the values of a field, given as texts with their units. It is of amounts if one has a unit of its
    own, and else of dates, or of amounts, if at least half of its values are."""
    if not any(unit for _, unit in written):
        days = [_date(text) for text, _ in written]
        if 2 * sum(day is not None for day in days) >= len(written):
            wrong = {
                at: f"'{written[at][0]}' is not one date, as other values of '{name}' are: write it as"
                " 2024-03-15, or leave the row out"
                for at, day in enumerate(days)
                if day is None
            }
            return Read(Field(name, "date"), [day or "" for day in days], wrong)
    amounts = [_amount(text, unit) for text, unit in written]
    if any(unit for _, unit in written) or 2 * sum(one is not None for one in amounts) >= len(written):
        return _amounts(name, written, amounts)
    return Read(Field(name, "name"), [fold_plain(text, hyphens=True) for text, _ in written], {})


def _date(text: str) -> str | None:
    """Return a text that is one date as 2024-03-15, 2024-03 or 2024; `None` for `03/04/2024`, which can be
    two. Four digits are a year from 1500 to 2100."""
    found = dates(text.strip())
    if len(found) != 1 or (found[0].start, found[0].end) != (0, len(text.strip())) or found[0].year < 100:
        return None
    readings = {(month, day) for _, month, day in found[0].readings}
    if len(readings) > 1 or (text.strip().isdecimal() and not 1500 <= found[0].year <= 2100):
        return None
    return "-".join(f"{part:02}" for part in (found[0].year, *readings.pop()) if part is not None)


def _amount(text: str, unit: str) -> _Amount | None:
    """Return a text that is one number, with its own unit or the one of its row; `None` for any other."""
    text = text.strip()
    for one in quantities(text):
        if one.start or len(one.values) > 1 or one.end < len(text):
            continue
        if one.units:
            own = text[one.number_end :].strip(" -()") or text.rstrip("0123456789.,' ")
            return _Amount(one.values[0], own, one.units)
        return _Amount(one.values[0], unit, meanings(unit) if unit else ())
    return None


def _amounts(name: str, written: Sequence[tuple[str, str]], amounts: Sequence[_Amount | None]) -> Read:
    """Convert the amounts of a field to the unit that most of them have."""
    units = Counter(amount.unit for amount in amounts if amount)
    common = max(units, key=units.__getitem__, default="")
    targets = meanings(common) if common else ()
    keys = [None if amount is None else _converted(amount, common, targets) for amount in amounts]
    unit = f" in a unit that can be converted to '{common}'" if common else " without a unit"
    wrong = {
        at: f"'{' '.join(filter(None, written[at]))}' is not one number{unit}, as other values of '{name}'"
        " are: write it so, or leave the row out"
        for at, key in enumerate(keys)
        if key is None
    }
    adds_up = not any(one.offset or one.dimension == "share" for one in targets)
    field = Field(name, "amount", common, len(units) > 1, adds_up)
    return Read(field, [0.0 if key is None else key for key in keys], wrong)


def _converted(amount: _Amount, common: str, targets: Sequence[Unit]) -> float | None:
    """Return an amount in the common unit, without the noise of the conversion; `None` if there is no way."""
    unknown = not amount.units and not targets
    if amount.unit == common or (unknown and amount.unit.removesuffix("s") == common.removesuffix("s")):
        return amount.value
    for target in targets:
        for unit in amount.units:
            if unit.dimension == target.dimension:
                value = (amount.value * unit.factor + unit.offset - target.offset) / target.factor
                return float(f"{value:.12g}")
    return None
