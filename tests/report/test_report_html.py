"""What `report.html` holds, read back as the page reads it; known answers are worked by hand."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import UsageError
from fathoms.report.html import payload, report_html
from fathoms.report.write import write_report
from fathoms.runs.run import Run
from fathoms.types import Attachment, FilePart, ImagePart, Message, TextPart
from tests.support.report_page import CHUNK, OVERVIEW, detail_of, highlighted, text_of, unpacked
from tests.support.run_in_memory import changed

Json = dict[str, Any]
SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)


def test_the_small_run_is_in_the_overview(small_run: Callable[..., Run]) -> None:
    overview, chunks = unpacked(report_html([small_run()]))
    [run] = overview["runs"]
    assert overview["title"] == "fathoms: small"
    assert overview["categories"] == ["Tables", "Images"]
    assert run["metrics"]["correctness"]["overall"]["mean"] == 0.375
    assert run["metrics"]["hallucination"]["categories"]["Images"] == {
        "mean": 1.0,
        "low": None,
        "high": None,
        "n": 1,
        "text": "1.00",
        "range": "",
    }
    assert run["counts"]["errors"] == 1
    assert run["errors"] == [{"kind": "Timeout", "n": 1, "example": "no answer within 300 s"}]
    assert run["cost"] == {"total": "$0.013", "per_question": {"value": None, "text": "not known"}}
    assert run["tokens"] == {"prompt": 300, "completion": 40}
    assert list(chunks) == ["index", "d0-0"]
    assert run["funnel"] is None


def test_the_abstention_table_is_that_of_the_other_reports(small_run: Callable[..., Run]) -> None:
    tables = {one["key"]: one for one in payload([small_run()]).overview["tables"]}
    assert tables["abstention"]["rows"] == [
        ["answerable", "2 (0.67)", "1 (0.33)"],
        ["unanswerable", "0", "0"],
    ]


def test_the_index_tells_what_became_of_each_question(small_run: Callable[..., Run]) -> None:
    _, chunks = unpacked(report_html([small_run()]))
    questions, [run] = chunks["index"]["questions"], chunks["index"]["runs"]
    assert dict(zip(questions["id"], run["outcome"], strict=True)) == {
        "half": "partial",
        "right": "correct",
        "failed": "error",
        "wrong": "wrong",
    }
    assert questions["category"] == ["Tables", "Tables", "Images", "Images"]
    assert questions["gold"][0] == "red + blue or purple"
    assert run["correctness"] == [0.5, 1.0, 0.0, 0.0]
    assert run["hallucination"] == [0.0, 0.0, None, 1.0]
    assert run["answer"][2] is None


def test_seconds_are_of_the_answers_that_were_really_asked(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    views = [question(f"q{number}", 1.0, 0.0) for number in range(5)]
    for number, view in enumerate(views):
        view["repeats"][0]["timings"] = {"retrieve": 0.5, "generate": float(number)}
    views[4]["repeats"][0]["answer"]["cached"] = True
    summary = dict(small_run().summary.plain())
    [run] = payload([run_of(summary, views)]).overview["runs"]
    assert run["seconds"]["stages"] == [
        {
            "name": "retrieve",
            "mean": 0.5,
            "text": "500 ms",
            "p50": "500 ms",
            "p95": "500 ms",
            "n": 4,
            "range": "",
        },
        {
            "name": "generate",
            "mean": 1.5,
            "text": "1.5 s",
            "p50": "1.5 s",
            "p95": "2.9 s",
            "n": 4,
            "range": "",
        },
    ]
    assert run["seconds"]["whole"] == {"mean": 2.0, "text": "2 s", "p50": "2 s", "p95": "3.4 s", "n": 4}
    assert run["cost"]["per_question"] == {"value": None, "text": "not known"}


def test_phrases_are_marked_in_the_answer_and_in_what_was_retrieved(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view = question("q", 0.5, 0.0)
    view["repeats"][0]["answer"]["text"] = "🐟 Red herrings are reddish."
    view["repeats"][0]["hits"][0]["text"] = "Blue. " * 40
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    found, texts = detail_of(chunks, 0, "q")
    assert found["phrases"] == ["red", "blue", "purple"]
    [repeat] = found["repeats"]
    assert highlighted(repeat["answer"], texts) == [("Red", 0), ("red", 0)]
    assert highlighted(repeat["hits"][0]["text"], texts) == [("Blue", 1)] * 40
    assert repeat["hits"][0]["gold"] is True


def test_images_and_files_stand_between_the_texts_as_they_were_sent(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    file = Attachment(document="a.pdf", pages=(1, 2), path=Path("parts/a.pdf"), sha256="", size=1)
    image = ImagePart(image=Path("images/red.png"))
    parts = (TextPart(text="This is red:"), image, FilePart(file=file), TextPart(text="Why?"))
    view = question("q", 1.0, 0.0)
    message = Message(role="user", parts=parts).model_dump(mode="json")
    view["repeats"][0]["prompt"] = {"messages": [message]}
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    found, texts = detail_of(chunks, 0, "q")
    [shown] = found["repeats"][0]["prompt"]["messages"]
    assert [text_of(part, texts) for part in shown["parts"]] == [
        "This is red:",
        "[red.png]",
        "[a.pdf, pages 1, 2]",
        "Why?",
    ]
    assert shown["attached"] == ["a.pdf, pages 1, 2", "red.png"]


def test_a_prompt_refers_to_what_was_retrieved(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view = question("q", 1.0, 0.0)
    texts = ["All red things are listed in this table. " * 5, "Nothing is blue in here, not one thing. " * 5]
    view["repeats"][0]["hits"] = [
        {"rank": rank, "score": 1 / rank, "document": "a.pdf", "pages": [rank], "text": text}
        for rank, text in enumerate(texts, 1)
    ]
    whole = f"Context: {texts[1]}\n---\n{texts[0]}\nWhat?"
    view["repeats"][0]["prompt"]["messages"] = [{"role": "user", "text": whole}]
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    found, pool = detail_of(chunks, 0, "q")
    [repeat] = found["repeats"]
    parts = repeat["prompt"]["messages"][0]["parts"]
    assert [part.get("hit") for part in parts] == [None, 2, None, 1, None]
    said = {hit["rank"]: text_of(hit["text"], pool) for hit in repeat["hits"]}
    assert "".join(said[part["hit"]] if "hit" in part else text_of(part, pool) for part in parts) == whole
    assert sum(text in pool for text in texts) == 2
    assert [hit["gold"] for hit in repeat["hits"]] == [False, True]


def test_what_the_chunker_wrote_before_a_text_is_marked_too(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view = question("q", 1.0, 0.0)
    view["repeats"][0]["hits"][0] |= {"header": "file_name: red.pdf", "modality": "text"}
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    found, texts = detail_of(chunks, 0, "q")
    [hit] = found["repeats"][0]["hits"]
    assert highlighted(hit["header"], texts) == [("red", 0)]
    assert hit["modality"] == "text"


def test_the_funnel_of_a_question(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view = question("q", 0.0, 1.0)
    view["repeats"][0]["scores"]["paper"]["funnel"] = {
        "documents": 1.0,
        "retrieved": 0.5,
        "prompt": 0.5,
        "answer": 0.0,
        "lost": {"documents": 0.0, "retrieved": 0.5, "prompt": 0.0, "answer": 0.5},
        "gained": {},
        "missed": {"red": "retrieved", "blue": "answer"},
        "left_out": None,
        "chance": 0.0,
    }
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    found, _ = detail_of(chunks, 0, "q")
    stages = found["repeats"][0]["funnel"]
    assert [(stage["stage"], stage["lost"], stage["missed"]) for stage in stages] == [
        ("documents", "0.00", []),
        ("retrieved", "0.50", ["red"]),
        ("prompt", "0.00", []),
        ("answer", "0.50", ["blue"]),
    ]
    assert chunks["index"]["runs"][0]["lost"] == ["retrieved"]


def test_runs_over_different_data_stand_side_by_side(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    first, second = dict(small_run().summary.plain()), dict(small_run().summary.plain())
    second |= {"run": "another", "name": "other", "data": "mine"}
    same, other = question("same", 1.0, 0.0), question("q1", 0.0, 1.0, text="Another question?")
    runs = [run_of(first, [question("q1", 1.0, 0.0), same]), run_of(second, [other, same])]
    overview, chunks = unpacked(report_html(runs))
    index = chunks["index"]
    assert index["questions"]["id"] == ["q1", "q1 (mine)", "same"]
    assert [run["outcome"] for run in index["runs"]] == [
        ["correct", None, "correct"],
        [None, "wrong", "correct"],
    ]
    assert [run["detail"] for run in index["runs"]] == [[0, -1, 0], [-1, 0, 0]]
    assert overview["same_questions"] is False
    assert detail_of(chunks, 1, "q1 (mine)")[0]["id"] == "q1 (mine)"


def test_runs_without_a_name_of_their_data_are_told_apart(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    first = {**small_run().summary.plain(), "data": None}
    second = {**first, "run": "another"}
    other = question("q1", 0.0, 1.0, text="Another question?")
    _, chunks = unpacked(report_html([run_of(first, [question("q1", 1.0, 0.0)]), run_of(second, [other])]))
    assert chunks["index"]["questions"]["id"] == ["q1", "q1 (another)"]


def test_categories_may_have_any_name(small_run: Callable[..., Run]) -> None:
    run = small_run()
    stages = [
        {"answer": {"recall": recall, "n": 2}, "prompt": {"recall": 1.0, "n": 2}}
        for recall in (0.25, 0.5, 0.75)
    ]
    funnel = {"overall": stages[0], "categories": {"Hard*": stages[1], "Overall": stages[2]}}
    run.summary_json["profiles"]["paper"]["funnel"] = funnel
    [found] = payload([run]).overview["runs"]
    assert found["funnel"]["overall"]["recall"]["answer"] == 0.25
    recalls = {name: stage["recall"]["answer"] for name, stage in found["funnel"]["categories"].items()}
    assert recalls == {"Hard*": 0.5, "Overall": 0.75}


def test_repeats_are_all_there(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view, again = question("q", 1.0, 0.0), question("q", 0.0, 1.0)
    view["repeats"].append({**again["repeats"][0], "repeat": 1})
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), [view])]))
    [run] = chunks["index"]["runs"]
    assert (run["correctness"], run["hallucination"], run["outcome"]) == ([0.5], [0.5], ["partial"])
    assert [repeat["repeat"] for repeat in detail_of(chunks, 0, "q")[0]["repeats"]] == [0, 1]


def test_unanswerable_and_refused_questions_have_outcomes_of_their_own(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    views = [question(name, None, None, answerable=False, answers=[]) for name in ("a", "b", "c")]
    for view, abstained in zip(views, (True, False, None), strict=True):
        view["repeats"][0]["scores"]["paper"]["abstained"] = abstained
    views[2]["repeats"][0]["answer"]["refusal"] = "policy"
    _, chunks = unpacked(report_html([run_of(dict(small_run().summary.plain()), views)]))
    assert chunks["index"]["runs"][0]["outcome"] == [
        "right to abstain",
        "answered the unanswerable",
        "refused",
    ]
    assert chunks["index"]["questions"]["answerable"] == [False] * 3


def test_a_run_without_a_scored_question_has_a_report(
    run_of: Callable[..., Run], small_run: Callable[..., Run]
) -> None:
    summary = dict(small_run().summary.plain())
    overall = {"correctness": None, "hallucination": None, "n": 0, "hallucination_n": 0, "errors": 0}
    summary["profiles"] = {"paper": {"overall": overall, "categories": {}}}
    overview, chunks = unpacked(report_html([run_of(summary, [])]))
    [run] = overview["runs"]
    assert run["metrics"]["correctness"]["overall"]["mean"] is None
    assert overview["tables"] == []
    assert chunks["index"]["questions"]["id"] == []


def test_secrets_are_masked_and_the_names_of_variables_are_not(
    run_of: Callable[..., Run], small_run: Callable[..., Run]
) -> None:
    config = {
        "generate": {"api_key": "sk-1234567890", "api_key_env": "OPENAI_API_KEY", "max_tokens": 5},
        "pipeline": {"url": "https://me:hunter2@example.org/rag", "headers": {"Authorization": "Bearer x"}},
        "more": {
            "secret_key": "hide-1",
            "key": "hide-2",
            "private_key": "hide-3",
            "api_keys": ["hide-4"],
            "accessToken": "hide-5",
            "openaiApiKey": "hide-6",
            "url": "https://example.org/rag?n=3&api_key=hide-7",
        },
        "retrieve": {"of": [{"kind": "dense"}, {"kind": "bm25"}], "weights": None},
    }
    run = small_run()
    run = changed(run, manifest={**run.manifest.plain(), "config": config})
    text = report_html([run])
    lines = dict(unpacked(text)[0]["runs"][0]["config"])
    hidden = ("sk-1234567890", "hunter2", "Bearer x", *(f"hide-{number}" for number in range(1, 8)))
    assert not any(secret in text for secret in hidden)
    assert lines["more.url"] == "https://example.org/rag?n=3&api_key=***"
    assert lines["generate.api_key_env"] == "OPENAI_API_KEY"
    assert lines["generate.max_tokens"] == "5"
    assert lines["pipeline.url"] == "https://***@example.org/rag"
    assert lines["retrieve.of.1.kind"] == "bm25"
    assert lines["retrieve.weights"] == "none"


def test_the_file_asks_no_network(small_run: Callable[..., Run]) -> None:
    text = report_html([small_run()])
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    [script] = SCRIPT.findall(text)
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{known}'" in policy
    assert "default-src 'none'" in policy
    shown = CHUNK.sub("", OVERVIEW.sub("", text))
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", shown)) - {
        "http://www.w3.org/2000/svg"
    }
    assert not addresses
    assert not re.search(r"<(?:link|img|iframe|script)[^>]+(?:src|href)=[\"'](?!data:)", shown)


HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "{{ 7 * 7 }} {% raw %} ${x}",
    "line\u2028separator\u2029",
    "]]> & &lt; \"quotes' \\u003c",
    "\u202eright to left\u2066",
    "tab\tand\x1b[31mescape",
]


def test_hostile_texts_come_back_as_they_were(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    summary = dict(small_run().summary.plain())
    plain_file = report_html([small_run()])
    evil = " ".join(HOSTILE)
    view = question("q", 0.0, 1.0, text=evil, category=evil, answers=[[evil]], reference=evil)
    view["repeats"][0]["answer"]["text"] = evil
    view["repeats"][0]["hits"][0] |= {"text": evil, "document": evil}
    summary |= {"name": evil, "model": evil, "categories": [evil], "data": evil}
    text = report_html([run_of(summary, [view])])
    overview, chunks = unpacked(text)
    found, texts = detail_of(chunks, 0, "q")
    [repeat] = found["repeats"]
    assert overview["runs"][0]["model"] == evil
    assert text_of(found["question"], texts) == text_of(repeat["answer"], texts) == evil
    assert found["reference"] == repeat["hits"][0]["document"] == evil
    assert highlighted(repeat["answer"], texts) == [(evil, 0)]
    assert text.count("</script") == plain_file.count("</script")
    assert text.count("<!--") == plain_file.count("<!--")
    assert "49" not in re.findall(r"<title>(.*?)</title>", text, re.DOTALL)[0]


def test_what_no_page_can_show_is_replaced(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> None:
    view = question("q", 1.0, 0.0)
    view["repeats"][0]["answer"]["text"] = "nul \0, written \\u0000, half \ud83d red"
    view["repeats"][0]["answer"]["latency"] = float("inf")
    text = report_html([run_of(dict(small_run().summary.plain()), [view])])
    text.encode()
    found, texts = detail_of(unpacked(text)[1], 0, "q")
    assert text_of(found["repeats"][0]["answer"], texts) == "nul \u2400, written \\u0000, half \ufffd red"
    assert highlighted(found["repeats"][0]["answer"], texts) == [("red", 0)]


def test_the_same_runs_give_the_same_bytes(small_run: Callable[..., Run]) -> None:
    assert report_html([small_run()]) == report_html([small_run()])


@pytest.mark.slow
def test_it_is_written_beside_the_others(run_dir: Path, tmp_path: Path) -> None:
    [page, *_] = write_report([Run.scored(run_dir)], tmp_path / "out")
    assert page.name == "report.html"
    _, chunks = unpacked(page.read_text(encoding="utf-8"))
    assert detail_of(chunks, 0, "right")[0]["file"] == "questions/right.json"
    assert not any(
        path.name == "report.html" for path in write_report([Run.scored(run_dir)], tmp_path, html=False)
    )
    with pytest.raises(UsageError):
        write_report([Run.scored(run_dir)], tmp_path, "no-such-profile")
