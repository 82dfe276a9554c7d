"""`compare` and `gate` from the shell: what they print and what they end with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.compare.question_scores import read_scores
from fathoms.importers import keep, read_answers
from fathoms.report.write import write_report
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.types import Question

pytestmark = pytest.mark.slow  # processes of their own

N = 60
QUESTIONS = [
    Question(id=f"q{i}", text=f"What is {i}?", category=("Even", "Odd")[i % 2], answers=((f"number {i}",),))
    for i in range(N)
]


def scored_run(
    out: Path, name: str, wrong: int, questions: list[Question] = QUESTIONS, **changes: Any
) -> Run:
    """A scored run on disk whose first answers are wrong."""
    file = out / f"{name}.jsonl"
    rows = [
        {"id": q.id, "answer": f"It is number {-1 if i < wrong else i}."} for i, q in enumerate(questions)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    imported = read_answers(file, questions)
    records = tuple(
        record.model_copy(update={"answer": record.answer.model_copy(update=changes)})
        for record in imported.records
        if record.answer
    )
    run = keep(replace(imported, name=name, records=records), "sixty", out)
    score_run(run)
    return run


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `good`, `same`, `bad` (a third of the answers wrong), `cached`, and `few` of fewer questions."""
    out = tmp_path_factory.mktemp("nights")
    for name, wrong in (("good", 0), ("same", 0), ("bad", 20)):
        scored_run(out, name, wrong)
    scored_run(out, "cached", 0, cached=True)
    scored_run(out, "few", 0, QUESTIONS[:50])
    return out


@pytest.fixture
def fathoms(nights: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line on these runs: exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--out", str(nights)])
        return (code, *capsys.readouterr())

    return call


def test_a_drop_fails_against_a_saved_baseline(fathoms: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "nightly" / "base.json")
    assert fathoms("gate", "good", "--save-baseline", file) == (0, f"baseline of 1 run: {file}\n", "")
    code, out, _ = fathoms("gate", "bad", "--baseline", file)
    assert code == 100
    assert out.startswith(
        "FAIL  correctness 1.00 -> 0.67 (-0.33) on 60 questions\n"
        "why   worse by 0.02 or more in the newest run (p < 0.0001; FAIL below 0.001)\n"
        "lost  q0 "
    )
    out = fathoms("gate", "bad", "--baseline", file, "--all")[1]
    assert out.startswith("FAIL\n")
    assert "correctness is worse by 0.02 or more: p < 0.001 in the newest run" in out
    code, _, err = fathoms("gate", "bad", "--baseline", file, "--profile", "paper")
    assert (code, "--profile paper" in err) == (1, True)  # no run is scored under it unless that is asked for


def test_the_last_nights_are_found_back_to_the_baseline(fathoms: Any, tmp_path: Path, nights: Path) -> None:
    file = str(tmp_path / "base.json")
    for wrong in (0, 8, 8, 8):
        scored_run(nights, "every", wrong)
    assert fathoms("gate", "every~3", "--save-baseline", file)[0] == 0
    code, out, _ = fathoms("gate", "every", "--baseline", file, "--all")
    assert (code, out.count("run 1")) == (0, 1)  # 8 of 60 lost: 2^-8 is not below .001
    code, out, _ = fathoms("gate", "every", "--baseline", file, "--last", "5", "--all")
    assert (code, "run 3: " in out, "run 4: " in out) == (100, True, False)
    assert "p < 0.001" in out
    assert fathoms("gate", "every", "every~1", "--baseline", file, "--last", "2")[0] == 2


def test_fixed_limits_need_no_baseline(fathoms: Any, tmp_path: Path) -> None:
    code, out, _ = fathoms("gate", "bad", "--min", "correctness=0.6", "--max-rate", "hallucination=0.4")
    assert (code, out.splitlines()[0]) == (0, "PASS  correctness 0.67 (60 questions), at least 0.6")
    code, out, _ = fathoms("gate", "bad", "--min", "correctness=0.7", "--by-category", "--all")
    assert code == 100
    last = out.splitlines()[-1]
    assert last.endswith(": correctness 0.67 (60 questions), at least 0.7: FAIL (and 2 more)")
    assert "correctness in Odd 0.67 (30 questions), at least 0.7: FAIL" in out
    junit = tmp_path / "gate.xml"
    arguments = ("--baseline", "good", "--margin", "0.1", "--max-rate", "hallucination=0.1")
    assert fathoms("gate", "same", *arguments, "--junit", str(junit))[0] == 0
    assert 'name="gate max hallucination"' in junit.read_text()
    assert "gate correctness: q0" not in junit.read_text()
    assert fathoms("gate", "same", *arguments, "--junit", str(junit), "--junit-by", "question")[0] == 0
    assert 'name="gate correctness: q0"' in junit.read_text()
    assert fathoms("gate", "same", *arguments[:4], "--min", "correctness=1.1")[0] == 100
    for wrong in ("correctness", "correctness=nan"):
        code, _, err = fathoms("gate", "good", "--min", wrong)
        assert (code, "expected METRIC=VALUE" in err) == (2, True)


def test_few_questions_leave_it_undecided(fathoms: Any) -> None:
    code, out, err = fathoms("gate", "same", "--baseline", "good")
    assert (code, err, out.startswith("UNDECIDED  correctness 1.00 -> 1.00 (0.00) on 60 ")) == (0, "", True)
    code, out, err = fathoms("gate", "same", "--baseline", "good", "--all")
    assert (code, out.startswith("UNDECIDED\n")) == (0, True)
    assert err == (
        "fathoms: undecided: 60 questions cannot show that correctness fell by less than 0.02: they can show"
        " a margin of 0.06, and about 270 questions would be needed\n"
    )
    assert fathoms("gate", "same", "--baseline", "good", "--strict")[0] == 101
    code, out, err = fathoms("gate", "same", "--baseline", "good", "--margin", "0.1", "--strict", "--json")
    found = json.loads(out)
    assert (code, err, found["verdict"], found["checks"][0]["questions"]) == (0, "", "PASS", N)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["few", "--baseline", "good", "--changed", "10%"],
            1,
            "more than --changed allows: q50, q52, q54, q56, q58, ...",
        ),
        (["cached", "--baseline", "good"], 1, "60 replies of"),
        (["good"], 2, "gate needs --baseline RUN"),
        (["good", "--baseline", "same", "--save-baseline", "b.json"], 2, "--save-baseline judges nothing"),
        (["good", "--baseline", "same", "--metric", "corectness"], 2, "did you mean 'correctness'?"),
        (["good", "--baseline", "good"], 2, "named twice"),
        (["good", "--baseline", "same", "--profile", "released"], 1, "no scores 'released'"),
    ],
)
def test_the_gate_refuses_wrong_arguments(
    fathoms: Any, arguments: list[str], code: int, message: str
) -> None:
    found, out, err = fathoms("gate", *arguments)
    assert (found, out) == (code, "")
    assert message in err


