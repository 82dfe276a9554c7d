"""A judge with scripted verdicts, for tests of everything around a judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.judges.base import LABELS, UNPARSED, Judge, Labels
from fathoms.judges.rubrics import PROMPTS
from fathoms.models.caller import Caller
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.types import Failure, Judgement, Rubric, Verdict


class ScriptedJudge(Judge):
    """`kind: scripted`: the label of the first text of `labels_by` that occurs in the claim.

    Any other claim is supported if all of its words occur in the premise. An answer is correct, or has the
    grade 10, if all words of the gold answer occur in it. An answer to be labelled as an abstention or not is
    a statement, and a sentence of a source is not relevant.
    """

    neutral: ClassVar[frozenset[str]] = Judge.neutral | {"latency", "concurrency"}

    kind: Literal["scripted"] = "scripted"
    labels: Labels = "binary"
    """The labels of the verdicts."""
    labels_by: dict[str, str] = Field(default_factory=dict)
    """Maps a text to the label of the claims that contain it; `unparsed` and `failed` are allowed, too."""
    latency: float = Field(default=0.0, ge=0, le=LONGEST_WAIT)
    """Seconds to wait before every verdict."""
    concurrency: int = Field(default=8, ge=1, le=MOST_AT_ONCE)
    """Maximum number of verdicts at a time."""

    @property
    def max_concurrency(self) -> int:
        """The most verdicts at a time."""
        return self.concurrency

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """Everything."""
        return frozenset({"support", *PROMPTS})

    async def judge(
        self, asked: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Return the scripted verdicts."""
        await asyncio.sleep(self.latency)
        return [self._verdict(judgement) for judgement in asked]

    def _verdict(self, asked: Judgement) -> Verdict | Failure:
        """Return one scripted verdict."""
        yes, no, *_ = LABELS[self.labels]
        label = next((label for text, label in self.labels_by.items() if text in asked.claim), None)
        if label == "failed":
            return Failure(kind="ModelError", message="scripted failure of the judge")
        if label is None and asked.rubric == "abstention":
            label = "statement"
        if label is None and asked.rubric != "support":
            right = asked.rubric != "relevant" and _all_in(asked.premise, asked.claim)
            label = ("10" if right else "0") if asked.rubric == "grade" else (yes if right else no)
        if label is None:
            label = yes if _all_in(asked.claim, asked.premise) else no
        p = None if label == UNPARSED else float(label == yes)
        return Verdict(
            claim=asked.claim,
            premise=asked.premise,
            context=asked.context or None,
            label=label,
            p=p,
            cost=0.0,
        )


def _all_in(words: str, text: str) -> bool:
    """Return whether all words of one text occur in the other."""
    return all(word.strip(".,") in text.lower() for word in words.lower().split())
