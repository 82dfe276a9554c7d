"""Score records under one or several profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from fathoms.answers import SETTABLE, PartKind, Reading
from fathoms.metrics.abstention import Classifier, label_answers, label_of
from fathoms.metrics.hallucination import hallucination
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.labels import Label, Why, classified_text
from fathoms.metrics.linear import Linear
from fathoms.metrics.phrase_recall import phrase_recall, reading_recall
from fathoms.metrics.profiles import Profile, headline, scored_under
from fathoms.metrics.said import reading_of
from fathoms.metrics.stages import Funnel
from fathoms.models.calling.collecting import rare_collections
from fathoms.types import RELEASED_SCORES, Judgement, Record, StoredValue, Verdict

RELEASED = "released"
"""The name under which scores that came with imported records are kept, next to those of the profiles."""
WITHOUT_WEIGHTS = scored_under("paper-by-words")
"""Profiles that every machine can score by."""


Step = Literal["aside", "keep"]


class ReadingSteps(BaseModel):
    """What is set aside when an answer is read under the profile `fathoms`, by kind; `keep` leaves a kind in
    the answer. Reasoning is never a part of an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    citation: Step = "aside"
    """References in the text: `[1]`, `(p. 12)`, `[report.pdf, p. 3]`, superscripts."""
    sources: Step = "aside"
    """A list of sources or notes at the end."""
    offer: Step = "aside"
    """An offer of further help at the end."""
    disclaimer: Step = "aside"
    """A disclaimer, a rule or a time stamp at the end."""
    confidence: Step = "aside"
    """A line that says how sure the model is."""
    opening: Step = "aside"
    """A phrase before the answer, such as "Sure!" or "Based on the provided context,"."""
    envelope: Step = "aside"
    """What stands around the answer in a JSON object, a tag, or before the words "Final answer:"."""

    @property
    def keep(self) -> frozenset[PartKind]:
        """The kinds that are not set aside."""
        return frozenset(kind for kind in SETTABLE if getattr(self, kind) == "keep")


class Scoring(BaseModel):
    """The settings for scoring answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    profile: Literal["paper", "paper-by-words", "paper-configured", "released-code", "fathoms"] | None = None
    """The profile that reports show first; by default `paper` for the FATHOMS-RAG questions and `fathoms` for
    all others. Every run is also scored under `fathoms`. By default,
    `paper-configured` takes the place of `paper` where `abstention` has exemplars or an embedder of its own,
    and `paper-by-words` where the weights of `paper` are not on this machine."""
    abstention: Classifier = Linear()
    """The abstention classifier of the profile `fathoms`. The other profiles use the plain rule of the paper,
    `paper-configured` with the exemplars and the embedder of this classifier."""
    reading: ReadingSteps = ReadingSteps()
    """What is no part of what an answer says, under the profile `fathoms`. The other profiles score the raw
    answer."""

    @field_validator("abstention", mode="before")
    @classmethod
    def _by_weights(cls, value: Any) -> Any:
        """Default to `kind: linear`, or to `cues`, the earlier default, if an option is given that only it
        uses under the profile `fathoms`."""
        of_cues = isinstance(value, dict) and not {"least_cosine", "exemplars"}.isdisjoint(value)
        kind = "cues" if of_cues else "linear"
        return {"kind": kind, **value} if isinstance(value, dict) else value

    def at(self, base: Path) -> Scoring:
        """Return these settings with a relative path of the exemplars resolved from the folder `base`."""
        if self.abstention.exemplars is None:
            return self
        exemplars = (base / self.abstention.exemplars).absolute()
        return self.model_copy(
            update={"abstention": self.abstention.model_copy(update={"exemplars": exemplars})}
        )

    def check(self) -> None:
        """Check the exemplars and the embedders; raises the errors that scoring would raise."""
        self.abstention.check()
        for profile in scored_under(headline(None, self.profile)):
            profile.classifier(self.abstention).check()


class RecordScore(StoredValue):
    """The score of one record under one profile.

    - `correctness` is in [0, 1]; it is 0 for a failed call, and `None` for a question without a gold answer
      or one that was only searched for.
    - `hallucination` is 1 or 0; it is `None` for a failed call or if there is no correctness. Under the
      profile `fathoms` it is also known for unanswerable questions: a statement is 1, anything else 0.
    - `abstention` is the label of the answer, `None` for a failed call, and where a judge was asked for the
      label and gave no verdict; such an answer has no `hallucination` either.
    - `abstained` is true if that label is `abstention` or `asks-back`. It is `None` without a label, for a
      `refusal`, because that does not show what the model knew, and under `fathoms` for an `empty` answer,
      which has no `hallucination` either; the other profiles take an empty answer for an abstention.
    - `matched` and `missed` are the phrases of the best gold variant that were found and not found, richer
      forms in the notation of question files.
    - `why` is the reason for the label, and `funnel` shows where phrases were lost. Both may be `None`, and
      always are for released scores.
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
    """The scores of several records.

    `rows[i]` holds the scores of record i by profile. `verdicts` are the verdicts that were made now, by key;
    the caller should store them.
    """

    scoring: Scoring
    rows: tuple[dict[str, RecordScore], ...]
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Judged:
    """Everything that is needed to score one record except the record itself.

    `verdicts` are the abstention verdicts, by abstention rule (`plain` or `configured`) and then by the text
    that was classified; those of a judge are in `by_judge`. `readings` are the answers as they were read, by
    the `id` of their record. `imported` is true if any record came with released scores.
    `new` are the verdicts that were made now, by key; the caller should store them. `retrieval_only` says
    that no answers were asked for, so that a failure is one of the search.
    """

    scoring: Scoring
    profiles: tuple[Profile, ...]
    verdicts: Mapping[str, Mapping[str, Verdict]]
    readings: Mapping[int, Reading]
    by_judge: Mapping[Judgement, Verdict]
    imported: bool
    new: dict[str, Verdict]
    retrieval_only: bool = False

    @cached_property
    def _classifiers(self) -> list[tuple[Profile, Classifier]]:
        """The profiles with their abstention classifiers."""
        return [(profile, profile.classifier(self.scoring.abstention)) for profile in self.profiles]

    def row(self, record: Record) -> dict[str, RecordScore]:
        """Return the scores of one of the judged records by profile, and under `released` the scores it came
        with; this key is present if any of the judged records has such scores."""
        row = {}
        for profile, classifier in self._classifiers:
            if isinstance(classifier, JudgedAbstention):
                judgements = classifier.judgements(record, {})
                verdict = self.by_judge.get(judgements[0]) if judgements else None
            else:
                verdict = self.verdicts[profile.abstention].get(_classified(record, profile, self.readings))
            answer_wanted = not (record.only_searched or self.retrieval_only)
            reading = self.readings.get(id(record)) if profile.reads else None
            row[profile.name] = _score_record(record, profile, classifier, verdict, reading, answer_wanted)
        if self.imported:
            flag = record.released.get("hallucination")
            row[RELEASED] = RecordScore(
                correctness=record.released.get("correctness"),
                hallucination=None if flag is None else int(flag),
            )
        return row


