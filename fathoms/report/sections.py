"""Tables of runs that belong together, such as those of one sweep, as every report shows them.

To add a table, write a function that returns a `Section` for some runs, or `None` if they are not its kind of
runs, and add it to `_TABLES`. The terminal, Markdown, JSON and the page iterate over `sections`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from fathoms import hooks
from fathoms.report.evidence import evidence_section, grades_section
from fathoms.report.evidence_documents import documents_section
from fathoms.report.filtered import filtered_section
from fathoms.report.gold_pages import pages_section
from fathoms.report.modalities import modality_section
from fathoms.report.of_metrics import TABLES as OF_METRICS
from fathoms.report.outcomes import abstention_section
from fathoms.report.positions import positions_section
from fathoms.report.prompts_table import prompts_section
from fathoms.report.quotes import QUOTE_TABLES
from fathoms.report.search_table import budget_section, search_section
from fathoms.report.section import Reviews, Section
from fathoms.report.settings_table import settings_section
from fathoms.report.variants import variants_section
from fathoms.runs.run import Run

_TABLES: tuple[Callable[[Sequence[Run]], Section | None], ...] = (
    settings_section,
    positions_section,
    *QUOTE_TABLES,
    variants_section,
    filtered_section,
    prompts_section,
    search_section,
    budget_section,
    modality_section,
    documents_section,
    *OF_METRICS,
)


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return the tables that these runs have together."""
    return [found for table in _TABLES if (found := table(runs)) is not None]


def page_sections(runs: Sequence[Run]) -> list[Section]:
    """Return those tables that the page does not draw by itself as a plot."""
    return [one for one in sections(runs) if one.key not in ("search", "within", "modalities")]


def evidence_sections(runs: Sequence[Run], scores: str | None) -> list[Section]:
    """Return the tables of what became of the gold pages, and of what was answered with and without them."""
    answered = [run for run in runs if not run.summary.retrieval_only]
    found = (
        pages_section(runs, scores),
        evidence_section(runs, scores),
        grades_section(runs, scores),
        abstention_section(answered, scores),
    )
    return [one for one in found if one is not None]


def sections_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of the tables by their keys, as JSON values."""
    return {section.key: dict(section.figures) for section in sections(runs)}


def reviews(runs: Sequence[Run], scores: str | None) -> Reviews | None:
    """Return how far people agree with the scores; `None` where nobody rated any, or without that extra."""
    found = hooks.provided("reviews of a report")
    return None if found is None else cast("Reviews | None", found(runs, scores))
