"""The fields of a question that the page shows and takes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from fathoms.corpora.csv_table import read_phrase
from fathoms.corpora.fathoms_json import written
from fathoms.corpora.rows import questions_of
from fathoms.errors import DataError
from fathoms.types import Box, Question

Text = Annotated[str, Field(max_length=100_000)]
Short = Annotated[str, Field(max_length=1000)]


class EditedEvidence(BaseModel):
    """A piece of evidence as the page has it; `None` and empty texts are values that it lacks."""

    model_config = ConfigDict(extra="forbid")

    document: Short
    page: int | None = None
    quote: Text | None = None
    bbox: Box | None = None
    step: int | None = None
    modality: Short | None = None
    relevance: int | None = None


class Edited(BaseModel):
    """A question as the page has it. Each answer is a list of phrases in the notation of tables, such as
    `{number: 41.5, unit: m}`."""

    model_config = ConfigDict(extra="forbid")

    question: Text
    category: Short
    answerable: bool
    answers: Annotated[list[Annotated[list[Text], Field(max_length=500)]], Field(max_length=500)]
    reference: Text
    short_answer: Text
    long_answer: Text
    evidence: Annotated[list[EditedEvidence], Field(max_length=500)]


def fields_of(question: Question) -> dict[str, Any]:
    """Return the fields of a question as the page has them."""
    return {
        "question": question.text,
        "category": question.category,
        "answerable": question.answerable,
        "answers": [[_line(phrase) for phrase in variant] for variant in question.answers],
        "reference": question.reference or "",
        "short_answer": question.short_answer or "",
        "long_answer": question.long_answer or "",
        "evidence": [one.model_dump(mode="json") for one in question.evidence],
    }


def edited(question: Question, fields: Edited) -> Question:
    """Return a question with the fields of the page in place of its own; those that were not touched stay as
    they are. Raises DataError, naming the fields, where the rules of question files are broken."""
    before, after = fields_of(question), fields.model_dump(mode="json")
    row: dict[str, Any] = {**written(question), "category": question.category}
    for name, value in after.items():
        if value != before[name]:
            row[name] = value
    if "answers" in row and after["answers"] != before["answers"]:
        lines = [[line for line in variant if line.strip()] for variant in fields.answers]
        row["answers"] = [[read_phrase(line) for line in variant] for variant in lines if variant]
    for name in ("reference", "short_answer", "long_answer"):
        if not (row.get(name) or "").strip():
            row.pop(name, None)
    if after["evidence"] != before["evidence"]:
        _require_boxes(fields.evidence)
        row["evidence"] = [
            {key: value for key, value in one.items() if value not in (None, "")} for one in after["evidence"]
        ]
        row["files"] = _with_documents(row.get("files", ()), row["evidence"])
    (result,), _ = questions_of([("question", row)])
    return result


def differences(before: Question, after: Question) -> list[dict[str, Any]]:
    """Return the fields that differ between two questions, with both values."""
    ours, theirs = fields_of(before), fields_of(after)
    return [
        {"field": name, "before": ours[name], "after": theirs[name]}
        for name in ours
        if ours[name] != theirs[name]
    ]


def _line(phrase: object) -> str:
    """Return a phrase as one line."""
    return " ".join(str(phrase).splitlines())


def _require_boxes(evidence: Sequence[EditedEvidence]) -> None:
    """Raise DataError for a box whose corners are the wrong way round."""
    for index, one in enumerate(evidence):
        if one.bbox is not None:
            left, top, right, bottom = one.bbox
            if not (0 <= left < right and 0 <= top < bottom):
                raise DataError(
                    f"question: evidence.{index}.bbox: the box has to have its left and top before its right"
                    " and bottom, in points from the top left corner of the page"
                )


def _with_documents(files: Sequence[str], evidence: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the files of a question and the documents of its evidence; none where it is asked of all."""
    named = [one["document"] for one in evidence if "document" in one]
    return list(dict.fromkeys([*files, *named])) if files else []
