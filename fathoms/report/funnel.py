"""The table of the funnel of runs: how much of the gold answers each stage has, lost or gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathoms.metrics.stages import STAGES, Stage
from fathoms.report.section import Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.text.amounts import figure
from fathoms.types import LOST_TEXT
from fathoms.types.run.figures import FunnelStage, FunnelStages, RunFunnel

HEADS = ("in the documents", "retrieved", "in the prompt", "in the answer")
NOTE = (
    "phrase recall at each stage, then what was lost (-) and gained (+) since the stage before, over the"
    " questions where both are known; n: the number of questions, in round brackets where a figure has fewer"
)


NOT_COUNTED = {
    "common": "whose answer also stands in many other documents",
    "unanswerable": "unanswerable",
    "yes-no": "with yes or no as the answer",
    "computed": "whose answer is computed from several documents",
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
    """Yield Overall, then every category with a figure; Overall has a star if its stages average different
    categories."""
    yield "Overall*" if any(partial(funnel)) else "Overall", funnel.overall
    yield from _known(funnel).items()


def _known(funnel: RunFunnel) -> dict[str, FunnelStages]:
    """Return the categories with a figure at any stage: unanswerable questions have none."""
    return {
        name: stages
        for name, stages in funnel.categories.items()
        if any(stages.at(stage).n for stage in STAGES)
    }


def partial(funnel: RunFunnel) -> Iterator[str]:
    """Yield a note for each figure of Overall that covers only some categories, as these do not add up."""
    total = len(_known(funnel))
    for stage, head in zip(STAGES, HEADS, strict=True):
        found = funnel.overall.at(stage)
        for what, count in (("recall", found.categories), ("lost and gained", found.compared_categories)):
            if count and count < total:
                yield f"{head}, {what}: {count} of {total} categories"


def funnel_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of the funnels of some runs; `None` if none has any."""
    shown: Sequence[Stage] = max(map(stages_of, runs), key=len, default=())

    def lines(run: Run) -> Lines | None:
        if (funnel := funnel_of(run, run.profile(scores))) is None:
            return None
        return [_row(name, stages, shown) for name, stages in funnel_rows(funnel)], list(notes(funnel, run))

    header = ("phrase recall", *HEADS[: len(shown)], "n")
    return table_of_runs(runs, lines, "funnel", "Phrase recall by stage", header, [NOTE])


def stages_of(run: Run) -> tuple[Stage, ...]:
    """Return the stages that a run can have: one that only searched has neither prompts nor answers."""
    return STAGES[:2] if run.summary.retrieval_only else STAGES


def _row(name: str, stages: FunnelStages, shown: Sequence[Stage]) -> list[str]:
    """Format a line: the figures of each stage, and the largest number of questions behind any."""
    found = [stages.at(stage) for stage in shown]
    n = max(stage.n for stage in found)
    return [name, *(stage_cell(stage, n) for stage in found), str(n)]


def stage_cell(stage: FunnelStage, n: int) -> str:
    """Format a stage as recall over loss and gain, `0.71` over `-0.15 +0.02`, with the number of questions
    where it is not `n`; a dash if it is not known."""
    if stage.recall is None:
        return "-"
    steps = [
        f"{sign}{figure(value)}"
        for sign, value in (("-", stage.lost), ("+", stage.gained))
        if value is not None and f"{value:.2f}" != "0.00"
    ]
    changed = f"\n{' '.join(steps)}{of(stage.compared, n)}" if steps else ""
    return f"{figure(stage.recall)}{of(stage.n, n)}{changed}"


def of(count: int | None, n: int | None) -> str:
    """Format the number of questions behind a figure, to follow it; empty if it is `n`."""
    return "" if count == n or count is None else f" ({count})"


def notes(funnel: RunFunnel, run: Run) -> Iterator[str]:
    """Explain the figures, list what they leave out, and name documents whose text may be incomplete."""
    left_out = ", ".join(f"{n} {NOT_COUNTED.get(why, why)}" for why, n in funnel.left_out.items())
    chance = f"; share of the other documents that contain an answer by chance: {figure(funnel.chance)}"
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
