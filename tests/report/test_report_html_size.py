"""How much `report.html` holds: what is shortened, by what, and what is said of it."""

from __future__ import annotations

import base64
import copy
import gzip
import hashlib
import json
from collections.abc import Callable
from typing import Any

from fathoms.report.as_csv import report_csv
from fathoms.report.html import payload, report_html
from fathoms.report.html.texts import Pool, units
from fathoms.runs.run import Run
from tests.support.report_page import detail_of, highlighted, unpacked

Json = dict[str, Any]


def test_what_was_cut_is_counted_as_the_page_counts() -> None:
    pool = Pool()
    user = pool.add("\U0001f41f" * 150)
    pool.cut(100)
    assert (user["cut"], units(pool.texts[0])) == (300, 200)


def test_long_texts_are_cut_where_room_is_short_and_it_is_said(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    views = [question(f"q{number}", 1.0, 0.0) for number in range(60)]
    for number, view in enumerate(views):
        noise = hashlib.shake_256(bytes([number])).hexdigest(4000)
        view["repeats"][0]["hits"][0]["text"] = f"red {noise} blue"
    run = run_of({**small_run().summary.plain(), "counts": {"asked": 60}}, views)
    whole, cut = payload([run]), payload([run], size=100_000)
    sizes = [
        sum(len(chunk.data) for chunk in result.chunks if chunk.name != "index") for result in (whole, cut)
    ]
    assert sizes[0] > 300_000
    assert sizes[1] < 100_000
    assert not whole.warnings
    assert cut.overview["notes"] == cut.warnings
    assert "shortened" in cut.warnings[0]
    chunk = next(chunk for chunk in cut.chunks if chunk.name == "d0-0")
    covered_in = json.loads(gzip.decompress(base64.b64decode(chunk.data)))
    found = covered_in["questions"]["q0"]
    text = found["repeats"][0]["hits"][0]["text"]
    assert text["cut"] == 8009
    assert len(covered_in["texts"][text["p"]]) < 8009
    assert (highlighted(text, covered_in["texts"]), text["beyond"]) == ([("red", 0)], 1)
    assert found["file"] == "questions/q0.json"


def test_of_many_questions_the_details_are_those_of_the_wrong_ones_first(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    """Of ten questions, q2 and q9 are wrong and q5 is made up: with room for five, two of the other seven."""
    fields = {2: (0.5, 0.0), 5: (1.0, 1.0), 9: (0.0, 1.0)}
    views = [question(f"q{number}", *fields.get(number, (1.0, 0.0))) for number in range(10)]
    run, other = (
        run_of({**small_run().summary.plain(), "counts": {"asked": 10}}, copy.deepcopy(views)) for _ in "ab"
    )
    few = payload([run], detailed=5)
    index = next(json.loads(gzip.decompress(base64.b64decode(one.data))) for one in few.chunks)
    [columns] = index["runs"]
    shown = [id for id, at in zip(index["questions"]["id"], columns["detail"], strict=True) if at >= 0]
    assert shown == ["q0", "q2", "q4", "q5", "q9"]
    assert columns["correctness"] == [1, 1, 0.5, 1, 1, 1, 1, 1, 1, 0]
    assert None not in columns["answer"]
    assert "5 of 10 questions" in few.warnings[0]
    assert {one["id"] for one in few.overview["runs"][0]["standing"]["telling"]} <= set(shown)
    assert run.tables  # the lines of scores.csv, collected meanwhile
    assert report_csv([run]) == report_csv([other])


def test_no_text_of_a_view_is_without_limit(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    noise = [hashlib.shake_256(bytes([number])).hexdigest(2000) for number in range(60)]
    views = [
        question(f"q{number}", 1.0, 0.0, reference=text, evidence=[{"document": "a.pdf", "quote": text}])
        for number, text in enumerate(noise)
    ]
    for view, text in zip(views, noise, strict=True):
        [repeat] = view["repeats"]
        repeat["citations"] = [{"document": "a.pdf", "page": 1, "quote": text}]
        repeat["answer"]["refusal"] = text
        repeat["scores"]["paper"] |= {"missed": [text], "why": {"nearest": text, "all": [text]}}
    run = run_of({**small_run().summary.plain(), "counts": {"asked": 60}}, views)
    _, chunks = unpacked(report_html([run]))
    found, _ = detail_of(chunks, 0, "q7")
    [repeat] = found["repeats"]
    assert found["reference"] == noise[7][:2000] + "…"
    assert found["evidence"][0]["quote"] == repeat["citations"][0]["quote"] == noise[7][:400] + "…"
    assert repeat["scores"]["missed"] == [noise[7][:400] + "…"]
    assert repeat["scores"]["why"]["nearest"] == noise[7][:600] + "…"
    assert len(repeat["refusal"]) == len(repeat["scores"]["why"]["all"]) == 601


def test_a_run_that_stopped_early_leaves_its_room_to_the_next(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    def run_with(wanted: int, unanswered: int, views: list[Json]) -> Run:
        counts = {"asked": wanted, "unanswered": unanswered}
        return run_of({**small_run().summary.plain(), "counts": counts}, views)

    views = [question(f"q{number}", 1.0, 0.0) for number in range(20)]
    for number, view in enumerate(views):
        view["repeats"][0]["hits"][0]["text"] = hashlib.shake_256(bytes([number])).hexdigest(2000)
    short = [question("short", 1.0, 0.0)]
    for first in (
        run_with(1000, 999, short),
        run_with(30, 0, short),
    ):  # it says so, or has no views of the rest
        assert not payload([first, run_with(20, 0, views)], size=120_000).warnings
    assert payload([run_with(20, 0, views)], size=48_000).warnings  # 20 of 50 parts of the room
