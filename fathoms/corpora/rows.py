"""Validates questions by the rules that all question file formats share.

| key                | value                                                  | default         |
|--------------------|--------------------------------------------------------|-----------------|
| `question`         | the text of the question; `text` is a synonym          | required        |
| `answers`          | one phrase; a list of phrases, any one of which is     | none            |
|                    | enough; or a list of lists, where all phrases of any   |                 |
|                    | one list are enough; a phrase can be an object with    |                 |
|                    | one of the keys of `fathoms.types.GOLD_FORMS`          |                 |
| `reference`        | the gold answer as a full sentence                     | none            |
| `short_answer`     | the gold answer in a few words                         | none            |
| `long_answer`      | the gold answer in full, with what it rests on         | none            |
| `reference_claims` | the single statements of the gold answer               | none            |
| `nuggets`          | list of `{question, answers?, importance?, origin?}`;  | none            |
|                    | without `answers`, the documents do not answer it      |                 |
| `facts`            | list of `{text, importance?, origin?}`: what a good    | none            |
|                    | answer says                                            |                 |
| `options`, `right` | the options of a multiple choice by name, and the name | none            |
|                    | of the right one, which becomes the accepted answer    |                 |
| `files`            | file name of a PDF, or a list of them; empty means all | all             |
| `category`         | any name of up to 200 characters                       | `Uncategorised` |
| `id`               | any name of up to 200 characters, unique in the file   | derived         |
| `evidence`         | list of `{document, page or quote, bbox?, step?,       | none            |
|                    | modality?, relevance?}`, all numbers from 1            |                 |
| `hops`             | number of facts to combine for the answer, from 1      | number of steps |
| `steps`            | list of the hops, `{question?, answer?}` each          | none            |
| `answerable`       | `false` if the documents do not contain the answer     | `true`          |
| `reading`          | `raw` if a file, page or source is asked for, so that  | none            |
|                    | these also count where an answer cites them            |                 |
| `quotes`           | list of candidate quotes `{id, modality?, text?,       | none            |
|                    | description?, image?, document?, page?, gold?}`        |                 |
| `metadata`         | an object of texts, numbers and truth values           | none            |

An answerable question needs at least one of `answers`, `reference`, `short_answer`, `long_answer`,
`reference_claims`, `nuggets`, `facts` and `evidence`; evidence alone is enough to measure retrieval.
`comment`, `notes` and keys that begin with an underscore are ignored. Any other key is an error. Null means
the same as an absent key. Text is kept character by character, without trimming.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from fathoms.config import Key, Source, dotted, validate
from fathoms.corpora.options import open_ended
from fathoms.errors import ConfigError, DataError, QuestionsError, suggest
from fathoms.text.ids import question_ids, same_words
from fathoms.types import (
    GOLD_FORMS,
    DocumentName,
    Evidence,
    Fact,
    GoldPhrase,
    Nugget,
    Question,
    Quote,
    Scalar,
    Step,
)

IGNORED = frozenset({"comment", "notes"})

GOLD = ("answers", "reference", "short_answer", "long_answer", "reference_claims", "nuggets", "facts")
"""The forms of a gold answer; an answerable question has at least one, or evidence."""

LONGEST_NAME = 200
"""Most characters of an id or a category: `run` uses these names for files and folders."""

LONGEST_FILE_NAME = 255
"""Most bytes of the name of a file or folder, as file systems allow."""

Placed = tuple[str, dict[str, Any]]
"""The place of a row in its file (`file:line`), and the row as it was read."""


def _variants(value: Any) -> Any:
    """Normalise the three notations of answers to a list of lists; other values are left for validation."""
    if isinstance(value, str | dict):
        return [[value]]
    if isinstance(value, list):
        return [[variant] if isinstance(variant, str | dict) else variant for variant in value]
    return value


def _plain_values(value: Any) -> int:
    """Return how many answers are numbers or truth values alone, instead of phrases."""
    if isinstance(value, list):
        return sum(map(_plain_values, value))
    return int(isinstance(value, bool | int | float))


def _as_forms(value: Any) -> Any:
    """Return answers with the richer forms that numbers and truth values alone are meant as."""
    if isinstance(value, list):
        return [_as_forms(item) for item in value]
    if isinstance(value, bool):
        return {"yes_no": value}
    return {"number": value} if isinstance(value, int | float) else value


def _misformed(value: Any, key: Key) -> Iterator[tuple[Key, str]]:
    """Yield the key and the complaint for each object in the answers that is not one of `GOLD_FORMS`, or has
    a key that its form does not know."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _misformed(item, (*key, index))
    if not isinstance(value, dict):
        return
    kinds = [name for name in value if name in GOLD_FORMS]
    if len(kinds) != 1:
        first = str(next(iter(value), ""))
        if kinds:
            yield (*key, kinds[1]), f"'{kinds[0]}' and '{kinds[1]}' are two answers: write two objects"
        else:
            yield (*key, first), f"no kind of answer is called '{first}'{suggest(first, GOLD_FORMS)}"
        return
    (kind,) = kinds
    known = GOLD_FORMS[kind].model_fields
    for name, inner in value.items():
        if name not in known:
            yield (*key, name), f"unknown key '{name}' beside '{kind}'{suggest(str(name), known)}"
        if isinstance(inner, list):
            yield from _misformed(inner, (*key, name))


