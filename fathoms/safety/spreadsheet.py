"""Lines of CSV files (RFC 4180), without the texts that a spreadsheet would run as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import lru_cache

from fathoms.safety.plain import plain

FORMULA = tuple("=+-@＝＋－＠")  # noqa: RUF001 - the wide forms start a formula too
FULL = 32_767
"""The largest number of characters that a spreadsheet cell can hold."""


def harmless(text: str) -> str:
    """Prefix text that a spreadsheet would take for a formula, after white space too, with `'`."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


def cell(value: object) -> object:
    """Convert a value for the CSV file: booleans to 1 or 0, text to one line that is harmless."""
    if isinstance(value, bool):
        return int(value)
    return _text(value) if isinstance(value, str) else value


def csv_line(values: Iterable[object], numbers: Iterable[float | None] = ()) -> str:
    """Return some values, converted by `cell`, and then some numbers as one line that ends in CR LF; `None`
    is an empty cell."""
    return str(_WRITER.writerow([*[one if one is None else cell(one) for one in values], *numbers]))


@lru_cache(maxsize=256)
def _text(text: str) -> str:
    """Convert a text for the CSV file; cached, because most lines share their names."""
    return harmless(plain(text))[:FULL]


class _Returned:
    """A file whose writer returns each line."""

    def write(self, line: str) -> str:
        return line


_WRITER = csv.writer(_Returned())
