"""The question files of a run (`questions/<id>.json`): making them, and reading them as typed values."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.paths import old_unique_name, safe_name
from fathoms.runs.folder import read_checked
from fathoms.runs.question_lines import file_names, find_lines, read_lines
from fathoms.types import (
    Hit,
    Prompt,
    Quote,
    Record,
    StoredValue,
)
from fathoms.types.run.part import Json, misfit
from fathoms.types.run.rows import BriefQuestion, ScoredQuestion

_View = TypeVar("_View", bound=StoredValue)


_CUT_OUT = re.compile(r"#p\d+-(figure|table)\d+$")
"""The end of the id of a figure or table that was cut out of its page."""
_PROMPT = [name for name, field in Prompt.model_fields.items() if name != "context" and not field.exclude]
"""What is shown of a prompt whose context is a part of its message."""


def view_of(
    record: Record, scores: Mapping[str, Any], metrics: Mapping[str, Any], claims: Mapping[str, Any]
) -> Json:
    """One record as its question file shows it: the answer, its scores by profile and by its other metrics
    and its judged claims first, then how it was produced. Writing it as JSON converts the values of types of
    fathoms in it."""
    whole = dict(vars(record))
    left_out = [name for name in ("service", "rounds", "trace", "retries") if not whole[name]]
    for name in ("question", "released", *left_out):
        del whole[name]
    quotes = {f"{record.question.id}#{quote.id}": quote for quote in record.question.quotes}
    shown = partial(_shown_hit, quotes=quotes)
    whole["hits"] = record.hits and list(map(shown, record.hits))
    if record.rounds:
        whole["rounds"] = [
            {"query": one.query, "calls": one.calls, "hits": list(map(shown, one.hits))}
            for one in record.rounds
        ]
    if record.prompt and any(record.prompt.context in one.text for one in record.prompt.messages):
        # it is a part of the message
        prompt = vars(record.prompt)
        # pydantic takes twice as long to call the method of a message by itself
        messages = [message.stored() for message in record.prompt.messages]
        whole["prompt"] = {name: prompt[name] for name in _PROMPT} | {"messages": messages}
    first = {key: whole.pop(key) for key in ("repeat", "answer", "error")}
    return {**first, "scores": scores, "metrics": metrics, **({"claims": claims} if claims else {}), **whole}


def _shown_hit(hit: Hit, quotes: Mapping[str, Quote]) -> Json:
    """One hit as a question file shows it. `quotes` are the candidate quotes of the question by the ids of
    their chunks."""
    chunk, quote = hit.chunk, quotes.get(hit.chunk.id)
    image = chunk.image if quote or _CUT_OUT.search(chunk.id) else None  # and not of a whole page
    if quote is not None and image is None:  # the model read its description
        image = quote.image
    return (
        {"rank": hit.rank, "score": hit.score, "document": chunk.document}
        | {"pages": list(chunk.pages), "modality": chunk.modality}
        | ({"header": chunk.header} if chunk.header else {})
        | ({"boxes": chunk.boxes} if chunk.boxes else {})
        | {"text": chunk.text}
        | ({"heatmap": hit.heatmap} if hit.heatmap else {})
        | ({"image": image} if image else {})
        | ({"gold": quote.gold} if quote else {})
    )


def view_names(question: str) -> tuple[str, str]:
    """The name of a question's file under `questions/`, and its name in runs of earlier versions."""
    return f"{safe_name(question, unique=True)}.json", f"{old_unique_name(question)}.json"


def read_views(root: Path, asked: Sequence[str] = ()) -> Iterator[Json]:
    """Yield the JSON of every question of a run: first the questions `asked`, in their order, then any others
    by the name of their file, or of a large run in the order in which they were answered.

    Raises StoreError for what is damaged, for a file that has the name of another question, and for two lines
    of one question, because a question would then be counted twice.
    """
    in_lines: set[str] = set()
    for view in read_lines(root):
        if (id := view["question"]["id"]) in in_lines:
            raise StoreError(
                f"{root / 'questions'} holds the question '{id}' twice: run 'fathoms score {root}'"
            )
        in_lines.add(id)
        yield view
    if in_lines:  # a scoring that did not end can leave files beside them
        yield from (view for view in _read_files(root, asked) if view["question"]["id"] not in in_lines)
    else:
        yield from _read_files(root, asked)


def _read_files(root: Path, asked: Sequence[str]) -> Iterator[Json]:
    """Yield the JSON of the files that hold one question each."""
    order = {name: number for number, id in enumerate(asked) for name in view_names(id)}
    paths = (root / "questions").glob("*.json")
    for path in sorted(paths, key=lambda path: (order.get(path.name, len(order)), path.name)):
        view = read_checked(root, f"questions/{path.name}")
        name, old = view_names(view["question"]["id"])
        if path.name == old != name and os.path.lexists(path.with_name(name)):
            continue  # there is a newer file with the current name
        if path.name not in (name, old):
            raise StoreError(f"{path} holds a question whose file is {name}: 'fathoms score' sets it aside")
        yield view


def find_views(root: Path, questions: Collection[str], asked: Sequence[str]) -> Iterator[Json]:
    """Yield the JSON of some questions of a run, from lines and from files that hold one question each.
    Raises StoreError for what is damaged."""
    if file_names(root):
        yield from find_lines(root, questions, asked)
    for question in questions:
        for name in view_names(question):
            if os.path.lexists(root / "questions" / name):
                yield read_checked(root, f"questions/{name}")


def scored_question(view: Json) -> ScoredQuestion:
    """Convert the JSON of a question file; raises StoreError if it cannot be used."""
    return _converted(ScoredQuestion, view)


def brief_question(view: Json) -> BriefQuestion:
    """Convert what tables need of a question file; raises StoreError if it cannot be used."""
    return _converted(BriefQuestion, view)


def _converted(kind: type[_View], view: Json) -> _View:
    """Convert the JSON of a question file; raises StoreError."""
    try:
        return kind.model_validate(view)
    except ValidationError as error:
        raise StoreError(f"question '{view['question']['id']}' cannot be used: {misfit(error)}") from None
