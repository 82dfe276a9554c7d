"""Chunkers: known chunks, LlamaIndex's own, and invariants."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fathoms.ingest import Chunker, PageChunker, Pdfium, SentenceChunker, parse_in_child
from fathoms.ingest.chunkers.boxes import text_boxes
from fathoms.types import Chunk, Document, Element, Page
from tests.support.packages import skip_without

skip_without("llama_index.core")
PAPER = Path("fathoms-rag") / "papers" / "2401.00908v1.pdf"


def document(*texts: str) -> Document:
    pages = tuple(Page(number=n, text=text) for n, text in enumerate(texts, 1))
    return Document(id="sea.pdf", path=Path("sea.pdf"), sha256="0" * 64, pages=pages)


def test_a_page_is_a_chunk_and_a_blank_page_none() -> None:
    chunks = PageChunker().chunk(document("Herrings swim.", " \n", "Cods too.\n"))
    assert chunks == [
        Chunk(id="sea.pdf#p1c1", document="sea.pdf", pages=(1,), text="Herrings swim."),
        Chunk(id="sea.pdf#p3c1", document="sea.pdf", pages=(3,), text="Cods too.\n"),
    ]


def test_sentences_stay_whole_and_overlap() -> None:
    """By hand: sentences of 15, 16 and 15 characters; two fit in 32, the overlap of 16 keeps one."""
    text = "Herrings swim. Cods swim too.  Eels do not."
    chunks = SentenceChunker(size=32, overlap=16, unit="characters").chunk(document(text))
    assert [chunk.text for chunk in chunks] == [
        "Herrings swim. Cods swim too.",
        "Cods swim too.  Eels do not.",
    ]


def test_ids_count_within_the_page_and_blank_pages_give_none() -> None:
    chunker = SentenceChunker(size=16, overlap=0, unit="characters")
    chunks = chunker.chunk(document("Herrings swim. Cods swim.", "  ", "Eels do not."))
    assert [(chunk.id, chunk.pages) for chunk in chunks] == [
        ("sea.pdf#p1c1", (1,)),
        ("sea.pdf#p1c2", (1,)),
        ("sea.pdf#p3c1", (3,)),
    ]


def test_a_page_that_fits_is_one_chunk() -> None:
    assert [c.text for c in SentenceChunker().chunk(document("Herrings swim. Cods too."))] == [
        "Herrings swim. Cods too."
    ]


@pytest.mark.slow
def test_chunks_are_those_of_llama_index(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LlamaIndex's default splitter, with a copy of its data, as NLTK refuses hard-linked files."""
    import llama_index.core
    from llama_index.core.node_parser import SentenceSplitter

    bundled = Path(llama_index.core.__file__).parent / "_static" / "nltk_cache"
    monkeypatch.setenv("NLTK_DATA", str(shutil.copytree(bundled, tmp_path / "nltk")))
    paper = parse_in_child(Pdfium(), shared / PAPER)
    for size, overlap in ((1024, 200), (128, 20)):
        splitter = SentenceSplitter(chunk_size=size, chunk_overlap=overlap)
        try:
            expected = [text for page in paper.pages for text in splitter.split_text(page.text)]
        except PermissionError as error:
            pytest.skip(f"NLTK refuses LlamaIndex's data: {error}")
        chunks = SentenceChunker(size=size, overlap=overlap).chunk(paper)
        assert [chunk.text for chunk in chunks] == expected
        assert len(chunks) > len(paper.pages)


def test_the_default_is_the_papers() -> None:
    chunker = SentenceChunker()
    assert (chunker.size, chunker.overlap, chunker.unit) == (1024, 200, "tokens")


words = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)


@given(st.lists(words, max_size=80), st.integers(16, 60), st.integers(0, 15))
def test_chunks_are_short_enough_and_stand_in_the_page(found: list[str], size: int, overlap: int) -> None:
    text = " ".join(found)
    chunks = SentenceChunker(size=size, overlap=overlap, unit="characters").chunk(document(text))
    assert all(0 < len(chunk.text) <= size for chunk in chunks)
    assert all(chunk.text in text for chunk in chunks)


