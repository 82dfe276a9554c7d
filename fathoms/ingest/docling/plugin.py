"""What Docling loads of fathoms by the entry point `docling`: a layout and a table model without hub weights.

Docling imports this module wherever both are installed, so it imports nothing before it is asked.
"""

from __future__ import annotations

from typing import Any


def layout_engines() -> dict[str, list[Any]]:
    """The layout models, as Docling's factory wants them."""
    from fathoms.ingest.docling.offline.layout import CdlaLayoutModel

    return {"layout_engines": [CdlaLayoutModel]}


def table_structure_engines() -> dict[str, list[Any]]:
    """The table models, as Docling's factory wants them."""
    from fathoms.ingest.docling.offline.tables import GeometricTableModel

    return {"table_structure_engines": [GeometricTableModel]}
