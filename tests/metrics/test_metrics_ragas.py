"""RAGAS' metrics on hand-worked verdicts: nothing to compare, duplicates, unparsed and missing verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from fathoms.metrics.claims.ragas import AnswerRelevance
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.metric import Facts, JudgedMetric, Metric
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.models import OnnxEmbedder
from fathoms.types import Chunk, Claim, Hit, Judgement, Question, Record, Reply, Score, Verdict

QUESTION = Question(id="q", text="Why?", category="A", reference="G H J.", reference_claims=("G", "H", "J"))
PASSAGES = ("One. Two.", "Three. One.", "Four.")
ALL = "\n\n".join(PASSAGES)
Label = str | None
# The second and the third passage entail a claim of the gold answer, H follows from all together, and the
# sentence `One.` of the first two passages helps to answer the question.
SUPPORTED = {("G", PASSAGES[1]), ("G", PASSAGES[2]), ("G", ALL), ("H", ALL), ("A", ALL)}
HELPS = {PASSAGES[0]: (1,), PASSAGES[1]: (2,)}
WRITTEN = ("Why?", "Where is the harbour of Varn?", "Why?")
WANTED = OnnxEmbedder().embed(WRITTEN[:2])
BY_HAND = {
    "faithfulness": 2 / 3,
    "answer-relevance": (1 + float(WANTED[0] @ WANTED[1]) + 1) / 3,
    "context-relevance": 2 / 5,
    "context-precision": (1 / 2 + 2 / 3) / 2,
    "context-recall": 2 / 3,
}


LABELS = ("unsupported", "supported")
MORE: dict[str, Callable[[Judgement], dict[str, Any]]] = {
    "support": lambda asked: {},
    "questions": lambda asked: {"questions": WRITTEN[: asked.wanted]},
    "relevant-sentences": lambda asked: {"relevant": HELPS.get(asked.premise, ())},
}


def scores(
    claims: tuple[str, ...] = ("A", "B", "A"),
    passages: tuple[str, ...] = PASSAGES,
    changed: Mapping[tuple[str, str], Label] | None = None,
    question: Question = QUESTION,
    metrics: Sequence[Metric] = named(["ragas"]),
    *,
    abstained: bool = False,
) -> dict[str, Score]:
    """The scores by all verdicts that the metrics ask for, a few of them changed or (`None`) missing."""
    hits = tuple(
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(passages, start=1)
    )
    record = Record(question=question, answer=Reply(text="A B A."), hits=hits)
    split = {("A B A.", "Why?"): tuple(Claim(text=claim) for claim in claims)}
    found: dict[str, Score] = {}
    for metric in metrics:
        assert isinstance(metric, JudgedMetric)
        verdicts: dict[Judgement, Verdict] = {}
        for judgement in metric.judgements(record, split):
            pair = judgement.claim, judgement.premise
            label = "committal" if judgement.rubric == "questions" else LABELS[pair in SUPPORTED]
            if label := (changed or {}).get(pair, label):
                more = {} if label == "unparsed" else MORE[judgement.rubric](judgement)
                verdicts[judgement] = Verdict(
                    claim=judgement.claim, premise=judgement.premise, label=label, **more
                )
        score = metric.of(Facts(record, RecordScore(abstained=abstained), claims=split, verdicts=verdicts))
        found[metric.name.removeprefix("ragas.")] = score
    return found


def test_all_by_hand() -> None:
    found = scores()
    assert {name: score.value for name, score in found.items()} == pytest.approx(BY_HAND)
    assert found["context-relevance"].parts["items"] == 5
    assert found["context-relevance"].parts["mean of sources"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)


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
        "answer-relevance": pytest.approx(BY_HAND["answer-relevance"]),
        "context-relevance": BY_HAND["context-relevance"],
        "context-precision": None,
        "context-recall": None,
    }
    nothing = {name: score.value for name, score in scores(passages=()).items()}
    assert nothing == {
        **dict.fromkeys(BY_HAND),
        "answer-relevance": pytest.approx(BY_HAND["answer-relevance"]),
    }


def test_contexts_of_which_none_is_useful_have_precision_and_relevance_0() -> None:
    found = scores(passages=("Five.", "Six."))
    assert (found["context-precision"].value, found["context-relevance"].value) == (0.0, 0.0)


def test_what_was_not_judged_is_counted_and_bounded() -> None:
    of = {("Why?", PASSAGES[0]): "unparsed", ("H", ALL): None, ("G", PASSAGES[1]): None, ("A B A.", ""): None}
    found = scores(changed=of)
    answer, relevance, precision, recall = list(found.values())[1:]
    assert (answer.value, answer.n, answer.parts["unjudged"], answer.parts["highest"]) == (None, 0, 1, 1)
    # of the first passage, no sentence has a verdict; of the second, one of two helps, and none of the third
    assert (relevance.value, relevance.parts["unjudged"]) == (1 / 3, 2)
    assert (relevance.parts["lowest"], relevance.parts["highest"]) == (1 / 5, 3 / 5)
    assert relevance.parts["mean of sources"] == (1 / 2 + 0) / 2
    assert (recall.value, recall.n, recall.parts["unjudged"]) == (1 / 2, 2, 1)
    # without the second passage, the third one is the second of two; if it is not useful, precision@3 is 1/3
    assert (precision.value, precision.n, precision.parts["unjudged"]) == (1 / 2, 2, 1)
    assert (precision.parts["lowest"], precision.parts["highest"]) == pytest.approx((1 / 3, 7 / 12))


@pytest.mark.parametrize(
    ("questions", "label", "plain", "released"),
    [(1, "committal", 1.0, 1.0), (3, "noncommittal", None, 0.0), (3, "unparsed", None, None)],
)
def test_answers_that_commit_to_nothing_are_irrelevant_only_to_the_library(
    questions: int, label: str, plain: float | None, released: float | None
) -> None:
    metrics = [AnswerRelevance(questions=questions, released=released) for released in (False, True)]
    found = scores(changed={("A B A.", ""): label}, metrics=metrics)
    assert [score.value for score in found.values()] == [plain, released]
    labels = "" if questions == 3 else f"-{questions}"
    assert list(found) == [f"answer-relevance{labels}", f"answer-relevance{labels}-released"]


def test_an_abstention_has_no_answer_relevance() -> None:
    assert scores(abstained=True)["answer-relevance"].value is None


def test_a_verdict_on_a_text_that_was_cut_says_nothing_of_the_rest() -> None:
    (metric,) = named(["ragas.context-relevance"])
    hits = (Hit(chunk=Chunk(id="1", document="a.pdf", pages=(1,), text="One. Two. Three."), score=1, rank=1),)
    record = Record(question=QUESTION, answer=Reply(text="A."), hits=hits)
    (wanted,) = metric.judgements(record, {})  # type: ignore[attr-defined]
    verdict = Verdict(claim="", premise="", label="supported", relevant=(1,), shown=2)
    score = metric.of(Facts(record, RecordScore(), verdicts={wanted: verdict}))
    assert (score.value, score.parts["unjudged"], score.parts["highest"]) == (1 / 2, 1, 2 / 3)