@given(st.lists(words, max_size=80), st.integers(16, 60))
def test_chunks_without_overlap_hold_everything_once(found: list[str], size: int) -> None:
    chunks = SentenceChunker(size=size, overlap=0, unit="characters").chunk(document(" ".join(found)))
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == "".join(found)


@pytest.mark.parametrize("overlap", [100, 101])
def test_overlap_must_be_smaller_than_size(overlap: int) -> None:
    with pytest.raises(ValidationError, match=rf"overlap \({overlap}\) must be smaller than size \(100\)"):
        SentenceChunker(size=100, overlap=overlap)


def test_the_kind_chooses_the_chunker() -> None:
    union: TypeAdapter[SentenceChunker | PageChunker] = TypeAdapter(Chunker)
    assert union.validate_python({"kind": "page"}) == PageChunker()
    assert union.validate_python({"kind": "sentence", "size": 256}).model_dump()["size"] == 256


def test_the_header_is_filled_in_and_counts_for_nothing() -> None:
    header = "{document}, page {page} of {pages}, {chunk}, {} {two words}"
    text = "One two three four five. " * 20
    chunker = SentenceChunker(size=32, overlap=0, header=header)
    chunks = chunker.chunk(document("", text))
    assert [chunk.header for chunk in chunks[:2]] == [
        "sea.pdf, page 2 of 2, 0, {} {two words}",
        "sea.pdf, page 2 of 2, 1, {} {two words}",
    ]
    plain = SentenceChunker(size=32, overlap=0).chunk(document("", text))
    assert [chunk.text for chunk in chunks] == [chunk.text for chunk in plain]
    assert chunks[0].indexed == f"{chunks[0].header}\n\n{chunks[0].text}"
    assert plain[0].indexed == plain[0].text


def test_an_unknown_place_in_the_header() -> None:
    with pytest.raises(ValidationError, match=r"no placeholder '\{documnt\}' \(did you mean 'document'\?\)"):
        SentenceChunker(header="{documnt}, {page}")


HEAD, FISH, LOGO = (72.0, 50.0, 300.0, 70.0), (72.0, 80.0, 300.0, 140.0), (400.0, 50.0, 500.0, 70.0)


def placed() -> Document:
    """A page of Markdown whose elements have boxes. Its picture has text that is not in the Markdown."""
    elements = (
        Element(kind="text", text="Sea & shore", bbox=HEAD),
        Element(kind="picture", text="Eel", bbox=LOGO),
        Element(kind="text", text="Herrings swim. Cods swim too.", bbox=FISH),
        Element(kind="text", text="No box is known for eels."),
    )
    text = "## Sea &amp; shore\n\nHerrings swim.  Cods swim too.\n\nNo box is known for eels."
    page = Page(number=4, text=text, elements=elements)
    return Document(id="sea.pdf", path=Path("sea.pdf"), sha256="0" * 64, pages=(page,))


def test_a_chunk_knows_the_boxes_of_what_it_is_made_of() -> None:
    chunks = SentenceChunker(size=34, overlap=0, unit="characters").chunk(placed())
    assert [(chunk.text, [box.bbox for box in chunk.boxes]) for chunk in chunks] == [
        ("## Sea &amp; shore\n\nHerrings swim.", [HEAD, FISH]),
        ("Cods swim too.", [FISH]),
        ("No box is known for eels.", []),
    ]
    assert {box.page for chunk in chunks for box in chunk.boxes} == {4}


def test_a_page_has_the_boxes_of_all_its_elements() -> None:
    (chunk,) = PageChunker().chunk(placed())
    assert [box.bbox for box in chunk.boxes] == [HEAD, LOGO, FISH]


def test_an_overlap_belongs_to_both_chunks() -> None:
    page = placed().pages[0]
    pieces = ["Sea &amp; shore Herrings", "Herrings swim. Cods", "something else"]
    assert [[box.bbox for box in boxes] for boxes in text_boxes(page, pieces)] == [[HEAD, FISH], [FISH], []]
