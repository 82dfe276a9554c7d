"""Facts drafted from graded passages of two runs, by a server that honours the schema that it is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from fathoms.corpora import read_questions
from fathoms.extras.questions.key_facts import A_CALL, MOST, _read, draft_facts
from fathoms.judges.llm import LLMJudge
from fathoms.types import Question
from tests.support.project import Project
from tests.support.strict_server import CHAT, MODEL, strict_server


def says(prompt: str) -> str:
    """Grades a passage by the number in it, drafts a fact of each passage, and supports what an answer
    has."""
    if "Passages, numbered:" in prompt:
        listed = re.findall(r"^([0-9]+)\. .*?grade ([0-9])", prompt, re.MULTILINE)
        return json.dumps(dict(listed))
    if "You keep a list of the facts" in prompt:
        passages, _, before = prompt.partition("The list so far:")
        texts = re.findall(r"^- (.+) \((?:vital|okay)\)$", before, re.MULTILINE)
        texts += re.findall(r"^[0-9]+\. (.+)$", passages, re.MULTILINE)
        rows = [{"text": text, "importance": "okay" if "grade 1" in text else "vital"} for text in texts]
        return json.dumps({"facts": rows})
    return "full" if "Statements, numbered:" in prompt else "yes"


def test_facts_are_read_once_and_at_most_thirty() -> None:
    rows = [{"text": f"It is {at}.", "importance": "vital"} for at in range(40)]
    found = _read(json.dumps({"facts": [{"text": "It is 0"}, {"text": " "}, 3, *rows]})) or ()
    assert len(found) == MOST
    assert [fact.text for fact in found[:2]] == ["It is 0", "It is 1."]
    assert {fact.origin for fact in found} == {"drafted"}
    assert (_read("none"), _read('{"facts": []}')) == (None, ())


def test_passages_are_read_ten_at_a_time() -> None:
    with strict_server(says) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        judge = LLMJudge.model_validate({"model": model})
        questions = [Question(id=name, text="How?", category="A") for name in ("few", "many", "none")]
        passages = {"few": ["one"], "many": [f"number {at}" for at in range(A_CALL + 2)]}
        facts, without = draft_facts(questions, passages, judge)
        assert len(server.bodies(CHAT)) == 3
    assert without == {}
    assert {name: len(found) for name, found in facts.items()} == {"few": 1, "many": A_CALL + 2}


@pytest.mark.slow
def test_a_bank_of_two_runs_scores_both(project: Project) -> None:
    """Each run retrieved another passage of use; the facts of both make the bank."""
    project.write("questions.json", json.dumps([{"id": "q", "question": "How tall?", "reference": "Tall."}]))
    for name, texts in (("one", ["Mast, grade 3", "Door, grade 0"]), ("two", ["Lift, grade 1"])):
        contexts = [{"text": text, "document": "a.pdf"} for text in texts]
        project.write(f"{name}.jsonl", json.dumps({"id": "q", "answer": "It is.", "contexts": contexts}))
        done = project.fathoms(
            "import", "answers", f"{name}.jsonl", "--questions", "questions.json", "--name", name
        )
        assert done.returncode == 0, done.stderr
    with strict_server(says) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        project.write("judge.yaml", yaml.safe_dump({"kind": "llm", "model": model}))
        process = project.fathoms(
            "questions", "facts", "one", "two", "--to", "bank.json", "--judge", "judge.yaml"
        )
        assert process.returncode == 0, process.stdout + process.stderr
        assert "bank.json: 2 facts of 1 question" in process.stdout
        (question,) = read_questions(Path(project.path, "bank.json")).questions
        assert [(fact.text, fact.importance, fact.origin) for fact in question.facts] == [
            ("Mast, grade 3", "vital", "drafted"),
            ("Lift, grade 1", "okay", "drafted"),
        ]
        scored = project.fathoms(
            *("score", "one", "--questions", "bank.json", "--metric", "nuggets", "--judge", "judge.yaml")
        )
        assert scored.returncode == 0, scored.stdout + scored.stderr
        count = len(server.bodies(CHAT))
        again = project.fathoms("questions", "facts", "one", "--to", "more.json", "--judge", "judge.yaml")
        assert again.returncode == 0, again.stderr
        assert len(server.bodies(CHAT)) <= count + 1  # the grades are kept
    said = " ".join(scored.stdout.split())
    assert "nuggets.strict-vital" in said
    assert "nuggets that a language model drafted" in said
