"""`fathoms review` of quality, errors and claims, as people use it, and what `fathoms agree` makes of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project
from tests.support.terminal import read_until

pytestmark = pytest.mark.slow  # processes of their own

QUESTIONS = {
    "lamps": [
        {"id": f"q{n}", "question": f"Which colour has lamp {n}?", "answers": [["red"]]} for n in range(3)
    ]
}
ANSWERS = {
    "good": ["Lamp 0 is red.", "Lamp 1 is red.", "Lamp 2 is \x1b[31mblue."],
    "poor": ["Lamp 0 is blue.", "Lamp 1 is red.", "I do not know."],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with two runs of the same questions, scored by a judge; its checks of judges are its own."""
    one_project = Project(tmp_path_factory.mktemp("modes"))
    one_project.write("questions.json", json.dumps(QUESTIONS))
    one_project.write("judge.yaml", "kind: scripted\n")
    for name, answers in ANSWERS.items():
        rows = [
            {"id": f"q{n}", "answer": text, "contexts": [{"document": "a.pdf", "text": f"Lamp {n} is red."}]}
            for n, text in enumerate(answers)
        ]
        one_project.write("answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        arguments = ("import", "answers", "answers.jsonl", "--questions", "questions.json", "--name", name)
        done = one_project.fathoms(*arguments)
        assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(one_project.path / "data"))
        done = one_project.fathoms(
            "score", "good", "poor", "--metric", "faithfulness", "--judge", "judge.yaml"
        )
        assert done.returncode == 0, done.stderr
        yield one_project


def command(*arguments: str, by: str = "ann") -> list[str]:
    return [sys.executable, "-m", "fathoms", "review", *arguments, "--reviewer", by]


def review(project: Project, typed: str, *arguments: str, by: str = "ann") -> str:
    """What a review prints that goes on until all is said."""
    done = project.fathoms("review", *arguments, "--reviewer", by, typed=typed)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(project: Project, name: str, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder(project, name) / file).read_text().splitlines()]


def folder(project: Project, name: str) -> Path:
    """The directory of a run."""
    (run,) = (
        run for run in project.runs() if json.loads((run / "manifest.json").read_text())["name"] == name
    )
    return run


def test_quality_is_graded_question_by_question_and_ranks_the_runs(project: Project) -> None:
    """Nothing of the scores is shown. Correctness ranks the runs in the first question alone; in the others
    it ties them, which counts 0."""
    reviewing = review(
        project, "5\nc\nwrong colour\n1\n3\nx\n3\nq\n", "good", "poor", "--quality", "--sample", "3"
    )
    assert "factuality, adequacy, coherence, relevancy and fluency" in " ".join(reviewing.split())
    assert "score" not in reviewing
    assert "4 of 6 answers rated; run the same command again to continue" in reviewing
    order = [
        line.removeprefix("question: ") for line in reviewing.splitlines() if line.startswith("question: ")
    ]
    assert order[0] == order[1] != order[2] == order[3] != order[4]  # answers to one question in a row
    assert "6 of 6" in review(project, "2\n4\n", "good", "poor", "--quality", "--sample", "3")
    review(project, "5\n1\n3\n4\n2\n4\n", "good", "poor", "--quality", "--sample", "3", by="ben")

    found = project.json("agree", "good", "poor")["quality"]
    (pair,) = found["pairs"]
    assert (pair["reviewers"], pair["n"], pair["same"]) == (["ann", "ben"], 6, pytest.approx(5 / 6))
    # five of six agree; expected by chance: (5: 1/36, 1: 1/36, 3: 2/6 * 1/6, 4: 1/6 * 2/6, 2: 1/36) = 7/36
    assert pair["kappa"] == pytest.approx((5 / 6 - 7 / 36) / (1 - 7 / 36))
    assert {row["n"] for row in found["runs"]} == {3}
    given: dict[str, dict[str, float]] = {}
    for name in ("good", "poor"):
        for row in rows(project, name, "grades.jsonl"):
            given.setdefault(row["question"], {}).setdefault(name, 0)
            given[row["question"]][name] += row["grade"] / 2
    taus = []
    for question, correct in (("q0", (1, 0)), ("q1", (1, 1)), ("q2", (0, 0))):
        people = given[question]["good"] - given[question]["poor"]
        taus.append((people > 0) - (people < 0) if correct[0] != correct[1] else 0)
    tau = found["ranking"]["correctness"]["tau"]
    assert tau["value"] == pytest.approx(sum(taus) / 3)
    assert tau["low"] < tau["value"] < tau["high"]
    assert "tau-b" in project.fathoms("agree", "good", "poor").stdout


