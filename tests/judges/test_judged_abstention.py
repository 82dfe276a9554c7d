"""`abstention: {kind: judge}`: a judge that sees the question says which answers abstain."""

from __future__ import annotations

import asyncio
import json

import pytest

from fathoms.cli import main
from fathoms.judges.llm import LLMJudge
from fathoms.judges.rubrics import KINDS
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.judged_abstention import JudgedAbstention, judgement
from fathoms.models import Embedded, ScriptedModel
from fathoms.models.caller import Caller
from fathoms.runs.run import Run
from fathoms.types import Question, Record, Reply, Verdict
from tests.support.project import Project

ANSWER = "The report covers three mines.\n\nIts owner is not named in it."
RED = {"metadata": {"wrong_premise": "red"}, "reference": "The door is green."}
MORE = ["--metric", "premise-adopted", "--metric", "ragchecker.precision"]
QUESTIONS = [
    {"id": "owner", "question": "Who owns the mine?", "answers": [["Varn"]]},
    {"id": "guess", "question": "How deep is it?", "answers": [["41"]]},
    {"id": "plain", "question": "What colour is the door?", "answers": [["green"]], **RED},
    {"id": "safe", "question": "How is it blown up?", "answers": [["dynamite"]]},
    {"id": "broken", "question": "Where is it?", "answers": [["north"]]},
    {"id": "made-up", "question": "What did it earn?", "answers": [], "answerable": False},
]
CONFIG = """\
name: judged
data: {questions: q.json, documents: pdfs}
retrieve: {kind: none}
generate:
  kind: scripted
  replies:
    Who owns: Its owner is not named.
    How deep: The text does not say, but perhaps 41 m.
    What colour: Red.
    blown up: I must not help with that.
    Where is: North of here.
    did it earn: Three million.
scoring: {abstention: {kind: judge}}
"""
JUDGE = """\
judge: {kind: scripted, labels_by: {not named: abstention, perhaps: hedged, must not: refusal, North: failed}}
"""


def verdict_of(model: object) -> Verdict:
    judge = LLMJudge(model=model)  # type: ignore[arg-type]
    (found,) = asyncio.run(judge.judge([judgement("Who owns the mine?", ANSWER)], Caller()))
    assert isinstance(found, Verdict)
    return found


def test_a_model_names_the_sentence_that_decided() -> None:
    model = ScriptedModel(replies={"2. Its owner": '{"sentence": 2, "label": "abstention"}'})
    found = verdict_of(model)
    assert (found.label, found.why) == ("abstention", "Its owner is not named in it.")
    why = JudgedAbstention().explain(found)
    assert (why.clause, why.reason) == ("Its owner is not named in it.", "the judge says abstention")


@pytest.mark.parametrize(
    ("reply", "label", "why"),
    [
        ("Abstention.", "abstention", None),
        ('{"sentence": 9, "label": "hedged"}', "hedged", None),
        ("It depends.", "unparsed", "unreadable: 'It depends.'"),
    ],
)
def test_other_replies(reply: str, label: str, why: str | None) -> None:
    found = verdict_of(ScriptedModel(default=reply))
    assert (found.label, found.why) == (label, why)


@pytest.mark.long
@pytest.mark.slow
def test_a_grammar_holds_the_embedded_model_to_the_kinds(smollm: Embedded) -> None:
    assert verdict_of(smollm.model_copy(update={"max_tokens": 24})).label in KINDS


@pytest.fixture
def run(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.path)
    project.write("q.json", json.dumps(QUESTIONS))
    project.write("judged.yaml", CONFIG + JUDGE)
    assert main(["run", "judged.yaml"]) == 1  # one answer has no label
    return project


def scores(project: Project) -> dict[str, tuple[str | None, int | None]]:
    found = {}
    for view in Run.scored(project.runs()[0]).questions():
        score = view.repeats[0].scores["fathoms"]
        found[view.question.id] = (score.abstention, score.hallucination)
    return found


EXPECTED = {
    "owner": ("abstention", 0),
    "guess": ("statement", 0),  # hedged, and correct
    "plain": ("statement", 1),
    "safe": ("refusal", 0),
    "broken": (None, None),
    "made-up": ("statement", 1),
}


def test_labels_of_the_judge_decide_on_hallucination(run: Project) -> None:
    assert scores(run) == EXPECTED
    summary = json.loads((run.runs()[0] / "summary.json").read_text())
    assert any("1 of 6 answers have no abstention label" in one for one in summary["warnings"])
    truth = summary["metrics"]["truthfulness"]["overall"]
    assert (truth["n"], truth["value"]) == (5, pytest.approx((0 + 1 - 1 + 0 - 1) / 5))


