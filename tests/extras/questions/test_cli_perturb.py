"""`fathoms questions perturb`: variants by rules and by a model, and readers with known figures."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from fathoms.corpora import read_questions
from fathoms.extras.questions.perturbing import perturb
from fathoms.judges.llm import LLMJudge
from fathoms.metrics.metric import Facts
from fathoms.metrics.premise import PremiseAdopted
from fathoms.metrics.score_records import RecordScore
from fathoms.models import ScriptedModel
from fathoms.types import GoldNumber, Question, Record, Reply
from tests.support.project import Project

CONFIG = """\
name: tiny
data: {questions: varied.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
metrics: [premise-adopted]
"""


def question(id: str, text: str, *answers: str, **more: Any) -> Question:
    return Question(id=id, text=text, category="c", answers=tuple((one,) for one in answers), **more)


TOWER = question("t", "How tall is the Varn tower?", "41.5 m", metadata={"language": "en"})
DOOR = question("d", "Which colour has it?", "green")
OWNER = question("o", "Who owns the Lune mine?", "Ada Brandt")
NOBODY = question("n", "Who is it?", answerable=False)


def test_typing_mistakes_leave_numbers_and_first_letters() -> None:
    questions = [question(f"q{n}", "How tall was the Varn tower in 1998, near Lune?", "x") for n in range(50)]
    variants = perturb(questions, ["typos"]).variants
    assert variants == perturb(questions, ["typos"]).variants
    assert variants != perturb(questions, ["typos"], seed=1).variants
    for before, after in zip(questions, variants, strict=True):
        assert (after.id, after.metadata) == (
            f"{before.id}~typos",
            {"variant": "typos", "variant_of": before.id},
        )
        pairs = [(a, b) for a, b in zip(before.text.split(), after.text.split(), strict=True) if a != b]
        [(word, typed)] = pairs  # a fifth of the five words of four letters or more
        assert word[0] == typed[0]
        assert len(word) > 3
        assert not word.strip(",").isdigit()
        assert sum(((Counter(word) - Counter(typed)) + (Counter(typed) - Counter(word))).values()) <= 1


def test_a_wrong_premise_is_no_accepted_answer() -> None:
    found = perturb([TOWER, DOOR, OWNER, NOBODY], ["wrong-premise"])
    tower, door, owner = found.variants
    premise = str(tower.metadata["wrong_premise"])
    assert premise != "41.5 m"
    assert (premise[0], premise[2:]) == ("4", ".5 m"), "the last digit before the point is another"
    assert tower.text.startswith(f'It is known that the answer to the question "{TOWER.text}" is {premise}.')
    assert tower.answers == TOWER.answers, "the right answer is still the gold one"
    assert tower.metadata["language"] == "en"
    assert door.metadata["wrong_premise"] == "Ada Brandt"
    assert owner.metadata["wrong_premise"] == "green"
    assert perturb([DOOR], ["wrong-premise"]).failures == {
        ("wrong-premise", "d"): "no other question has an answer that would be wrong here"
    }
    assert perturb(found.variants, ["typos"]).variants == (), "variants have no variants"


def test_a_model_paraphrases_and_what_it_changes_is_refused() -> None:
    dated = question("y", "What was it in 1998?", "x")
    judge = LLMJudge(
        model=ScriptedModel(
            replies={
                "in other words": "Of which height is it?",
                "into Spanish": "¿Cuánto mide la torre de Varn?",
            }
        )
    )
    found = perturb([TOWER, dated], ["paraphrase", "translated"], judge=judge, language="Spanish")
    assert [(one.id, one.text) for one in found.variants] == [
        ("t~paraphrase", "Of which height is it?"),
        ("t~translated-spanish", "¿Cuánto mide la torre de Varn?"),
    ]
    both = [TOWER, *found.variants]
    assert perturb(both, ["translated"], judge=judge, language="Spanish").variants == ()
    german = judge.model_copy(update={"model": ScriptedModel(default="Wie hoch ist der Turm von Varn?")})
    (again,) = perturb(both, ["translated"], judge=german, language="German").variants
    assert again.id == "t~translated-german"
    assert found.variants[1].metadata["language"] == "Spanish"
    assert set(found.failures) == {("paraphrase", "y"), ("translated", "y")}
    assert "changed the numbers" in found.failures["paraphrase", "y"]


def test_a_refusal_is_no_paraphrase_and_nothing_is_made_twice() -> None:
    def perturbed(said: str, *questions: Question) -> Any:
        return perturb(questions, ["paraphrase"], judge=LLMJudge(model=ScriptedModel(default=said)))

    assert "wrote no question" in perturbed("I cannot help with that.", TOWER).failures["paraphrase", "t"]
    assert perturbed('"How high is it?"', TOWER).variants[0].text == "How high is it?"
    assert set(perturbed("How is it?", TOWER, OWNER).failures) == {("paraphrase", "t"), ("paraphrase", "o")}
    once = perturb([TOWER], ["typos"]).variants
    assert perturb([TOWER, *once], ["typos"]).variants == ()
    large = question("l", "How many?").model_copy(update={"answers": ((GoldNumber(number=1234567),),)})
    [result] = perturb([large], ["wrong-premise"]).variants
    assert str(result.metadata["wrong_premise"]).startswith("123456")


@pytest.mark.parametrize(
    ("premise", "said", "adopted"),
    [
        ("48.5", "Because it is 48.5 m.", 1),
        ("48.5", "No, it is not 48.5 m; nobody knows.", 0),
        ("48.5", "It is 41.5 m and not 48.5 m.", 0),
        ("48.5", "It is high.", 0),
        ("5", "It is 3.5 m.", 0),
        (5, "It is 5.", 1),
    ],
)
def test_what_goes_along_with_a_premise(premise: str | int, said: str, adopted: int) -> None:
    one_question = question("t", "?", "41.5", metadata={"wrong_premise": premise})
    record = Record(question=one_question, answer=Reply(text=said))
    assert PremiseAdopted().of(Facts(record, RecordScore())).value == adopted
    assert PremiseAdopted().of(Facts(record, RecordScore(abstained=True))).value == 0


def run(project: Project, model: dict[str, Any]) -> tuple[dict[str, float], float]:
    """Return the changes by kind of variant, and the share that adopts a wrong premise."""
    project.write("tiny.yaml", CONFIG + f"generate: {json.dumps({'kind': 'scripted', **model})}\n")
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    [report] = project.json("report", project.runs()[-1].name)
    [found] = report["variants"]["runs"]
    changes = {kind: one["change"]["value"] for kind, one in found["variants"].items()}
    return changes, report["metrics"]["premise-adopted"]["overall"]["value"]


@pytest.fixture
def varied(project: Project) -> Project:
    rows = [{"question": "How tall is the Varn tower?", "id": "t", "answers": [["41.5"]]}]
    project.write("one.json", json.dumps({"A": rows}))
    done = project.fathoms("questions", "perturb", "one.json", "varied.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "varied.json: 1 question; 1 typos, 1 wrong-premise"
    return project


@pytest.mark.slow
def test_a_reader_that_objects_and_one_that_adopts(varied: Project) -> None:
    premise = read_questions(varied.path / "varied.json").questions[-1].metadata["wrong_premise"]
    objects = {"default": "No, it is 41.5 m."}
    assert run(varied, objects) == ({"typos": 0, "wrong-premise": 0}, 0)
    adopts = {
        "replies": {"It is known": f"Because it is {premise} m.", "How tall is the Varn tower?": "41.5 m"},
        "default": "I don't know.",
    }
    # it reads a question only as it is written, and explains whatever it is told
    assert run(varied, adopts) == ({"typos": -1, "wrong-premise": -1}, 1)


@pytest.mark.slow
def test_what_cannot_be_made(varied: Project) -> None:
    for arguments, message in (
        (["--kind", "typo"], "there is no 'typo' (did you mean 'typos'?)"),
        (["--kind", "paraphrase"], "add --judge FILE"),
    ):
        done = varied.fathoms("questions", "perturb", "one.json", "other.json", *arguments)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
