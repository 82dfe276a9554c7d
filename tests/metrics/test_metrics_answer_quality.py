"""The five grades of interleaved answers: replies as judges write them, and the grades of the release."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fathoms.judges.asking import Bench, Judged, Spending, decided
from fathoms.judges.journal import open_journal
from fathoms.judges.llm import LLMJudge
from fathoms.judges.replies import read_grades
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.metric import Facts
from fathoms.metrics.pooling import JudgedBy, Pool
from fathoms.metrics.quotes.quality import graded_answer
from fathoms.metrics.registry import named, sets
from fathoms.metrics.score_records import RecordScore
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Failure, Judgement, Question, Quote, Record, Reply, Verdict
from tests.support.mmdocrag import GRADES

QUESTION = Question(
    id="q",
    text="How tall?",
    category="A",
    reference="It is 41 m tall [1].",
    short_answer="41 m",
    quotes=(Quote(id="text1", gold=True),),
)


def record(answer: str | None, id: str = "q", **more: object) -> Record:
    reply = None if answer is None else Reply(text=answer)
    error = Failure(kind="Timeout", message="late") if answer is None else None
    question = QUESTION.model_copy(update={"id": id, "text": f"How tall is {id}?"})
    return Record(question=question, answer=reply, error=error, **more)  # type: ignore[arg-type]


def verdict(one: Record, reply: object) -> Verdict:
    graded = graded_answer(one)
    found = read_grades(reply) or {"label": "unparsed"}
    return Verdict(claim=graded.claim, premise=graded.premise, **found)


def means(judged: list[tuple[Record, object]], family: str) -> list[float | None]:
    verdicts = {graded_answer(one): verdict(one, reply) for one, reply in judged}
    found = []
    for metric in named(sets()[family]):
        pool = Pool(metric)
        for one, _ in judged:
            pool.add(one.question, metric.of(Facts(one, RecordScore(), verdicts=verdicts)))
        found.append(pool.figures(JudgedBy("judge", "key")).overall.value)
    return [None if value is None else round(value, 2) for value in found]


@pytest.mark.slow
def test_the_released_grades_of_gpt_4_1(shared: Path) -> None:
    """The means as printed (a misspelt key counts 0), and those of the grades that the judge gave."""
    path = shared / "mmdocrag" / "judge" / "gpt-4.1_pure-text_quotes20_llm-judge.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    judged = [(record("Tall.", str(row["q_id"])), row["response"]) for row in rows]
    assert means(judged, "mmdocrag-quality-released") == [4.56, 3.74, 4.15, 3.98, 3.92, 4.07]
    assert means(judged, "mmdocrag-quality") == [4.57, 3.75, 4.15, 3.98, 3.93, 4.08]


def test_what_cannot_be_read_is_counted_and_never_0() -> None:
    good = dict.fromkeys(GRADES, 4)
    judged: list[tuple[Record, object]] = [
        (record("a", "1"), good),
        (record("b", "2"), {**good, "Fluency": 9}),
        (record("c", "3"), "no JSON at all"),
        (record("d", "4"), {"fluency ": "2/5", " Factuality": 1}),
    ]
    assert means(judged, "mmdocrag-quality") == [3.0, 4.0, 4.0, 4.0, 3.0, 3.17]
    assert means(judged, "mmdocrag-quality-released")[1:5] == [2.0, 2.0, 2.0, 2.0]
    (metric,) = named(["mmdocrag.fluency"])
    pool = Pool(metric)
    for one, reply in judged:
        facts = Facts(one, RecordScore(), verdicts={graded_answer(one): verdict(one, reply)})
        pool.add(one.question, metric.of(facts))
    figures = pool.figures(JudgedBy("judge", "key")).plain()
    assert figures["counted"] == {"grades that the judge did not give, or that could not be read": 2}
    assert (figures["judged"]["items"], figures["judged"]["unjudged"]) == (4, 2)
    assert (figures["judged"]["lowest"], figures["judged"]["highest"]) == (1.5, 4.0)


@pytest.mark.parametrize(
    ("answer", "more", "wanted"),
    [
        ("Tall.", {}, 1),
        ("<think>Hm [3].</think>\n\nTall.", {}, 1),
        (" ", {}, 0),
        (None, {}, 0),
        (None, {"released": {"mmdocrag.fluency": 4}}, 1),
    ],
)
def test_what_is_judged(answer: str | None, more: dict[str, object], wanted: int) -> None:
    one = record(answer, **more)
    (metric,) = named(["mmdocrag.answer-quality"])
    lacking = metric.lacks(one)
    found = [] if lacking else metric.judgements(one, {})  # type: ignore[attr-defined]
    assert len(found) == wanted
    assert all("think" not in each.claim for each in found)
    if not wanted:
        assert metric.of(Facts(one, RecordScore())).value == 0


def test_a_model_grades_and_its_reply_is_kept(tmp_path: Path) -> None:
    grades = '{"Fluency": 5, "Citation Quality": 4, "Text-Image Coherence": 3, "Reasoning Logic": "4"'
    reply = f'Here: {grades}, " Factuality": 2'
    graded = graded_answer(record("Tall [1]."))
    found = []
    for _ in range(2):
        spending, judged = Spending(), Judged()
        judge = LLMJudge(model=ScriptedModel(default=reply))
        bench = Bench(judge, open_journal(tmp_path), Caller(), spending)
        asyncio.run(bench.ask([graded], judged))
        found.append((spending.calls, judged.verdicts[graded].grades))
    assert found[0] == (1, {**dict(zip(GRADES, (5, 4, 3, 4), strict=False)), " Factuality": 2})
    assert found[1] == (0, found[0][1])
    text = judge._messages(graded, graded.premise)[0].text
    assert "In short: 41 m\n\nIt is 41 m tall [1]." in text
    assert '{"Fluency": N' in text


def test_an_unreadable_reply_is_asked_for_once_more() -> None:
    judge = LLMJudge(model=ScriptedModel(default="It is a good answer."))
    (found,) = asyncio.run(judge.judge([graded_answer(record("Tall."))], Caller()))
    assert isinstance(found, Verdict)
    assert (found.label, found.grades) == ("unparsed", None)


def test_of_several_votes_each_grade_is_the_median() -> None:
    votes = [
        Verdict(claim="a", premise="b", label="graded", grades={"Fluency": n, key: 1})
        for n, key in ((5, "Factuality"), (2, " Factuality"), (4, "factuality"))
    ]
    assert decided(votes).grades == {"Fluency": 4, "Factuality": 1}


def test_the_scripted_judge_grades() -> None:
    judge = ScriptedJudge(labels_by={"wide": "5 4 3 2 1"})

    def grades(answer: str) -> list[float]:
        judgement = Judgement(claim=answer, premise="tall", rubric="quality")
        (found,) = asyncio.run(judge.judge([judgement], Caller()))
        assert isinstance(found, Verdict)
        return list((found.grades or {}).values())

    assert grades("It is wide.") == [5, 4, 3, 2, 1]
    assert grades("It is tall.") == [5] * 5
    assert grades("It is old.") == [0] * 5