def test_verdicts_are_stored_and_hedging_can_count_as_abstaining(
    run: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "judged", "--set", "abstention.hedged=abstention"]) == 1
    assert scores(run) == EXPECTED | {"guess": ("abstention", 0)}
    summary = json.loads((run.runs()[0] / "summary.json").read_text())
    assert (summary["judging"]["found"], summary["judging"]["asked"]) == (5, 1)  # the failed one


@pytest.mark.slow
@pytest.mark.parametrize(
    "of",
    [
        "--max-rate=hallucination=1",
        "--min=abstention=0",
        "--min=truthfulness=-1",
        "--max-rate=premise-adopted=1",
        "--min=ragchecker.precision=0",
    ],
)
def test_no_gate_passes_on_labels_that_are_missing(
    run: Project, of: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """One of six answers has no label, whatever else is allowed; correctness needs no label."""
    assert main(["score", "judged", *MORE]) == 1
    assert main(["gate", "judged", "--save-baseline", "base.json"]) == 0
    capfd.readouterr()
    metric = of.split("=")[1]
    assert main(["gate", "judged", of, "--allow-unchecked-judge"]) == 1
    refused = f"16.7 % of what {metric} of"
    assert refused in capfd.readouterr().err
    assert main(["gate", "judged", "--min=correctness=0"]) == 0
    assert main(["run", "judged.yaml"]) == 1
    assert main(["score", "judged", *MORE]) == 1
    capfd.readouterr()
    against = ["gate", "judged", "--baseline", "base.json", "--allow-unchecked-judge", "--changed", "100%"]
    assert main([*against, "--metric", metric]) == 1
    assert refused in capfd.readouterr().err
    assert main([*against, "--metric", "correctness"]) == 0
    assert main(["compare", "judged", "judged~1", "--metric", metric]) == 0
    assert capfd.readouterr().out.count(f"{metric} of") == 2
    assert main(["trends", "judged", "--metric", metric, "--json"]) == 0
    nights = json.loads(capfd.readouterr().out)["nights"]
    assert [night["why"] for night in nights] == ["1 of 6 answers are judged only in part"] * 2


def test_a_judge_is_needed(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    project.write("q.json", json.dumps(QUESTIONS))
    path = project.write("judged.yaml", CONFIG)
    assert main(["run", str(path)]) == 2
    assert "scoring.abstention: kind 'judge' needs a judge" in capfd.readouterr().err


def test_agree_measures_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    rows = [
        {"id": "a", "question": "Who?", "answer": "It is not named.", "label": "abstention"},
        {"id": "b", "question": "What?", "answer": "Red.", "label": "statement"},
        {"id": "c", "question": "How?", "answer": "North wind.", "label": "abstention"},
    ]
    project.write("labels.jsonl", "\n".join(map(json.dumps, rows)))
    project.write("judge.yaml", JUDGE)
    arguments = ["agree", "labels.jsonl", "--abstention", "judge", "--judge", "judge.yaml", "--json"]
    assert main(arguments) == 1
    printed = capfd.readouterr()
    assert "1 of 3 rows have no verdict of the judge" in printed.err
    found = json.loads(printed.out)
    assert (found["n"], found["accuracy"], found["left_out"]) == (2, 1, {"unjudged": 1})
    project.write("labels.jsonl", json.dumps({"id": "a", "answer": "No.", "label": "abstention"}))
    assert main(arguments) == 2
    assert "a judge must see the question" in capfd.readouterr().err


def test_a_judge_is_shown_what_was_said_before() -> None:
    """A turn of a conversation cannot be judged without the turns before it."""
    said = "user: Who owns the mine?\nassistant: Its owner is not named."
    question = Question(id="2", text="And the quarry?", category="Text", metadata={"history": said})
    record = Record(question=question, answer=Reply(text="The same."))
    (wanted_for,) = JudgedAbstention().judgements(record, {})
    model = ScriptedModel(replies={"Who owns the mine?": "abstention"}, default="statement")
    (found,) = asyncio.run(LLMJudge(model=model).judge([wanted_for], Caller()))
    assert isinstance(found, Verdict)
    assert found.label == "abstention"
    assert Faithfulness().texts(record) == [("The same.", f"And the quarry?\nWhat was said before:\n{said}")]
