"""Judging by a model that runs on this machine, as work for the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fathoms.executors import OnPage, Work
from fathoms.judges.judge import Judge
from fathoms.safety.children import Children
from fathoms.types import Failure, Judgement, Verdict


@dataclass(frozen=True)
class JudgeWork(Work[Sequence[Judgement], "list[Verdict | Failure]"]):
    """Has a judge that `is_local` label batches of judgements; a worker loads its model once."""

    judge: Judge

    def open(self, children: Children, workers: int) -> JudgeWork:
        """Load the model in this process."""
        self.judge.check()
        return self

    def do(self, item: Sequence[Judgement], on_page: OnPage) -> Callable[[], list[Verdict | Failure]]:
        """Return what gives the verdicts of a batch."""
        return partial(self.judge.judge_here, item)

    def close(self) -> None:
        """Do nothing: the process keeps its model."""

    def identity(self) -> dict[str, Any]:
        """The identity of the judge, with the hashes of its weights."""
        return self.judge.identity()