def test_a_comparison_names_what_flipped(fathoms: Any) -> None:
    code, out, err = fathoms("compare", "good", "bad", "same", "--metric", "correctness", "--all")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "Mean of the categories 60 1.00 0.67 -0.33 [-0.46, -0.23]" in text
    assert (
        "a difference, p < 0.001, after Holm < 0.001 (sign-flip and score test of the mean of the categories)"
        in text
    )
    assert "B wins 0, loses 20, ties 40" in text
    assert "differ: 20 (q0 1.00 to 0.00, " in text
    assert "C wins 0, loses 0, ties 60" in text
    found = json.loads(fathoms("compare", "good", "bad", "--json")[1])
    assert [(test["metric"], test["test"]) for test in found["tests"]] == [
        ("correctness", "sign-flip"),
        ("hallucination", "mcnemar"),
    ]
    assert len(found["tests"][0]["flips"]) == 20
    assert fathoms("compare", "good")[0] == 2


def test_intervals_are_in_the_summary_the_table_and_the_report(
    fathoms: Any, nights: Path, tmp_path: Path
) -> None:
    run = next(Run(path) for path in nights.iterdir() if "_bad_" in path.name)
    overall = (run.summary.plain() or {})["profiles"]["fathoms"]["overall"]["intervals"]["correctness"]
    assert (overall["method"], overall["n"], overall["groups"]) == ("score", N, None)
    # 20 of 30 right in either category: Blaker's interval
    out = fathoms("show", "bad", "--all")[1]
    assert "0.67 [0.48, 0.82]" in out
    assert "95 % intervals" in out
    write_report([Run.scored(run.path)], tmp_path)
    assert r"| Odd | 0.67 \[0.48, 0.82\] |" in (tmp_path / "report.md").read_text()
    (row,) = json.loads(fathoms("report", "bad", "--json")[1])
    assert row["categories"]["Odd"]["intervals"]["correctness"]["n"] == 30


