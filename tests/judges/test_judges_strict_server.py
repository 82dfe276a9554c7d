"""Everything that a judge or a command asks a model for, asked of a server that honours the schema it is sent
to the letter: all that comes back is read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms.judges.claims import model_claims
from fathoms.judges.llm import LLMJudge
from fathoms.models.caller import Caller
from fathoms.models.chat.forms import response_format
from fathoms.retrieve import Expand
from fathoms.types import Failure, Judgement, Question, Verdict
from tests.support.project import Project
from tests.support.strict_server import CHAT, MODEL, by_patterns, refused, strict_server

PREMISE = "The tower is 41.5 m tall. It was built in 1901."
ASKED = [
    *[({}, "support", word, label) for word, label in (("yes", "supported"), ("no", "unsupported"))],
    *[
        ({"labels": "three-way"}, "support", word, word)
        for word in ("entailment", "neutral", "contradiction")
    ],
    ({"claims_a_call": 3}, "support", "yes", "supported"),
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


def model(address: str) -> dict[str, Any]:
    return {"kind": "openai-compatible", "base_url": f"{address}/v1", "model": MODEL, "max_tokens": 300}


@pytest.mark.parametrize(("options", "rubric", "word", "label"), ASKED)
def test_a_judge_reads_what_it_asks_for(options: Any, rubric: Any, word: str, label: str) -> None:
    with strict_server(lambda prompt: word) as server:
        judge = LLMJudge.model_validate({"model": model(server.address), **options})
        asked = [
            Judgement(claim, PREMISE, "How tall is it?", rubric=rubric, wanted=1)
            for claim in ("It is 41.5 m tall.", "It is old.")
        ]
        found = asyncio.run(judge.judge(asked, Caller()))
        assert [one.label for one in found if isinstance(one, Verdict)] == [label] * 2
        assert len(server.bodies(CHAT)) == (1 if "claims_a_call" in options else 2)


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
