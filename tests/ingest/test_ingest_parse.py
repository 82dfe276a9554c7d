"""What the parsers give: known pages, texts and warnings."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import DocumentError, MissingExtraError
from fathoms.ingest import Parser, Pdfium, PdfParser, PyMuPDF, parse_in_child
from fathoms.pdf.finishing import clean_text
from fathoms.types import Document
from tests.support import damage

PARSERS = [Pdfium(), PyMuPDF()]
PAGES = {
    "2302.00923v5.pdf": 25,
    "2401.00908v1.pdf": 16,
    "2404.10788v1.pdf": 9,
    "2502.08859v2.pdf": 15,
    "2506.04171v1.pdf": 27,
}
"""Pages of the papers, as arXiv lists them."""


@cache
def paper(parser: PdfParser, path: Path) -> Document:
    """A paper, parsed once for all tests that ask about it."""
    return parse_in_child(parser, path)


@pytest.fixture(params=PARSERS, ids=["pdfium", "pymupdf"])
def parser(request: pytest.FixtureRequest) -> PdfParser:
    chosen: PdfParser = request.param
    if chosen.kind == "pymupdf":
        pytest.importorskip("pymupdf")
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_papers_have_the_pages_that_arxiv_lists(name: str, parser: PdfParser, shared: Path) -> None:
    document = paper(parser, shared / "fathoms-rag" / "papers" / name)
    assert [page.number for page in document.pages] == list(range(1, PAGES[name] + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2302.00923v5.pdf", "2502.08859v2.pdf"])
def test_every_page_bears_its_printed_number(name: str, parser: PdfParser, shared: Path) -> None:
    document = paper(parser, shared / "fathoms-rag" / "papers" / name)
    unnumbered = [page.number for page in document.pages if not _bears(page.text, page.number)]
    assert unnumbered == []


def _bears(text: str, number: int) -> bool:
    return re.search(rf"^{number}\s*$", text, re.MULTILINE) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "page", "gold"),
    [
        ("2401.00908v1.pdf", 7, "5,592,245"),
        ("2401.00908v1.pdf", 7, "24,347"),
        ("2302.00923v5.pdf", 12, "28.7"),
        ("2502.08859v2.pdf", 2, "7.0%"),
    ],
)
def test_gold_phrases_stand_on_their_pages(
    name: str, page: int, gold: str, parser: PdfParser, shared: Path
) -> None:
    document = paper(parser, shared / "fathoms-rag" / "papers" / name)
    assert gold in document.pages[page - 1].text


def test_the_truncated_paper_is_read_with_warnings(parser: PdfParser, shared: Path) -> None:
    document = paper(parser, shared / "fathoms-rag" / "papers" / "2302.00923v5.pdf")
    assert document.warnings[:2] == (
        "no end mark (%%EOF): the file may be truncated",
        "repaired: the cross-reference table was rebuilt",
    )


@pytest.mark.slow
def test_a_sound_document_is_read_exactly(parser: PdfParser, tmp_path: Path) -> None:
    path = tmp_path / "herring.pdf"
    path.write_bytes(damage.sound())
    document = parse_in_child(parser, path)
    assert (document.id, document.path, document.warnings) == ("herring.pdf", path, ())
    assert document.sha256 == hashlib.sha256(damage.sound()).hexdigest()
    assert [page.text.strip() for page in document.pages] == [f"Herring number {n} swims." for n in (1, 2, 3)]


def test_this_process_reads_what_the_child_reads(parser: PdfParser, tmp_path: Path) -> None:
    path = tmp_path / "herring.pdf"
    path.write_bytes(damage.sound())
    assert parser.parse(path) == parse_in_child(parser, path)


@pytest.mark.slow
def test_this_process_refuses_what_the_child_refuses(parser: PdfParser, tmp_path: Path) -> None:
    for name in ("locked", "truncated-25"):
        path = damage.write(tmp_path, name)
        with pytest.raises(DocumentError) as here:
            parser.parse(path)
        with pytest.raises(DocumentError) as there:
            parse_in_child(parser, path)
        assert here.value.reason == there.value.reason


@pytest.mark.slow
def test_without_joining_a_hyphen_at_a_line_end_stays_as_it_stands(parser: PdfParser, tmp_path: Path) -> None:
    path = tmp_path / "hyphen.pdf"
    lines = b"BT /F1 12 Tf 14 TL 72 700 Td (the her-) Tj T* (ring swims) Tj ET"
    path.write_bytes(damage.one_page(damage.stream(lines)))
    asis = parser.model_copy(update={"join_lines": False})
    assert parse_in_child(asis, path).pages[0].text.strip() == "the her-\nring swims"
    assert parse_in_child(parser, path).pages[0].text.strip() == "the herring swims"


@pytest.mark.slow
def test_pictures_are_counted_and_tables_are_not_known(parser: PdfParser, tmp_path: Path) -> None:
    document = parse_in_child(parser, damage.write(tmp_path, "huge-image"))
    assert [element.kind for element in document.pages[0].elements] == ["picture"]
    assert parser.count(document, "picture") == 1
    assert parser.count(document, "table") is None


@pytest.mark.slow
def test_a_page_that_cannot_be_read_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "gap.pdf"
    path.write_bytes(damage.build(damage.objects(3) | {6: b"42"}))
    document = parse_in_child(Pdfium(), path)
    assert [page.text for page in document.pages] == [
        "Herring number 1 swims.",
        "",
        "Herring number 3 swims.",
    ]
    assert "page 2 could not be read" in document.warnings


def test_max_pages_cuts_with_a_warning(parser: PdfParser, tmp_path: Path) -> None:
    path = tmp_path / "herring.pdf"
    path.write_bytes(damage.sound(5))
    document = parse_in_child(parser.model_copy(update={"max_pages": 2}), path)
    assert len(document.pages) == 2
    assert document.warnings == ("only the first 2 of 5 pages are read (max_pages)",)


def test_a_document_without_text_says_so(parser: PdfParser, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(damage.one_page(damage.stream(b"")))
    scan = "no page has text: a scan, which needs OCR (ingest: {kind: docling}), or damaged"
    assert parse_in_child(parser, path).warnings == (scan,)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("a\x00b\x02c\x1b[0m", "a\ufffdb\ufffdc\ufffd[0m"),
        ("\ud83d \ufffe \ufdd0 \x85", "\ufffd \ufffd \ufffd \ufffd"),
        ("\ufb01sh\t\u03c3\u00a0\U0001d465 \u00ad日本", "\ufb01sh\t\u03c3\u00a0\U0001d465 \u00ad日本"),
    ],
)
def test_text_becomes_sane_unicode(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@given(st.text(st.characters(codec=None)))
def test_clean_text_can_be_stored_and_is_clean(text: str) -> None:
    clean = clean_text(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert clean_text(clean) == clean
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", clean)


def test_limits_are_in_no_fingerprint() -> None:
    same = Pdfium(timeout=5, memory_mb=512, on_error="skip")
    assert same.identity() == Pdfium().identity()
    assert Pdfium(max_pages=3).identity() != Pdfium().identity()


def test_the_kind_chooses_the_parser() -> None:
    union: TypeAdapter[PdfParser] = TypeAdapter(Parser)
    assert union.validate_python({"kind": "pymupdf", "timeout": 3}) == PyMuPDF(timeout=3)
    with pytest.raises(ValidationError):
        union.validate_python({"kind": "pdfium", "timeout": 0})


def test_a_missing_library_names_its_extra(tmp_path: Path) -> None:
    class Absent(PyMuPDF):
        packages = ("no_such_parser",)

    with pytest.raises(MissingExtraError, match=r"pip install 'fathoms\[pymupdf\]'"):
        parse_in_child(Absent(), tmp_path / "any.pdf")


def test_a_text_parser_has_no_document_format_of_its_own() -> None:
    assert Pdfium().native is None
    with pytest.raises(TypeError, match="'pdfium' has no document format of its own"):
        Pdfium().from_native(Path("a.pdf"), "", "{}")
