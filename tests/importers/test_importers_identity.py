"""Ids of questions that came without one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fathoms.text.ids import question_ids, slug


def test_slug() -> None:
    assert slug("Cross-Document Multimodal") == "cross-document-multimodal"
    assert slug("  Café / Thé  ") == "cafe-the"
    assert slug("画像") == slug("画像") != slug("表")


def test_question_ids_are_padded_to_the_size_of_the_category() -> None:
    assert question_ids(["Text-Only"] * 31)[0] == "text-only-01"
    assert question_ids(["Tables"] * 120)[6] == "tables-007"


def test_question_ids_count_by_category_in_order() -> None:
    assert question_ids(["A", "B", "A"]) == ["a-01", "b-01", "a-02"]
    assert question_ids(["Text Only", "text-only"]) == ["text-only-01", "text-only-02"]


@given(st.lists(st.text(max_size=8), max_size=150))
def test_question_ids_are_unique_and_safe(categories: list[str]) -> None:
    ids = question_ids(categories)
    assert len(set(ids)) == len(categories)
    assert all(name.replace("-", "").isalnum() and name.isascii() for name in ids)
