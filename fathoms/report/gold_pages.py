"""The table of the funnel by gold pages: the share of the gold pages that reach each stage, and where this
reading and that by phrases disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fathoms.metrics.names import GOLD_PAGES
from fathoms.report.funnel import assumed, of
from fathoms.report.leaderboard import run_labels
from fathoms.report.section import Chart, Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import MetricFigure, MetricFigures

*PAGE_STAGES, AGREEMENT = GOLD_PAGES
CITED = PAGE_STAGES[-1]
HEADS = ("parsed", "retrieved", "in the prompt", "cited")
NOTE = (
    "share of the gold pages that reach each stage, with 95 % intervals: parsed with text, covered by a"
    " retrieved chunk, still in the prompt, cited by the answer; n: the number of questions, in round"
    " brackets where a figure has fewer"
)
CITES_NOTHING = "cited: no answer cites anything, as the prompt has to ask for it (prompt: {template: cited})"


def page_figures(run: Run, scores: str | None) -> dict[str, MetricFigures]:
    """Return the figures of the stages that are known for any question, by metric; empty if only the parsed
    pages are known. A run none of whose answers cites anything has no figure of citations."""
    known = run.metrics(scores)
    found = {name: known[name] for name in PAGE_STAGES if name in known and known[name].overall.n}
    if cites_nothing(run, scores):
        found.pop(CITED, None)
    return found if found.keys() - {PAGE_STAGES[0]} else {}


def cites_nothing(run: Run, scores: str | None) -> bool:
    """Return whether citations are known, but no answer has any."""
    found = run.metrics(scores).get(CITED, MetricFigures())
    return bool(found.cells) and all(cell["cites"] == "False" for cell in found.cells)


def pages_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of the gold pages of some runs; `None` if they are known of none."""

    any_run = [name for run in runs for name in page_figures(run, scores)]
    known = {name: head for name, head in zip(PAGE_STAGES, HEADS, strict=True) if name in any_run}

    def lines(run: Run) -> Lines | None:
        if not (figures := page_figures(run, scores)):
            return None
        rows = [stage_row(name, stages) for name, stages in page_rows(figures, list(known))]
        return rows, list(page_notes(run, scores))

    header = ("gold pages", *known.values(), "n")
    section = table_of_runs(runs, lines, "pages", "Where gold pages were lost", header, [NOTE])
    return section and replace(section, chart=_chart(runs, scores))


def _chart(runs: Sequence[Run], scores: str | None) -> Chart:
    """Return the chart of the overall figures, with a line for each run."""
    heads = dict(zip(PAGE_STAGES, HEADS, strict=True))
    lines = {
        label: {heads[name]: one.overall.model_dump() for name, one in page_figures(run, scores).items()}
        for run, label in zip(runs, run_labels(runs), strict=True)
    }
    ticks = [head for head in HEADS if any(head in points for points in lines.values())]
    return Chart("stage", ticks, {label: points for label, points in lines.items() if points}, "Gold pages")


def stage_row(name: str, stages: Sequence[MetricFigure]) -> list[str]:
    """Format a line: the figure of each stage, and the largest number of questions behind any."""
    n = max(stage.n or 0 for stage in stages)
    return [name, *(page_cell(stage, n) for stage in stages), str(n)]


def page_rows(
    figures: dict[str, MetricFigures], known: Sequence[str]
) -> Iterator[tuple[str, list[MetricFigure]]]:
    """Yield Overall, then every category, with the figure of each of the stages `known`."""
    unknown = MetricFigures()
    stages = [figures.get(name, unknown) for name in known]
    yield "Overall", [stage.overall for stage in stages]
    for name in dict.fromkeys(name for stage in stages for name in stage.categories):
        yield name, [stage.cell(name) for stage in stages]


def page_cell(found: MetricFigure, n: int | None = None) -> str:
    """Format a figure as `0.71 [0.60, 0.80] (57)`, without its number of questions where that is `n`; a dash
    if it is not known."""
    return "-" if found.value is None else f"{figure(found.value)}{bracket(found.bounds)}{of(found.n, n)}"


def page_notes(run: Run, scores: str | None) -> Iterator[str]:
    """Say how often the two readings agree on what was retrieved, what each disagreement means, and by which
    parser pages count as parsed where that of the pipeline is not known."""
    if cites_nothing(run, scores):
        yield CITES_NOTHING
    if parser := run.manifest.data.parser:
        yield assumed(parser)
    agreement = run.metrics(scores).get(AGREEMENT)
    if agreement is None or agreement.overall.value is None:
        return
    counts = meanings(agreement.cells)
    listed = "; ".join(f"{meaning}: {count}" for meaning, count in counts.items())
    total = sum(counts.values())
    found = agreement.overall
    yield (
        f"what was retrieved, by pages and by phrases: they agree for {page_cell(found)}; of {total} answers:"
        f" {listed}"
    )


def meanings(cells: Sequence[dict[str, object]]) -> dict[str, int]:
    """Return the number of answers by what the two readings together mean, the most frequent first."""
    counts: Counter[str] = Counter()
    for cell in cells:
        counts[str(cell["meaning"])] += int(str(cell["n"]))
    return dict(counts.most_common())
