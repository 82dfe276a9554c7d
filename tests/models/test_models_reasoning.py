"""Thoughts are kept apart from answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.answers.reasoning import split_reasoning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", ("", "42")),
        ("<think>\nsix times seven\n</think>\n\n42", ("six times seven", "42")),
        ("<think></think>42", ("", "42")),
        ("<think>cut off here", ("cut off here", "")),
        ("The tag <think> is text here</think>", ("", "The tag <think> is text here</think>")),
        ("<think>a</think>b<think>c</think>", ("a\n\nc", "b")),
        ("six times seven\n</think>\n\n42", ("six times seven", "42")),
        ("", ("", "")),
    ],
)
def test_split(text: str, expected: tuple[str, str]) -> None:
    assert split_reasoning(text) == expected


@given(st.text(), st.text())
def test_round_trip(thought: str, answer: str) -> None:
    if "</think>" not in thought:
        assert split_reasoning(f"<think>{thought}</think>{answer}") == (thought.strip(), answer.lstrip())
