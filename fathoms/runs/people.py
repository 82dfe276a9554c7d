"""What people say of answers, stored in files of a run with one line for each thing they said.

`labels.jsonl` holds labels of claims, `grades.jsonl` grades of quality, and `errors.jsonl` the errors that
people found; `samples.jsonl` says how the answers were drawn whose claims were labelled. `ratings.py` has
their ratings of scores.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import DataError, StoreError
from fathoms.paths import sha256_file
from fathoms.runs.journal import Journal, Line, journal_line
from fathoms.types import Judgement, Question, Rubric, StoredValue

LABELS_FILE = "labels.jsonl"
GRADES_FILE = "grades.jsonl"
ERRORS_FILE = "errors.jsonl"
SAMPLES_FILE = "samples.jsonl"
SCHEMA = 1

Likert = Annotated[int, Field(ge=1, le=5, strict=True)]
"""A grade from 1 to 5."""
S = TypeVar("S", bound=StoredValue)


class OfAnswer(StoredValue):
    """What one reviewer said of an answer. `seed` is that of the sample; `time` is UTC."""

    run: str
    question: str
    repeat: int = 0
    reviewer: str
    seed: int
    comment: str | None = None
    time: str

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What was judged: run, question and repeat."""
        return self.run, self.question, self.repeat


class Grade(OfAnswer):
    """A grade of the quality of an answer, from 1 (bad) to 5 (good)."""

    grade: Likert


class FoundErrors(OfAnswer):
    """The errors that a reviewer found in an answer, by their names in the taxonomy that was shown;
    `taxonomy` is a fingerprint of its names. None of them may fit."""

    errors: tuple[str, ...]
    taxonomy: str

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What was searched: run, question, repeat, and the taxonomy, since another has other errors."""
        return *super().key, self.taxonomy


class AmbiguityLabel(OfAnswer):
    """Whether a reviewer calls a question clear or ambiguous; `run` is the name of its question file."""

    label: Literal["clear", "ambiguous"]
    text: str | None = None
    """The text of the question that was decided about."""


class Decision(OfAnswer):
    """What a reviewer decided about a question of a set; `run` is the name of its question file.

    `before` is the question as the set or its drafts had it, `listed` whether the set had it, and `after` the
    question as it was mended. `open` takes an earlier decision back. A decision that `settles` ends a
    disagreement, and is not counted as a judgement of its own.
    """

    decision: Literal["accept", "mend", "drop", "open"]
    before: Question
    listed: bool = True
    after: Question | None = None
    settles: bool = False

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What was decided: the question, and whether a disagreement about it was settled."""
        return self.run, self.question, self.settles

    @property
    def result(self) -> Question | None:
        """The question that the set has by this decision; `None` if it has none."""
        if self.decision == "drop" or (self.decision == "open" and not self.listed):
            return None
        return self.after if self.decision == "mend" else self.before


