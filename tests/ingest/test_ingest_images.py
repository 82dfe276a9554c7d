"""Pages as images: real renderings of the sample corpus."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from fathoms.errors import DocumentError
from fathoms.ingest import PageChunker, Pdfium, page_images

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "pelnorite-ceramic.pdf"


def png_size(path: Path) -> tuple[int, int]:
    """Width and height, read from the header that the PNG specification puts at byte 16."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def test_a_page_is_as_large_as_its_inches_say(tmp_path: Path) -> None:
    path = tmp_path / "two-by-four-inches.pdf"
    page = Canvas(str(path), pagesize=(144, 288))
    page.drawString(10, 10, "x")
    page.save()
    images = page_images(Pdfium().parse(path), 50, tmp_path, Pdfium())
    assert {number: png_size(image) for number, image in images.items()} == {1: (100, 200)}


def test_the_second_time_nothing_is_rendered(tmp_path: Path) -> None:
    document = Pdfium().parse(SAMPLE)
    first = page_images(document, 20, tmp_path, Pdfium())
    times = {path: path.stat().st_mtime_ns for path in first.values()}
    gone = document.model_copy(update={"path": Path("gone.pdf")})
    assert page_images(gone, 20, tmp_path, Pdfium()) == first
    assert {path: path.stat().st_mtime_ns for path in first.values()} == times
    assert page_images(document, 40, tmp_path, Pdfium()) != first


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    gone = Pdfium().parse(SAMPLE).model_copy(update={"path": Path("gone.pdf")})
    with pytest.raises(DocumentError, match=r"gone\.pdf"):
        page_images(gone, 20, tmp_path, Pdfium())
    assert list(tmp_path.iterdir()) == []


def test_chunks_with_images_keep_pages_without_text() -> None:
    document = Pdfium().parse(SAMPLE)
    blank = document.pages[0].model_copy(update={"text": " "})
    document = document.model_copy(update={"pages": (blank, *document.pages[1:])})
    assert [chunk.pages for chunk in PageChunker().chunk(document)] == [(2,), (3,), (4,)]
    chunks = PageChunker(image_dpi=50).chunk(document)
    assert [(chunk.pages, chunk.modality) for chunk in chunks] == [((n,), "image") for n in (1, 2, 3, 4)]
