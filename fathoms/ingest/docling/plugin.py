"""The plugin that Docling loads through its entry point: a layout and a table model without hub weights.

Docling imports this module wherever fathoms is installed too, so the models are imported only on demand.
"""

from __future__ import annotations

from typing import Any


def layout_engines() -> dict[str, list[Any]]:
    """Return the layout models in the form that Docling's plugin factory expects."""
    from fathoms.ingest.docling.offline.layout import CdlaLayoutModel

    return {"layout_engines": [CdlaLayoutModel]}


def table_structure_engines() -> dict[str, list[Any]]:
    """Return the table models in the form that Docling's plugin factory expects."""
    from fathoms.ingest.docling.offline.tables import GeometricTableModel

    return {"table_structure_engines": [GeometricTableModel]}
