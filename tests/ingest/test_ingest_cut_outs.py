"""Figures and tables cut out of the pages of PDFs that the tests draw, where the place of each is known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from fathoms.ingest import Pdfium, cut_out_images, cut_outs, has_boxes
from fathoms.paths import sha256_file
from fathoms.types import Box, Document, Element, Page

RED, GREEN, WHITE = (255, 0, 0), (0, 128, 0), (255, 255, 255)
FIGURE: Box = (50, 60, 150, 110)
TABLE: Box = (20, 300, 280, 380)
MARGIN = 6  # points of white paper on each side


def drawn(folder: Path, width: float = 300, height: float = 400) -> Path:
    """A PDF of a page with a red figure and a green table, and of an empty page."""
    path = folder / "a.pdf"
    canvas = Canvas(str(path), pagesize=(width, height), invariant=True)
    for colour, (x0, y0, x1, y1) in (("red", FIGURE), ("green", TABLE)):
        canvas.setFillColor(colour)
        canvas.rect(x0, height - y1, x1 - x0, y1 - y0, stroke=0, fill=1)
    canvas.showPage()
    canvas.showPage()
    canvas.save()
    return path


def parsed(path: Path, *elements: Element) -> Document:
    """The document as a layout parser gives it."""
    first = Page(number=1, text="A page.", elements=elements)
    return Document(id="a.pdf", path=path, sha256=sha256_file(path), pages=(first, Page(number=2, text="")))


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return parsed(
        drawn(tmp_path),
        Element(kind="text", text="A heading.", bbox=(20, 20, 100, 40)),
        Element(kind="picture", bbox=FIGURE),
        Element(kind="picture", bbox=(0, 0, 100, 4)),  # a rule
        Element(kind="picture"),
        Element(kind="table", text="| a |", bbox=TABLE),
    )


def test_figures_and_tables_with_a_place_are_found(document: Document, tmp_path: Path) -> None:
    found = cut_outs(document)
    assert [(each.name, each.bbox, each.text) for each in found] == [
        ("p1-figure1", FIGURE, ""),
        ("p1-table1", TABLE, "| a |"),
    ]
    assert has_boxes(document)
    assert not has_boxes(parsed(tmp_path / "a.pdf", Element(kind="picture")))


@pytest.mark.parametrize("dpi", [72, 144, 100])
def test_the_pixels_of_each_box_are_cut_out(document: Document, tmp_path: Path, dpi: int) -> None:
    """A point is one pixel at 72 dots per inch and two at 144; at 100, edges fall within a pixel."""
    images = cut_out_images(document, dpi, tmp_path / "kept", Pdfium())
    assert list(images) == ["p1-figure1", "p1-table1"]
    for name, colour, (x0, y0, x1, y1) in (("p1-figure1", RED, FIGURE), ("p1-table1", GREEN, TABLE)):
        with Image.open(images[name]) as picture:
            sizes = [(x1 - x0 + 2 * MARGIN) * dpi / 72, (y1 - y0 + 2 * MARGIN) * dpi / 72]
            assert list(picture.size) == pytest.approx(sizes, abs=2)
            edge = math.ceil(MARGIN * dpi / 72)
            assert picture.crop((0, 0, picture.width, edge - 2)).getcolors() == [
                (picture.width * (edge - 2), WHITE)
            ]
            edge += 2
            within = picture.crop((edge, edge, picture.width - edge, picture.height - edge))
            assert within.getcolors() == [(within.width * within.height, colour)]


def test_pictures_are_kept_and_made_again_if_damaged(document: Document, tmp_path: Path) -> None:
    stored = tmp_path / "kept"
    first = cut_out_images(document, 72, stored, Pdfium())
    data = {name: path.read_bytes() for name, path in first.items()}
    document.path.unlink()
    assert cut_out_images(document, 72, stored, Pdfium()) == first, "nothing is rendered"
    drawn(tmp_path)
    first["p1-table1"].write_bytes(b"damaged")
    again = cut_out_images(document, 72, stored, Pdfium())
    assert {name: path.read_bytes() for name, path in again.items()} == data
    moved = document.model_copy(update={"pages": parsed(document.path, document.pages[0].elements[1]).pages})
    assert list(cut_out_images(moved, 72, stored, Pdfium())) == ["p1-figure1"]


def test_bounds_make_a_picture_smaller(document: Document, tmp_path: Path) -> None:
    """A table of 272 x 92 pixels: 136 on a side, or 6,256 pixels (half of each side), or few bytes."""

    def size(**bounds: int) -> tuple[int, int]:
        images = cut_out_images(document, 72, tmp_path / "kept", Pdfium(), **bounds)
        with Image.open(images["p1-table1"]) as picture:
            return picture.size

    assert size() == (272, 92)
    assert size(max_side=136) == (136, 46)
    assert size(max_pixels=6256) == (136, 46)
    assert size(max_bytes=10**6) == (272, 92)
    images = cut_out_images(document, 72, tmp_path / "kept", Pdfium(), max_bytes=150)
    assert images["p1-table1"].stat().st_size <= 150


def test_what_lies_off_the_page_is_cut_at_its_edge_or_left_out(tmp_path: Path) -> None:
    document = parsed(
        drawn(tmp_path),
        Element(kind="picture", bbox=(250, 350, 350, 450)),
        Element(kind="picture", bbox=(400, 500, 450, 550)),
        Element(kind="picture", bbox=(-20, -20, 30, 30)),
    )
    images = cut_out_images(document, 72, tmp_path / "kept", Pdfium())
    sizes = {}
    for name, path in images.items():
        with Image.open(path) as picture:
            sizes[name] = picture.size
    assert sizes == {"p1-figure1": (56, 56), "p1-figure3": (36, 36)}
    nothing = parsed(tmp_path / "a.pdf", Element(kind="text", bbox=(1, 1, 99, 99)))
    assert cut_out_images(nothing, 72, tmp_path / "kept", Pdfium()) == {}


@pytest.mark.slow
def test_a_page_that_is_rendered_at_a_lower_resolution(tmp_path: Path) -> None:
    """A page of 1,200 points has 10,000 pixels at 600 dpi and is rendered with 8,000: 6.67 a point."""
    document = parsed(drawn(tmp_path, 300, 1200), Element(kind="picture", bbox=FIGURE))
    images = cut_out_images(document, 600, tmp_path / "kept", Pdfium())
    with Image.open(images["p1-figure1"]) as picture:
        assert picture.size == pytest.approx((112 * 8000 / 1200, 62 * 8000 / 1200), abs=2)
        within = picture.crop((43, 43, picture.width - 43, picture.height - 43))
        assert within.getcolors() == [(within.width * within.height, RED)]
