"""Grades of passages, facts and support of citations: four made answers, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fathoms.answers.citations import parse_citations
from fathoms.metrics.claims.argue import DRAFTED
from fathoms.metrics.claims.umbrela import UmbrelaNdcg, UmbrelaPrecision
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Fact, Failure, Hit, Question, Record, Reply, Score, Verdict

FACTS = (
    Fact(text="It is 41.5 m tall.", importance="vital", origin="drafted"),
    Fact(text="It has a lift.", importance="vital"),
    Fact(text="It is red.", origin="drafted"),
    Fact(text="Ada built it."),
)
PASSAGES = ("one", "two", "three")


def record(answer: str | None, passages: tuple[str, ...] | None = PASSAGES, facts: Any = FACTS) -> Record:
    hits = [
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(passages or (), start=1)
    ]
    return Record(
        question=Question(id="q", text="How tall is it?", category="A", facts=facts),
        answer=None if answer is None else Reply(text=answer),
        error=Failure(kind="ModelError", message="down") if answer is None else None,
        hits=None if passages is None else tuple(hits),
        citations=None if answer is None else parse_citations(answer, hits),
    )


def scores(
    one: Record, labels: dict[str, str | None], abstention: str = "statement", names: str = "without-gold"
) -> dict[str, Score]:
    """The scores by a judge that gives labels to passages, facts and `sentence | source`; without a label, it
    failed."""
    found = {}
    for metric in named([names]):
        assert isinstance(metric, JudgedMetric)
        verdicts = {}
        for wanted in metric.judgements(one, {}) if metric.lacks(one) is None else ():
            pair = f"{wanted.claim} | {wanted.premise}"
            key = wanted.premise if wanted.rubric == "relevance" else pair if pair in labels else wanted.claim
            if label := labels.get(key):
                verdicts[wanted] = Verdict(claim=wanted.claim, premise=wanted.premise, label=label)
        scored = RecordScore(abstained=abstention == "abstention", abstention=abstention)  # type: ignore[arg-type]
        found[metric.name] = metric.of(Facts(one, scored, verdicts=verdicts))
    return found


def values(found: dict[str, Score]) -> dict[str, float | None]:
    return {name.partition(".")[2]: one.value for name, one in found.items() if "." in name}


def test_an_answer_with_good_passages_by_hand() -> None:
    """Grades 1, 3, 2; of four facts one vital in full, one in part, one okay in full, one not; of three
    sentences the first cites two sources (full, none), the second one (partial), the third none."""
    answer = "It is 41.5 m tall [1][2]. It may have a lift [3]. It is red."
    labels = {
        **{"one": "1", "two": "3", "three": "2"},
        **{"It is 41.5 m tall.": "supported", "It has a lift.": "partial"},
        **{"It is red.": "supported", "Ada built it.": "unsupported"},
        **{"It is 41.5 m tall. | one": "supported", "It is 41.5 m tall. | two": "unsupported"},
        "It may have a lift. | three": "partial",
    }
    found = scores(record(answer), labels)
    gain = 1 + 3 / math.log2(3) + 2 / 2
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert values(found) == pytest.approx(
        {
            "precision": (1 + 0 + 1 / 2) / 3,  # of citations; that of passages has the same short name
            "ndcg": gain / best,
            "nothing-to-answer-from": 0.0,
            "answered-on-nothing": None,
            "abstained-on-passage": 0.0,
            "strict-vital": 1 / 2,
            "vital": 1.5 / 2,
            "strict-all": 2 / 4,
            "all": 2.5 / 4,
            "strict-weighted": (1 + 0.5) / 3,
            "weighted": (1 + 0.5 + 0.5) / 3,
            "recall": (1 + 1 / 2 + 0) / 3,
        }
    )
    assert found["umbrela.precision"].value == pytest.approx(2 / 5)
    assert UmbrelaPrecision(k=2).name == "umbrela.precision@2"
    vital = found["nuggets.strict-vital"]
    (metric,) = named(["nuggets.strict-vital"])
    assert metric.counted(vital) == {DRAFTED: 1}
    assert metric.counted(found["nuggets.all"]) == {DRAFTED: 2}


def test_an_answer_from_nothing_by_hand() -> None:
    """Grades 1, 0, 1 and an answer all the same."""
    labels: dict[str, str | None] = {"one": "1", "two": "0", "three": "1"}
    found = scores(record("It is red."), labels, names="umbrela")
    gain, best = 1 + 1 / 2, 1 + 1 / math.log2(3)
    assert [one.value for one in found.values()] == pytest.approx([0.0, gain / best, 1.0, 1.0, None])
    cell = found["umbrela.answered-on-nothing"].why
    assert (cell["retrieval"], cell["answer"]) == ("no passage answers", "answered")


def test_an_abstention_beside_a_passage_and_a_question_back() -> None:
    labels: dict[str, str | None] = {"one": "2", "two": "0", "three": "0"}
    found = scores(record("I do not know."), labels, "abstention", "umbrela")
    assert [one.value for one in found.values()] == [1 / 5, 1.0, 0.0, None, 1.0]
    back = scores(record("Which tower do you mean? The red one?"), labels, names="umbrela")
    assert back["umbrela.abstained-on-passage"].value is None
    assert back["umbrela.abstained-on-passage"].why["answer"] == "asked back"
    more = {name: scores(record(" "), labels, name)["nuggets.all"].value for name in ("empty", "refusal")}
    assert more == {"empty": 0.0, "refusal": 0.0}


def test_a_failed_call_and_a_search_that_found_nothing() -> None:
    none = scores(record("It is red.", passages=()), {"It is red.": "supported"})
    assert none["umbrela.nothing-to-answer-from"].value == 1.0
    assert none["umbrela.answered-on-nothing"].value == 1.0
    assert (none["umbrela.precision"].value, none["umbrela.ndcg"].value) == (0.0, None)
    failed = scores(record(None), {"one": "2", "two": "0", "three": "0"})
    assert failed["umbrela.precision"].value == 1 / 5
    assert failed["umbrela.abstained-on-passage"].why["answer"] == "failed"
    assert failed["nuggets.all"].why["lacks"] == "an answer"
    unsearched = scores(record("It is red.", passages=None), {})
    assert unsearched["umbrela.precision"].why["lacks"] == "retrieved passages"
    bare = scores(record("It is red.", facts=()), {})
    assert bare["nuggets.all"].why["lacks"] == "facts that a good answer states"


def test_what_was_not_judged_is_counted_and_bounded() -> None:
    labels = {"one": "1", "two": None, "three": "unparsed", "It is 41.5 m tall.": "supported"}
    found = scores(record("It is 41.5 m tall."), labels)

    def bounds(name: str) -> tuple[Any, ...]:
        parts = found[name].parts
        return found[name].value, parts["unjudged"], parts["lowest"], parts["highest"]

    assert bounds("umbrela.precision") == (0.0, 2, 0.0, 2 / 5)
    assert bounds("umbrela.nothing-to-answer-from") == (None, 1, 0.0, 1.0)
    assert bounds("umbrela.answered-on-nothing") == (None, 1, 0.0, 1.0)
    worst = (1 + 3 / 2) / (3 + 1 / math.log2(3))  # the grades 1, 0 and 3
    assert bounds("umbrela.ndcg") == pytest.approx((1.0, 2, worst, 1.0))
    assert bounds("nuggets.strict-vital") == (1.0, 1, 1 / 2, 1.0)
    assert bounds("nuggets.weighted") == pytest.approx((1.0, 3, 1 / 3, 1.0))
    many = record("It is red.", passages=tuple(map(str, range(9))))
    assert scores(many, {}, names="umbrela")["umbrela.ndcg"].parts["lowest"] == 0.0
    assert UmbrelaNdcg(k=9).name == "umbrela.ndcg@9"


def test_a_citation_of_nothing_that_was_retrieved_supports_nothing() -> None:
    labels: dict[str, str | None] = {"It is red. | one": "supported", "It is old. | two": "unparsed"}
    found = scores(record("It is red [1][9]. It is old [2]."), labels, names="citation-support")
    precision, recall = found.values()
    assert (precision.value, precision.parts["lowest"], precision.parts["highest"]) == (1 / 2, 1 / 3, 2 / 3)
    assert (recall.value, recall.parts["lowest"], recall.parts["highest"]) == (1.0, 1 / 2, 1.0)
    quiet = scores(record("It is red."), {}, names="citation-support")
    assert [one.value for one in quiet.values()] == [None, 0.0]
    abstained = scores(record("It is red [1]."), labels, "abstention", "citation-support")
    assert [one.value for one in abstained.values()] == [None, None]
