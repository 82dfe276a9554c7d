"""RAGChecker's metrics on hand-worked matrices: duplicate, unread and missing verdicts, and empty lists."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fathoms.metrics.claims.ragchecker import RAGCHECKER
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Claim, Hit, Question, Record, Reply, Score, Verdict

ANSWER, GOLD = "The answer.", "The gold answer."
QUESTION = Question(id="q", text="Why?", category="A", reference=GOLD, reference_claims=("G", "H"))
RELEVANT, IRRELEVANT, USELESS = "relevant", "irrelevant", "useless"
# of the claims, A is right and retrieved, B (twice) wrong and in the relevant passage, C wrong and in an
# irrelevant one, K right and not retrieved, and E wrong and not retrieved
CLAIMS = ("A", "B", "C", "B", "K", "E")
ENTAILED = {
    *{("A", GOLD), ("K", GOLD), ("G", ANSWER)},
    *{("A", RELEVANT), ("B", RELEVANT), ("B", IRRELEVANT), ("C", IRRELEVANT), ("G", RELEVANT)},
}
BY_HAND = {
    "precision": 2 / 6,
    "recall": 1 / 2,
    "f1": 0.4,
    "claim-recall": 1 / 2,
    "context-precision": 1 / 3,
    "context-utilisation": 1.0,
    "noise-relevant": 2 / 6,
    "noise-irrelevant": 1 / 6,
    "hallucination": 1 / 6,
    "self-knowledge": 1 / 6,
    "faithfulness": 4 / 6,
}
Label = str | None


def facts(
    claims: tuple[str, ...] = CLAIMS,
    passages: tuple[str, ...] = (RELEVANT, IRRELEVANT, USELESS),
    changed: Mapping[tuple[str, str], Label] | None = None,
    scores: RecordScore | None = None,
) -> Facts:
    """A record with all verdicts that the metrics ask for, a few of them changed or (`None`) missing."""
    hits = tuple(
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(passages, start=1)
    )
    record = Record(question=QUESTION, answer=Reply(text=ANSWER), hits=hits)
    split = {(ANSWER, "Why?"): tuple(Claim(text=claim) for claim in claims)}
    verdicts = {}
    for metric in named(["ragchecker"]):
        assert isinstance(metric, JudgedMetric)
        for judgement in metric.judgements(record, split):
            pair = judgement.claim, judgement.premise
            usual = "entailment" if pair in ENTAILED else "neutral"
            if label := (changed or {}).get(pair, usual):
                verdicts[judgement] = Verdict(claim=judgement.claim, premise=judgement.premise, label=label)
    return Facts(record, scores or RecordScore(), claims=split, verdicts=verdicts)


def scores(of: Facts, which: str = "ragchecker") -> dict[str, Score]:
    return {
        metric.name.removeprefix("ragchecker.").removesuffix("-released"): metric.of(of)
        for metric in named([which])
    }


def values(of: Facts, which: str = "ragchecker") -> dict[str, float | None]:
    return {name: score.value for name, score in scores(of, which).items()}


@pytest.mark.parametrize("which", ["ragchecker", "ragchecker-released"])
def test_all_eleven_by_hand(which: str) -> None:
    assert len(RAGCHECKER) == 11
    assert values(facts(), which) == pytest.approx(BY_HAND)


def test_a_claim_with_a_wrong_verdict_missing_is_left_out_of_the_value_and_kept_in_the_bounds() -> None:
    for label in ("unparsed", None):
        of = facts(changed={("E", USELESS): label})
        found = scores(of)["hallucination"]
        assert (found.value, found.n, found.parts["unjudged"]) == (0.0, 5, 1)
        assert (found.parts["lowest"], found.parts["highest"]) == (0.0, 1 / 6)
        faithful = scores(of)["faithfulness"]
        assert (faithful.value, faithful.parts["lowest"], faithful.parts["highest"]) == (4 / 5, 4 / 6, 5 / 6)
        assert scores(of, "ragchecker-released")["hallucination"].value == 1 / 6


def test_a_verdict_that_decides_nothing_is_not_missed() -> None:
    of = facts(changed={("A", USELESS): None, ("G", USELESS): "unparsed"})
    assert scores(of)["faithfulness"].parts["unjudged"] == 0
    assert scores(of)["context-precision"].parts["unjudged"] == 1  # whether that passage is relevant


def test_unknown_relevance_makes_the_kind_of_noise_unknown() -> None:
    found = scores(facts(changed={("G", IRRELEVANT): None}))
    kinds = [found[kind].parts for kind in ("noise-relevant", "noise-irrelevant")]
    assert [(parts["unjudged"], parts["lowest"], parts["highest"]) for parts in kinds] == [
        (1, 2 / 6, 3 / 6),
        (1, 0.0, 1 / 6),
    ]


def test_contexts_that_recall_nothing_have_no_utilisation() -> None:
    of = facts(changed={("G", RELEVANT): "neutral"})
    assert scores(of)["context-utilisation"].value is None
    assert scores(of, "ragchecker-released")["context-utilisation"].value == 0.0
    assert scores(of)["claim-recall"].value == 0.0


def test_empty_lists_are_zero_only_as_released() -> None:
    of_answer = {"precision", "f1", "noise-relevant", "noise-irrelevant"}
    of_answer |= {"hallucination", "self-knowledge", "faithfulness"}
    of_hits = set(BY_HAND) - {"precision", "recall", "f1"}
    for of, empty in ((facts(claims=()), of_answer), (facts(passages=()), of_hits)):
        ours, released = values(of), values(of, "ragchecker-released")
        assert {name for name, value in ours.items() if value is None} == empty
        assert {released[name] for name in empty} == {0.0}
        assert all(ours[name] == released[name] == BY_HAND[name] for name in set(BY_HAND) - empty)


def test_an_abstention_makes_no_claims() -> None:
    of = facts(scores=RecordScore(abstained=True))
    assert (scores(of)["precision"].value, scores(of)["precision"].why) == (None, {"claims": "none"})
    assert scores(of)["recall"].value == 1 / 2


def test_hallucinations_contradict_the_sources_or_add_to_them() -> None:
    both = named(["intrinsic-hallucination", "extrinsic-hallucination"])
    # what one passage contradicts and another entails is no hallucination
    of = facts(changed={("E", USELESS): "contradiction", ("A", USELESS): "contradiction"})
    assert [metric.of(of).value for metric in both] == [1 / 6, 1 / 6]
    binary = facts(changed={("E", USELESS): "unsupported"})
    assert [metric.of(binary).why["lacks"] for metric in both] == [
        "a judge with three labels (labels: three-way)"
    ] * 2
