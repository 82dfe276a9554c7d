"""Judges one run from Python, with what explains the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathoms.errors import UsageError
from fathoms.gate.comment import explained
from fathoms.gate.runs import Terms, by_direction, judge_runs, settings_of
from fathoms.gate.verdict import Verdict
from fathoms.report.of_sweeps import read_all_scores
from fathoms.runs.run import Run


def judged(
    run: Run,
    *,
    baseline: Sequence[str],
    given: Mapping[str, Any],
    limits: Mapping[str, float],
    profile: str | None,
    allow_unchecked: bool,
    rescore: bool = False,
) -> Verdict:
    """Judge a run by options (`given`, `None` where one is not given) and wanted values of metrics
    (`limits`). With `rescore`, the baseline is scored by the questions of the run.

    Raises UsageError if there is neither a limit nor a baseline, or where a verdict would be meaningless.
    """
    scores = read_all_scores(run, profile)
    options = dict(given)
    for side, wanted in by_direction(scores, limits).items():
        options[side] = {**(options.get(side) or {}), **wanted}
    settings, section = settings_of(run, options)
    terms = Terms(settings, section, baseline, profile, run.path.parent, allow_unchecked=allow_unchecked)
    if not baseline and not terms.limits:
        raise UsageError(
            "nothing to judge by: name the wanted value of a metric, such as correctness=0.6, or a baseline"
        )
    terms = terms.with_rescored() if rescore else terms
    return Verdict(explained(judge_runs([run], terms), run))
