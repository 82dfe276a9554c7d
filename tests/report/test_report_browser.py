"""`report.html` in a real Chromium: every view is clicked through, and nothing leaves the file.

The runs are worked by hand (tests/report_runs.py): of 120 questions, alpha is right on the 60 even ones, beta
on the 40 multiples of three, gamma on none. The categories go round, so each has 40, and beta is right on all
of Text-Only.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fathoms
from fathoms.paths import sha256_file
from fathoms.report.html import payload, report_html
from fathoms.report.html.assembling import assemble
from fathoms.runs.run import Run
from fathoms.text.amounts import measured, percent
from tests.support.axe import findings
from tests.support.report_browser import Watched, chromium, eventually, texts, unfold, watch, written
from tests.support.report_runs import STAGES, example_runs, runs_on_a_page
from tests.support.run_in_memory import changed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


@pytest.fixture
def narrow(browser: Any) -> Iterator[Watched]:
    yield from watch(browser, width=390)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def report(folder: Path) -> str:
    """The address of the report of alpha, beta and gamma."""
    return written(folder / "made.html", example_runs())


def runs_of(page: Any) -> list[str]:
    """The leaderboard's runs from top to bottom."""
    return [text.split()[0] for text in texts(page, "#leaderboard tbody th")]


# ---- overview


def test_the_leaderboard_has_the_figures_and_marks_what_is_shown_best(watched: Watched, report: str) -> None:
    page = watched.open(report)
    assert runs_of(page) == ["alpha", "beta", "gamma"]
    means = [texts(page, f"#leaderboard tbody tr:nth-child({row}) .mean") for row in (1, 2, 3)]
    # overall, then Text-Only, Tables, Images, each correctness and hallucination: 20 even numbers in every 40
    assert means[0] == ["0.50"] * 8
    assert means[1][0::2] == ["0.33", "1.00", "0.00", "0.00"]
    assert means[1][1::2] == ["0.67", "0.00", "1.00", "1.00"]
    assert texts(page, "#leaderboard .best .mean") == ["0.50"]
    assert page.locator("#to-0").get_attribute("href") == "#view=questions&runs=0"
    assert [text for text in texts(page, "#leaderboard tbody th .range") if "rank" in text] == [
        "rank 1",
        "rank 2",
        "rank 3",
    ]
    assert texts(page, "#leaderboard thead th[colspan]")[1] == "Text-Only n 40"
    assert texts(page, "#leaderboard tbody tr:nth-child(1) td .range")[0] == "[0.40, 0.60]"
    assert page.locator("#leaderboard .interval .span").count() > 0


FIRST_RUN = "document.querySelector('#leaderboard tbody th').innerText.trim().startsWith('{}')"


def test_figures_are_printed_as_python_does(watched: Watched) -> None:
    pages = Path(fathoms.__file__).parent / "report/html/page"
    source = "".join((pages / name).read_text("utf-8") for name in ("10-dom.js", "12-amounts.js"))
    shares = sorted({k / n for n in range(1, 201) for k in range(n + 1)})
    sizes = [2.0**k * part for k in range(-12, 22) for part in (1, 0.3, 0.75)]
    values = [
        None,
        *shares,
        *(-share for share in shares if share),
        *sizes,
        0.0999,
        0.9995,
        9.95,
        59.5,
        101,
        3599.6,
    ]
    for unit in ("share", "seconds", "US dollars", "tokens"):
        some = [value for value in values if unit in ("share", "tokens") or not value or value >= 0]
        printed = watched.page.evaluate(
            f"([values, unit]) => {{ {source}; return values.map((value) => measured(value, unit)); }}",
            [some, unit],
        )
        assert printed == [measured(value, unit) for value in some]
    printed = watched.page.evaluate(f"(shares) => {{ {source}; return shares.map(percent); }}", shares)
    assert printed == [percent(share) for share in shares]
    assert [measured(value, "seconds") for value in (2e-4, 54, 101, 7500)] == [
        "<1 ms",
        "54 s",
        "1:41",
        "2 h 05 min",
    ]


