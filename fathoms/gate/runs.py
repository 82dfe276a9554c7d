"""Judges stored runs with the settings of their config: what `fathoms gate`, the plugin for pytest and
`Result.gate` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from fathoms.compare.question_scores import QuestionScores, count_notes, pool
from fathoms.config import Source, validate
from fathoms.errors import FathomsError, StoreError, UsageError, amount, some_of
from fathoms.gate.against_baseline import (
    Gated,
    SectionUsed,
    gate,
    require_sound,
    require_verdicts,
    without_baseline,
)
from fathoms.gate.baselines import read_baseline
from fathoms.gate.limits import REPLIES, Limit, check_limits, check_replies
from fathoms.gate.settings import GateSettings, allowance
from fathoms.gate.small_sets import (
    acknowledge,
    acknowledged_path,
    apply_acknowledged,
    failed_calls,
    judge_small,
)
from fathoms.report.ending import causes_of, failures_of, listed_causes
from fathoms.report.of_sweeps import read_all_scores
from fathoms.runs.finding import with_earlier
from fathoms.runs.order import is_run, run_name
from fathoms.runs.run import Run, read_manifest, read_summary
from fathoms.runs.scorings import open_scored
from fathoms.types.run.summary import NewQuestions, Summary

Rescored = Callable[[Run, Run, str | None], tuple[QuestionScores, NewQuestions]]
"""Scores a run by the questions of a newer one under a profile, and says what differs between these."""
MONTH = 30
"""How many earlier runs are looked at for the beginning of an alarm."""


@dataclass(frozen=True)
class Terms:
    """The terms by which runs are judged: settings, baseline and profile.

    `section` is the section of the newest run's config that the settings come from, if there is one.
    `baseline` are references to runs, or files with a saved baseline; several are pooled as repeats.
    `profile` is the profile of the scores, `None` for that of each run, and `out` the folder of the runs.
    `last` is how many nights to judge, `sequential` whether evidence is collected over all nights, and
    `allow_unchecked` whether metrics of an unchecked judge count. By `rescored`, the baseline and the nights
    before the newest one are scored by the questions of that one.
    """

    settings: GateSettings
    section: SectionUsed | None
    baseline: Sequence[str] = ()
    profile: str | None = None
    out: Path = Path("runs")
    last: int = 1
    sequential: bool = False
    allow_unchecked: bool = False
    rescored: Rescored | None = None

    def with_rescored(self, *, saves: bool = False) -> Terms:
        """Return the terms with a baseline that is scored again; raises UsageError where there is none, or
        where one that changes from night to night is of no use."""
        from fathoms.scoring.rescored import rescored

        if self.sequential or saves or not self.baseline:
            raise UsageError(
                "--rescore scores the baseline of one verdict again: give --baseline, and leave out"
                " --save-baseline and --sequential ('fathoms score RUN --questions FILE' and 'fathoms gate"
                " RUN --save-baseline FILE' make a baseline by other questions)"
            )
        return replace(self, rescored=rescored)

    @property
    def limits(self) -> list[Limit]:
        """The fixed limits of the settings."""
        least = [Limit(name, "min", value) for name, value in self.settings.min.items()]
        return least + [Limit(name, "max", value) for name, value in self.settings.max_rate.items()]

    @property
    def has_limits(self) -> bool:
        """Whether there is a fixed limit, for a metric or for the replies as a whole."""
        return bool(self.limits) or any(getattr(self.settings, name) is not None for name in REPLIES)


def settings_of(run: Run, given: Mapping[str, Any]) -> tuple[GateSettings, SectionUsed | None]:
    """Return the settings to judge with: those that are given as options (not `None`), the others from the
    section `gate` of the config that a run was made with, or the defaults if it has none. The second value
    names that section. Raises UsageError for an allowance that cannot be read."""
    options = {key: value for key, value in given.items() if value is not None}
    section = read_manifest(run.path).config.get("gate")
    if section is None:
        settings, used = GateSettings().model_copy(update=options), None
    elif isinstance(section, dict):
        source = Source(f"{run.path}/manifest.json, config.gate", section)
        settings = validate(GateSettings, source).model_copy(update=options)
        used = SectionUsed(run.id, tuple(options))
    else:
        raise StoreError(f"{run.path}/manifest.json: the section 'gate' of its config is not a mapping")
    allowance(settings.fail_on_error)
    for name in ("changed", *REPLIES):
        if (text := getattr(settings, name)) is not None:
            allowance(text, f"--{name.replace('_', '-')}")
    return settings, used


def judge_runs(stored: Sequence[Run], terms: Terms) -> Gated:
    """Judge runs, oldest first, by fixed limits and against a baseline if there is one.

    Raises UsageError or DataError where a verdict would be meaningless.
    """
    settings, out = terms.settings, terms.out
    allowed = allowance(settings.fail_on_error)
    scores = _Scores(stored[-1], terms)
    nights = [scores.of(run) for run in stored]
    checked = check_limits(nights[-1], terms.limits, by_category=settings.by_category)
    counts = (read_summary(stored[-1].path) or Summary()).counts
    checked += check_replies(stored[-1].id, counts, settings)
    if settings.preset == "small":
        checked.append(failed_calls(nights[-1], allowed, listed_causes(causes_of(failures_of(stored[-1])))))
    limited = dict.fromkeys(limit.metric for limit in terms.limits)
    for metric in limited:
        require_verdicts(nights[-1], metric)
    of_limits = count_notes(nights[-1:], limited)
    if not terms.baseline:
        require_sound(nights[-1], allowed)
        found = without_baseline(nights[-1])
        return replace(found.with_limits(checked, of_limits), section=terms.section)
    pooled = pool([one for name in terms.baseline for one in scores.of_baseline(name)])
    if settings.preset == "small":
        found = _judge_small(stored, nights, pooled, scores)
        return replace(found.with_limits(checked, scores.notes + of_limits), section=terms.section)
    if terms.last > 1:
        earlier = with_earlier(stored[0], out, terms.last, pooled.runs)[:-1]
        nights = [*map(scores.of, earlier), *nights]
    found = gate(
        nights,
        pooled,
        list(dict.fromkeys(settings.metric)),
        margin=settings.margin,
        alpha=settings.alpha,
        by_category=settings.by_category,
        allowed=allowed,
        allowed_changes=allowance(settings.changed, "--changed"),
        allow_unchecked=terms.allow_unchecked,
    )
    if terms.sequential:
        from fathoms.gate.sequential import judge_in_sequence

        created = read_manifest(stored[0].path).created
        found = judge_in_sequence(found, nights[0], created, pooled, Path(terms.baseline[0]))
    return replace(found.with_limits(checked, scores.notes + of_limits), section=terms.section)


def _judge_small(
    stored: Sequence[Run], nights: Sequence[QuestionScores], baseline: QuestionScores, scores: _Scores
) -> Gated:
    """Judge one run with the preset for few questions, and say since when its alarm has been there. Raises
    UsageError for options that the preset does not have."""
    terms = scores.terms
    settings = terms.settings
    if terms.sequential or terms.last > 1 or len(stored) > 1 or settings.by_category:
        raise UsageError(
            "--preset small judges one run over all categories: name one run, without --sequential, --last"
            " and --by-category"
        )

    def judge(run: QuestionScores) -> Gated:
        return judge_small(
            run,
            baseline,
            list(dict.fromkeys(settings.metric)),
            allowed=allowance(settings.fail_on_error),
            allowed_changes=allowance(settings.changed, "--changed"),
            allow_unchecked=terms.allow_unchecked,
        )

    found, since = judge(nights[0]), None
    if found.verdict == "FAIL":
        for earlier in reversed(with_earlier(stored[0], terms.out, MONTH, baseline.runs)[:-1]):
            try:
                before = judge(scores.of(earlier))
            except FathomsError:  # a run that cannot be judged ends the row of alarms
                break
            if before.verdict != "FAIL":
                break
            since = (read_manifest(earlier.path).created or "")[:10] or None
    found = replace(found, losses=tuple(replace(each, since=since) for each in found.losses))
    return apply_acknowledged(found, read_manifest(stored[0].path).created, acknowledged_of(stored[0], terms))


def acknowledged(stored: Sequence[Run], terms: Terms, until: date | None) -> str:
    """Mark the alarm of the newest run as seen, and return a sentence about it. Raises UsageError unless the
    gate is one that has alarms, and DataError if there is none."""
    if terms.sequential:
        from fathoms.gate.sequential import begin_again

        if until:
            raise UsageError(
                "--until goes with --preset small: --sequential begins again after --acknowledge"
            )
        moved = begin_again(Path(terms.baseline[0]), stored[-1].id)
        return f"evidence is collected from the next run on; that until now is in {moved}"
    if terms.settings.preset is None or not terms.baseline:
        raise UsageError("--acknowledge needs --baseline, and --preset small or --sequential")
    path = acknowledged_of(stored[-1], terms)
    last = acknowledge(judge_runs(stored, terms), read_manifest(stored[-1].path).created, until, path)
    return f"acknowledged until {last}, or until another question is lost: {path}"


def acknowledged_of(run: Run, terms: Terms) -> Path:
    """Return where acknowledged alarms of a pipeline are stored: beside the saved baseline, or with the runs
    if the baseline is one of them."""
    first = Path(terms.baseline[0])
    return acknowledged_path(first if first.is_file() else terms.out / f"{run_name(run.id)}.json")


def by_direction(scores: QuestionScores, wanted: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Turn wanted values of metrics into `min` for metrics where higher is better, and `max_rate` for the
    others. `rouge_l` means `rouge-l`, because keywords of Python have no hyphens. Raises UsageError for a
    metric that the run does not have."""
    found: dict[str, dict[str, float]] = {}
    for name, value in wanted.items():
        metric = name if name in scores.metrics else name.replace("_", "-")
        side = "min" if scores.higher_is_better(metric) else "max_rate"
        found.setdefault(side, {})[metric] = value
    return found


