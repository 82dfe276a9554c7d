"""The test cases of promptfoo with their assertions, as YAML, JSON, JSON lines or CSV.

| in a test case | becomes |
|---|---|
| `vars.question` (or `query`, `input`, ..., or the only variable) | the text of the question |
| `vars.reference` (or `expected`, `ground_truth`, `answer`, ...) | the gold answer in running text |
| `contains`, `icontains`, `equals` | a phrase that an answer has to contain |
| `contains-any`, `icontains-any` | phrases, one of which is enough |
| `contains-all`, `icontains-all` | phrases that are all needed |
| `regex` | `{regex: ...}`, in which case counts |
| `factuality`, `similar`, `context-recall`, `model-graded-factuality` | the gold answer in running text |
| `llm-rubric`, `model-graded-closedqa`, `g-eval` | metadata, for people and for a judge of your own |
| `metadata.id`, `metadata.category`, other metadata | id, category, metadata |

All assertions of a test have to hold, so their phrases are combined. Any other assertion, and any other
variable, is named in notes.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from pydantic import ValidationError

from fathoms.corpora.goldens import QUESTIONS
from fathoms.corpora.released import Notes
from fathoms.types import GoldRegex

REFERENCES = (
    *("reference", "expected", "expected_output", "expected_answer", "expectedAnswer"),
    *("reference_answer", "ground_truth", "answer"),
)
KEYS = frozenset({"vars"})
_ONE = ("contains", "icontains", "equals")
_ANY = ("contains-any", "icontains-any")
_ALL = ("contains-all", "icontains-all")
_REFERENCE = ("factuality", "model-graded-factuality", "similar", "context-recall")
_RUBRIC = ("llm-rubric", "model-graded-closedqa", "g-eval")
_JUDGED = ("context-faithfulness", "context-relevance", "answer-relevance")
_MOST = 64
"""Most variants that the assertions of a test are combined to."""
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_CELL = re.compile(r"((?:not-)?[a-z][a-z-]*)(?:\([\d.]+\))?:(.*)", re.DOTALL)
_TYPES = frozenset((*_ONE, *_ANY, *_ALL, *_REFERENCE, *_RUBRIC, *_JUDGED, "regex", "grade"))
_OTHER_TYPES = frozenset(
    (
        *(
            "javascript",
            "python",
            "fn",
            "eval",
            "webhook",
            "starts-with",
            "word-count",
            "levenshtein",
            "bleu",
        ),
        *("is-json", "contains-json", "is-sql", "contains-sql", "is-xml", "contains-xml", "is-html"),
        *("contains-html", "cost", "latency", "perplexity", "perplexity-score", "rouge-n", "classifier"),
        *("moderation", "select-best", "finish-reason", "is-refusal", "is-valid-openai-tools-call"),
    )
)


def tests_of(data: Any) -> list[Any] | None:
    """Return the test cases of a configuration with its default test in them, or a list of test cases; `None`
    for what is neither. A test that is the name of a file stays as it is."""
    if isinstance(data, dict) and isinstance(data.get("config"), dict):  # the results of an evaluation
        data = data["config"]
    tests = data.get("tests") if isinstance(data, dict) else data
    if isinstance(tests, str):
        tests = [tests]
    if not isinstance(tests, list) or not any(isinstance(one, str) or _is_test(one) for one in tests):
        return None
    default = data.get("defaultTest") if isinstance(data, dict) else None
    if not isinstance(default, dict):
        return tests
    return [_with_default(one, default) if isinstance(one, dict) else one for one in tests]


def _is_test(value: Any) -> bool:
    return isinstance(value, dict) and ("vars" in value or "assert" in value)


def _with_default(test: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Return a test with the variables, assertions and metadata of the default test, as promptfoo merges."""
    merged = {**default, **test}
    for key in ("vars", "metadata"):
        if isinstance(default.get(key), dict) and isinstance(test.get(key, {}), dict):
            merged[key] = {**default[key], **test.get(key, {})}
    asserted = [one for part in (default, test) for one in part.get("assert") or []]
    return {**merged, "assert": asserted}


def of_table(row: dict[str, str]) -> dict[str, Any] | None:
    """Return a row of a table as a test case; `None` where no column is called `__expected`."""
    if not any(column.startswith("__expected") for column in row):
        return None
    asserted = [_assertion(cell) for column, cell in row.items() if column.startswith("__expected") and cell]
    metadata = {
        column.removeprefix("__metadata:").removesuffix("[]"): cell
        for column, cell in row.items()
        if column.startswith("__metadata:") and cell
    }
    other = {column: cell for column, cell in row.items() if column.startswith(("__config", "__threshold"))}
    variables = {column: cell for column, cell in row.items() if not column.startswith("__")}
    described = {"description": row["__description"]} if row.get("__description") else {}
    return {"vars": variables, "assert": asserted, "metadata": metadata, **described, **other}


