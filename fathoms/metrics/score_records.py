"""Scores records under one or several profiles."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from fathoms.metrics.abstention import Classifier, label_answers, label_of
from fathoms.metrics.cues import Cues
from fathoms.metrics.hallucination import hallucination
from fathoms.metrics.labels import Label, Why
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.stages import Funnel
from fathoms.types import Noun, Record, Verdict

RELEASED = "released"


class Scoring(BaseModel):
    """How answers are judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    profile: Literal["paper", "released-code", "fathoms"] | None = None
    """The profile that reports show first; by default `paper` for the questions of FATHOMS-RAG, else
    `fathoms`. Every run is scored under `fathoms` too."""
    abstention: Classifier = Cues()
    """What tells answers from abstentions under `fathoms`; the other profiles take its exemplars and its
    embedder, and the paper's plain rule."""

    @field_validator("abstention", mode="before")
    @classmethod
    def _by_cues(cls, value: Any) -> Any:
        """`kind: cues` where none is named."""
        return {"kind": "cues", **value} if isinstance(value, dict) else value

    def at(self, base: Path) -> Scoring:
        """With a relative file of exemplars found from `base`."""
        if self.abstention.exemplars is None:
            return self
        exemplars = (base / self.abstention.exemplars).absolute()
        return self.model_copy(
            update={"abstention": self.abstention.model_copy(update={"exemplars": exemplars})}
        )

    def check(self) -> None:
        """Raise now what scoring would: exemplars that cannot be read, an embedder that is not here."""
        self.abstention.check()


class RecordScore(Noun):
    """One record under one profile.

    `correctness` is in [0, 1], 0 for a failed call and `None` for a question without a gold answer.
    `hallucination` is 1 or 0. `abstained` is whether the answer says nothing, be it by an `abstention` or
    by being `empty`; `None` for a `refusal`, which does not tell what the model knew. The last three are
    `None` for a failed call. `matched` and `missed` are the phrases
    of the best variant. `funnel` says where they were lost; it is `None` for released scores.
    """

    correctness: float | None = None
    hallucination: int | None = None
    abstained: bool | None = None
    abstention: Label | None = None
    matched: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    why: Why | None = None
    funnel: Funnel | None = None


@dataclass(frozen=True)
class Scores:
    """`rows[i]` holds the scores of record i by profile; `verdicts` are the new ones, by key, to be kept."""

    scoring: Scoring
    rows: tuple[dict[str, RecordScore], ...]
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Judged:
    """Everything that scoring one record needs except the record itself.

    `verdicts` are those on abstention, by the profile's rule and by the text of the answer. `imported` tells
    whether any record came with released scores. `new` are the verdicts that were made now, by key, which
    the caller keeps.
    """

    scoring: Scoring
    profiles: tuple[Profile, ...]
    verdicts: Mapping[str, Mapping[str, Verdict]]
    imported: bool
    new: dict[str, Verdict]

    def row(self, record: Record) -> dict[str, RecordScore]:
        """The scores of a record that was judged, by profile, and its `released` scores if it has any."""
        configured = self.scoring.abstention
        row = {
            profile.name: _score_record(record, profile, configured, self.verdicts[profile.abstention])
            for profile in self.profiles
        }
        return {**row, RELEASED: _released(record)} if self.imported else row


def judge(
    records: Sequence[Record],
    scoring: Scoring,
    known: Mapping[str, Verdict] | None = None,
    profiles: tuple[Profile, ...] = PROFILES,
) -> Judged:
    """Tell answers from abstentions, under each profile by its own classifier.

    `known` are verdicts from earlier scorings; where they cover all answers, no embedder is needed. Raises
    what reading the exemplars and embedding raise.
    """
    texts = [record.answer.text for record in records if record.answer and record.answer.refusal is None]
    verdicts, new = _verdicts(texts, scoring.abstention, known or {}, profiles)
    return Judged(scoring, profiles, verdicts, any(record.released for record in records), new)


def score(
    records: Sequence[Record],
    scoring: Scoring,
    known: Mapping[str, Verdict] | None = None,
    profiles: tuple[Profile, ...] = PROFILES,
) -> Scores:
    """`judge` records, and score each of them. Raises what `judge` does."""
    judged = judge(records, scoring, known, profiles)
    return Scores(scoring, tuple(map(judged.row, records)), judged.new)


class Figures:
    """Scores as a summary needs them: without phrases, and without what a label rests on. There are few
    different ones, and each is kept once: what many questions take is a reference."""

    def __init__(self) -> None:
        self._kept: dict[str, RecordScore] = {}

    def of(self, row: Mapping[str, RecordScore]) -> dict[str, RecordScore]:
        """The row of a record, with figures alone."""
        return {name: self._figures(value) for name, value in row.items()}

    def _figures(self, value: RecordScore) -> RecordScore:
        """One score, or its equal from before."""
        funnel = value.funnel.model_copy(update={"missed": {}}) if value.funnel else None
        bare = value.model_copy(update={"matched": (), "missed": (), "why": None, "funnel": funnel})
        return self._kept.setdefault(bare.model_dump_json(), bare)


def _verdicts(
    texts: Sequence[str],
    configured: Classifier,
    known: Mapping[str, Verdict],
    profiles: Sequence[Profile],
) -> tuple[dict[str, dict[str, Verdict]], dict[str, Verdict]]:
    """Verdicts by rule of abstention and text, every classifier asked once, and the new ones by key."""
    classifiers = {profile.abstention: profile.classifier(configured) for profile in profiles}
    verdicts: dict[str, dict[str, Verdict]] = {}
    new: dict[str, Verdict] = {}
    for rule, classifier in classifiers.items():
        # a configured classifier that is the plain one finds its verdicts among the new
        verdicts[rule], made = label_answers(texts, classifier, ChainMap(new, dict(known)))
        new.update(made)
    return verdicts, new


def _score_record(
    record: Record, profile: Profile, configured: Classifier, verdicts: Mapping[str, Verdict]
) -> RecordScore:
    """One record under one of our profiles; `verdicts` are those of its classifier by text."""
    refused = record.answer is not None and record.answer.refusal is not None
    verdict = verdicts.get(record.answer.text) if record.answer and not refused else None
    label = _label(record, verdict)
    text = record.answer.text if record.answer else ""
    recall = phrase_recall(text, record.question.answers, profile.match, profile.hyphens_for(record))
    scored = record.question.answerable and recall.variant is not None
    correctness = recall.value if scored else None
    return RecordScore(
        correctness=correctness,
        hallucination=hallucination(label, correctness),
        abstained=None if label in (None, "refusal") else label != "statement",
        abstention=label,
        matched=recall.found if scored else (),
        missed=recall.missed if scored else (),
        why=profile.classifier(configured).explain(verdict) if verdict else None,
    )


def _label(record: Record, verdict: Verdict | None) -> Label | None:
    """`None` for a failed call, which never said anything."""
    if record.answer is None:
        return None
    if record.answer.refusal is not None:
        return "refusal"
    return label_of(verdict) if verdict else "empty"


def _released(record: Record) -> RecordScore:
    """The score and the flag that came with the record, whatever its answer was."""
    flag = record.released.get("hallucination")
    return RecordScore(
        correctness=record.released.get("correctness"), hallucination=None if flag is None else int(flag)
    )
