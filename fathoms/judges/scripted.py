"""A judge with scripted verdicts, for tests of everything around a judge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.judges.judge import LABELS, UNPARSED, Judge, Labels
from fathoms.judges.rubrics import RUBRICS
from fathoms.models.caller import Caller
from fathoms.models.sentences import sentences
from fathoms.runs.grades import BEST, QUALITY
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.types import Failure, Judgement, Rubric, Verdict

_HALF = 0.5


class ScriptedJudge(Judge):
    """`kind: scripted`: the label of the first text of `labels_by` that occurs in the claim.

    Any other claim is supported if all of its words occur in the premise. An answer is correct, or has the
    grade 10, if all words of the gold answer occur in it; it answers a nugget if all words of an accepted
    answer occur in it, and never says that a question cannot be answered. An answer to be labelled as an
    abstention or not is a statement. A sentence of a source is relevant if `labels_by` says so. A text
    answers the question that is its own first sentence. A sentence without a citation needs one, unless it
    occurs before. An answer that has all words of the gold answer has the grade 5 in everything, any other 0;
    the label can be five grades, such as `5 4 3 4 5`. A passage has the grade that `labels_by` gives to a
    text in it, else 3 if it has all words of the question and 0 if not. A text supports a statement in full
    if it has all words of it, in part if it has half of them.
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
        """It is asked for everything that any judge is asked for."""
        return RUBRICS | {"support"}

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Return the verdicts by the rules above, after `latency` seconds."""
        await asyncio.sleep(self.latency)
        return [self._verdict(judgement) for judgement in judgements]

    def _verdict(self, judgement: Judgement) -> Verdict | Failure:
        """Return the verdict on one judgement by the rules above."""
        yes, no, *_ = LABELS[self.labels]
        label = self._label(judgement.premise if judgement.rubric == "relevance" else judgement.claim)
        if label == "failed":
            return Failure(kind="ModelError", message="scripted failure of the judge")
        more: dict[str, Any] = {}
        if judgement.rubric in ("relevant-sentences", "questions", "quality") and label != UNPARSED:
            more = self._listed(judgement)
            label = more.pop("label")
        if label is None and judgement.rubric in _KINDS:
            label = _KINDS[judgement.rubric](judgement)
        if label is None and judgement.rubric in ("grade", "correct"):
            right = _all_in(judgement.premise, judgement.claim)
            label = ("10" if right else "0") if judgement.rubric == "grade" else (yes if right else no)
        if label is None:
            claims = judgement.claim.splitlines() if judgement.rubric == "nugget" else [judgement.claim]
            label = yes if any(_all_in(claim, judgement.premise) for claim in claims) else no
        p = None if label == UNPARSED else float(label == yes)
        return Verdict(
            claim=judgement.claim,
            premise=judgement.premise,
            context=judgement.context or None,
            label=label,
            p=p,
            cost=0.0,
            **more,
        )

    def _label(self, text: str) -> str | None:
        """Return the scripted label of a claim or sentence; `None` if there is none."""
        return next((label for key, label in self.labels_by.items() if key in text), None)

    def _listed(self, judgement: Judgement) -> dict[str, Any]:
        """Return the scripted fields of a verdict on relevant sentences, on questions or with grades."""
        if judgement.rubric == "quality":
            best = str(BEST * _all_in(judgement.premise, judgement.claim))
            given = map(float, (self._label(judgement.claim) or " ".join([best] * len(QUALITY))).split())
            return {"label": "graded", "grades": dict(zip(QUALITY.values(), given, strict=False))}
        split = sentences(judgement.premise or judgement.claim)
        if judgement.rubric == "questions":
            label = self._label(judgement.claim) or "committal"
            return {"label": label, "questions": tuple(split[:1] * judgement.wanted)}
        found = [n for n, one in enumerate(split, 1) if self._label(one) in ("supported", "entailment")]
        label = LABELS["binary"][not found]
        return {"label": label, "relevant": tuple(found), "shown": len(split)}


def _share_in(words: str, text: str) -> float:
    """Return the share of the words of one text that occur in the other; 1 of no words."""
    found = [word.strip(".,?") in text.lower() for word in words.lower().split()]
    return sum(found) / len(found) if found else 1.0


def _all_in(words: str, text: str) -> bool:
    """Return whether all words of one text occur in the other."""
    return _share_in(words, text) == 1


def _extent(judgement: Judgement) -> str:
    """Return how much of a statement a text supports, by the share of its words."""
    share = _share_in(judgement.claim, judgement.premise)
    return "supported" if share == 1 else "partial" if share >= _HALF else "unsupported"


_KINDS: dict[Rubric, Callable[[Judgement], str]] = {
    "abstention": lambda _: "statement",
    "unanswerable": lambda _: "unsupported",
    "citing": lambda judgement: "repeated" if judgement.claim in judgement.premise else "needed",
    "relevance": lambda judgement: "3" if _all_in(judgement.claim, judgement.premise) else "0",
    "extent": _extent,
}
"""What the scripted judge says unless its script says something else."""
