"""`gate --preset small`: judges a run of few questions by the right answers that it lost.

`stats.few_questions` has the statistics. An alarm can be acknowledged: its lost questions are written to a
file beside the baseline (`baseline.acknowledged.json`), and runs that lose no others do not FAIL until a
date. No score is changed by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fathoms.compare.question_scores import (
    QuestionScores,
    count_notes,
    match,
    parser_notes,
    scores_like,
)
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.gate.against_baseline import Gated, LossCheck, comparable, require_sound, twice_named, values_of
from fathoms.gate.limits import Limit, LimitCheck
from fathoms.paths import write_atomic
from fathoms.safety.inputs import parse_json, read_text

if TYPE_CHECKING:
    from fathoms.stats.noninferiority import GateVerdict

DAYS = 14
"""For how long an alarm is acknowledged, unless a date is given."""


class Acknowledged(BaseModel):
    """An alarm that somebody has seen: the run, its lost questions by metric, and the last day on which they
    are no alarm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["acknowledged"] = "acknowledged"
    schema_version: Literal[1] = 1
    run: str
    lost: dict[str, tuple[str, ...]]
    until: date


def judge_small(
    run: QuestionScores,
    baseline: QuestionScores,
    metrics: Sequence[str],
    *,
    allowed: Callable[[int], float],
    allowed_changes: Callable[[int], float],
    allow_unchecked: bool,
) -> Gated:
    """Judge a run by the right answers of the baseline that it lost. Raises UsageError or DataError where a
    verdict would be meaningless. Failed calls of the run are no error but a limit (`failed_calls`)."""
    if run.runs[0] in baseline.runs:
        raise twice_named(run.runs[0])
    require_sound(baseline, allowed)
    pairs = comparable([run], baseline, metrics, allowed_changes, allow_unchecked=allow_unchecked)
    (run,), baseline = pairs.runs, pairs.baseline
    losses = tuple(_loss(run, baseline, metric, len(metrics)) for metric in metrics)
    found = Gated(
        "PASS",
        run.runs[:1],
        baseline.runs,
        baseline.profile,
        baseline.judge,
        0.0,
        0.0,
        0.0,
        (),
        versions=(run.versions,),
        baseline_versions=baseline.versions,
        changed=pairs.changed,
        added=pairs.added,
        ids=pairs.ids,
        notes=(
            *pairs.notes,
            *count_notes([run, baseline], metrics),
            *parser_notes(baseline, [run], old=True),
        ),
    )
    return with_losses(found, losses)


def with_losses(found: Gated, losses: Sequence[LossCheck]) -> Gated:
    """Return a gate with other losses, whose worst verdict is its own."""
    verdicts = {each.verdict for each in losses}
    worst: GateVerdict = "FAIL" if "FAIL" in verdicts else "UNDECIDED" if "UNDECIDED" in verdicts else "PASS"
    return replace(found, losses=tuple(losses), verdict=worst)


FAILED_CALLS = "failed calls"


def failed_calls(run: QuestionScores, allowed: Callable[[int], float], why: str) -> LimitCheck:
    """Check that no more calls of a run failed than are allowed; `why` are the causes of the failures."""
    limit = Limit(FAILED_CALLS, "max", allowed(run.answers) / max(run.answers, 1))
    passes = run.failed <= allowed(run.answers)
    return LimitCheck(limit, None, run.failed / max(run.answers, 1), run.answers, passes, "call", why)


def _loss(run: QuestionScores, baseline: QuestionScores, metric: str, checks: int) -> LossCheck:
    """Judge one metric; a score above one half is right."""
    from fathoms.stats.few_questions import loss

    if baseline.adds_counts(metric):
        raise UsageError(
            f"--preset small counts right answers, and {metric} is a ratio of counts: leave it out"
        )
    before, now = (scores_like(side, baseline, metric) for side in (baseline, run))
    shared = [name for name in before if name in now]
    counts = [
        [(sum(each > 0.5 for each in side[name]), len(side[name])) for name in shared]
        for side in (before, now)
    ]
    found = loss(counts[0], counts[1], checks)
    lost = [shared[place] for place in found.lost]
    return LossCheck(
        metric,
        "FAIL" if found.alarm else "UNDECIDED" if found.needed is None else "PASS",
        len(shared),
        len(found.right),
        tuple((name, _share(before[name]), _share(now[name])) for name in lost),
        tuple(name for name in lost if any(each <= 0.5 for each in before[name])),
        found.p,
        found.needed,
        len(baseline.runs),
        min((len(before[name]) for name in shared), default=0),
        found.repeats,
        means=values_of(match(baseline, run, metric, shared)) if shared else (0.0, 0.0),
        level=found.level,
    )


def _share(values: Sequence[float]) -> float:
    """Return the share of right answers."""
    return fmean(each > 0.5 for each in values)


def acknowledged_path(baseline: Path) -> Path:
    """Return where an acknowledged alarm is stored: `baseline.acknowledged.json` beside `baseline.json`."""
    return baseline.with_name(f"{baseline.stem}.acknowledged.json")


def acknowledge(found: Gated, created: str | None, until: date | None, path: Path) -> date:
    """Store the lost questions of a run as seen, and return the last day on which they are no alarm: `until`,
    or `DAYS` after the run was made. Raises DataError if the run has no alarm, and StoreError if the file
    cannot be written."""
    if not any(each.verdict == "FAIL" or each.seen for each in found.losses):
        raise DataError(f"{found.runs[-1]} has no alarm of lost answers that could be acknowledged")
    lost = {each.metric: each.ids for each in found.losses}
    last = until or (date.fromisoformat(created[:10]) if created else date.today()) + timedelta(DAYS)
    seen = Acknowledged(run=found.runs[-1], lost=lost, until=last)
    try:
        write_atomic(path, (json.dumps(seen.model_dump(mode="json"), ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return last


def apply_acknowledged(found: Gated, created: str | None, path: Path) -> Gated:
    """Return a gate in which an alarm does not FAIL if all its lost questions were acknowledged, for a run
    made no later than the date given; raises DataError for a damaged file."""
    if not path.is_file():
        return found
    try:
        seen = Acknowledged.model_validate(parse_json(read_text(path), str(path)))
    except ValidationError as error:
        raise DataError(f"{path} is not what 'fathoms gate --acknowledge' writes: delete it") from error
    if (created or "")[:10] > seen.until.isoformat():
        return found
    losses = [
        replace(each, verdict="PASS", seen=seen.until.isoformat())
        if each.verdict == "FAIL" and set(each.ids) <= set(seen.lost.get(each.metric, ()))
        else each
        for each in found.losses
    ]
    return with_losses(found, losses)
