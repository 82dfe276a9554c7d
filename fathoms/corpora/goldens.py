"""The question sets of evaluation tools: goldens of Ragas and DeepEval, data sets of LangSmith, Langfuse and
Phoenix.

| tool | form | question, gold answer, gold contexts |
|---|---|---|
| Ragas 0.4 | `to_jsonl`, `to_csv`, pandas | `user_input`, `reference`, `reference_contexts` with ids |
| DeepEval | `save_as` (JSON, JSON lines, CSV) | `input`, `expected_output`, `context` with `source_file` |
| LangSmith | `Example` as JSON or JSON lines, CSV | `inputs`, `outputs` |
| Langfuse | items of the API, JSON, CSV | `input`, `expectedOutput` or `expected_output` |
| Phoenix | `to_dict`, `to_dataframe`, API `/examples`, `/csv` | `input`, `output`; `input.*`, `output.*` |
| Phoenix, OpenAI | API `/jsonl/openai_ft`, `/jsonl/openai_evals` | `messages`, the last one or `ideal` |

An input or output that is an object has the question or the answer under one of the usual names, or as its
only value. Metadata keeps its plain values, and `category` in it is the category. What has no place in a
question is named in notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from fathoms.corpora.page_ids import place_of
from fathoms.corpora.released import NEITHER, Notes, listed, literal, short_gold
from fathoms.errors import DataError
from fathoms.safety.inputs import parse_json

QUESTIONS = ("question", "query", "user_input", "input", "user_query", "prompt", "text")
ANSWERS = (
    *("reference", "answer", "expected_output", "expected_answer", "expected", "ground_truth"),
    *("reference_answer", "output", "response", "text"),
)
_QUESTION = ("user_input", "input", "inputs")
_GOLD = ("reference", "expected_output", "expectedOutput", "outputs", "output")
_CONTEXTS = ("reference_contexts", "context")
_METADATA = ("metadata", "additional_metadata")
_PLAIN = ("persona_name", "query_style", "query_length", "synthesizer_name", "name", "comments")
_READ = frozenset((*_QUESTION, *_GOLD, *_CONTEXTS, *_METADATA, *_PLAIN)).union(
    ("id", "example_id", "node_id", "updated_at", "status", "reference_context_ids", "source_file")
)
_SHORT = 5
"""Most words of an expected answer that is taken as a phrase."""


@dataclass(frozen=True)
class Goldens:
    """One of the formats, recognised by the keys that all its rows have."""

    KEYS: frozenset[str]

    def questions(self, row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
        """Return a row as a question in the keys of `rows`; none if it cannot be used."""
        return _questions(row, place, notes)


FORMATS = tuple(
    Goldens(frozenset(keys))
    for keys in (
        ("user_input",),
        ("messages",),
        ("inputs", "outputs"),
        *(("input", one) for one in _GOLD[1:]),
    )
)


def folded(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row of a table whose columns such as `input_question` are the parts of an input, an output and
    metadata; `None` where the columns are those of no format."""
    if any(row.keys() >= one.KEYS for one in FORMATS):
        return dict(row)
    parts: dict[str, Any] = {}
    for column, cell in row.items():
        for name in ("inputs", "input", "outputs", "output", "metadata"):
            if column.startswith((f"{name}_", f"{name}.")):
                parts.setdefault(name, {})[column[len(name) + 1 :]] = cell
                break
        else:
            parts[column] = cell
    return parts if any(parts.keys() >= one.KEYS for one in FORMATS) else None


def _questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    if row.get("status") == "ARCHIVED":
        notes.add("items left out, because they are archived", place)
        return []
    if "messages" in row:
        row = _of_chat(row)
    text = text_in(_first(row, _QUESTION), QUESTIONS)
    if text is None:
        notes.add("rows left out, because their input is a conversation or names no question", place)
        return []
    expected = _first(row, _GOLD)
    answer = text_in(expected, ANSWERS)
    if answer is None and expected not in (None, "", {}):
        notes.add("expected outputs left out, because they name no answer", place)
    metadata = _metadata(row, place, notes)
    category = metadata.pop("category", None)
    name = row.get("id") or row.get("example_id")
    evidence, files = _evidence(row, place, notes)
    for key, value in row.items():
        if key not in _READ and value not in (None, "", [], {}):
            notes.add(f"values of '{key[:80]}' left out, because a question has no place for them", place)
    question = {
        "question": text,
        "id": None if name is None else str(name),
        "category": str(category) if category else "Uncategorised",
        **({} if answer is None else gold_of(answer, place, notes)),
        "evidence": evidence,
        "files": files,
        "metadata": metadata,
    }
    if answer is None and not evidence:
        notes.add(NEITHER, place)
        return []
    return [question]


