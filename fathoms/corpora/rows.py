"""One question as people write it, checked: the rules that all question files share.

| key          | value                                                     | default           |
|--------------|-----------------------------------------------------------|-------------------|
| `question`   | its text; `text` means the same                           | required          |
| `answers`    | one phrase, a list of phrases of which any will do, or a  | required, but for |
|              | list of lists: any of the lists, all phrases of it        | unanswerable ones |
| `files`      | file names of PDFs, a list or one; empty means all        | all               |
| `category`   | any name of up to 200 characters                          | `Uncategorised`   |
| `id`         | any name of up to 200 characters, once a file             | derived           |
| `evidence`   | list of `{document, page or quote, bbox?}`, pages from 1  | none              |
| `reference`  | an answer in a whole sentence                             | none              |
| `hops`       | how many facts have to be joined, from 1                  | none              |
| `answerable` | `false` if the documents do not hold the answer           | `true`            |

`comment`, `notes`, `metadata` and keys that begin with an underscore are ignored, any other key is an
error, and null is the same as absent. Text is kept as it stands, character by character.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from fathoms.config import Source, suggest, validate
from fathoms.corpora.ids import question_ids
from fathoms.errors import ConfigError, DataError, QuestionsError
from fathoms.types import Evidence, Question

IGNORED = frozenset({"comment", "notes", "metadata"})

LONGEST_NAME = 200
"""Characters of an id or a category; `run` keeps files and folders by these names."""

Placed = tuple[str, dict[str, Any]]
"""A row as it was read, after the place it stands at (`file:line`)."""


def _variants(value: Any) -> Any:
    """Every way to write answers as a list of lists."""
    if isinstance(value, str):
        return [[value]]
    if isinstance(value, list):
        return [[variant] if isinstance(variant, str) else variant for variant in value]
    return value


def _names(value: Any) -> Any:
    """One file name as a list."""
    return [value] if isinstance(value, str) else value


def _refuse_control(name: str) -> None:
    """Raise ValueError for a name with a character that nobody sees: a control character or half of one."""
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise ValueError(f"holds the control character U+{ord(character):04X}: take it out")


class GoldEvidence(Evidence):
    """Evidence as it is written in a file, where a key that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _says_where(self) -> GoldEvidence:
        if self.page is None and not self.quote:
            raise ValueError("evidence needs a 'page' or a 'quote'")
        return self


class Row(BaseModel):
    """The keys of one question and the forms they may take."""

    model_config = ConfigDict(extra="forbid")

    question: str
    answers: Annotated[list[list[str]], BeforeValidator(_variants)] = []
    files: Annotated[list[str], BeforeValidator(_names)] = []
    category: str = "Uncategorised"
    id: str | None = None
    evidence: list[GoldEvidence] = []
    reference: str | None = None
    hops: int | None = Field(default=None, ge=1, le=1000)
    answerable: bool = True

    @field_validator("question", "category", "id")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        return text

    @field_validator("category", "id")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if len(name) > LONGEST_NAME:
            raise ValueError(f"has {len(name)} characters, and a name has {LONGEST_NAME} at most")
        _refuse_control(name)
        return name

    @field_validator("files")
    @classmethod
    def _plain_names(cls, files: list[str]) -> list[str]:
        for name in files:
            if not name.strip() or "/" in name or "\\" in name:
                shown = name[:LONGEST_NAME]
                raise ValueError(f"'{shown}' is not the name of a file (folders are not part of it)")
            _refuse_control(name)
        if len(set(files)) < len(files):
            raise ValueError("the same file stands here twice")
        return files

    @model_validator(mode="after")
    def _evidence_in_files(self) -> Row:
        for evidence in self.evidence:
            if self.files and evidence.document not in self.files:
                hint = suggest(evidence.document, self.files)
                raise ValueError(f"evidence in '{evidence.document}', which is not in 'files'{hint}")
        return self


