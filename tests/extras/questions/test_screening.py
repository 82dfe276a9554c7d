"""The screening card of six questions, whose flaws are written down here, and are all that a script finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.extras.questions.ambiguity import assessing
from fathoms.extras.questions.inspecting import LINKED, NO_SOURCE, Call, plan
from fathoms.extras.questions.labelling import PageCall, prompts_about
from fathoms.extras.questions.screening import calls, screen
from fathoms.judges.llm import LLMJudge
from fathoms.models import ScriptedModel
from fathoms.runs.metadata import variant
from fathoms.stats.intervals import blaker
from fathoms.types import Document, Evidence, Page, Question, Step
from tests.support.project import Project

TEXTS = "The Varn tower is 41.5 m tall.", "Ann Moor built it.", "Ann Moor was born in Lune."
PAGES = tuple(Page(number=number, text=text) for number, text in enumerate(TEXTS, 1))
DOCUMENTS = {"a.pdf": Document(id="a.pdf", path=Path("a.pdf"), sha256="0" * 64, pages=PAGES)}
STEPS = (Step(question="Who built it?", answer="Ann Moor"), Step(question="Where was she born?"))


def question(name: str, *pages: int, text: str = "", **more: object) -> Question:
    evidence = tuple(Evidence(document="a.pdf", page=page) for page in pages)
    one_question = Question(id=name, text=text or f"Question {name}?", category="A", evidence=evidence)
    return one_question.model_copy(update=more)


TALL = question("tall", 1)
TABLE = question("table", 1, text="How tall is it according to the table?")
BORN = question("born", 2, 3, steps=STEPS)
JOINED = question("joined", 1, 2, steps=STEPS)
LOOSE = question(
    "loose", hops=2, evidence=(Evidence(document="a.pdf", quote=TEXTS[1]),), metadata={"ambiguity": "clear"}
)
NONE = question("none", answerable=False)
ALL = [TALL, TABLE, BORN, JOINED, LOOSE, NONE]


def script() -> dict[str, str]:
    """By prompts: the ambiguous questions, those with a source, those that are joined, and the pages that
    hold an answer: of `tall` pages 1 and 3, of `loose` its own. Two replies cannot be read."""
    item = plan(ALL, DOCUMENTS, lambda one: (NO_SOURCE, LINKED)).prompt
    page = prompts_about(ALL, DOCUMENTS)
    yes, no = '{"verdict": "yes"}', '{"verdict": "no"}'
    said = [
        (assessing(TABLE), '{"status": "AMBIGUOUS", "reason": ""}'),
        (assessing(NONE), '{"status": "AMBIGUOUS", "reason": ""}'),
        (assessing(JOINED), "perhaps"),
        (item(Call("none", ("no-source",))), no),
        (item(Call("joined", ("linked",))), no),
        (page(PageCall("tall", "a.pdf", 1)), "yes"),
        (page(PageCall("tall", "a.pdf", 3)), "yes"),
        (page(PageCall("loose", "a.pdf", 2)), "yes"),
        (page(PageCall("table", "a.pdf", 2)), "perhaps"),
    ]
    return {
        **{prompt.messages[0].text: reply for prompt, reply in said},
        '"status"': '{"status": "CLEAR", "reason": ""}',
        '"verdict"': yes,
    }


def test_the_card_of_six_questions() -> None:
    judge = LLMJudge(model=ScriptedModel(replies=script(), default="no"))
    copied = variant(TALL, "rewritten", "How tall?")
    found = screen([*ALL, copied], DOCUMENTS, judge, first=None)
    assert [(one.flaw, one.flawed, one.sound, one.unknown) for one in found] == [
        ("ambiguous", ("table", "none"), ("tall", "born", "loose"), ("joined",)),
        ("names its source", ("table", "none"), ("tall", "born", "joined", "loose"), ()),
        ("pages with the answer not labelled", ("tall",), ("born", "joined", "loose"), ("table",)),
        ("hops not linked", ("joined",), ("born",), ("loose",)),
    ]
    assert [one.value for one in found] == [2 / 5, 2 / 6, 1 / 4, 1 / 2]
    assert [one.interval for one in found] == [
        blaker(1 / n, m) for n, m in ((2.5, 5), (3, 6), (4, 4), (2, 2))
    ]
    # 5 questions without a mark, 5 whose source no rule finds, 2 with steps, 3 pages of 5 with evidence
    assert calls([*ALL, copied], DOCUMENTS, first=None)[0] == 5 + 5 + 2 + 15


@pytest.mark.slow
def test_the_command_prints_and_writes_the_card(project: Project) -> None:
    """The model calls all questions ambiguous, finds no source and no page; the question on the table has
    one by the rule. No question has several hops."""
    rows = json.loads((project.path / "questions.json").read_text())
    rows["Tables"][0]["question"] = "What does ore cost in Lune according to the table?"
    rows["Text-Only"][0]["evidence"] = [{"document": "varn.pdf", "page": 1}]
    project.write("set_1.json", json.dumps(rows))
    replies = {'"status"': '{"status": "AMBIGUOUS"}', '"verdict"': '{"verdict": "yes"}'}
    model = {"kind": "scripted", "replies": replies, "default": "no"}
    project.write("judge.yaml", json.dumps({"kind": "llm", "model": model}))
    common = ("questions", "inspect", "set_1.json", "pdfs", "--judge", "judge.yaml")
    # 4 marks, 3 sources, and the one page with words of the question that has evidence
    assert project.fathoms(*common, "--card", "--dry-run").stdout.startswith("8 calls, about ")
    refused = project.fathoms(*common, "--card", "--to", "new.json")
    assert (refused.returncode, "leave out --to" in refused.stderr) == (2, True)
    shown = project.fathoms(*common, "--card-out", "card.md")
    assert shown.returncode == 0, shown.stderr
    cells = [line.split("  ") for line in shown.stdout.splitlines()[1:5]]
    rows_shown = [[cell.strip() for cell in row if cell.strip()] for row in cells]
    assert [(row[0], row[1], row[3], row[4]) for row in rows_shown] == [
        ("ambiguous", "1.00", "4 of 4", "0"),
        ("names its source", "0.25", "1 of 4", "0"),
        ("pages with the answer not labelled", "0.00", "0 of 1", "0"),
        ("hops not linked", "n/a", "0 of 0", "0"),
    ]
    card = (project.path / "card.md").read_text()
    assert card.startswith("# Screening card of set\\_1.json\n")
    assert "| names its source | 0.25 |" in card
    for reported in (card.replace("\\", ""), shown.stdout):
        assert "pages with evidence: 0 of 1 in lune.pdf, 1 of 2 in varn.pdf" in reported
        assert "type: " in reported
    shares = project.json(*common, "--card")["shares"]
    assert [one["questions"] for one in shares[1:]] == [["tables-01"], [], []]
