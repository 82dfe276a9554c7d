"""The seconds that a question takes by stage of the pipeline, with their intervals."""

from __future__ import annotations

from typing import Any

from fathoms.metrics.columns import averaged
from fathoms.metrics.pooling import pooled
from fathoms.scoring.tally import Tally

STAGES = ("retrieve", "expand", "rerank", "describe", "prompt", "generate")


def stage_times(tally: Tally) -> dict[str, dict[str, Any]]:
    """Return the mean seconds of a question for each stage that any record has, in the order of the pipeline,
    and for all stages together (`total`).

    Each holds `value`, `low`, `high`, `method` and the number `n` of questions. Repeats are averaged within
    their question, and answers from the cache are left out. There is no interval where the values do not
    differ: retrieval searches for all questions at once, so that each has the mean.
    """
    order = [*STAGES, *sorted(tally.stages - {*STAGES}), "total"]
    return {stage: _figure(tally, stage) for stage in order if stage in tally.stages or stage == "total"}


def _figure(tally: Tally, stage: str) -> dict[str, Any]:
    """Return the mean of one stage over the questions."""
    column = averaged(tally.asked, tally.timed.get(stage, ()), tally.seconds.get(stage, ()))
    figure: dict[str, Any] = pooled(column.as_one(), "questions", "seconds")["overall"]
    return figure
