"""Imports the answers of a model that MMDocRAG released (Dong et al. 2025), with the grades of its judge.

    {"q_id": 0, "model": "gpt-4.1", "in_tok": 2947, "out_tok": 132, "response": "... ![...](image4) ... [9]."}
    {"q_id": 0, "model": "gpt-4o-2024-08-06_vlm", "response": {"Fluency": 5, "Citation Quality": 4, ...}}

| released | becomes |
|---|---|
| the gold: rows of the data set, or `q_id` and `gold_quotes` alone | questions with their quotes |
| `response`; the thoughts before it | the answer; its reasoning |
| `error`, where there is no response | a failed call |
| `in_tok`, `out_tok`, `model` | tokens of the prompt and of the answer, the model |
| the grades of a judge | released scores, and verdicts for the set `mmdocrag-quality` |

Rows that cannot be used are left out and counted. A reply of a judge that cannot be read is a verdict without
grades: it is counted, and 0 only in `mmdocrag-quality-released`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fathoms.corpora import read_questions
from fathoms.corpora.rows import repeated_ids
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import SHOWN, Imported
from fathoms.importers.rows import Row, imported_rows, require_name
from fathoms.judges.imported import ImportedJudge, ImportedVerdicts
from fathoms.judges.replies import read_grades, read_json
from fathoms.metrics.quotes.metrics import MMDOCRAG
from fathoms.metrics.quotes.quality import graded_answer, released_grade
from fathoms.pipeline.external.answer import Parts
from fathoms.runs.grades import QUALITY, grade
from fathoms.safety.inputs import json_lines
from fathoms.types import Judgement, Question, Quote, Record, Usage, Verdict

_CLOSED, _SECONDS = "</think>", " seconds\n\n"
_TIMED = re.compile(r"\b(?:thought|reasoned|thinking)\b[^\n]{0,40} seconds\n\n", re.IGNORECASE)
_QUOTES = tuple(str(metric.model_fields["kind"].default) for metric in MMDOCRAG)
_JUDGED = ("mmdocrag-quality", "mmdocrag-quality-released")
_TEXTS = ("bleu", "rouge-l")
_EXPECTED = "expected 'q_id' and a text as 'response', or an 'error'"


@dataclass(frozen=True)
class Graded:
    """The grades of a judge's file by question, under the keys that the judge wrote; `None` where its reply
    cannot be read. `judge` is the model."""

    judge: str
    grades: Mapping[str, dict[str, float] | None]
    warnings: tuple[str, ...] = ()


def read_mmdocrag(
    path: Path, gold: Path | Sequence[Question], judge: Path | None = None, *, released: bool = False
) -> Imported:
    """Read a file of answers, the gold of the data set (a file, or its questions), and the grades of a judge
    if there are any. `released` parts thoughts from answers as the released evaluation does.

    Raises DataError for a file without usable rows.
    """
    questions = read_gold(gold) if isinstance(gold, Path) else gold
    graded = None if judge is None else read_judge(judge)
    values, complaints = json_lines(path, nan_as_null=True)
    rows: list[Row] = []
    models: dict[str, None] = {}
    for number, value in values:
        row = _row(number, value, graded, released=released)
        if row is None:
            complaints.append(f"{path}:{number}: left out: {_EXPECTED}")
        else:
            rows.append(row)
            models.setdefault(row.parts.model or "")
    found = imported_rows(
        path,
        rows,
        questions,
        warnings=_shortened(complaints),
        left_out=len(complaints),
        model=next(iter(models), None),
    )
    failed = sum(record.error is not None for record in found.records)
    more = [f"{path}: {failed} answers are failed calls, which cite nothing"] if failed else []
    has_text = any(question.reference for question in questions)
    metrics = (*_QUOTES, *(_TEXTS if has_text else ()), *(_JUDGED if graded else ()))
    judged = None if graded is None else _imported_verdicts(found.records, graded)
    warnings = (*found.warnings, *more, *(graded.warnings if graded else ()))
    return replace(found, judged=judged, metrics=metrics, warnings=warnings)


def read_gold(path: Path) -> tuple[Question, ...]:
    """Return the questions of the data set, or of a file with `q_id` and `gold_quotes` alone.

    Raises DataError for a file that is neither.
    """
    values, complaints = json_lines(path)
    placed = [(f"{path}:{number}", value) for number, value in values]
    if placed and isinstance(placed[0][1], dict) and "text_quotes" in placed[0][1]:
        return read_questions(path).questions
    found = [(place, _bare_question(value, place, complaints)) for place, value in placed]
    questions = [(place, question) for place, question in found if question is not None]
    complaints += repeated_ids((place, question.id) for place, question in questions)
    if complaints:
        raise QuestionsError(complaints)
    if not questions:
        raise DataError(f"{path}: contains no gold quotes")
    return tuple(question for _, question in questions)


def _bare_question(value: Any, place: str, complaints: list[str]) -> Question | None:
    """Return the question of a row that has little more than its gold quotes."""
    id = _id(value)
    quotes = value.get("gold_quotes") if isinstance(value, dict) else None
    if id is None or not isinstance(quotes, list) or not all(isinstance(one, str) for one in quotes):
        complaints.append(f"{place}: expected 'q_id' and a list of 'gold_quotes', such as image1 and text3")
        return None
    try:
        for name in (id, *quotes):
            require_name("the id", name)
    except DataError as error:
        complaints.append(f"{place}: {error}")
        return None
    short = value.get("answer_short_joined", value.get("answer_short"))
    return Question(
        id=id,
        text=f"Question {id} of MMDocRAG, whose text is not in the file",
        category="MMDocRAG",
        short_answer=str(short) if short not in (None, "", []) else None,
        quotes=tuple(
            Quote(id=one, modality="image" if one.startswith("image") else "text", gold=True)
            for one in dict.fromkeys(quotes)
        ),
    )


def read_judge(path: Path) -> Graded:
    """Read the grades of a judge; replies that cannot be read are counted in the warnings."""
    values, complaints = json_lines(path, nan_as_null=True)
    grades: dict[str, dict[str, float] | None] = {}
    judges: dict[str, None] = {}
    for number, value in values:
        id = _id(value)
        if id is None or id in grades:
            what = "expected 'q_id'" if id is None else f"a second reply on {id}"
            complaints.append(f"{path}:{number}: left out: {what}")
            continue
        reply = value.get("response")
        read = read_grades(read_json(reply) if isinstance(reply, str) else reply)
        grades[id] = None if read is None else read["grades"]
        judges.setdefault(str(value.get("model") or "a judge"))
    if not grades:
        raise DataError("\n".join([f"{path}: contains no grades", *complaints[:SHOWN]]))
    warnings = _shortened(complaints)
    if lost := [id for id, found in grades.items() if found is None]:
        warnings.append(
            f"{path}: {len(lost)} replies have no grades that can be read: {', '.join(lost[:SHOWN])}"
        )
    return Graded(next(iter(judges)), grades, tuple(warnings))


def _row(number: int, value: Any, graded: Graded | None, *, released: bool) -> Row | None:
    """Return a row of the file of answers; `None` if it cannot be used."""
    id = _id(value)
    if id is None or not ("response" in value or value.get("error")):
        return None
    text = value.get("response")
    if not isinstance(text, str | None):
        return None
    text = text or ""
    thoughts, answer = _parted(text, released=released)
    error = None if text.strip() or not value.get("error") else str(value["error"])
    usage = Usage(prompt_tokens=_count(value.get("in_tok")), completion_tokens=_count(value.get("out_tok")))
    return Row(
        number,
        id,
        answer=answer if error is None else None,
        error=error,
        parts=Parts(
            usage=usage,
            reasoning=thoughts.strip().removeprefix("<think>").strip(),
            model=str(value["model"]) if value.get("model") else None,
        ),
        released=_released(id, graded),
    )


def _released(id: str, graded: Graded | None) -> dict[str, float | None]:
    """Return the grades of a question by their names, without any if the judge has no row for it."""
    if graded is None or id not in graded.grades:
        return {}
    return {released_grade(name): grade(graded.grades[id], name) for name in QUALITY}


def _imported_verdicts(records: Iterable[Record], graded: Graded) -> ImportedVerdicts:
    """Return the grades as verdicts on the answers."""
    verdicts: dict[Judgement, Verdict] = {}
    for record in records:
        if record.question.id not in graded.grades:
            continue
        judgement, grades = graded_answer(record), graded.grades[record.question.id]
        verdicts[judgement] = Verdict(
            claim=judgement.claim,
            premise=judgement.premise,
            label="unparsed" if grades is None else "graded",
            why="the reply in the file cannot be read" if grades is None else None,
            grades=grades,
        )
    return ImportedVerdicts(ImportedJudge(by=graded.judge), {}, verdicts)


def _id(value: Any) -> str | None:
    """Return the number of the question of a row as text; `None` if there is none."""
    found = value.get("q_id") if isinstance(value, dict) else None
    return str(found) if isinstance(found, int | str) and not isinstance(found, bool) else None


def _count(value: Any) -> int | None:
    """Return a number of tokens; `None` if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _shortened(complaints: list[str]) -> list[str]:
    """Return the first of many messages, and how many more there are."""
    more = len(complaints) - SHOWN
    return [*complaints[:SHOWN], *([f"and {more} more rows of this kind"] if more > 0 else [])]


def _parted(text: str, *, released: bool) -> tuple[str, str]:
    """Return the thoughts before an answer, empty if there are none, and the answer: what follows a closing
    `</think>`, or else a line such as "Thought for 12 seconds".

    Of several closing tags with an empty line after them, the answer stands between the first two, as in the
    released evaluation; otherwise it follows the last one. Thoughts that were cut off have no end, so nothing
    is dropped. The `released` evaluation knows no tag without an empty line after it, and takes any paragraph
    that ends in " seconds" for the end of thoughts, also one of an answer ("It takes 12 seconds").
    """
    for end in (f"{_CLOSED}\n\n", *((_SECONDS,) if released else ())):
        if end in text:
            thoughts, answer, *_ = text.split(end)
            return thoughts, answer
    if released:
        return "", text
    if _CLOSED in text:
        thoughts, _, answer = text.rpartition(_CLOSED)
        return thoughts, answer
    timed = _TIMED.search(text) if _SECONDS in text else None
    return (text[: timed.end()], text[timed.end() :]) if timed else ("", text)