def _refuse_control(name: str) -> None:
    """Raise ValueError for a name that contains a control character or an unpaired surrogate."""
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise ValueError(f"contains the control character U+{ord(character):04X}: remove it")


def checked_name(name: str) -> str:
    """Return the name of a category, a question, a quote or a key of metadata; raises ValueError if it is
    empty, too long, or contains a control character."""
    if not name.strip():
        raise ValueError("is empty")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"has {len(name)} characters, and a name has {LONGEST_NAME} at most")
    _refuse_control(name)
    return name


def one_or_more(value: Any) -> Any:
    """Return a single text as a list; other values are left for validation."""
    return [value] if isinstance(value, str) else value


def _scalars(value: Any) -> Any:
    """Raise ValueError for a list or an object in metadata; other values are left for validation."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, list | dict):
                kind = "a list" if isinstance(item, list) else "an object"
                raise ValueError(
                    f"'{key}' holds {kind}: write it as a text, or use a key of the question that begins"
                    " with '_', which is ignored"
                )
    return value


class GoldEvidence(Evidence):
    """Evidence as written in a question file; unlike `Evidence`, it rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @model_validator(mode="after")
    def _says_where(self) -> GoldEvidence:
        if self.page is None and not self.quote:
            raise ValueError("evidence needs a 'page' or a 'quote'")
        return self


