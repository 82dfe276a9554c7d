"""A run as HTML in a notebook: what was run, its figures by category, its funnel and its worst questions."""

from __future__ import annotations

from fathoms.report.notebook.parts import grid, page, said, small
from fathoms.report.text import shorten
from fathoms.report.worst import Miss, worst_questions
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import MeanScores

WORST = 5
TEXT = 160


def run_html(run: Run) -> str:
    """Return a run under its headline profile as HTML. Everything that models and documents said is
    escaped."""
    counts = run.summary.counts
    answered = f"{counts.answered} answered, {counts.errors} failed"
    parts = [
        said(f"{run.name}: {run.summary.model or 'no model known'} on {run.summary.data or 'unknown data'}")
    ]
    if run.summary.retrieval_only or not run.summary.profiles:
        known = [
            (name, found) for name, found in run.summary.metrics.items() if found.overall.value is not None
        ]
        rows = [
            (name, f"{figure(found.overall.value)}{bracket(found.overall.bounds)}", str(found.overall.n))
            for name, found in known
        ]
        parts.append(grid("Retrieval", ("Metric", "Value", "n"), rows, 2))
        return page(*parts, small(f"run: {run.path}"))
    profile = run.profile()
    figures = run.figures()
    lines = [("Overall (mean of categories)", figures.overall), *figures.categories.items()]
    heads = ("Category", "Correctness", "Hallucination", "Abstention", "n")
    parts.append(grid(f"Scores, profile {profile}", heads, [_cells(*line) for line in lines], 4))
    if worst := worst_questions(run, profile, WORST):
        misses = [[each.id, *_texts(each), figure(each.correctness)] for each in worst]
        parts.append(grid("Worst questions", ("Question", "Text", "Answer", "Correctness"), misses, 1))
    return page(*parts, small(f"{answered}; [low, high]: 95 % intervals; run: {run.path}"))


def _texts(miss: Miss) -> list[str]:
    """The question and the answer, or the failure in its place."""
    return [shorten(text, TEXT) for text in (miss.question, miss.error or miss.answer)]


def _cells(name: str, means: MeanScores) -> list[str]:
    """One line of the scores."""
    metrics = ("correctness", "hallucination", "abstention")
    texts = [f"{figure(means.mean(metric))}{bracket(means.bounds(metric))}" for metric in metrics]
    return [name, *texts, str(means.n)]