def judge(
    records: Sequence[Record],
    scoring: Scoring,
    known: Mapping[str, Verdict] | None = None,
    profiles: tuple[Profile, ...] = WITHOUT_WEIGHTS,
    by_judge: Mapping[Judgement, Verdict] | None = None,
    imported: bool | None = None,
    retrieval_only: bool = False,
) -> Judged:
    """Classify all answers as statements or abstentions, with the classifier of each profile.

    `known` are verdicts of earlier scorings, by key. If they cover all answers, no embedder is needed.
    `by_judge` are the verdicts for `kind: judge`, and `imported` says whether there are released scores, if
    the records are only some of a run. `retrieval_only` says that the run asked for no answers. Raises the
    errors of reading the exemplars and of embedding.
    """
    answered = [record for record in records if record.answer and record.answer.refusal is None]
    reads = any(profile.reads for profile in profiles)
    readings = {
        id(record): reading_of(record, scoring.reading.keep)
        for record in (records if reads else ())
        if record.answer
    }
    verdicts: dict[str, dict[str, Verdict]] = {}
    new: dict[str, Verdict] = {}
    for rule, profile in {profile.abstention: profile for profile in profiles}.items():
        classifier = profile.classifier(scoring.abstention)
        if isinstance(classifier, JudgedAbstention):
            continue
        texts = [_classified(record, profile, readings) for record in answered]
        # If the configured classifier equals the plain one, `new` already has its verdicts.
        verdicts[rule], labelled = label_answers(texts, classifier, _Either(new, known or {}))
        new.update(labelled)
    if imported is None:
        imported = any(record.released.keys() & RELEASED_SCORES for record in records)
    return Judged(scoring, profiles, verdicts, readings, by_judge or {}, imported, new, retrieval_only)


def _classified(record: Record, profile: Profile, readings: Mapping[int, Reading]) -> str:
    """Return the text by which an answer is classified under a profile."""
    if record.answer is None:
        return ""
    return classified_text(readings[id(record)]) if profile.reads else record.answer.text


