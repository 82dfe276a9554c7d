"""Checklists and the screening card, by scripted judges whose every verdict is written down here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.corpora import read_questions
from fathoms.extras.questions.inspecting import (
    MULTI_HOP,
    SINGLE_HOP,
    Call,
    Item,
    Verdict,
    inspect,
    plan,
    read_verdicts,
)
from fathoms.extras.questions.source_words import source_named
from fathoms.judges.llm import LLMJudge
from fathoms.models import ScriptedModel
from fathoms.runs.metadata import variant
from fathoms.types import Document, Evidence, Page, Question, Step
from tests.support.project import Project

SAMPLE = Path(__file__).parents[3] / "data" / "sample" / "questions.json"
PAGES = tuple(
    Page(number=n, text=text)
    for n, text in enumerate(["The Varn tower is 41.5 m tall.", "Ann Moor built the Varn tower."], 1)
)
DOCUMENTS = {"a.pdf": Document(id="a.pdf", path=Path("a.pdf"), sha256="0" * 64, pages=PAGES)}
TALL = Question(
    id="tall",
    text="How tall is the Varn tower?",
    category="A",
    answers=(("41.5 m",),),
    evidence=(Evidence(document="a.pdf", page=1),),
)
BORN = Question(
    id="born",
    text="Where was the builder of the Varn tower born?",
    category="A",
    reference="In Lune.",
    hops=2,
    evidence=(Evidence(document="a.pdf", page=2, step=1), Evidence(document="a.pdf", page=1, step=2)),
    steps=(
        Step(question="Who built the Varn tower?", answer="Ann Moor"),
        Step(question="Where was Ann Moor born?", answer="Lune"),
    ),
)
NAMES = {
    SINGLE_HOP: ["self-contained", "significant", "no-source", "natural"],
    MULTI_HOP: ["clear", "necessary", "unique", "worth"],
}


def prompted(question: Question, item: str) -> str:
    """The prompt about one item of a question, which is the key of a script."""
    planned = plan([question], DOCUMENTS)
    return planned.prompt(Call(question.id, (item,))).messages[0].text


def says(verdict: bool, reason: str = "") -> str:
    return json.dumps({"verdict": "yes" if verdict else "no", "reason": reason})


def scripted(default: str = "?", **replies: str) -> LLMJudge:
    return LLMJudge(model=ScriptedModel(replies=replies, default=default))


@pytest.mark.parametrize(("question", "items"), [(TALL, SINGLE_HOP), (BORN, MULTI_HOP)])
def test_each_item_decides_alone(question: Question, items: tuple[Item, ...]) -> None:
    """The judge finds fault with one item at a time, and only this one is failed, with what it said."""
    assert [item.name for item in items] == NAMES[items]
    good = {prompted(question, item.name): says(True) for item in items}
    for bad in items:
        script = good | {prompted(question, bad.name): says(False, "Because.")}
        found = inspect([question], DOCUMENTS, scripted(**script))[question.id]
        assert [(check.name, check.passed) for check in found.checks] == [
            (f"checklist: {item.name}", item is not bad) for item in items
        ]
        assert found.failed is not None
        assert (found.failed.item, found.failed.reason) == (bad.name, "Because.")
        assert not found.passed
    assert inspect([question], DOCUMENTS, scripted(**good))[question.id].passed


def test_evidence_comes_first_and_the_item_last() -> None:
    """All prompts about a question have the same beginning, as far as they show the same; an item is the last
    paragraph, so that `cache_prompt: context` evaluates the rest once."""
    shown = [prompted(BORN, item.name) for item in MULTI_HOP]
    heads = {text.rpartition("\n\n")[0] for text in shown}
    (head,) = heads
    texts = ("41.5 m tall", "Ann Moor built", BORN.text, "In Lune.", "Where was Ann Moor born? Lune")
    assert [head.index(part) for part in texts] == sorted(head.index(part) for part in texts)
    alone = prompted(TALL, "self-contained")
    assert "41.5" not in alone  # a reader who lacks the documents would not see it either
    assert "41.5 m tall" in prompted(TALL, "significant")
    same = TALL.model_copy(update={"id": "other", "text": "Is the Varn tower tall?"})
    apart = TALL.model_copy(update={"id": "apart", "evidence": (Evidence(document="a.pdf", page=2),)})
    calls = plan([TALL, apart, same], DOCUMENTS).calls
    order = [one.question for one in calls if one.items == ("significant",)]
    assert order in (["tall", "other", "apart"], ["apart", "tall", "other"])  # those of one page in a row


def test_a_question_that_names_its_source_fails_without_a_model() -> None:
    named = TALL.model_copy(update={"text": "How tall is the Varn tower according to the table?"})
    planned = plan([named], DOCUMENTS)
    assert [call.items for call in planned.calls] == [("self-contained",), ("natural",), ("significant",)]
    found = inspect([named], DOCUMENTS, scripted(says(True)))["tall"]
    assert found.failed is not None
    assert (found.failed.item, found.failed.reason) == ("no-source", 'it says "according to the table"')


def test_what_cannot_be_judged_is_no_pass() -> None:
    """One reply cannot be read, two questions have no evidence text or no steps; none of them passes."""
    script = {prompted(TALL, "natural"): "perhaps"}
    found = inspect([TALL], DOCUMENTS, scripted(says(True), **script))["tall"]
    assert [check.item for check in found.checks] == ["self-contained", "significant", "no-source"]
    assert list(found.unjudged) == ["natural"]
    lost = TALL.model_copy(update={"evidence": (Evidence(document="gone.pdf", page=1),)})
    assert list(inspect([lost], DOCUMENTS, scripted(says(True)))["tall"].unjudged) == ["significant"]
    loose = BORN.model_copy(update={"steps": ()})
    seen = inspect([loose], DOCUMENTS, scripted(says(True)))["born"]
    assert list(seen.unjudged) == ["necessary", "unique"]
    assert seen.failed is None
    assert not seen.passed


def test_unanswerable_questions_and_variants() -> None:
    """What has no answer has no evidence that could be significant; a variant goes with its original."""
    none = TALL.model_copy(update={"id": "none", "answerable": False, "answers": (), "evidence": ()})
    other = variant(TALL, "rewritten", "What is the height of the Varn tower?")
    calls = plan([none, other], DOCUMENTS).calls
    assert calls == [Call("none", (item,)) for item in ("self-contained", "no-source", "natural")]


def test_replies() -> None:
    replies = ('{"verdict": "yes", "reason": "a  b"}', '{"verdict": "No"}', "yes", '{"verdict": "maybe"}')
    yes, no = {"": Verdict(True, "a b")}, {"": Verdict(False, "")}
    assert list(map(read_verdicts, replies)) == [yes, no, None, None]


def test_items_that_are_shown_the_same_are_asked_in_one_call() -> None:
    """One call has the evidence and one has not; each item fails alone, and one without a verdict is not
    judged."""
    calls = plan([TALL, BORN], DOCUMENTS, together=True).calls
    assert sorted(one.items for one in calls if one.question == "tall") == [
        ("self-contained", "no-source", "natural"),
        ("significant",),
    ]
    assert [one.items for one in calls if one.question == "born"] == [tuple(NAMES[MULTI_HOP])]
    good = {"reason": "", "verdict": "yes"}
    alone = {"self-contained": {"reason": "Whose?", "verdict": "no"}, "natural": good}
    judge = LLMJudge(model=ScriptedModel(replies={"significant in": says(True)}, default=json.dumps(alone)))
    found = inspect([TALL], DOCUMENTS, judge, together=True)["tall"]
    assert [(check.item, check.passed, check.reason) for check in found.checks] == [
        ("self-contained", False, "Whose?"),
        ("significant", True, ""),
        ("natural", True, ""),
    ]
    assert found.unjudged == {"no-source": "the reply has no verdict on it"}


NAMED = {
    "Who is on the back of the graph?": "of the graph",
    "What is the main argument of the passage about the war?": "of the passage",
    "What does it cost according to the text?": "according to the text",
    "What is shown in the left bar chart?": "in the left bar chart",
    "Which year stands in Table 3?": "Table 3",
    "Who wrote this document?": "this document",
    "What does the figure show?": "does the figure",
    "What is the price in the following table?": "the following table",
    "How long is it, according to the report?": "according to the report",
    "What is said on page 4 of it?": "page 4",
    "What does tower-manual.pdf say of the door?": "tower-manual.pdf",
    "Wie hoch ist der Turm laut der Tabelle?": "laut der Tabelle",
    "Was zeigt das Balkendiagramm im Dokument?": "im Dokument",
    "Welche Farbe hat die Tür auf dieser Seite?": "dieser Seite",
    "Quelle est la hauteur selon le tableau ?": "selon le tableau",
    "Que montre cette figure ?": "cette figure",
    "¿Qué altura tiene según la tabla?": "según la tabla",
    "¿Qué muestra esta imagen?": "esta imagen",
}
UNNAMED = (
    "Which elements stand in the periodic table below iron?",
    "How many people sat at the table of the council?",
    "What was the date of the passage of the bill?",
    "Who won in the table tennis final of Lune?",
    "What is the role of salt in the context of the Varn war?",
    "According to the municipal audit of Lune, who owns the ferry?",
    "Auf der Seite welcher Partei stand Ann Moor?",
    "Où se trouve le fer dans le tableau périodique ?",
    "¿Qué elemento sigue al hierro en la tabla periódica?",
)


def test_words_by_which_a_question_names_its_source() -> None:
    assert {text: source_named(text) for text in NAMED} == NAMED
    assert [source_named(text) for text in UNNAMED] == [None] * len(UNNAMED)


def test_the_sample_corpus_by_rules() -> None:
    """Read by hand: 11 of the 50 questions name a table, a chart, a diagram or a micrograph without its own
    name. That of the Harbour Surveyor's certificate and of the municipal audit are names."""
    found = {one.id for one in read_questions(SAMPLE).questions if source_named(one.text)}
    assert found == {
        *("table-01", "image-01", "image-02", "image-07", "image-08", "image-10"),
        *("multi-01", "multi-03", "multi-04", "multi-06", "multi-09"),
    }


