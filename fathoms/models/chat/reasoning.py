"""Separates the reasoning that a model writes before its answer from the answer."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)
# some chat templates end the prompt with the opening tag, so the reply has only the closing one
_OPENED_BEFORE = re.compile(r"((?:(?!<think>).)*?)</think>\s*", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a text that may begin with `<think>...</think>` or `...</think>` into (reasoning, answer).

    If the reasoning was cut off before its closing tag, the answer is empty.
    """
    match = _THOUGHT.match(text) or _OPENED_BEFORE.match(text)
    return (match[1].strip(), text[match.end() :]) if match else ("", text)
