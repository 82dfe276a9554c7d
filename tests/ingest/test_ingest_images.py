"""Pages as images: real renderings of the sample corpus."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from fathoms.errors import DocumentError
from fathoms.ingest import PageChunker, Pdfium, page_images
from fathoms.retrieve import Files

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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.html"])
def test_office_and_web_documents_have_no_pictures(tmp_path: Path, name: str) -> None:
    office = Pdfium().parse(SAMPLE).model_copy(update={"id": name, "path": tmp_path / name})
    with pytest.raises(DocumentError, match=rf"{name}: is a .* file, of which no page pictures are made"):
        page_images(office, 20, tmp_path, Pdfium())


def test_chunks_with_images_keep_pages_without_text() -> None:
    document = Pdfium().parse(SAMPLE)
    blank = document.pages[0].model_copy(update={"text": " "})
    document = document.model_copy(update={"pages": (blank, *document.pages[1:])})
    assert [chunk.pages for chunk in PageChunker().chunk(document)] == [(2,), (3,), (4,)]
    chunks = PageChunker(image_dpi=50).chunk(document)
    assert [(chunk.pages, chunk.modality) for chunk in chunks] == [((n,), "image") for n in (1, 2, 3, 4)]


def page_of(path: Path, size: tuple[float, float]) -> Path:
    """A PDF of one page, in points, with some words on it."""
    page = Canvas(str(path), pagesize=size)
    for height in range(10, int(size[1]), 20):
        page.drawString(10, height, "Herring swim in schools, and so do sprats.")
    page.save()
    return path


@pytest.mark.slow
def test_a_pixel_budget_lowers_the_resolution(tmp_path: Path) -> None:
    """By hand: 600 x 800 points at 72 dpi are 480,000 pixels. A quarter of that is half of each side."""
    document = Pdfium().parse(page_of(tmp_path / "a.pdf", (600, 800)))

    def size(dpi: int, **bounds: int) -> tuple[int, int]:
        return png_size(page_images(document, dpi, tmp_path, Pdfium(), **bounds)[1])

    assert size(72) == (600, 800)
    assert size(72, max_pixels=120_000) == (300, 400)
    assert size(36, max_pixels=480_000) == (300, 400), "a budget never raises the resolution"
    assert size(72, max_side=200) == (150, 200)
    width, height = size(600, max_pixels=1_000_000)
    assert 0.99 * 1_000_000 < width * height <= 1_000_000


@pytest.mark.slow
def test_a_file_is_made_smaller_until_it_fits(tmp_path: Path) -> None:
    """A scan is noise to the PNG format, so its file is as large as its pixels."""
    noise = Image.frombytes("L", (600, 800), random.Random(1).randbytes(600 * 800))
    page = Canvas(str(tmp_path / "scan.pdf"), pagesize=(600, 800))
    page.drawInlineImage(noise, 0, 0)
    page.save()
    document = Pdfium().parse(tmp_path / "scan.pdf")
    whole = page_images(document, 72, tmp_path, Pdfium())[1]
    most = whole.stat().st_size // 3
    small = page_images(document, 72, tmp_path, Pdfium(), max_bytes=most)[1]
    assert most // 2 < small.stat().st_size <= most
    width, height = png_size(small)
    assert width < 600
    assert width / height == pytest.approx(0.75, abs=0.01)


def test_a_budget_alone_asks_for_images() -> None:
    assert (PageChunker().dpi, PageChunker(image_dpi=50).dpi) == (None, 50)
    assert PageChunker(max_pixels=1_000_000).dpi == 600
    assert PageChunker(max_pixels=1_000_000, image_dpi=150).dpi == 150
    document = Pdfium().parse(SAMPLE)
    assert {chunk.modality for chunk in PageChunker(max_pixels=1_000_000).chunk(document)} == {"image"}


def test_without_a_budget_nothing_is_another_component() -> None:
    """So runs and images of earlier versions are found again."""
    for component in (PageChunker(), PageChunker(image_dpi=50), Files(form="images")):
        assert "max_pixels" not in component.identity()["options"]
    budget = {"max_pixels": 500_000}
    assert PageChunker(**budget).identity() != PageChunker(max_pixels=500_001).identity()
    assert Files(**budget).identity()["options"]["max_pixels"] == 500_000
