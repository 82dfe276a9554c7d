"""Gate successive runs against a baseline: has the pipeline become worse?

This module turns runs into the numbers that `stats.noninferiority` needs, which has the rules of the verdict.
The result, `Gated`, is plain data: the command line prints it, and test reports can use its checks one by
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from fathoms.compare.pairing import Difference
from fathoms.compare.question_scores import (
    Matched,
    MatchedRatios,
    QuestionScores,
    aligned,
    count_notes,
    match,
    match_ratios,
    names,
    parser_notes,
    require_rules,
    require_whole,
)
from fathoms.errors import DataError, UsageError, amount, some_of
from fathoms.gate.limits import LimitCheck
from fathoms.gate.settings import can_be_gated
from fathoms.text.amounts import percent
from fathoms.types.run.figures import range_of

if TYPE_CHECKING:
    from fathoms.stats.noninferiority import Answers, Check, GateVerdict, Test


LARGE_LOSS = 0.25
"""The observed loss, as a share of a metric's range, from which on UNDECIDED calls for another run."""
MOST_UNJUDGED = 0.02
"""The largest share of items without a verdict that a gate accepts."""
LEAST_ACCURACY = 0.70
"""The smallest balanced accuracy of a judge against people that a gate accepts."""


@dataclass(frozen=True)
class GateNight:
    """One run compared with the baseline.

    `delta` is the mean difference, run minus baseline, with the sign reversed for metrics where lower is
    better: negative always means worse. `low` and `high` are its one-sided bounds, and `p` is the p value of
    "not worse" by a permutation test of this run alone. `questions` is the number of questions compared;
    `left_out` are those for which the metric is not defined on both sides.
    """

    delta: float
    low: float
    high: float
    p: float
    questions: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class GateCheck:
    """The check of one metric, over all categories (macro mean, `category` is `None`) or in one category.

    `nights` has one entry per run, oldest first. `tests` are the p values of the newest run, of the last two
    pooled and of the last three pooled; `alone` is the smallest that counts, on the scale of the first one,
    and `p` the same corrected by Holm's method over all checks, which decides; `by` is the test that gave it,
    `None` if no run lost the margin. `lost` is used for few questions and a
    baseline of one run: how many of its answers were right, and how many of these the newest run lost.
    `questions` is the number of questions on which the newest run was compared. For an UNDECIDED check,
    `resolvable` is the smallest margin with which an unchanged pipeline would pass with a probability of
    80 %, and `needed` the number of questions with which it would pass with the given margin, `None` if more
    than 10,000. `scores` has each of these questions with its scores in the baseline and in the newest run,
    means over repeats; it is empty for a ratio of counts. `means` are the values of both.
    """

    metric: str
    category: str | None
    verdict: GateVerdict
    nights: tuple[GateNight, ...]
    tests: tuple[float, ...]
    lost: tuple[int, int] | None
    alone: float
    p: float
    questions: int
    resolvable: float | None
    needed: int | None
    scores: tuple[tuple[str, float, float], ...] = ()
    by: Test | None = None
    means: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class SequenceCheck:
    """What `gate --sequential` found for one metric, over all categories or in one `category`.

    `p` is the randomised p value of the newest run among the answers of the baseline and of all earlier
    nights, `None` where the run was not counted. `evidence` is that for a loss after so many `nights`, and
    `needed` the evidence that is an alarm. `alone` is the verdict on the newest run without the other nights.
    `alarm` is the id of the run that raised the alarm, and `alarm_by` what did: the evidence, that `night` by
    itself, or the right answers that the first night `lost`; both are `None` if there was none.
    """

    metric: str
    category: str | None
    p: float | None
    evidence: float
    needed: float
    nights: int
    alarm: str | None
    alarm_by: Literal["evidence", "night", "lost"] | None = None
    alone: GateVerdict | None = None