def _assertion(cell: str) -> dict[str, Any]:
    """Return the assertion that a cell writes as `contains: Paris`; a text alone is to be equal."""
    found = _CELL.fullmatch(cell.strip())
    kind = found[1] if found else ""
    if found is None or kind.removeprefix("not-") not in _TYPES | _OTHER_TYPES:
        return {"type": "equals", "value": cell.strip()}
    value: Any = found[2].strip()
    if kind.removeprefix("not-") in (*_ANY, *_ALL):
        value = [part.strip() for part in value.split(",")]
    return {"type": "llm-rubric" if kind == "grade" else kind, "value": value}


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a test case as a question in the keys of `rows`, or as several where its variable lists several
    texts; none if it cannot be used."""
    variables = row.get("vars")
    if not isinstance(variables, dict):
        notes.add("tests left out, because 'vars' is not an object", place)
        return []
    name = next((one for one in QUESTIONS if variables.get(one)), None)
    if name is None and len(variables) == 1:
        (name,) = variables
    written = variables.get(name or "")
    texts = [one for one in (written if isinstance(written, list) else [written]) if isinstance(one, str)]
    if not texts or any(not one.strip() or one.startswith("file://") for one in texts):
        notes.add("tests left out, because no variable is the text of a question", place)
        return []
    gold = gold_of(row, place, notes)
    for key, value in variables.items():
        if key not in (name, "id", *REFERENCES) and value not in (None, ""):
            notes.add(f"values of the variable '{key[:80]}' left out", place)
    for key, value in row.items():
        if key not in ("vars", "assert", "metadata", "description") and value not in (None, "", {}, []):
            notes.add(f"values of '{key[:80]}' left out, because a question has no place for them", place)
    metadata = row.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own_metadata = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in metadata.items()
        if key not in ("id", "category") and not isinstance(value, dict)
    }
    own_id = metadata.get("id") or variables.get("id")
    described = {"description": row["description"]} if isinstance(row.get("description"), str) else {}
    if not gold.get("answers") and not gold.get("reference"):
        notes.add("tests left out, because none of their assertions is a gold answer", place)
        return []
    return [
        {
            "question": text,
            "id": None if own_id is None else str(own_id) + (f"-{number}" if len(texts) > 1 else ""),
            "category": str(metadata.get("category") or "Uncategorised"),
            "answers": gold.get("answers", []),
            "reference": gold.get("reference"),
            "metadata": {**own_metadata, **described, **gold.get("metadata", {})},
        }
        for number, text in enumerate(texts, start=1)
    ]


def gold_of(test: dict[str, Any], place: str, notes: Notes) -> dict[str, Any]:
    """Return the gold answer of a test case: `answers`, `reference` and `metadata`, those that it has."""
    variables = test["vars"] if isinstance(test.get("vars"), dict) else {}
    reference = next((variables[key] for key in REFERENCES if isinstance(variables.get(key), str)), None)
    parts: list[list[list[Any]]] = []
    rubrics: dict[str, str] = {}
    for one in _flat(test.get("assert"), place, notes):
        kind, value = str(one.get("type")), _filled(one.get("value"), variables)
        values = value if isinstance(value, list) else [value]
        sound = all(isinstance(item, str | int | float) and str(item).strip() for item in values) and values
        if (not sound and kind not in _JUDGED) or value is _UNKNOWN:
            notes.add(f"assertions '{kind[:80]}' left out, because their value is no text", place)
        elif kind in (*_ONE, *_ALL) and (kind in _ALL or not isinstance(value, list)):
            parts.append([[str(item) for item in values]])
            if kind == "equals":
                notes.add("assertions 'equals', taken as phrases that an answer has to contain", place)
        elif kind in _ANY:
            parts.append([[str(item)] for item in values])
        elif kind == "regex" and isinstance(value, str):
            try:
                GoldRegex(regex=value)
                parts.append([[{"regex": value, "ignore_case": False}]])
            except ValidationError:
                notes.add("assertions 'regex' left out, because they are no regular expressions here", place)
        elif kind in _REFERENCE and isinstance(value, str):
            reference = reference or value
        elif kind in _RUBRIC and isinstance(value, str | list):
            text = "; ".join(map(str, values))
            rubrics[kind] = f"{rubrics[kind]}; {text}" if kind in rubrics else text
            notes.add(f"assertions '{kind}', kept in the metadata: no metric reads them", place)
        elif kind in _JUDGED:
            notes.add(f"assertions '{kind}' left out: metrics of a judge, not gold", place)
        else:
            notes.add(f"assertions '{kind[:80]}' left out, because they are no gold answer", place)
    answers: list[list[Any]] = [[]]
    for part in parts:
        if len(answers) * len(part) > _MOST:
            notes.add(f"assertions left out, because they combine to more than {_MOST} answers", place)
            continue
        pairs = product(answers, part)
        answers = [[*first, *(one for one in more if one not in first)] for first, more in pairs]
    found = {"answers": answers if answers != [[]] else None, "reference": reference, "metadata": rubrics}
    return {key: value for key, value in found.items() if value}


_UNKNOWN = object()


def _filled(value: Any, variables: dict[str, Any]) -> Any:
    """Return the value of an assertion with its variables filled in; `_UNKNOWN` where a template says more,
    or where the value lies in a file."""
    if isinstance(value, list):
        items = [_filled(item, variables) for item in value]
        return _UNKNOWN if _UNKNOWN in items else items
    if not isinstance(value, str):
        return value
    text = _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), value)
    return _UNKNOWN if "{{" in text or "{%" in text or text.startswith("file://") else text


def _flat(asserted: Any, place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the assertions of a test that all have to hold, those of sets among them."""
    found = []
    for one in asserted if isinstance(asserted, list) else []:
        if not isinstance(one, dict):
            notes.add("assertions left out, because they are no objects", place)
        elif one.get("type") == "assert-set" and one.get("threshold") is None:
            found += _flat(one.get("assert"), place, notes)
        elif one.get("weight") == 0:
            notes.add("assertions left out, because they have no weight", place)
        else:
            found.append(one)
    return found
