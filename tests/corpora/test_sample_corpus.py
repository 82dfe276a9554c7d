"""The sample corpus is what its sources make it, and its questions are true of it."""

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from fathoms.corpora import verify

pytestmark = pytest.mark.slow  # processes of their own

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
PDFS = sorted(SAMPLE.glob("*.pdf"))
BY_CATEGORY: dict[str, list[dict[str, Any]]] = json.loads(
    (SAMPLE / "questions.json").read_text(encoding="utf-8")
)
QUESTIONS = [question for questions in BY_CATEGORY.values() for question in questions]
ANSWERABLE = [question for question in QUESTIONS if question["answerable"]]
COMPUTED = {"cross-04": ("gained 41 seconds a month", "gained 13 seconds a month")}
IN_PIXELS = {"image-01", "image-02", "image-03", "image-04", "image-05", "image-06"}
CATEGORIES = ["Text-Only", "Tables", "Images", "Multimodal", "Cross-Document Multimodal"]


def folded(text: str) -> str:
    """Case, white space and hyphens folded."""
    return re.sub(r"[\s-]+", " ", text.casefold())


def page_texts(path: Path) -> list[str]:
    """The text layer of every page, by PDFium."""
    pdf = pypdfium2.PdfDocument(path)
    try:
        return [folded(page.get_textpage().get_text_bounded()) for page in pdf]
    finally:
        pdf.close()


TEXTS = {path.name: page_texts(path) for path in PDFS}


def make(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script that makes the corpus."""
    command = [sys.executable, str(SAMPLE / "make.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def digests(folder: Path) -> dict[str, str]:
    """The sha256 of every PDF in a folder."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.pdf")}


def evidence_text(question: dict[str, Any]) -> str:
    """The text of all pages that a question names as its evidence."""
    return " ".join(TEXTS[evidence["document"]][evidence["page"] - 1] for evidence in question["evidence"])


@pytest.mark.long
def test_a_rebuild_gives_the_committed_bytes(tmp_path: Path) -> None:
    done = make("--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(PDFS) == 5
    assert digests(tmp_path) == digests(SAMPLE)


def test_the_manifest_pins_the_committed_bytes() -> None:
    reports = verify("sample")
    assert [report.file for report in reports] == ["questions.json", *(path.name for path in PDFS)]
    assert {report.state for report in reports} == {"verified"}


def test_check_fails_on_a_changed_and_on_a_missing_document(tmp_path: Path) -> None:
    for path in PDFS[1:]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / PDFS[-1].name).write_bytes(b"%PDF-1.4 damaged")
    done = make("--out", tmp_path, "--check")
    assert done.returncode == 1
    assert done.stdout.split("\n")[:2] == [f"differs: {PDFS[0].name}", f"differs: {PDFS[-1].name}"]


def test_documents_are_small_short_and_free_of_compression() -> None:
    for path in PDFS:
        assert 3 <= len(TEXTS[path.name]) <= 8, path
        assert path.stat().st_size < 600_000, path
        assert b"FlateDecode" not in path.read_bytes(), path


def test_only_the_scanned_page_has_no_text() -> None:
    bare = [
        (name, number)
        for name, pages in TEXTS.items()
        for number, text in enumerate(pages, 1)
        if len(text) < 200
    ]
    assert bare == [("tallowmere-ferry-audit.pdf", 6)]
    assert TEXTS["tallowmere-ferry-audit.pdf"][5].strip() == ""


def test_the_left_column_is_read_before_the_right_one() -> None:
    first = TEXTS["kestrel-irrigation-trial.pdf"][0]
    places = [
        first.index(words)
        for words in ("abstract.", "1 introduction", "2 materials and methods", "marl queen")
    ]
    assert places == sorted(places)


def test_the_corpus_has_ten_questions_per_category() -> None:
    assert list(BY_CATEGORY) == CATEGORIES
    assert [len(questions) for questions in BY_CATEGORY.values()] == [10] * 5
    assert len(QUESTIONS) - len(ANSWERABLE) == 8
    assert len({question["id"] for question in QUESTIONS}) == len({q["question"] for q in QUESTIONS}) == 50


def test_files_and_evidence_exist() -> None:
    for question in QUESTIONS:
        assert set(question["files"]) <= set(TEXTS), question["id"]
        assert question["reference"].endswith("."), question["id"]
        for evidence in question["evidence"]:
            assert evidence["document"] in question["files"], question["id"]
            assert 1 <= evidence["page"] <= len(TEXTS[evidence["document"]]), question["id"]


def test_unanswerable_questions_have_no_answer() -> None:
    for question in QUESTIONS:
        assert question["answerable"] or question["answers"] == question["evidence"] == [], question["id"]


def test_answers_are_not_empty_and_not_in_the_question() -> None:
    for question in ANSWERABLE:
        assert question["evidence"], question["id"]
        assert question["answers"], question["id"]
        assert all(question["answers"]), question["id"]
        for phrase in (phrase for variant in question["answers"] for phrase in variant):
            assert phrase == phrase.lower(), question["id"]
            assert len(phrase) > 1, question["id"]
            assert folded(phrase) not in folded(question["question"]), question["id"]


def test_cross_document_questions_need_two_documents() -> None:
    for question in BY_CATEGORY["Cross-Document Multimodal"]:
        assert len(question["files"]) >= 2, question["id"]
        if question["answerable"]:
            documents = {evidence["document"] for evidence in question["evidence"]}
            assert documents == set(question["files"]), question["id"]


def test_the_text_of_the_evidence_holds_a_gold_answer() -> None:
    missing = [
        question["id"]
        for question in ANSWERABLE
        if question["id"] not in IN_PIXELS | COMPUTED.keys()
        and not any(
            all(folded(phrase) in evidence_text(question) for phrase in variant)
            for variant in question["answers"]
        )
    ]
    assert not missing


def test_the_evidence_holds_the_terms_of_computed_answers() -> None:
    computed = {question["id"]: question for question in ANSWERABLE if question["id"] in COMPUTED}
    assert computed.keys() == COMPUTED.keys()
    for name, question in computed.items():
        assert all(phrase in evidence_text(question) for phrase in COMPUTED[name]), name
        minuend, subtrahend = (int(phrase.split()[1]) for phrase in COMPUTED[name])
        assert [str(minuend - subtrahend)] in question["answers"], name


def test_a_table_that_spans_pages_says_so() -> None:
    pages = TEXTS["tallowmere-ferry-audit.pdf"]
    assert ["table 2. (continued)" in text for text in pages] == [False, False, False, True, False, False]


def test_answers_that_only_pictures_hold_are_in_no_text() -> None:
    text = " ".join(page for pages in TEXTS.values() for page in pages)
    for question in ANSWERABLE:
        if question["id"] in IN_PIXELS:
            phrases = [phrase for variant in question["answers"] for phrase in variant]
            assert not [phrase for phrase in phrases if folded(phrase) in text], question["id"]