@dataclass(frozen=True)
class LossCheck:
    """What `gate --preset small` found for one metric.

    Of `questions` compared, `right` were right in the baseline. `lost` has each of these that is not right in
    the newest run, with its share of right answers in the baseline and now; those of `wavering` were wrong in
    some run of the baseline, too. `p` is the probability that an unchanged pipeline loses as much or more,
    and FAIL takes a `p` below `level`: the loss of `needed` of the steadiest, `None` if the loss of all is no
    alarm. `nights` and `answers` are the
    runs of the baseline and the fewest answers that it has to a question. `repeats` is how many answers of a
    night to each question pay off, and what FAIL takes with them (`stats.few_questions`). `since` is the date
    of the first run of those in a row that are alarms. `seen` is the date until which the alarm is
    acknowledged. `means` are the mean scores in the baseline and in the newest run.
    """

    metric: str
    verdict: GateVerdict
    questions: int
    right: int
    lost: tuple[tuple[str, float, float], ...]
    wavering: tuple[str, ...]
    p: float
    needed: int | None
    nights: int
    answers: int
    repeats: tuple[int, int] | None = None
    since: str | None = None
    seen: str | None = None
    means: tuple[float, float] = (0.0, 0.0)
    level: float = 0.0

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions whose right answers are lost."""
        return tuple(name for name, _, _ in self.lost)


@dataclass(frozen=True)
class SectionUsed:
    """The section `gate` of a config that the settings come from: that of `run`. Options of the command line
    replaced its keys `overridden`."""

    run: str
    overridden: tuple[str, ...]


@dataclass(frozen=True)
class Gated:
    """The verdict of a gate with its settings and checks.

    `alpha` is the accepted chance of PASS for a loss as large as the margin, and `level` is what the `p` of a
    check must be below for FAIL. `judge` is the baseline's abstention classifier, and `reversed` are the
    metrics with the sign reversed, because lower values are better. `large_losses` are the undecided checks
    whose newest run lost at least `LARGE_LOSS` of the range of the metric. `versions` are those of the
    service behind the pipeline in each run, and `baseline_versions` those in the baseline; empty where they
    are not known. `limits` are the fixed limits that were asked for; without a baseline there are no
    `checks`. `sequence` has an entry for each check with `--sequential`, which then decides about FAIL.
    `losses` has an entry for each metric with `--preset small`, which has no `checks`.
    `changed` are the questions of the baseline that were left out, because a run does not have them or has
    another text or gold, and `added` those that only a run has. `ids` has the id in the newest run of each
    question that has another one in the baseline; checks name questions as the baseline does.
    `section` says where the settings come from, if not from the command line alone. `notes` say what values
    rest on where a reader must know it (`count_notes`).
    """

    verdict: GateVerdict
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    profile: str
    judge: str
    margin: float
    alpha: float
    level: float
    checks: tuple[GateCheck, ...]
    reversed: tuple[str, ...] = ()
    large_losses: tuple[GateCheck, ...] = ()
    versions: tuple[tuple[str, ...], ...] = ()
    baseline_versions: tuple[str, ...] = ()
    limits: tuple[LimitCheck, ...] = ()
    sequence: tuple[SequenceCheck, ...] = ()
    losses: tuple[LossCheck, ...] = ()
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    section: SectionUsed | None = None
    notes: tuple[str, ...] = ()

    def with_limits(self, limits: Iterable[LimitCheck], notes: Iterable[str] = ()) -> Gated:
        """Return the same with fixed limits and with notes on their metrics. Any limit that is crossed makes
        the verdict FAIL."""
        found = tuple(limits)
        verdict = self.verdict if all(limit.kept for limit in found) else "FAIL"
        return replace(self, verdict=verdict, limits=found, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    def with_sequence(self, sequence: Iterable[SequenceCheck]) -> Gated:
        """Return the same with FAIL decided by the evidence of all nights, one entry per check.

        A check that FAILs by its newest run alone becomes UNDECIDED, because such verdicts are not within the
        budget of false alarms; neither is the call for another run after a large loss.
        """
        found = tuple(
            replace(each, alone=check.verdict) for each, check in zip(sequence, self.checks, strict=True)
        )
        checks = tuple(
            replace(
                check,
                verdict="FAIL" if each.alarm else "UNDECIDED" if check.verdict == "FAIL" else check.verdict,
            )
            for check, each in zip(self.checks, found, strict=True)
        )
        verdicts = {check.verdict for check in checks}
        worst: GateVerdict = "FAIL" if "FAIL" in verdicts else "PASS" if verdicts == {"PASS"} else "UNDECIDED"
        return replace(self, verdict=worst, checks=checks, sequence=found, large_losses=())


def without_baseline(run: QuestionScores) -> Gated:
    """Return a gate that passes, for the fixed limits of a run."""
    return Gated(
        "PASS", run.runs[:1], (), run.profile, run.judge, 0.0, 0.0, 0.0, (), versions=(run.versions,)
    )


class Shown(NamedTuple):
    """The part of a true difference that a metric shows, as it was measured and what it is `least`."""

    part: float = 1.0
    least: float = 1.0

    @property
    def is_measured(self) -> bool:
        """Whether the part is that of a judge whose errors are known."""
        return self != ALL_SHOWN

    def alpha(self, alpha: float) -> float:
        """The part of an accepted chance that is left for the answers, if one half is for the judge."""
        return alpha / 2 if self.is_measured else alpha

    def low(self, low: float) -> float:
        """The lower bound of a change, from that of what the judge says: a loss is largest where the judge
        shows the least of it, and a gain is smallest where it shows all."""
        return low if low >= 0 else low / self.least if self.least > 0 else -math.inf


ALL_SHOWN = Shown()


@dataclass(frozen=True)
class _Family:
    """The data of one check: the scores, scaled such that `width` becomes 1 because the tests are made for
    scores in [0, 1], and the questions on which each run was compared.

    `width` is that of the metric's range, or twice the largest linearised difference of a ratio; of a metric
    that rests on a judge, it is divided by the part of a true difference that the judge shows (`shown_part`).
    `limit` is the largest possible difference.
    """

    metric: str
    category: str | None
    answers: Answers
    matched: tuple[Matched | MatchedRatios, ...]
    width: float
    limit: float
    shown: Shown = ALL_SHOWN


def gate(
    runs: Sequence[QuestionScores],
    baseline: QuestionScores,
    metrics: Sequence[str],
    *,
    margin: float,
    alpha: float,
    by_category: bool = False,
    allowed: Callable[[int], float] = lambda questions: 0,
    allowed_changes: Callable[[int], float] = lambda questions: 0,
    allow_unchecked: bool = False,
) -> Gated:
    """Judge successive runs, oldest first, against a baseline.

    `allowed` returns how many of n calls may have failed, and `allowed_changes` how many questions may have
    changed since a baseline of n questions; these are left out. Raises UsageError if `margin` or `alpha` is
    out of range, or if a run is named twice or is its own baseline. Raises DataError if a verdict would be
    meaningless: too many failed calls, too many changed questions, another profile or other rules, or replies
    reused from an earlier run.
    """
    from fathoms.stats.noninferiority import LEVEL, judge, overall

    _check_call(runs, baseline, margin, alpha)
    require_sound(baseline, allowed)
    for run in runs:
        _check_failures(run, allowed)
    pairs = comparable(runs, baseline, metrics, allowed_changes, allow_unchecked=allow_unchecked)
    runs, baseline = pairs.runs, pairs.baseline
    families = [
        _family(runs, baseline, metric, scope)
        for metric in metrics
        for scope in (None, *(_categories(baseline, runs, metric) if by_category else ()))
    ]
    checks = judge(
        [family.answers for family in families],
        [margin / family.width for family in families],
        [family.shown.alpha(alpha) for family in families],
        [margin / family.width * family.shown.least / family.shown.part for family in families],
    )
    found = tuple(
        _gate_check(family, check, margin, alpha) for family, check in zip(families, checks, strict=True)
    )
    return Gated(
        verdict=overall(checks),
        runs=tuple(run.runs[0] for run in runs),
        baseline=baseline.runs,
        profile=baseline.profile,
        judge=baseline.judge,
        margin=margin,
        alpha=alpha,
        level=LEVEL,
        checks=found,
        reversed=tuple(metric for metric in metrics if not baseline.higher_is_better(metric)),
        large_losses=tuple(
            check
            for family, check in zip(families, found, strict=True)
            if check.verdict == "UNDECIDED" and is_large(check.nights[-1].delta / family.limit)
        ),
        versions=tuple(run.versions for run in runs),
        baseline_versions=baseline.versions,
        changed=pairs.changed,
        added=pairs.added,
        ids=pairs.ids,
        notes=(
            *pairs.notes,
            *count_notes([*runs, baseline], metrics),
            *parser_notes(baseline, runs, old=True),
            *_judge_notes([baseline, *runs], metrics),
        ),
    )


def _judge_notes(sides: Sequence[QuestionScores], metrics: Sequence[str]) -> Iterator[str]:
    """Say by what the changes of metrics are divided that rest on a judge with known errors."""
    for metric in metrics:
        if (shown := shown_part(sides, metric)).is_measured:
            yield (
                f"{metric}: changes are divided by {shown.part:.2f}, the part of a true change that"
                f" {sides[0].kind_of(metric).judge} shows with its errors, and bounds by"
                f" {max(shown.least, 0):.2f}, the least that it may be by the labels of people"
            )


class Comparable(NamedTuple):
    """Runs and their baseline with the questions that can be compared, by the ids of the baseline; `changed`,
    `added` and `ids` are as in `Gated`, and `notes` say how the questions were matched."""

    runs: list[QuestionScores]
    baseline: QuestionScores
    changed: tuple[str, ...]
    added: tuple[str, ...]
    ids: dict[str, str]
    notes: tuple[str, ...]


def comparable(
    runs: Sequence[QuestionScores],
    baseline: QuestionScores,
    metrics: Sequence[str],
    allowed_changes: Callable[[int], float],
    *,
    allow_unchecked: bool,
) -> Comparable:
    """Return runs and baseline with the questions that can be compared. Raises UsageError or DataError where
    a comparison by some metrics would be meaningless."""
    for metric in metrics:
        _check_metric(baseline, metric)
    for run in runs:
        _check_cache(run)
        require_rules(baseline, run, metrics)
    pairs = [aligned(baseline, run) for run in runs]
    changed = _changed([found for _, found in pairs], baseline, allowed_changes)
    runs, baseline = [_only(run, baseline, changed) for run, _ in pairs], _only(baseline, baseline, changed)
    for metric in metrics:
        for scores in (baseline, *runs):
            _check_judge(scores, metric, allow_unchecked=allow_unchecked)
    added = dict.fromkeys(name for _, found in pairs for name in found.added)
    ids = {name: other for name, other in pairs[-1][1].pairs.items() if name != other}
    notes = dict.fromkeys(said for _, found in pairs for said in found.notes)
    return Comparable(runs, baseline, changed, tuple(added), ids, tuple(notes))


def _check_metric(baseline: QuestionScores, metric: str) -> None:
    """Raise UsageError for a metric that the baseline does not have, or whose unit has no range."""
    units = {name: kind.unit for name, kind in baseline.metrics.items()}
    try:
        unit = baseline.kind_of(metric).unit
    except UsageError as error:
        raise UsageError(f"{error}; {can_be_gated(units)}") from error
    if range_of(unit) is None:
        raise UsageError(
            f"{metric} is measured in {unit}, and the margin of a gate is a difference of shares: use"
            f" 'fathoms compare' for it; {can_be_gated(units)}"
        )


def is_large(delta: float) -> bool:
    """Return whether a change, as a share of a metric's range, is a loss of `LARGE_LOSS` or more."""
    # a loss of 5 of 20 may be 0.24999999999999997
    return delta <= -LARGE_LOSS + 1e-9


