"""Reads the rows of a workbook (.xlsx), with each cell as the text that people see in it.

Numbers have no more than 15 digits and no `.0`, percentages are those of the cell's format, and days are in
ISO 8601. A formula is the value that the spreadsheet program stored. The first sheet is read.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathoms.corpora.released import Notes
from fathoms.errors import DataError, FathomsError, MissingExtraError
from fathoms.safety.inputs import read_file

SUFFIX = ".xlsx"
_LARGEST = 16 * 2**20
_LARGEST_UNPACKED = 64 * 2**20
_MOST_CELLS = 1_000_000
"""At most so many cells are read: a sheet can have far more cells than its file has bytes."""


def workbook_rows(path: Path, notes: Notes) -> list[tuple[int, list[str]]]:
    """Return the rows of the first sheet that are not empty, each with its number and as many cells as the
    first one. Raises DataError if it cannot be read, and MissingExtraError without openpyxl."""
    rows: list[tuple[int, list[str]]] = []
    for number, cells in _rows(path, notes):
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            width = len(rows[0][1]) if rows else 0
            rows.append((number, cells + [""] * (width - len(cells))))
    return rows


def _rows(path: Path, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield every row of the first sheet with its number."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("openpyxl", "xlsx", f"{path.name}, a workbook,") from error
    import warnings

    data = read_file(path, _LARGEST)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(one.file_size for one in archive.infolist())
        if size > _LARGEST_UNPACKED:
            raise DataError(
                f"{path}: unpacked, it has {size // 2**20} MB, and {_LARGEST_UNPACKED // 2**20} are read"
            )
        with warnings.catch_warnings(action="ignore"):  # about parts that are no cells
            books = [
                openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=only, keep_links=False)
                for only in (True, False)
            ]
            sheet, written = (book.worksheets[0] for book in books)
            for other in books[0].sheetnames[1:]:
                notes.add(f"sheets left out: '{other[:80]}'", f"{path}:1")
            sheet.reset_dimensions()  # a sheet says of itself what it likes
            written.reset_dimensions()
            count = 0
            pairs = zip(sheet.iter_rows(), written.iter_rows(), strict=True)
            for number, (cells, formulas) in enumerate(pairs, start=1):
                count += len(cells) + 1
                if count > _MOST_CELLS:
                    raise DataError(f"{path}: its first sheet has more than {_MOST_CELLS} cells")
                place = f"{path}:{number}"
                if any(
                    one.value is None and two.value is not None
                    for one, two in zip(cells, formulas, strict=True)
                ):
                    notes.add(
                        "formulas without a stored value, read as empty: save the file in a spreadsheet"
                        " program",
                        place,
                    )
                yield number, [_text(cell, place, notes) for cell in cells]
    except FathomsError:
        raise
    except zipfile.BadZipFile as error:
        raise DataError(f"{path}: this is no workbook, or one with a password") from error
    except Exception as error:  # openpyxl raises whatever comes of a damaged file
        raise DataError(f"{path}: cannot be read as a workbook: {type(error).__name__}: {error}") from error


def _text(cell: Any, place: str, notes: Notes) -> str:
    """Return the text that people see in a cell; nothing for an error such as `#N/A`."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        notes.add(f"cells with an error such as {value}, read as empty", place)
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        percent = "%" in (cell.number_format or "")
        return (
            f"{value * 100:.15g}%" if percent else str(value) if isinstance(value, int) else f"{value:.15g}"
        )
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ") if value.time() != datetime.time() else value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
