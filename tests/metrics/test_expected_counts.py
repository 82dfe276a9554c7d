"""Expected counts of supported claims, by hand."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.metrics.claims.matrix import Matrix
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.ragchecker import F1, Precision
from fathoms.metrics.claims.shares import NO_PROBABILITY
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.registry import Metrics
from fathoms.types import Claim, Verdict

P = [(0.9, 0.2), (0.6, 0.4), (0.3, 0.1)]
"""The probabilities that each of two premises supports each of three claims."""


def matrix(rows: list[tuple[float | None, ...]]) -> Matrix:
    """Verdicts with these probabilities, whose labels follow from them."""
    premises = tuple(Premise(str(number), place=str(number)) for number in range(2))
    verdicts = tuple(
        tuple(
            Verdict(claim="c", premise="p", label="supported" if (p or 0) >= 0.5 else "unsupported", p=p)
            for p in row
        )
        for row in rows
    )
    return Matrix(tuple(Claim(text=str(n)) for n in range(len(rows))), premises, verdicts)


def test_the_expected_share_by_hand() -> None:
    """By labels, two of three claims are supported. The premises that most probably support them do so with
    .9, .6 and .3, so that 1.8 claims are expected."""
    labels = Faithfulness().share(matrix(P))
    expected = Faithfulness(counts="expected").share(matrix(P))
    assert (labels.metric, labels.value) == ("faithfulness", 2 / 3)
    assert expected.metric == "faithfulness-expected"
    assert (expected.value, expected.parts["supported"]) == (pytest.approx(0.6), pytest.approx(1.8))


def test_claims_without_a_probability_are_counted_and_bounded() -> None:
    """Of four claims, one has no probability of one premise. The others have 1.8, so that all four have
    between 1.8 / 4 and 2.8 / 4."""
    metric = Faithfulness(counts="expected")
    found = metric.share(matrix([*P, (0.4, None)]))
    assert (found.value, found.n) == (pytest.approx(0.6), 3)
    assert (found.parts["unjudged"], found.parts["lowest"]) == (1, pytest.approx(0.45))
    assert found.parts["highest"] == pytest.approx(0.7)
    assert metric.counted(found) == {NO_PROBABILITY: 1}
    assert metric.share(matrix([(None, None)])).value is None
    assert metric.share(matrix([(None, 1.0)])).value == 1.0


def test_precision_recall_and_f1_add_up_probabilities() -> None:
    """Precision 1.8 / 3 = .6 and recall .9 have the harmonic mean 2 x .6 x .9 / 1.5 = .72."""
    assert Precision(counts="expected").count(matrix(P)).value == pytest.approx(0.6)
    found = F1(counts="expected").count(matrix(P), matrix([(0.9, 0.1)]))
    assert (found.metric, found.value) == ("ragchecker.f1-expected", pytest.approx(0.72))


def test_names_and_what_does_not_go_together() -> None:
    (metric,) = TypeAdapter(Metrics).validate_python(["ragchecker.recall-expected"])
    assert metric.name == "ragchecker.recall-expected"
    with pytest.raises(ValidationError, match="the released code counts labels"):
        Precision(released=True, counts="expected")
    with pytest.raises(ValidationError, match="there is no metric 'latency-expected'"):
        TypeAdapter(Metrics).validate_python(["latency-expected"])
