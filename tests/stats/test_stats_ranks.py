"""Rank intervals: worked by hand, and how often they hold."""

from __future__ import annotations

import numpy as np

from fathoms.stats.ranks import rank_intervals


def test_three_runs_by_hand() -> None:
    # A and B differ on one question (p = 1). C loses 10 questions to both, p = 2 / 2**10 and 2 / 2**11 or
    # more: after Holm's correction over three tests still below .05.
    a, b, c = np.ones(20), np.ones(20), np.ones(20)
    b[19] = 0
    c[:10] = 0
    weights = np.full(20, 1 / 20)
    assert rank_intervals(np.array([a, b, c]), weights) == [(1, 2), (1, 2), (3, 3)]


def test_one_run_is_shown_to_be_the_best() -> None:
    scores = np.zeros((3, 12))
    scores[1] = 1
    assert rank_intervals(scores, np.full(12, 1 / 12)) == [(2, 3), (1, 1), (2, 3)]


def test_six_questions_show_no_order() -> None:
    # all of six questions: p = 2 / 2**6 = .031, and .094 after Holm over three tests
    scores = np.zeros((3, 6))
    scores[0] = 1
    assert rank_intervals(scores, np.full(6, 1 / 6)) == [(1, 3)] * 3


def test_intervals_hold_the_true_ranks_of_all_runs_together() -> None:
    # A and B are alike, C and D too, and 10 points worse: in 200 sets of 60 questions a true rank (1 or 2, 3
    # or 4) is left out in at most 5 % of them, but for chance (three standard errors are 4.6 points)
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        level = rng.beta(2, 2, 60)
        chances = np.array([level, level, level * 0.8, level * 0.8])
        found = rank_intervals((rng.random((4, 60)) < chances).astype(float), np.full(60, 1 / 60))
        wrong += any(
            low > top or high < bottom
            for (low, high), (top, bottom) in zip(found, [(1, 2), (1, 2), (3, 4), (3, 4)], strict=True)
        )
    assert wrong / 200 <= 0.096
