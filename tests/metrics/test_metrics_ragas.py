"""RAGAS' metrics on hand-worked verdicts: nothing to compare, duplicates, unparsed and missing verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Claim, Hit, Judgement, Question, Record, Reply, Score, Verdict

QUESTION = Question(id="q", text="Why?", category="A", reference="G H J.", reference_claims=("G", "H", "J"))
PASSAGES = ("One. Two.", "Three. One.", "Four.")
ALL = "\n\n".join(PASSAGES)
Label = str | None
# The second and the third passage entail a claim of the gold answer, H follows from all together, and the
# sentence `One.` of the first two passages helps to answer the question.
SUPPORTED = {
    *{("G", PASSAGES[1]), ("G", PASSAGES[2]), ("G", ALL), ("H", ALL)},
    *{("A", ALL), ("One.", PASSAGES[0]), ("One.", PASSAGES[1])},
}
BY_HAND = {
    "faithfulness": 2 / 3,
    "context-relevance": 2 / 5,
    "context-precision": (1 / 2 + 2 / 3) / 2,
    "context-recall": 2 / 3,
}


def scores(
    claims: tuple[str, ...] = ("A", "B", "A"),
    passages: tuple[str, ...] = PASSAGES,
    changed: Mapping[tuple[str, str], Label] | None = None,
    question: Question = QUESTION,
) -> dict[str, Score]:
    """The scores by all verdicts that the metrics ask for, a few of them changed or (`None`) missing."""
    hits = tuple(
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(passages, start=1)
    )
    record = Record(question=question, answer=Reply(text="A B A."), hits=hits)
    split = {("A B A.", "Why?"): tuple(Claim(text=claim) for claim in claims)}
    found: dict[str, Score] = {}
    for metric in named(["ragas"]):
        assert isinstance(metric, JudgedMetric)
        verdicts: dict[Judgement, Verdict] = {}
        for asked in metric.judgements(record, split):
            pair = asked.claim, asked.premise
            if label := (changed or {}).get(pair, "supported" if pair in SUPPORTED else "unsupported"):
                verdicts[asked] = Verdict(claim=asked.claim, premise=asked.premise, label=label)
        score = metric.of(Facts(record, RecordScore(), claims=split, verdicts=verdicts))
        found[metric.name.removeprefix("ragas.")] = score
    return found


def test_all_by_hand() -> None:
    found = scores()
    assert {name: score.value for name, score in found.items()} == pytest.approx(BY_HAND)
    assert found["context-relevance"].parts["items"] == 5


def test_faithfulness_asks_for_nothing_that_the_other_one_has_asked() -> None:
    hits = (Hit(chunk=Chunk(id="1", document="a.pdf", pages=(1,), text="One."), score=1.0, rank=1),)
    record = Record(question=QUESTION, answer=Reply(text="A."), hits=hits)
    split = {("A.", "Why?"): (Claim(text="A"),)}
    (ours,) = named(["ragas.faithfulness"])
    assert isinstance(ours, JudgedMetric)
    assert ours.judgements(record, split) == Faithfulness().judgements(record, split) != []


def test_nothing_to_compare_has_no_value() -> None:
    none = scores(claims=())
    assert (none["faithfulness"].value, none["context-recall"].value) == (None, 2 / 3)
    phrases = QUESTION.model_copy(update={"reference": None, "reference_claims": (), "answers": (("G",),)})
    without_gold = {name: score.value for name, score in scores(question=phrases).items()}
    assert without_gold == {
        "faithfulness": BY_HAND["faithfulness"],
        "context-relevance": BY_HAND["context-relevance"],
        "context-precision": None,
        "context-recall": None,
    }
    assert {score.value for score in scores(passages=()).values()} == {None}


def test_contexts_of_which_none_is_useful_have_precision_and_relevance_0() -> None:
    found = scores(passages=("Five.", "Six."))
    assert (found["context-precision"].value, found["context-relevance"].value) == (0.0, 0.0)


def test_what_was_not_judged_is_counted_and_bounded() -> None:
    of = {("One.", PASSAGES[0]): "unparsed", ("H", ALL): None, ("G", PASSAGES[1]): None}
    found = scores(changed=of)
    relevance, precision, recall = list(found.values())[1:]
    assert (relevance.value, relevance.parts["lowest"], relevance.parts["highest"]) == (1 / 4, 1 / 5, 2 / 5)
    assert (recall.value, recall.n, recall.parts["unjudged"]) == (1 / 2, 2, 1)
    # without the second passage, the third one is the second of two; if it is not useful, precision@3 is 1/3
    assert (precision.value, precision.n, precision.parts["unjudged"]) == (1 / 2, 2, 1)
    assert (precision.parts["lowest"], precision.parts["highest"]) == pytest.approx((1 / 3, 7 / 12))