class GoldStep(Step):
    """A hop as written in a question file; unlike `Step`, it rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class GoldNugget(Nugget):
    """A nugget as written in a question file; unlike `Nugget`, it rejects unknown keys and empty texts."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    answers: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()

    @field_validator("question")
    @classmethod
    def _asks(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        return text

    @field_validator("answers")
    @classmethod
    def _no_empty_answer(cls, answers: tuple[str, ...]) -> tuple[str, ...]:
        if not all(answer.strip() for answer in answers):
            raise ValueError("one of the answers is empty; a nugget that has no answer has an empty list")
        return answers


class GoldFact(Fact):
    """A fact as written in a question file; unlike `Fact`, it rejects unknown keys and empty texts."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @field_validator("text")
    @classmethod
    def _says(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        return text


class CandidateQuote(Quote):
    """A candidate quote as written in a question file; unlike `Quote`, it rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @field_validator("id")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        return checked_name(name)

    @model_validator(mode="after")
    def _says_something(self) -> CandidateQuote:
        if not self.text.strip() and not self.description.strip() and self.image is None:
            raise ValueError(f"the quote '{self.id}' needs a 'text', a 'description' or an 'image'")
        if self.image is not None and not self.image.parts:  # an empty text, or "."
            raise ValueError(f"the path of the image of the quote '{self.id}' names no file")
        if self.image is not None and not str(self.image).isprintable():
            raise ValueError(
                f"the path of the image of the quote '{self.id}' has a control character: remove it"
            )
        if self.image is not None and max(map(len, map(os.fsencode, self.image.parts))) > LONGEST_FILE_NAME:
            raise ValueError(
                f"the path of the image of the quote '{self.id}' has a name of more than"
                f" {LONGEST_FILE_NAME} bytes"
            )
        if self.image is not None and (self.image.is_absolute() or ".." in self.image.parts):
            raise ValueError(
                f"the image of the quote '{self.id}' has to be a path inside the folder of the question file"
            )
        return self


_NAMES = set(Question.model_fields)
"""The names of the fields of a question, all of which are given where it is made of a row."""


class QuestionRow(BaseModel):
    """One question as written in a file; the module docstring describes the keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    question: str
    answers: Annotated[list[list[GoldPhrase]], BeforeValidator(_variants)] = []
    files: Annotated[list[DocumentName], BeforeValidator(one_or_more)] = []
    category: str = "Uncategorised"
    id: str | None = None
    evidence: list[GoldEvidence] = []
    reference: str | None = None
    hops: int | None = Field(default=None, ge=1, le=1000)
    steps: list[GoldStep] = []
    answerable: bool = True
    reading: Literal["raw"] | None = None
    short_answer: str | None = None
    long_answer: str | None = None
    reference_claims: Annotated[list[str], BeforeValidator(one_or_more)] = []
    nuggets: list[GoldNugget] = []
    facts: list[GoldFact] = []
    quotes: list[CandidateQuote] = []
    metadata: Annotated[dict[str, Scalar], BeforeValidator(_scalars)] = {}

    @field_validator("question")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        return text

    @field_validator("category", "id")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        return checked_name(name)

    @field_validator("reference_claims")
    @classmethod
    def _no_empty_claim(cls, claims: list[str]) -> list[str]:
        if not all(claim.strip() for claim in claims):
            raise ValueError("one of the claims is empty")
        return claims

    @field_validator("nuggets")
    @classmethod
    def _different_questions(cls, nuggets: list[GoldNugget]) -> list[GoldNugget]:
        for text, times in Counter(nugget.question.strip() for nugget in nuggets).items():
            if times > 1:
                raise ValueError(f"{times} nuggets ask '{text[:LONGEST_NAME]}'")
        return nuggets

    @field_validator("quotes")
    @classmethod
    def _different_ids(cls, quotes: list[CandidateQuote]) -> list[CandidateQuote]:
        for name, times in Counter(quote.id for quote in quotes).items():
            if times > 1:
                raise ValueError(f"{times} quotes have the id '{name}'")
        return quotes

    @field_validator("metadata")
    @classmethod
    def _keys_are_names(cls, metadata: dict[str, Scalar]) -> dict[str, Scalar]:
        for key in metadata:
            checked_name(key)
        return metadata

    @field_validator("files")
    @classmethod
    def _plain_names(cls, files: list[str]) -> list[str]:
        for name in files:
            if {part.strip() for part in name.split("/")} & {"", ".", ".."} or "\\" in name:
                shown = name[:LONGEST_NAME]
                raise ValueError(
                    f"'{shown}' is not the name of a file, or its path below the folder of the documents"
                )
            _refuse_control(name)
        if len(set(files)) < len(files):
            raise ValueError("the same file is listed twice")
        return files

    @model_validator(mode="after")
    def _evidence_in_files(self) -> QuestionRow:
        for evidence in self.evidence:
            if self.files and evidence.document not in self.files:
                hint = suggest(evidence.document, self.files)
                raise ValueError(f"evidence in '{evidence.document}', which is not in 'files'{hint}")
            if self.hops is not None and (evidence.step or 0) > self.hops:
                raise ValueError(f"evidence of step {evidence.step}, but 'hops' is {self.hops}")
        return self

    @model_validator(mode="after")
    def _steps_are_hops(self) -> QuestionRow:
        if self.steps and self.hops not in (None, len(self.steps)):
            raise ValueError(f"'hops' is {self.hops}, but there are {len(self.steps)} 'steps'")
        if self.steps and any((evidence.step or 0) > len(self.steps) for evidence in self.evidence):
            raise ValueError(f"evidence of a step after the last of the {len(self.steps)} 'steps'")
        return self


def questions_of(
    rows: Iterable[Placed | DataError], places: Sequence[dict[Key, str]] = ()
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Validate the rows of a file and return its questions and warnings.

    `rows` holds a DataError in place of each row that could not be read. `places` are the places of the
    values of each other row, where they are known; errors then name them. Raises a single QuestionsError that
    lists all invalid rows, or all duplicate ids.
    """
    checked: list[tuple[str, Question]] = []
    warnings: list[str] = []
    complaints: list[str] = []
    numbers = count()
    for found in rows:
        if isinstance(found, DataError):
            complaints.append(str(found))
            continue
        place, data = found
        number = next(numbers)
        try:
            row, notes = _checked(place, data, places[number] if number < len(places) else {})
        except DataError as error:
            complaints.append(str(error))
            continue
        checked.append((place, _question(row)))
        warnings += notes
    if complaints:
        raise QuestionsError(complaints)
    written = [one.id for _, one in checked if one.id]
    derived = question_ids([one.category for _, one in checked], written)
    questions = tuple(
        one if one.id else _with_shared_names(one.model_copy(update={"id": own_id}))
        for (_, one), own_id in zip(checked, derived, strict=True)
    )
    if repeated := list(
        repeated_ids((place, one.id) for (place, _), one in zip(checked, questions, strict=True))
    ):
        raise QuestionsError(repeated)
    return questions, tuple(warnings)


def ignored_keys(data: Mapping[str, Any]) -> set[str]:
    """Return the ignored keys that have a value in a row."""
    return {key for key, value in data.items() if value is not None and _ignored(key, value)}


def _checked(place: str, data: dict[str, Any], places: dict[Key, str]) -> tuple[QuestionRow, list[str]]:
    """Return a validated row without empty answer phrases, and a warning for each variant that had one.
    Raises DataError if the row is invalid; `places` are those of its values, as far as they are known."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:  # JSON can spell an unpaired surrogate, UTF-8 cannot encode it
        surrogate = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError(f"{place}: {surrogate} is an unpaired surrogate, not a character") from None
    data = {key: value for key, value in data.items() if not _ignored(key, value)}
    data = open_ended(place, data)
    if "question" not in data and "text" in data:
        data["question"] = data.pop("text")
    count = 0
    if "answers" in data and (count := _plain_values(data["answers"])):
        data["answers"] = _as_forms(data["answers"])
    source = Source(place, data, places)
    if faults := list(_misformed(data.get("answers"), ("answers",))):
        raise DataError("\n".join(f"{source.at(key)}: {dotted(key)}: {what}" for key, what in faults))
    try:
        row = validate(QuestionRow, source)
    except ConfigError as error:
        raise DataError(str(error)) from error
    variants = [
        [phrase for phrase in variant if not isinstance(phrase, str) or phrase.strip()]
        for variant in row.answers
    ]
    notes = [
        f"{place}: variant {number} of the answers {'has an empty phrase' if filled else 'is empty'}, skipped"
        for number, (filled, written) in enumerate(zip(variants, row.answers, strict=True), start=1)
        if not written or len(filled) < len(written)
    ]
    if count:
        notes.append(
            f"{place}: numbers and truth values among the answers, read as {{number: ...}} or"
            f" {{yes_no: ...}}: {count}"
        )
    variants = [variant for variant in variants if variant]
    row = row.model_copy(update={"answers": variants})
    if row.answerable and not row.evidence and not any(getattr(row, key) for key in GOLD):
        absent = "is missing" if "answers" not in data else "contains no phrase"
        raise DataError(
            f"{place}: 'answers' {absent} (a question without one needs a 'reference', 'answerable: false',"
            " or 'evidence', which is enough to measure retrieval)"
        )
    return row, notes


def _ignored(key: str, value: Any) -> bool:
    """Return whether a key is ignored: it has no value, or its name marks it as a comment."""
    return value is None or key in IGNORED or key.startswith("_")


def _question(row: QuestionRow) -> Question:
    """Convert a validated row to a `Question`, the type that the rest of fathoms uses, with an empty id where
    the row has none."""
    question = Question(
        id=row.id or "",
        text=row.question,
        category=row.category,
        files=tuple(row.files),
        answers=tuple(map(tuple, row.answers)),
        reference=row.reference,
        evidence=tuple(Evidence(**evidence.model_dump()) for evidence in row.evidence),
        hops=row.hops or len(row.steps) or None,
        steps=tuple(Step(**step.model_dump()) for step in row.steps),
        answerable=row.answerable,
        reading=row.reading,
        short_answer=row.short_answer,
        long_answer=row.long_answer,
        reference_claims=tuple(row.reference_claims),
        nuggets=tuple(Nugget(**nugget.model_dump()) for nugget in row.nuggets),
        facts=tuple(Fact(**fact.model_dump()) for fact in row.facts),
        quotes=tuple(Quote(**quote.model_dump()) for quote in row.quotes),
        metadata=row.metadata,
    )
    return _with_shared_names(question)


def _with_shared_names(question: Question) -> Question:
    """Return the question, with the set of the names of its fields in common with all others: one of its own
    takes as much memory as a short question itself."""
    object.__setattr__(question, "__pydantic_fields_set__", _NAMES)
    return question


def repeated_ids(ids: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a complaint for each id that repeats an earlier one; `ids` holds pairs of place and id.

    Ids that differ only in case, white space or Unicode form count as repeated: readers cannot tell them
    apart, and on some file systems they would name the same file.
    """
    first: dict[str, tuple[str, str]] = {}
    for place, own_id in ids:
        where, earlier = first.setdefault(same_words(own_id), (place, own_id))
        if where == place:
            continue
        if earlier == own_id:
            yield f"{place}: the id '{own_id}' is already used at {where}"
        else:
            yield f"{place}: the id '{own_id}' differs from '{earlier}' (at {where}) only in its spelling"
