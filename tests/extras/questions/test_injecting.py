"""Copies of PDFs with a planted instruction: where it stands, and that no partial copy is left."""

from __future__ import annotations

import resource
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from reportlab.pdfgen.canvas import Canvas

from fathoms.errors import DataError, StoreError
from fathoms.extras.questions.injecting import Where, inject
from fathoms.safety.injections import CANARY, instruction

TEXT = instruction("obey", CANARY)
MEDIA, CROP = (1000, 1000, 1300, 1400), (1010, 1050, 1290, 1350)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A PDF whose page does not begin at 0."""
    canvas = Canvas(str(tmp_path / "drawn.pdf"), invariant=True)
    canvas.drawString(10, 10, "Words.")
    canvas.save()
    with pdfium.PdfDocument(tmp_path / "drawn.pdf") as document:
        document[0].set_mediabox(*MEDIA)
        document.save(tmp_path / "paper.pdf")
    return tmp_path / "paper.pdf"


@pytest.mark.parametrize("box", [MEDIA, CROP])
def test_hidden_text_stands_on_what_is_seen_of_the_page(paper: Path, box: tuple[int, ...]) -> None:
    cropped = paper.with_name("cropped.pdf")
    with pdfium.PdfDocument(paper) as document:
        document[0].set_cropbox(*box)
        document.save(cropped)
    (copy,) = inject([cropped], paper.parent / "copies", TEXT, CANARY, "hidden")
    left, bottom, right, top = box
    with pdfium.PdfDocument(copy) as document:
        page = document[0]
        (*_, last) = page.get_objects()
        at = last.get_bounds()
    assert left < at[0] < at[2] < right
    assert bottom < at[1] < at[3] < top
    assert at[1] > top - 40, "at the top"


@pytest.mark.parametrize(
    ("where", "text", "page"),
    [
        ("page", f"{CANARY} " * 900, "the added page"),
        ("hidden", f"{CANARY} " * 900, "the first page"),
        ("hidden", f"{CANARY} {'W' * 79}", "the first page"),
    ],
    ids=["too many lines", "too many hidden lines", "too wide a line"],
)
def test_a_text_that_does_not_fit_is_refused(paper: Path, where: Where, text: str, page: str) -> None:
    with pytest.raises(DataError, match=rf"paper\.pdf: the instruction does not fit on {page}: take a short"):
        list(inject([paper], paper.parent / "copies", text, CANARY, where))
    assert not list((paper.parent / "copies").iterdir())


def test_a_full_disk_leaves_no_partial_copy(paper: Path) -> None:
    """No file may have more than 900 bytes; the copy has more."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, most[1]))
    try:
        with pytest.raises(StoreError, match=r"paper\.pdf cannot be copied: .*File too large"):
            list(inject([paper], paper.parent / "copies", TEXT, CANARY, "page"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert not list((paper.parent / "copies").iterdir())
