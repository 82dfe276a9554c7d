"""Reasoning that a model writes before its answer is kept apart from the answer."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """(reasoning, answer) of a text that may open with `<think>...</think>`.

    A thought that was cut off before it closed leaves an empty answer.
    """
    match = _THOUGHT.match(text)
    return (match[1].strip(), text[match.end() :]) if match else ("", text)
