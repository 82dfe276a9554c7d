"""Reads the dates of a text, in numeric notations, English, French, Spanish, Arabic, Chinese and Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache
from typing import NamedTuple

from fathoms.text.folding import LETTER, plain_digits, plain_letters
from fathoms.types import GoldDate

# Names of the months, as they are after `plain_letters`; in Arabic those of Egypt, the Levant and Algeria.
_MONTH_NAMES = (
    "january jan januar enero ene janvier janv يناير جانفي كانون_الثاني",
    "february feb februar febrero février févr fevrier فبراير فيفري شباط",
    "march mar marz maerz marzo mars مارس اذار",
    "april apr abril abr avril avr ابريل افريل نيسان",
    "may mayo mai مايو ماي ايار",
    "june jun juni junio juin يونيو يونيه جوان حزيران",
    "july jul juli julio juillet juil يوليو يوليه جويليه تموز",
    "august aug agosto ago août aout اغسطس اوت اب",
    "september sept sep septiembre setiembre septembre سبتمبر ايلول",
    "october oct oktober okt octubre octobre اكتوبر تشرين_الاول",
    "november nov noviembre novembre نوفمبر تشرين_الثاني",
    "december dec dezember dez diciembre dic décembre déc decembre ديسمبر كانون_الاول",
)
_MONTHS = {
    name.replace("_", " "): number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()
}
_BEGIN = rf"(?<!{LETTER})(?<![/.-])"
_DIGIT = rf"(?=\d){_BEGIN}"
_NAME = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.?º|\.(?=\s))?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_OF = r"(?:(?:of|del?)\s+)?"
_HAN = "〇零一二三四五六七八九十"
_COUNT = rf"\d{{1,2}}|[{_HAN}]{{1,3}}"
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民国": 1911, "民國": 1911}


@cache
def _notations() -> tuple[re.Pattern[str], ...]:
    """The notations of dates, that with 年 first. They are compiled when they are first needed, because that
    takes longer than importing the rest of the metrics."""
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"{_BEGIN}(?:(?P<era>{'|'.join(_ERAS)})\s?(?P<year>{_COUNT}|元)"
            rf"|(?<!\d)(?P<full_year>\d{{4}}|[{_HAN}]{{4}}))\s?年"
            rf"(?:\s?(?P<month>{_COUNT})\s?月(?:\s?(?P<day>{_COUNT})\s?[日号號])?)?",
            rf"{_DIGIT}{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)",
            rf"{_DIGIT}{_YEAR}/(?P<month>\d\d?)/(?P<day>\d\d?)(?![\d/])",
            rf"{_DIGIT}{_DAY}[\s-]{_OF}{_NAME},?[\s-]{_OF}{_YEAR}",
            rf"{_BEGIN}{_NAME}\s+(?:the\s+)?{_DAY},?\s+{_YEAR}",
            _DIGIT
            + r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)(?!\d)",
            rf"{_DIGIT}{_DAY}[\s-]{_NAME}[\s-]['’]?(?P<year>\d\d)(?![\w.,:/-]*\d)(?!\s[a-z])",  # noqa: RUF001
            rf"{_BEGIN}(?!(?-i:Mars)){_NAME},?\s+{_OF}{_YEAR}",  # Mars 2020 is not a month
            rf"{_DIGIT}{_YEAR}-(?P<month>\d\d)(?![\d-])",
            rf"{_DIGIT}(?P<month>\d\d?)/{_YEAR}(?![/\d])",
            _DIGIT + _YEAR + r"(?![.,]\d)",
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
    if not text.isascii():
        text = plain_letters(plain_digits(text))
    notations = _notations()
    for notation in notations if "年" in text else notations[1:]:
        for match in notation.finditer(text):
            year = _year(match)
            readings = tuple(_readings(match, year))
            if readings and taken.isdisjoint(range(*match.span())):
                found.append(Dated(match.start(), match.end(), year, readings))
                taken.update(range(*match.span()))
    return tuple(sorted(found))


def _year(match: re.Match[str]) -> int:
    """Return the year of a date, which can be counted from the beginning of an era."""
    parts = match.groupdict()
    if parts.get("full_year"):
        return _number(parts["full_year"])
    return _number(parts["year"]) + _ERAS.get(parts.get("era") or "", 0)


def _number(digits: str) -> int:
    """Convert a number in digits or in Chinese numerals, which are digits or those up to 99."""
    if digits.isdecimal():
        return int(digits)
    if digits == "元":  # the first year of an era
        return 1
    tens, ten, ones = digits.rpartition("十")
    if ten:
        return 10 * (_number(tens) if tens else 1) + (_number(ones) if ones else 0)
    return int("".join(str(max(0, _HAN.index(digit) - 1)) for digit in digits))


def _readings(match: re.Match[str], year: int) -> Iterator[tuple[str | None, int | None, int | None]]:
    """Yield the order of the numbers, the month and the day, for each order that gives a date."""
    parts = match.groupdict()
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        for order, month, day in (("dmy", second, first), ("mdy", first, second)):
            if parts["mark"] != "." or order == "dmy":
                yield from ((order, month, day) for _ in _existing(year, month, day))
        return
    name, day_text = parts.get("month"), parts.get("day")
    month_number = None if name is None else _MONTHS.get(name.lower()) or _number(name)
    day_number = None if day_text is None else _number(day_text)
    for _ in _existing(year, month_number or 1, day_number or 1):
        yield None, month_number, day_number


def _existing(year: int, month: int, day: int) -> Iterator[date]:
    """Yield the date if it exists."""
    try:
        yield date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        return
