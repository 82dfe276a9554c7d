"""How far a judge agrees with people, on claims that people have labelled.

Every figure treats a label as yes or no: does the premise support the claim? Intervals are percentile
bootstraps that resample whole groups (topics or questions), because claims of one group are alike. The figure
of a judge is stored on this machine under the judge's key, so that later reports can print it beside the
scores that rest on the judge.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from fathoms.judges.asking import Bench, Judged, Spending, decided_by
from fathoms.judges.cascade import Cascade
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.judge import UNPARSED, Judge
from fathoms.judges.people import LabelledClaim
from fathoms.models.caller import Caller
from fathoms.paths import write_atomic
from fathoms.runs.usage import total
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Judgement, StoredValue, Verdict

if TYPE_CHECKING:
    from numpy import bool_, float64
    from numpy.typing import NDArray

FIGURES = ("balanced_accuracy", "precision", "recall", "f1", "kappa", "auc")
RESAMPLES = 2_000


class Checked(StoredValue):
    """How well a judge agreed with people when it was last checked: on how many claims of which file."""

    judge: str
    balanced_accuracy: float | None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    n: int
    labels: str


def agree(
    judge: Judge,
    rows: Sequence[LabelledClaim],
    folder: Path,
    on_done: Callable[[int, int], None] = lambda done, total: None,
    others: Sequence[Judge] = (),
) -> dict[str, Any]:
    """Have the judge label claims that people have labelled, and return how far they agree.

    Verdicts are stored in `folder`, so that a second call asks only for what is missing. The result holds the
    figures of the judge and, under `always_yes`, those of a judge that says yes to everything; `intervals`
    are 95 % intervals, and `calibration` says whether the judge's probabilities are right, `None` where it
    gives none. Claims without a verdict are left out and counted in `unjudged`. `cost` (US dollars)
    and `seconds` are those of all verdicts, `None` where unknown, and `asked` counts the calls made now.
    `others` has the same of other judges, and how far the judge agrees with each (`with_judge`). Both judges
    of a cascade are among them: they are asked for every claim, and what the cascade decides follows;
    `to_dear` counts the claims that it would have asked the dear judge about.
    `damaged_lines` counts the lines of the journal in `folder` that cannot be used.
    """
    judgements = [Judgement(claim=row.claim, premise=row.premise, context=row.context) for row in rows]
    if isinstance(judge, Cascade):
        others = [judge.cheap, judge.dear, *others]
    results = {}
    for one in others:
        results[fingerprint(one.identity())] = ask(one, judgements, folder, on_done)
    if isinstance(judge, Cascade):
        cheap, dear = (results[fingerprint(one.identity())][0] for one in others[:2])
        decided = decided_by(judge, judgements, cheap, dear)
        verdicts = {one: found for one, found in decided.items() if isinstance(found, Verdict)}
        judged, spending = Judged(verdicts=verdicts), Spending()
    else:
        judged, spending = ask(judge, judgements, folder, on_done)
    found = _compared(judge, rows, judgements, judged, spending)
    if isinstance(judge, Cascade):
        unsure = [one for one in cheap.verdicts.values() if not judge.is_sure(one)]
        found["to_dear"] = len(unsure) + len(cheap.unjudged)
    groups = _groups(rows)
    found["others"] = []
    for one in others:
        its, its_spending = results[fingerprint(one.identity())]
        described = _compared(one, rows, judgements, its, its_spending)
        described["with_judge"] = between(
            _said(judgements, judged), _said(judgements, its), [row.supports for row in rows], groups
        )
        found["others"].append(described)
    found["damaged_lines"] = max(one.damaged for one in (spending, *(each[1] for each in results.values())))
    return found


def _compared(
    judge: Judge,
    rows: Sequence[LabelledClaim],
    judgements: Sequence[Judgement],
    judged: Judged,
    spending: Spending,
) -> dict[str, Any]:
    """Return how far the verdicts of a judge agree with the labels, and what they took."""
    from fathoms.stats.calibration import calibration

    known = []
    for row, judgement in zip(rows, judgements, strict=True):
        verdict = judged.verdicts.get(judgement)
        if verdict is not None and verdict.label != UNPARSED:
            known.append((row, verdict))
    people = [row.supports for row, _ in known]
    said = [bool(verdict.supports) for _, verdict in known]
    p = [verdict.p for _, verdict in known]
    calibrated = calibration(p, people)
    groups = _groups([row for row, _ in known])
    verdicts = [judged.verdicts[one] for one in dict.fromkeys(judgements) if one in judged.verdicts]
    return {
        "judge": judge.name,
        "key": fingerprint(judge.identity()),
        "n": len(known),
        "unjudged": len(rows) - len(known),
        "supported_by_people": sum(people),
        **figures(people, said, p),
        "intervals": intervals(people, said, p, groups),
        "least": least(people, said, groups),
        "calibration": None if calibrated is None else asdict(calibrated),
        "always_yes": figures(people, [True] * len(people), [1.0] * len(people)),
        "differ": [
            {
                "claim": row.claim,
                "premise": row.premise,
                "people": row.label,
                "judge": verdict.label,
                "p": verdict.p,
            }
            for row, verdict in known
            if row.supports != verdict.supports
        ],
        "asked": spending.calls,
        "cost": total([verdict.cost for verdict in verdicts]),
        "seconds": total([verdict.seconds for verdict in verdicts]),
    }


def _groups(rows: Sequence[LabelledClaim]) -> list[str]:
    """Return the group of each claim; a claim without one is a group of its own."""
    return [row.group or str(number) for number, row in enumerate(rows)]


def _said(judgements: Sequence[Judgement], judged: Judged) -> list[bool | None]:
    """Return what a judge says of each claim, `None` where it has no readable verdict."""
    found = map(judged.verdicts.get, judgements)
    return [None if verdict is None else verdict.supports for verdict in found]


def between(
    one: Sequence[bool | None],
    other: Sequence[bool | None],
    people: Sequence[bool],
    groups: Sequence[str],
) -> dict[str, Any]:
    """Return how two judges compare on the claims on which both have a verdict: the share of equal labels
    with its interval over groups, Cohen's kappa, and the balanced accuracy of the first less that of the
    other."""
    both = [
        (first, second, label, group)
        for first, second, label, group in zip(one, other, people, groups, strict=True)
        if first is not None and second is not None
    ]
    first, second, labels = ([bool(row[at]) for row in both] for at in range(3))
    of = [row[3] for row in both]
    same = list(map(operator.eq, first, second))
    return {
        "n": len(both),
        "same": _share(sum(same), len(both)),
        "interval": same_interval(same, of),
        "kappa": figures(first, second, [])["kappa"],
        "balanced_accuracy": _difference(first, second, labels, of),
    }


def _difference(
    one: Sequence[bool], other: Sequence[bool], people: Sequence[bool], groups: Sequence[str]
) -> dict[str, Any]:
    """Return the balanced accuracy of a judge less that of another on the same claims, with a 95 % percentile
    bootstrap interval over groups; `None` as for `intervals`."""
    import numpy as np

    labels = np.array(people, dtype=bool)
    if labels.all() or not labels.any():
        return {"difference": None, "interval": None}
    codes = np.unique(np.array(groups), return_inverse=True)[1]
    more = (np.array(one) == labels).astype(float) - (np.array(other) == labels)

    def halves(weights: NDArray[float64]) -> NDArray[float64]:
        """Return the difference for each line of weights of groups, NaN where a label does not occur."""
        sums = [
            weights @ np.bincount(codes[side], values, codes.max() + 1)
            for side in (labels, ~labels)
            for values in (more[side], np.ones(side.sum()))
        ]
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[0] / sums[1] + sums[2] / sums[3]) / 2

    count = int(codes.max()) + 1
    (value,) = halves(np.ones((1, count)))
    if count < 2:
        return {"difference": float(value), "interval": None}
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    low, high = np.nanquantile(halves(drawn.astype(float)), (0.025, 0.975))
    return {"difference": float(value), "interval": (float(low), float(high))}


def same_interval(same: Sequence[bool], groups: Sequence[str]) -> tuple[float, float] | None:
    """Return a 95 % percentile bootstrap interval of a share over groups; `None` with fewer than 2 groups."""
    import numpy as np

    if len(set(groups)) < 2:
        return None
    codes = np.unique(np.array(groups), return_inverse=True)[1]
    hits = np.bincount(codes, weights=np.array(same, dtype=float))
    sizes = np.bincount(codes)
    drawn = np.random.default_rng(0).integers(0, sizes.size, (RESAMPLES, sizes.size))
    shares = hits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return float(low), float(high)


def ask(
    judge: Judge,
    judgements: Sequence[Judgement],
    folder: Path,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Judged, Spending]:
    """Ask a judge for verdicts outside of any run. Verdicts are stored in `folder`, and those that are there
    are not asked for again. Raises the errors of `judge.check`."""
    judge.check()
    judged, spending, journal = Judged(), Spending(), VerdictJournal(folder)

    async def work() -> None:
        await Bench(judge, journal, Caller(), spending, on_done).ask(judgements, judged)

    asyncio.run(work())
    spending.damaged = journal.damaged
    return judged, spending


def figures(
    people: Sequence[bool], said: Sequence[bool], p: Sequence[float | None]
) -> dict[str, float | None]:
    """Return how far a judge's labels agree with those of people; `None` where a figure is not defined.

    Balanced accuracy is the mean of recall and specificity. Precision, recall and F1 are those of supported
    claims. Kappa is Cohen's. AUC is the chance that a claim that people support has a higher `p` than one
    that they do not, with ties counted half; it needs `p` for every claim.
    """
    import numpy as np

    chances = None if not p or None in p else np.array(p, dtype=float)
    return _figures(np.array(people, dtype=bool), np.array(said, dtype=bool), chances)


def _figures(
    people: NDArray[bool_], said: NDArray[bool_], p: NDArray[float64] | None
) -> dict[str, float | None]:
    """Return the figures of arrays."""
    from fathoms.stats.kappa import kappa

    both, only_judge = int((people & said).sum()), int((~people & said).sum())
    only_people, neither = int((people & ~said).sum()), int((~people & ~said).sum())
    recall = _share(both, both + only_people)
    specificity = _share(neither, neither + only_judge)
    return {
        "balanced_accuracy": None if recall is None or specificity is None else (recall + specificity) / 2,
        "precision": _share(both, both + only_judge),
        "recall": recall,
        "f1": _share(2 * both, 2 * both + only_judge + only_people),
        "kappa": kappa([[both, only_people], [only_judge, neither]]) if people.size else None,
        "auc": _auc(people, p),
    }


def _share(part: int, whole: int) -> float | None:
    """Return a share, `None` of nothing."""
    return part / whole if whole else None


def _auc(people: NDArray[bool_], p: NDArray[float64] | None) -> float | None:
    """Return the area under the ROC curve by ranks (Mann and Whitney 1947)."""
    from scipy.stats import rankdata

    yes = int(people.sum())
    no = people.size - yes
    if p is None or not yes or not no:
        return None
    ranks = rankdata(p)
    return float((ranks[people].sum() - yes * (yes + 1) / 2) / (yes * no))


def intervals(
    people: Sequence[bool], said: Sequence[bool], p: Sequence[float | None], groups: Sequence[str]
) -> dict[str, tuple[float, float] | None]:
    """Return 95 % percentile bootstrap intervals of the figures over groups; `None` with fewer than 2
    groups, or where a figure is not defined."""
    import numpy as np

    ours, theirs = np.array(people, dtype=bool), np.array(said, dtype=bool)
    chances = None if not p or None in p else np.array(p, dtype=float)
    codes = np.unique(np.array(groups), return_inverse=True)[1] if groups else np.zeros(0, dtype=int)
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)] if groups else []
    if len(members) < 2:
        return dict.fromkeys(FIGURES)
    rng = np.random.default_rng(0)
    drawn: dict[str, list[float]] = {name: [] for name in FIGURES}
    for _ in range(RESAMPLES):
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        found = _figures(ours[chosen], theirs[chosen], None if chances is None else chances[chosen])
        for name, value in found.items():
            if value is not None:
                drawn[name].append(value)
    return {
        name: (float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))) if values else None
        for name, values in drawn.items()
    }


def least(people: Sequence[bool], said: Sequence[bool], groups: Sequence[str]) -> float | None:
    """Return what the balanced accuracy is at least, with 98.75 % confidence, where claims of one group are
    alike."""
    import numpy as np

    from fathoms.stats.rogan_gladen import Agreeing, least_accuracy

    sides = []
    for wanted in (True, False):
        same: dict[str, list[bool]] = {}
        for ours, theirs, group in zip(people, said, groups, strict=True):
            if ours == wanted:
                same.setdefault(group, []).append(ours == theirs)
        shares = np.array([sum(each) / len(each) for each in same.values()], dtype=float)
        sides.append(Agreeing(shares, np.array([len(each) for each in same.values()], dtype=float)))
    return least_accuracy(*sides)


def store_agreement(result: dict[str, Any], labels: Path) -> None:
    """Store the figure of a judge on this machine; raises OSError."""
    low, high = result["intervals"]["balanced_accuracy"] or (None, None)
    found = Checked(
        judge=result["judge"],
        balanced_accuracy=result["balanced_accuracy"],
        low=low,
        high=high,
        least=result["least"],
        n=result["n"],
        labels=labels.name,
    )
    path = _place(result["key"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, found.model_dump_json(indent=2).encode())


def last_check(key: str) -> Checked | None:
    """Return how well a judge agreed with people at its last check on this machine, `None` if it never was
    checked."""
    try:
        return Checked.model_validate(json.loads(_place(key).read_text()))
    except (OSError, ValueError):
        return None


def _place(key: str) -> Path:
    """The file with the figure of a judge."""
    return user_data_path("fathoms") / "judges" / f"{key}.json"