def _changed(
    differences: Sequence[Difference], baseline: QuestionScores, allowed: Callable[[int], float]
) -> tuple[str, ...]:
    """Return the questions of the baseline that a run does not have, or with another text or gold; raises
    DataError if they are more than are allowed."""
    found = dict.fromkeys(name for one in differences for name in (*one.changed, *one.removed))
    total = len(baseline.questions)
    if len(found) > allowed(total) or (found and len(found) == total):
        raise DataError(
            f"{len(found)} of the {amount(total, 'question')} of the baseline"
            f" {'is' if len(found) == 1 else 'are'} not in the runs, or with another text or gold answer,"
            f" more than --changed allows: {some_of(list(found))}; 'fathoms score RUN"
            " --questions FILE' scores an earlier run by corrected answers, and --save-baseline makes a new"
            " baseline"
        )
    return tuple(found)


def _only(scores: QuestionScores, baseline: QuestionScores, left_out: Sequence[str]) -> QuestionScores:
    """Return the scores of the questions of the baseline, without some."""
    return scores.only(baseline.questions.keys() - set(left_out))


def _gate_check(family: _Family, check: Check, margin: float, alpha: float) -> GateCheck:
    """Add the questions behind its figures to a check."""
    from fathoms.stats.power import questions_needed, resolvable

    undecided, shown = check.verdict == "UNDECIDED", family.shown
    scale = family.width * shown.part  # of what the judge says
    resolved = resolvable(family.answers, shown.alpha(alpha)) if undecided else 0.0
    of_labels = margin * shown.least / scale  # not above 0 where the judge may show nothing
    needed = questions_needed(family.answers, of_labels, shown.alpha(alpha)) if undecided else None
    return GateCheck(
        family.metric,
        family.category,
        check.verdict,
        tuple(
            GateNight(
                max(-family.limit, min(family.limit, night.delta * family.width)),
                max(scale * family.shown.low(night.low), -family.limit),
                min(-scale * family.shown.low(-night.high), family.limit),
                night.p,
                len(found.ids),
                found.left_out,
            )
            for night, found in zip(check.nights, family.matched, strict=True)
        ),
        check.tests,
        check.lost,
        check.alone,
        check.p,
        len(family.matched[-1].ids),
        min(-scale * shown.low(-resolved), family.limit) if undecided else None,
        needed,
        _scores(family.matched[-1]),
        check.by,
        values_of(family.matched[-1]),
    )


