"""`fathoms review` as people use it: over a pipe, on a terminal, and with nobody there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import QUESTIONS, Project
from tests.support.terminal import read_until

pytestmark = pytest.mark.slow  # processes of their own

HOSTILE = "It is \x1b]0;owned\x07\x1b[31mred\x1b[0m \u202e42.\n| not | a | table |"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one imported run: three answers, the first of them hostile."""
    project = Project(tmp_path_factory.mktemp("imported"))
    project.write("questions.json", json.dumps(QUESTIONS))
    rows = [
        {"id": "text-only-01", "answer": HOSTILE, "contexts": [{"document": "varn.pdf", "text": "41.5 m"}]},
        {"id": "text-only-02", "answer": "I do not know."},
        {"id": "tables-01", "answer": "17 crowns."},
    ]
    project.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("import", "answers", "a.jsonl", "--questions", "questions.json", "--name", "made")
    done = project.fathoms(*arguments, "--partial")
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture
def reviewed(imported: Project, tmp_path: Path) -> Project:
    """The same, for one test."""
    shutil.copytree(imported.path, tmp_path / "project")
    return Project(tmp_path / "project")


REVIEW = ("review", "made", "--reviewer", "ann")


def review(project: Project, typed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return project.fathoms(*REVIEW, *arguments, typed=typed)


def rows(project: Project) -> list[dict[str, object]]:
    (run,) = project.runs()
    return [json.loads(line) for line in (run / "reviews.jsonl").read_text().splitlines()]


def test_all_keys_over_a_pipe(reviewed: Project) -> None:
    done = review(reviewed, "b\n9\n1\n5\n4\ns\nb\n2\n3\nc\nthe unit is missing\nx\n2\nq\n")
    assert done.returncode == 0, done.stderr
    assert "this is the first" in done.stdout
    assert done.stdout.count("1 strongly disagree") == 2  # at the start, and after 9
    assert "2 of 3 answers rated; run the same command again to continue" in done.stdout
    first, second = rows(reviewed)
    assert (first["own"], first["score_rating"], first["flag_rating"], first["comment"]) == (1, 5, 4, None)
    assert (second["score_rating"], second["flag_rating"]) == (3, 2)
    assert second["comment"] == "the unit is missing"

    last = review(reviewed, "1\n1\n1\n")
    assert last.returncode == 0, last.stderr
    assert "3 of 3" in last.stdout
    assert len(rows(reviewed)) == 3
    assert review(reviewed, "").stdout == "3 of 3 answers rated\n"


def test_no_figure_is_shown_before_a_person_has_rated_the_answer(reviewed: Project) -> None:
    """Only the answer, then the person's own judgement, and then its score."""
    before = review(reviewed, "q\n").stdout
    assert "how right is the answer, 1-5> " in before
    assert not any(word in before for word in ("correctness", "hallucination", "truthfulness"))
    after = review(reviewed, "1\nq\n").stdout
    assert after.index("how right is the answer") < after.index("correctness")


def test_what_a_model_said_steers_no_terminal(reviewed: Project) -> None:
    done = review(reviewed, "x\n5\n5\n5\n" * 3)
    assert done.returncode == 0, done.stderr
    assert r"\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202e42." in done.stdout
    assert "\n| not | a | table |\n" in done.stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)


def test_a_pipe_that_ends_early_is_no_success(reviewed: Project) -> None:
    done = review(reviewed, "5\n5\n4\n4\n")
    assert (done.returncode, done.stderr) == (1, "fathoms: the input ended before every answer was rated\n")
    assert len(rows(reviewed)) == 1


def test_review_without_a_terminal_is_refused(reviewed: Project) -> None:
    done = review(reviewed, "")
    assert done.returncode == 2
    assert "run it in a terminal" in done.stderr
    closed = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "fathoms", *REVIEW],
        cwd=reviewed.path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert closed.returncode == 2
    assert "run it in a terminal" in closed.stderr
    assert not list(reviewed.path.rglob("reviews.jsonl"))


