"""Reads the numbers of a text, in digits, English words and Chinese numerals, with their units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from fathoms.metrics.gold.units import Unit, meanings, unit_at
from fathoms.text.folding import LETTER, plain_digits, plain_letters
from fathoms.types import GoldNumber

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ONES = {word: float(value) for value, word in enumerate(_SMALL)} | {"a": 1.0, "an": 1.0}
_TEN = {word: 20.0 + 10 * index for index, word in enumerate(_TENS)} | {"fourty": 40.0}
_SCALES = {
    **{"dozen": 12.0, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12},
    **{"millions": 1e6, "billions": 1e9, "bn": 1e9, "mn": 1e6, "mio": 1e6},
    **{"lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7},
    **{"milliard": 1e9, "milliards": 1e9, "millón": 1e6, "millones": 1e6},
    **{"mil millones": 1e9, "billón": 1e12, "billones": 1e12},
    **{"الف": 1e3, "الاف": 1e3, "مليون": 1e6, "ملايين": 1e6, "مليار": 1e9, "تريليون": 1e12},
}
_PARTS = {
    **{"half": 0.5, "halves": 0.5, "third": 1 / 3, "thirds": 1 / 3, "quarter": 0.25, "quarters": 0.25},
    **{"fifths": 0.2, "tenths": 0.1},
}
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125, "⅜": 0.375, "⅝": 0.625}
# Chinese numerals: digits, units within a group of four digits, and units of such groups.
_HAN_DIGITS = {numeral: value for value, numeral in enumerate("〇一二三四五六七八九")}
_HAN_DIGITS |= {"零": 0, "两": 2, "兩": 2}
_HAN_TENS = {"十": 10.0, "百": 1e2, "千": 1e3}
_HAN_GROUPS = {"万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "兆": 1e12}
_HAN_SCALES = "".join((*_HAN_TENS, *_HAN_GROUPS))
_HAN_MARKS = "".join(_HAN_DIGITS) + _HAN_SCALES
_HAN = re.compile(
    rf"""(?P<share>百分之)?
    (?:(?<![\d.,])(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?[{_HAN_SCALES}][{_HAN_MARKS}\d]*
        |(?<=百分之)\d+(?:\.\d+)?|[{_HAN_MARKS}]+(?:[点點][{"".join(_HAN_DIGITS)}]+)?)
    (?!\d)""",
    re.VERBOSE,
)
_HAN_TOKEN = re.compile(rf"[\d,]+(?:\.\d+)?|[{''.join(_HAN_DIGITS)}]+|.")
# What is counted follows a single numeral; without it, 一 is mostly a part of a word (一般).
_COUNTED = re.compile(
    "[个個つ人名位件台只隻本部章节節种種次回条條年月日号號枚层層階步段项項组組类類倍点點岁歳家]"
)
_LETTERS = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "b": 1e9, "B": 1e9, "T": 1e12}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

# As `LETTER`, without the underscore.
_LETTER_OR_DIGIT = LETTER.replace(r"\W", r"\W_")
_GROUP = "[,.'’\u00a0\u2007\u2009\u202f]"  # noqa: RUF001
_DIGITS = re.compile(
    rf"""(?:(?P<sign>(?<![\w)\]%])[-−–]\s?|\b(?:minus|negative)\s+))?
    (?<!{_LETTER_OR_DIGIT})(?<!\d[.,/:])
    (?P<digits>\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?!\d)(?:\.\d+)?
        |\d{{1,3}}(?:(?P<group>{_GROUP})\d{{3}}(?:(?P=group)\d{{3}})*)(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?
        |(?<![\w.])[.]\d+)
    (?![.,]?\d)
    (?:(?P<power>[eE][-+]?\d{{1,3}}|\s?[×x*·]\s?10(?:\s?(?:\^|\*\*)\s?[-−+]?\d{{1,3}}|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})
        |(?<=(?<![\w.,])10)(?:\^\s?[-−+]?\d{{1,3}}|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})))?
    (?:(?P<part>\s?[½¼¾⅓⅔⅛⅜⅝]|\s\d{{1,3}}/\d{{1,3}}(?![/\d])|/\d{{1,4}}(?![/\d])|\s+and\s+(?:a|one)[\s-](?:half|quarter)\b))?
    """,  # noqa: RUF001
    re.VERBOSE,
)
_BARE_POWER = "^⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹"
"""What a power of ten without a factor begins with, after its 10."""
_LAKHS = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}")
_SPACED = re.compile(r"(?<![\w.,/:-])(?<![\d.,] )[1-9]\d{0,2}(?: \d{3})+(?:\.\d+)?(?![\w,.]?\d)(?! \d)")
_MOST_WORDS = 100
"""The most words of one number; a longer run of them is read in pieces, which keeps it linear."""
_NEAR = 20
"""The most white space between a number and its fraction."""
_ALONE = re.compile("[½¼¾⅓⅔⅛⅜⅝]")
_FIRST = "|".join(sorted([*_SMALL, *_TEN, *_PARTS], key=len, reverse=True))
_NEXT = f"{_FIRST}|dozen|hundred|thousand|million|billion|trillion"
_LETTER = re.compile(LETTER)
_GAP = r"(?:[ \t\n\u00a0]+|-)"
_WORDS = re.compile(
    rf"\b(?:(?:minus|negative)\s+)?"
    rf"(?:an?{_GAP}(?:dozen|hundred|thousand|million|billion|half|third|quarter)|{_FIRST})\b"
    rf"(?:{_GAP}(?:and{_GAP}(?:an?{_GAP}(?=half|quarter|third))?|point{_GAP})?(?:{_NEXT})\b)*",
    re.IGNORECASE,
)
_SCALE = re.compile(rf"[\s-]?({'|'.join(sorted(_SCALES, key=len, reverse=True))})\b", re.IGNORECASE)
# 41.5-metre, **41.5** m, 41.5 (m), 2 millions d'euros, 2 millones de euros
_BEFORE_UNIT = re.compile(r"[*_]{0,3}(?:\s(?:de\s|d['’])|\s?\((?=[^()\s]{1,12}\))|[\s-]?)(?=\S)")  # noqa: RUF001
_CURRENCY = re.compile(r"(?:US\$|[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR))\s?\Z")
_BETWEEN = re.compile(r"(?:,?\s*(?:and\s+)?)")


class Quantity(NamedTuple):
    """A number in a text: the place of the number (`start` to `number_end`) and of the number with its unit
    (to `end`), its possible values, and the units that its unit can mean."""

    start: int
    number_end: int
    end: int
    values: tuple[float, ...]
    units: tuple[Unit, ...]


def number_places(gold: GoldNumber, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of a gold number in a text as written, from left to right."""
    wanted = meanings(gold.unit) if gold.unit else ()
    margin = gold.margin + 1e-9 * abs(gold.number)
    following = _following(gold.unit) if gold.unit and not wanted else None
    for one in quantities(text, gold.decimal):
        after = following.match(text, one.number_end) if following else None
        if following and not after:
            continue
        values: Sequence[float] = (
            [
                (value * unit.factor + unit.offset - target.offset) / target.factor
                for target in wanted
                for unit in one.units
                if unit.dimension == target.dimension
                for value in one.values
            ]
            if wanted
            else one.values
        )
        if any(abs(value - gold.number) <= margin for value in values):
            yield one.start, after.end() if after else one.end if wanted else one.number_end