def test_the_first_screen_says_how_many_are_right_and_what_lost_the_others(
    watched: Watched, report: str, folder: Path
) -> None:
    page = watched.open(report)
    assert texts(page, ".verdict p") == [
        "alpha answers 60 of 120 right; most are lost by the retriever.",
        "beta answers 40 of 120 right; 40 each are lost by the retriever and the model.",
        "gamma answers 0 of 120 right; 60 each are lost by the retriever and the model; 1 call failed.",
    ]
    titles = texts(page, "main > section:not(.fold) > h3")
    assert titles == [
        "Leaderboard",
        "Where answers were lost",
        "Most telling failures of alpha",
        "By category",
    ]
    assert texts(page, "figure.radar figcaption") == ["Correctness", "Hallucination (lower is better)"]
    assert texts(page, "#telling li .tag") == ["lost by the retriever"] * 5
    assert findings(unfold(page)) == []
    page.locator("#telling li a").first.click()
    page.wait_for_selector("article.run")
    [one] = example_runs(["alpha"], 6)
    alone = watched.open(written(folder / "one.html", [one]))
    assert texts(alone, "main > section:not(.fold) > h3")[0] == "Scores"
    assert texts(alone, "#scores tbody tr")[0].startswith("Overall 0.50 [")


def test_sorting_by_click_and_by_keyboard(watched: Watched, report: str) -> None:
    page = watched.open(report)
    head = page.locator("#sort-correctness_3AText_Only")
    head.click()
    eventually(page, FIRST_RUN.format("beta"))
    assert runs_of(page) == ["beta", "alpha", "gamma"]
    sorted_by = page.locator("#leaderboard th[aria-sort]")
    assert sorted_by.count() == 1
    assert sorted_by.get_attribute("aria-sort") == "descending"
    assert page.evaluate("document.activeElement.id") == "sort-correctness_3AText_Only"
    assert head.get_attribute("aria-label") == "Correctness, Text-Only"
    page.keyboard.press("Enter")
    eventually(page, FIRST_RUN.format("gamma"))
    assert runs_of(page) == ["gamma", "alpha", "beta"]
    assert page.locator("#leaderboard th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.locator("#sort-hallucination").focus()
    page.keyboard.press("Space")
    eventually(page, FIRST_RUN.format("alpha"))  # lower is better, so the best is first and the order rises
    assert page.locator("#leaderboard th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.go_back()
    eventually(page, FIRST_RUN.format("gamma"))


def test_a_category_may_be_called_overall(watched: Watched, folder: Path) -> None:
    [run] = example_runs(["beta"], 6)
    for view in run.views():
        view["question"]["category"] = {"Tables": "Overall"}.get(view["question"]["category"], "Hard*")
    paper = run.summary_json["profiles"]["paper"]
    found = {"Overall": paper["categories"]["Tables"], "Hard*": paper["categories"]["Text-Only"]}
    paper["categories"] = found
    paper["funnel"]["categories"] = dict.fromkeys(found, paper["funnel"]["overall"])
    summary = {**run.summary_json, "categories": list(found)}
    page = watched.open(written(folder / "overall.html", [changed(run, summary=summary)]))
    assert texts(page, "#scores tbody th") == ["Overall", "Overall", "Hard*"]
    assert texts(page, "#scores .mean")[0::2] == ["0.33", "0.00", "1.00"]
    assert page.locator("#funnel > figure").count() == 1
    assert page.locator("#funnel details figure").count() == 2


def test_what_is_not_shown_is_not_marked_and_what_is_not_known_is_not_lost(
    watched: Watched, folder: Path
) -> None:
    runs = example_runs(["alpha", "beta"], 6)
    nothing = {"recall": None, "lost": None, "gained": None, "n": 0, "compared": 0}
    for run, tables in zip(runs, (0.499, 0.501), strict=True):
        paper = run.summary_json["profiles"]["paper"]
        paper["categories"]["Tables"]["correctness"] = tables
        paper["funnel"]["categories"] = {"Tables": dict.fromkeys(STAGES, nothing)}
    page = watched.open(written(folder / "equal.html", runs))
    cells = page.locator("#leaderboard tbody td:nth-of-type(5)")
    assert [cell.split()[0] for cell in cells.all_inner_texts()] == ["0.50", "0.50"]
    assert page.locator("#leaderboard .best").count() == 0  # six questions cannot show it
    said = [text for text in page.locator("#funnel svg text").all_text_contents() if "known" in text]
    assert said == ["not known: none of its questions is in the funnel"] * 2


def test_the_radar_switches_its_scale(watched: Watched, report: str) -> None:
    page = watched.open(report)
    line = page.locator("figure.radar").first.locator("path.line1")
    assert page.locator("figure.radar svg.chart").first.get_attribute("aria-label").endswith("from 0 to 1")
    plain = line.get_attribute("d")
    page.get_by_role("button", name="Paper\u2019s scale").click()
    eventually(page, "document.getElementById('scale-paper').ariaPressed === 'true'")
    relative = page.locator("figure.radar").first.locator("path.line1").get_attribute("d")
    # beta's Overall is 1/3 of the radius, and 2/3 of it where the axis is divided by alpha's 1/2
    assert upward(relative) == pytest.approx(2 * upward(plain), abs=0.1)
    assert "scale=paper" in page.url


def upward(path: str | None) -> float:
    """How far up the first point of a radar line is."""
    assert path
    return float(path[1:].split("L")[0].split(",")[1])


def test_the_paper_s_radar_labels_do_not_collide(browser: Any, folder: Path, paper_runs: list[Run]) -> None:
    address = written(folder / "paper.html", paper_runs)
    for width in (1280, 390):
        watched = Watched(browser, width=width)
        page = watched.open(address, "view=overview")
        assert page.locator("figure.radar").first.locator("[class^=line]").count() == 8
        for chart in page.locator("figure.radar svg.chart").all():
            boxes = [label.bounding_box() for label in chart.locator("text.label").all()]
            assert len(boxes) == 6
            assert not any(meet(a, b) for at, a in enumerate(boxes) for b in boxes[:at])
        assert (
            len(
                set(page.eval_on_selector_all("path[class^=run]", "all => all.map(e => e.getAttribute('d'))"))
            )
            == 8
        )
        watched.close()


def meet(a: Any, b: Any) -> bool:
    return bool(
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )


def test_more_than_eight_runs_are_picked_from(watched: Watched, folder: Path, paper_runs: list[Run]) -> None:
    page = watched.open(written(folder / "nine.html", [*paper_runs, *example_runs(["alpha"], 4)]))
    assert len(runs_of(page)) == 9
    page.locator("#pick").click()
    [least] = page.locator("#runs input:disabled").all()  # the most correct ones are drawn
    assert least.get_attribute("id") == "run-0"
    page.locator("#run-1").uncheck()
    page.locator("#run-0").check()
    eventually(page, "location.hash.includes('runs=0%2C')")
    assert page.locator("figure.radar").first.locator("path.line7").count() == 1
    assert "alpha" in texts(page, "#radar > .legend li")[-1]


def test_the_funnel_is_stacked_and_has_a_table(watched: Watched, report: str) -> None:
    page = watched.open(report)
    bars = page.eval_on_selector_all(
        "#funnel rect.segment title", "all => all.map(title => title.textContent)"
    )
    # alpha misses the 60 odd ones, all lost at retrieved; beta 80, 40 odd and 40 even; gamma all
    assert bars == [
        *("reached the answer: 0.50", "lost by the retriever: 0.50"),
        *("reached the answer: 0.33", "lost by the retriever: 0.33", "lost by the model: 0.33"),
        *("lost by the retriever: 0.50", "lost by the model: 0.50"),
    ]
    page.locator("#funnel-figures").click()
    assert page.locator("#funnel details table tbody tr").count() == 3


def test_gold_pages_evidence_and_multiples_of_the_fastest(watched: Watched, report: str) -> None:
    """Of 60 hits, alpha is right on all, beta on 20, gamma on none; alpha and beta take 0.5 s, gamma 1 s."""
    page = unfold(watched.open(report))
    titles = page.locator("#table-pages svg.chart path title").all_text_contents()
    assert "alpha, parsed: 1.00 [0.90, 1.00], n 120" in titles
    assert "beta, retrieved: 0.50 [0.40, 0.60], n 120" in titles
    notes = texts(page, "#table-pages .notes li")
    assert any("both found: 60; neither found: 60" in note for note in notes)
    rows = texts(page, "#table-evidence tbody tr")
    assert rows[0] == "alpha answered, right 60 (1.00) 0"
    assert "beta answered, wrong 40 (0.67) 0" in rows
    times = page.locator("#latency svg.chart text.name").all_text_contents()[1::2]
    assert times == ["500 ms 1.0\u00d7", "500 ms 1.0\u00d7", "1 s 2.0\u00d7"]


def test_the_pareto_front_and_what_is_not_known(watched: Watched, report: str) -> None:
    page = unfold(watched.open(report))
    spots = page.eval_on_selector_all(
        "#cost figure path > title", "all => all.map(title => title.textContent)"
    )
    assert spots == ["alpha: $0.010, correctness 0.50", "beta: $0.0020, correctness 0.33"]
    assert texts(page, "#cost .note") == ["Not drawn, because cost or correctness is not known: gamma"]
    page.locator("#cost-figures").click()
    assert [row.split()[-1] for row in texts(page, "#cost tbody tr")] == ["yes", "yes", "no"]


def test_equal_runs_are_both_on_the_front(watched: Watched, folder: Path) -> None:
    runs = [*example_runs(["alpha", "beta"], 12), *example_runs(["alpha"], 12)]
    page = unfold(watched.open(written(folder / "equal-costs.html", runs)))
    page.locator("#cost-figures").click()
    assert [row.split()[-1] for row in texts(page, "#cost tbody tr")] == ["yes", "yes", "yes"]
    address = written(folder / "some.html", example_runs(questions=12))
    page = watched.open(address, "view=overview&runs=2")
    assert texts(page, "#cost-title") == ["Time against quality"]  # of the run that is shown no cost is known


def test_without_costs_seconds_stand_in_their_place(watched: Watched, folder: Path) -> None:
    page = unfold(
        watched.open(written(folder / "seconds.html", example_runs(["alpha", "beta"], 6, costs=False)))
    )
    assert texts(page, "#cost-title") == ["Time against quality"]
    assert "No run here has a known cost" in texts(page, "#cost p")[0]


def test_abstention_latency_errors_and_settings(watched: Watched, report: str) -> None:
    page = unfold(watched.open(report))
    rows = texts(page, "#table-abstention tbody tr")  # gamma: 120 less one error and twelve abstentions
    assert rows[-2:] == ["gamma answerable 107 (0.90) 12 (0.10)", "gamma unanswerable 0 0"]
    assert texts(page, "#errors tbody tr") == ["gamma Timeout 1 no answer within 60 s"]
    assert texts(page, "#about table.runs thead")[0].endswith("alpha beta gamma")
    page.locator("#differences").click()
    assert texts(page, "#about .behind[open] tbody tr") == ["name alpha beta gamma"]
    page.locator("#latency-figures").click()
    assert texts(page, "#latency tbody tr")[0] == "alpha retrieve 100 ms 1.0\u00d7 100 ms 100 ms 120"
    assert texts(page, "#latency tbody tr")[2] == "alpha whole answer 500 ms 1.0\u00d7 500 ms 500 ms 120"


# ---- questions


def test_filters_search_and_pages(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=questions&runs=0")
    first = page.locator("ol.questions > li:first-child .marks").inner_text()
    assert "wrong, lost by the retriever" in first  # failures first
    assert page.locator("ol.questions > li").count() == 50
    assert texts(page, "#live") == ["120 questions of 120"]
    page.locator("#page-after").click()
    eventually(page, "location.hash.includes('page=2')")
    page.locator("#outcome").select_option("correct")
    eventually(page, "document.getElementById('live').textContent === '60 questions of 120'")
    assert "page=" not in page.url
    page.locator("#category").select_option("Tables")
    eventually(page, "document.getElementById('live').textContent === '20 questions of 120'")
    # each says what it leaves beside the other filter
    assert texts(page, "#outcome option") == ["any", "correct (20)", "wrong (20)"]
    assert texts(page, "#lost option") == ["any", "retriever (0)"]
    page.locator("#clear").click()
    eventually(page, "document.getElementById('live').textContent === '120 questions of 120'")
    page.locator("#lost").select_option("retrieved")
    eventually(page, "document.getElementById('live').textContent === '60 questions of 120'")
    page.locator("#clear").click()
    eventually(page, "document.getElementById('live').textContent === '120 questions of 120'")
    page.locator("#q").press_sequentially("DOOR 117")
    eventually(page, "document.getElementById('live').textContent === '1 question of 120'")
    assert page.evaluate("document.activeElement.id") == "q"
    assert texts(page, "ol.questions a") == ["What does door 117 cost?"]
    page.locator("#q").fill("says beta")  # a run that is not shown
    eventually(page, "document.getElementById('live').textContent === '0 questions of 120'")
    page.locator("#q").fill("no such words")
    eventually(page, "document.getElementById('live').textContent === '0 questions of 120'")
    assert texts(page, "main .note") == ["No question matches. Clear a filter."]


def test_the_order_by_difficulty(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=questions&order=easiest")
    first = page.locator("ol.questions > li").first
    answers = texts(page, "ol.questions > li:first-child .answer")
    assert [text.split()[-1] for text in answers] == ["alpha.", "beta.", "know."]  # side by side
    assert [text.split()[-1] for text in texts(page, "ol.questions > li:first-child .marks li")] == [
        "correct",
        "correct",
        "model",
    ]
    assert "door 0 " in first.inner_text()


def test_compare_shows_the_flipped_first(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=compare&a=0&b=1")
    # both right on the 20 multiples of six: B has 20 alone, A has 40, the other 60 are tied
    assert texts(page, "table.tally tbody tr")[-1] == "All questions 20 40 60 0.50 0.33 -0.17"
    assert texts(page, "table.tally tbody tr")[0] == "Text-Only 20 0 20 0.50 1.00 +0.50"
    assert texts(page, ".toggle [aria-pressed=true]")[-1] == "flipped (60)"
    assert page.locator("ol.questions > li").count() == 50
    page.get_by_role("button", name="won by B (20)").click()
    eventually(page, "document.querySelectorAll('ol.questions > li').length === 20")
    page.locator("#swap").click()
    eventually(page, "location.hash.includes('a=1&b=0')")
    assert texts(page, "table.tally tbody tr")[-1] == "All questions 40 20 60 0.33 0.50 +0.17"
    page.locator("#run-b").select_option("2")
    eventually(page, "location.hash.includes('b=2')")
    page.locator("#flips-flipped").click()
    page.wait_for_selector("ol.questions .badge")
    page.locator("ol.questions a").first.click()
    page.wait_for_selector("article.run")
    assert [text.split()[0] for text in texts(page, "article.run h3")] == ["beta", "gamma"]


def test_one_question_of_all_runs(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=question&id=q-003")
    assert [text.split()[0] for text in texts(page, "article.run h3")] == ["alpha", "beta", "gamma"]
    beta = page.locator("article.run").nth(1)
    said = page.locator("article.card").nth(1)
    assert said.locator(".said mark").all_inner_texts() == ["41.5 crowns"]
    stages = texts(page, "article.run:nth-child(1) table.stages tbody tr")
    assert stages[1] == "retrieved 0.00 1.00 0.00 41.5 crowns"
    hit = beta.locator(".hit").first
    assert "gold page" in hit.inner_text()
    assert "gold page" not in beta.locator(".hit").nth(1).inner_text()
    hit.locator("summary").click()
    hit.locator("mark").first.wait_for()
    assert hit.locator("mark").all_inner_texts() == ["41.5 crowns"] * 20
    beta.get_by_text("Prompt", exact=True).click()
    beta.get_by_text("context 1, as above").wait_for()
    beta.get_by_text("Usage and timings").click()
    beta.get_by_text("$0.0020").wait_for()
    page.locator("#after").click()
    eventually(page, "location.hash.includes('id=q-006')")  # the next of Text-Only
    page.locator("#before").click()
    eventually(page, "location.hash.includes('id=q-003')")
    assert "The door is blue." in page.locator("article.run").nth(0).inner_text()


def test_what_was_set_aside_is_grey_and_phrases_are_marked_in_the_raw_answer(
    watched: Watched, folder: Path
) -> None:
    [run] = example_runs(["alpha"], 1)
    [view] = run.views()
    phrase = view["question"]["answers"][0][0]
    said = f"<think>Hm \U0001f914</think>It is {phrase}[1] (image1).\n\nSources: a.pdf, p. 3"
    view["repeats"][0]["answer"]["text"] = said
    summary = json.loads(json.dumps(run.summary_json))
    for figures in summary["profiles"].values():
        figures["set_aside"] = ["citation", "sources"]
    one_changed = changed(run, views=lambda: [view], summary_json=summary)
    page = watched.open(written(folder / "aside.html", [one_changed]), "view=question&id=q-000")
    page.locator(".said .aside").first.wait_for()
    assert page.locator(".said .passage").text_content() == said
    aside = texts(page, ".said .aside")
    assert [aside[0], aside[-1]] == ["<think>Hm \U0001f914</think>", "Sources: a.pdf, p. 3"]
    assert page.locator(".said .aside").last.get_attribute("title") == "set aside: sources"
    assert texts(page, ".said mark") == [phrase]


def test_a_question_of_several_lines_and_what_stands_before_a_text(watched: Watched, folder: Path) -> None:
    [run] = example_runs(["alpha"], 1)
    [view] = run.views()
    view["question"]["text"] = "Which door?\n\n" + "It is the same door. " * 120
    view["repeats"][0]["hits"][0]["header"] = "file_name: 41.5 crowns.pdf"
    address = written(folder / "lines.html", [changed(run, views=lambda: [view])])
    page = watched.open(address, "view=question&id=q-000")
    page.locator("#whole-question").click()
    page.locator("main > details .passage").wait_for()
    assert page.locator("main > details .passage").text_content() == view["question"]["text"]
    assert "3 gold phrases" in texts(page, ".hit summary")[0]  # `41.5 crowns`, or `41.5` and `crowns`
    page.locator(".hit summary").first.click()
    page.locator(".hit .header mark").wait_for()
    assert texts(page, ".hit .header .passage") == ["file_name: 41.5 crowns.pdf"]
    plain = watched.open(written(folder / "line.html", example_runs(["alpha"], 1)), "view=question&id=q-000")
    assert plain.locator("#whole-question").count() == 0


def test_a_question_without_details_has_its_answer_and_says_where_they_are(
    watched: Watched, folder: Path
) -> None:
    """alpha is wrong on the six odd questions of twelve, which have all the room."""
    content = payload(example_runs(["alpha"], 12), detailed=6)
    file = folder / "many.html"
    file.write_text(assemble(content.overview, content.chunks), encoding="utf-8")
    page = watched.open(file.as_uri(), "view=question&id=q-003")
    assert "fathoms show" not in page.inner_text("main")
    page = watched.open(file.as_uri(), "view=question&id=q-002")
    assert page.inner_text("main h2") == "What does door 2 cost?"
    [said] = texts(page, ".beside .card code")
    assert said == "fathoms show 20260102_alpha --question q-002"
    assert page.inner_text(".card .said") == "It is 41.5 crowns, says alpha."


def test_citations_and_what_else_a_question_holds(watched: Watched, folder: Path) -> None:
    [run] = example_runs(["alpha"], 1)
    [view] = run.views()
    view["question"] |= {
        "short_answer": "41.5",
        "reference_claims": ["It costs 41.5 crowns.", "It is blue."],
        "metadata": {"language": "en", "scan": False},
    }
    view["repeats"][0]["citations"] = [
        {"document": "mill.pdf", "page": 2, "label": "1", "ranks": [1]},
        {"document": None, "label": "9", "ranks": []},
        {"document": "other.pdf", "page": 1, "quote": "Nothing", "ranks": [2]},
    ]
    address = written(folder / "cited.html", [changed(run, views=lambda: [view])])
    page = watched.open(address, "view=question&id=q-000")
    assert texts(page, "article.card ul.small li") == [
        "1: mill.pdf, page 2",
        "9 (not retrieved)",
        "other.pdf, page 1: Nothing",
    ]
    facts = " ".join(texts(page, "dl.facts")[0].split())
    assert "Gold answer 41.5" in facts
    assert "Gold claims It costs 41.5 crowns. It is blue." in facts
    assert "Metadata language: en, scan: false" in facts


def test_back_leads_to_where_one_was(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=questions")
    page.wait_for_selector("ol.questions .badge")
    page.locator("ol.questions a").nth(40).click()
    page.wait_for_selector("article.run")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_selector("ol.questions .badge")
    assert page.evaluate("scrollY") > 1000


def test_repeats_are_switched(watched: Watched, folder: Path) -> None:
    [run] = example_runs(["alpha"], 1)
    [view] = run.views()
    again = copy.deepcopy(view["repeats"][0]) | {"repeat": 1}
    again["answer"]["text"] = "Another time."
    twice = {**view, "repeats": [*view["repeats"], again]}
    address = written(folder / "twice.html", [changed(run, views=lambda: [twice])])
    page = watched.open(address, "view=question&id=q-000")
    assert texts(page, ".said .passage") == ["It is 41.5 crowns, says alpha."]
    page.locator("#repeat").select_option("2")
    page.get_by_text("Another time.").wait_for()
    assert "repeat=1" in page.url
    for meaningless, text in (("-1", "says alpha."), ("x", "says alpha."), ("9", "Another time.")):
        page = watched.open(address, f"view=question&id=q-000&repeat={meaningless}")
        page.get_by_text(text).wait_for()


def test_pictures_of_pages(watched: Watched, folder: Path, root: Path) -> None:
    pdf = sorted((root / "data" / "sample").rglob("*.pdf"))[0]
    [run] = example_runs(["alpha"], 1)
    [view] = run.views()
    view["question"] |= {"evidence": [{"document": pdf.name, "page": 1}], "files": [pdf.name]}
    heatmap = {"columns": 2, "rows": 2, "values": [0, 100, 50, 0]}
    view["repeats"][0]["hits"][0] |= {"document": pdf.name, "pages": [1], "heatmap": heatmap}
    documents = {pdf.name: {"sha256": sha256_file(pdf)}}
    manifest = {**run.manifest_json, "data": {"name": "sample", "documents": documents}}
    one_changed = changed(run, manifest=manifest, views=lambda: [view])
    path = folder / "pictures.html"
    path.write_text(report_html([one_changed], thumbnails=True), encoding="utf-8")
    page = watched.open(path.as_uri(), "view=question&id=q-000")
    assert page.locator("img").count() == 2  # large beside the answer, and small beside the retrieved text
    eventually(page, "[...document.images].every((image) => image.naturalWidth > 100)")
    assert page.locator(".hit.gold img").get_attribute("alt") == f"page 1 of {pdf.name}"
    page.locator(".hit.gold summary").click()
    eventually(page, "document.querySelector('canvas.heat') !== null")
    drawn = "document.querySelector('canvas.heat').getContext('2d').getImageData(0, 0, 2, 2).data"
    opacity = page.evaluate(f"[...{drawn}].filter((_, at) => at % 4 === 3)")
    assert opacity == [0, 170, 85, 0]  # of 255: the page stays readable under the best patch
    over, under = (page.locator(f".heatmap {each}").bounding_box() for each in ("canvas", "img"))
    assert over == under


def test_the_page_of_a_document_is_drawn_with_what_was_found_on_it(
    watched: Watched, folder: Path, root: Path
) -> None:
    """No parser said where anything stands: it is found by its text, which has other spaces and markup."""
    runs = runs_on_a_page(root / "data" / "sample" / "kestrel-irrigation-trial.pdf")
    path = folder / "paper.html"
    path.write_text(report_html(runs, thumbnails=True), encoding="utf-8")
    page = watched.open(path.as_uri(), "view=question&id=q-003")
    assert texts(page, "article.card .loss")[0] == (
        "Lost by the retriever: page 3 was found, but not the passage with '41.5 crowns'."
    )
    assert texts(page, ".paper .legend li") == [
        "1 1. retrieved",
        "gold phrase \u201c130 micrometres\u201d",
    ]
    whole = page.locator(".paper .sheet img").bounding_box()
    phrase = page.locator(".paper .sheet .phrase").bounding_box()
    # PDFium finds it at 408 to 475 of 538.6 points from the left, and at 423 to 430 of 759.7 from the top
    assert abs((phrase["x"] - whole["x"]) / whole["width"] - 408 / 538.6) < 0.01
    assert abs((phrase["y"] - whole["y"]) / whole["height"] - 423 / 759.7) < 0.01
    assert page.locator(".paper .sheet .rank0").count() == 2  # two lines
    assert findings(page) == []
    page.locator("#enlarge").click()
    full = page.locator("dialog .sheet")
    assert full.bounding_box()["width"] > 1.5 * whole["width"]
    assert full.locator(".phrase").count() == 1
    assert findings(page) == []
    page.keyboard.press("Escape")
    eventually(page, "document.querySelector('dialog') === null")
    page.locator("#of-1").click()
    eventually(page, "document.getElementById('of-1').ariaPressed === 'true'")


def test_a_link_opens_the_same_view(browser: Any, watched: Watched, report: str) -> None:
    page = watched.open(report, "view=questions&runs=1&category=Images&outcome=wrong&q=door&order=hardest")
    page.wait_for_selector("ol.questions .badge")
    other = Watched(browser)
    again = other.open(report, page.url.split("#")[1])
    again.wait_for_selector("ol.questions .badge")
    assert texts(again, "ol.questions a") == texts(page, "ol.questions a")
    assert [again.locator(f"#{field}").input_value() for field in ("category", "outcome", "q", "order")] == [
        *("Images", "wrong", "door", "hardest")
    ]
    again.locator("ol.questions a").nth(3).click()
    again.wait_for_selector("article.run")
    again.go_back()
    again.wait_for_selector("ol.questions .badge")
    again.go_forward()
    again.wait_for_selector("article.run")
    again.locator("#up").click()
    again.wait_for_selector("ol.questions .badge")
    assert texts(again, "ol.questions a") == texts(page, "ol.questions a")
    other.close()


def test_an_address_that_means_nothing(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=constructor&runs=99,x&sort=best-nothing&page=-3&theme=pink")
    assert texts(page, "#title") == ["Overview"]
    assert len(runs_of(page)) == 3
    page = watched.open(report, "view=question&id=%3Cb%3E")
    assert "There is no question “<b>”" in texts(page, "main .note")[0]


# ---- for everybody


def test_light_and_dark(browser: Any, report: str) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        watched = Watched(browser, color_scheme=scheme)
        page = watched.open(report)
        seen[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        other = {"light": "Dark", "dark": "Light"}[scheme]
        page.get_by_role("button", name=other, exact=True).click()
        eventually(page, f"document.documentElement.dataset.theme === '{other.lower()}'")
        seen[f"{scheme} switched"] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(media="print")
        seen[f"{scheme} printed"] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert not page.locator("#views").is_visible()
        assert not page.locator("#scale-plain").is_visible()
        watched.close()
    white, black = "rgb(255, 255, 255)", "rgb(22, 24, 28)"
    assert seen["light"] == seen["dark switched"] == seen["light printed"] == seen["dark printed"] == white
    assert seen["dark"] == seen["light switched"] == black


def test_open_details_stay_open_when_the_theme_or_size_changes(watched: Watched, report: str) -> None:
    page = watched.open(report, "view=question&id=q-003")
    page.locator("#hit-1-1").click()
    page.locator(".hit mark").first.wait_for()
    page.get_by_role("button", name="Dark", exact=True).click()
    eventually(page, "document.documentElement.dataset.theme === 'dark'")
    assert page.evaluate("document.activeElement.id") == "theme-dark"
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_timeout(200)  # the page waits until the width is no longer changed
    page.locator(".hit mark").first.wait_for()
    page.locator("#after").click()
    eventually(page, "location.hash.includes('id=q-006')")
    assert "theme=dark" in page.url
    page = watched.open(report)
    page.locator("#funnel-figures").click()
    page.get_by_role("button", name="Paper\u2019s scale").click()
    eventually(page, "document.getElementById('scale-paper').ariaPressed === 'true'")
    page.locator("#funnel details[open] table").wait_for()


def test_the_keyboard_alone(watched: Watched, report: str) -> None:
    page = watched.open(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert texts(page, "#title") == ["Overview"]
    page.locator("#view-questions").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.questions .badge")
    page.locator("#question-3").focus()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector("article.run")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.title().startswith("q-009 · ")


AUDIT = """() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const check = (selector, good, what) => all(selector).forEach((e) => {
    if (!good(e)) wrong.push(what + e.outerHTML.slice(0, 90));
  });
  check('button, a, summary', (e) => e.getAttribute('aria-label') || e.textContent.trim(), 'no name: ');
  check('input, select', (e) => e.labels.length, 'no label: ');
  check('table', (e) => e.caption?.textContent, 'no caption: ');
  check('img', (e) => e.alt, 'no alt: ');
  check('svg:not([aria-hidden=true])', (e) => e.matches('[role=img]') && e.querySelector('title'), 'svg: ');
  const ids = all('[id]').map((e) => e.id);
  check('[id]', (e) => ids.filter((id) => id === e.id).length === 1, 'id twice: ');
  let last = 0;
  check('h1, h2, h3, h4, h5', (e) => {
    const next = Number(e.tagName[1]) <= last + 1;
    last = Number(e.tagName[1]);
    return next;
  }, 'skips a level: ');
  return [...wrong, ...['header', 'nav', 'main', 'footer'].filter((tag) => !document.querySelector(tag))];
}"""
VIEWS = ("view=overview", "view=compare", "view=questions", "view=question&id=q-001")


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_has_a_name_for_screen_readers(watched: Watched, report: str, view: str) -> None:
    page = watched.open(report, view)
    for closed in page.locator("main details").all():
        closed.evaluate("details => { details.open = true; }")
    assert page.evaluate(AUDIT) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_screen_does_not_scroll_sideways(narrow: Watched, report: str, view: str) -> None:
    page = narrow.open(report, view)
    for closed in page.locator("details").all():
        closed.evaluate("details => { details.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
