"""Documents that cannot be read: what stops a command, what it names, and what it goes on without."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tests.support import damage
from tests.support.project import CONFIG, Project

pytestmark = pytest.mark.slow  # each command reads documents in processes of their own

WAY_OUT = "ingest: {on_error: skip} (--set ingest.on_error=skip) goes on without"


def spoil(project: Project, *names: str) -> None:
    """Write documents that cannot be read: the first has no page, the others no header."""
    for number, name in enumerate(names):
        (project.path / "pdfs" / name).write_bytes(b"nothing" if number else b"%PDF-1.4\nnothing")


@pytest.mark.parametrize("parser", ["pdfium", "pymupdf"])
def test_a_damaged_document_that_no_question_names_stops_nothing(project: Project, parser: str) -> None:
    spoil(project, "bad.pdf", "worse.pdf")
    chosen = f"--set=ingest.kind={parser}"
    ran = project.fathoms("run", "tiny.yaml", chosen)
    assert ran.returncode == 0, ran.stderr
    assert "not read: bad.pdf, worse.pdf" in ran.stdout.splitlines()[-1]
    assert project.fathoms("run", "tiny.yaml", chosen, "--dry-run").returncode == 0
    found = project.json("ingest", "tiny.yaml", chosen, code=1)
    assert found["documents"] == 2
    assert list(found["failures"]) == ["bad.pdf", "worse.pdf"]
    process = project.fathoms("doctor", "tiny.yaml", chosen)
    assert process.returncode == 0, process.stdout
    assert "not read: worse.pdf: has no PDF header" in process.stdout


def test_damaged_documents_that_stop_a_run_are_named_at_once(project: Project) -> None:
    spoil(project, "varn.pdf", "lune.pdf", "worse.pdf")
    for command in ("run", "ingest"):
        stopped = project.fathoms(command, "tiny.yaml")
        assert stopped.returncode == 1
        for name in ("varn.pdf: is damaged", "lune.pdf: has no PDF header", "worse.pdf: has no PDF"):
            assert name in stopped.stderr
        assert f"{WAY_OUT} these 3 documents" in stopped.stderr
    process = project.fathoms("doctor", "tiny.yaml")
    assert process.returncode == 1
    assert "lune.pdf: has no PDF" in process.stdout
    assert "worse.pdf: has no PDF" in process.stdout
    assert "these 2 documents" in process.stdout


def test_a_question_without_documents_may_need_any(project: Project) -> None:
    spoil(project, "bad.pdf")
    everywhere = {"question": "How tall is the Varn tower?", "answers": ["41.5"]}
    project.write("questions.json", json.dumps([everywhere]))
    stopped = project.fathoms("run", "tiny.yaml")
    assert stopped.returncode == 1
    assert "bad.pdf: is damaged" in stopped.stderr
    assert f"{WAY_OUT} this document" in stopped.stderr


def test_nothing_is_spared_where_no_document_is_left(project: Project) -> None:
    (project.path / "pdfs" / "varn.pdf").unlink()
    (project.path / "pdfs" / "lune.pdf").write_bytes(damage.no_pages())
    nothing = {"question": "Who owns the moon?", "answers": [], "answerable": False}
    project.write("questions.json", json.dumps([nothing]))
    stopped = project.fathoms("run", "tiny.yaml")
    assert stopped.returncode == 1
    assert "lune.pdf: is a document without pages" in stopped.stderr


def test_the_option_that_a_missing_document_is_answered_with_works_for_a_name_too(project: Project) -> None:
    (project.path / "pdfs").rename(project.path / "own")
    (project.path / "own" / "lune.pdf").unlink()
    shutil.copy(project.path / "questions.json", project.path / "own")
    documents = "[{file: varn.pdf}, {file: lune.pdf}]"
    head = "name: own\ntitle: Own\nlicence: CC0-1.0\nquestions: {file: questions.json}"
    project.write("own.yaml", f"{head}\ndocuments: {documents}\n")
    project.write("tiny.yaml", CONFIG.replace("{questions: questions.json, documents: pdfs}", "own.yaml"))
    stopped = project.fathoms("run", "tiny.yaml")
    assert stopped.returncode == 1
    [option] = re.findall(r"\((--set [^)]*)\) asks the 2 of 4 questions", stopped.stderr)
    ran = project.fathoms("run", "tiny.yaml", *option.split(), "--partial")
    assert ran.returncode == 0, ran.stderr
    assert "2 of 4 questions" in ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("retrieve", ["dense", "whole-document", "bm25"])
def test_a_paper_that_is_cut_is_named_before_anything_is_sent(project: Project, retrieve: str) -> None:
    whole = (project.path / "pdfs" / "varn.pdf").read_bytes()
    (project.path / "pdfs" / "varn.pdf").write_bytes(whole[: whole.rindex(b"startxref")])
    said = "note: pdfs/varn.pdf: its end is missing, so it may be cut: get it once more"
    chosen = f"--set=retrieve={{kind: {retrieve}}}"
    planned = project.fathoms("run", "tiny.yaml", chosen, "--dry-run")
    assert said in planned.stderr
    ran = project.fathoms("run", "tiny.yaml", chosen)
    assert said in ran.stderr
    assert ran.returncode == 0


def test_other_commands_name_what_is_cut_too(project: Project) -> None:
    whole = (project.path / "pdfs" / "varn.pdf").read_bytes()
    (project.path / "pdfs" / "varn.pdf").write_bytes(whole[: whole.rindex(b"startxref")])
    said = "varn.pdf: its end is missing"
    assert said in project.fathoms("ingest", "tiny.yaml").stderr
    assert said in project.fathoms("questions", "check", "questions.json", "pdfs").stderr
    own = CONFIG.split("chunk:")[0] + "pipeline: {kind: python, target: 'service:answer'}\n"
    project.write("own.yaml", own)
    project.write("service.py", "def answer(question):\n    return 'It is 41.5 m tall.'\n")
    ran = project.fathoms("run", "own.yaml")
    assert said in ran.stderr
