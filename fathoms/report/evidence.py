"""Cross tables of what retrieval found and what the model then did: that of Double-Bench by the gold
evidence, with whether the answer was right, and one by the grades of a judge, for questions without gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from fathoms.metrics.names import BY_EVIDENCE, BY_GRADES, JUDGE, PHRASES
from fathoms.report.gold_pages import page_cell
from fathoms.report.section import Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigure

COLUMNS = {"hit": "hits", "miss": "misses"}
KINDS = ("right", "half right", "wrong", "not graded")
OTHERS = ("hedged", "refused", "empty", "failed", "not labelled")
NOTE = (
    "hit: a gold page of every hop was retrieved; right, half right and wrong: {by}; the rates are over"
    " answers and abstentions, with 95 % intervals and, in brackets, the number of questions"
)
GRADES = {"a passage answers": "a passage answers", "no passage answers": "none answers"}
"""The columns by the grades of a judge."""
DONE = ("answered", "abstained", "asked back", *OTHERS[1:])
GRADES_NOTE = (
    "a passage answers from grade 2 on, as a judge grades it; an answer asks back if it consists of"
    " questions; the rates are over answers and abstentions, with 95 % intervals and, in brackets, the number"
    " of questions"
)
_BY = {
    JUDGE: "by the judge's grade (7 to 10, 4 to 6, 0 to 3)",
    PHRASES: "by phrase recall (1, between, 0)",
}


@dataclass(frozen=True)
class EvidenceTable:
    """The counts of answers by line (what the model did, with whether that was right) and by retrieval.

    `lines` maps each line with any answers to its number of hits and misses. `apart` counts the answers
    outside the table, and `by` says what decided about right and wrong. `rates` are the three rates.
    """

    lines: dict[str, tuple[int, int]]
    apart: dict[str, int]
    by: str
    rates: dict[str, str]


def evidence_table(run: Run, scores: str | None) -> EvidenceTable | None:
    """Return the table of a run under its profile; `None` if no question has a known hit or miss."""
    known = run.metrics(scores)
    if not any(name in known for name in BY_EVIDENCE):
        return None
    cells = known[BY_EVIDENCE[-1]].cells if BY_EVIDENCE[-1] in known else ()
    inside = [cell for cell in cells if cell["retrieval"] in COLUMNS]
    if not inside:
        return None
    lines: dict[str, list[int]] = {name: [0, 0] for name in line_names()}
    apart: dict[str, int] = {}
    graders: dict[str, int] = {}
    for cell in cells:
        if cell["retrieval"] not in COLUMNS:
            what = f"retrieval {cell['retrieval']}" if cell["retrieval"] == "not known" else "unanswerable"
            apart[what] = apart.get(what, 0) + cell["n"]
            continue
        lines[_line(cell)][list(COLUMNS).index(cell["retrieval"])] += cell["n"]
        if cell["by"] in _BY:
            graders[cell["by"]] = graders.get(cell["by"], 0) + cell["n"]
    return EvidenceTable(
        {name: (hits, misses) for name, (hits, misses) in lines.items() if hits or misses},
        apart,
        " and ".join(f"{_BY[name]} for {n} answers" for name, n in graders.items()) or "not known",
        {name: _rate(known[name].overall) for name in BY_EVIDENCE if name in known},
    )


def grades_table(run: Run, scores: str | None) -> EvidenceTable | None:
    """Return the counts by what was done and by the grades of what was retrieved; `None` if none is known."""
    known = run.metrics(scores)
    cells = next((known[name].cells for name in BY_GRADES if name in known and known[name].cells), ())
    lines = {name: [0, 0] for name in DONE}
    apart: dict[str, int] = {}
    for cell in cells:
        if cell["retrieval"] in GRADES:
            lines[cell["answer"]][list(GRADES).index(cell["retrieval"])] += cell["n"]
        else:
            apart["without a grade that decides"] = apart.get("without a grade that decides", 0) + cell["n"]
    found = {name: (yes, no) for name, (yes, no) in lines.items() if yes or no}
    rates = {name: _rate(known[name].overall) for name in BY_GRADES if name in known}
    return EvidenceTable(found, apart, "", rates) if found else None


def _rate(found: MetricFigure) -> str:
    """Format a rate, `n/a` where no answer counts in it."""
    return "n/a" if found.value is None else page_cell(found)


def line_names() -> Iterator[str]:
    """Yield the lines of the table in order."""
    yield from (f"answered, {kind}" for kind in KINDS)
    yield from (f"abstained, {kind}" for kind in KINDS)
    yield from OTHERS


def _line(cell: dict[str, object]) -> str:
    """Return the line of a cell."""
    answer = str(cell["answer"])
    return f"{answer}, {cell['correctness']}" if answer in ("answered", "abstained") else answer


def evidence_notes(table: EvidenceTable) -> Iterator[str]:
    """Explain the table, and say what is not in it."""
    yield NOTE.format(by=table.by) if table.by else GRADES_NOTE
    if table.apart:
        listed = ", ".join(f"{count} {what}" for what, count in table.apart.items())
        yield f"not in the table: {listed}"


def evidence_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of some runs by the gold evidence; `None` if it is known of none."""
    found, title = partial(evidence_table, scores=scores), "Answers with and without the evidence"
    return _section(runs, found, "evidence", title, ("answers by retrieval", *COLUMNS.values()))


def grades_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of some runs by the grades of what was retrieved; `None` if it is known of none."""
    found, title = partial(grades_table, scores=scores), "Answers by the grades of what was retrieved"
    return _section(runs, found, "grades", title, ("answers by grades", *GRADES.values()))


def _section(
    runs: Sequence[Run],
    table_of: Callable[[Run], EvidenceTable | None],
    key: str,
    title: str,
    header: Sequence[str],
) -> Section | None:
    """Return a table of some runs, each count with its share of the column, and the rates below it."""

    def lines(run: Run) -> Lines | None:
        if (table := table_of(run)) is None:
            return None
        sums = [sum(column) for column in zip(*table.lines.values(), strict=True)]
        rows = [
            [name, *(_share(count, total) for count, total in zip(counts, sums, strict=True))]
            for name, counts in table.lines.items()
        ]
        rates = [f"{name} {rate}" for name, rate in table.rates.items()]
        return [*rows, ["all", *map(str, sums)]], [*rates, *evidence_notes(table)]

    return table_of_runs(runs, lines, key, title, header)


def _share(count: int, total: int) -> str:
    """Format a count with its share: `12 (0.40)`."""
    return f"{count} ({count / total:.2f})" if count else "0"
