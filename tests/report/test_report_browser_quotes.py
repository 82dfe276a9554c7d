"""An answer that shows pictures, on the page in Chromium: each stands in its place, with its words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.html import report_html
from fathoms.runs.run import Run
from fathoms.runs.trust import signed
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Hit, Question, Quote, Record, Reply
from fathoms.types.run.manifest import Manifest
from tests.support.pictures import picture
from tests.support.report_browser import Watched, chromium, texts, watch
from tests.support.run_in_memory import changed

pytestmark = pytest.mark.slow

ANSWER = "It stands here.\n![a map](image2)\nIt is <b>old</b> [1], see (image2), (image1) and (image9)."


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run in which the model read descriptions of two pictures."""
    (tmp_path / "map.png").write_bytes(picture("map", kind="PNG", size=(600, 300)))
    quotes = (
        Quote(id="text1", text="It is old."),
        Quote(id="image1", modality="image", description="A <i>pump</i>.", image=tmp_path / "lost.png"),
        Quote(
            id="image2",
            modality="image",
            description="A map.",
            image=tmp_path / "map.png",
            document="a.pdf",
            page=3,
            gold=True,
        ),
    )
    question = Question(id="q", text="Where?", category="A", answers=(("here",),), quotes=quotes)
    hits = []
    for rank, quote in enumerate(quotes, start=1):
        chunk = Chunk(
            id=f"q#{quote.id}",
            document=quote.document or "",
            pages=(quote.page,) if quote.page else (),
            modality=quote.modality,
            text=quote.text or quote.description,
        )
        hits.append(Hit(chunk=chunk, score=1.0, rank=rank))
    one_run = new_run(tmp_path, "quotes", "0" * 16, {"config": {}, "data": {"name": "d"}})
    one_run.records.append([Record(question=question, hits=tuple(hits), answer=Reply(text=ANSWER))])
    score_run(one_run)
    found = Run.scored(one_run.path)
    about = {"folder": str(tmp_path), "config": {"data": {"questions": "questions.json"}}}
    return found.altered(manifest=signed(Manifest.model_validate({**found.manifest.plain(), **about})))


def opened(watched: Watched, run: Run, path: Path) -> Any:
    path.write_text(report_html([run], thumbnails=True), encoding="utf-8")
    page = watched.open(path.as_uri(), "view=question&id=q")
    page.wait_for_selector("figure.quote")
    return page


def test_each_picture_stands_once_where_it_is_named(watched: Watched, run: Run, tmp_path: Path) -> None:
    page = opened(watched, run, tmp_path / "report.html")
    said = page.locator(".said .passage").inner_text()
    places = [
        said.index(part) for part in ("![a map](image2)", "A map.", "It is <b>old</b>", "A <i>pump</i>.")
    ]
    assert places == sorted(places)
    assert texts(page, ".said figcaption") == [
        "image2: a.pdf, page 3gold quote A map.",
        "image1 A <i>pump</i>.",
    ]
    page.wait_for_selector(".said figure img[src^='data:image/jpeg']")
    assert page.locator(".said figure img").count() == 1  # the other file is lost
    assert page.locator(".said figure img").evaluate("i => i.naturalWidth") == 420


def test_pictures_of_a_run_of_somebody_else_are_not_read(watched: Watched, run: Run, tmp_path: Path) -> None:
    foreign = {key: value for key, value in run.manifest.plain().items() if key != "signature"}
    page = opened(watched, changed(run, manifest=foreign), tmp_path / "report.html")
    assert page.locator(".said figure img").count() == 0
    assert len(texts(page, ".said figcaption")) == 2


def test_pictures_outside_of_the_data_are_not_read(watched: Watched, run: Run, tmp_path: Path) -> None:
    elsewhere = signed(
        Manifest.model_validate(
            {**run.manifest.plain(), "config": {"data": {"questions": "other/questions.json"}}}
        )
    ).plain()
    page = opened(watched, changed(run, manifest=elsewhere), tmp_path / "report.html")
    assert page.locator(".said figure img").count() == 0
