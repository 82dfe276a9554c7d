"""Reads the files that MiRAGE released (Martin et al. 2025, "Seeing Through the MiRAGE: Evaluating Multimodal
Retrieval Augmented Generation"; other projects have the same name), by their names, from any folder below
a given one.

Each file has an entry for every topic:

- `preference_key.json`: which system wrote the first, second and third answer
- `preference_json_N.json`: a person's quality judgements of the answers, 1 to 5
- `metric_prediction_SYSTEM_annotator_N_DONE.json`: whether a person finds each claim of the answer supported
  by the reference
- `metric_reference_SYSTEM_annotator_N_DONE.json`: the same for the claims of the reference and the answer
- `SYSTEM_relevant_citations.json`: the answer: its sentences, their claims and the sources they cite
- `human_eval_subset.json`: the reference, with its claims and the sources that attest them
- `metric_outputs/FOLDER/SYSTEM....json`: the figures of an automatic metric

`all_SYSTEM_claims-Batch_N_results.csv` has a row for every sentence and source: which claims of the sentence
a person hears in the source, reads in it, or sees in it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import DataError, UsageError
from fathoms.safety.inputs import LARGEST_IMPORT, parse_json, read_file, read_text

KEY = "preference_key.json"
TOPICS = "human_eval_subset.json"
_RATINGS = "preference_json_{}.json"
_JUDGED = "metric_{}_{}_annotator_{}_DONE.json"
_PREDICTIONS = "_relevant_citations.json"
_KNOWN = re.compile(
    r"preference_key\.json|preference_json_\d+\.json|human_eval_subset\.json|.+_relevant_citations\.json"
    r"|metric_(?:prediction|reference)_.+_annotator_\d+_DONE\.json|all_.+_claims-Batch_\d+_results\.csv"
)
_OUTPUTS = "metric_outputs"
_GROUNDED = re.compile(r"all_(.+)_claims-Batch_\d+_results\.csv")
_SENSES = ("Answer.audio", "Answer.ocr", "Answer.video")
_PLACES = ("first", "second", "third")
Read = TypeVar("Read")
_FLAGS = TypeAdapter(tuple[bool, ...])


class _Part(BaseModel):
    """The base of the parts of the files; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class JudgedClaim(_Part):
    """A claim with a person's judgement; `None` where the file has none."""

    claim: str
    judgment: bool | None = None


class _JudgedAnswer(_Part):
    claims: dict[str, tuple[JudgedClaim, ...]]


class _JudgedReference(_Part):
    claims: tuple[JudgedClaim, ...]


class Answer(_Part):
    """An answer: its sentences, and for each of them its claims and the sources that it cites."""

    prediction: str
    sentences: tuple[str, ...]
    claims: tuple[tuple[str, ...], ...]
    citations: tuple[tuple[str, ...], ...]


class _Attested(_Part):
    supporting_videos: tuple[str, ...] = ()


class Topic(_Part):
    """A topic: the reference, the claims of each sentence of the article, and which sources attest them."""

    article: str
    claims: tuple[tuple[str, ...], ...] = ()
    claims_to_supporting_videos: dict[str, _Attested] = Field(default_factory=dict)
    query_id: str | None = None
    videos: dict[str, Any] = Field(default_factory=dict)

    @property
    def attested(self) -> dict[str, tuple[str, ...]]:
        """The claims of the reference that at least one source attests, with these sources."""
        found = self.claims_to_supporting_videos
        return {claim: one.supporting_videos for claim, one in found.items() if one.supporting_videos}


@dataclass(frozen=True)
class Judgements:
    """What one person says of one answer: the claims of the answer against the reference, by their sentence,
    and the claims of the reference against the answer."""

    answer: Mapping[str, tuple[JudgedClaim, ...]]
    reference: tuple[JudgedClaim, ...]


