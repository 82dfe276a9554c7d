"""The agreement of two rankings of the same systems, by hand."""

from __future__ import annotations

import math

import pytest

from fathoms.stats.ranking import kendall, pair_accuracy, rank_agreement, ranks, spearman


def test_tau_b_is_averaged_over_topics_and_a_topic_without_one_counts_0() -> None:
    """Topic 1 agrees (1). In topic 2, one side has a tie: 2 concordant pairs of sqrt(2 * 3). In topic 3,
    people rate all systems alike, so that it has no tau."""
    ours = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.9], [0.1, 0.2, 0.3]]
    theirs = [[1.0, 2.0, 5.0], [1.0, 2.0, 3.0], [4.0, 4.0, 4.0]]
    found = rank_agreement(ours, theirs)
    assert found.tau.value == pytest.approx((1 + 2 / math.sqrt(6) + 0) / 3)
    assert found.tau.low is not None
    assert found.tau.high is not None
    assert -1 <= found.tau.low < (found.tau.value or 0) < found.tau.high <= 1
    assert found.spearman.value == pytest.approx((1 + math.sqrt(3) / 2 + 0) / 3)
    assert (found.topics, found.pairs, found.undefined) == (3, 9, 1)


def test_rounding_errors_do_not_order_systems() -> None:
    third = 0.1 + 0.2  # 0.30000000000000004
    assert rank_agreement([[third, 0.3, 0.9]], [[1, 2, 3]]).tau.value == pytest.approx(2 / math.sqrt(6))


def test_pooled_coefficients_compare_across_topics() -> None:
    """Within both topics the order is reversed; over all pairs, the topics dominate."""
    ours, theirs = [[1.0, 2.0], [11.0, 12.0]], [[2.0, 1.0], [12.0, 11.0]]
    found = rank_agreement(ours, theirs)
    assert found.pearson.value == found.tau.value == -1
    assert found.pooled_pearson.value == pytest.approx(99 / 101)  # deviations -5.5, -4.5, 4.5, 5.5
    assert found.pooled_spearman.value == pytest.approx(0.6)


def test_nothing_to_compare_has_no_coefficient() -> None:
    assert rank_agreement([[1.0]], [[2.0]]).tau == (None, None, None)
    one = rank_agreement([[1.0, 2.0]], [[1.0, 2.0]])
    assert one.tau == (1.0, None, None)
    with pytest.raises(ValueError, match="a figure of every system"):
        rank_agreement([[1.0, 2.0]], [[1.0]])


def test_equal_values_have_the_mean_of_their_ranks() -> None:
    """The examples in the documentation of `scipy.stats.rankdata`."""
    assert ranks([0, 2, 3, 2]).tolist() == [1.0, 2.5, 4.0, 2.5]
    assert ranks([]).tolist() == []


def test_an_interval_is_the_same_however_many_draws_are_in_memory_together() -> None:
    lengths, shares = [math.sin(n) for n in range(40)], [math.cos(n * n) for n in range(40)]
    whole, parts = (spearman(lengths, shares, range(40), together) for together in (10**6, 1_000))
    assert parts == pytest.approx(whole, abs=1e-12)


def test_the_tau_of_all_items_is_that_of_scipy_and_groups_are_drawn_whole() -> None:
    from scipy.stats import kendalltau

    ours, theirs = [0.1, 0.2, 0.2, 0.5, 0.9, 0.4], [1, 1, 2, 3, 5, 4]
    found = kendall(ours, theirs, [0, 0, 1, 1, 2, 2])
    assert found.value == pytest.approx(float(kendalltau(ours, theirs).statistic))
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    many = [float(n * 7919 % 5003) for n in range(5_000)]  # as many groups would need 600 MB
    assert kendall(many, many, range(5_000)) == (pytest.approx(1), None, None)
    assert kendall([1, 1], [1, 2], [0, 1]) == (None, None, None)
    assert kendall([1, 2], [1, 2], [0, 0]) == (1, None, None)


def test_a_pair_that_the_metric_ties_counts_half_and_one_that_people_tie_does_not_count() -> None:
    """Same order, no order, the other order; people see no difference in the last one."""
    found = pair_accuracy([0.2, 0.0, -0.1, 0.3], [1, 2, 1, 0], [0, 1, 2, 3])
    assert (found.value, found.pairs, found.tied_by_people, found.tied_by_metric) == (0.5, 3, 1, 1)
    assert found.low == 0
    assert found.high == 1
    assert pair_accuracy([1], [0], [0]).value is None
