"""The table of evidence documents: how many reach each stage, for questions over several documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fathoms.metrics.names import EVIDENCE_DOCUMENTS
from fathoms.report.gold_pages import page_rows, stage_row
from fathoms.report.section import Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigures
from fathoms.types.run.rows import MetricScore

HEADS = dict(zip(EVIDENCE_DOCUMENTS, ("parsed", "retrieved", "in the prompt", "combined"), strict=True))
NOTE = (
    "share of the evidence documents that reach each stage, over the questions with evidence in at least two"
    " documents: parsed with text, a chunk retrieved, a chunk in a prompt, its partial answer combined; n:"
    " the number of questions"
)
Reached = Mapping[str, tuple[int, int]]
"""How many documents reached a stage, of how many, by its metric."""


def documents_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of the evidence documents of some runs; `None` if no question is over several."""
    known = {run.id: found for run in runs if (found := _figures(run))}

    def lines(run: Run) -> Lines | None:
        if (figures := known.get(run.id)) is None:
            return None
        rows = [stage_row(*one) for one in page_rows(figures, list(HEADS))]
        return rows, [counts_sentence(_reached(figures))]

    header = ("evidence documents", *HEADS.values(), "n")
    return table_of_runs(runs, lines, "documents", "Evidence documents", header, [NOTE])


def _figures(run: Run) -> dict[str, MetricFigures]:
    """Return the figures of the stages that are known for any question; empty if only the parsed documents
    are known."""
    known = run.summary.metrics  # whatever the profile of the scores
    found = {name: known[name] for name in HEADS if name in known and known[name].overall.n}
    return found if found.keys() - {EVIDENCE_DOCUMENTS[0]} else {}


def _reached(figures: Mapping[str, MetricFigures]) -> Reached:
    """Return the counts over all answers of a run."""
    counts = {name: one.counted for name, one in figures.items()}
    return {name: (one["reached"], one["documents"]) for name, one in counts.items() if "documents" in one}


def question_sentence(metrics: Mapping[str, MetricScore]) -> str | None:
    """Say of one answer how many evidence documents reached each stage, and which did not; `None` where that
    is not known."""
    found = {name: metrics[name] for name in HEADS if metrics.get(name, {}).get("parts")}
    if not found:
        return None
    parts = {name: one["parts"] for name, one in found.items()}
    reached = {name: (int(one["reached"] or 0), int(one["documents"] or 0)) for name, one in parts.items()}
    before: set[str] = set()
    lost = []
    for name, one in found.items():
        missing = set(filter(None, one.get("why", {}).get("missing", "").split("; "))) - before
        before |= missing
        lost += [f"; not {HEADS[name]}: {', '.join(sorted(missing))}"] if missing else []
    return counts_sentence(reached) + "".join(lost)


def counts_sentence(reached: Reached) -> str:
    """Say how many documents reached each stage: `31 of 40 documents retrieved, 12 in the prompt`. A stage
    that is known of fewer answers has a number of its own."""
    said: list[str] = []
    total = 0
    for name, (count, documents) in reached.items():
        of = "" if documents == total else f" of {documents}{'' if said else ' documents'}"
        said.append(f"{count}{of} {HEADS[name]}")
        total = documents
    return ", ".join(said)
