"""The server of `fathoms view` over a real socket: who may ask, for what, and what it reads for an answer."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathoms.extras.live.folder import Folder
from fathoms.extras.live.server import ViewServer
from fathoms.extras.live.viewed import Viewed
from fathoms.runs.finding import list_runs
from fathoms.runs.writing import new_run
from fathoms.types import Failure, Question, Record, Reply
from tests.extras.live.serving import got, serving
from tests.support.view import three_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three runs, a secret beside it, and a link to a run that lies elsewhere."""
    outside = tmp_path_factory.mktemp("outside")
    folder = outside / "runs"
    ids = three_runs(folder)
    (outside / "secret.txt").write_text("secret")
    shutil.copytree(folder / ids[0], outside / ids[0])
    (folder / "linked").symlink_to(outside / ids[0])
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ViewServer]:
    with serving(folder) as server:
        yield server


@pytest.fixture(scope="module")
def alpha(folder: Path) -> str:
    return f"run/{next(folder.glob('*alpha*')).name}/"


@pytest.fixture(scope="module")
def both(folder: Path) -> str:
    """The page of alpha and beta."""
    return f"run/{','.join(next(folder.glob(f'*{name}*')).name for name in ('alpha', 'beta'))}/"


@pytest.mark.parametrize("token", ["", "x", "%00"])
def test_a_stranger_gets_nothing(server: ViewServer, alpha: str, token: str) -> None:
    for path in ("", "runs", "events", alpha, f"{alpha}index", f"{alpha}events"):
        status, _, said = got(server, path, token=token)
        assert (status, said) == (403, {"error": "open the address that the command printed"})


@pytest.mark.parametrize("host", [None, "evil.example", "127.0.0.1", "localhost.evil:80", "127.0.0.1:1"])
def test_another_name_of_this_machine_is_refused(server: ViewServer, alpha: str, host: str | None) -> None:
    for path in ("", "events", alpha):
        assert got(server, path, Host=host)[0] == 403


def test_another_page_may_not_ask_and_nothing_is_taken_in(server: ViewServer) -> None:
    assert got(server, "runs", Origin="http://evil.example")[0] == 403
    own = f"http://127.0.0.1:{server.server_address[1]}"
    assert got(server, "runs", method="POST", Origin=own)[0] == 405
    assert got(server, "runs", method="POST")[0] == 403
    assert got(server, "runs", method="DELETE")[0] == 501


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".", "%2e%2e", "../secret.txt", "%2e%2e%2fsecret.txt", "..%2f..", "%2fetc", "C:%5C"),
        *("linked", "nobody", "", "a%00b", "secret.txt"),
    ],
)
def test_only_runs_of_the_folder_are_shown(server: ViewServer, alpha: str, name: str) -> None:
    for path in (f"run/{name}/", f"run/{name}/index", f"{alpha[:-1]},{name}/"):
        status, _, said = got(server, path)
        assert status == 404
        assert "secret" not in json.dumps(said).replace("secret.txt", "")


def test_the_list_has_no_run_from_elsewhere(server: ViewServer) -> None:
    assert [row["name"] for row in got(server, "runs")[2]] == ["gamma", "beta", "alpha"]


@pytest.mark.parametrize(
    ("status", "path"),
    [
        (404, "nothing"),
        (404, "../../secret.txt"),
        (404, "rows?places=120"),
        (404, "detail?run=1&place=0"),
        (400, "rows"),
        (400, "rows?places=-1"),
        (400, "rows?places=1&places=2"),
        (400, "rows?places=" + ",".join(["0"] * 201)),
        (400, "rows?places=%C2%B2"),
        (400, "search?q=a&runs="),
    ],
)
def test_only_numbers_are_asked_for(server: ViewServer, alpha: str, status: int, path: str) -> None:
    index_of(server, alpha)
    assert got(server, alpha + path)[0] == status


def test_a_page_comes_with_its_policy_and_without_a_question(server: ViewServer, alpha: str) -> None:
    for path in ("", alpha):
        status, headers, text = got(server, path)
        assert (status, headers["Content-Security-Policy"]) == (200, "frame-ancestors 'none'")
        assert "script-src 'sha256-" in text
        assert "connect-src 'self'" in text
        assert "Access-Control-Allow-Origin" not in headers
        assert "crowns for the blue door" not in text


