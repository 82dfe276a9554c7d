"""Imports results of promptfoo: the file of `promptfoo eval -o FILE.json`, or `-o FILE.jsonl`.

As promptfoo 0.121 writes them. A file holds the results of all its prompts and providers; each pair of them
becomes a run. A result is a failed call if promptfoo counts it as an error (`failureReason: 2`), and not if
an assertion failed.

| in a result | becomes |
|---|---|
| `vars.question` (or `query`, `input`, `user_input`, the only variable, the prompt) | the question's text |
| `testCase.metadata.id`, `.category`, `vars.id` | the question's id and category |
| `vars.reference` (or `expected`, `ground_truth`, `answer`) | the gold answer in running text |
| `testCase.assert` | gold answers |
| `response.output`, or its `answer` or `output` | the answer; `Thinking: ...` before it, its reasoning |
| `contexts` or `context` in `response.metadata`, `response.output` or `vars` | the hits |
| `response.tokenUsage`, `.cost`, `latencyMs` | tokens, US dollars and seconds |
| `namedScores`, `score`, `success` | released scores |

Assertions become gold answers as `corpora/promptfoo_tests.py` says. Warnings name what is not imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.answers.reasoning import split_parts
from fathoms.corpora.promptfoo_tests import gold_of
from fathoms.corpora.released import Notes
from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import (
    ForeignRow,
    Options,
    contexts_in,
    found_hits,
    imported,
    numbers,
    scalars,
    usable,
    value_at,
)
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row
from fathoms.pipeline.external.answer import Parts
from fathoms.safety.inputs import LARGEST_IMPORT, json_lines, parse_json, read_text

_QUESTION = ("question", "query", "input", "user_input")
_PLACES = (("response", "metadata"), ("response", "output"), ("vars",))
_THINKING = ("Thinking:", "Redacted Thinking:")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_SIGNATURE = re.compile(r"\nSignature: [^\n]*(?:\n\s*|\Z)")
_ERROR = 2
"""promptfoo's `failureReason` for a call that failed; 1 stands for a failed assertion."""


def read_promptfoo(path: Path, options: Options) -> list[Imported]:
    """Read a result file; one import for each prompt and provider, in the order of the file.

    Results that cannot be used are left out and named in warnings. Raises DataError if the file is no result
    file of promptfoo, or if no result of a provider can be used.
    """
    values, complaints, what = _values(path)
    pairs: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    for number, value in values:
        provider = (
            value_at(value, "provider", "label") or value_at(value, "provider", "id") or "unknown provider"
        )
        prompt = value_at(value, "promptId") or value_at(value, "prompt", "label")
        pairs.setdefault((str(provider), str(prompt)), []).append((number, value))
    if not pairs:
        raise DataError("\n".join([f"{path}: holds no results", *complaints]))
    prompts = list(dict.fromkeys(prompt for _, prompt in pairs))
    found = []
    for (provider, prompt), own in pairs.items():
        notes = Notes()
        rows, more = usable(own, partial(_row, path, notes, what=what, options=options), path, what)
        one = imported(path, rows, [*complaints, *more], options, model=provider)
        if options.questions is None:  # others have their own gold
            one = replace(one, warnings=(*notes.warnings(), *one.warnings))
        suffix = f"-{prompts.index(prompt) + 1}" if len(prompts) > 1 else ""
        found.append(replace(one, name=f"{path.stem}-{provider}{suffix}"))
    return found


def _values(path: Path) -> tuple[Sequence[tuple[int, Any]], list[str], str]:
    """Return the results by number, a message for each unreadable one, and what the numbers count."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        values, complaints = json_lines(path, nan_as_null=True)
        return values, complaints, "line"
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
    results = value_at(data, "results", "results")
    if not isinstance(results, list):
        raise DataError(
            f"{path}: no list at results.results: expected the file of 'promptfoo eval -o FILE.json'"
        )
    return list(enumerate(results, start=1)), [], "result"


def _row(path: Path, notes: Notes, number: int, value: Any, *, what: str, options: Options) -> ForeignRow:
    """Convert one result, and note the parts of its test that are not imported; raises DataError."""
    variables = value_at(value, "vars") or {}
    question = _question(value, variables)
    response = value_at(value, "response")
    thought, answer = _answer(value_at(response, "output"))
    error = None
    if value_at(value, "failureReason") == _ERROR or answer is None:
        reason = value_at(value, "error") or value_at(response, "error") or "no output"
        answer, error = None, str(reason)
    parts = Parts.model_validate(
        {
            "usage": _usage(value_at(response, "tokenUsage")),
            "cost": value_at(response, "cost"),
            "reasoning": thought,
            "refusal": answer if value_at(response, "isRefusal") is True else None,
        }
    )
    latency = value_at(value, "latencyMs")
    named = value_at(value, "namedScores")
    scores = dict(named) if isinstance(named, dict) else {}
    scores |= {
        name: value_at(value, name) for name in ("score", "success") if value_at(value, name) is not None
    }
    metadata = value_at(value, "testCase", "metadata") or {}
    name = value_at(metadata, "id") or value_at(variables, "id")
    test = {"vars": variables, "assert": value_at(value, "testCase", "assert")}
    gold = gold_of(test, Row(number, what=what).place(path), notes)
    row = Row(
        number,
        id=None if name is None else str(name),
        question=question,
        what=what,
        answer=answer,
        error=error,
        parts=parts,
        hits=found_hits(contexts_in(value, _PLACES, options)),
        latency=latency / 1000 if isinstance(latency, int | float) else None,
        released={} if error else numbers(scores),
    )
    return ForeignRow(
        row,
        category=str(value_at(metadata, "category") or "Uncategorised"),
        answers=gold.get("answers", ()),
        reference=gold.get("reference"),
        metadata={**dict(scalars(metadata, ("id", "category"))), **gold.get("metadata", {})},
    )


def _question(value: Any, variables: Any) -> str:
    """Return the text of the question; raises DataError where there is none."""
    if not isinstance(variables, dict):
        raise DataError("'vars' is not an object")
    texts = [variables.get(key) for key in _QUESTION]
    if len(variables) == 1:
        texts += variables.values()
    texts.append(value_at(value, "prompt", "raw"))
    for text in texts:
        if isinstance(text, str) and text.strip():
            return text
    raise DataError(f"no question: expected a variable named {', '.join(_QUESTION)}")


def _answer(output: Any) -> tuple[str, str | None]:
    """Return the reasoning and the text of an output: a text itself, content parts, the answer within an
    object, or the object as JSON."""
    if isinstance(output, dict):
        output = next((output[key] for key in ("answer", "output") if key in output), output)
    if parts := split_parts(output):
        return parts
    if output is None or isinstance(output, str):
        return _without_thinking(output) if output else ("", output)
    return "", json.dumps(output, ensure_ascii=False)


def _without_thinking(text: str) -> tuple[str, str]:
    """Split an output into the reasoning that promptfoo writes before it, after `Thinking:` and up to a
    signature or to a blank line, and the answer."""
    signatures = list(_SIGNATURE.finditer(text))
    end = signatures[-1] if signatures else _BLANK_LINE.search(text)
    if end is None or not text.startswith(_THINKING):
        return "", text
    return text[: end.start()].partition(":")[2].strip(), text[end.end() :]


def _usage(tokens: Any) -> dict[str, int] | None:
    """Return the token counts; `None` where promptfoo counted none, as for its own providers."""
    counts = {
        "prompt_tokens": value_at(tokens, "prompt"),
        "completion_tokens": value_at(tokens, "completion"),
    }
    return {name: count for name, count in counts.items() if count} or None
