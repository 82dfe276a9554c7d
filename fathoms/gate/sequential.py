"""`gate --sequential`: judges night after night, and remembers the nights in a file beside the baseline.

`stats.sequential` has the statistics and says what they guarantee. This module keeps the scores of the nights
that were judged, each once and in the order of time, in the state file: `baseline.sequential.json` beside
`baseline.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from fathoms.compare.question_scores import QuestionScores, aligned, scores_like
from fathoms.config import misread
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.gate.against_baseline import Gated, SequenceCheck
from fathoms.paths import sha256_file, write_atomic
from fathoms.safety.inputs import parse_json, read_text

SCHEMA: Literal[1] = 1
"""The version of the format of the state file."""

Check = tuple[str, str | None]
"""A metric, and the category in which it is checked or `None` for all."""


class _Stored(BaseModel):
    """Base class of what the state file holds; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgedNight(_Stored):
    """One run that was judged: its id, when it was made, its scores by metric and question (one for each
    repeat), and the p value of each check, `null` where it has no scores."""

    run: str
    created: AwareDatetime
    scores: dict[str, dict[str, tuple[float, ...]]]
    p: tuple[Annotated[float, Field(gt=0, le=1)] | None, ...]


class State(_Stored):
    """What is stored between nights. `baseline` is the sha256 of the baseline file. `seed` is that of the
    random numbers that decide among equal ranks. `nights` are in the order of time."""

    kind: Literal["sequential"]
    schema_version: Literal[1]
    baseline: str
    seed: int = Field(ge=0)
    checks: tuple[Check, ...]
    nights: tuple[JudgedNight, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> State:
        """Refuse nights that lack a check or are not in the order of time."""
        metrics = {metric for metric, _ in self.checks}
        if any(len(night.p) != len(self.checks) or set(night.scores) != metrics for night in self.nights):
            raise ValueError("a night does not have all checks")
        if any(one.created >= two.created for one, two in pairwise(self.nights)):
            raise ValueError("the nights are not in the order of time")
        return self


def state_path(baseline: Path) -> Path:
    """Return where the state is kept: `baseline.sequential.json` beside `baseline.json`."""
    return baseline.with_name(f"{baseline.stem}.sequential.json")


def begin_again(file: Path, run: str) -> Path:
    """Move the state of a baseline aside, so that evidence is collected from the next run on, and return
    where it is now. Raises DataError if there is none, and StoreError if it cannot be moved."""
    path = state_path(file)
    if not path.is_file():
        raise DataError(f"{path} does not exist: no night was judged, so there is no alarm to acknowledge")
    moved = path.with_name(f"{file.stem}.sequential.until-{run}.json")
    try:
        path.replace(moved)
    except OSError as error:
        raise StoreError(f"{path} cannot be moved: {error.strerror or error}") from error
    return moved


def judge_in_sequence(
    found: Gated, run: QuestionScores, created: str | None, baseline: QuestionScores, file: Path
) -> Gated:
    """Count a run as the next night after those that were judged before, and decide by all of them.

    `found` is what `gate` says of the run alone; it has the checks. `created` is the run's time, and `file`
    the saved baseline. A run that was judged before is not counted again, and after an alarm no run is
    counted. Raises DataError for a state file that does not fit the baseline, the checks or the run, and
    StoreError if it cannot be written.
    """
    path, (run, _) = state_path(file), aligned(baseline, run)
    checks = tuple((check.metric, check.category) for check in found.checks)
    for metric, _ in checks:
        if baseline.adds_counts(metric):
            raise UsageError(
                f"--sequential ranks the scores of each question, and {metric} has none because it is a ratio"
                " of counts: judge it without --sequential"
            )
    state = _read(path, file, checks)
    scores = {metric: scores_like(run, baseline, metric) for metric, _ in dict.fromkeys(checks)}
    place = next((i for i, night in enumerate(state.nights) if night.run == run.runs[0]), None)
    if place is not None:
        if state.nights[place].scores != scores:
            raise DataError(
                f"{run.runs[0]} was judged before with other scores, so it was scored again in the meantime:"
                f" delete {path} to begin again, and judge the runs in the order of time"
            )
        return found.with_sequence(_decided(state, state.nights[: place + 1], baseline, counted=True))
    before = list(_decided(state, state.nights, baseline, counted=False))
    if any(check.alarm for check in before):
        return found.with_sequence(before)
    time = _time(created, run.runs[0])
    if state.nights and time <= state.nights[-1].created:
        raise DataError(
            f"{run.runs[0]} is not newer than {state.nights[-1].run}, the last run that was judged:"
            f" --sequential judges runs in the order of time; delete {path} to begin again"
        )
    p = tuple(_night_p(state, run.runs[0], check, scores[check[0]], baseline) for check in checks)
    night = JudgedNight(run=run.runs[0], created=time, scores=scores, p=p)
    state = state.model_copy(update={"nights": (*state.nights, night)})
    _write(state, path)
    return found.with_sequence(_decided(state, state.nights, baseline, counted=True))


def _time(created: str | None, run: str) -> datetime:
    """Read the time of a run; raises DataError if its manifest has none."""
    try:
        time = datetime.fromisoformat(created or "")
    except ValueError as error:
        raise DataError(
            f"{run} does not say when it was made, and --sequential judges runs in the order of time:"
            " judge it without --sequential"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _night_p(
    state: State,
    run: str,
    check: Check,
    tonight: dict[str, tuple[float, ...]],
    baseline: QuestionScores,
) -> float | None:
    """Return the p value of one check of a run that follows the nights of the state."""
    from fathoms.stats.sequential import night_p

    # the same seed, run and check give the same number in every process
    text = json.dumps([state.seed, run, *check])
    draw = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
    return night_p(*_pooled(state.nights, check, tonight, baseline), draw)


def _pooled(
    before: Sequence[JudgedNight],
    check: Check,
    tonight: dict[str, tuple[float, ...]],
    baseline: QuestionScores,
) -> tuple[list[list[float]], list[tuple[float, ...]]]:
    """Return the scores so far and tonight's scores of each question of a check."""
    metric, category = check
    names = [name for name in tonight if category in (None, baseline.questions[name].category)]
    sides = [scores_like(baseline, baseline, metric), *(night.scores[metric] for night in before)]
    earlier = [list(chain.from_iterable(side.get(name, ()) for side in sides)) for name in names]
    return earlier, [tonight[name] for name in names]


def _is_alarm_alone(
    nights: Sequence[JudgedNight], place: int, check: Check, baseline: QuestionScores, checks: int
) -> bool:
    """Return whether the last of some nights is an alarm by itself, whatever the random number is that
    decides among equal sums: by that number alone, a night with the answers of the night before would be an
    alarm one time in a hundred."""
    from fathoms.stats.sequential import level_alone, night_p

    level, p = level_alone(len(nights), checks), nights[-1].p[place]
    if p is None or p > level:
        return False
    largest = night_p(*_pooled(nights[:-1], check, nights[-1].scores[check[0]], baseline), draw=0)
    return largest is not None and largest <= level


def _decided(
    state: State, nights: Sequence[JudgedNight], baseline: QuestionScores, *, counted: bool
) -> Iterator[SequenceCheck]:
    """Yield the evidence after the last of some nights for each check, and the alarm if there was one;
    `counted` says whether that night is the run in question."""
    from fathoms.stats.sequential import evidence, needed

    limit = needed(len(state.checks))
    for place, check in enumerate(state.checks):
        levels = evidence(night.p[place] for night in nights)
        alarm: str | None = None
        by: Literal["evidence", "night", "lost"] | None = None
        for number, (night, level) in enumerate(zip(nights, levels, strict=True), 1):
            if level >= limit:
                by = "evidence"
            elif _is_alarm_alone(nights[:number], place, check, baseline, len(state.checks)):
                by = "night"
            elif number == 1 and _lost_too_many(night, check, baseline, len(state.checks)):
                by = "lost"
            if by is not None:
                alarm = night.run
                break
        tonight = nights[-1].p[place] if counted else None
        found = levels[-1] if levels else 0.0
        yield SequenceCheck(*check, tonight, found, limit, len(nights), alarm, by)


def _lost_too_many(night: JudgedNight, check: Check, baseline: QuestionScores, checks: int) -> bool:
    """Return whether a night lost so many right answers of a small baseline of one run that this is an alarm,
    if so many checks are watched."""
    from fathoms.stats.noninferiority import LOST_LEVEL, Answers, lost_p

    metric, category = check
    first = scores_like(baseline, baseline, metric)
    names = [name for name in first if category in (None, baseline.questions[name].category)]
    tonight = night.scores[metric]
    found = lost_p(
        Answers(
            (0,) * len(names),
            tuple(first[name] for name in names),
            (tuple(tonight.get(name, ()) for name in names),),
        )
    )
    return found is not None and found[2] < LOST_LEVEL / checks


def _read(path: Path, baseline: Path, checks: tuple[Check, ...]) -> State:
    """Read the state, or begin a new one if there is no file; raises DataError for one that does not fit."""
    key = sha256_file(baseline)
    if not path.exists():
        return State(
            kind="sequential", schema_version=SCHEMA, baseline=key, seed=int(key[:8], 16), checks=checks
        )
    data = parse_json(read_text(path), str(path))
    schema = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(f"{path} was written by a newer fathoms (schema {schema})")
    try:
        state = State.model_validate(data)
        if any(True for _ in misread(state, data)):
            raise ValueError("a value of another type")
    except ValueError as error:
        where = ""
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            where = f" ({': '.join(filter(None, ['.'.join(map(str, first['loc'])), first['msg']]))})"
        raise DataError(
            f"{path} is not a state of 'fathoms gate --sequential'{where}: delete it to begin again"
        ) from error
    if state.baseline != key:
        raise DataError(
            f"{path} belongs to another baseline than {baseline}: delete it to begin again with the new one"
        )
    if state.checks != checks:
        raise DataError(
            f"{path} watches {_listed(state.checks)}, not {_listed(checks)}: give the same --metric and"
            " --by-category every night, or delete it to begin again"
        )
    return state


def _listed(checks: Sequence[Check]) -> str:
    """Name checks for a message."""
    return ", ".join(f"{metric} in {category}" if category else metric for metric, category in checks)


def _write(state: State, path: Path) -> None:
    """Write the state, such that a reader sees the old file or the new one; raises StoreError."""
    text = json.dumps(state.model_dump(mode="json"), ensure_ascii=False) + "\n"
    try:
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
