"""Judges stored runs with the settings of their config: what `fathoms gate`, the plugin for pytest and
`Result.gate` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fathoms.compare.against_baseline import (
    Gated,
    SectionUsed,
    gate,
    require_sound,
    require_verdicts,
    without_baseline,
)
from fathoms.compare.allowance import allowance
from fathoms.compare.floors import REPLIES, Limit, check_limits, check_replies
from fathoms.compare.gate_settings import GateSettings
from fathoms.compare.question_scores import QuestionScores, count_notes, pool, read_baseline
from fathoms.config import Source, validate
from fathoms.errors import StoreError, UsageError
from fathoms.report.of_sweeps import read_all_scores
from fathoms.runs.finding import find_run, with_earlier
from fathoms.runs.reading import Summary, read_manifest, read_summary
from fathoms.runs.store import Run


@dataclass(frozen=True)
class Terms:
    """How runs are judged.

    `section` is the section of the newest run's config that the settings come from, if there is one.
    `baseline` are references to runs, or files with a saved baseline; several are pooled as repeats.
    `profile` is the profile of the scores, `None` for that of each run, and `out` the folder of the runs.
    `last` is how many nights to judge, `sequential` whether evidence is collected over all nights, and
    `allow_unchecked` whether metrics of an unchecked judge count.
    """

    settings: GateSettings
    section: SectionUsed | None
    baseline: Sequence[str] = ()
    profile: str | None = None
    out: Path = Path("runs")
    last: int = 1
    sequential: bool = False
    allow_unchecked: bool = False

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
    settings, profile, out = terms.settings, terms.profile, terms.out
    allowed = allowance(settings.fail_on_error)
    nights = [read_all_scores(run, profile) for run in stored]
    checked = check_limits(nights[-1], terms.limits, by_category=settings.by_category)
    counts = (read_summary(stored[-1].path) or Summary()).counts
    checked += check_replies(stored[-1].id, counts, settings)
    limited = dict.fromkeys(limit.metric for limit in terms.limits)
    for metric in limited:
        require_verdicts(nights[-1], metric)
    of_limits = count_notes(nights[-1:], limited)
    if not terms.baseline:
        require_sound(nights[-1], allowed)
        found = without_baseline(nights[-1])
        return replace(found.with_limits(checked, of_limits), section=terms.section)
    pooled = pool([_baseline(name, profile, out) for name in terms.baseline])
    if terms.last > 1:
        earlier = with_earlier(stored[0], out, terms.last, pooled.runs)[:-1]
        nights = [*(read_all_scores(run, profile) for run in earlier), *nights]
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
        from fathoms.compare.sequential import judge_in_sequence

        created = read_manifest(stored[0].path).created
        found = judge_in_sequence(found, nights[0], created, pooled, Path(terms.baseline[0]))
    return replace(found.with_limits(checked, of_limits), section=terms.section)


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


def _baseline(reference: str, profile: str | None, out: Path) -> QuestionScores:
    """Read a saved baseline if `reference` is a file, otherwise the scores of a run."""
    if not Path(reference).is_file():
        return read_all_scores(find_run(reference, out), profile)
    scores = read_baseline(Path(reference))
    if profile not in (None, scores.profile):
        raise UsageError(f"{reference} holds scores under the profile '{scores.profile}', not '{profile}'")
    return scores
