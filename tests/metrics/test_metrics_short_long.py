"""Short and long answers: parsed apart, compared by hand-worked values; multiple choice made open."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.corpora import read_questions
from fathoms.errors import QuestionsError
from fathoms.metrics.metric import Facts
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.types import Failure, GoldNumber, Question, Record, Reply
from tests.support.project import Project

BUILDER = PromptBuilder(template="short-and-long")
GOLD = Question(
    id="q",
    text="Which animal is it?",
    category="c",
    answers=(("marmot",),),
    short_answer="alpine marmot",
    long_answer="police killed the gunman",
)


@pytest.mark.parametrize(
    ("said", "short", "long"),
    [
        ("Short answer: A marmot.\nLong answer: It lives high up.", "A marmot.", "It lives high up."),
        ("Let me see.\n**Short answer:** Ten\n\n**Long answer:** It is ten.", "Ten", "It is ten."),
        ("SHORT ANSWER: Ten\nlong answer: It is ten.", "Ten", "It is ten."),
        ("**Short Answer**: Ten\n### Long  answer : It is ten.", "Ten", "It is ten."),
        ("short answer: ten, long answer: It is\nten.", "ten,", "It is\nten."),
        ("Short answer: x\nLong answer: see the long answer: y", "x", "see the long answer: y"),
        ("It is a marmot.", None, "It is a marmot."),
        ("Short answer: A marmot.", None, "Short answer: A marmot."),
        ("Long answer: x\nShort answer: y", None, "Long answer: x\nShort answer: y"),
        ("Short answer:\nLong answer: It is ten.", None, "Short answer:\nLong answer: It is ten."),
    ],
)
def test_the_two_are_parsed_apart(said: str, short: str | None, long: str) -> None:
    found = BUILDER.answer_in(Reply(text=said))
    assert (found.short, found.text, found.lacks_mark) == (short, long, short is None)


def test_a_mark_of_white_space_is_not_looked_for_loosely() -> None:
    empty_line = PromptBuilder(answer_mark="\n\n")
    assert empty_line.answer_in(Reply(text="I think.\n\nTen.")).text == "Ten."
    whole = empty_line.answer_in(Reply(text="I think.\nTen."))
    assert (whole.text, whole.lacks_mark) == ("I think.\nTen.", True)


def test_a_short_mark_alone_is_refused_and_other_prompts_stay_the_same() -> None:
    with pytest.raises(ValidationError, match="'short_mark' needs an 'answer_mark'"):
        PromptBuilder(short_mark="Short:")
    assert "short_mark" not in PromptBuilder().identity()["texts"]


def values(reply: Reply | None, question: Question = GOLD) -> dict[str, float | None]:
    error = None if reply else Failure(kind="Timeout", message="late")
    facts = Facts(Record(question=question, answer=reply, error=error), RecordScore())
    return {metric.name: metric.of(facts).value for metric in named(["short-long"])}


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        # Lin 2004: "police kill the gunman" has an F of 1 with stems, "the gunman kill police" one of 0.5
        ("The Marmot!", "police kill the gunman", (1, 1, 1)),
        ("Alpine marmot", "the gunman kill police", (1, 1, 0.5)),
        ("It is a marmot", "police", (0, 1, 0.4)),
        ("A prairie dog", "no", (0, 0, 0)),
        (None, "marmot", (1, 1, 0)),  # not apart: the whole reply stands for both
    ],
)
def test_short_and_long_are_compared(short: str | None, long: str, expected: tuple[float, ...]) -> None:
    assert tuple(values(Reply(text=long, short=short)).values()) == pytest.approx(expected)


def test_what_has_no_gold_of_a_length_and_failed_calls() -> None:
    bare = Question(id="q", text="?", category="c", reference="police killed the gunman")
    found = values(Reply(text="police kill the gunman", short="x"), bare)
    assert found == {"short-exact-match": None, "short-accuracy": None, "long-rouge-l": pytest.approx(1)}
    assert set(values(None).values()) == {0}
    assert values(None, bare)["short-accuracy"] is None


@pytest.mark.parametrize(
    ("gold", "said", "expected"),
    [
        ({"answers": (("red", "blue"),)}, "Red and blue.", None),
        ({"answers": ((GoldNumber(number=5),),)}, "5", None),
        ({"answers": (("the",),)}, "the", None),
        ({"answers": (("the",), ("Oslo",))}, "A.", 0),
    ],
    ids=["two phrases", "a number", "nothing is left of it", "nothing is left of the answer"],
)
def test_exact_match_needs_a_single_phrase(gold: Any, said: str, expected: float | None) -> None:
    question = Question(id="q", text="?", category="c", **gold)
    assert values(Reply(text="x", short=said), question)["short-exact-match"] == expected


def test_multiple_choice_is_open_ended_by_its_right_option(project: Project) -> None:
    """The example of the paper's figure 1."""
    names = ["Prairie dog", "marmot", "Groundhog", "Alpine marmot"]
    rows: list[dict[str, Any]] = [
        {"question": "Can you identify this animal?", "options": names, "right": "D"},
        {"question": "And this?", "options": {"x": "red", "y": "green"}, "right": "y", "answers": "lime"},
    ]
    path = project.write("choice.jsonl", "\n".join(map(json.dumps, rows)))
    first, second = read_questions(path).questions
    assert (first.answers, first.short_answer) == ((("Alpine marmot",),), "Alpine marmot")
    assert (second.answers, second.short_answer) == ((("lime",),), "green")
    text = "A: Prairie dog | B: marmot | C: Groundhog | D: Alpine marmot"
    assert first.metadata == {"options": text, "right": "D"}
    rows[0]["right"] = "E"
    project.write("choice.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.raises(QuestionsError, match=r"choice.jsonl:1: right: 'E' is none of the options \(avail"):
        read_questions(path)


@pytest.mark.slow
def test_a_run_counts_the_replies_that_do_not_follow(project: Project) -> None:
    config = project.config.read_text().replace(
        "replies: {tall: The Varn tower is 41.5 m tall.",
        'replies: {tall: "Short answer: 41.5 m\\nLong answer: The Varn tower is 41.5 m tall."',
    )
    project.write("tiny.yaml", config + "prompt: {template: short-and-long}\nmetrics: [short-long]\n")
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    summary = json.loads((project.runs()[0] / "summary.json").read_text())
    assert [one for one in summary["warnings"] if one.startswith("2 of 4 replies lack the marks")]
    accuracy = summary["metrics"]["short-accuracy"]  # the model says of the door how tall the tower is
    assert accuracy["overall"]["value"] == pytest.approx((0.5 + 0) / 2)  # of two categories
    assert accuracy["counted"] == {"replies without a short and a long answer": 1}  # of three with gold
    [report] = project.json("report", "latest")
    [run] = report["short-long"]["runs"]
    assert run["metrics"]["short-accuracy"]["value"] == accuracy["overall"]["value"]
    assert run["counted"] == accuracy["counted"]
    assert "planted" not in report
    shown = project.fathoms("show", "--all").stdout
    assert "is a matter of form" in " ".join(shown.split())
