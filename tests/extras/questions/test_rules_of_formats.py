"""The rules of `questions check` on question sets and documents of particular formats."""

from __future__ import annotations

from pathlib import Path

from fathoms.corpora import FileSource, gather_pdfs, load
from fathoms.extras.questions.checking import check
from fathoms.extras.questions.parsing import ParsedPdfs
from fathoms.types import Document, Page
from tests.corpora.test_corpora_pictures import vidore_v3


def test_a_gold_page_of_a_document_without_pages_is_a_finding(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    rows = (
        f'{{"id": "q{page}", "question": "How tall?", "answers": ["41.5 m"], "category": "c",'
        f' "files": ["a.docx"], "evidence": [{{"document": "a.docx", "page": {page}}}]}}\n'
        for page in (1, 3)
    )
    questions.write_text("".join(rows))
    page = Page(number=1, text="It is 41.5 m tall.")
    document = Document(id="a.docx", path=tmp_path / "a.docx", sha256="0" * 64, pages=(page,))
    findings = check(questions, {"a.docx": document.path}, ParsedPdfs({"a.docx": document}, {})).findings
    beyond = [finding.message for finding in findings if finding.code == "page-beyond"]
    assert beyond == [
        "page 3 of 'a.docx', which has no pages: leave the page out, or name page 1, which is the whole"
        " document"
    ]


def test_what_is_skipped_of_a_vidore_folder_is_found(tmp_path: Path) -> None:
    folder = vidore_v3(tmp_path / "vidore_v3_hr")
    corpus = load(FileSource(questions=folder, documents=folder))
    unread = ParsedPdfs({}, dict.fromkeys(corpus.documents, "not read"))
    findings = check(folder, gather_pdfs([folder])[0], unread).findings
    assert sorted(found.line for found in findings if found.code == "skipped") == [1, 3, 4, 4, 5]