def _scores(found: Matched | MatchedRatios) -> tuple[tuple[str, float, float], ...]:
    """Return the scores of each question on both sides."""
    if isinstance(found, MatchedRatios):
        return ()
    return tuple(zip(found.ids, found.first, found.second, strict=True))


def values_of(found: Matched | MatchedRatios) -> tuple[float, float]:
    """Return the value of a metric on both sides: the ratio of the counts, or the mean of the categories."""
    import numpy as np

    from fathoms.stats.difference import macro_weights
    from fathoms.stats.ratio import ratio_of

    if isinstance(found, MatchedRatios):
        return ratio_of(found.first) or 0.0, ratio_of(found.second) or 0.0
    weights = macro_weights(np.unique(found.categories, return_inverse=True)[1])
    return float(weights @ found.first), float(weights @ found.second)


def require_sound(baseline: QuestionScores, allowed: Callable[[int], float]) -> None:
    """Raise DataError for a baseline that a gate would refuse.

    A baseline is refused for too many failed calls. A baseline of several runs is also refused if it has
    cached replies, which would be counted as independent repeats.
    """
    if len(baseline.runs) > 1:
        _check_cache(baseline)
    _check_failures(baseline, allowed)


def _check_call(
    runs: Sequence[QuestionScores], baseline: QuestionScores, margin: float, alpha: float
) -> None:
    """Raise UsageError for settings or runs that would make the verdict meaningless."""
    if not 0 <= margin < 1:
        raise UsageError(f"--margin {margin}: expected a difference from 0 to 1, such as 0.02")
    if not 0 < alpha < 0.5:
        raise UsageError(f"--alpha {alpha}: expected a chance above 0 and below 0.5, such as 0.025")
    listed = [run.runs[0] for run in runs] + list(baseline.runs)
    if twice := [name for name in dict.fromkeys(listed) if listed.count(name) > 1]:
        raise twice_named(twice[0])


