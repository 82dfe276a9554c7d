"""What comes of the decisions of one person and of two, and what a mended question has to be like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.corpora import read_questions
from fathoms.errors import DataError, UsageError
from fathoms.extras.questions.editing.session import RefusedError, edits_of
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.types import Evidence, GoldNumber, Question
from tests.extras.questions.editing import decide, editing, mend, row, write_set

NEAR = "'4.15' is not in 'varn.pdf' as parsed; the most similar text is '41.5' (page 1 of 'varn.pdf')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set.jsonl", [row("a"), row("b"), row("c")])


def ids(path: Path) -> list[str]:
    return [question.id for question in read_questions(path).questions]


@pytest.mark.slow
def test_cohens_kappa_of_two_people_is_that_of_the_textbook(tmp_path: Path) -> None:
    """The example of Wikipedia (Cohen's kappa): 20 times both say yes, 15 times both no, 5 and 10 times they
    differ; kappa is 0.4."""
    path = write_set(tmp_path / "set.jsonl", [row(f"q{number}") for number in range(50)])
    said = [("accept", "accept")] * 20 + [("accept", "drop")] * 5
    said += [("drop", "accept")] * 10 + [("drop", "drop")] * 15
    for person, column in (("ann", 0), ("ben", 1)):
        session = editing(path, person)
        for number, pair in enumerate(said):
            decide(session, number, pair[column])
    found = session.summary()
    (pair,) = found.pairs
    assert (pair.reviewers, pair.n, pair.same) == (("ann", "ben"), 50, pytest.approx(0.7))
    assert pair.kappa == pytest.approx(0.4)
    assert (len(found.open), found.decided, found.changed) == (15, 35, 15)


def test_a_mended_question_is_written_in_place_and_known_afterwards(path: Path) -> None:
    before = path.read_bytes()
    session = editing(path)
    mend(session, 0, question="How tall is the Varn tower?", answers=[["41.5"], ["{number: 41.5, unit: m}"]])
    decide(session, 1, "drop")
    decide(session, 2, "accept")
    assert path.read_bytes() == before
    assert session.state()["unwritten"] == 2
    assert session.write() == {"file": "set.jsonl", "questions": 2, "backup": "set.jsonl.bak"}
    assert session.write() == {
        "file": "set.jsonl",
        "questions": 2,
        "backup": None,
    }  # no change
    assert path.with_name("set.jsonl.bak").read_bytes() == before
    mended, stored = read_questions(path).questions
    assert (mended.id, mended.text, stored.id) == ("a", "How tall is the Varn tower?", "c")
    assert mended.answers == (("41.5",), (GoldNumber(number=41.5, unit="m"),))
    again = editing(path)  # a new start still knows the set as it was
    state = again.state()
    assert (state["decided"], state["total"], state["unwritten"]) == (3, 3, 0)
    assert [change["field"] for change in again.detail(0)["changes"]] == ["question", "answers"]
    again_dropped = [entry["id"] for entry in state["entries"]].index("b")
    decide(again, again_dropped, "open")
    again.write()
    assert sorted(ids(path)) == ["a", "b", "c"]


def test_two_people_settle_what_they_disagree_about(path: Path) -> None:
    ann, ben = editing(path, "ann"), editing(path, "ben")
    mend(ann, 0, question="How high is the tower?")
    decide(ann, 1, "drop")
    assert ben.detail(0)["others"] == []  # nobody sees what others said before deciding
    assert not ben.state()["entries"][0]["differ"]
    decide(ben, 0, "accept")
    decide(ben, 1, "drop")
    assert ben.state()["entries"][0]["differ"]
    assert ben.summary().open == ("a",)
    ann.write()
    assert ids(path) == ["a", "c"]
    assert read_questions(path).questions[0].text == "How tall is the tower of a?"  # open: as it was
    decide(ben, 0, "open")  # a decision of one's own is taken back, nothing is settled by it
    assert ben.summary().open == ()
    decide(ben, 0, "accept")
    reported = {one["person"]: one["decision"] for one in ben.detail(0)["others"]}
    assert reported == {"ann": "mend", "ben": "accept"}
    decide(ben, 0, "mend", take="ann")
    found = ben.summary()
    assert (found.open, found.mended, found.dropped) == ((), 1, 1)
    (pair,) = found.pairs
    assert (pair.n, pair.same) == (2, 0.5)  # what settled it is no third opinion
    ben.write()
    assert read_questions(path).questions[0].text == "How high is the tower?"


def test_two_windows_of_one_person_change_one_question(path: Path) -> None:
    """Both windows show the question before either saves: other fields are merged, the same field is a
    question to the person, and what was dropped in one window is not accepted unseen in the other."""
    first, second = editing(path), editing(path)
    seen = {name: first.detail(0)[name] for name in ("fields", "own")}
    mend(first, 0, seen=seen, question="How high is the tower?")
    mend(second, 0, seen=seen, category="B")
    fields = first.detail(0)["fields"]
    assert (fields["question"], fields["category"]) == ("How high is the tower?", "B")
    with pytest.raises(RefusedError) as raised:
        mend(first, 0, seen=seen, question="What is its height?")
    (complaint,) = raised.value.complaints
    assert (complaint.field, complaint.code) == ("question", "changed")
    assert "It is now: How high is the tower?" in complaint.message
    with pytest.raises(RefusedError):
        decide(second, 0, "drop", seen=seen)
    now = {name: first.detail(0)[name] for name in ("fields", "own")}
    decide(second, 0, "drop", seen=now)
    with pytest.raises(RefusedError):
        mend(first, 0, seen=now, question="What is its height?")
    assert first.detail(0)["own"] == "drop"


def test_a_decision_about_a_question_that_was_changed_elsewhere_does_not_count(path: Path) -> None:
    decide(editing(path), 0, "drop")
    write_set(path, [row("a", question="Another question?"), row("b")])
    assert editing(path).state()["decided"] == 0


def test_dropped_drafts_are_listed_and_can_be_taken_in(path: Path) -> None:
    lost = Question(id="lost", text="What colour is it?", category="B", reference="Green.")
    failed = Check(check="checklist", item="self-contained", passed=False, reason="What is 'it'?")
    question = read_questions(path).questions[0]
    drafts = [Draft(question=lost, checks=(failed,)), Draft(question=question, checks=(failed,))]
    session = editing(path, drafts=drafts)
    *listed, draft = session.state()["entries"]
    assert [(entry["listed"], entry["doubted"]) for entry in listed] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert (draft["id"], draft["listed"]) == ("lost", False)
    assert session.detail(3)["checks"][0]["name"] == "checklist: self-contained"
    mend(session, 3, question="What colour is the door of the Varn tower?")
    assert session.state()["decided"] == 0  # of the set
    assert session.write()["questions"] == 4
    assert session.summary().taken_in == 1
    again = editing(path, drafts=drafts)
    decide(again, 3, "drop")
    again.write()
    assert ids(path) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"question": " "}, "question", "is empty"),
        ({"answers": [], "evidence": []}, "answers", "'answers' contains no phrase"),
        ({"answers": [["{number: x}"]]}, "answers", "should be a valid integer"),
        ({"answers": [["4.15"]]}, "answers", NEAR),
        ({"answerable": False}, "answers", "has both 'answerable: false' and answers"),
        ({"evidence": [{"document": "varn.pdf", "page": 3}]}, "evidence", "which has 2 pages"),
        (
            {"evidence": [{"document": "varn.pdf", "page": 1, "bbox": [300, 10, 20, 30]}]},
            "evidence",
            "left and top before its right and bottom",
        ),
        ({"evidence": [{"document": "warn.pdf", "page": 1}]}, "evidence", "did you mean 'varn.pdf'?"),
        (
            {"evidence": [{"document": "varn.pdf", "page": 2, "quote": "door is painted"}]},
            "answers",
            "'41.5' is not on the pages of the evidence, but on page 1",
        ),
        (
            {"evidence": [{"document": "varn.pdf", "page": 1, "quote": "is painted"}]},
            "evidence",
            "the quote is not in page 1",
        ),
    ],
)
def test_a_mistake_is_shown_at_its_field_and_nothing_is_saved(
    path: Path, fields: dict[str, object], field: str, message: str
) -> None:
    session = editing(path)
    with pytest.raises(RefusedError) as refused:
        mend(session, 0, **fields)
    complaint = refused.value.complaints[0]
    assert complaint.field == field
    assert message in complaint.message
    assert not edits_of(path).exists()


def test_a_warning_may_be_none(path: Path) -> None:
    """An answer that stands in a picture is in no text."""
    session = editing(path)
    mend(session, 0, answers=[["4.15"]], anyway=True)
    assert session.detail(0)["own"] == "mend"
    assert [doubt["message"] for doubt in session.detail(0)["doubts"]] == [NEAR]


def test_what_the_page_does_not_show_stays_as_it_was(tmp_path: Path) -> None:
    """Steps, metadata and a phrase over two lines are kept, and a new document joins the files."""
    hop = {"step": 1, "modality": "text", "bbox": [1.0, 2.0, 3.0, 4.5]}
    gold = [{"document": "varn.pdf", "page": 1, **hop}]
    more = {"steps": [{"question": "Which?"}], "metadata": {"seed": 7}, "answers": [["41.5 m\ntall"]]}
    path = write_set(tmp_path / "set.jsonl", [row("a", evidence=gold, **more)])
    session = editing(path)
    (before,) = read_questions(path).questions
    added = [*session.detail(0)["fields"]["evidence"], {"document": "lune.pdf", "page": 1}]
    with pytest.raises(RefusedError):
        mend(session, 0, evidence=added)
    added[1]["document"], added[1]["page"] = "varn.pdf", 2
    mend(session, 0, evidence=added)
    session.write()
    (after,) = read_questions(path).questions
    assert after.evidence == (*before.evidence, Evidence(document="varn.pdf", page=2))
    assert before.model_copy(update={"evidence": after.evidence}) == after


def test_a_set_can_be_made_of_dropped_drafts_alone(path: Path) -> None:
    """A build of which no draft passed writes no set."""
    dropped = Check(check="closed-book", passed=False)
    drafts = [Draft(question=one, checks=(dropped,)) for one in read_questions(path).questions]
    path.unlink()
    session = editing(path, drafts=drafts)
    decide(session, 2, "accept")
    session.require_writable()
    session.write()
    assert ids(path) == ["c"]
    assert not path.with_name("set.jsonl.bak").exists()


def test_formats_and_files_that_would_lose_something(tmp_path: Path) -> None:
    """A table is written as a table; another file is written with `--to`, and never over a file of others."""
    table = tmp_path / "set.csv"
    table.write_text("id,question,answers,comment\na,How tall?,41.5 | 41,mine\n")
    with pytest.raises(UsageError, match=r"lose its comment: add --to"):
        editing(table).require_writable()
    tabbed = tmp_path / "set.tsv"
    tabbed.write_text("id\tquestion\tanswers\na\tHow tall?\t41.5\n")
    with pytest.raises(UsageError, match=r"one of .*\.csv: add --to"):
        editing(tabbed).require_writable()
    session = editing(table, to=tmp_path / "out.json")
    mend(session, 0, question="How high?")
    session.write()
    session.write()
    assert json.loads((tmp_path / "out.json").read_text())["Uncategorised"][0]["question"] == "How high?"
    with pytest.raises(UsageError, match="already exists"):
        editing(table, to=tmp_path / "out.json")
    decide(session, 0, "drop")
    with pytest.raises(DataError, match="no question is left"):
        session.write()


def test_sets_of_several_formats_share_no_decisions() -> None:
    names = [edits_of(Path(f"mine.{format_}")).name for format_ in ("json", "jsonl", "csv")]
    assert names == ["mine-edits.jsonl", "mine.jsonl-edits.jsonl", "mine.csv-edits.jsonl"]
