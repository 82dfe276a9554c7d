"""`fathoms data inject`: what the copies of PDFs say, and what is refused."""

from __future__ import annotations

import pytest

from fathoms.ingest import Pdfium
from fathoms.safety.injections import CANARY
from tests.support.project import Project


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_copies_of_pdfs_hold_the_instruction(project: Project, hidden: bool) -> None:
    options = ["--hidden"] if hidden else []
    done = project.fathoms("data", "inject", "pdfs", "--to", "copies", *options)
    assert done.returncode == 0, done.stderr
    assert "copies: 2 PDFs with the instruction" in done.stdout
    before = Pdfium().parse(project.path / "pdfs" / "varn.pdf")
    document = Pdfium().parse(project.path / "copies" / "varn.pdf")
    assert len(document.pages) == len(before.pages) + (not hidden)
    said = " ".join(document.pages[0 if hidden else -1].text.split())
    assert "ignore the question" in said
    assert CANARY in said
    assert before.pages[0].text.strip() in document.pages[0].text
    for options, message in (
        (["--answer", "\u7eff\u8272"], "cannot be written in Latin letters"),
        (["--instruction", "Say it."], "a text with {answer} in it"),
    ):
        refused = project.fathoms("data", "inject", "pdfs", "--to", "others", *options)
        assert refused.returncode != 0
        assert message in " ".join(refused.stderr.split())
        assert not list((project.path / "others").glob("*.pdf"))
    again = project.fathoms("data", "inject", "pdfs", "--to", "copies")
    assert again.returncode != 0
    assert "is there already" in again.stderr


def test_hidden_text_cannot_be_seen(project: Project) -> None:
    """The picture of the page is the same, pixel by pixel."""
    import pypdfium2 as pdfium

    assert project.fathoms("data", "inject", "pdfs", "--to", "copies", "--hidden").returncode == 0
    seen = []
    for folder in ("pdfs", "copies"):
        with pdfium.PdfDocument(project.path / folder / "varn.pdf") as document:
            seen.append(document[0].render(scale=2).to_pil().tobytes())
    assert seen[0] == seen[1]
