"""`fathoms view` in a real Chromium: with made runs, with hostile ones, and while a real run goes on.

The runs are those of tests/support/report_runs.py: of 120 questions, alpha is right on the 60 even ones, beta
on the 40 multiples of three.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fathoms.extras.live.server import ViewServer
from tests.extras.live.serving import got, serving
from tests.support.axe import findings
from tests.support.project import Project
from tests.support.report_browser import chromium, eventually, texts
from tests.support.report_runs import EVIL, hostile_run, runs_on_a_page
from tests.support.view import night, stored, three_runs

pytestmark = pytest.mark.slow
ALPHA, GAMMA = (f"20260102T03040{at}000Z_{name}_0a1b2c3d" for at, name in enumerate(("alpha", "gamma")))
HOSTILE = "20260101T000000000Z_evil_0a1b2c3d"
FOREIGN = "document.querySelectorAll('main img, iframe, object, embed, main script').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    folder = tmp_path_factory.mktemp("view") / "runs"
    three_runs(folder)
    stored(folder, hostile_run(), HOSTILE)
    with serving(folder) as server:
        yield server


class Seen:
    """A page of which everything is noted that it must not do, and what it asks for."""

    def __init__(self, browser: Any, server: ViewServer, width: int) -> None:
        self.server = server
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if url.startswith(self.server.address):
            self.asked.append(urlsplit(url).path.rpartition("/")[2])
        elif not url.startswith(("data:", "about:")):
            self.wrong.append(f"request: {url}")

    def open(self, *names: str, view: str = "") -> Any:
        """The list, or the page of the runs with these names, at a view."""
        ids = [next(self.server.folder.path.glob(f"*_{name}_*")).name for name in names]
        path = f"run/{','.join(ids)}/" if ids else ""
        self.page.goto("about:blank")  # so that a page with the same address is loaded again
        self.page.goto(f"{self.server.address}{path}#{view}")
        self.page.wait_for_selector("main #title")
        return self.page


@pytest.fixture(params=[1280, 390])
def seen(browser: Any, server: ViewServer, request: pytest.FixtureRequest) -> Iterator[Seen]:
    seen = Seen(browser, server, request.param)
    yield seen
    seen.page.close()
    assert seen.wrong == []


@pytest.fixture
def wide(browser: Any, server: ViewServer) -> Iterator[Seen]:
    seen = Seen(browser, server, 1280)
    yield seen
    seen.page.close()
    assert seen.wrong == []


def listed(page: Any) -> list[str]:
    return texts(page, "#all-runs tbody th a")


def test_the_list_leads_to_runs_side_by_side_by_keyboard_alone(wide: Seen) -> None:
    page = wide.open()
    assert listed(page)[:3] == ["gamma", "beta", "alpha"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    for _ in range(20):
        if page.evaluate("document.activeElement.id") == "q":
            break
        page.keyboard.press("Tab")
    page.keyboard.type("a-model alp")
    eventually(page, "document.querySelectorAll('#all-runs tbody tr').length === 1")
    assert page.evaluate("document.activeElement.id") == "q"
    assert texts(page, "#live") == ["1 run of 4"]
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    eventually(page, "document.querySelectorAll('#all-runs tbody tr').length === 4")
    for name in ("beta", "alpha"):
        page.locator("#all-runs tbody tr", has=page.get_by_role("link", name=name)).locator("input").focus()
        page.keyboard.press("Space")
    eventually(page, "document.getElementById('together') !== null")
    page.locator("#together").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#leaderboard")
    means = [texts(page, f"#leaderboard tbody tr:nth-child({row}) .mean")[0] for row in (1, 2)]
    assert means == ["0.50", "0.33"]  # sorted by it
    page.locator("#view-compare").click()
    page.wait_for_selector(".tally")
    # of the 60 even and the 40 multiples of three, 20 are both
    assert texts(page, ".tally tbody tr:last-child td") == ["40", "20", "60", "0.33", "0.50", "+0.17"]
    page.locator("#home").click()
    page.wait_for_selector("#all-runs")


def test_only_what_is_looked_at_is_loaded_and_failures_come_first(wide: Seen) -> None:
    page = wide.open("gamma")
    eventually(page, "document.querySelector('.standing')?.children.length === 0")
    assert not {"index", "rows", "detail", "search"} & set(wide.asked)
    page.locator("#view-questions").click()
    page.wait_for_selector("ol.questions .badge")
    # once, or once more when what was read in the meantime has come
    assert {wide.asked.count(name) for name in ("index", "rows")} <= {1, 2}
    assert wide.asked.count("detail") == 0
    badges = texts(page, "ol.questions .badge")
    assert len(badges) == 50
    assert badges[0].startswith("E")  # number 1 fails, the others are wrong, every tenth abstains
    assert badges[1].startswith("✗")
    page.locator("#q").fill("door 110")
    eventually(page, "document.querySelectorAll('ol.questions > li').length === 1")
    page.locator("ol.questions a").click()
    page.wait_for_selector("article.run")
    assert wide.asked.count("detail") == 1
    assert "q-110" in page.url
    address = page.url
    page.goto("about:blank")
    page.goto(address)  # the address of a question leads to it, whatever was looked at before
    page.wait_for_selector("article.run")
    assert texts(page, "#title") == ["What does door 110 cost?"]
    page.locator("ol.hits summary").first.click()
    page.wait_for_selector("ol.hits .passage")
    assert "41.5 crowns for the blue door" in page.locator("ol.hits").text_content()


def test_the_page_of_a_document_is_drawn_when_its_question_is_opened(
    browser: Any, tmp_path: Path, root: Path
) -> None:
    pdf = root / "data" / "sample" / "kestrel-irrigation-trial.pdf"
    for run, id in zip(runs_on_a_page(pdf), (ALPHA, GAMMA), strict=True):
        stored(tmp_path, run, id)
    with serving(tmp_path) as server:
        seen = Seen(browser, server, 1280)
        page = seen.open("alpha", "gamma", view="view=question&id=q-002")
        page.wait_for_selector("article.run")
        assert "pages" not in seen.asked  # this question has no page
        page.evaluate("location.hash = 'view=question&id=q-003'")
        eventually(page, "document.querySelectorAll('.paper .sheet img').length === 1")
        assert seen.asked.count("pages") == 1
        assert texts(page, ".paper .legend li") == ["1 1. retrieved", "gold phrase “130 micrometres”"]
        whole, phrase = (page.locator(f".paper .sheet {part}").bounding_box() for part in ("img", ".phrase"))
        assert abs((phrase["x"] - whole["x"]) / whole["width"] - 408 / 538.6) < 0.01
        assert page.locator(".paper .sheet .rank0").count() == 2
        page.locator("#of-1").click()
        eventually(page, "document.querySelector('#of-1').getAttribute('aria-pressed') === 'true'")
        assert seen.asked.count("pages") == 1
        assert findings(page) == []
        seen.page.close()
        assert seen.wrong == []
        assert got(server, f"run/{ALPHA}/pages?keys=x,../y")[2]["pictures"] == {}


VIEWS = ("view=overview", "view=compare", "view=questions", "view=question&id=q-006")


# a narrow page has other places, but no other colours: each width and each theme is looked at once
@pytest.mark.parametrize(("seen", "theme"), [(1280, "light"), (390, "dark")], indirect=["seen"])
def test_axe_core_finds_nothing(seen: Seen, theme: str) -> None:
    assert findings(seen.open(view=f"theme={theme}")) == []
    for view in VIEWS:
        page = seen.open("alpha", "gamma", view=f"{view}&theme={theme}")
        page.wait_for_selector("main[aria-busy]", state="detached")
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    page.evaluate("main.append(document.createElement('input'))")
    assert [found.split(":")[0] for found in findings(page)] == ["label"]


def test_texts_stay_texts(seen: Seen) -> None:
    page = seen.open()
    assert any("alert(2)" in text for text in listed(page))
    pages = [page.content()]
    for view in ("view=overview", "view=questions", f"view=question&id={QUOTED}"):
        page = seen.open("evil", view=view)
        for closed in page.locator("details").all():
            closed.evaluate("details => { details.open = true; }")
        page.wait_for_timeout(50)  # whatever would run has run
        assert page.evaluate(FOREIGN) == 0
        assert '<img src=x onerror="alert(2)">{{7*7}}' in page.locator("body").inner_text()
        assert "\u202e" not in page.locator("body").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        pages.append(page.content())
    assert all("<script>alert(1)" not in text for text in pages)


QUOTED = "id+%3C%2Fscript%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%3Cimg+src%3Dx+onerror%3D%22alert(2)%22%3E"
assert EVIL.startswith("</script>")


def test_a_run_in_progress_fills_as_its_answers_come(project: Project, browser: Any) -> None:
    """A real run with a model that takes its time; one question fails."""
    project.write("slow.yaml", SLOW)
    (project.path / "runs").mkdir()
    run = threading.Thread(target=project.fathoms, args=("run", "slow.yaml"))
    with serving(project.path / "runs") as server:
        seen = Seen(browser, server, 1280)
        page = seen.open()
        assert texts(page, "main .note") == ["There are no runs yet."]
        run.start()
        page.wait_for_selector("td progress", timeout=120_000)
        assert texts(page, ".status") == ["▶ running"]
        page.locator("#all-runs tbody th a").click()
        page.wait_for_selector("#scores")
        page.locator("#view-questions").click()
        counts, reported = set(), set()
        for _ in range(600):
            counts.add(page.locator("ol.questions > li").count())
            reported.update(texts(page, "#standing"))
            if len(counts - {0}) >= 2:
                break
            page.wait_for_timeout(100)
        run.join()
        assert len(counts - {0}) >= 2  # the list has grown
        assert {text.split(" of ")[0] for text in reported} & {"1", "2", "3"}
        eventually(page, "document.querySelectorAll('ol.questions > li').length === 4")
        eventually(page, "document.querySelectorAll('ol.questions .badge.good').length === 1")
        assert texts(page, "ol.questions .badge")[0].startswith("E")
        page.locator("#view-overview").click()
        page.wait_for_selector("#scores .mean")
        assert "in progress" not in page.locator("main").inner_text()
        page.close()
    assert seen.wrong == []


SLOW = """\
name: slow
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate:
  kind: scripted
  latency: 2
  max_concurrency: 1
  replies: {tall: The Varn tower is 41.5 m tall.}
  fail_on: {colour: the model is away}
  default: The price is 12 crowns.