def test_a_file_of_ones_own_and_the_report_on_it(reviewed: Project) -> None:
    for name, typed in (("ann", "5\n5\n4\n" * 3), ("ben", "5\n3\n4\n" * 3)):
        done = review(reviewed, typed, "--to", "said.jsonl", "--reviewer", name)
        assert done.returncode == 0, done.stderr
    (row,) = reviewed.json("report", "made")
    assert row["agreement"] is None
    (row,) = reviewed.json("report", "made", "--reviews", "said.jsonl")
    found = row["agreement"]
    assert found["pipelines"][0]["score"]["mean"] == 4
    assert [kappa["same"] for kappa in found["kappas"]] == [0, 1]
    missing = reviewed.fathoms("report", "made", "--reviews", "other.jsonl")
    assert missing.returncode == 2
    assert missing.stderr == "fathoms: --reviews other.jsonl: there is no such file\n"


def test_show_and_report_know_of_it(reviewed: Project) -> None:
    assert review(reviewed, "5\n5\n4\n" * 3).returncode == 0
    for verb, how in (("show", ("--only", "reviews")), ("report", ("--all",))):
        assert "5.00 [" in reviewed.fathoms(verb, "made", *how).stdout
    (run,) = reviewed.runs()
    assert "## Human review" in (run / "report.md").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("typed", "rated"), [((b"3\n", b"4\n", b"5\n", b"\x04"), 1), ((b"\x04",), 0)])
def test_on_a_terminal(reviewed: Project, typed: tuple[bytes, ...], rated: int) -> None:
    """Typed as a person does, each line when it is asked for; the end of input (Ctrl-D) is a way to stop."""
    import pty

    ours, theirs = pty.openpty()
    done = reviewed.start(*REVIEW, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        for each in typed:
            read_until(ours, b", 1-5> ")
            os.write(ours, each)
        assert f"{rated} of 3 answers rated".encode() in read_until(ours, b"to continue")
        assert done.wait(timeout=120) == 0
    finally:
        done.kill()
        done.wait()
        os.close(ours)
    assert len(list(reviewed.path.rglob("reviews.jsonl"))) == rated


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_an_interrupt_says_how_far_the_reviewer_came(reviewed: Project) -> None:
    """SIGINT, as Ctrl-C sends it, while the second answer is asked about."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with reviewed.start(*REVIEW, **streams) as done:
        assert done.stdin is not None
        assert done.stdout is not None
        done.stdin.write("5\n5\n4\n")
        done.stdin.flush()
        while "2 of 3" not in done.stdout.readline():
            assert done.poll() is None
        done.send_signal(signal.SIGINT)
        shown, said = done.communicate(timeout=120)
    assert (done.returncode, said) == (130, "")
    assert shown.endswith("\n1 of 3 answers rated; run the same command again to continue\n")


def test_a_folder_that_cannot_be_written_is_said(reviewed: Project) -> None:
    file: Path = reviewed.write("file", "")
    done = review(reviewed, "5\n5\n", "--to", str(file / "reviews.jsonl"))
    assert done.returncode == 1
    assert "cannot be" in done.stderr


def test_nothing_to_rate_is_said(reviewed: Project) -> None:
    (run,) = reviewed.runs()
    for path in (run / "questions").iterdir():
        view = json.loads(path.read_text())
        view["repeats"][0] |= {"answer": None, "error": {"kind": "ModelError", "message": "down"}}
        path.write_text(json.dumps(view))
    done = review(reviewed, "5\n")
    assert done.returncode == 1
    assert "there is nothing to rate" in done.stderr
    for path in (run / "questions").iterdir():
        path.unlink()
    assert "its question files hold 0: run 'fathoms score" in review(reviewed, "5\n").stderr


def test_help_is_there(reviewed: Project) -> None:
    done = reviewed.fathoms("review", "--help")
    assert done.returncode == 0
    assert "--sample" in done.stdout
