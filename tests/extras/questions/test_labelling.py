"""Which pages hold an answer: by a scripted labeller whose agreement with the gold is counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.extras.questions.labelling import HOLDS, NOT, PageCall, label, pages_to_ask, prompts_about
from fathoms.judges.llm import LLMJudge
from fathoms.models import ScriptedModel
from fathoms.models.chat.forms import read_choice
from fathoms.types import Document, Evidence, Page, Question
from tests.support.ports import free_port
from tests.support.project import Project

TEXTS = {
    "a.pdf": ["The tower is 41 m tall.", "", "It was built in 1901. The tower is tall."],
    "b.pdf": ["A price list.", "The tower of Lune is 41 m tall."],
}
DOCUMENTS = {
    name: Document(
        id=name,
        path=Path(name),
        sha256="0" * 64,
        pages=tuple(Page(number=n, text=text) for n, text in enumerate(texts, 1)),
    )
    for name, texts in TEXTS.items()
}


def question(name: str, text: str, *pages: tuple[str, int, str], **more: object) -> Question:
    evidence = tuple(Evidence(document=d, page=p, modality=m) for d, p, m in pages)
    return Question(id=name, text=text, category="A", evidence=evidence, **more)  # type: ignore[arg-type]


TALL = question("tall", "How tall is it?", ("a.pdf", 1, "text"), answers=(("41 m",),))
BUILT = question("built", "When was it built?", ("a.pdf", 3, "text"), ("b.pdf", 1, "table"), files=("a.pdf",))
NONE = question("none", "Who owns it?", answerable=False)


def test_every_page_with_text_of_the_documents_of_a_question() -> None:
    wanted = pages_to_ask([TALL, BUILT, NONE], DOCUMENTS)
    assert wanted == [
        PageCall("tall", "a.pdf", 1),
        PageCall("built", "a.pdf", 1),
        PageCall("tall", "a.pdf", 3),
        PageCall("built", "a.pdf", 3),
        PageCall("tall", "b.pdf", 1),
        PageCall("tall", "b.pdf", 2),
    ]
    prompt = prompts_about([TALL, BUILT], DOCUMENTS)
    one, other = (prompt(PageCall(id, "a.pdf", 1)).messages[0].text for id in ("tall", "built"))
    shared = one[: next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)]
    assert shared.endswith("\n\nQuestion: ")  # what is the same for a page comes first


def test_only_judged_pages_are_missed() -> None:
    """Of three gold pages the model denies one, one has no text, and of one the reply cannot be read."""
    gold = ("a.pdf", 1, "text"), ("a.pdf", 2, "table"), ("b.pdf", 1, "table")
    judge = LLMJudge(model=ScriptedModel(replies={"price list": "perhaps"}, default="no"))
    found = label([question("q", "How tall?", *gold)], DOCUMENTS, judge)
    assert (found.missed, found.unjudged) == ({"q": (("a.pdf", 1),)}, 2)
    assert (found.agreement.recall, found.recall_by_modality) == (0, {"text": (0, 1)})


def test_a_question_of_a_document_that_is_not_there_is_not_judged_by_others() -> None:
    lost = question("lost", "How tall?", files=("gone.pdf",))
    found = label([TALL, lost], DOCUMENTS, LLMJudge(model=ScriptedModel(default="yes")))
    assert (found.calls, found.unasked, found.questions[1]) == (4, ("lost",), lost)


def test_agreement_with_the_evidence_and_what_changes() -> None:
    """The labeller says yes to all pages with 41 m or 1901: for `tall` a1 (gold), a3 and b2, for `built` a1
    and a3 (gold). Both judged gold pages are found, of 5 labelled ones 2 are gold; b1, the other gold page of
    `built`, is not in its document."""
    said = {"41 m tall.": "yes", "1901": "Yes.", "price": "perhaps"}
    judge = LLMJudge(model=ScriptedModel(replies=said, default="no"))
    found = label([TALL, BUILT, NONE], DOCUMENTS, judge)
    tall, built, none = found.questions
    assert [(e.document, e.page) for e in tall.evidence] == [("a.pdf", 1), ("a.pdf", 3), ("b.pdf", 2)]
    assert built.evidence[:2] == BUILT.evidence
    assert none == NONE
    assert found.added == {"tall": (("a.pdf", 3), ("b.pdf", 2)), "built": (("a.pdf", 1),)}
    assert (found.missed, found.unjudged) == ({}, 1)
    agreement = found.agreement
    assert (agreement.both, agreement.labelled, agreement.known) == (2, 5, 2)
    assert (agreement.precision, agreement.recall) == (2 / 5, 1)
    assert found.recall_by_modality == {"text": (2, 2)}
    assert (found.calls, found.first_pass) == (6, None)
    assert list(found.failures) == [PageCall("tall", "b.pdf", 1)]


def test_a_first_pass_says_what_it_loses() -> None:
    judge = LLMJudge(model=ScriptedModel(default="no"))
    found = label([TALL, BUILT], DOCUMENTS, judge, first=1)
    assert found.calls == 2
    assert found.first_pass == 2 / 3  # the page of the price list is in another document than `files` names


def test_replies() -> None:
    """Also as servers give them that hold a reply to a schema, in which a choice is an object."""
    replies = ("yes", "No.", " **Yes**, it does", "yesterday", "", '{"label": "no"}', '{"label":"yes"}')
    words = [read_choice(reply, (HOLDS, NOT)) for reply in replies]
    assert words == ["yes", "no", "yes", None, None, "no", "yes"]


@pytest.mark.slow
def test_the_command_shows_the_changes_and_writes_them_when_asked(project: Project) -> None:
    judge = {
        "kind": "llm",
        "model": {"kind": "scripted", "replies": {"41.5 m tall.": "yes"}, "default": "no"},
    }
    project.write("judge.yaml", json.dumps(judge))
    common = ("questions", "label", "questions.json", "pdfs", "--judge", "judge.yaml")
    plan = project.fathoms(*common, "--dry-run")
    assert plan.stdout.startswith("5 calls, about ")  # two questions of two pages, and one answerable of one
    shown = project.fathoms(*common)
    assert shown.returncode == 0, shown.stderr
    assert "varn.pdf, page 1" in shown.stdout
    assert not (project.path / "new.json").exists()
    assert project.fathoms(*common, "--to", "new.json").returncode == 0
    rows = [row for rows in json.loads((project.path / "new.json").read_text()).values() for row in rows]
    assert [len(row.get("evidence", [])) for row in rows] == [1, 1, 0, 0]
    (project.path / "pdfs" / "bad.pdf").write_bytes(b"%PDF-1.4 damaged")
    damaged = project.fathoms(*common, "--json")
    assert damaged.returncode == 1
    assert "left out bad.pdf" in damaged.stderr
    assert list(json.loads(damaged.stdout)["unread"]) == ["bad.pdf"]


@pytest.mark.slow
def test_pages_of_failed_calls_are_not_judged_and_nothing_is_written(project: Project) -> None:
    """A set that is as it was is no result; a gate that looked for the file would go on with it."""
    model = {"kind": "ollama", "model": "gone", "base_url": f"http://127.0.0.1:{free_port()}"}
    project.write("judge.yaml", json.dumps({"kind": "llm", "model": model}))
    common = ("questions", "label", "questions.json", "pdfs", "--judge", "judge.yaml", "--to", "new.json")
    assert project.fathoms(*common).returncode == 2  # the server is looked for beforehand
    unread = {"kind": "scripted", "default": "perhaps"}
    project.write("judge.yaml", json.dumps({"kind": "llm", "model": unread}))
    done = project.fathoms(*common)
    assert done.returncode == 1
    assert "no page was judged: all 5 calls failed" in done.stderr
    assert "new.json" not in done.stdout
    assert not (project.path / "new.json").exists()
    unread["replies"] = {"41.5 m tall.": "yes"}
    project.write("judge.yaml", json.dumps({"kind": "llm", "model": unread}))
    some = project.fathoms(*common)
    assert (some.returncode, (project.path / "new.json").exists()) == (1, True)
    assert "2 of 5 pages judged, 3 without a label" in some.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ambiguity", "perturb"])
def test_no_set_is_written_where_every_call_failed(project: Project, command: str) -> None:
    judge = {"kind": "llm", "model": {"kind": "scripted", "fail_on": {"": "gone"}}}
    project.write("judge.yaml", json.dumps(judge))
    more = ("--kind", "paraphrase") if command == "perturb" else ()
    call = ("questions", command, "questions.json", "new.json", "--judge", "judge.yaml", *more)
    done = project.fathoms(*call)
    assert (done.returncode, (project.path / "new.json").exists()) == (1, False), done.stderr
    assert "new.json was not written, because no question got a" in done.stderr
