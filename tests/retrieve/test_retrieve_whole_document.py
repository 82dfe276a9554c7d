"""Whole documents: which ones, how much of them, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.retrieve import Index, WholeDocument
from fathoms.types import Document, Page, Question


def document(name: str, *pages: str) -> Document:
    items = tuple(Page(number=n, text=text) for n, text in enumerate(pages, start=1))
    return Document(id=name, path=Path(name), sha256="0" * 64, pages=items)


def search(retriever: WholeDocument, *documents: Document, files: tuple[str, ...] = ()):
    index = Index(documents, [], None, lambda texts: None, Path("nowhere"))
    question = Question(id="q", text="?", category="c", files=files)
    return retriever.search(index, [question])[0]


A, B, C = document("a.pdf", "12345", "", "678"), document("b.pdf", "beta"), document("c.pdf", "gamma")


def test_the_files_of_the_question_in_its_order() -> None:
    found = search(WholeDocument(), A, B, C, files=("c.pdf", "a.pdf", "c.pdf", "lost.pdf"))
    assert [hit.chunk.id for hit in found] == ["c.pdf#all", "a.pdf#all"]
    assert [(hit.rank, hit.score) for hit in found] == [(1, 1.0), (2, 1.0)]
    assert found[1].chunk.text == "12345\n\n\n\n678"
    assert found[1].chunk.document == "a.pdf"


def test_all_documents() -> None:
    names = ["a.pdf", "b.pdf", "c.pdf"]
    assert [hit.chunk.document for hit in search(WholeDocument(), A, B, C)] == names
    found = search(WholeDocument(by="all"), A, B, C, files=("c.pdf",))
    assert [hit.chunk.document for hit in found] == names


@pytest.mark.parametrize(
    ("max_chars", "text", "pages", "dropped"),
    [
        (None, "12345\n\n\n\n678", (1, 3), 0),
        (12, "12345\n\n\n\n678", (1, 3), 0),
        (11, "12345\n\n\n\n67", (1, 3), 1),
        (10, "12345\n\n\n\n6", (1, 3), 2),
        (9, "12345\n\n\n\n", (1,), 3),
        (5, "12345", (1,), 7),
        (1, "1", (1,), 11),
    ],
)
def test_the_cut_is_counted(max_chars: int | None, text: str, pages: tuple[int, ...], dropped: int) -> None:
    (hit,) = search(WholeDocument(max_chars=max_chars), A)
    assert (hit.chunk.text, hit.chunk.pages, hit.chunk.dropped) == (text, pages, dropped)


def test_a_document_with_no_text_is_no_hit() -> None:
    found = search(WholeDocument(), document("scan.pdf", "", " "), B)
    assert [hit.chunk.document for hit in found] == ["b.pdf"]
    assert found[0].rank == 1


def test_it_asks_for_documents_alone() -> None:
    assert WholeDocument().needs == "documents"
    assert WholeDocument().max_chars == 15000


@given(st.lists(st.text("ab \n", max_size=8), min_size=1), st.integers(1, 40))
def test_kept_and_dropped_are_the_whole(pages: list[str], max_chars: int) -> None:
    result = document("d.pdf", *pages)
    for hit in search(WholeDocument(max_chars=max_chars), result):
        chunk = hit.chunk
        assert result.text.startswith(chunk.text)
        assert len(chunk.text) == min(max_chars, len(result.text))
        assert len(chunk.text) + chunk.dropped == len(result.text)
        assert "".join(chunk.text.split()) in "".join("".join(pages[n - 1] for n in chunk.pages).split())
