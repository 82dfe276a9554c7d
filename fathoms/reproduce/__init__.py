"""Reproduce published tables: compare each printed cell with the figure that fathoms computes.

A table is one YAML file (`tables/<paper>/<table>.yaml`). It holds the printed cells, the result files and the
configurations of its rows, and the known differences. The figures come from the result files or judgements
that the authors released, or from running the pipelines.
"""

from __future__ import annotations

from fathoms.reproduce.agreement import Agreed, agreement_figures
from fathoms.reproduce.beside import Cell, Comparison, RowCells, Status, compare
from fathoms.reproduce.figures import Figures, figures_of
from fathoms.reproduce.live import run_rows
from fathoms.reproduce.released import find_results, released_figures
from fathoms.reproduce.tables import AgreementTable, QuotesTable, Table, TableRow, load_table, table_names

__all__ = [
    "Agreed",
    "AgreementTable",
    "Cell",
    "Comparison",
    "Figures",
    "QuotesTable",
    "RowCells",
    "Status",
    "Table",
    "TableRow",
    "agreement_figures",
    "compare",
    "figures_of",
    "find_results",
    "load_table",
    "released_figures",
    "run_rows",
    "table_names",
]
