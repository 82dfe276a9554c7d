"""The threshold of a cascade: chosen on half of the labels of people, and reported on the other half."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fathoms.errors import DataError
from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.cascade import Cascade
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.judge import Judge
from fathoms.judges.people import LabelledClaim
from fathoms.models.caller import Caller
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Judgement, StoredValue, Verdict


class Labelled(NamedTuple):
    """A claim with the label of people, and the verdicts of the cheap and of the dear judge."""

    people: LabelledClaim
    cheap: Verdict
    dear: Verdict


class Threshold(StoredValue):
    """A threshold, and what it does on the half of the labels that it was not chosen on.

    The first three figures are balanced accuracies in [0, 1], `None` where that half holds only one label.
    `share_dear` is the share of the claims that the dear judge decides. `chosen_on` and `reported_on` are
    numbers of claims.
    """

    threshold: float
    cascade: float | None
    cheap: float | None
    dear: float | None
    share_dear: float
    chosen_on: int
    reported_on: int


def threshold_of(judge: Judge, rows: Sequence[LabelledClaim], folder: Path) -> Threshold | None:
    """Choose the threshold of a cascade on labelled claims; `None` for another judge.

    Both of its judges are asked for every claim. Verdicts are stored in `folder`.
    """
    if not isinstance(judge, Cascade):
        return None
    judgements = [Judgement(claim=row.claim, premise=row.premise, context=row.context) for row in rows]
    cheap, dear = Judged(), Judged()

    async def work() -> None:
        for stage, judged in ((judge.cheap, cheap), (judge.dear, dear)):
            bench = Bench(stage, VerdictJournal(folder), Caller(), Spending(), asks_again=False)
            await bench.ask(judgements, judged)

    asyncio.run(work())
    return choose_threshold(
        [
            Labelled(row, cheap.verdicts[one], dear.verdicts[one])
            for row, one in zip(rows, judgements, strict=True)
            if one in cheap.verdicts and one in dear.verdicts
        ]
    )


def choose_threshold(rows: Sequence[Labelled], seed: int = 0) -> Threshold:
    """Choose the threshold with the best balanced accuracy on half of the groups, and report it on the rest.

    Of thresholds that are equally good, the lowest is taken, because it asks the dear judge least often.
    Claims of one group stay together. Claims that either judge gave no readable verdict on are left out.
    Raises DataError if a half is empty, or if the half to choose on holds only one label.
    """
    known = [row for row in rows if row.cheap.supports is not None and row.dear.supports is not None]
    groups = sorted({_group(row) for row in known}, key=lambda group: fingerprint(seed, group))
    first = set(groups[: (len(groups) + 1) // 2])
    ours = [row for row in known if _group(row) in first]
    others = [row for row in known if _group(row) not in first]
    if not ours or not others:
        raise DataError("a threshold needs labelled claims of at least two groups: label more claims")
    best: tuple[float, float] | None = None
    for threshold in sorted({0.5, 1.0} | {sure for row in ours if (sure := _sure(row.cheap)) is not None}):
        value = _balanced(ours, [_decided(row, threshold) for row in ours])
        if value is None:
            raise DataError("people gave all claims of one half the same label: label more claims")
        if best is None or value > best[0]:
            best = value, threshold
    assert best is not None  # 0.5 is always tried
    threshold = best[1]
    return Threshold(
        threshold=threshold,
        cascade=_balanced(others, [_decided(row, threshold) for row in others]),
        cheap=_balanced(others, [bool(row.cheap.supports) for row in others]),
        dear=_balanced(others, [bool(row.dear.supports) for row in others]),
        share_dear=sum(not _is_cheap(row, threshold) for row in others) / len(others),
        chosen_on=len(ours),
        reported_on=len(others),
    )


def _group(row: Labelled) -> str:
    """The group of a claim; a claim without one is a group of its own."""
    people = row.people
    return people.group or fingerprint(people.claim, people.premise)


def _sure(verdict: Verdict) -> float | None:
    """How sure a judge is of its verdict, in [0.5, 1]; `None` where it gave no probability."""
    return None if verdict.p is None else max(verdict.p, 1 - verdict.p)


def _is_cheap(row: Labelled, threshold: float) -> bool:
    """Whether the cheap judge decides."""
    sure = _sure(row.cheap)
    return sure is not None and sure >= threshold


def _decided(row: Labelled, threshold: float) -> bool:
    """Whether the cascade says that the premise supports the claim."""
    return bool((row.cheap if _is_cheap(row, threshold) else row.dear).supports)


def _balanced(rows: Sequence[Labelled], said: Sequence[bool]) -> float | None:
    """Return the mean of recall and specificity, `None` where people gave only one label."""
    yes = [says for row, says in zip(rows, said, strict=True) if row.people.supports]
    no = [not says for row, says in zip(rows, said, strict=True) if not row.people.supports]
    return (sum(yes) / len(yes) + sum(no) / len(no)) / 2 if yes and no else None