def test_the_index_has_figures_and_the_texts_come_by_page(server: ViewServer, both: str) -> None:
    """alpha is right on even numbers, beta on multiples of three (tests/support/report_runs.py)."""
    found = index_of(server, both)
    assert set(found["questions"]) == {"id", "category", "answerable", "place"}
    assert [run["outcome"].count("correct") for run in found["runs"]] == [60, 40]
    assert "answer" not in found["runs"][0]
    at = found["questions"]["id"].index("q-006")
    [row] = got(server, f"{both}rows?places={found['questions']['place'][at]}")[2]
    assert row["text"] == "What does door 6 cost?"
    assert len(row["answers"]) == 2
    detail = got(server, f"{both}detail?run=1&place={found['questions']['place'][at]}")[2]
    assert detail["questions"]["q-006"]["repeats"][0]["scores"]["correctness"] == "1.00"


def index_of(server: ViewServer, page: str) -> dict[str, dict[str, list[str]]]:
    """The index when all is read."""
    for _ in range(200):
        parsed = json.loads(got(server, f"{page}events")[2].removeprefix("data: "))
        assert parsed["flaw"] is None
        if not parsed["live"]:
            break
    found: dict[str, dict[str, list[str]]] = got(server, f"{page}index")[2]
    return found


def test_words_are_searched_in_the_runs_that_are_named(server: ViewServer, both: str) -> None:
    found = index_of(server, both)
    places = got(server, f"{both}search?q=Q-012+door&runs=0")[2]
    assert {found["questions"]["id"][found["questions"]["place"].index(place)] for place in places} == {
        "q-012"
    }
    assert got(server, f"{both}search?q=zzz&runs=0,1")[2] == []
    assert got(server, f"{both}search?q=a&runs=2")[0] == 404


def test_what_has_not_changed_is_not_read_again(folder: Path, tmp_path: Path) -> None:
    """The list looks at the times of files: a file that is damaged without a trace is not noticed."""
    copy = tmp_path / "runs"
    shutil.copytree(folder, copy, symlinks=True)
    listed = Folder(copy)
    assert [row["correctness"] for row in listed.rows()] == [0.0, pytest.approx(1 / 3), 0.5]
    summary = next(copy.glob("*alpha*")) / "summary.json"
    text, times = summary.read_text(), summary.stat()
    summary.write_text(text.replace('"correctness": 0.5', '"correctness": 0.7'))
    assert listed.rows()[2]["correctness"] == 0.7
    summary.write_text("{")
    os.utime(summary, ns=(times.st_atime_ns, times.st_mtime_ns))
    row = listed.rows()[2]
    assert (row["status"], row["correctness"]) == ("damaged", None)
    shutil.rmtree(summary.parent)
    assert len(listed.rows()) == 2


def test_a_question_that_is_not_read_yet_is_waited_for(folder: Path) -> None:
    """A page asks for what it knows of a run that has just been scored, and is read again."""
    [alpha] = [run for run in list_runs(folder) if "alpha" in run.id]
    viewed = Viewed([alpha])
    viewed.wait(10)
    last = max(viewed.index()["questions"]["place"])
    assert Viewed([alpha]).rows([last]) == viewed.rows([last])
    assert Viewed([alpha]).detail(0, last) == viewed.detail(0, last)
    with pytest.raises(IndexError):
        viewed.rows([last + 1])


def test_a_failure_does_not_count_once_the_question_was_asked_again(tmp_path: Path) -> None:
    """Two questions fail, and the run is resumed: one fails again, the other is answered."""
    run = new_run(tmp_path, "demo", "abcdef1234567890", {"name": "demo", "data": {"questions": 2}})
    first, second = (Question(id=name, text="why?", category="Text") for name in "ab")
    failed = {"error": Failure(kind="ModelError", message="away"), "timings": {"retrieve": 1.0}}
    answered = {"answer": Reply(text="so", cost=0.5), "timings": {"retrieve": 2.0}}
    with run.records.appending() as journal:
        for question, said in ((first, failed), (second, failed), (first, failed), (second, answered)):
            journal.add(Record(question=question, **said))
    viewed = Viewed([run])
    viewed.wait(10)
    reported, [shown] = viewed.standing(), viewed.overview()["runs"]
    assert (reported["answers"], reported["errors"], reported["cost"]) == (2, 1, "$0.50")
    assert [(one["kind"], one["n"]) for one in shown["errors"]] == [("ModelError", 1)]