class ClaimLabel(OfAnswer):
    """A label of a claim of an answer, compared with one source.

    `claim`, `premise`, `context`, `image` and `rubric` are what was judged: see `Judgement`; of a picture,
    `image` is the SHA-256. `label` is one of those of judges, and `group` the question, so that the file can
    be read as the labels of any judge's check. The answer was drawn for a `metric`; where not all had the
    same chance, `size` is its chance relative to the average.
    """

    claim: str
    premise: str = ""
    label: str
    context: str = ""
    image: str | None = None
    rubric: Rubric = "support"
    group: str
    metric: str | None = None
    size: float | None = None

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What was judged: run, question, and what was compared."""
        return self.run, self.question, self.what

    @property
    def what(self) -> Judged:
        """The claim with its sources, and the question that was asked about it."""
        return self.claim, self.premise, self.context, self.image, self.rubric


class DrawnSample(StoredValue):
    """How likely each answer of a run was to be drawn for people's labels for a metric, with a seed, where
    not all had the same chance: `sizes` has the chances by question, relative to the average. A later session
    with the same seed goes on with it, whatever the judge says by then."""

    run: str
    metric: str
    seed: int
    time: str
    sizes: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]

    @property
    def key(self) -> SampleKey:
        """What labels of the sample name."""
        return self.metric, self.seed


SampleKey = tuple[str | None, int]
"""The metric that a sample was drawn for, and the seed."""

_NAMES: dict[type[OfAnswer], str] = {
    Grade: "a grade",
    FoundErrors: "what errors were found",
    ClaimLabel: "a label",
    AmbiguityLabel: "whether a question is ambiguous",
    Decision: "a decision about a question",
}

Judged = tuple[str, str, str, str | None, Rubric]
"""A claim, its premise, context, the hash of a picture, and the rubric."""


def judged(judgement: Judgement) -> Judged:
    """Return what a judgement asks for, as labels name it; raises DataError if a picture cannot be read."""
    image = None if judgement.image is None else picture_hash(judgement.image)
    return judgement.claim, judgement.premise, judgement.context, image, judgement.rubric


def picture_hash(path: Path) -> str:
    """Return the SHA-256 of a picture that a claim is compared with, which is read again only if the file has
    changed; raises DataError if it cannot be read."""
    try:
        seen = path.stat()
        return _hash_of(path, seen.st_mtime_ns, seen.st_size)
    except OSError as error:
        raise DataError(
            f"{path}: the picture that a claim is compared with cannot be read ({error.strerror}): put it"
            " back, and run the command again"
        ) from error


@lru_cache(maxsize=4096)
def _hash_of(path: Path, changed: int, size: int) -> str:
    """Return the SHA-256 of a file that was changed at this time and has this size."""
    return sha256_file(path)


Kind = TypeVar("Kind", bound=OfAnswer)


def read_all(paths: Iterable[Path], kind: type[Kind]) -> list[Kind]:
    """Return the last that every reviewer said of each thing; raises StoreError."""
    return latest(said for path in paths for said in read_said(path, kind, _NAMES[kind]))


def latest(said: Iterable[Kind]) -> list[Kind]:
    """Return the last that every reviewer said of each thing."""
    return list({(one.key, one.reviewer): one for one in said}.values())


def read_samples(folder: Path) -> list[DrawnSample]:
    """Return how the answers of a run were drawn that people label; raises StoreError."""
    return read_said(folder / SAMPLES_FILE, DrawnSample, "how a sample was drawn")


def append_said(path: Path, said: StoredValue) -> None:
    """Append what somebody said; it is on disk when this returns. Raises StoreError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made: {error.strerror or error}") from error
    Journal(path).append([journal_line({"schema": SCHEMA, **said.model_dump(mode="json")})])


def read_decisions(path: Path) -> list[Decision]:
    """Read everything that was ever decided about the questions of a set, in order; raises StoreError."""
    return read_said(path, Decision, _NAMES[Decision])


def read_said(path: Path, kind: type[S], name: str) -> list[S]:
    """Read a file of what people said; empty where there is no file.

    Raises StoreError, naming the line, for one that is damaged, is not of this kind or has a later schema;
    `name` says what it should be. A partial line, as left by a killed writer, is skipped.
    """
    return [said for line in Journal(path) if (said := _said(line, path, kind, name)) is not None]


def _said(line: Line, path: Path, kind: type[S], name: str) -> S | None:
    """Parse one line; `None` for a partial line. Raises StoreError for anything else that is not one."""
    place, flaw, said = f"{path}:{line.number}", line.flaw, None
    try:
        value = {} if flaw else json.loads(line.text)
        said = None if flaw else kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        flaw = ": ".join(filter(None, (dotted(first["loc"]), first["msg"])))
    except RecursionError:
        flaw = "it is nested too deeply"
    except ValueError:
        return None
    flaw = flaw or next((f"{dotted(key)}: {what}" for key, what in misread(said, value)), None)
    if flaw:
        raise StoreError(f"{place}: not {name}: {flaw}; remove the line, or move the file away")
    if value.get("schema", SCHEMA) != SCHEMA:
        raise StoreError(f"{place}: written by a newer fathoms: install that, or move the file away")
    return said
