"""What commands say of PDFs whose text is left out, stands in forms and notes, or that have no pages."""

from __future__ import annotations

import json

import pytest

from tests.ingest.test_ingest_lines import JAPANESE, far_east, form
from tests.support import damage
from tests.support.packages import skip_without
from tests.support.project import CONFIG, Project

pytestmark = pytest.mark.slow  # whole commands

NO_PAGES = damage.build({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[]/Count 0>>"})


def corpus(project: Project, file: bytes, *answers: str) -> None:
    """One document, and questions about its first page."""
    for path in (project.path / "pdfs").iterdir():
        path.unlink()
    (project.path / "pdfs" / "made.pdf").write_bytes(file)
    evidence = [{"document": "made.pdf", "page": 1}]
    rows = [
        {"question": f"Question {at}?", "files": ["made.pdf"], "answers": [[answer]], "evidence": evidence}
        for at, answer in enumerate(answers)
    ]
    project.write("questions.json", json.dumps(rows))


def said(project: Project, code: int = 0, checked: int = 0) -> list[str]:
    """What the commands print that look at documents."""
    calls = (("ingest", code), ("ingest --recall", code), ("doctor", 0), ("questions check", checked))
    found = []
    for call, expected in calls:
        done = project.fathoms(*call.split(), "tiny.yaml")
        assert done.returncode == expected, (call, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        found.append(done.stdout + done.stderr)
    return found


def test_every_command_names_the_pages_of_dropped_fonts(project: Project) -> None:
    skip_without("pymupdf")
    corpus(project, far_east(b"90ms-RKSJ-V", "cp932", *JAPANESE), JAPANESE[0], JAPANESE[1])
    characters = len("".join(JAPANESE))
    sentence = (
        "page 1 read by PyMuPDF, because PDFium leaves text out: about"
        f" {characters} characters are left out, on page 1, in fonts that are not in the file"
    )
    outputs = said(project)
    for output in outputs:
        (line,) = [line for line in output.splitlines() if sentence in line]
        assert "made.pdf" in line
    assert "1.00 (2)" in outputs[1]
    assert "phrase-absent" not in outputs[3]


def test_form_values_and_free_text_count_as_text(project: Project) -> None:
    corpus(project, form(), "Marta Oduya", "Approved by the board")
    outputs = said(project)
    assert "1.00 (2)" in outputs[1]
    assert "phrase-absent" not in outputs[3]


def test_a_document_without_pages_is_named(project: Project) -> None:
    corpus(project, NO_PAGES, "41.5")
    sentence = "is a document without pages; export it again"
    for command in (("ingest",), ("ingest", "--recall"), ("run",)):
        done = project.fathoms(*command, "tiny.yaml")
        assert done.returncode == 1
        assert f"made.pdf: {sentence}" in done.stderr
    project.write("tiny.yaml", CONFIG + "ingest: {kind: pdfium, on_error: skip}\n")
    outputs = said(project, code=1, checked=1)
    assert f"not read: made.pdf: {sentence}" in outputs[0]
    assert f"not read: made.pdf: {sentence}" in outputs[1]
    assert "1 of 1 document not parsed yet" in outputs[2]
    assert f"'made.pdf' cannot be parsed: {sentence}" in outputs[3]
