"""Tables as spreadsheet programs write them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def write_cells(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """Write rows of cells as CSV, TSV or .xlsx, by the name of the file; `None` is an empty cell."""
    if path.suffix == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)
    return path
