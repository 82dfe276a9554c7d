"""The figures of one pipeline over its nights: with intervals, with what changed between two nights, and with
what the gate said of each."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fathoms.compare.question_scores import QuestionScores, aligned, read_scores, scores_like
from fathoms.errors import DataError, StoreError, UsageError, some_of, suggest
from fathoms.runs.listing import SUMMARY
from fathoms.runs.missed import missed
from fathoms.runs.run import Run
from fathoms.text.amounts import percent
from fathoms.types.run.figures import MetricFigures, range_of
from fathoms.types.run.manifest import Data
from fathoms.types.run.part import Number

LONGEST = 1_000_000
"""The most characters of a line of a log that is read."""
_SHORT = 60


@dataclass(frozen=True)
class Night:
    """One night of the pipeline: its run, or an empty `run` where none could be made. Its figure is `None`
    where it has none, and `why` says why, or what it lacks. `changes` are what differs from the run before,
    each with the name of what has changed first."""

    run: str
    created: str
    value: Number | None = None
    low: Number | None = None
    high: Number | None = None
    n: int = 0
    errors: int | None = None
    calls: int | None = None
    retried: int | None = None
    empty: int | None = None
    same: int | None = None
    markup: int | None = None
    cost: Number | None = None
    verdict: str | None = None
    line: str | None = None
    changes: tuple[tuple[str, str], ...] = ()
    why: str | None = None

    @property
    def bounds(self) -> tuple[Number, Number] | None:
        """The interval of the figure, `None` if it is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class _Common:
    """The figures of runs over the questions that all of them have with the same gold answers: by run what
    replaces its own figure, if it has other questions too. `notes` say which questions these are."""

    figures: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Trend:
    """The nights of a pipeline, oldest first, by one metric. `direction` says which values are better, and
    `bounds` are the lowest and the highest value that there can be, `None` without bounds. `notes` say over
    which questions the figures are, where not all nights have the same."""

    name: str
    metric: str
    direction: str
    unit: str
    bounds: tuple[float, float] | None
    nights: tuple[Night, ...]
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the trend as JSON values."""
        return asdict(self)


def trend(
    name: str, runs: Sequence[Run], metric: str | None, verdicts: Mapping[str, tuple[str, str]]
) -> Trend:
    """Read the figures of some runs of one pipeline, oldest first.

    `metric` is by default the correctness, or recall@10 of runs that only searched; `verdicts` are the
    verdict and the line of the gate by run (`gate_verdicts`). Raises UsageError if no run has the metric.
    """
    loaded = [_loaded(run) for run in runs]
    scored = [run for run in loaded if isinstance(run, Run)]
    if not scored:
        raise DataError(f"no run of '{name}' is scored: run 'fathoms score {name}'")
    wanted = metric or ("recall@10" if scored[-1].summary.retrieval_only else "correctness")
    known = _metrics_of(scored[-1])
    found = next((have for run in reversed(scored) if (have := _metrics_of(run).get(wanted))), None)
    if found is None:
        raise UsageError(f"no run of '{name}' has the metric '{wanted}'{suggest(wanted, known)}")
    common = _common([run for run, one in zip(runs, loaded, strict=True) if one in scored], scored, wanted)
    nights, before = [], None
    for run, one in zip(runs, loaded, strict=True):
        if isinstance(one, str):
            nights.append(Night(run.id, "", why=one))
            continue
        night = _night(run, one, wanted)
        verdict, line = verdicts.get(run.id, (None, None))
        changes = tuple(_changes(before, one, questions=common is None)) if before is not None else ()
        over = dict(common.figures.get(run.id, {})) if common else {}
        if over and night.why:
            over["why"] = f"{over['why']}; {night.why}"
        said = {"verdict": verdict, "line": line, "changes": changes}
        nights.append(Night(**{**asdict(night), **over, **said}))
        before = one
    for missing in _without_run(name, runs[0]):
        later = (at for at, night in enumerate(nights) if night.created > missing.created)
        nights.insert(next(later, len(nights)), missing)
    with_value = tuple(key for key, have in known.items() if have.overall.value is not None)
    notes = common.notes if common else ()
    bounds = range_of(found.unit)
    return Trend(name, wanted, found.direction, found.unit, bounds, tuple(nights), with_value, notes)


def _common(runs: Sequence[Run], loaded: Sequence[Run], metric: str) -> _Common | None:
    """Return the figures over the questions that all runs have, where not all have the same; `None` where
    they have, where these are less than half of the newest, or where the metric has no mean of questions."""
    if len({_version(one) for one in loaded}) < 2:
        return None
    try:
        newest, *others = (read_scores(run) for run in reversed(runs))
        pairs = [aligned(newest, other) for other in others]
    except (DataError, StoreError):
        return None
    names = [
        name
        for name, one in newest.questions.items()
        if all(name in side.questions and side.questions[name].gold == one.gold for side, _ in pairs)
    ]
    sides = [newest, *(side for side, _ in pairs)]
    known = all(metric in side.metrics and not side.adds_counts(metric) for side in sides)
    if not known or 2 * len(names) < len(newest.questions) or range_of(newest.metrics[metric].unit) is None:
        return None
    by_questions = _metrics_of(loaded[-1])[metric].pooling == "questions"
    figures = {
        side.runs[0]: _figure(side, newest, names, metric, by_questions=by_questions)
        for side in sides
        if len(names) < len(side.questions)
    }
    common = frozenset(names)
    left_out = dict.fromkeys(name for side in sides for name in side.questions if name not in common)
    said = (
        f"figures are over the {len(names)} questions that all these runs have with the same gold answers;"
        f" not counted: {len(left_out)} ({some_of(list(left_out))})"
    )
    more = (note for _, found in pairs for note in found.notes)
    return _Common(figures, tuple(dict.fromkeys([said, *more])) if left_out else ())


def _figure(
    side: QuestionScores, newest: QuestionScores, names: Sequence[str], metric: str, *, by_questions: bool
) -> dict[str, Any]:
    """Return the figure of a run over some questions, in the categories that they have in the newest run."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    low, high = range_of(side.metrics[metric].unit) or (0.0, 1.0)
    strata: dict[str, list[float]] = {}
    for name in names:
        if (value := side.questions[name].mean(metric)) is not None:
            strata.setdefault(newest.questions[name].category, []).append((value - low) / (high - low))
    n = sum(map(len, strata.values()))
    if not n:
        return {
            "value": None,
            "low": None,
            "high": None,
            "n": 0,
            "why": "none of the common questions has it",
        }
    weights = np.array([len(one) / n if by_questions else 1 / len(strata) for one in strata.values()])
    parts = [np.array(one) for one in strata.values()]
    interval = stratified_interval(parts, weights)
    value = float(weights @ np.array([one.mean() for one in parts]))
    scaled = (low + each * (high - low) for each in (value, interval.low, interval.high))
    why = f"over {len(names)} of its {len(side.questions)} questions"
    return {**dict(zip(("value", "low", "high"), scaled, strict=True)), "n": n, "why": why}


