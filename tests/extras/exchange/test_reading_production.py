"""Traces of production: chosen by time, without near duplicates, sampled by route with known weights,
redacted before anything is stored, and with the calls of tools."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms import scoring
from fathoms.compare.compare import compare
from fathoms.compare.question_scores import read_scores
from fathoms.errors import DataError, UsageError
from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.traces.reading import read_traces
from fathoms.extras.exchange.reading.traces.redacting import KINDS
from fathoms.extras.exchange.reading.traces.sampling import (
    BLOCK,
    Selection,
    _standing,
    first_alike,
    shares,
    since_of,
)
from fathoms.gate.against_baseline import require_verdicts
from fathoms.importers import keep
from fathoms.metrics.registry import named
from fathoms.report.evidence import grades_table
from fathoms.runs.run import Run
from fathoms.types import Reply
from tests.extras.exchange.test_reading_traces import ANSWER, T0, chat, lines, otlp, span
from tests.support.project import Project


def trace(number: int, question: str, route: str = "", answer: str = ANSWER, *more: Any) -> Any:
    """A call in a span of a web server that names the route."""
    name = f"{number:x}"
    top = span(name, "1", number, **({"http__route": route} if route else {}))
    spans = [top, chat(name, "2", number + 0.1, "1", [("user", question)], answer=answer), *more]
    for one in spans:
        one["traceId"] = f"{number:032x}"
    return otlp(*spans)


def test_shares_by_hand() -> None:
    """In proportion, at least two of each, and all of a stratum that has fewer."""
    assert shares({"a": 80, "b": 20}, 10) == {"a": 8, "b": 2}
    assert shares({"a": 97, "b": 2, "c": 1}, 10) == {"a": 7, "b": 2, "c": 1}
    assert shares({"a": 5, "b": 4}, 4) == {"a": 2, "b": 2}
    for size in range(7, 60):
        found = shares({"a": 40, "b": 13, "c": 7, "d": 1}, size)
        assert sum(found.values()) == size
        assert all(2 <= found[name] <= most for name, most in (("a", 40), ("b", 13), ("c", 7)))
    with pytest.raises(DataError, match="too small: 3 categories need at least 6"):
        shares({"a": 9, "b": 9, "c": 9}, 5)


def test_near_duplicates_by_hand() -> None:
    vectors = {"a": (1, 0), "b": (0.96, 0.28), "c": (0.8, 0.6), "d": (0, 1)}

    def embed(texts: list[str]) -> Any:
        return np.array([vectors[text] for text in texts])

    # b is like a; c is like b, which does not stand for itself, and not like a
    assert first_alike(["a", "b", "c", "a", "d", "b"], 0.95, embed) == [0, 0, 2, 0, 4, 0]
    assert first_alike(["b", "c"], 0.93, embed) == [0, 0]


def test_near_duplicates_are_found_block_by_block() -> None:
    """As by comparing one question after the other; twice as many questions take hardly more memory, where
    all pairs would take four times as much."""
    draw = np.random.default_rng(1)
    centres = draw.normal(size=(700, 6))
    peaks = []
    for count in (2 * BLOCK + 7, 4 * BLOCK):
        points = centres[draw.integers(700, size=count)] + 0.1 * draw.normal(size=(count, 6))
        vectors = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
        tracemalloc.start()
        found = first_alike(list(map(str, range(count))), 0.985, lambda texts, own=vectors: own)  # type: ignore[misc]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    standing: list[int] = []
    for at, vector in enumerate(vectors):
        near = np.flatnonzero(vectors[standing] @ vector >= 0.985) if standing else np.empty(0)
        assert found[at] == (standing[near[0]] if near.size else at)
        standing += [] if near.size else [at]
    assert BLOCK < len(standing) < 3 * BLOCK
    assert peaks[1] < 1.6 * peaks[0]


class Counted(np.ndarray[Any, Any]):
    """Vectors that count how many pairs of them are multiplied."""

    pairs = 0

    def __matmul__(self, other: Any) -> Any:
        Counted.pairs += len(self) * other.shape[1]
        return np.asarray(self) @ np.asarray(other)


def test_many_questions_that_are_alike_take_comparisons_in_proportion_to_their_number() -> None:
    """Each is compared with its block and with the 100 different ones, and not with all before it."""
    draw = np.random.default_rng(1)
    centres = draw.normal(size=(100, 32))
    for count in (5_000, 10_000):
        vectors = centres[draw.integers(100, size=count)] + 0.001 * draw.normal(size=(count, 32))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        Counted.pairs = 0
        found = _standing(vectors.astype(np.float32).view(Counted), 0.95)
        assert len(set(found)) == 100
        assert count * BLOCK * 0.9 < Counted.pairs <= count * (BLOCK + 100)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Write to ada.karim+x@mail.example.org, please", "Write to [email], please"),
        ("Call +49 30 123456-78 or 0301234567 now", "Call [phone] or [phone] now"),
        ("(555) 123-4567; 030/1234567", "[phone]; [phone]"),
        ("DE89 3704 0044 0532 0130 00 is mine", "[iban] is mine"),
        ("GB82WEST12345698765432.", "[iban]."),
        ("GB83WEST12345698765432.", None),  # wrong check digits
        ("41.5 m, 2026-11-27, page 120, 1 234 567 people, v1.0.2", None),
        ("error 0x80070005, part 12345678, 10.0.0.1", None),
        ("@ada and a@b", None),
    ],
)
def test_what_is_redacted(text: str, plain: str | None) -> None:
    found = text
    for kind in KINDS:
        found = KINDS[kind](found)
    assert found == (text if plain is None else plain)


def test_nothing_personal_is_stored(project: Project) -> None:
    """In questions, answers, contexts, earlier turns, tools, errors and the names of conversations."""
    mail, phone = "ada@example.org", "+49 30 1234567"
    tool = span(
        "1",
        "3",
        1.2,
        "1",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="lookup",
        gen_ai__tool__call__arguments=json.dumps({"user": mail}),
        gen_ai__tool__call__result=f"{phone} found",
    )
    search = span(
        "1",
        "4",
        1.1,
        "1",
        gen_ai__operation__name="retrieval",
        gen_ai__retrieval__query__text=f"Who is {mail}?",
        gen_ai__retrieval__documents=json.dumps([{"content": f"Ada: {mail}", "id": "a.pdf", "score": 1}]),
    )
    first = trace(1, f"Who is {mail}?", "ask", f"Call {phone}.", tool, search)
    second = otlp(
        chat("2", "1", 9, "", [("user", mail), ("assistant", phone), ("user", "And now?")], answer="Yes.")
        | {"status": {"code": 2, "message": f"{mail} is wrong"}},
    )
    file = lines(project.path / "traces.jsonl", first, second)
    done = project.fathoms("import", "otel", file.name, "--redact", "email,phone", "--name", "live")
    assert done.returncode == 0, done.stderr
    stored = [one for one in (project.path / "runs").rglob("*") if one.is_file()]
    assert stored
    for one in stored:
        text = one.read_bytes()
        assert mail.encode() not in text, one
        assert b"1234567" not in text, one
    shown = project.fathoms("show", "live", "--question", f"{1:032x}").stdout
    assert 'tool 1: lookup({"user": "[email]"})' in shown.replace("\n", " ")
    assert "[phone] found" in " ".join(shown.split())


def test_a_sample_by_route_weighs_its_figures(tmp_path: Path) -> None:
    """12 questions of one route, of 1 s each, and 4 of another, of 3 s each; 2 of each are drawn, so that one
    of the first stands for 6 and one of the second for 2."""
    rows = [trace(at + 1, f"Question {at}?", "/a" if at < 12 else "/b") for at in range(16)]
    file = lines(tmp_path / "traces.jsonl", *rows)
    imported = read_traces(file, Options(), Selection(by="route", sample=4))
    assert imported.population == {"/a": 12, "/b": 4}
    assert Counter(one.category for one in imported.questions) == {"/a": 2, "/b": 2}
    again = read_traces(file, Options(), Selection(by="route", sample=4))
    assert again.questions == imported.questions
    other = read_traces(file, Options(), Selection(by="route", sample=4, seed=1))
    assert other.questions != imported.questions
    seconds = {"/a": 1.0, "/b": 3.0}
    records = tuple(
        one.model_copy(update={"answer": Reply(text=ANSWER, latency=seconds[one.question.category])})
        for one in imported.records
    )
    run = keep(replace(imported, records=records), "live", tmp_path)
    summary = scoring.score_run(run, (), named(["latency", "abstention-f1", "correctness"]))
    latency = summary.metrics["latency"]
    assert latency.pooling == "questions"
    assert latency.overall.value == pytest.approx((12 * 1 + 4 * 3) / 16)
    assert {name: one.value for name, one in latency.categories.items()} == {"/a": 1.0, "/b": 3.0}
    assert any("random sample with other rates" in warning for warning in summary.warnings)
    assert "has no figure over all questions of a weighted sample" in str(
        summary.metrics["abstention-f1"].missing
    )
    assert summary.profiles["fathoms"].abstention_rates is None
    assert run.manifest.data.weights == {"/a": 6.0, "/b": 2.0}

    slower = tuple(
        one.model_copy(
            update={"answer": Reply(text=ANSWER, latency=2.0 if one.question.category == "/a" else 7.0)}
        )
        for one in imported.records
    )
    other = keep(replace(imported, records=slower), "slower", tmp_path)
    scoring.score_run(other, (), named(["latency", "abstention-f1"]))
    scores = [read_scores(one) for one in (run, other)]
    (found,) = compare(scores, ["latency"]).tests
    assert (found.micro.first, found.micro.second) == pytest.approx((24 / 16, (12 * 2 + 4 * 7) / 16))
    assert found.micro.difference == pytest.approx((12 * 1 + 4 * 4) / 16)
    assert found.overall.difference == pytest.approx((1 + 4) / 2)
    with pytest.raises(
        DataError, match=r"abstention-f1 adds up counts .* are a weighted sample: name a metric"
    ):
        compare(scores, ["abstention-f1"])
    with pytest.raises(DataError, match="adds up counts"):
        require_verdicts(scores[0], "abstention-f1")
    changed = scores[1].model_copy(update={"weights": {"/a": 1.0, "/b": 2.0}})
    with pytest.raises(DataError, match="samples with other rates by category"):
        compare([scores[0], changed], ["latency"])


def test_what_cannot_be_chosen_is_refused(tmp_path: Path) -> None:
    file = lines(tmp_path / "traces.jsonl", trace(1, "One?"), trace(2, "Two?", "/a"))
    assert since_of("7d", 10 * 86_400) == 3 * 86_400
    assert since_of("1970-01-02", 0) == 86_400
    with pytest.raises(UsageError, match="--since soon: name a time such as 7d"):
        since_of("soon", 0)
    late = read_traces(file, Options(), Selection(since=T0 + 1.5))
    assert [one.text for one in late.questions] == ["Two?"]
    assert any("1 of 2 questions are older than --since" in one for one in late.warnings)
    with pytest.raises(DataError, match="no question is left"):
        read_traces(file, Options(), Selection(since=T0 + 100))
    with pytest.raises(DataError, match="--by tenant: no span has an attribute of this name"):
        read_traces(file, Options(), Selection(by="tenant"))
    routed = read_traces(file, Options(), Selection(by="route"))
    assert [one.category for one in routed.questions] == ["Uncategorised", "/a"]
    assert routed.population == {}


def test_near_duplicates_of_traces_are_left_out_and_counted(tmp_path: Path) -> None:
    texts = ["How tall is the mast?", "How tall is the mast", "Who built the bridge?"]
    file = lines(tmp_path / "traces.jsonl", *(trace(at, text) for at, text in enumerate(texts, 1)))
    found = read_traces(file, Options(), Selection(alike=0.95))
    assert [(one.text, one.metadata.get("asked_times")) for one in found.questions] == [
        (texts[0], 2),
        (texts[2], None),
    ]
    assert any("1 of 3 questions are near duplicates" in one for one in found.warnings)


def test_what_was_answered_by_the_grades_and_what_was_said_before_are_shown(project: Project) -> None:
    """Of three questions with a passage that answers, one is answered and two abstained from; of two without,
    one is answered and one asked back."""
    good, bad = "The mast is 41 m tall.", "Nothing of use."
    wanted = [
        (good, "It is 41 m."),
        (good, "I do not know."),
        (good, "I cannot answer that."),
        (bad, "It is 40 m."),
        (bad, "Which mast do you mean?"),
    ]
    rows = []
    for at, (passage, answer) in enumerate(wanted, 1):
        documents = json.dumps([{"content": passage, "id": "a.pdf"}])
        search = span(
            f"{at:x}",
            "3",
            at + 0.05,
            "1",
            gen_ai__operation__name="retrieval",
            gen_ai__retrieval__query__text="mast",
            gen_ai__retrieval__documents=documents,
        )
        rows.append(trace(at, f"How tall is mast {at}?", "", answer, search))
    said = [("user", "Is there a mast?"), ("assistant", "There is.\nIt is old."), ("user", "And a lift?")]
    rows.append(otlp(chat("9", "1", 9, "", said, answer="No.") | {"traceId": f"{9:032x}"}))
    file = lines(project.path / "traces.jsonl", *rows)
    assert project.fathoms("import", "otel", file.name, "--name", "live").returncode == 0
    project.write("judge.yaml", "kind: scripted\nlabels_by: {41 m tall: '3'}\n")
    done = project.fathoms("score", "live", "--metric", "umbrela", "--judge", "judge.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    table = grades_table(Run.open("live", project.path / "runs"), None)
    assert table is not None
    assert table.lines == {"answered": (1, 1), "abstained": (2, 0), "asked back": (0, 1)}
    shown = " ".join(project.fathoms("show", "live", "--all").stdout.split())
    assert "answers by grades" in shown
    assert "answered 1 (0.33) 1 (0.50)" in shown
    assert "asked back 0 1 (0.50)" in shown
    one = project.fathoms("show", "live", "--question", f"{9:032x}").stdout
    assert "said before:\n  user: Is there a mast?\n  assistant: There is.\n  It is old.\n" in one
