"""Shows the funnel of runs as tables: how much of the gold answers each stage kept, lost or gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from fathoms.metrics.stages import STAGES, Stage
from fathoms.report.grid import Grid
from fathoms.report.leaderboard import RunRow
from fathoms.report.text import plain
from fathoms.runs.run import Run
from fathoms.text.amounts import figure
from fathoms.types import LOST_TEXT
from fathoms.types.run.figures import FunnelStage, FunnelStages, RunFunnel

HEADS = ("in the documents", "retrieved", "in the prompt", "in the answer")
NOTE = (
    "phrase recall at each stage; below it the loss and the gain since the stage before, over the questions"
    " where both stages are known; n: the number of questions"
)


_NOT_COUNTED = {
    "common": "whose answer also stands in many other documents",
    "unanswerable": "without an answer in the documents",
    "yes-no": "with yes or no as the answer",
    "no-phrases": "without gold phrases",
}
"""Why questions do not count in the figures, by the name of the reason in the summary."""


def funnel_of(run: Run, profile: str) -> RunFunnel | None:
    """Return the funnel of a run under a profile.

    It is `None` if the run was scored without a funnel, or if only its answers are known.
    """
    found = run.figures(profile).funnel
    return found if found and any(found.overall.at(stage).n for stage in STAGES[:-1]) else None


def funnel_rows(funnel: RunFunnel) -> Iterator[tuple[str, FunnelStages]]:
    """Yield Overall, then every category; Overall has a star if its stages average different categories."""
    yield "Overall*" if any(partial(funnel)) else "Overall", funnel.overall
    yield from funnel.categories.items()


def partial(funnel: RunFunnel) -> Iterator[str]:
    """Yield a note for each figure of Overall that covers only some categories, as these do not add up."""
    total = len(funnel.categories)
    for stage, head in zip(STAGES, HEADS, strict=True):
        found = funnel.overall.at(stage)
        for what, count in (("recall", found.categories), ("lost and gained", found.compared_categories)):
            if count and count < total:
                yield f"{head}, {what}: {count} of {total} categories"


def funnel_panel(run: Run, profile: str) -> list[RenderableType]:
    """Build the funnel table for the terminal; empty if there is no funnel."""
    funnel = funnel_of(run, profile)
    if not funnel:
        return []
    shown = stages_of(run)
    table = Grid("where answers were lost", *shown, "n")
    for name, stages in funnel_rows(funnel):
        cells = [stage_cell(stages.at(stage)) for stage in shown]
        table.add_row(plain(name), *cells, "\n".join(count_lines(stages, shown)))
    return [table, *(Text(plain(line), style="dim") for line in notes(funnel, run)), Text()]


def stages_of(run: Run) -> tuple[Stage, ...]:
    """Return the stages that a run can have: one that only searched has neither prompts nor answers."""
    return STAGES[:2] if run.summary.retrieval_only else STAGES


def count_lines(stages: FunnelStages, shown: Sequence[Stage] = STAGES) -> list[str]:
    """Format the number of questions behind recall at each stage and, on a second line, behind losses and
    gains.

    A line is one number if all stages agree, and the second line is omitted if it is the same as the first.
    """
    found = [stages.at(stage) for stage in shown]
    counts = [[str(stage.n) for stage in found], [str(stage.compared) for stage in found]]
    lines = ["/".join(line) if len(set(line)) > 1 else line[0] for line in counts]
    return lines if lines[0] != lines[1] else lines[:1]


def stage_cell(stage: FunnelStage) -> str:
    """Format a stage as recall over loss and gain, `0.71` over `-0.15 +0.02`; a dash if it is not known."""
    if stage.recall is None:
        return "-\n"
    steps = [
        f"{sign}{figure(value)}"
        for sign, value in (("-", stage.lost), ("+", stage.gained))
        if value is not None and f"{value:.2f}" != "0.00"
    ]
    return f"{figure(stage.recall)}\n{' '.join(steps)}"


def notes(funnel: RunFunnel, run: Run) -> Iterator[str]:
    """Explain the figures, list what they leave out, and name documents whose text may be incomplete."""
    yield NOTE
    left_out = ", ".join(f"{n} {_NOT_COUNTED.get(why, why)}" for why, n in funnel.left_out.items())
    chance = f"; another document holds an answer by chance: {figure(funnel.chance)}"
    yield f"not counted: {left_out or 'none'}{'' if funnel.chance is None else chance}"
    if said := list(partial(funnel)):
        yield f"* {'; '.join(said)}"
    if funnel.estimate:
        yield assumed(funnel.estimate)
    for document, warnings in run.manifest.ingest.warnings.items():
        yield from (f"{document}: {warning}" for warning in warnings if LOST_TEXT in warning)


def assumed(parser: str) -> str:
    """Say by which parser documents were read whose own reading by the pipeline is not known."""
    return f"parser: assumed {parser}, as it is not known how this pipeline reads documents"


def funnel_section(
    pairs: Sequence[tuple[Run, RunRow]],
) -> Iterator[tuple[RunRow, list[list[str]], list[str]]]:
    """Yield each run that has a funnel, with the cells of its Markdown table and its notes."""
    for run, row in pairs:
        if funnel := funnel_of(run, row.profile):
            rows = [
                [name, *(cell for stage in stages_of(run) for cell in stage_cells(stages.at(stage)))]
                for name, stages in funnel_rows(funnel)
            ]
            yield row, rows, list(notes(funnel, run))[1:]


def stage_cells(stage: FunnelStage) -> list[str]:
    """Format recall, loss and gain of a stage, each with its number of questions."""
    pairs = ((stage.recall, stage.n), (stage.lost, stage.compared), (stage.gained, stage.compared))
    return ["n/a" if value is None else f"{figure(value)} ({count})" for value, count in pairs]
