"""Ambiguous questions from the model's mark over two people to a variant that the evidence decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from fathoms.extras.questions.ambiguity import (
    assess,
    assessing,
    contradicted,
    evidence_of,
    matched,
    read_status,
    rewrite,
    with_mark,
)
from fathoms.extras.questions.ambiguity_review import adjudicated
from fathoms.judges.llm import LLMJudge
from fathoms.models import OpenAICompatibleLLM, ScriptedModel
from fathoms.runs.metadata import variant
from fathoms.runs.people import AmbiguityLabel
from fathoms.types import Document, Evidence, Page, Question, Quote
from tests.support.project import Project
from tests.support.seer import seeing

PAGE = Page(number=2, text="In 2022, the Varn tower of Lune was 41.5 m tall.")
DOCUMENTS = {"a.pdf": Document(id="a.pdf", path=Path("a.pdf"), sha256="0" * 64, pages=(PAGE,))}
GOLD = (Evidence(document="a.pdf", page=2),)


def question(name: str, mark: str | None = None, category: str = "A", **more: object) -> Question:
    metadata = {} if mark is None else {"ambiguity": mark}
    one_question = Question(
        id=name, text=f"How tall was {name}?", category=category, evidence=GOLD, metadata=metadata
    )
    return one_question.model_copy(update=more)


def scripted(**replies: str) -> LLMJudge:
    return LLMJudge(model=ScriptedModel(replies=replies, default="?"))


def test_the_model_marks_each_question_with_a_reason_of_30_words() -> None:
    long = " ".join(f"w{n}" for n in range(40))
    judge = scripted(
        tower=json.dumps({"status": "AMBIGUOUS", "reason": long}),
        Varn='{"status": "clear", "reason": "One."}',
    )
    known = question("kept", "clear")
    found = assess([question("tower"), question("Varn"), question("lost"), known], judge)
    tower, varn, lost, stored = found.questions
    assert tower.metadata["ambiguity"] == "ambiguous"
    assert tower.metadata["ambiguity_reason"] == " ".join(f"w{n}" for n in range(30))
    assert varn.metadata == {"ambiguity": "clear", "ambiguity_reason": "One."}
    assert lost == question("lost")
    assert stored == known
    assert found.failures.keys() == {"lost"}
    assert read_status('{"status": "PERHAPS"}') is None
    reasons = ["No year, so it is ambiguous.", "It is not ambiguous.", "Unambiguous."]
    clear = [with_mark(question(str(n)), "clear", reason) for n, reason in enumerate(reasons)]
    assert contradicted([*found.questions, *clear]) == ["0"], "a model said so of 10 of 14"


def test_a_clear_set_of_the_same_size_and_categories() -> None:
    questions = [
        *(question(f"a{n}", "ambiguous") for n in range(2)),
        *(question(f"b{n}", "ambiguous", "B") for n in range(2)),
        *(question(f"c{n}", "clear") for n in range(5)),
        question("d", "clear", "B"),
        question("e", "clear", "C"),
    ]
    found = [one.id for one in matched(questions, seed=1)]
    assert found[:4] == ["a0", "a1", "b0", "b1"]
    rewritten = variant(questions[0], "rewritten", "How tall was a0 in 2022?")
    assert [one.id for one in matched([*questions, rewritten], seed=1)][-1] == "a0~rewritten"
    assert len([name for name in found if name.startswith("c")]) == 2
    assert found[-1] == "d"  # B has one clear question only, and C none that is ambiguous
    drawn = {tuple(one.id for one in matched(questions, seed)) for seed in range(40)}
    assert len(drawn) == 10  # all pairs of five


def test_two_people_decide_and_kappa_is_cohens() -> None:
    """Of 10 questions both say ambiguous to 5 and clear to 3; each says clear alone to one: observed .8, by
    chance .6 * .6 + .4 * .4 = .52, so kappa is (.8 - .52) / .48 = .5833."""
    questions = [question(str(n), "ambiguous") for n in range(12)]
    said = [("a", "a")] * 5 + [("c", "c")] * 3 + [("a", "c"), ("c", "a")]
    full = {"a": "ambiguous", "c": "clear"}
    labels = [
        AmbiguityLabel(run="set", question=str(n), reviewer=who, seed=0, time="t", label=full[mark])
        for n, pair in enumerate(said)
        for who, mark in zip(("ann", "ben"), pair, strict=True)
    ]
    labels.append(AmbiguityLabel(run="set", question="10", reviewer="ann", seed=0, time="t", label="clear"))
    found = adjudicated(questions, labels)
    assert found.kappas == {("ann", "ben"): (pytest.approx(0.58333, abs=1e-5), 10)}
    assert found.open == ("8", "9", "10", "11")
    assert found.changed == 3
    ids = [one.metadata["ambiguity"] for one in found.questions]
    assert ids == ["ambiguous"] * 5 + ["clear"] * 3 + ["ambiguous"] * 4


def test_a_rewritten_question_rests_on_its_evidence() -> None:
    wanted = [
        with_mark(question("tower", answers=(("41.5",),)), "ambiguous", "No year."),
        question("gone", "ambiguous", evidence=(Evidence(document="a.pdf", page=9),)),
        question("unsure", "ambiguous"),
        question("vague", "ambiguous"),
        with_mark(question("same"), "ambiguous", "It is the same."),
        question("clear", "clear"),
    ]
    judge = LLMJudge(
        model=ScriptedModel(
            replies={
                "Why it is ambiguous: No year.": "How tall was the Varn tower of Lune in 2022?",
                "Why it is ambiguous: It is the same.": "how tall  was same?",
                "Why it is ambiguous: not known": "How tall was it according to the text?",
                "was tower?": "It was 41.5 m tall.",
                "was unsure?": '**"Evidence inconclusive."** Two years.',
                "was vague?": "It was 40 m tall.",
                "was same?": "It was 40 m tall.",
            }
        )
    )
    found = rewrite(wanted, DOCUMENTS, judge)
    (result,) = found.variants
    assert (result.id, result.text) == ("tower~rewritten", "How tall was the Varn tower of Lune in 2022?")
    assert (result.reference, result.answers) == ("It was 41.5 m tall.", (("41.5",),))
    assert result.metadata["variant_of"] == "tower"
    assert found.undecided == {"unsure": '**"Evidence inconclusive."** Two years.'}
    # no text, a question that names its source, and one that is the same
    assert found.failures.keys() == {"gone", "vague", "same"}
    again = rewrite([wanted[0], result], DOCUMENTS, judge)
    assert (again.variants, again.failures) == ((), {})


def test_the_evidence_is_gold_pages_or_else_gold_quotes() -> None:
    assert evidence_of(question("q"), DOCUMENTS) == f"- a.pdf, page 2: {PAGE.text}"
    quoted = question("q", evidence=(Evidence(document="a.pdf", quote=PAGE.text[:20]),))
    assert evidence_of(quoted, DOCUMENTS) == f"- a.pdf, page 2: {PAGE.text}"
    quotes = (
        Quote(id="text1", text="Gold.", gold=True),
        Quote(id="image1", modality="image", description="A gold chart.", gold=True),
        Quote(id="text2", text="Other."),
    )
    assert evidence_of(question("q", evidence=(), quotes=quotes), {}) == "- Gold.\n- A gold chart."


def decided(project: Project, typed: str, who: str) -> str:
    """What a review prints to somebody who types this."""
    options = ("questions", "ambiguity", "marked.json", "--review", "--reviewer", who)
    done = project.fathoms(*options, typed=typed)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # a pseudo-person in processes of their own
def test_the_command_from_marks_to_a_run(project: Project) -> None:
    replies = {
        "Why it is ambiguous": "How tall is the Varn tower in Lune?",
        "Reply with JSON:": '{"status": "AMBIGUOUS", "reason": "Which one?"}',
        "Answer so far": "It is 41.5 m tall.",
    }
    project.write("judge.yaml", f"kind: llm\nmodel: {json.dumps({'kind': 'scripted', 'replies': replies})}\n")
    rows = [
        {
            "id": "tall",
            "question": "How tall is it?",
            "answers": ["41.5"],
            "files": "varn.pdf",
            "evidence": [{"document": "varn.pdf", "page": 1}],
            "category": "A",
        }
    ]
    project.write("mine.json", json.dumps(rows))
    bare = project.fathoms("questions", "ambiguity", "mine.json", "marked.json")
    assert (bare.returncode, "nothing to do" in bare.stderr) == (2, True)
    none = project.fathoms("questions", "ambiguity", "mine.json", "marked.json", "--matched")
    assert (none.returncode, "no question is marked as ambiguous" in none.stderr) == (1, True)
    done = project.fathoms("questions", "ambiguity", "mine.json", "marked.json", "--judge", "judge.yaml")
    assert done.returncode == 0, done.stderr
    assert "marked.json: 1 ambiguous" in done.stdout
    for who in ("ann", "ben"):
        decisions = decided(project, "a\n", who)
        assert "flagged because" in decisions
    assert "ann and ben decided 1 question: kappa n/a" in decisions
    process = project.fathoms(
        *("questions", "ambiguity", "marked.json", "set.json", "--judge", "judge.yaml"),
        *("--matched", "--rewrite", "pdfs"),
    )
    assert process.returncode == 0, process.stderr
    assert "set.json: 1 ambiguous; 1 rewritten question" in process.stdout
    config = project.config.read_text().replace("questions.json", "set.json")
    project.write("run.yaml", config.replace("tall:", "in Lune:"))
    ran = project.fathoms("run", "run.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "rewritten" in ran.stdout
    (run,) = project.runs()
    figures = project.json("report", run.name)[0]["variants"]["runs"][0]["variants"]["rewritten"]
    assert (figures["correct"]["value"], figures["originals"]["value"]) == (1, 0)


def test_a_question_about_a_picture_is_shown_with_it_to_a_model_that_sees(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "tower.png")
    quotes = (Quote(id="image1", modality="image", image=Path("tower.png"), gold=True),)
    about = question("this tower", quotes=quotes, metadata={"asked_about": "image1"})
    wanted = [about, question("Varn"), question("gone", quotes=quotes, metadata={"asked_about": "image2"})]

    def says(pictures: list[bytes], text: str) -> str:
        return json.dumps({"status": "AMBIGUOUS" if pictures else "CLEAR", "reason": ""})

    with seeing(says) as seer:
        model = OpenAICompatibleLLM(model="seer", base_url=f"{seer.address}/v1")
        found = assess(wanted, LLMJudge(model=model), folder=tmp_path)
    assert [one.metadata["ambiguity"] for one in found.questions] == ["ambiguous", "clear", "clear"]
    shown = {text: pictures for pictures, text in seer.seen}
    assert [pictures for text, pictures in shown.items() if "the picture that is shown" in text] == [
        [(tmp_path / "tower.png").read_bytes()]
    ]
    assert "picture" not in assessing(about).messages[0].text, "for a model that does not see"
