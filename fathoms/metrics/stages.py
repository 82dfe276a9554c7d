"""What the funnel finds for one answer; `funnel.py` says how."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from fathoms.types import Noun

Stage = Literal["documents", "retrieved", "prompt", "answer"]
STAGES: tuple[Stage, ...] = get_args(Stage)


class Funnel(Noun):
    """Recall in [0, 1] at each stage, `None` where its text is not known; what was lost and gained there.

    `missed` says of every phrase that the answer lacks from which stage on it is missing. A question may be
    `left_out` for its answer (`unanswerable`, `yes-no`, `common`): then there is nothing else. `chance` is
    the share of the other documents that hold the answer whole, `None` where there are none.
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
        """The recall at one stage."""
        value: float | None = getattr(self, stage)
        return value
