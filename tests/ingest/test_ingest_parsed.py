"""A document as it is packed for the cache, by whoever packs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.ingest import Pdfium
from fathoms.pdf.finishing import finished, packed
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.raw import RawDocument, to_document
from fathoms.runs.blobs import hash_of, packed_text
from fathoms.runs.cache import LONGEST_TEXT, compressed
from fathoms.runs.documents import text_of_pages
from fathoms.runs.folder import LARGEST_TEXT, inflated
from tests.support.project import write_pdf

RAW: RawDocument = {
    "page_count": 4,
    "pages": [
        {"text": "Größe\r\n\x01 1", "pictures": 2},
        {"text": None, "pictures": 0},
        {"text": "b", "elements": [{"kind": "table", "text": "a|\ud800", "bbox": (1.5, 2.0, 3.0, 4.25)}]},
        {"text": None},
    ],
    "warnings": ["mended", "mended"],
}


def test_a_child_packs_what_the_parent_would(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n%%EOF\n")
    document = to_document(path, RAW, 2000, "f" * 64)
    result = packed(finished("a.pdf", RAW, 2000, "f" * 64))
    child = Parsed.from_child(
        {"facts": result.facts, "size": len(result.document)}, result.document + result.text
    )
    here = Parsed.of(document)
    assert child.open(path) == here.open(path) == document
    assert child.facts == here.facts
    text = text_of_pages(document)
    assert child.facts.text == hash_of(text)
    assert inflated(child.text) == inflated(here.text) == inflated(packed_text(text)) == text.encode()
    assert (child.facts.pages, child.facts.page_count) == (3, 4)
    assert child.facts.elements == {"picture": 2, "table": 1}
    assert child.facts.warnings == (
        "mended",
        "3 pages could be read, the file claims 4",
        "page 2 could not be read",
    )


@pytest.mark.parametrize("message", [{}, {"facts": 1, "size": 1}, {"facts": {"pages": 1}, "size": 0}, []])
def test_what_is_not_a_document_is_refused(message: object) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        Parsed.from_child(message, b"")


def test_a_native_output_goes_with_its_document(tmp_path: Path) -> None:
    write_pdf(path := tmp_path / "a.pdf", ["One."])
    document = Pdfium().parse(path).model_copy(update={"native": "{}"})
    parsed = Parsed.of(document)
    assert parsed.native == compressed(b"{}")
    assert parsed.open(path).native == "{}"
    assert LARGEST_TEXT < LONGEST_TEXT, "what is packed can be read"