def questions_of(rows: Iterable[Placed | DataError]) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """All questions of a file, and warnings; raises one QuestionsError that lists every row that is wrong.

    `rows` has an error in place of each row that could not be read.
    """
    checked: list[tuple[str, Row]] = []
    warnings: list[str] = []
    complaints: list[str] = []
    for found in rows:
        if isinstance(found, DataError):
            complaints.append(str(found))
            continue
        place, data = found
        try:
            row, notes = _checked(place, data)
        except DataError as error:
            complaints.append(str(error))
            continue
        checked.append((place, row))
        warnings += notes
    _raise_for(complaints)
    derived = question_ids([row.category for _, row in checked])
    ids = [row.id or own_id for (_, row), own_id in zip(checked, derived, strict=True)]
    _raise_for(list(_repeated(zip([place for place, _ in checked], ids, strict=True))))
    return tuple(_question(row, own_id) for (_, row), own_id in zip(checked, ids, strict=True)), tuple(
        warnings
    )


def ignored_keys(rows: Iterable[Placed]) -> tuple[str, ...]:
    """The keys with a value that say nothing about a question, sorted."""
    found = {
        key for _, data in rows for key, value in data.items() if value is not None and _ignored(key, value)
    }
    return tuple(sorted(found))


def _raise_for(complaints: list[str]) -> None:
    """Raise QuestionsError, if there are any."""
    if complaints:
        raise QuestionsError(complaints)


def _checked(place: str, data: dict[str, Any]) -> tuple[Row, list[str]]:
    """A row that keeps the rules, without its empty variants, and a note on each of those."""
    _refuse_half_characters(place, data)
    data = {key: value for key, value in data.items() if not _ignored(key, value)}
    if "question" not in data and "text" in data:
        data["question"] = data.pop("text")
    try:
        row = validate(Row, Source(place, data))
    except ConfigError as error:
        raise DataError(str(error)) from error
    variants = [[phrase for phrase in variant if phrase.strip()] for variant in row.answers]
    notes = [
        f"{place}: variant {number} of the answers {'has an empty phrase' if kept else 'is empty'}, skipped"
        for number, (kept, written) in enumerate(zip(variants, row.answers, strict=True), start=1)
        if not written or len(kept) < len(written)
    ]
    variants = [variant for variant in variants if variant]
    if row.answerable and not variants:
        absent = "is missing" if "answers" not in data else "holds no phrase"
        raise DataError(f"{place}: 'answers' {absent} (a question without one needs 'answerable: false')")
    return row.model_copy(update={"answers": variants}), notes


def _refuse_half_characters(place: str, data: dict[str, Any]) -> None:
    """JSON can spell half of a surrogate pair, which no file or request can be written with later."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place}: \\u{ord(error.object[error.start]):04x} is only half of a character"
        ) from None


def _ignored(key: str, value: Any) -> bool:
    """Whether a key says nothing about the question."""
    return value is None or key in IGNORED or key.startswith("_")


def _question(row: Row, own_id: str) -> Question:
    """The row as the noun that goes through the rooms."""
    return Question(
        id=own_id,
        text=row.question,
        category=row.category,
        files=tuple(row.files),
        answers=tuple(map(tuple, row.answers)),
        reference=row.reference,
        evidence=tuple(Evidence(**evidence.model_dump()) for evidence in row.evidence),
        hops=row.hops,
        answerable=row.answerable,
    )


def _repeated(ids: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A complaint for each id that stands at more than one place, however it is spelled there.

    Ids that differ only in case, in white space or in their Unicode form look the same to people, and on
    some file systems their files would be one.
    """
    first: dict[str, tuple[str, str]] = {}
    for place, own_id in ids:
        folded = " ".join(unicodedata.normalize("NFKC", own_id).casefold().split())
        where, earlier = first.setdefault(folded, (place, own_id))
        if where == place:
            continue
        if earlier == own_id:
            yield f"{place}: the id '{own_id}' is taken (at {where})"
        else:
            yield f"{place}: the id '{own_id}' can be told from '{earlier}' (at {where}) only by its spelling"
