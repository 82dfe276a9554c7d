"""The table of abstention: how often each kind of question was answered, and the rates below it."""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.report.section import Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import AbstentionCounts, AbstentionRates, ProfileFigures

OUTCOMES = ("answered", "abstained")
RATES = {"coverage": "coverage", "selective_accuracy": "selective accuracy"}
NOTE = (
    "failed calls and refusals are not counted; coverage: the share of the answers to answerable questions"
    " that do not abstain; selective accuracy: the share of those that are fully correct; [low, high]: 95 %"
    " intervals; in round brackets: the share of the line, or the number of answers or questions"
)


def abstention_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of the answers and the abstentions of some runs, with their hallucination rates where
    some questions are unanswerable; `None` if it is known of none."""
    over = {run.original_id: _hallucination(run.figures(scores)) for run in runs}
    has_rates = any(over.values())

    def lines(run: Run) -> Lines | None:
        figures, rates = run.figures(scores), over[run.original_id]
        counts = figures.abstention_table.lines
        if not counts:
            return None
        if rates:
            both = counts.values()
            whole = (sum(one.answered for one in both), sum(one.abstained for one in both))
            counts = {**counts, "all": AbstentionCounts(answered=whole[0], abstained=whole[1])}
        rows = [
            [name, *outcomes(line), *([rates.get(name, "-")] if has_rates else [])]
            for name, line in counts.items()
        ]
        found = figures.abstention_rates
        return rows, [f"{name} {rate_text(found, key)}" for key, name in RATES.items()] if found else []

    header = ("answers", *OUTCOMES, *(["hallucination"] if has_rates else []))
    return table_of_runs(runs, lines, "abstention", "Abstention", header, [NOTE])


def _hallucination(figures: ProfileFigures) -> dict[str, str]:
    """Return the hallucination rate as a mean over the questions of each line, with their number; empty
    where no question is unanswerable."""
    rates = figures.overall.hallucination_over
    if rates is None or not rates.unanswerable.n:
        return {}
    lines = {"answerable": rates.answerable, "unanswerable": rates.unanswerable, "all": rates.all}
    return {name: f"{figure(rate.value)} ({rate.n})" for name, rate in lines.items()}


def outcomes(counts: AbstentionCounts) -> list[str]:
    """Format the two cells of a line, each a count with its share of the line."""
    pair = (counts.answered, counts.abstained)
    return [f"{count} ({figure(count / sum(pair))})" if any(pair) else "0" for count in pair]


def rate_text(rates: AbstentionRates, name: str) -> str:
    """Format a rate with its interval and the number of answers behind it: `0.81 [0.72, 0.88] (93)`."""
    number = getattr(rates, f"{name}_n")
    return f"{figure(getattr(rates, name))}{bracket(rates.bounds(name))}" + (
        "" if number is None else f" ({number})"
    )