def _of_chat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of messages as an input and its output: `ideal`, or else what the assistant says last."""
    rest = {key: value for key, value in row.items() if key not in ("messages", "ideal")}
    messages, ideal = _parsed(row["messages"]), row.get("ideal")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if ideal in (None, "") and isinstance(last, dict) and last.get("role") == "assistant":
        messages, ideal = messages[:-1], last.get("content")
    return {**rest, "input": messages, "output": ideal}


def gold_of(answer: str, place: str, notes: Notes) -> dict[str, Any]:
    """Return the keys of an expected answer: a phrase if it has few words and is no sentence, else the gold
    answer in running text."""
    if len(answer.split()) <= _SHORT and not answer.rstrip().endswith((".", "!", "?", "。")):
        notes.add("expected answers of few words, taken as phrases that an answer has to contain", place)
        if answer.strip().lower() in ("yes", "no"):
            return {"answers": [[{"yes_no": answer.strip().lower()}]], "short_answer": answer}
        return short_gold(answer)
    notes.add("expected answers in running text, taken as 'reference', which only a judge compares", place)
    return {"reference": answer}


def text_in(value: Any, names: tuple[str, ...]) -> str | None:
    """Return the text of an input or output: a text, the value of an object under one of the names or its
    only one, or the message of a user or an assistant where there is one; `None` for anything else."""
    value = _parsed(value)
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, dict):
        name = next((one for one in names if value.get(one) not in (None, "")), None)
        if name is None and "messages" in value:
            name = "messages"
        if name is None and len(value) == 1:
            (name,) = value
        if name is None and {"role", "content"} <= value.keys():
            name = "content"
        return None if name is None else text_in(value[name], names)
    if isinstance(value, list):
        said = [one for one in value if isinstance(one, dict) and one.get("role") in ("user", "assistant")]
        return text_in(said[0].get("content"), names) if len(said) == 1 else None
    return None


def _parsed(value: Any) -> Any:
    """Return the value of a text that is an object or list in JSON or, as pandas writes it, in Python's
    notation; else the value."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return parse_json(value, "", nan_as_null=True)
        except DataError:
            return value if (found := literal(value)) is None else found
    return value


def _first(row: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) not in (None, "")), None)


def _metadata(row: dict[str, Any], place: str, notes: Notes) -> dict[str, Any]:
    """Return the plain values of the metadata; lists become texts, and objects are named in notes."""
    found = {key: row[key] for key in _PLAIN if row.get(key) not in (None, "")}
    for key in _METADATA:
        value = _parsed(row.get(key))
        found |= value if isinstance(value, dict) else {} if value in (None, "") else {key: value}
    plain = {}
    for key, value in found.items():
        if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
            value = ", ".join(map(str, value))
        if isinstance(value, dict | list):
            notes.add(f"metadata '{key[:80]}' left out, because it is an object", place)
        elif value not in (None, ""):
            plain[key] = value
    return plain


def _evidence(row: dict[str, Any], place: str, notes: Notes) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the gold contexts with a known document as evidence, and other documents."""
    joined = row.get("context")
    if isinstance(joined, str) and "|" in joined and "[" not in joined[:1]:  # as DeepEval writes tables
        contexts = [part.strip() for part in joined.split("|") if part.strip()]
    else:
        contexts = _texts(_first(row, _CONTEXTS))
    ids = _texts(row.get("reference_context_ids"))
    source = row.get("source_file")
    if not ids and isinstance(source, str) and source.strip():
        ids = [PurePosixPath(source.replace("\\", "/")).name] * max(1, len(contexts))
    if contexts and not ids:
        notes.add("gold contexts left out, because no document is named for them", place)
    if contexts and ids and len(contexts) != len(ids):
        notes.add("gold contexts left out, because they are not as many as their ids", place)
        contexts = []
    evidence, files = [], []
    for number, name in enumerate(ids):
        document, pages = place_of(name)
        quote = contexts[number] if contexts else None
        if quote or pages:
            evidence += [{"document": document, "page": page, "quote": quote} for page in pages or (None,)]
        else:
            files.append(document)
    return evidence, list(dict.fromkeys(files)) if not evidence else []


def _texts(value: Any) -> list[str]:
    """Return a list of texts, also one in Python's or NumPy's notation; a text alone is one."""
    if value in (None, ""):
        return []
    several = listed(value)
    return [str(one) for one in several] if several is not None else [str(value)]