@dataclass(frozen=True)
class Release:
    """The released files of a folder, by name, and those of metrics by the folder below `metric_outputs`."""

    folder: Path
    files: Mapping[str, Path]
    outputs: Mapping[str, tuple[Path, ...]]

    @cached_property
    def systems(self) -> dict[str, dict[str, str]]:
        """Which system wrote the answer in each place (`first`, `second`, `third`), by topic."""
        data = self._read(KEY, dict[str, dict[str, str]])
        return {
            topic: {place: self._system(topic, places, place) for place in _PLACES}
            for topic, places in data.items()
        }

    @property
    def names(self) -> list[str]:
        """The names of the systems, sorted."""
        return sorted({name for places in self.systems.values() for name in places.values()})

    @property
    def annotators(self) -> list[int]:
        """The numbers of the people with at least one file of claim judgements."""
        found = (re.search(r"_annotator_(\d+)_DONE\.json$", name) for name in self.files)
        return sorted({int(match[1]) for match in found if match})

    @property
    def raters(self) -> list[int]:
        """The numbers of the people with quality judgements."""
        found = (re.fullmatch(r"preference_json_(\d+)\.json", name) for name in self.files)
        return sorted({int(match[1]) for match in found if match})

    def lacking(self, annotator: int) -> list[str]:
        """Return the names of the files that are missing of a person's claim judgements."""
        return [
            _JUDGED.format(side, _short(system), annotator)
            for side in ("prediction", "reference")
            for system in self.names
            if self._judged(side, system, annotator) is None
        ]

    def ratings(self, number: int) -> dict[str, dict[str, float]] | None:
        """Return a person's quality judgements by topic and system; `None` if there is no such file."""
        name = _RATINGS.format(number)
        if name not in self.files:
            return None
        data = self._read(name, dict[str, dict[str, Any]])
        found: dict[str, dict[str, float]] = {}
        for topic, places in self.systems.items():
            row = self._topic(name, data, topic)
            for place, system in places.items():
                value = row.get(f"{place}_prediction_likert")
                if isinstance(value, bool) or not isinstance(value, int | float):
                    where = f"{self.files[name]}: {topic}: {place}_prediction_likert"
                    raise DataError(f"{where}: expected a number from 1 to 5")
                found.setdefault(topic, {})[system] = float(value)
        return found

    def judgements(self, annotator: int) -> dict[str, dict[str, Judgements]]:
        """Return a person's claim judgements by system and topic; the files must not be `lacking`."""
        found: dict[str, dict[str, Judgements]] = {}
        for system in self.names:
            names = [self._judged(side, system, annotator) or "" for side in ("prediction", "reference")]
            answers = self._read(names[0], dict[str, _JudgedAnswer])
            references = self._read(names[1], dict[str, _JudgedReference])
            found[system] = {
                topic: Judgements(
                    self._topic(names[0], answers, topic).claims,
                    self._topic(names[1], references, topic).claims,
                )
                for topic in self.systems
            }
        return found

    def metric_outputs(self, folder: str, key: str) -> tuple[dict[str, dict[str, float]], list[str]]:
        """Return a figure of an automatic metric by topic and system, and the systems without a file in
        `metric_outputs/FOLDER`; where there are such, no figure."""
        paths = {}
        for system in self.names:
            named = [path for path in self.outputs.get(folder, ()) if path.name.startswith(_short(system))]
            if len(named) > 1:
                raise DataError(f"two files of {system}: {named[0]} and {named[1]}")
            if named:
                paths[system] = named[0]
        if missing := [system for system in self.names if system not in paths]:
            return {}, missing
        found: dict[str, dict[str, float]] = {}
        for system, path in paths.items():
            data = _validated(path, dict[str, dict[str, float | None]])
            for topic in self.systems:
                value = data.get(topic, {}).get(key)
                if value is None:
                    raise DataError(f"{path}: {topic}: there is no '{key}'")
                found.setdefault(topic, {})[system] = value
        return found, []

    def grounding(self) -> tuple[dict[str, dict[str, float]], list[str]]:
        """Return by topic and system the share of the claims of the answer that a person found in at least
        one source, and the systems without a file; where there are such, no share. Claims of one text count
        once, as in the paper's figures."""
        paths = {match[1]: path for name, path in self.files.items() if (match := _GROUNDED.fullmatch(name))}
        if missing := [system for system in self.names if system not in paths]:
            return {}, missing
        found: dict[str, dict[str, float]] = {topic: {} for topic in self.systems}
        for system in self.names:
            judged = _grounded_claims(paths[system])
            for topic in self.systems:
                claims = judged.get(topic.replace("_", " "))
                if not claims:
                    raise DataError(f"{paths[system]}: the topic {topic} is missing")
                found[topic][system] = sum(claims.values()) / len(claims)
        return found, []

    @property
    def answers(self) -> dict[str, dict[str, Answer]]:
        """The answers by system and topic, as far as there are files of predictions."""
        return {
            name.removesuffix(_PREDICTIONS): self._read(name, dict[str, Answer])
            for name in sorted(self.files)
            if name.endswith(_PREDICTIONS)
        }

    @property
    def topics(self) -> dict[str, Topic]:
        """The topics of the release by their names."""
        return self._read(TOPICS, dict[str, Topic])

    def _judged(self, side: str, system: str, annotator: int) -> str | None:
        """Return the name of a file of claim judgements; the released names leave out `_only`."""
        names = (_JUDGED.format(side, one, annotator) for one in (system, _short(system)))
        return next((name for name in names if name in self.files), None)

    def _system(self, topic: str, places: Mapping[str, str], place: str) -> str:
        name = places.get(f"{place}_prediction")
        if name is None:
            raise DataError(f"{self.files[KEY]}: {topic}: there is no {place}_prediction")
        return name

    def _topic(self, name: str, data: Mapping[str, Read], topic: str) -> Read:
        if topic not in data:
            raise DataError(f"{self.files[name]}: the topic {topic} is missing")
        return data[topic]

    def _read(self, name: str, model: type[Read]) -> Read:
        """Read one file; raises DataError that names the place of the first error."""
        if name not in self.files:
            raise DataError(f"{self.folder} contains no {name}, in any folder below it")
        return _validated(self.files[name], model)


