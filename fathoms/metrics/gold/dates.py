"""Reads the dates of a text, in English and numeric notations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from fathoms.types import GoldDate

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_NAME = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|" + "|".join(_MONTHS) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_NOTATIONS = tuple(
    re.compile(rf"(?<![\w/.-]){pattern}", re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)",
        rf"{_YEAR}/(?P<month>\d\d?)/(?P<day>\d\d?)(?![\d/])",
        rf"{_DAY}[\s-](?:of\s+)?{_NAME},?[\s-]{_YEAR}",
        rf"{_NAME}\s+(?:the\s+)?{_DAY},?\s+{_YEAR}",
        r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)(?!\d)",
        rf"{_NAME},?\s+(?:of\s+)?{_YEAR}",
        rf"{_YEAR}-(?P<month>\d\d)(?![\d-])",
        _YEAR + r"(?![.,]\d)",
    )
)


class Dated(NamedTuple):
    """A date in a text: its place, its year, and its possible months and days by the order of the numbers
    (`None` where the order is certain); the month and the day are `None` where they are not given."""

    start: int
    end: int
    year: int
    readings: tuple[tuple[str | None, int | None, int | None], ...]


def date_places(gold: GoldDate, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of a gold date in a text as written, from left to right."""
    year, month, day = (*map(int, gold.date.split("-")), None, None)[:3]
    for one in dates(text):
        # A year of two digits can be that of any century.
        if one.year != (year if one.year > 99 else (year or 0) % 100):
            continue
        for order, its_month, its_day in one.readings:
            fits = (month is None or month == its_month) and (day is None or day == its_day)
            if fits and (gold.order is None or order in (None, gold.order)):
                yield one.start, one.end
                break


@lru_cache(maxsize=256)
def dates(text: str) -> tuple[Dated, ...]:
    """Return the dates of a text, from left to right; the first notation that fits a place is taken."""
    found: list[Dated] = []
    taken: set[int] = set()
    for notation in _NOTATIONS:
        for match in notation.finditer(text):
            readings = tuple(_readings(match))
            if readings and taken.isdisjoint(range(*match.span())):
                found.append(Dated(match.start(), match.end(), int(match["year"]), readings))
                taken.update(range(*match.span()))
    return tuple(sorted(found))


def _readings(match: re.Match[str]) -> Iterator[tuple[str | None, int | None, int | None]]:
    """Yield the order of the numbers, the month and the day, for each order that gives a date."""
    parts = match.groupdict()
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        for order, month, day in (("dmy", second, first), ("mdy", first, second)):
            if parts["mark"] != "." or order == "dmy":
                yield from ((order, month, day) for _ in _existing(int(parts["year"]), month, day))
        return
    name, day_text = parts.get("month"), parts.get("day")
    month_number = None if name is None else int(name) if name.isdigit() else _month(name)
    day_number = None if day_text is None else int(day_text)
    for _ in _existing(int(parts["year"]), month_number or 1, day_number or 1):
        yield None, month_number, day_number


def _month(name: str) -> int:
    """Return the number of a month by its name or the beginning of it."""
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _existing(year: int, month: int, day: int) -> Iterator[date]:
    """Yield the date if it exists."""
    try:
        yield date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        return
