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
        ('<think>It says "41"</think>"41" it is', ('It says "41"', '"41" it is')),
        ("<think>so “41”</think>“41”", ("so “41”", "“41”")),
        ('<think>The tag "</think>" ends it. So 42.</think>42', ('The tag "" ends it. So 42.', "42")),
        ("", ("", "")),
    ],
)
def test_split(text: str, expected: tuple[str, str]) -> None:
    assert split_reasoning(text) == expected


QUOTES = tuple("\"'`“”‘’«»")  # noqa: RUF001


@given(st.text(), st.text())
def test_round_trip(thought: str, answer: str) -> None:
    # a single mark on both sides of the tag quotes it
    if "</think>" not in thought and (thought[-1:] not in QUOTES or answer[:1] not in QUOTES):
        assert split_reasoning(f"<think>{thought}</think>{answer}") == (thought.strip(), answer.lstrip())