@pytest.mark.slow
def test_the_command_shows_what_it_drops_and_writes_the_rest(project: Project) -> None:
    """Of five questions, one names its source, one is not natural to the judge, and two have no evidence. The
    first of the two that pass has a variant."""
    rows = json.loads((project.path / "questions.json").read_text())
    rows["Text-Only"][0] |= {"id": "tall", "evidence": [{"document": "varn.pdf", "page": 1}]}
    of = {"variant": "rewritten", "variant_of": "tall"}
    rows["Text-Only"].append({**rows["Text-Only"][0], "id": "tall~rewritten", "metadata": of})
    rows["Tables"][0]["question"] = "What does ore cost in Lune according to the table?"
    rows["Tables"].append({**rows["Tables"][1], "question": "Who sold the Lune mine?"})
    project.write("set.json", json.dumps(rows))
    replies = {"Is the question free of": says(True), "Who owns": says(False, "Nobody asks.")}
    model = {"kind": "scripted", "replies": replies, "default": says(True)}
    project.write("judge.yaml", json.dumps({"kind": "llm", "model": model}))
    common = ("questions", "inspect", "set.json", "pdfs", "--judge", "judge.yaml")
    # 4 of the tall tower, 3 of its door without evidence, 2 of ore, 3 of each without an answer
    assert project.fathoms(*common, "--dry-run").stdout.startswith("15 calls, about ")
    shown = project.fathoms(*common, "--to", "new.json")
    assert shown.returncode == 1
    assert shown.stdout.splitlines() == [
        "? text-only-02: Which colour is the Varn door?",
        "    significant not judged: none of its gold pages or gold quotes has text here",
        "- tables-01: What does ore cost in Lune according to the table?",
        '    no-source: it says "according to the table"',
        "    significant not judged: none of its gold pages or gold quotes has text here",
        "- tables-02: Who owns the Lune mine?",
        "    self-contained: Nobody asks.",
        "    natural: Nobody asks.",
        "- fails an item; ? an item could not be judged, and none failed",
        "2 of 5 questions pass all items",
        "  no-source: 1 failed",
        "  self-contained: 1 failed",
        "  natural: 1 failed",
        "  2 items not judged",
    ]
    left = read_questions(project.path / "new.json").questions
    assert [one.id for one in left] == ["tall", "tall~rewritten", "tables-03"]
    said = json.loads(project.fathoms(*common, "--json").stdout)
    assert said["passed"] == 2
    assert said["questions"][2]["items"]["no-source"]["passed"] is False
