"""DOCX, PPTX and HTML files as documents: which parser reads them, and what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.answers.citations import parse_citations
from fathoms.corpora import gather_pdfs
from fathoms.corpora.pdfs import find_pdfs
from fathoms.errors import ConfigError, DocumentError, UsageError
from fathoms.ingest import Docling, Pdfium, PyMuPDF, parse_all, parse_in_child
from fathoms.models import ScriptedModel
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.raw import NO_PAGES
from fathoms.pipeline.parsed_documents import ParsedDocuments
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve.files import Files
from fathoms.runs.cache import Cache
from fathoms.types import Document, Element, Page
from tests.support.docling_samples import OFFLINE, needs_docling
from tests.support.project import write_pdf

HTML = """<html><head><title>t</title></head><body><h1>The Varn lighthouse</h1>
<p>It is 41.5 m tall.</p><img src="{image}">
<table><tr><th>Year</th><th>Keepers</th></tr><tr><td>1901</td><td>3</td></tr></table></body></html>"""
TABLE = "|   Year |   Keepers |\n|--------|-----------|\n|   1901 |         3 |"


def documents(folder: Path) -> list[Path]:
    """One document of each format, about the same lighthouse."""
    docx, pptx = pytest.importorskip("docx"), pytest.importorskip("pptx")
    pytest.importorskip("bs4")
    text = docx.Document()
    text.add_heading("The Varn lighthouse", 1)
    text.add_paragraph("It is 41.5 m tall.")
    table = text.add_table(2, 2)
    for cell, value in zip(table._cells, ("Year", "Keepers", "1901", "3"), strict=True):
        cell.text = value
    text.save(str(folder / "varn.docx"))
    slides = pptx.Presentation()
    for title, body in (("Herring", "They swim."), ("Varn", "It is 41.5 m tall."), ("End", "Bye.")):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, body
    slides.save(str(folder / "talk.pptx"))
    (folder / "secret.txt").write_text("secret")
    (folder / "page.html").write_text(HTML.format(image=(folder / "secret.txt").as_uri()))
    return [folder / name for name in ("varn.docx", "talk.pptx", "page.html")]


@pytest.mark.slow
def test_docling_reads_office_and_web_documents(tmp_path: Path) -> None:
    """Slides are pages with boxes in points; the two other formats have one page with everything on it."""
    needs_docling()
    paths = documents(tmp_path)
    (tmp_path / "damaged.docx").write_bytes(paths[0].read_bytes()[:3000])
    parser = OFFLINE.model_copy(update={"max_pages": 2})
    *found, broken = parse_all(parser, [*paths, tmp_path / "damaged.docx"], workers=1)
    assert isinstance(broken, DocumentError)
    assert (broken.reason, "save it as PDF" in broken.detail) == ("damaged", True)
    assert all(isinstance(document, Document) for document in found), found
    text, slides, page = (document for document in found if isinstance(document, Document))
    assert [one.text for one in text.pages] == [
        f"## The Varn lighthouse\n\nIt is 41.5 m tall.\n\n{TABLE}",
    ]
    assert text.warnings == (NO_PAGES,)
    assert [one.text for one in slides.pages] == [
        "# Herring\n\n- They swim.",
        "# Varn\n\n- It is 41.5 m tall.",
    ]
    assert slides.warnings == ("only the first 2 of 3 pages are read (max_pages)",)
    title = slides.pages[1].elements[0]
    # python-pptx's default slide is 10 x 7.5 inches, and the title's placeholder of its layout begins at
    # 457200 and 274638 EMU, which is half an inch and 0.3 inches
    assert title == Element(kind="text", text="Varn", bbox=(36.0, 21.6, 684.0, 111.6))
    assert round(274638 / 12700, 1) == 21.6  # an inch has 914,400
    assert page.pages[0].text.startswith("# The Varn lighthouse\n\nIt is 41.5 m tall.")
    assert page.pages[0].text.endswith(TABLE)
    assert "secret" not in str(page.native), "no file beside the page is read"
    assert [element.kind for element in text.pages[0].elements] == ["text", "text", "table"]
    for document in (text, slides, page):
        again = parser.from_native(document.path, document.sha256, str(document.native))
        assert (again.pages, again.warnings) == (document.pages, document.warnings)


@pytest.mark.parametrize("parser", [Pdfium(), PyMuPDF()], ids=str)
@pytest.mark.parametrize("name", ["a.docx", "a.PPTX", "a.html", "a.htm"])
def test_parsers_of_pdfs_refuse_other_formats(parser: Pdfium | PyMuPDF, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    kind = name.rpartition(".")[2].upper()
    with pytest.raises(
        DocumentError, match=rf"is a {kind} file, which only ingest: \{{kind: docling\}} reads"
    ):
        parse_in_child(parser, tmp_path / name)


def test_a_file_that_is_no_archive_is_no_office_document(tmp_path: Path) -> None:
    """A DOCX file with a password is an OLE file, which begins with these bytes."""
    (tmp_path / "locked.docx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    with pytest.raises(DocumentError, match="save it as DOCX without a password") as caught:
        Docling().check_file(tmp_path / "locked.docx")
    assert caught.value.reason == "damaged"


def test_office_documents_are_found(tmp_path: Path) -> None:
    for name in ("b.docx", "a.PPTX", "deep/c.html", "~$b.docx", ".hidden.docx", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    assert list(find_pdfs(tmp_path)[0]) == ["a.PPTX", "b.docx", "c.html"]
    assert list(gather_pdfs([tmp_path / "b.docx", tmp_path / "deep"])[0]) == ["b.docx", "c.html"]
    with pytest.raises(UsageError, match="or a DOCX, PPTX or HTML file"):
        gather_pdfs([tmp_path / "notes.txt"])


def test_an_office_document_is_not_attached_as_a_pdf(tmp_path: Path) -> None:
    """The parse comes from the cache, as it would in a second run."""
    path = tmp_path / "a.docx"
    path.write_bytes(b"PK\x03\x04")
    pipeline = Pipeline(
        ingest=OFFLINE, retrieve=Files(), prompt={"template": "attached"}, generate=ScriptedModel()
    )
    cache = Cache(tmp_path / "cache")
    page = Page(number=1, text="text")
    sha256 = cache.file_hash(path)
    parsed = ParsedDocuments(OFFLINE, {"a.docx": path}, {"a.docx": sha256}, cache)
    document = Document(id="a.docx", path=path, sha256=sha256, pages=(page,))
    parsed._keep({"a.docx": Parsed.of(document)})
    ready = pipeline.prepare({"a.docx": path}, cache)
    with pytest.raises(ConfigError, match=r"'files' attaches PDFs, and a\.docx is none"):
        ready.retriever.search(ready.index, [])


def test_citations_name_office_documents() -> None:
    cited = parse_citations("It is tall [talk.pptx, p. 2], and old [notes.html].", ())
    assert [(one.document, one.page) for one in cited] == [("talk.pptx", 2), ("notes.html", None)]


def test_a_pdf_is_a_pdf_whatever_it_is_called(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", ["Herring."])
    (tmp_path / "a.txt").write_bytes((tmp_path / "a.pdf").read_bytes())
    assert parse_in_child(Pdfium(), tmp_path / "a.txt").pages[0].text.strip() == "Herring."