def test_errors_are_chosen_from_a_taxonomy_that_can_be_replaced(project: Project) -> None:
    shown = review(project, "2 7\n0\n99\n2\n", "good", "poor", "--errors", "--sample", "9")
    assert "2 evidence-not-used: the evidence was retrieved, and the answer does not use it" in shown
    assert "3 of 3 answers rated" in shown  # the other three are correct
    assert r"blue" in shown
    assert "\x1b" not in shown
    review(project, "2\n2\n2\n", "good", "poor", "--errors", "--sample", "9", by="ben")
    (found,) = project.json("agree", "good", "poor")["errors"]
    assert (found["answers"], found["none"]) == (3, 0.5)
    assert found["errors"]["evidence-not-used"]["answers"] == 2.5
    assert found["errors"]["made-up"]["answers"] == 0.5

    project.write("own.yaml", "errors: [{name: typo, meaning: a word is misspelt}]\n")
    own = ("--errors", "--taxonomy", "own.yaml", "--sample", "9")
    assert "1 typo: a word is misspelt" in review(project, "1\n0\n0\n", "good", "poor", *own)
    usual, typos = project.json("agree", "good", "poor")["errors"]
    assert usual == found  # who could not choose an error has not said that it is absent
    assert (typos["answers"], typos["none"], typos["errors"]["typo"]["answers"]) == (3, 2, 1)
    assert "people named errors by 2 different taxonomies" in project.fathoms("agree", "good", "poor").stdout
    project.write("own.yaml", "errors: [{name: typo}]\n")
    refused = project.fathoms("review", "good", *own)
    assert refused.returncode == 2
    assert "own.yaml:1:" in refused.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_claims_are_judged_on_a_terminal_and_feed_agree(project: Project) -> None:
    """Killed after the second of three claims, the review goes on with the third."""
    import pty

    arguments = ("good", "--claims", "--judge", "judge.yaml", "--sample", "9")
    ours, theirs = pty.openpty()
    done = project.start(
        "review", *arguments, "--reviewer", "ann", stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        for number in (1, 2, 3):
            seen += read_until(ours, b"2 unsupported> ")
            if number < 3:
                os.write(ours, b"1\n")
    finally:
        done.kill()
        done.wait()
        os.close(ours)
    assert seen.count(b"\x1b[1mclaim: ") == seen.count(b"\x1b[1msource: ") == 3
    assert len(rows(project, "good", "labels.jsonl")) == 2
    assert "3 of 3 claims rated" in review(project, "2\n", *arguments)
    ben = review(project, "1\n1\n1\n", *arguments, by="ben")
    assert "run 'fathoms score'" in ben

    agreed = project.json("agree", "good", "--judge", "judge.yaml")
    assert agreed["means"] == []  # nothing was scored since
    found = agreed["claims"]
    (pair,) = found["pairs"]
    assert (pair["n"], pair["same"], pair["kappa"]) == (3, pytest.approx(2 / 3), 0)
    assert (found["claims"], found["disputed"], found["n"]) == (3, 1, 2)
    assert found["judge"]["recall"] is not None
    checked = project.json("agree", str(folder(project, "good") / "labels.jsonl"), "--judge", "judge.yaml")
    assert (checked["n"], checked["supported_by_people"]) == (6, 5)  # the same labels, as those of any file
    scored = project.fathoms("score", "good", "--metric", "faithfulness", "--judge", "judge.yaml")
    why = "people have labelled answers to 3 of 3 questions; 50 are needed"
    assert why in " ".join(scored.stdout.split())
    shown = project.fathoms("agree", "good", "--judge", "judge.yaml").stdout
    assert f"faithfulness of good: {why}" in " ".join(shown.split())


def test_passages_are_graded_and_citations_are_supported_in_part(project: Project) -> None:
    """The judge grades every passage 3, as it has the number of the lamp; a person disagrees twice."""
    rows = [
        {
            "id": f"q{n}",
            "answer": f"Lamp {n} is red and green [1].",
            "contexts": [{"document": "a.pdf", "text": f"Lamp {n} is red."}],
        }
        for n in range(3)
    ]
    project.write("cited.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    project.write("graded.yaml", "{kind: scripted, labels_by: {'Lamp 0 is red.': '2', 'is red.': '3'}}")
    arguments = ("import", "answers", "cited.jsonl", "--questions", "questions.json", "--name", "cited")
    assert project.fathoms(*arguments).returncode == 0
    judged = ("--judge", "graded.yaml", "--metric")
    scored = project.fathoms("score", "cited", *judged, "umbrela.precision", "--metric", "citation-support")
    assert scored.returncode == 0, scored.stderr
    reviewing = review(
        project, "4\n3\n0\n1\n", "cited", "--claims", *judged, "umbrela.precision", "--sample", "3"
    )
    assert "1 it is related only, 0 unrelated: 0-3> " in " ".join(reviewing.split())
    assert "claim: " not in reviewing
    reviewing = review(
        project, "1\n2\n3\n", "cited", "--claims", *judged, "citation-support.recall", "--sample", "3"
    )
    assert (
        "does the source support the claim in full, in part or not: 1 full, 2 partial, 3 none> " in reviewing
    )
    agreed = project.json("agree", "cited", "--judge", "graded.yaml")
    assert agreed["claims"] is None
    grades, extents = agreed["grades"]
    assert (grades["rubric"], grades["n"], grades["scale"]) == ("relevance", 3, ["0", "1", "2", "3"])
    assert (extents["rubric"], extents["same"]) == ("extent", pytest.approx(1 / 3))  # all are partial
    shown = " ".join(project.fathoms("agree", "cited", "--judge", "graded.yaml").stdout.split())
    assert "relevance: 3 items, labelled by ann from 0 to 3" in shown
    assert "weighted kappa" in shown
    labels = str(folder(project, "cited") / "labels.jsonl")
    refused = project.fathoms("agree", labels, "--judge", "graded.yaml")
    assert (refused.returncode, "holds no labels of claims" in refused.stderr) == (1, True)


def test_what_nobody_can_judge_is_explained(project: Project) -> None:
    """The claims of a run that was judged, but of whose answers none has what the metric compares."""
    rows = [{"id": f"q{n}", "answer": "Lamp 0 is red."} for n in range(3)]
    project.write("bare.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = project.fathoms(
        "import", "answers", "bare.jsonl", "--questions", "questions.json", "--name", "bare"
    )
    assert done.returncode == 0, done.stderr
    judged = ("--metric", "faithfulness", "--judge", "judge.yaml")
    project.fathoms("score", "bare", *judged)
    refused = project.fathoms("review", "bare", "--claims", *judged)
    assert refused.returncode == 1
    assert "no answer has anything that this metric compares: of 3, 3 without retrieved" in refused.stderr


def test_a_damaged_line_names_its_field_and_what_to_do(project: Project) -> None:
    path = folder(project, "poor") / "grades.jsonl"
    stored = path.read_text() if path.exists() else ""
    line = stored.count("\n") + 1
    path.write_text(stored + json.dumps({"run": "x", "question": "q0", "reviewer": "ann", "grade": 9}) + "\n")
    damaged = project.fathoms("review", "poor", "--quality")
    path.write_text(stored)
    assert damaged.returncode == 1
    assert f"grades.jsonl:{line}: not a grade: seed: Field required; remove" in damaged.stderr


def test_what_cannot_be_reviewed_is_said(project: Project) -> None:
    for arguments, why in (
        (("--quality", "--claims"), "are different reviews"),
        (("--taxonomy", "judge.yaml"), "--taxonomy needs --errors"),
        (("--claims",), "name its judge by --judge"),
        (("--claims", "--judge", "judge.yaml", "--metric", "faithfulnes"), "asks no judge (did you mean"),
    ):
        refused = project.fathoms("review", "poor", *arguments)
        assert refused.returncode == 2
        assert why in refused.stderr
    drawn = project.fathoms("agree", "good", "--seed", "3")
    assert (drawn.returncode, "--seed are for a file of labels" in drawn.stderr) == (2, True)
    nobody = project.fathoms("agree", "poor~1")
    assert nobody.returncode == 2