def twice_named(run: str) -> UsageError:
    """The error for a run that is in its own baseline, or is named twice among the runs or the baseline."""
    return UsageError(
        f"{run} is named twice, or is in its own baseline: make a new run ('fathoms run'), or name another"
        " baseline"
    )


def _check_cache(scores: QuestionScores) -> None:
    """Raise DataError for replies from a cache, because they are not new evidence."""
    if scores.cached:
        raise DataError(
            f"{scores.cached} replies of {names(scores)} came from an earlier run's cache and"
            " are no new evidence; run it again without --reuse-replies"
        )


def _check_judge(scores: QuestionScores, metric: str, *, allow_unchecked: bool) -> None:
    """Raise DataError where a metric rests on a judge that nobody can rely on: one that gave no verdict on
    many items, and without `allow_unchecked` one that was not checked, or agrees too little with people."""
    kind = scores.kind_of(metric)
    require_verdicts(scores, metric)
    if kind.judge is None or kind.by_people or allow_unchecked:
        return
    unless = "; --allow-unchecked-judge judges all the same"
    if kind.balanced_accuracy is None:
        raise DataError(
            f"{kind.judge}, the judge of {metric} of {names(scores)}, was never checked against people on"
            " what it is asked for: if that is claims, run 'fathoms agree LABELS --judge FILE', and 'fathoms"
            f" score' again{unless}"
        )
    if kind.balanced_accuracy < LEAST_ACCURACY:
        raise DataError(
            f"{kind.judge}, the judge of {metric} of {names(scores)}, agrees too little with people: balanced"
            f" accuracy {kind.balanced_accuracy:.2f}, and {LEAST_ACCURACY:.2f} is needed{unless}"
        )


