"""`fathoms questions` from the shell: from a scaffold to a file without errors."""

from __future__ import annotations

import json

import pytest

from fathoms.cli import main
from fathoms.corpora import read_questions
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own


@pytest.fixture(autouse=True)
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the project's folder, with its cache."""
    monkeypatch.chdir(project.path)


def questions(*arguments: str) -> int:
    return main(["questions", *arguments])


def test_from_a_scaffold_to_a_good_file(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("init", "mine.csv", "pdfs") == 0
    assert capfd.readouterr().out == "mine.csv: two questions to fill in for each of 2 documents\n"
    assert questions("check", "mine.csv", "pdfs", "--ignore", "few-questions") == 1
    out = capfd.readouterr().out.splitlines()
    assert out[0] == "mine.csv:2: error placeholder: still to be filled in"
    assert out[-1] == "6 errors, 0 warnings; 4 questions on 2 documents"
    filled = project.path / "mine.csv"
    text = filled.read_text()
    for old, new in [
        ("FILL IN: a question that this document answers", "What does ore cost in Lune?"),
        ("FILL IN: the words that a right answer must hold", "17 crowns"),
        ("FILL IN: a question that no document answers", "Who owns the Lune mine?"),
        ("FILL IN: a question that this document answers", "How tall is the Varn tower?"),
        ("FILL IN: the words that a right answer must hold", "41.5"),
        ("FILL IN: a question that no document answers", "Who built the Varn tower?"),
    ]:
        text = text.replace(old, new, 1)
    filled.write_text(text)
    assert questions("check", "mine.csv", "pdfs", "--strict", "--ignore", "few-questions") == 0
    assert capfd.readouterr().out == "0 errors, 0 warnings; 4 questions on 2 documents\n"
    assert questions("check", "mine.csv", "pdfs", "--strict") == 1


def test_nothing_is_overwritten(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    before = (project.path / "questions.json").read_bytes()
    assert questions("init", "questions.json", "pdfs") == 2
    assert "already exists and would be overwritten" in capfd.readouterr().err
    assert questions("convert", "questions.json", "questions.json") == 2
    assert (project.path / "questions.json").read_bytes() == before


def test_an_unreadable_pdf_is_left_out_and_named(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    (project.path / "pdfs" / "bad.pdf").write_text("no PDF at all")
    assert questions("init", "mine.jsonl", "pdfs") == 1
    assert "left out bad.pdf: " in capfd.readouterr().err
    assert len(read_questions(project.path / "mine.jsonl").questions) == 4
    assert questions("check", "questions.json", "pdfs") == 1
    assert "error unreadable-document: 'bad.pdf' cannot be parsed: " in capfd.readouterr().out


def test_json_for_machines(capfd: pytest.CaptureFixture[str], project: Project) -> None:
    rows = {"A": [{"question": "How tall?", "files": ["vran.pdf"], "answers": [["41.5"]]}]}
    project.write("q.json", json.dumps(rows, indent=1))
    assert questions("check", "q.json", "pdfs", "--json", "--ignore", "few-questions") == 1
    found = json.loads(capfd.readouterr().out)
    assert found == {
        "findings": [
            {
                "code": "unknown-file",
                "severity": "error",
                "message": "there is no document 'vran.pdf' (did you mean 'varn.pdf'?)",
                "file": "q.json",
                "line": 6,
                "column": 5,
                "question": "a-01",
            }
        ],
        "errors": 1,
        "warnings": 0,
        "questions": 1,
        "documents": 2,
    }


def test_a_config_and_single_pdfs(capfd: pytest.CaptureFixture[str], project: Project) -> None:
    assert questions("check", "tiny.yaml", "--ignore", "few-questions") == 0
    assert capfd.readouterr().out == "0 errors, 0 warnings; 4 questions on 2 documents\n"
    assert questions("check", "questions.json", "pdfs/varn.pdf") == 1
    assert "there is no document 'lune.pdf'" in capfd.readouterr().out
    project.write("paper.yaml", (project.path / "tiny.yaml").read_text() + "scoring: {profile: paper}\n")
    project.write("questions.json", '[{"question": "Which?", "files": ["varn.pdf"], "answers": "gree"}]')
    for config, sums in (("tiny.yaml", "0 errors, 1 warning;"), ("paper.yaml", "0 errors, 0 warnings;")):
        assert questions("check", config, "--ignore", "few-questions") == 0
        assert sums in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["questions.json"], "questions.json: add its PDFs, or folders of them"),
        (["questions.json", "nowhere"], "nowhere: there is no such file or folder"),
        (["questions.json", "questions.json"], "questions.json: expected a PDF or a folder of PDFs"),
        (["questions.json", "empty"], "no PDF found"),
        (["nothing.json", "pdfs"], "nothing.json: question file not found"),
        (["tiny.yaml", "--parser", "pdfum"], "unknown parser 'pdfum' (did you mean 'pdfium'?)"),
        (["tiny.yaml", "--profile", "papre"], "no profile 'papre' (did you mean 'paper'?)"),
        (["tiny.yaml", "--ignore", "given"], "no rule is called 'given'"),
        (["nothing.yaml"], "nothing.yaml: no such file"),
        (
            ["own.yaml"],
            "own.yaml names no local documents: name questions.json and its PDFs instead",
        ),
    ],
)
def test_calls_that_cannot_work(
    project: Project, capfd: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    (project.path / "empty").mkdir()
    own = "data: {questions: questions.json}\npipeline: {kind: http, url: http://127.0.0.1:9}\n"
    project.write("own.yaml", own)
    assert questions("check", *arguments) == 2
    assert sentence in capfd.readouterr().err


def test_a_data_set_that_was_not_pulled(capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("check", "fathoms-rag") == 1
    assert "not on this machine: run 'fathoms data pull fathoms-rag'" in capfd.readouterr().err


def test_figures(capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("stats", "questions.json", "pdfs") == 0
    out = capfd.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["Tables", "2", "1", "-", "2,", "2,", "2", "0.95"] in lines  # Blaker, one question: .025 to .975
    assert ["varn.pdf", "2", "0", "of", "2"] in lines
    assert max(map(len, out.splitlines())) <= 80
    assert questions("stats", "sample", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert found["overall"]["questions"] == 50
    assert found["overall"]["answerable"] == 42
    assert found["documents"]["unused"] == []


def test_tables_of_the_sample_fit_into_80_columns(capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("stats", "sample") == 0
    assert max(map(len, capfd.readouterr().out.splitlines())) <= 80


def test_the_sample_has_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("check", "sample", "--json") == 0
    found = json.loads(capfd.readouterr().out)["findings"]
    in_pictures = [finding["question"] for finding in found if finding["code"] == "phrase-absent"]
    # the README of the sample says so: the answers of these stand in pixels only
    assert in_pictures == [f"image-0{number}" for number in range(1, 7)]
    assert {finding["code"] for finding in found} == {"phrase-absent", "common-answer", "few-questions"}


def test_there_and_back(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    (project.path / "notes.json").write_text('[{"question": "Why?", "answers": "rain", "notes": "mine"}]')
    assert questions("convert", "notes.json", "notes.csv") == 0
    said = capfd.readouterr()
    assert said.out == "notes.csv: 1 question\n"
    assert "left out, because they are not part of a question: notes" in said.err
    for source, target in (("questions.json", "a.csv"), ("a.csv", "b.jsonl"), ("b.jsonl", "c.json")):
        assert questions("convert", source, target) == 0
    first, last = (read_questions(project.path / name) for name in ("questions.json", "c.json"))
    assert first.questions == last.questions
    assert "order has changed" not in capfd.readouterr().err


def test_convert_warns_that_the_order_changes(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write("mixed.csv", "category,question,answers\nB,One?,1\nA,Two?,2\nB,Three?,3\n")
    assert questions("convert", "mixed.csv", "mixed.json") == 0
    assert "the file groups the questions by category, so their order has changed" in capfd.readouterr().err


def test_a_folder_that_cannot_be_written(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert questions("convert", "questions.json", "tiny.yaml/a.csv") == 1
    assert "tiny.yaml/a.csv: cannot be written: Not a directory" in capfd.readouterr().err


def test_nuggets_are_imported_or_drafted_and_marked(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = [question.id for question in read_questions(project.path / "questions.json").questions]
    bank = {"query_id": ids[0], "nugget_bank": [{"question": "How tall?", "answers": [{"answer": "41.5 m"}]}]}
    project.write("banks.jsonl", json.dumps(bank) + '\n{"query_id": "other", "nugget_bank": []}\n')
    draft = '{"nuggets": [{"question": "What?", "answer": "x", "importance": "vital"}]}'
    judge = {"kind": "llm", "model": {"kind": "scripted", "default": draft}}
    project.write("judge.yaml", json.dumps(judge))
    assert questions("nuggets", "questions.json", "some.json", "--from", "banks.jsonl") == 1
    said = capfd.readouterr()
    assert said.out == "some.json: 1 nugget of 4 questions\n"
    assert "no question has the id of the topics other" in said.err
    assert "run 'fathoms questions nuggets some.json some-more.json --judge FILE'" in said.err
    project.write("mute.yaml", json.dumps({"kind": "llm", "model": {"kind": "scripted", "default": "no"}}))
    assert questions("nuggets", "some.json", "all.csv", "--judge", "mute.yaml") == 1
    assert "all.csv was not written, because no question got nuggets" in capfd.readouterr().err
    assert questions("nuggets", "some.json", "all.csv", "--judge", "judge.yaml") == 0  # the last needs none
    said = capfd.readouterr()
    assert (said.out, said.err) == ("all.csv: 3 nuggets of 4 questions\n", "")
    some_questions = read_questions(project.path / "all.csv").questions
    assert [[one.origin for one in question.nuggets] for question in some_questions] == [
        *(["imported"], ["drafted"], ["drafted"], [])
    ]
    assert questions("nuggets", "some.json", "more.csv") == 2
    assert "name either --from FILE" in capfd.readouterr().err


@pytest.mark.parametrize("command", [["convert", "nothing", "o.json"], ["dedupe", "nothing"]])
def test_a_file_that_is_not_there_is_called_that(project: Project, command: list[str]) -> None:
    done = project.fathoms("questions", *command)
    assert (done.returncode, done.stderr) == (2, "fathoms: nothing: question file not found\n")