def _validated(path: Path, model: type[Read]) -> Read:
    """Read a JSON file as `model`; raises DataError that names the place of the first error."""
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path))
    try:
        found = TypeAdapter(model).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = dotted(first["loc"]) or "the file"
        raise DataError(f"{path}: not a file as MiRAGE released it: {place}: {first['msg']}") from error
    for key, what in misread(found, data):
        raise DataError(f"{path}: not a file as MiRAGE released it: {dotted(key)}: {what}")
    return found


class _Task(_Part):
    """What a person was shown: the claims of one sentence and one source."""

    topic: str = Field(alias="Wiki_Title")
    claims: tuple[str, ...] = Field(alias="Extracted_Claims")


def _grounded_claims(path: Path) -> dict[str, dict[str, bool]]:
    """Return whether each claim was found in any source, by the title of its topic and its text."""
    found: dict[str, dict[str, bool]] = {}
    number = 0
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(read_text(path, LARGEST_IMPORT))), 1):
            place = f"{path}: row {number}"
            task = _Task.model_validate(parse_json(row["Input.payload"], place))
            senses = [_FLAGS.validate_python(parse_json(row[sense], place)) for sense in _SENSES]
            claims = found.setdefault(task.topic, {})
            for claim, *seen in zip(task.claims, *senses, strict=True):
                claims[claim] = claims.get(claim, False) or any(seen)
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: row {number}: not a file as MiRAGE released it: {error}") from error
    return found


def find_release(folder: Path) -> Release:
    """Find the released files in a folder and those below it.

    Raises UsageError if the folder does not exist, and DataError if two different files have one name.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of results does not exist")
    found: dict[str, Path] = {}
    outputs: dict[str, tuple[Path, ...]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".csv")):
        _, below, inside = path.parent.relative_to(folder).as_posix().rpartition(f"{_OUTPUTS}/")
        if below and path.is_file():
            outputs[inside] = (*outputs.get(inside, ()), path)
            continue
        if not _KNOWN.fullmatch(path.name) or not path.is_file():
            continue
        other = found.setdefault(path.name, path)
        if other != path and read_file(other, LARGEST_IMPORT) != read_file(path, LARGEST_IMPORT):
            raise DataError(f"two different files have one name: {other} and {path}")
    return Release(folder, found, outputs)


def _short(system: str) -> str:
    return system.removesuffix("_only")