def require_verdicts(scores: QuestionScores, metric: str) -> None:
    """Raise DataError where many of the items that a metric rests on have no verdict of the judge, or its
    figure is not one over all questions."""
    require_whole(scores, metric)
    if (unjudged := scores.kind_of(metric).unjudged) > MOST_UNJUDGED:
        raise DataError(
            f"{percent(unjudged, 1)} of what {metric} of {names(scores)} rests on has no verdict of the"
            " judge: 'fathoms score' asks again for what failed or could not be read"
        )


def _check_failures(scores: QuestionScores, allowed: Callable[[int], float]) -> None:
    """Raise DataError for too many failed calls, because an outage does not mean that answers got worse."""
    if scores.failed > allowed(scores.answers):
        raise DataError(
            f"{scores.failed} of {amount(scores.answers, 'question')} of {names(scores)} failed, more than"
            " --fail-on-error allows: no verdict"
        )


def _categories(scores: QuestionScores, runs: Sequence[QuestionScores], metric: str) -> list[str]:
    """Return the categories with at least one question to which a metric applies, in order; for a ratio of
    counts, those in which it has a value on all sides."""
    if scores.adds_counts(metric):
        counted = [
            {
                question.category
                for question in side.questions.values()
                if (ratio := question.ratio(metric)) and ratio[1]
            }
            for side in (scores, *runs)
        ]
        listed = dict.fromkeys(question.category for question in scores.questions.values())
        return [name for name in listed if all(name in found for found in counted)]
    categories = scores.categories
    return list(dict.fromkeys(categories[name] for name, known in scores.values_of(metric).items() if known))