def _version(run: Run) -> tuple[Any, ...]:
    """Return what says which questions a run has, and by which it was scored."""
    data, new = run.manifest.data, run.summary.questions
    return data.questions_sha256, _selection(data), new and new.sha256


@dataclass(frozen=True)
class Wavering:
    """A question with right and wrong answers by one and the same pipeline, and how many of each; `now` is
    the share of right ones in the newest run, `None` if that has no answer to it."""

    question: str
    category: str
    right: int
    wrong: int
    now: float | None


@dataclass(frozen=True)
class Flaky:
    """The questions that waver by one metric, those nearest to half first. `runs` are those with the pipeline
    of the newest one, which were counted, and `questions` how many questions they have. `alarms` is how many
    runs were left out because the gate said FAIL: what breaks and is repaired does not waver."""

    name: str
    metric: str
    runs: tuple[str, ...]
    questions: int
    wavering: tuple[Wavering, ...]
    alarms: int = 0


def flaky(
    name: str,
    runs: Sequence[Run],
    metric: str | None,
    verdicts: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> Flaky:
    """Find the questions that waver in runs of a pipeline, oldest first; a score above one half is right.
    Runs for which the gate said FAIL (`gate_verdicts`) are left out, but for the newest one. Raises DataError
    if the newest run is not scored, and UsageError if it does not have the metric."""
    wanted = metric or "correctness"
    prints = runs[-1].manifest.fingerprints
    same = [run for run in runs if run.manifest.fingerprints == prints]
    newest = read_scores(runs[-1])
    scores = [newest]
    calm = [run for run in same[:-1] if verdicts.get(run.id, ("", ""))[0] != "FAIL"]
    for run in calm:
        with suppress(DataError):  # a run without scores, or without these questions, says nothing
            scores.append(aligned(newest, read_scores(run, newest.profile))[0])
    sides = [scores_like(each, newest, wanted) for each in scores]
    found = []
    for question, score in newest.questions.items():
        right = [value > 0.5 for side in sides for value in side.get(question, ())]
        if 0 < sum(right) < len(right):
            now = [value > 0.5 for value in sides[0].get(question, ())]
            share = sum(now) / len(now) if now else None
            found.append(Wavering(question, score.category, sum(right), len(right) - sum(right), share))
    found.sort(key=lambda one: (-min(one.right, one.wrong) / (one.right + one.wrong), one.question))
    ids = tuple(sorted(each.runs[0] for each in scores))
    return Flaky(name, wanted, ids, len(newest.questions), tuple(found), len(same) - 1 - len(calm))


def _loaded(run: Run) -> Run | str:
    """Read a run, or say why it has no figures."""
    try:
        if not (run.path / SUMMARY).is_file():
            return "not scored"
        found = Run.scored(run.path)
        found.profile()
    except (StoreError, DataError) as error:
        return str(error)
    return found


def _without_run(name: str, first: Run) -> list[Night]:
    """Return the nights since the first run on which no run could be made."""
    since = first.manifest.created or ""
    return [
        Night("", one.created, why=f"no run: {one.why}")
        for one in missed(first.path.parent, name)
        if one.created > since
    ]


def _metrics_of(run: Run) -> dict[str, MetricFigures]:
    """Return the figures of all metrics of a run under its headline profile."""
    return run.metrics()


def _night(run: Run, found: Run, metric: str) -> Night:
    """Return the figure of one run."""
    figures = _metrics_of(found).get(metric)
    overall = figures.overall if figures else None
    why = None
    if overall is None or overall.value is None:
        why = (figures.missing if figures else None) or f"it has no {metric}"
    elif figures and figures.judged and figures.judged.unjudged:
        why = f"{percent(figures.judged.share, 1)} of the items have no verdict of the judge"
    elif (
        found.summary.judges_labels and found.summary.judging and (unjudged := found.summary.judging.unjudged)
    ):
        why = f"{unjudged} of {found.summary.counts.answered} answers are judged only in part"
    counts = found.summary.counts
    return Night(
        run=run.id,
        created=found.manifest.created or "",
        value=overall.value if overall else None,
        low=overall.low if overall else None,
        high=overall.high if overall else None,
        n=overall.n if overall else 0,
        errors=counts.errors,
        calls=counts.calls,
        retried=counts.retried,
        empty=counts.empty,
        same=counts.same,
        markup=counts.markup,
        cost=found.summary.known_cost,
        why="; ".join(filter(None, [why, ", ".join(counts.rubbish)])) or None,
    )


def _changes(before: Run, after: Run, *, questions: bool) -> Iterator[tuple[str, str]]:
    """Yield what differs between two runs, by what a reader must know before comparing their figures; of the
    questions only where it is asked for."""
    old, new = before.manifest, after.manifest
    was, is_now = old.data, new.data
    if questions and _version(before) != _version(after):
        yield "questions", f"{_selection(was)[1]} to {_selection(is_now)[1]} questions"
    if _documents(was) != _documents(is_now):
        same = sum(_documents(is_now).get(name) == sha for name, sha in _documents(was).items())
        yield "documents", f"{same} of {len(_documents(was))} are the same, now {len(_documents(is_now))}"
    if before.summary.model != after.summary.model:
        yield "model", f"{_brief(before.summary.model)} to {_brief(after.summary.model)}"
    if old.served != new.served:
        yield "server", "it reports something else about itself"
    first, second = (", ".join(run.summary.service.versions) for run in (before, after))
    if first != second:
        yield "service", f"{_brief(first)} to {_brief(second)}"
    versions = (str(each.versions.get("fathoms")) for each in (old, new))
    if len(set(found := tuple(versions))) > 1:
        yield "fathoms", " to ".join(found)
    stages = old.fingerprints, new.fingerprints
    names = [name for name in {**stages[0], **stages[1]} if stages[0].get(name) != stages[1].get(name)]
    if names:
        yield "settings", ", ".join(names)
    if before.summary.profile != after.summary.profile:
        yield "profile", f"{before.summary.profile} to {after.summary.profile}"


def _selection(data: Data) -> tuple[tuple[str, ...], int]:
    """Return the ids of the questions that were asked, and their number."""
    return data.asked_ids, len(data.asked_ids) or data.asked or data.questions


def _documents(data: Data) -> dict[str, str | None]:
    """Return the hash of each document."""
    return {name: one.sha256 for name, one in data.documents.items()}


def _brief(text: object) -> str:
    """Return a name of somebody else's on one line, not too long."""
    line = " ".join(str(text or "none").split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def gate_verdicts(logs: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Return what the gate said of each run, as its verdict and its line, from log files of `--log-file`; of
    a run that was judged several times what it said last, in whatever order the files are named. Raises
    UsageError for a file that cannot be read, or is compressed."""
    found: dict[str, tuple[str, str, str]] = {}
    for path in logs:
        try:
            with path.open("rb") as data:
                if data.peek(2)[:2] == b"\x1f\x8b":
                    raise UsageError(f"{path} is compressed: unpack it first, such as with 'gunzip -k'")
                file = io.TextIOWrapper(data, "utf-8", "replace")
                for line in iter(partial(file.readline, LONGEST), ""):
                    for run, said in _judged(line) if '"gate-judged"' in line else ():
                        if said[0] >= found.get(run, said)[0]:
                            found[run] = said
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    return {run: (verdict, line) for run, (_, verdict, line) in found.items()}


def _judged(line: str) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the run that a line of a log is about, with the time, the verdict and the line of the gate;
    nothing where the line is not what the gate writes."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(event, dict) and event.get("event") == "gate-judged":
        said = str(event.get("time") or ""), str(event.get("verdict"))[:20], str(event.get("line"))[:500]
        yield str(event.get("run")), said
