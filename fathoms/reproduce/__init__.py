"""Published tables, cell by cell: what was printed beside what comes out here.

A table is one YAML file (`tables/<paper>/<table>.yaml`): its cells, which result files and configurations its
rows are, and the differences that are known. Its figures come from the files that its authors released, or
from running the pipelines.
"""

from __future__ import annotations

from fathoms.reproduce.beside import Cell, Comparison, RowCells, Status, compare
from fathoms.reproduce.figures import Figures, figures_of
from fathoms.reproduce.live import run_rows
from fathoms.reproduce.released import find_results, released_figures
from fathoms.reproduce.tables import Table, TableRow, load_table, table_names

__all__ = [
    "Cell",
    "Comparison",
    "Figures",
    "RowCells",
    "Status",
    "Table",
    "TableRow",
    "compare",
    "figures_of",
    "find_results",
    "load_table",
    "released_figures",
    "run_rows",
    "table_names",
]
