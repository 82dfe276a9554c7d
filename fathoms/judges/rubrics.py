"""What judges are asked besides whether a source supports a claim, and what they may reply. The words are in
`prompts/`, by the names of the rubrics.

| rubric | claim | premise | context |
|---|---|---|---|
| `grade`, `correct` | the answer | the gold answer | the question |
| `abstention` | the answer | | the question |
| `relevant-sentences` | the question | the source | |
| `questions` | the answer | | |
| `nugget` | the accepted answers, one a line | the answer | the question of the nugget |
| `unanswerable` | the question of the nugget | the answer | |
| `citing` | the sentence | the sentences before it | |
| `quality` | the answer | the gold answer | the question |
| `relevance` | the question | a retrieved passage | |
| `extent` | a fact, or a sentence with a citation | the question and its answer, or the passage cited | |
"""

from __future__ import annotations

from typing import get_args

from fathoms.runs.grades import BEST, QUALITY
from fathoms.types import Form, Rubric

RUBRICS: frozenset[Rubric] = frozenset(get_args(Rubric)) - {"support"}
"""Everything but whether a source supports a claim."""
GRADES = tuple(map(str, range(11)))
KINDS = ("statement", "abstention", "hedged", "refusal")
CITING = ("repeated", "needed", "none")
WORDS: dict[Rubric, dict[str, str]] = {
    "grade": {grade: grade for grade in GRADES},
    "correct": {"yes": "supported", "no": "unsupported"},
    "abstention": {label: label for label in KINDS},
    "nugget": {"yes": "supported", "no": "unsupported"},
    "unanswerable": {"yes": "supported", "no": "unsupported"},
    "citing": {"repeated": "repeated", "cite": "needed", "none": "none"},
    "relevance": {grade: grade for grade in "0123"},
    "extent": {"full": "supported", "partial": "partial", "none": "unsupported"},
}
"""What a language model may reply, and the label of the verdict for it."""
LISTED: frozenset[Rubric] = frozenset({"relevance", "extent"})
"""What is always asked with a numbered list, of several passages or statements or of a single one."""
ABSTENTION_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {
            "sentence": {"type": "integer"},
            "label": {"type": "string", "enum": list(KINDS)},
        },
        "required": ["sentence", "label"],
        "additionalProperties": False,
    }
)
"""The form of the reply on abstention: the number of the sentence comes first, so that the label follows from
it."""
RELEVANT_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": {"type": "integer"}}},
        "required": ["sentences"],
        "additionalProperties": False,
    }
)
"""The form of the reply that names the relevant sentences of a source."""
QUESTIONS_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {
            "noncommittal": {"type": "boolean"},
            "questions": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["noncommittal", "questions"],
        "additionalProperties": False,
    }
)
"""The form of the reply with the questions that a text answers."""
GRADES_FORM = Form(
    json_schema={
        "type": "object",
        "properties": {key: {"type": "integer", "enum": list(range(BEST + 1))} for key in QUALITY.values()},
        "required": list(QUALITY.values()),
        "additionalProperties": False,
    }
)
"""The form of the reply with five grades of an answer. Some vendors know no bounds of numbers, but lists."""