def _family(
    runs: Sequence[QuestionScores], baseline: QuestionScores, metric: str, category: str | None
) -> _Family:
    """Collect the scores of one check, higher where a run is better."""
    from fathoms.stats.noninferiority import Answers

    better = baseline.higher_is_better(metric)
    low, high = range_of(baseline.kind_of(metric).unit) or (0.0, 1.0)
    width = high - low
    categories = baseline.categories
    wanted = [name for name, own in categories.items() if category in (None, own)]
    if baseline.adds_counts(metric):
        return _ratio_family(runs, baseline, metric, category, wanted, width if better else -width)
    matched = tuple(match(baseline, run, metric, wanted) for run in runs)
    numbers = {name: number for number, name in enumerate(_categories(baseline, runs, metric))}
    known = [name for name in wanted if categories[name] in numbers]

    def scaled(scores: QuestionScores) -> tuple[tuple[float, ...], ...]:
        """The scores in [0, 1], where higher is better."""
        found = scores.values_of(metric)
        shares = (tuple([(value - low) / width for value in found[name]]) for name in known)
        return tuple(each if better else tuple([1 - share for share in each]) for each in shares)

    answers = Answers(
        tuple(numbers[categories[name]] for name in known),
        scaled(baseline),
        tuple(map(scaled, runs)),
    )
    shown = shown_part([baseline, *runs], metric)
    return _Family(metric, category, answers, matched, width / shown.part, width, shown)


def shown_part(sides: Iterable[QuestionScores], metric: str) -> Shown:
    """Return the part of a true difference that shows in a metric: 1, or where a judge with known errors
    gives it, sensitivity + specificity - 1 of the worst check, as in Rogan and Gladen's correction.

    A judge that errs alike on both sides moves both means towards each other by that factor. Differences are
    divided by it, so that the margin is one of what people would say. It was measured with few labels, so
    their bounds are divided by what it is at least: half of the accepted chance of a wrong PASS is for that
    limit, and half for the answers (a confidence set for a nuisance parameter; Berger and Boos 1994).
    """
    kinds = [kind for side in sides if (kind := side.kind_of(metric)).judge and kind.balanced_accuracy]
    part = min((2 * (kind.balanced_accuracy or 0) - 1 for kind in kinds), default=1.0)
    if part <= 0:
        return ALL_SHOWN
    return Shown(part, min((2 * (kind.least_accuracy or 0.5) - 1 for kind in kinds), default=1.0))


def _ratio_family(
    runs: Sequence[QuestionScores],
    baseline: QuestionScores,
    metric: str,
    category: str | None,
    wanted: Sequence[str],
    signed: float,
) -> _Family:
    """Collect the linearised differences of a metric that adds up counts over all questions, as scores that
    are 0.5 in the baseline. `signed` is the largest possible difference, negative where lower values are
    better."""
    import numpy as np

    from fathoms.stats.noninferiority import Answers
    from fathoms.stats.ratio import linearised

    matched = tuple(match_ratios(baseline, run, metric, wanted) for run in runs)
    values = [np.sign(signed) * linearised(found.first, found.second) for found in matched]
    width = 2 * max(float(np.abs(each).max()) for each in values) or 1.0
    nights = [
        {name: (0.5 + float(one) / width,) for name, one in zip(found.ids, each, strict=True)}
        for found, each in zip(matched, values, strict=True)
    ]
    known = list(dict.fromkeys(name for found in matched for name in found.ids))
    answers = Answers(
        (0,) * len(known),
        ((0.5,),) * len(known),
        tuple(tuple(night.get(name, ()) for name in known) for night in nights),
    )
    return _Family(metric, category, answers, matched, width, abs(signed))
