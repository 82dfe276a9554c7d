"""The pages with the list of runs and with trends, for `fathoms view` and for a site of static files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms import __version__
from fathoms.report.html.assembling import PAGE, assemble
from fathoms.report.html.claims import cost_of
from fathoms.report.html.overview import printed
from fathoms.report.html.texts import clean
from fathoms.report.trends import Trend

_OWN = Path(__file__).with_name("page")
SCRIPTS = (PAGE / "10-dom.js", PAGE / "35-lists.js", _OWN / "list.js")
OF_TRENDS = (PAGE / "10-dom.js", PAGE / "12-amounts.js", PAGE / "40-svg.js", _OWN / "trends.js")


def list_page(rows: Sequence[dict[str, Any]], title: str, *, connect: bool = False, **more: Any) -> str:
    """Return the page with a list of runs, as `folder.shown` has them. With `connect` it asks its server for
    changes; `more` is for the script."""
    overview = {
        "title": f"fathoms: {title}",
        "version": f"fathoms {__version__}",
        "served": connect,
        "runs": list(rows),
        **more,
    }
    return assemble(clean(overview), [], scripts=SCRIPTS, connect=connect)


def trends_page(
    title: str,
    trends: Sequence[Trend],
    names: Sequence[str] = (),
    why: str | None = None,
    *,
    served: bool = True,
) -> str:
    """Return the page with the figures of pipelines over their nights. A page that is served leads to those
    of other `names` and metrics; `why` says why there is nothing to show."""
    overview = {
        "title": f"fathoms: {title}",
        "version": f"fathoms {__version__}",
        "served": served,
        "home": "../" if served else "index.html",
        "trends": [_shown(one) for one in trends],
        "names": list(names),
        "why": why,
    }
    return assemble(clean(overview), [], scripts=OF_TRENDS)


def _shown(trend: Trend) -> dict[str, Any]:
    """Return a trend with its figures as texts, too."""
    shown = trend.as_json()
    for night in shown["nights"]:
        night |= printed(night["value"], night["low"], night["high"], trend.unit)
        night["cost"] = cost_of(night["cost"])
    return shown
