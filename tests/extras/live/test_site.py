"""A site of static files about many runs: `fathoms report --site`."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import StoreError, UsageError
from fathoms.extras.live.site import write_site
from fathoms.runs.finding import list_runs
from fathoms.runs.run import Run
from tests.support.axe import findings
from tests.support.report_browser import chromium, eventually, texts
from tests.support.report_runs import hostile_run
from tests.support.view import night, stored, three_runs

HOSTILE = "20260101T000000000Z_evil_0a1b2c3d"


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """alpha, beta and gamma, two nights, a hostile run, and one without scores."""
    folder = tmp_path_factory.mktemp("site") / "runs"
    three_runs(folder)
    for number, rule in ((1, "alpha"), (2, "beta")):
        night(folder, number, rule, {})
    stored(folder, hostile_run(), HOSTILE)
    (night(folder, 3, "alpha", {}).path / "summary.json").unlink()
    return list_runs(folder)


@pytest.fixture(scope="module")
def site(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(runs, tmp_path_factory.mktemp("www") / "site").parent


def test_the_site_has_the_leaderboard_a_page_for_each_run_and_downloads(site: Path, runs: list[Run]) -> None:
    shown = [run.id for run in runs if (run.path / "summary.json").is_file()]
    assert {path.name for path in (site / "runs").iterdir()} == set(shown)
    for id in shown:
        assert {path.name for path in (site / "runs" / id).iterdir()} == {
            *("index.html", "report.json", "scores.csv")
        }
    listed = {row["name"]: row for row in json.loads((site / "leaderboard.json").read_text())}
    assert [listed[name]["correctness"] for name in ("alpha", "beta")] == [0.5, pytest.approx(1 / 3)]
    # shown to differ on 120 questions; on other questions there is nobody to be compared with
    assert [listed[name]["rank"] for name in ("alpha", "beta", "gamma")] == ["1", "2", "3"]
    with (site / "leaderboard.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["page"] for row in rows} == {f"runs/{id}/index.html" for id in shown}
    assert next(row for row in rows if row["name"] == "alpha")["correctness"] == "0.5"


def test_the_same_runs_give_the_same_bytes_and_the_new_site_replaces_the_old(
    runs: list[Run], site: Path, tmp_path: Path
) -> None:
    before = all_bytes(site)
    left_out: list[str] = []
    write_site(runs[:3], tmp_path / "other" / "site")
    write_site(runs, tmp_path / "other" / "site", note=left_out.append)
    assert all_bytes(tmp_path / "other" / "site") == before
    assert len(left_out) == 1
    assert "has no scores" in left_out[0]
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["site"]


def test_a_site_that_cannot_be_made_leaves_the_one_before(tmp_path: Path) -> None:
    ids = three_runs(tmp_path / "runs")
    runs = list_runs(tmp_path / "runs")
    write_site(runs, tmp_path / "www" / "site")
    before = all_bytes(tmp_path / "www")
    (tmp_path / "runs" / ids[2] / "questions" / "q-007.json").write_text("{")
    with pytest.raises(StoreError):
        write_site(runs, tmp_path / "www" / "site")
    assert all_bytes(tmp_path / "www") == before


def test_a_folder_that_holds_something_else_is_left_alone(runs: list[Run], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("three years of work")
    with pytest.raises(UsageError, match="something else than a site"):
        write_site(runs, tmp_path / "mine")
    write_site(runs[:1], tmp_path / "www")
    (tmp_path / "www" / ".git").mkdir()
    with pytest.raises(UsageError, match=r"not part of a site \(\.git\)"):
        write_site(runs[:1], tmp_path / "www")
    assert (tmp_path / "www" / ".git").is_dir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(UsageError, match="something else than a site"):
        write_site(runs, tmp_path / "link")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "three years of work"


def test_a_run_is_shown_once_and_another_with_its_id_is_refused(runs: list[Run], tmp_path: Path) -> None:
    write_site([runs[0], runs[0]], tmp_path / "site")
    listed = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    assert [row["run"] for row in listed] == [runs[0].id]
    shutil.copytree(runs[0].path, tmp_path / "copy" / runs[0].id)
    with pytest.raises(UsageError, match="have the same id"):
        write_site([runs[0], Run(tmp_path / "copy" / runs[0].id)], tmp_path / "site")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.mark.slow
def test_the_site_works_from_a_folder_without_a_request(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    opened: list[str] = []
    page.on("request", lambda request: opened.append(request.url))
    front = (site / "index.html").as_uri()
    page.goto(front)
    page.wait_for_selector("#all-runs")
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert texts(page, "#all-runs tbody th a").count("scores.csv") == 6
    names = [
        text for text in texts(page, "#all-runs tbody th a") if text not in ("scores.csv", "report.json")
    ]
    assert names[0] == "alpha"  # the most correct first
    hrefs = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert all((site / href).is_file() for href in hrefs if not href.startswith("#"))
    page.get_by_role("link", name="alpha", exact=True).click()
    page.wait_for_selector("#scores")
    page.locator("#home").click()
    page.wait_for_selector("#all-runs")
    page.get_by_role("link", name="Trends").click()
    page.wait_for_selector("svg.chart")
    assert texts(page, "h3") == ["night: correctness"]
    assert findings(page) == []
    page.goto(f"{site.as_uri()}/runs/{HOSTILE}/index.html")
    page.wait_for_selector("#scores")
    eventually(page, "document.querySelectorAll('main img, main script, iframe').length === 0")
    page.close()
    assert wrong == []
    assert all(url.startswith(("file:", "data:")) for url in opened)