class _Scores:
    """Reads the scores of runs for a gate as its `terms` want them; `notes` say by which questions those of
    other runs than the `newest` count."""

    def __init__(self, newest: Run, terms: Terms) -> None:
        self.terms = terms
        self._newest = newest
        self._found: dict[str, NewQuestions] = {}

    def of(self, run: Run, profile: str | None = None) -> QuestionScores:
        """Return the scores of a run, under the profile of the terms if none is named."""
        profile = profile or self.terms.profile
        if self.terms.rescored is None or run.id == self._newest.id:
            return read_all_scores(run, profile)
        scores, self._found[run.id] = self.terms.rescored(run, self._newest, profile)
        return scores

    def of_baseline(self, reference: str) -> list[QuestionScores]:
        """Return the scores of a baseline: those that it holds, or those of its runs."""
        profile, out = self.terms.profile, self.terms.out
        if not Path(reference).is_file():
            if reference.endswith(".json") and "@" not in reference:
                raise UsageError(f"no file {reference}; --save-baseline {reference} makes one")
            return [self.of(open_scored(reference, out))]
        scores = read_baseline(Path(reference))
        if profile not in (None, scores.profile):
            raise UsageError(
                f"{reference} holds scores under the profile '{scores.profile}', not '{profile}'"
            )
        if self.terms.rescored is None:
            return [scores]
        if missing := [run for run in scores.runs if not is_run(out / run)]:
            raise UsageError(
                f"--rescore needs the answers of the baseline, and {out} does not have its runs"
                f" {', '.join(missing)}: name their folder with --out, or leave out --rescore"
            )
        return [self.of(Run(out / run), scores.profile) for run in scores.runs]

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence about the runs that were scored again, if there are any."""
        if not self._found:
            return ()
        corrected = list(dict.fromkeys(name for one in self._found.values() for name in one.corrected))
        which = f" ({some_of(corrected)})" if corrected else ""
        return (
            f"{', '.join(self._found)} {'was' if len(self._found) == 1 else 'were'} scored again by the gold"
            f" answers of {self._newest.id}, which differ for {amount(len(corrected), 'question')}{which};"
            " the stored scores stay what they were",
        )
