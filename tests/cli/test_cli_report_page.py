"""`fathoms report`: the page for the browser, and the browser."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fathoms.cli import main
from fathoms.importers import keep, read_answers
from fathoms.report.write import QUICK
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.types import Question

pytestmark = pytest.mark.slow  # processes of their own


def make_run(out: Path, number: int) -> Run:
    """A scored run of so many questions."""
    questions = [
        Question(id=f"q{i}", text=f"What is {i}?", category="All", answers=((f"number {i}",),))
        for i in range(number)
    ]
    rows = out / "answers.jsonl"
    rows.write_text("\n".join(json.dumps({"id": q.id, "answer": f"It is {q.id}."}) for q in questions))
    run = keep(replace(read_answers(rows, questions), name="made"), "made", out)
    score_run(run)
    return run


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A browser that writes down what it is shown, on a machine with a display and no CI."""
    shown = tmp_path / "shown.txt"
    program = tmp_path / "browser"
    program.write_text(f"#!{sys.executable}\nimport sys\nopen({str(shown)!r}, 'w').write(sys.argv[1])\n")
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(program))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("CI", raising=False)
    return shown


def report(out: Path, *arguments: str) -> int:
    """The exit code of `fathoms report made`."""
    return main(["report", "made", "--out", str(out), *arguments])


def test_the_page_is_shown_in_the_browser(
    tmp_path: Path, browser: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, 3)
    assert report(tmp_path, "--open") == 0
    assert browser.read_text() == (run.path / "report.html").as_uri()
    assert str(run.path / "report.html") in capsys.readouterr().out


def test_on_ci_the_page_is_written_and_no_browser_starts(
    tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    run = make_run(tmp_path, 3)
    assert report(tmp_path, "--open") == 0
    assert not browser.exists()
    assert (run.path / "report.html").is_file()
    assert "no browser was found" in capsys.readouterr().err


def test_a_big_run_gets_its_page_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path, QUICK + 1)
    page = run.path / "report.html"
    assert report(tmp_path) == 0
    assert page.is_file()
    capsys.readouterr()
    assert main(["score", "made", "--out", str(tmp_path)]) == 0
    assert not page.exists()  # it would have shown the scores of before
    command = f"fathoms report made --open --out {shlex.quote(str(tmp_path))}"
    assert command in capsys.readouterr().out
    assert main(shlex.split(command.replace(" --open", ""))[1:]) == 0
    assert page.is_file()
    assert main(["score", str(run.path)]) == 0
    assert not page.exists()
    assert f"fathoms report {shlex.quote(str(run.path))} --open" in capsys.readouterr().out


def test_no_page_is_opened_where_none_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, 3)
    assert report(tmp_path, "--json", "--open") == 2
    assert "--json" in capsys.readouterr().err


def test_documents_that_are_not_here_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, 3)
    for path in (run.path / "questions").glob("*.json"):
        view = json.loads(path.read_text())
        view["question"]["evidence"] = [{"document": "gone.pdf", "page": 1}]
        path.write_text(json.dumps(view))
    assert report(tmp_path, "--thumbnails") == 0
    assert capsys.readouterr().err.count("gone.pdf") == 1
    assert report(tmp_path) == 0
    assert "gone.pdf" not in capsys.readouterr().err  # nobody asked for its pictures
