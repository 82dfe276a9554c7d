"""One span of a trace, whichever tool wrote it, and the parts of it that answers are scored by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, NamedTuple

from fathoms.answers.reasoning import REASONING
from fathoms.corpora.page_ids import place_of
from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import value_at
from fathoms.safety.inputs import parse_json
from fathoms.types import Scalar, ToolCall

Kind = Literal["answer", "retrieval", "rerank", "tool", "part", "whole"]
"""What a span is: a call to a model that may give the answer, a search, a reranking, a call of a tool,
another part (an embedding), or whatever surrounds those."""
_QUESTION = ("question", "query", "user_input", "input", "prompt", "text", "value")
_ANSWER = ("answer", "response", "output", "result", "content", "text", "value", "completion")
LONGEST_NAME = 200
"""Most characters of an id; a question may have no longer one."""
LONGEST_TOOL = 20_000
"""Most characters of what a tool was given, and of what it gave back."""
_LABELS = 200
"""Most attributes of a span by which questions can be grouped, and most characters of one."""
_DEEPEST = 20
"""Most dots in the name of an attribute that divide it."""
_PLACES = ("document", "source", "file", "file_name", "filename", "file_path", "doc", "document_id")


class Said(NamedTuple):
    """A message of a conversation: `user`, `assistant` or another role, and its text."""

    role: str
    text: str


@dataclass(frozen=True)
class Seen:
    """A span. `number` is its line, or its place in the file. `said` are the messages that went in, and
    `answer` the text that came out. `documents` are the contexts as the tool has them, `None` if it has none.
    Times are seconds since 1970."""

    number: int
    trace: str
    id: str
    parent: str | None
    kind: Kind
    name: str = ""
    start: float = 0.0
    end: float | None = None
    said: tuple[Said, ...] = ()
    answer: str | None = None
    documents: list[Any] | None = None
    error: str | None = None
    session: str | None = None
    tool: ToolCall | None = None
    labels: Mapping[str, Scalar] = field(default_factory=dict)
    """Short attributes by their full names, by which questions can be grouped."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Parts of the answer, by the names of `Parts`: model, usage, cost, stop_reason."""
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def question(self) -> str | None:
        """The last message of a user; `None` if there is none."""
        texts = (one.text for one in reversed(self.said) if one.role == "user")
        return next((text for text in texts if text.strip()), None)

    @property
    def is_turn(self) -> bool:
        """Whether the span alone has both a question and its answer or failure."""
        has_question = self.question is not None and self.kind in ("answer", "whole")
        return has_question and (self.answer is not None or self.error is not None)

    @property
    def history(self) -> tuple[Said, ...]:
        """The messages of user and assistant before the last question."""
        at = max((n for n, one in enumerate(self.said) if one.role == "user"), default=0)
        return tuple(one for one in self.said[:at] if one.role in ("user", "assistant"))


