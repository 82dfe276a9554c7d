"""Reasoning that a model writes before its answer is kept apart from the answer."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)
# templates that write the opening tag themselves leave only the closing one in the reply
_OPENED_BEFORE = re.compile(r"((?:(?!<think>).)*?)</think>\s*", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """(reasoning, answer) of a text that may open with `<think>...</think>`, or a thought and `</think>`.

    A thought that was cut off before it closed leaves an empty answer.
    """
    match = _THOUGHT.match(text) or _OPENED_BEFORE.match(text)
    return (match[1].strip(), text[match.end() :]) if match else ("", text)
