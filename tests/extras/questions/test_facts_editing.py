"""A table of facts that a person mends on the page: what is saved, who may save it, and what it changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora import write_questions
from fathoms.errors import UsageError
from fathoms.extras.questions.computed.choosing import choose
from fathoms.extras.questions.computed.table import Table, read_facts
from fathoms.extras.questions.editing.facts import FactChange, FactsEditing
from fathoms.extras.questions.editing.server import LARGEST, FactsServer
from fathoms.types import Document, Page
from tests.extras.questions.editing import HOSTILE
from tests.extras.questions.test_editing_server import request

TABLE = """\
document,page,field,value,unit,check,_note
a.pdf,1,station,Alder,,,
a.pdf,1,district,North,,,by hand
a.pdf,1,flow,180,m3/h,,
b.pdf,1,station,Birch,,,
b.pdf,1,district,North,,,
b.pdf,1,flow,59,m3/h,differs: 95 m3/h,
c.pdf,1,station,Cedar,,,
c.pdf,1,district,South,,,
c.pdf,1,flow,300,m3/h,,
"""
PAGES = {
    "a.pdf": "Alder lies in the North and pumps 180 m3/h.",
    "b.pdf": "Birch, North: rated at 95 m3/h.",
    "c.pdf": "Cedar (South), 300 m3/h",
}


def documents() -> dict[str, Document]:
    return {
        name: Document(id=name, path=Path(name), sha256="", pages=(Page(number=1, text=text),))
        for name, text in PAGES.items()
    }


def editing(path: Path, text: str = TABLE, **options: Any) -> FactsEditing:
    path.write_text(text)
    return FactsEditing(path, "ann", {name: Path(name) for name in PAGES}, documents(), **options)


def change(session: FactsEditing, number: int, act: str, **more: Any) -> int:
    """Change a row as the page does, which shows it as it is now."""
    row = session.detail(number)
    seen = {key: row[key] for key in ("document", "page", "field", "value", "unit", "check")}
    return session.change(FactChange.model_validate({"number": number, "act": act, "seen": seen, **more}))


def test_rows_in_doubt_come_first_with_the_words_of_their_page(tmp_path: Path) -> None:
    session = editing(tmp_path / "facts.csv", TABLE.replace("c.pdf,1,flow,300", "c.pdf,1,flow,much"))
    state = session.state()
    assert [row["number"] for row in state["rows"]][:3] == [5, 8, 0]
    assert "'much m3/h' is not one number" in state["rows"][1]["wrong"]
    assert state["open"] == 2
    assert session.detail(2)["source"] == ("Alder lies in the North and pumps ", "180 m3/h", ".")
    assert session.detail(5)["source"] is None  # 59 does not stand there
    assert session.detail(1)["more"] == [("_note", "by hand")]


def test_a_mended_row_is_saved_with_who_and_when_and_can_be_undone(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    session = editing(path)
    assert change(session, 5, "mend", page=1, value=" 95 ", unit="m3/h") == 5
    change(session, 0, "check")
    change(session, 8, "delete")
    header, first, second, *_, last = path.read_text().splitlines()
    assert header == "document,page,field,value,unit,check,checked_by,checked_at,_note"
    assert first.startswith("a.pdf,1,station,Alder,,,ann,20")
    assert second == "a.pdf,1,district,North,,,,,by hand"
    assert last == "c.pdf,1,district,South,,,,,"
    rows = read_facts(path).rows
    assert (rows[5].value, rows[5].check, rows[5].checked_by) == ("95", "", "ann")
    assert path.with_name("facts.csv.bak").read_text() == TABLE
    assert [session.undo() for _ in range(3)] == [8, 0, 5]
    assert path.read_text() == TABLE
    with pytest.raises(UsageError, match="no change to undo"):
        session.undo()


def test_what_another_program_changed_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    session = editing(path)
    change(session, 0, "check")
    seen = session.state()["rows"][0]
    path.write_text(TABLE.replace("59", "60").replace("180", "181"))
    assert not session.state()["can_undo"]
    row = {key: seen[key] for key in ("document", "page", "field", "value", "unit", "check")}
    assert row["value"] == "59"
    with pytest.raises(UsageError, match="changed elsewhere"):
        session.change(FactChange.model_validate({"number": 5, "act": "check", "seen": row}))
    assert "181" in path.read_text()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"value": " "}, "needs a page and a value"),
        ({"value": "95", "page": 2}, "has 1 pages"),
        ({}, "needs"),
    ],
)
def test_a_row_without_a_value_or_on_a_page_that_is_not_there_is_not_saved(
    tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    session = editing(tmp_path / "facts.csv")
    with pytest.raises(UsageError, match=why):
        change(session, 5, "mend", **{"page": 1, **more})
    assert (tmp_path / "facts.csv").read_text() == TABLE


def test_semicolons_stay_the_separator(tmp_path: Path) -> None:
    session = editing(tmp_path / "facts.csv", TABLE.replace(",", ";"))
    change(session, 8, "delete")
    assert (tmp_path / "facts.csv").read_text() == "".join(
        line
        for line in TABLE.replace(",", ";").splitlines(keepends=True)
        if not line.startswith("c.pdf;1;flow")
    )


def test_the_questions_say_which_have_another_answer_now(tmp_path: Path) -> None:
    """By hand: the North pumps 180 + 95 = 275 m3/h; with 100 instead of 95, 280. Each of its stations is at
    least 95, a limit that the new values no longer have as a quartile. The list of the North does not
    change."""
    path, result = tmp_path / "facts.csv", tmp_path / "set.json"
    session = editing(path, TABLE.replace("59,m3/h,differs: 95 m3/h", "95,m3/h,"), questions=result)
    found = choose(Table(read_facts(path), about="station"), 100, least=1).questions
    write_questions(result, found)
    assert session.questions() == {"file": "set.json", "computed": len(found), "changed": []}
    change(session, 5, "mend", page=1, value="100", unit="m3/h")
    changed = {one["question"]: (one["before"], one["now"]) for one in session.questions()["changed"]}
    total = "What is the total flow, in m3/h, of all stations for which the district is North?"
    assert changed[total] == (
        "275 m3/h, the sum of Alder 180 m3/h, Birch 95 m3/h.",
        "280 m3/h, the sum of Alder 180 m3/h, Birch 100 m3/h.",
    )
    assert "For which stations is the district North? Name all of them." not in changed
    change(session, 5, "mend", page=1, value="many", unit="m3/h")
    assert "is not one number" in session.questions()["error"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FactsServer]:
    path = tmp_path_factory.mktemp("table") / "facts.csv"
    hostile = TABLE.replace("Alder", HOSTILE.replace('"', "'"))
    with FactsServer(editing(path, hostile)) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


SEEN = {
    "document": "b.pdf",
    "page": 1,
    "field": "flow",
    "value": "59",
    "unit": "m3/h",
    "check": "differs: 95 m3/h",
}
CHECK = {"number": 5, "act": "check", "seen": SEEN}


def test_the_page_of_facts_comes_with_its_policy_and_its_data_as_json(server: FactsServer) -> None:
    status, headers, text = request(server, "")
    assert status == 200
    assert '<script type="module" src="facts.js">' in text
    assert "default-src 'none'; script-src 'self'" in headers["Content-Security-Policy"]
    assert {request(server, name)[0] for name in ("facts.js", "elements.js", "edit.css")} == {200}
    assert request(server, "fact/0")[2]["value"] == HOSTILE.replace(
        '"', "'"
    )  # no HTML: it becomes a text node
    assert request(server, "questions")[2] == {"file": None}


@pytest.mark.parametrize(
    ("status", "token", "headers", "path", "data"),
    [
        (403, "x", {}, "state", None),
        (403, None, {"Host": "evil.example"}, "state", None),
        (403, None, {"Origin": None}, "change", CHECK),
        (403, None, {"Origin": "http://evil.example"}, "undo", {}),
        (415, None, {"Content_Type": "text/plain"}, "change", CHECK),
        (413, None, {"Content_Length": str(LARGEST + 1)}, "change", {}),
        (400, None, {}, "change", {**CHECK, "act": "write"}),
        (400, None, {}, "change", {**CHECK, "path": "/etc/passwd"}),
        (404, None, {}, "change", {**CHECK, "number": 99}),
        (404, None, {}, "write", {}),
        (404, None, {}, "fact/99", None),
        (409, None, {}, "change", {**CHECK, "number": 4}),
        (409, None, {}, "undo", {}),
    ],
)
def test_what_is_not_the_page_of_facts_changes_nothing(
    server: FactsServer, status: int, token: str | None, headers: dict[str, Any], path: str, data: object
) -> None:
    before = server.editing.path.read_bytes()
    assert request(server, path, data, token=token, **headers)[0] == status
    assert server.editing.path.read_bytes() == before


def test_a_change_is_on_the_disk_when_it_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    with FactsServer(editing(path)) as served:
        threading.Thread(target=served.serve_forever).start()
        status, _, reply = request(
            served, "change", CHECK | {"act": "mend", "page": 1, "value": "95", "unit": "m3/h"}
        )
        assert (status, reply["number"], reply["state"]["open"]) == (200, 5, 0)
        assert read_facts(path).rows[5].value == "95"
        assert request(served, "undo", {})[2]["number"] == 5
        assert path.read_text() == TABLE
        served.shutdown()