def loaded(value: Any) -> Any:
    """Return the value of a text that is a JSON object or list, and any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value, "", nan_as_null=True)
        except DataError:
            return value
    return value


def messages_in(value: Any) -> tuple[Said, ...]:
    """Return the messages in what a span was given: a list of messages, an object with `messages` or with a
    question, or a text, which is a question."""
    value = loaded(value)
    if isinstance(value, dict) and isinstance(value.get("messages"), list | dict):
        value = value["messages"]
    if isinstance(value, dict) and "role" in value:
        value = [value]
    if isinstance(value, list):
        found = [_message(one) for one in value]
        return tuple(one for one in found if one is not None)
    text = _text(value, _QUESTION)
    return () if text is None else (Said("user", text),)


def text_out(value: Any) -> str | None:
    """Return the text in what a span gave back: a text, the last message, or an object with an answer."""
    value = loaded(value)
    if isinstance(value, dict):
        for key in ("messages", "choices", "generations"):
            if isinstance(value.get(key), list) and value[key]:
                value = value[key]
                break
    while isinstance(value, list) and value:
        value = value[-1]
    if isinstance(value, dict):
        if isinstance(value.get("message"), dict):
            value = value["message"]
        said = _message(value)
        if said is not None:
            return said.text
    return _text(value, _ANSWER)


def documents_in(value: Any) -> list[Any] | None:
    """Return retrieved documents in the form that `contexts_of` reads: `{text, document, page, score}`."""
    value = loaded(value)
    if isinstance(value, dict):
        value = next((value[key] for key in ("documents", "contexts", "chunks") if key in value), [value])
    return [_document(one) for one in value] if isinstance(value, list) else None


def tool_call(name: Any, given: Any, gave: Any) -> ToolCall:
    """Return a call of a tool; what went in and came out are texts, or JSON."""
    texts = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in (given, gave)
    ]
    return ToolCall(
        name=name_in(name) or "a tool",
        arguments="" if given is None else texts[0][:LONGEST_TOOL],
        result="" if gave is None else texts[1][:LONGEST_TOOL],
    )


def labels_in(value: Any, name: str = "", depth: int = 0) -> dict[str, Scalar]:
    """Return the plain values in attributes, flat or objects in objects, by their full names."""
    if isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _LABELS):
        found = loaded(value)
        return labels_in(found, name, depth) if isinstance(found, dict) else {name: value}
    if not isinstance(value, dict) or depth > _DEEPEST:
        return {}
    rows = (
        row
        for key, inner in value.items()
        for row in labels_in(inner, f"{name}.{key}" if name else str(key), depth + 1).items()
    )
    return dict(islice(rows, _LABELS))


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with dots in their names as objects in objects; numbers are positions in lists.

    `{"llm.input_messages.0.message.role": "user"}` becomes
    `{"llm": {"input_messages": [{"message": {"role": "user"}}]}}`.
    """
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        place, keys = tree, str(name).split(".", _DEEPEST)
        for key in keys[:-1]:
            inner = place.get(key)
            if not isinstance(inner, dict):
                inner = place[key] = {} if inner is None else {"": inner}
            place = inner
        inner, there = _inside(value), place.get(keys[-1])
        if isinstance(there, dict):  # the name is a part of longer names too
            place[keys[-1]] = {**there, **inner} if isinstance(inner, dict) else {**there, "": inner}
        else:
            place[keys[-1]] = inner
    return {key: _lists(value) for key, value in tree.items()}


def seconds(value: Any) -> float | None:
    """Return a time as seconds since 1970: a time in ISO 8601 (UTC if it names no zone), or milliseconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if abs(value) < 1e15 else None
    if not isinstance(value, str) or not value:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def name_in(value: Any) -> str | None:
    """Return a name or an id: a text, or a whole number as one; `None` for anything else and for nothing."""
    is_name = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value)[:LONGEST_NAME] or None if is_name else None


def known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are known."""
    return {name: value for name, value in facts.items() if value not in (None, "", {}, ())}


def _message(value: Any) -> Said | None:
    """Return one message: `{role, content}` or `{role, parts}`; parts that are no text,
    or reasoning, are left out."""
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = value["message"]
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return None
    role = {"human": "user", "ai": "assistant", "model": "assistant"}.get(value["role"]) or value["role"]
    content = next((value[key] for key in ("content", "parts", "contents") if value.get(key)), "")
    parts = content if isinstance(content, list) else [content]
    said = [inner for inner in map(_inner, parts) if value_at(inner, "type") not in REASONING]
    texts = [_text(inner, ("content", "text")) for inner in said]
    return Said(role, "\n".join(text for text in texts if text))


def _inner(part: Any) -> Any:
    """Return a part of a message; OpenInference has it under a name."""
    found = value_at(part, "message_content")
    return part if found is None else found


def _text(value: Any, keys: Sequence[str]) -> str | None:
    """Return a text, or the first text under one of the keys of an object."""
    if isinstance(value, str):
        return value
    found = (value_at(value, key) for key in keys)
    return next((one for one in found if isinstance(one, str)), None)


def _document(value: Any) -> Any:
    """Return one document under the names that `contexts_of` knows."""
    if isinstance(value, dict) and isinstance(value.get("document"), dict):
        value = value["document"]
    if not isinstance(value, dict):
        return value
    inner = loaded(value.get("metadata"))
    found = {**value, "metadata": inner} if isinstance(inner, dict) else dict(value)
    name = value.get("id")
    places = (value, inner if isinstance(inner, dict) else {})
    named = any(place.get(key) for place in places for key in _PLACES)
    if isinstance(name, str | int) and not named:
        found["document"], pages = place_of(str(name))
        if pages and "page" not in found:
            found["page"] = pages[0]
    return found


def _inside(value: Any) -> Any:
    """Return a value with the attributes inside its objects nested too."""
    if isinstance(value, dict):
        return nested(value)
    return [_inside(one) for one in value] if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    """Return a value in which objects whose keys are all numbers are lists."""
    if not isinstance(value, dict):
        return value
    found = {key: _lists(inner) for key, inner in value.items()}
    if found and all(key.isdecimal() and len(key) < 6 for key in found):
        return [found[key] for key in sorted(found, key=int)]
    return found