def test_documents_are_grouped_and_enough_of_them_are_clustered(tmp_path: Path, capsys: Any) -> None:
    on_documents = [
        question.model_copy(update={"files": (f"{i // 3}.pdf",)}) for i, question in enumerate(QUESTIONS)
    ]
    run = scored_run(tmp_path, "many", 20, on_documents)
    overall = (run.summary.plain() or {})["profiles"]["fathoms"]["overall"]["intervals"]["correctness"]
    assert overall["groups"] == 20
    # three questions of a document are right or wrong together here: the interval is the wider one
    assert overall["clustered"]["low"] < overall["low"] < overall["high"] < overall["clustered"]["high"]
    assert main(["show", "many", "--all", "--out", str(tmp_path)]) == 0
    assert "with other documents too: [0.43, 0.84], 20 groups" in " ".join(capsys.readouterr().out.split())


def test_a_comparison_speaks_of_other_documents_where_there_are_enough(tmp_path: Path, capsys: Any) -> None:
    on_documents = [
        question.model_copy(update={"files": (f"{i // 3}.pdf",)}) for i, question in enumerate(QUESTIONS)
    ]
    for name, wrong in (("before", 0), ("after", 9)):
        scored_run(tmp_path, name, wrong, on_documents)
    arguments = ["compare", "before", "after", "--metric", "correctness", "--out", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    # all nine losses are on three of 20 documents: 2^-8 for other questions, but little for other documents
    assert test["p"] == pytest.approx(2**-8)
    found = test["other_documents"]
    assert (found["groups"], found["difference"]) == (20, test["overall"]["difference"])
    assert 0.05 < found["p"] == found["p_holm"] < 0.2
    assert found["low"] < test["overall"]["low"] < test["overall"]["high"] < 0 < found["high"]
    assert main([*arguments, "--all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "for other questions on the same documents: a difference, p 0.004, after Holm 0.004" in shown
    assert "for other documents: -0.15 [" in shown
    assert "(CR2 of the mean of the categories, 20 groups of documents)" in shown


def test_a_question_is_read_with_its_values_and_its_answers_are_counted(nights: Path) -> None:
    run = next(Run(path) for path in nights.iterdir() if "_cached_" in path.name)
    scores = read_scores(run)
    assert (scores.answers, scores.failed, scores.cached) == (N, 0, N)
    values = scores.questions["q3"].values
    assert (values["correctness"], values["hallucination"], values["cost"]) == ((1.0,), (0.0,), ())
    assert scores.questions["q3"].category == "Odd"


def test_a_classifier_is_known_by_its_exemplars_and_not_by_their_place(tmp_path: Path, capsys: Any) -> None:
    """Other exemplars in the same file judge otherwise, the same in another file do not."""
    ours, elsewhere = tmp_path / "exemplars.yaml", tmp_path / "copy" / "mine.yaml"
    elsewhere.parent.mkdir()
    for path in (ours, elsewhere):
        path.write_text("statement: [It is number 1.]\nabstention: [I cannot say.]\n")
    for name, path in (("first", ours), ("moved", elsewhere), ("changed", ours)):
        run = scored_run(tmp_path, name, 5)
        if name == "changed":
            ours.write_text("statement: [I cannot say.]\nabstention: [It is number 1.]\n")
        score_run(run, ["abstention.kind=cues", f"abstention.exemplars={path}"])
    by = ("--metric", "hallucination", "--out", str(tmp_path))
    assert main(["compare", "first", "moved", *by]) == 0
    assert (
        main(["gate", "first", "--save-baseline", str(tmp_path / "base.json"), "--out", str(tmp_path)]) == 0
    )
    capsys.readouterr()
    for command in (["compare", "first"], ["gate", "--baseline", str(tmp_path / "base.json")]):
        assert main([*command, "changed", *by]) == 1
        assert "was judged by different rules" in capsys.readouterr().err


def test_a_baseline_that_no_gate_would_take_is_refused_at_once(fathoms: Any, tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    code, _, err = fathoms("gate", "good", "cached", "--save-baseline", str(file))
    assert (code, file.exists()) == (1, False)
    assert "came from an earlier run's cache" in err