class _Either(Mapping[str, Verdict]):
    """The verdicts of two mappings. The second is not copied, because it may be large."""

    def __init__(self, first: Mapping[str, Verdict], second: Mapping[str, Verdict]) -> None:
        self._both = (first, second)

    def __getitem__(self, key: str) -> Verdict:
        first, second = self._both
        return first[key] if key in first else second[key]

    def __contains__(self, key: object) -> bool:
        return any(key in one for one in self._both)

    def __iter__(self) -> Iterator[str]:
        return iter({*self._both[0], *self._both[1]})

    def __len__(self) -> int:
        return len({*self._both[0], *self._both[1]})


@rare_collections()
def score(
    records: Sequence[Record],
    scoring: Scoring,
    known: Mapping[str, Verdict] | None = None,
    profiles: tuple[Profile, ...] = WITHOUT_WEIGHTS,
) -> Scores:
    """Judge the records and score each of them; raises the same errors as `judge`."""
    judged = judge(records, scoring, known, profiles)
    return Scores(scoring, tuple(map(judged.row, records)), judged.new)


class BareScores:
    """Reduces scores to what a summary needs, and numbers them; `rows` are the different ones."""

    def __init__(self) -> None:
        self.rows: list[dict[str, RecordScore]] = []
        self._numbers: dict[tuple[object, ...], int] = {}

    def number(self, row: Mapping[str, RecordScore]) -> int:
        """Return the number, in `rows`, of the scores of a record by profile, reduced to their figures."""
        key = tuple((name, _figures(score)) for name, score in row.items())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rows)
            self.rows.append({name: _bare(score) for name, score in row.items()})
        return number


def _figures(score: RecordScore) -> tuple[object, ...]:
    """Return the figures of a score."""
    found = score.correctness, score.hallucination, score.abstained, score.abstention
    if (funnel := score.funnel) is None:
        return found
    recalls = funnel.documents, funnel.retrieved, funnel.prompt, funnel.answer
    changes = tuple(funnel.lost.items()), tuple(funnel.gained.items())
    return *found, *recalls, *changes, funnel.left_out, funnel.chance


def _bare(score: RecordScore) -> RecordScore:
    """Return a score without its reasons."""
    funnel = score.funnel.model_copy(update={"missed": {}}) if score.funnel else None
    return score.model_copy(update={"matched": (), "missed": (), "why": None, "funnel": funnel})


def _score_record(
    record: Record,
    profile: Profile,
    classifier: Classifier,
    verdict: Verdict | None,
    reading: Reading | None,
    answer_wanted: bool,
) -> RecordScore:
    """Score one record under one profile; `verdict` is that of its classifier on the answer, if any, and
    `reading` the answer as it was read. Without `answer_wanted`, the question was only searched for, and no
    metric of answers applies."""
    if record.answer is None or record.answer.refusal is not None:
        verdict = None
    label = _label(record, classifier, verdict, reading)
    # Whoever reads an answer knows that an empty one shows no decision.
    undecided = label in ((None, "refusal", "empty") if profile.reads else (None, "refusal"))
    text = record.answer.text if record.answer else ""
    hyphens = profile.hyphens_for(record)
    if profile.reads and reading is None:
        reading = reading_of(record)
    if reading is not None and record.question.reading != "raw":
        recall = reading_recall(reading, record.question.answers, hyphens)
    else:
        said = text if reading is None else reading.text
        recall = phrase_recall(said, record.question.answers, profile.match, hyphens)
    scored = answer_wanted and record.question.answerable and recall.variant is not None
    correctness = recall.value if scored else None
    return RecordScore(
        correctness=correctness,
        hallucination=hallucination(
            None if profile.reads and label == "empty" else label,
            correctness,
            unanswerable=profile.judges_unanswerable and not record.question.answerable,
        ),
        abstained=None if undecided else label != "statement",
        abstention=label,
        matched=tuple(map(str, recall.found)) if scored else (),
        missed=tuple(map(str, recall.missed)) if scored else (),
        why=classifier.explain(verdict) if verdict else None,
    )


def _label(
    record: Record, classifier: Classifier, verdict: Verdict | None, reading: Reading | None
) -> Label | None:
    """Return the label of the answer; `None` for a failed call and where a judge gave no verdict."""
    if record.answer is None:
        return None
    if record.answer.refusal is not None:
        return "refusal"
    if not (record.answer.text if reading is None else classified_text(reading)).strip():
        return "empty"
    if isinstance(classifier, JudgedAbstention):
        return classifier.label(verdict) if verdict else None
    return label_of(verdict) if verdict else "empty"
