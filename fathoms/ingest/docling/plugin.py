"""The plugin that Docling loads through its entry point: a layout and a table model without hub weights.

Docling imports this module wherever fathoms is installed too, so the models are imported only on demand. They
come with an extra; where that was deleted, the plugin offers nothing.
"""

from __future__ import annotations

from typing import Any

from fathoms import hooks
from fathoms.ingest.docling.options import CdlaLayout, GeometricTables


def layout_engines() -> dict[str, list[Any]]:
    """Return the layout models in the form that Docling's plugin factory expects."""
    return {"layout_engines": _models(CdlaLayout.provided_as)}


def table_structure_engines() -> dict[str, list[Any]]:
    """Return the table models in the form that Docling's plugin factory expects."""
    return {"table_structure_engines": _models(GeometricTables.provided_as)}


def _models(name: str) -> list[Any]:
    """Return the model that the extra provides under a name, if it is there."""
    model = hooks.provided(name)
    return [] if model is None else [model]
