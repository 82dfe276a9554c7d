"""`report.html`: one file that shows runs to people, with no network, from disk or by mail.

The page reads an overview at once, an index of all questions right after, and the details of a question
when it is looked at: these are compressed chunks in the file itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import fathoms
from fathoms.report.html.assembling import assemble
from fathoms.report.html.chunks import Budget, Chunk, Details, packed
from fathoms.report.html.overview import columns_of, overview_run
from fathoms.report.html.questions import Questions
from fathoms.report.html.reading import Reading, read_run
from fathoms.report.html.texts import clean
from fathoms.report.table import run_labels, score_table
from fathoms.report.view import RunView

SCHEMA = 1
DETAILS = 24_000_000
"""Bytes of the file for the texts of all questions; a file of 30 MB is what most people can still mail."""


@dataclass(frozen=True)
class Payload:
    """What the page is given: the overview, the chunks, and what was left out, in sentences."""

    overview: dict[str, Any]
    chunks: list[Chunk]
    warnings: list[str]


def report_html(runs: Sequence[RunView], scores: str | None = None, size: int = DETAILS) -> str:
    """The file's text. Every question view is read once, a run at a time.

    Raises DataError where a run has no scores under `scores`, UsageError where that names no profile, and
    StoreError where a view cannot be read.
    """
    made = payload(runs, scores, size)
    return assemble(made.overview, made.chunks)


def payload(runs: Sequence[RunView], scores: str | None = None, size: int = DETAILS) -> Payload:
    """Everything that the page shows; details take at most about `size` bytes."""
    profiles = [run.profile(scores) for run in runs]
    questions = Questions(runs)
    budget = Budget(size, sum(map(_expected, runs)))
    readings: list[Reading] = []
    overviews: list[dict[str, Any]] = []
    chunks: list[Chunk] = []
    shortened = 0
    for key, (run, label, profile) in enumerate(zip(runs, run_labels(runs), profiles, strict=True)):
        details = Details(key, budget)
        reading = read_run(run, profile, questions, details, lambda document, page: None)
        names = [chunk.name for chunk in details.chunks]
        overviews.append(overview_run(key, label, run, profile, reading.sums, names))
        readings.append(reading)
        chunks += details.chunks
        shortened += details.shortened
    order = questions.order()
    index = {"questions": questions.columns(order), "runs": [reading.columns(order) for reading in readings]}
    categories = list(score_table(runs, scores).categories)
    notes = [SHORTENED] if shortened else []
    overview = {
        "schema": SCHEMA,
        "title": "fathoms: " + ", ".join(run["label"] for run in overviews),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": f"fathoms {fathoms.__version__}",
        "categories": categories,
        "runs": overviews,
        "columns": columns_of(categories, overviews),
        "same_questions": all(len(reading.rows) == len(order) for reading in readings),
        "notes": [*score_table(runs, scores).notes, *notes],
    }
    return Payload(clean(overview), [Chunk("index", packed(index)), *chunks], notes)


SHORTENED = (
    "Long texts are shortened to keep this file small: the whole texts are in the folder of each run, in the"
    " file that is named with the question."
)


def _expected(run: RunView) -> int:
    """How many questions a run has views of, as far as it says."""
    counts = run.summary.get("counts") or {}
    return int(counts.get("asked") or counts.get("questions") or 1)
