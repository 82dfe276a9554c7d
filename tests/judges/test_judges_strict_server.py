"""Everything that a judge or a command asks a model for, asked of a server that honours the schema it is sent
to the letter: all that comes back is read."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from fathoms.judges import agreement
from fathoms.judges.claims import model_claims
from fathoms.judges.llm import LLMJudge
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.models.chat.forms import response_format
from fathoms.retrieve import Expand
from fathoms.types import Failure, Judgement, Question, Verdict
from tests.support.project import Project
from tests.support.strict_server import CHAT, MODEL, by_patterns, refused, strict_server

PREMISE = "The tower is 41.5 m tall. It was built in 1901."
WANTED = [
    *[
        ({"claims_a_call": a_call}, "support", word, label)
        for word, label in (("yes", "supported"), ("no", "unsupported"))
        for a_call in (1, None)
    ],
    *[
        ({"labels": "three-way", "claims_a_call": a_call}, "support", word, word)
        for word in ("entailment", "neutral", "contradiction")
        for a_call in (1, 3)
    ],
    ({"quote": True}, "support", "no", "unsupported"),
    ({}, "grade", "10", "10"),
    ({}, "grade", "1", "1"),
    ({}, "correct", "yes", "supported"),
    ({}, "abstention", "hedged", "hedged"),
    ({}, "relevant-sentences", "", "supported"),
    ({}, "questions", "", "committal"),
    ({}, "nugget", "no", "unsupported"),
    ({}, "unanswerable", "yes", "supported"),
    ({}, "citing", "cite", "needed"),
    ({}, "quality", "", "graded"),
]


def ask(judge: LLMJudge, judgements: list[Judgement]) -> dict[Judgement, Verdict]:
    """The verdicts of a judge by the way of all verdicts, in a journal that lasts as long as the call."""
    with TemporaryDirectory() as folder:
        return agreement.ask(judge, judgements, Path(folder))[0].verdicts


def model(address: str) -> dict[str, Any]:
    return {"kind": "openai-compatible", "base_url": f"{address}/v1", "model": MODEL, "max_tokens": 300}


GRADES = {"One lift.": "0", "It is 41.5 m tall.": "3", "Towers are tall.": "1"}


def graded(prompt: str) -> str:
    """What a server says that grades the passages of a prompt by its rules, each by its number."""
    listed = re.findall(r"^([0-9]+)\. (.+)$", prompt.partition("Passages, numbered:")[2], re.MULTILINE)
    return json.dumps({number: GRADES[passage] for number, passage in listed})


@pytest.mark.parametrize(("a_call", "calls"), [(1, 3), (2, 2), (10, 1)])
def test_passages_are_graded_together_as_alone(a_call: int, calls: int) -> None:
    with strict_server(graded) as server:
        judge = LLMJudge.model_validate({"model": model(server.address), "passages_a_call": a_call})
        judgements = [Judgement("How tall is it?", passage, rubric="relevance") for passage in GRADES]
        found = ask(judge, judgements)
        assert [found[one].label for one in judgements] == list(GRADES.values())
        assert len(server.bodies(CHAT)) == calls


def test_passages_that_do_not_fit_together_are_graded_in_halves() -> None:
    replies = {"aaa": '{"1": "3"}', "bbb": '{"1": "0"}'}
    model = ScriptedModel(replies=replies, context_window=900, max_tokens=100)
    judgements = [Judgement("How tall?", f"{letter * 3} " * 400, rubric="relevance") for letter in "ab"]
    judge = LLMJudge(model=model)
    assert judge.together("relevance") == 10
    assert LLMJudge(model=model.model_copy(update={"max_tokens": 20})).together("relevance") == 2
    found = ask(judge, judgements)
    assert [(found[one].label, found[one].why) for one in judgements] == [("3", None), ("0", None)]
    longer = Judgement("How tall?", "aaa " * 2000, rubric="relevance")
    assert "was cut" in str(ask(judge, [longer])[longer].why)


@pytest.mark.parametrize(("options", "calls"), [({"claims_a_call": 1}, 2), ({}, 1)])
def test_statements_are_checked_together_as_alone(options: dict[str, int], calls: int) -> None:
    with strict_server(lambda prompt: "partial") as server:
        judge = LLMJudge.model_validate({"model": model(server.address), **options})
        judgements = [Judgement(fact, PREMISE, rubric="extent") for fact in ("It is tall.", "It is old.")]
        found = ask(judge, judgements)
        assert [found[one].label for one in judgements] == ["partial"] * 2
        assert len(server.bodies(CHAT)) == calls


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        ("3", ["3"]),
        ("Grade: 2, because it is unclear.", ["2"]),
        ('```json\n{"1": 2}\n```', ["2"]),
        ('{"label": "1"}', ["1"]),
        ("4", ["unparsed"]),
        ('{"1": "3", "2": 0}', ["3", "0"]),
        ("1: 3\nPassage 2 - 0", ["3", "0"]),
        ('{"2": "1"}', ["unparsed", "1"]),
        ("[3, 0]", ["unparsed"] * 2),  # their order would be a guess
        ("both are good", ["unparsed"] * 2),
    ],
)
def test_replies_in_other_forms_are_read_by_number_or_not_at_all(reply: str, labels: list[str]) -> None:
    judge = LLMJudge.model_validate({"model": {"kind": "scripted", "default": reply}})
    judgement = [Judgement("How tall?", passage, rubric="relevance") for passage in ("one", "two")][
        : len(labels)
    ]
    found = ask(judge, judgement)
    assert [found[one].label for one in judgement] == labels


@pytest.mark.parametrize(("options", "rubric", "word", "label"), WANTED)
def test_a_judge_reads_what_it_asks_for(options: Any, rubric: Any, word: str, label: str) -> None:
    with strict_server(lambda prompt: word) as server:
        judge = LLMJudge.model_validate({"model": model(server.address), **options})
        judgements = [
            Judgement(claim, PREMISE, "How tall is it?", rubric=rubric, wanted=1)
            for claim in ("It is 41.5 m tall.", "It is old.")
        ]
        found = asyncio.run(judge.judge(judgements, Caller()))
        assert [one.label for one in found if isinstance(one, Verdict)] == [label] * 2
        assert len(server.bodies(CHAT)) == (1 if options.get("claims_a_call", 1) != 1 else 2)


def test_texts_are_split_and_questions_expanded() -> None:
    with strict_server(lambda prompt: "") as server:
        judge = LLMJudge.model_validate({"model": model(server.address)})
        claims, _ = asyncio.run(model_claims(judge.model, PREMISE, "How tall is it?", Caller()))
        assert not isinstance(claims, Failure)
        assert [claim.sentence for claim in claims] == [0, 1]
        expand = Expand.model_validate({"retriever": {"kind": "bm25"}, "generate": model(server.address)})
    (prompt,) = expand.refining_prompts(Question(id="q", text="How tall?", category="A"), ())
    assert refused(response_format(prompt.form)["response_format"]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["label", "questions.json", "pdfs", "--to", "new.json"], "no"),
        (["inspect", "labelled.json", "pdfs", "--to", "new.json"], "yes"),
        (["ambiguity", "questions.json", "new.json"], "CLEAR"),
        (["nuggets", "questions.json", "new.json"], ""),
    ],
)
def test_the_commands_on_questions_read_what_they_ask_for(
    project: Project, command: list[str], said: str
) -> None:
    words = by_patterns({r"Page 1 of varn.pdf:\n(?s:.)*41\.5 m": "yes"}, said) if said == "no" else None
    with strict_server(words or (lambda prompt: said)) as server:
        project.write("judge.yaml", yaml.safe_dump({"kind": "llm", "model": model(server.address)}))
        if command[0] == "inspect":
            label = ("label", "questions.json", "pdfs", "--to", "labelled.json")
            assert project.fathoms("questions", *label, "--judge", "judge.yaml").returncode == 0
        done = project.fathoms("questions", *command, "--judge", "judge.yaml")
        assert done.returncode == 0, done.stdout + done.stderr
        assert all("response_format" in body for body in server.bodies(CHAT))
    if command[0] == "label":
        found = json.loads(Path(project.path, "new.json").read_text())
        rows = [row for rows in found.values() for row in rows]
        assert "varn.pdf, page 1" in done.stdout
        assert [len(row.get("evidence", [])) for row in rows][:2] == [1, 1]
