"""The pooled permutation test against tests that others made, and against all choices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy

from fathoms.stats.pooled import pooled_p


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "won", "same"), [(9, 2, 30), (1060, 940, 18_000), (8600, 8500, 0)])
def test_with_one_answer_each_it_is_mcnemars_exact_test(lost: int, won: int, same: int) -> None:
    ours = [[1.0]] * lost + [[0.0]] * won + [[1.0]] * same
    theirs = [[0.0]] * lost + [[1.0]] * won + [[1.0]] * same
    expected = scipy.stats.binomtest(lost, lost + won, 0.5, alternative="greater").pvalue
    assert pooled_p(ours, theirs, [1 / len(ours)] * len(ours)) == pytest.approx(expected)


def test_with_one_question_it_is_fishers_exact_test() -> None:
    expected = scipy.stats.fisher_exact([[8, 2], [3, 9]], alternative="greater").pvalue
    found = pooled_p([[1.0] * 8 + [0.0] * 2], [[1.0] * 3 + [0.0] * 9], [1.0])
    assert found == pytest.approx(expected)


def test_the_collapse_of_six_questions_against_five_runs() -> None:
    # each question's one failure is equally likely to be any of 6 answers
    assert pooled_p([[1.0] * 5] * 6, [[0.0]] * 6, [1 / 6] * 6) == pytest.approx(6.0**-6)


def by_enumeration(ours: list[list[float]], theirs: list[list[float]], weights: list[float]) -> float:
    def difference(chosen: list[tuple[int, ...]]) -> float:
        total = 0.0
        for b, c, weight, places in zip(ours, theirs, weights, chosen, strict=True):
            scores = [*b, *c]
            one = [scores[place] for place in places]
            other = [score for place, score in enumerate(scores) if place not in places]
            total += weight * (np.mean(one) - np.mean(other))
        return total

    choices = [
        list(itertools.combinations(range(len(b) + len(c)), len(c)))
        for b, c in zip(ours, theirs, strict=True)
    ]
    own = [tuple(range(len(b), len(b) + len(c))) for b, c in zip(ours, theirs, strict=True)]
    limit = difference(own) + 1e-9
    return float(np.mean([difference(list(chosen)) <= limit for chosen in itertools.product(*choices)]))


FRACTIONS = (
    [[1.0, 0.5], [1.0, 1.0], [0.75, 1 / 3], [0.2, 0.9], [1.0, 0.0]],
    [[0.5], [0.0, 1.0], [1 / 3], [0.1], [0.0]],
    [0.1, 0.1, 0.2, 0.3, 0.3],
)


def test_fractions_weights_and_unequal_repeats_are_exact() -> None:
    assert pooled_p(*FRACTIONS) == pytest.approx(by_enumeration(*FRACTIONS))


def test_the_grid_comes_close_to_the_exact_value() -> None:
    rng = np.random.default_rng(0)
    ours = [list(rng.random(3)) for _ in range(6)]
    theirs = [list(rng.random(2) * 0.7) for _ in range(6)]
    weights = [number / 21 for number in range(1, 7)]  # each weight is a group of its own
    exact = pooled_p(ours, theirs, weights)
    on_grid = pooled_p(ours, theirs, weights, most=4)
    assert on_grid != exact
    assert on_grid == pytest.approx(exact, rel=0.01)


def test_categories_of_many_sizes_stay_exact() -> None:
    sizes = [3, 7, 20, 31, 40, 55, 60]
    weights = [1 / (len(sizes) * size) for size in sizes for _ in range(size)]
    ours = [[1.0] * 5] * len(weights)
    theirs = [[0.0] if number % 40 == 0 else [1.0] for number in range(len(weights))]
    # 6 questions lost one answer of 6 each: all of the candidate's is one choice of 6^6 ...
    assert pooled_p(ours, theirs, weights) == pytest.approx(6.0**-6)
