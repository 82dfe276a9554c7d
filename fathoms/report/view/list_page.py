"""The page with the list of runs, for `fathoms view` and for a site of static files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.config import VERSION
from fathoms.report.html.assembling import PAGE, assemble
from fathoms.report.html.texts import clean

SCRIPTS = (PAGE / "10-dom.js", Path(__file__).with_name("page") / "list.js")


def list_page(rows: Sequence[dict[str, Any]], title: str, *, connect: bool = False, **more: Any) -> str:
    """Return the page with a list of runs, as `folder.shown` has them. With `connect` it asks its server for
    changes; `more` is for the script."""
    overview = {
        "title": f"fathoms: {title}",
        "version": f"fathoms {VERSION}",
        "served": connect,
        "runs": list(rows),
        **more,
    }
    return assemble(clean(overview), [], scripts=SCRIPTS, connect=connect)