"""


def test_trends_are_drawn_with_what_changed_and_what_the_gate_said(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    runs = [night(folder, 1, "alpha", {}), night(folder, 2, "alpha", {})]
    runs += [night(folder, 3, "beta", {}, model=f"model {EVIL}")]
    log = tmp_path / "night.jsonl"
    log.write_text(json.dumps({"event": "gate-judged", "run": runs[2].id, "verdict": "FAIL", "line": EVIL}))
    with serving(folder, [log]) as server:
        seen = Seen(browser, server, 390)
        page = seen.open()
        page.get_by_role("link", name="Trends").click()
        page.wait_for_selector("svg.chart")
        newest = texts(page, ".nights tbody tr:first-child td")
        assert newest[2].startswith("0.33 [0.23, 0.43]")
        assert newest[6].startswith("✗ FAIL </script><script>alert(1)")
        assert "model: a-model to model </script>" in newest[7]
        assert page.locator("svg.chart path.run0, svg.chart path.run1").count() == 3
        assert page.locator("svg.chart .front").count() == 1
        assert page.evaluate(FOREIGN) == 0
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.locator("#metric").select_option("hallucination")
        page.wait_for_url("**metric=hallucination")
        eventually(page, "document.querySelector('#trend-0-title')?.textContent === 'night: hallucination'")
        page.close()
    assert seen.wrong == []


def test_a_server_that_has_ended_is_told(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    three_runs(folder)
    with serving(folder) as server:
        seen = Seen(browser, server, 1280)
        page = seen.open("alpha")
        eventually(page, "document.querySelector('.standing')?.children.length === 0")
    page.locator("#view-questions").click()
    page.wait_for_selector(".note.fail")
    assert texts(page, ".note.fail") == ["the command that serves this page has ended: start it again"]
    page.close()