def _following(unit: str) -> re.Pattern[str]:
    """Return the pattern of an unknown unit after a number, in the singular and the plural."""
    words = r"[\s-]+".join(re.escape(word) for word in unit.removesuffix("s").split())
    return re.compile(rf"[\s-]*{words}s?(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=256)
def quantities(text: str, decimal: str = "point") -> tuple[Quantity, ...]:
    """Return the numbers of a text, from left to right; `2 hours and 30 minutes` gives three."""
    han: list[Quantity] = []
    if not text.isascii():
        text = plain_letters(plain_digits(text))
        han += _in_han(text)
    within = {place for one in han for place in range(one.start, one.number_end)}
    digits = (one for one in _in_digits(text, decimal) if one.start not in within)
    found = sorted([*han, *digits, *_in_words(text)])
    sums = []
    for first, second in pairwise(found):
        same = {unit.dimension for unit in first.units} & {unit.dimension for unit in second.units}
        if same & {"time", "length", "mass"} and _BETWEEN.fullmatch(text, first.end, second.start):
            big, small = (
                next(unit for unit in one.units if unit.dimension in same) for one in (first, second)
            )
            if small.factor < big.factor and small.dimension == big.dimension:
                value = first.values[0] + second.values[0] * small.factor / big.factor
                sums.append(Quantity(first.start, second.end, second.end, (value,), (big,)))
    return tuple(sorted([*found, *sums]))


def _in_digits(text: str, decimal: str) -> Iterator[Quantity]:
    """Yield the numbers in digits."""
    for match in _DIGITS.finditer(text):
        digits = match["digits"]
        value = _value(digits.replace(",", "") if _LAKHS.match(digits) else digits, match["group"], decimal)
        if match["power"]:
            exponent = re.sub(r"^\s?[×x*·]\s?10\s?(?:\^|\*\*)?\s?|^[eE^]\s?", "", match["power"])  # noqa: RUF001
            value = 1 if match["power"][0] in _BARE_POWER else value
            value *= float("1e" + str(int(exponent.translate(_SUPERSCRIPTS).replace("−", "-"))))  # noqa: RUF001
        if part := (match["part"] or "").strip():
            value = _with_part(value, match["part"], part)
        yield from _quantity(text, match.start(), match.end(), -value if match["sign"] else value)
    for match in _SPACED.finditer(text):  # "12 300" is two numbers, or one
        value = float(match[0].replace(" ", ""))
        yield from _quantity(text, match.start(), match.end(), value)
    for match in _ALONE.finditer(text):
        if not text[max(0, match.start() - _NEAR) : match.start()].rstrip()[-1:].isdigit():
            yield from _quantity(text, match.start(), match.end(), _FRACTIONS[match[0]])


def _value(digits: str, group: str | None, decimal: str) -> float:
    """Convert digits with separators; a mark before exactly three digits is read by `decimal`."""
    mark = "," if decimal == "comma" else "."
    if group and digits.count(group) == 1 and len(digits.partition(group)[2]) == 3:
        if group == mark or (group in ",." and digits.startswith("0")):
            return float(digits.replace(",", "."))
        return float(digits.replace(group, ""))
    if group:
        digits = digits.replace(group, "")
    return float(digits.replace(",", "."))


def _with_part(value: float, written: str, part: str) -> float:
    """Add the fraction that follows a number; `3/4` divides it."""
    if part in _FRACTIONS:
        return value + _FRACTIONS[part]
    if "/" in part:
        above, _, below = part.partition("/")
        if not float(below):
            return value
        return value / float(below) if written.startswith("/") else value + float(above) / float(below)
    return value + (0.5 if part.lower().endswith("half") else 0.25)


def _in_han(text: str) -> Iterator[Quantity]:
    """Yield the numbers in Chinese numerals, also those mixed with digits: 3万5千."""
    for match in _HAN.finditer(text):
        start, end = match.span()
        value = _han_value(match[0].removeprefix("百分之"))
        if match["share"]:
            yield Quantity(start, end, end, (value,), meanings("%"))
        elif end - start > 1 or _COUNTED.match(text, end) or unit_at(text, end) > end:
            yield from _quantity(text, start, end, value)


def _han_value(written: str) -> float:
    """Convert a number of digits and Chinese numerals."""
    whole, _, decimals = written.replace("點", "点").partition("点")
    total = group = 0.0
    last: float | None = None
    for token in _HAN_TOKEN.findall(whole):
        if token in _HAN_TENS:
            group, last = group + (1.0 if last is None else last) * _HAN_TENS[token], None
        elif token in _HAN_GROUPS:
            total, group, last = total + (group + (last or 0.0) or 1.0) * _HAN_GROUPS[token], 0.0, None
        else:
            last = float("".join(str(_HAN_DIGITS.get(digit, digit)) for digit in token.replace(",", "")))
    value = total + group + (last or 0.0)
    return value + float("0." + "".join(str(_HAN_DIGITS[digit]) for digit in decimals)) if decimals else value


def _in_words(text: str) -> Iterator[Quantity]:
    """Yield the numbers in words."""
    for match in _WORDS.finditer(text):
        tokens = [
            (word[0].lower(), match.start() + word.start(), match.start() + word.end())
            for word in re.finditer(r"[a-zA-Z]+", match[0])
        ]
        at = 0
        while at < len(tokens):
            used, value = _spoken([word for word, _, _ in tokens[at : at + _MOST_WORDS]])
            start, end = tokens[at][1], tokens[at + used - 1][2]
            if value is not None:
                yield from _quantity(text, start, end, value)
            at += used


def _spoken(words: list[str]) -> tuple[int, float | None]:
    """Return how many of the words form one number, at least one word, and its value."""
    total, current, at, said = 0.0, 0.0, 0, False
    least = float("inf")  # what may still follow must be smaller: "twenty one" is 21, "one twenty" is not
    sign = 1.0
    if words[0] in ("minus", "negative"):
        sign, at = -1.0, 1
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if word == "and" and said:
            if following in ("a", "an", "one") and at + 2 < len(words) and words[at + 2] in _PARTS:
                return at + 3, sign * (total + current + _PARTS[words[at + 2]])
            if following not in _ONES and following not in _TEN:
                break
            if least > 100 and current < 100:
                break  # "five and six" are two numbers
            at += 1
            continue
        if word == "point" and said:
            digits = ""
            at += 1
            while at < len(words) and _ONES.get(words[at], 10) < 10 and words[at] not in ("a", "an"):
                digits, at = digits + str(int(_ONES[words[at]])), at + 1
            return max(at, 1), sign * float(f"{total + current:.0f}.{digits or 0}")
        if word in _PARTS:
            value = (total + current if said else 1.0) * _PARTS[word]
            return at + 1, sign * value
        if word in _ONES and _ONES[word] < least and (_ONES[word] < 10 or least > 20):
            current, least = current + _ONES[word], 1.0 if _ONES[word] else 0.0
        elif word in _TEN and least > 20:
            current, least = current + _TEN[word], 10.0
        elif word in ("hundred", "dozen") and current < 100 and least <= 100:
            current, least = max(current, 1.0) * _SCALES[word], 100.0
        elif word in _SCALES and word not in ("hundred", "dozen"):
            total, current, least = total + max(current, 1.0) * _SCALES[word], 0.0, float("inf")
        elif word in ("hundred", "dozen") and not said:
            current, least = _SCALES[word], 100.0
        else:
            break
        said, at = True, at + 1
    if words[at - 1] == "and":
        at -= 1
    return max(at, 1), sign * (total + current) if said else None


def _quantity(text: str, start: int, end: int, value: float) -> Iterator[Quantity]:
    """Yield the quantity of a number, with the unit before or after it, or nothing for a part of a word."""
    values: tuple[float, ...] = (value,)
    number_end = end
    letter = text[end : end + 1]
    if scale := _SCALE.match(text, end):
        values, number_end = (value * _SCALES[scale[1].lower()],), scale.end()
    elif letter in _LETTERS and not text[end + 1 : end + 2].isalnum():
        values = (value, value * _LETTERS[letter])
    gap = _BEFORE_UNIT.match(text, number_end)
    at = gap.end() if gap else number_end
    unit_end = unit_at(text, at)
    units = meanings(text[at:unit_end]) if unit_end > at else ()
    if len(values) > 1:
        after = end + 1 + (text[end + 1 : end + 2] == " ")
        scaled_end = unit_at(text, after)
        if scaled_end > after:
            units, unit_end = units + meanings(text[after:scaled_end]), scaled_end
        number_end = end + 1
    elif letter.isalpha() and _LETTER.match(letter) and not units and number_end == end:
        return
    if before := _CURRENCY.search(text[max(0, start - 5) : start]):
        units += meanings(before[0].strip())
        start -= len(before[0])
    yield Quantity(start, number_end, max(unit_end if units else number_end, number_end), values, units)
