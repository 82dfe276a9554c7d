"""`fathoms questions edit` as a process of its own: killed, asked for its summary, and used in Chromium."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from fathoms.corpora import read_questions
from fathoms.extras.questions.making.drafts import Check, Draft, write_drafts
from tests.extras.questions.editing import HOSTILE, decide, editing, row, write_set
from tests.support.project import Project
from tests.support.report_browser import chromium, eventually

pytestmark = pytest.mark.slow
FAILED = Check(check="checklist", item="self-contained", passed=False, reason=f"It says {HOSTILE}.")


@pytest.fixture
def path(project: Project) -> Path:
    return write_set(project.path / "set.jsonl", [row("a"), row("b"), row("c"), row("d")])


@contextmanager
def served(project: Project, person: str, *named: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address of its page."""
    command = ["questions", "edit", *(named or ("set.jsonl", "pdfs")), "--as", person, "--no-browser"]
    with project.start(*command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            yield process, address
        finally:
            process.kill()


def post(address: str, data: dict[str, Any]) -> Any:
    """Decide as the page does."""
    headers = {"Content-Type": "application/json", "Origin": "/".join(address.split("/")[:3])}
    with urlopen(Request(f"{address}decide", json.dumps(data).encode(), headers)) as reply:
        return json.load(reply)


def test_kill_9_loses_nothing_and_the_summary_tells_all(project: Project, path: Path) -> None:
    for decided in ({0: "accept", 1: "drop"}, {2: "drop", 3: "accept"}):
        with served(project, "ann") as (process, address):
            for number, word in decided.items():
                post(address, {"number": number, "decision": word})
            process.send_signal(signal.SIGKILL)
    for number, word in enumerate(("accept", "drop", "accept")):
        decide(editing(path, "Ben"), number, word)
    said = project.fathoms("questions", "edit", "set.jsonl", "--summary", "--as", "ben")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines() == [
        "Ben decided 3 of 4 questions",
        "ann decided 4 of 4 questions",
        "Ben and ann, on 3 that both decided: the same 67 %, kappa 0.40",
        "3 of 4 questions decided: 0 mended, 1 dropped (33 % changed)",
        "1 disagreement to be settled on the page: c",
        "1 change not in set.jsonl yet: press w on the page, or add --write",
    ]
    assert project.json("questions", "edit", "set.jsonl", "--write")["unwritten"] == 0
    assert [question.id for question in read_questions(path).questions] == ["a", "c", "d"]


def test_ctrl_c_ends_the_page_with_the_summary(project: Project, path: Path) -> None:
    with served(project, "ann") as (process, address):
        post(address, {"number": 0, "decision": "accept"})
        process.send_signal(signal.SIGINT)
        assert "1 of 4 questions decided" in process.communicate(timeout=300)[0]
        assert process.returncode == 0


def test_a_full_disk_is_told_before_there_is_a_page(project: Project, path: Path) -> None:
    command = ["questions", "edit", path.name, "--no-browser"]
    with project.start(*command, file_size=40, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said == ("", "fathoms: no file can be written in .: File too large\n")
    assert not list(project.path.glob("fathoms-page-*"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def test_questions_are_mended_in_chromium(project: Project, path: Path, browser: Any) -> None:
    """By keyboard: one is mended, after a complaint, one dropped, one accepted; a box is drawn by mouse. What
    another person said differently is settled."""
    decide(editing(path, "Ben"), 2, "drop")
    lost = read_questions(path).questions[0].model_copy(update={"id": "lost", "text": HOSTILE})
    write_drafts(path, [Draft(question=lost, checks=(FAILED,))])
    wrong: list[str] = []
    with served(project, "ann") as (_, address):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("console", lambda said: wrong.append(said.text) if "422" not in said.text else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(address)
        page.wait_for_selector(".sheet img")
        page.keyboard.press("e")
        page.locator("#field-question").fill("How tall is the Varn tower?")
        page.locator("#field-answers-0").fill("4.15")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".complaint")
        assert "the most similar text is '41.5'" in page.locator(".complaint").inner_text()
        assert page.evaluate("document.activeElement.id") == "field-answers-0"
        page.keyboard.press("Control+A")
        page.keyboard.type("41.5")
        drag(page)
        page.wait_for_selector(".frame.selected")
        page.keyboard.press("Control+Enter")
        eventually(page, "document.querySelector('#progress').textContent === '1 of 4 decided'")
        page.keyboard.press("j")
        eventually(page, "document.querySelector('#heading').textContent === 'b undecided'")
        page.keyboard.press("d")
        eventually(page, "document.querySelector('#heading').textContent === 'c undecided'")
        page.keyboard.press("a")
        eventually(page, "document.querySelector('#progress').textContent === '3 of 4 decided'")
        page.locator("#filter").select_option("differ")
        eventually(page, "document.querySelector('#heading').textContent === 'c accepted'")
        page.locator("li", has_text="Ben: dropped").get_by_role("button").click()
        eventually(page, "document.querySelector('#heading').textContent === 'c settled: dropped'")
        assert "kappa 0.00" in page.locator("#people").inner_text()
        page.locator("#filter").select_option("dropped")
        page.get_by_role("button", name="</textarea>").click()
        eventually(page, "document.querySelector('#heading').textContent.startsWith('lost')")
        assert "checklist: self-contained: It says </textarea><img" in page.locator(".verdicts").inner_text()
        assert page.evaluate("document.querySelectorAll('main img:not(.sheet img), main script').length") == 0
        page.locator("body").press("w")
        eventually(page, "document.querySelector('#live').textContent.startsWith('set.jsonl has 2 ')")
        page.close()
    assert wrong == []
    mended, *others = read_questions(path).questions
    assert [question.id for question in others] == ["d"]
    assert (mended.text, mended.answers) == ("How tall is the Varn tower?", (("41.5",),))
    assert mended.evidence[0].bbox == pytest.approx((59.5, 84.2, 297.6, 168.4), abs=1)  # of A4, in points


def drag(page: Any) -> None:
    """Draw a box from a tenth of the page's width and height to a half and a fifth."""
    page.locator(".sheet").scroll_into_view_if_needed()
    sheet = page.locator(".sheet").bounding_box()
    assert sheet
    left, top, width, height = (sheet[key] for key in ("x", "y", "width", "height"))
    page.mouse.move(left + width / 10, top + height / 10)
    page.mouse.down()
    page.mouse.move(left + width / 4, top + height / 8)
    page.mouse.move(left + width / 2, top + height / 5)
    page.mouse.up()


FACTS = f"""\
document,page,field,value,unit,check
varn.pdf,1,tower,Varn,,
varn.pdf,1,height,41.5,m,
varn.pdf,1,colour,"{HOSTILE.replace('"', "'")}",,
varn.pdf,2,depth,14,m,differs: 41.5 m
"""


def test_a_table_of_facts_is_mended_in_chromium(project: Project, browser: Any) -> None:
    """By keyboard: the row in doubt comes first and is mended, another one is marked as checked, a third
    deleted and the deletion undone."""
    table = project.path / "facts.csv"
    table.write_text(FACTS)
    wrong: list[str] = []
    with served(project, "ann", "facts.csv", "pdfs") as (_, address):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on(
            "request", lambda one: None if one.url.startswith((address, "data:")) else wrong.append(one.url)
        )
        page.goto(address)
        page.wait_for_selector(".sheet img")
        assert page.locator("#heading").inner_text() == "depth varn.pdf"
        assert "differs: 41.5 m" in page.locator(".complaint").inner_text()
        page.keyboard.press("e")
        page.keyboard.type("41.5")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type("1")
        page.keyboard.press("Control+Enter")
        eventually(page, "document.querySelector('#progress').textContent === '0 of 4 to be looked at'")
        assert table.read_text().splitlines()[4].startswith("varn.pdf,1,depth,41.5,m,,ann,20")
        page.get_by_role("button", name="height").click()
        eventually(page, "document.querySelector('#heading').textContent.startsWith('height')")
        assert "41.5" in page.locator("#source mark").inner_text()
        page.keyboard.press("a")
        eventually(page, "document.querySelector('#live').textContent.startsWith('Saved: marked as checked')")
        page.get_by_role("button", name="colour").click()
        eventually(page, "document.querySelector('#heading').textContent.startsWith('colour')")
        page.keyboard.press("d")
        eventually(page, "document.querySelector('#list-count').textContent === '3 facts'")
        assert len(table.read_text().splitlines()) == 4
        page.keyboard.press("u")
        eventually(page, "document.querySelector('#list-count').textContent === '4 facts'")
        assert page.evaluate("document.querySelectorAll('main img:not(.sheet img), main script').length") == 0
        page.close()
    assert wrong == []
    assert project.json("questions", "edit", "facts.csv", "--json")["checked"] == 2
