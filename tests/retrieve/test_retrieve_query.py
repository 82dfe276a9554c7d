"""The text that is searched with."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from fathoms.retrieve import BM25
from fathoms.types import Question


def test_the_places_are_filled_in_and_other_braces_are_text() -> None:
    question = Question(id="q", text="Why {files}?", category="c", files=("a.pdf", "b.pdf"))
    retriever = BM25(query="{files}: {question} {} {two words}")
    assert retriever.queries([question]) == ["a.pdf, b.pdf: Why {files}? {} {two words}"]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("{question} {file}", r"unknown placeholder '\{file\}' \(did you mean 'files'\?\)"),
        ("{questions}", r"unknown placeholder '\{questions\}' \(did you mean 'question'\?\)"),
        ("{files}", r"must contain \{question\}"),
        ("", r"must contain \{question\}"),
    ],
)
def test_a_query_that_cannot_be_meant(query: str, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        BM25(query=query)
