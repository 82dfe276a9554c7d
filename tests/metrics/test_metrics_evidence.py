"""The cross table of Double-Bench: hit or miss, answered or abstained, right, half right or wrong."""

from __future__ import annotations

from typing import Any

import pytest

from fathoms.metrics.correctness_judged import CorrectnessJudged
from fathoms.metrics.evidence import Cell, cell_of
from fathoms.metrics.judged_abstention import judgement
from fathoms.metrics.metric import Facts
from fathoms.metrics.pooling import Pool
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Evidence, Failure, Hit, Question, Record, Reply, Verdict

# Two hops: the first on page 1 or 2 of a.pdf, the second on page 5.
HOPS = ((1, 1), (2, 1), (5, 2))
QUESTION = Question(
    id="q",
    text="?",
    category="A",
    answers=(("blue",),),
    evidence=tuple(Evidence(document="a.pdf", page=page, step=step) for page, step in HOPS),
)


def record(*pages: int, of: Question = QUESTION, **changes: Any) -> Record:
    hits = [
        Hit(chunk=Chunk(id=str(page), document="a.pdf", pages=(page,), text="x"), score=1, rank=rank)
        for rank, page in enumerate(pages, 1)
    ]
    return Record(**{"question": of, "hits": tuple(hits), "answer": Reply(text="blue"), **changes})


def facts(
    one_record: Record, correctness: float | None = 1.0, abstained: bool | None = False, **more: Any
) -> Facts:
    label = None if abstained is None else "abstention" if abstained else "statement"
    return Facts(
        one_record, RecordScore(correctness=correctness, abstained=abstained, abstention=label), **more
    )


def test_a_hit_has_a_gold_page_of_every_hop() -> None:
    found = {pages: cell_of(facts(record(*pages))).retrieval for pages in ((1, 5), (2, 5, 9), (1, 2), (5,))}
    assert list(found.values()) == ["hit", "hit", "miss", "miss"]
    assert cell_of(facts(record(hits=None))).retrieval == "not known"
    nowhere = QUESTION.model_copy(
        update={"evidence": (*QUESTION.evidence, Evidence(document="a.pdf", step=3))}
    )
    assert cell_of(facts(record(1, 5, of=nowhere))).retrieval == "hit"  # the third hop is passed over
    whole = QUESTION.model_copy(update={"evidence": (Evidence(document="b.pdf"),)})
    assert cell_of(facts(record(1, of=whole))).retrieval == "miss"  # judged by its documents
    assert cell_of(facts(record(1, of=QUESTION.model_copy(update={"evidence": ()})))).retrieval == "not known"
    none = QUESTION.model_copy(update={"answerable": False})
    assert cell_of(facts(record(1, 5, of=none))).retrieval == "unanswerable"


@pytest.mark.parametrize(
    ("grade", "kind"),
    [
        ("10", "right"),
        ("7", "right"),
        ("6", "half right"),
        ("4", "half right"),
        ("3", "wrong"),
        ("0", "wrong"),
    ],
)
def test_the_grade_of_a_judge_comes_first(grade: str, kind: str) -> None:
    one_record = record(1, 5)
    (wanted,) = CorrectnessJudged().judgements(one_record, {})
    verdict = Verdict(claim=wanted.claim, premise=wanted.premise, label=grade)
    assert cell_of(facts(one_record, 0.0, verdicts={wanted: verdict})) == Cell(
        "hit", "answered", kind, "judge"
    )
    failed = facts(one_record, 1.0, failures={wanted: Failure(kind="Timeout", message="late")})
    assert cell_of(failed)[2:] == ("not graded", "judge")
    unparsed = facts(one_record, 1.0, verdicts={wanted: verdict.model_copy(update={"label": "unparsed"})})
    assert cell_of(unparsed)[2:] == ("not graded", "judge")


@pytest.mark.parametrize(("recall", "kind"), [(1.0, "right"), (0.5, "half right"), (0.0, "wrong")])
def test_without_a_judge_phrase_recall_decides(recall: float, kind: str) -> None:
    assert cell_of(facts(record(1, 5), recall)) == Cell("hit", "answered", kind, "phrase recall")


def test_what_is_neither_an_answer_nor_an_abstention_has_a_cell_of_its_own() -> None:
    failed = record(1, 5, answer=None, error=Failure(kind="Timeout", message="late"))
    assert cell_of(facts(failed, 0.0, None)) == Cell("hit", "failed", "not graded", "nothing")
    refused = Facts(record(1), RecordScore(correctness=0.0, abstention="refusal"))
    assert cell_of(refused) == Cell("miss", "refused", "not graded", "nothing")
    wanted = judgement("?", "blue")
    hedged = Verdict(claim=wanted.claim, premise="", label="hedged")
    assert cell_of(facts(record(1, 5), verdicts={wanted: hedged})).answer == "hedged"
    assert cell_of(facts(record(1, 5), 1.0, None)).answer == "not labelled"
    (metric,) = named(["accuracy-on-hits"])
    assert metric.of(facts(record(1, 5, answer=None), None, None)).why == {"lacks": "an answer"}


def test_the_rates_by_hand() -> None:
    """Hits: 2 right, 1 half right, 1 abstained, 1 failed. Misses: 1 wrong, 2 abstained, 1 refused."""
    refused = RecordScore(correctness=0.0, abstention="refusal")
    late = Failure(kind="Timeout", message="late")
    result = [
        *(facts(record(1, 5), recall) for recall in (1.0, 1.0, 0.5)),
        facts(record(1, 5), 0.0, True),
        facts(record(1, 5, answer=None, error=late), 0.0, None),
        facts(record(1), 0.0),
        *(facts(record(1), 0.0, True) for _ in range(2)),
        Facts(record(1), refused),
    ]
    found = {}
    for metric in named(["evidence"]):
        pool = Pool(metric)
        for number, one in enumerate(result):
            pool.add(QUESTION.model_copy(update={"id": str(number)}), metric.of(one))
        found[metric.name] = pool.figures().plain()
    rates = {name: (figures["overall"]["value"], figures["overall"]["n"]) for name, figures in found.items()}
    assert rates == {
        "answer-rate-on-hits": (0.75, 4),
        "abstention-on-misses": (pytest.approx(2 / 3), 3),
        "accuracy-on-hits": (0.5, 4),
    }
    assert all(figures["overall"]["low"] is not None for figures in found.values())
    cells = found["accuracy-on-hits"]["cells"]
    assert sum(cell["n"] for cell in cells) == 9
    assert {"category": "A", "retrieval": "miss", "answer": "abstained", "correctness": "wrong"} | {
        "by": "phrase recall",
        "n": 2,
    } in cells
    assert found["accuracy-on-hits"]["judge"] is None


def test_texts_without_a_place_are_neither_hits_nor_misses() -> None:
    nowhere = Hit(chunk=Chunk(id="n", document="", pages=(), text="x"), score=1, rank=9)
    whole = QUESTION.model_copy(update={"evidence": (Evidence(document="b.pdf"),)})
    for wanted in (QUESTION, whole):
        result = facts(record(of=wanted, hits=(nowhere,)))
        assert cell_of(result).retrieval == "not known"
        assert all(metric.score(result).value is None for metric in named(["evidence"]))
    placed = record(1, 5)
    assert cell_of(facts(placed.model_copy(update={"hits": (*placed.hits, nowhere)}))).retrieval == "hit"
