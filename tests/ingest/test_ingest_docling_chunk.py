"""Docling's HybridChunker on documents made by hand and on the sample corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest

pytest.importorskip("docling_core")
from docling_core.types.doc import (
    BoundingBox,
    DocItemLabel,
    DoclingDocument,
    PageItem,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)

from fathoms.errors import ConfigError, MissingWeightsError
from fathoms.ingest import Chunker, DoclingHybridChunker, SentenceChunker
from fathoms.ingest.chunkers.docling import load_counter
from fathoms.ingest.docling.export import Conversion
from fathoms.types import Document, PageBox
from tests.support.docling_samples import needs_docling, sample

pytestmark = pytest.mark.slow  # it imports torch


def place(page: int) -> ProvenanceItem:
    """Anywhere on a page."""
    return ProvenanceItem(page_no=page, bbox=BoundingBox(l=72, t=100, r=300, b=120), charspan=(0, 1))


def fish() -> Document:
    """Two sections on two pages, with a table."""
    sizes = {number: PageItem(page_no=number, size=Size(width=612, height=792)) for number in (1, 2)}
    docling_document = DoclingDocument(name="fish", pages=sizes)
    docling_document.add_heading("Herring", prov=place(1))
    docling_document.add_text(DocItemLabel.TEXT, "It swims in shoals.", prov=place(1))
    docling_document.add_text(DocItemLabel.TEXT, "It is silver.", prov=place(2))
    docling_document.add_heading("Pike", prov=place(2))
    rows = [["Fish", "Length"], ["Pike", "71 cm"]]
    cells = [
        TableCell(
            text=text,
            column_header=row == 0,
            start_row_offset_idx=row,
            end_row_offset_idx=row + 1,
            start_col_offset_idx=column,
            end_col_offset_idx=column + 1,
        )
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
    ]
    docling_document.add_table(TableData(table_cells=cells, num_rows=2, num_cols=2), prov=place(2))
    native = Conversion(docling_document, 2).pack()
    return Document(id="fish.pdf", path=Path("fish.pdf"), sha256="0", pages=(), native=native)


def chunked(**options: Any) -> list[tuple[str, tuple[int, ...], str]]:
    chunks = DoclingHybridChunker(**options).chunk(fish())
    assert {chunk.document for chunk in chunks} == {"fish.pdf"}
    return [(chunk.id, chunk.pages, chunk.text) for chunk in chunks]


def test_chunks_follow_the_headings() -> None:
    assert chunked() == [
        ("fish.pdf#p1c1", (1, 2), "Herring\nIt swims in shoals.\nIt is silver."),
        ("fish.pdf#p2c1", (2,), "Pike\nPike, Length = 71 cm"),
    ]


def test_headings_and_merging_are_options() -> None:
    assert chunked(headings=False, merge_peers=False) == [
        ("fish.pdf#p1c1", (1,), "It swims in shoals."),
        ("fish.pdf#p2c1", (2,), "It is silver."),
        ("fish.pdf#p2c2", (2,), "Pike, Length = 71 cm"),
    ]


def test_a_document_of_another_parser_is_refused() -> None:
    document = fish().model_copy(update={"native": None})
    with pytest.raises(ConfigError, match=r"needs ingest: \{kind: docling\}"):
        DoclingHybridChunker().chunk(document)


@pytest.mark.parametrize("tokenizer", [None, "minilm-l6-v2"])
def test_chunks_of_the_sample_corpus_fit_and_are_unique(tokenizer: str | None) -> None:
    needs_docling("minilm-l6-v2")
    chunker = DoclingHybridChunker(max_tokens=96, tokenizer=tokenizer)
    count = load_counter(None if tokenizer is None else chunker._tokenizer_file())
    for document in sample()[0].values():
        chunks = chunker.chunk(document)
        assert chunks
        assert len({chunk.id for chunk in chunks}) == len(chunks)
        assert max(count(chunk.text) for chunk in chunks) <= 96
        assert all(1 <= page <= len(document.pages) for chunk in chunks for page in chunk.pages)
        long = {page.number for page in document.pages if len(page.text) > 500}
        assert long <= {page for chunk in chunks for page in chunk.pages}


def test_the_boxes_of_a_chunk_are_those_of_its_elements() -> None:
    first, second = DoclingHybridChunker().chunk(fish())
    # `place` counts from the top left corner, as Docling does by default.
    box = (72.0, 100.0, 300.0, 120.0)
    assert first.boxes == (PageBox(page=1, bbox=box), PageBox(page=2, bbox=box))
    assert second.boxes == (PageBox(page=2, bbox=box),)


@pytest.mark.parametrize("chunker", [DoclingHybridChunker(), SentenceChunker(size=64, overlap=8)])
def test_what_pdfium_reads_in_the_boxes_of_a_chunk_is_its_text(chunker: Chunker) -> None:
    needs_docling()
    document = sample()[0]["skarrow"]
    found = missed = 0
    with pdfium.PdfDocument(document.path) as pdf:
        for chunk in chunker.chunk(document):
            read = ""
            for box in chunk.boxes:
                page = pdf[box.page - 1]
                x0, y0, x1, y1 = box.bbox
                height = page.get_height()
                text = page.get_textpage().get_text_bounded(x0 - 2, height - y1 - 2, x1 + 2, height - y0 + 2)
                read += " " + text
            words = set(re.findall(r"\w{4,}", read))
            said = [word for word in re.findall(r"\w{4,}", chunk.text) if not chunk.text.startswith("|")]
            found += sum(word in words for word in said)
            missed += sum(word not in words for word in said)
    assert found > 100
    assert found / (found + missed) > 0.9  # words are hyphenated at the ends of lines, headings are repeated


def test_cl100k_and_wordpiece_count_as_their_authors_do() -> None:
    needs_docling("minilm-l6-v2")
    path = DoclingHybridChunker(tokenizer="minilm-l6-v2")._tokenizer_file()
    assert load_counter(None)("tiktoken is great!") == 6  # OpenAI cookbook, cl100k_base
    assert load_counter(path)("embeddings") == 4  # em ##bed ##ding ##s, without [CLS] and [SEP]


def test_text_inside_figures_is_an_option() -> None:
    needs_docling()
    document = sample()[0]["lumet"]
    texts = {
        reported: " ".join(
            chunk.text for chunk in DoclingHybridChunker(picture_text=reported).chunk(document)
        )
        for reported in (False, True)
    }
    assert "LEFT 31.5 ml" not in texts[False]
    assert "LEFT 31.5 ml" in texts[True]


def test_a_tokenizer_must_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_docling()
    with pytest.raises(ConfigError, match=r"has no tokenizer\.json"):
        DoclingHybridChunker(tokenizer="layout-cdla").check()
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError, match="fathoms models pull minilm-l6-v2"):
        DoclingHybridChunker(tokenizer="minilm-l6-v2").check()


def test_the_tokenizer_counts_by_its_hash() -> None:
    known = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    assert DoclingHybridChunker(tokenizer="minilm-l6-v2").identity()["tokenizer"] == known
