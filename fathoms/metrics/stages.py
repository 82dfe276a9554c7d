"""The stages of the funnel, and its result for one answer; `funnel.py` computes it."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from fathoms.types import StoredValue

Stage = Literal["documents", "retrieved", "prompt", "answer"]
STAGES: tuple[Stage, ...] = get_args(Stage)
LOST_BY: dict[str, Stage] = {
    "parser": "documents",
    "retriever": "retrieved",
    "prompt": "prompt",
    "model": "answer",
}
"""The part of a pipeline that lost what is missing at each stage, as people name it."""


class Funnel(StoredValue):
    """The recall in [0, 1] at each stage (`None` if its text is unknown), and what was lost and gained there.

    `missed` maps each phrase that the answer lacks to the stage from which on it is missing. `left_out` is
    the reason why a question is not measured (`unanswerable`, `no-phrases`, `yes-no` or `common`); it then
    has no recalls. `chance` is the share of non-gold documents that contain the whole answer, `None` if there
    are none.
    """

    documents: float | None = None
    retrieved: float | None = None
    prompt: float | None = None
    answer: float | None = None
    lost: dict[Stage, float] = Field(default_factory=dict)
    gained: dict[Stage, float] = Field(default_factory=dict)
    missed: dict[str, Stage] = Field(default_factory=dict)
    left_out: str | None = None
    chance: float | None = None

    def recall(self, stage: Stage) -> float | None:
        """Return the recall at one stage."""
        value: float | None = getattr(self, stage)
        return value
