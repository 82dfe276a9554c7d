"""Means corrected by labels of answers that were drawn by the uncertainty of the judge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fathoms.stats.intervals import wilson
from fathoms.stats.prediction_powered import Stratum, labels_to_halve, prediction_powered_mean
from fathoms.stats.weighted_sample import WeightedStratum, chances_of, sizes_of, weighted_mean


@pytest.mark.parametrize(("repeats", "weight"), [(500, 6 / 7), (20, 3 / 4)])
def test_a_weighted_mean_worked_by_hand(repeats: int, weight: float) -> None:
    """Four labelled answers stand for 2, 2, 4 and 4: they weigh 1/6, 1/6, 1/3 and 1/3. People's values
    1, 1, 1, 0 have the mean 2/3, and the judge's 1, 0, 1, 0 the mean 1/2; over all answers it is 6/10.

    a^2 (1 - chance) is 1/72, 1/72, 6/72 and 6/72. With the deviations 1/3, 1/3, 1/3, -2/3 and 1/2, -1/2, 1/2,
    -1/2, the covariance is (1/6 - 1/6 + 1 + 2) / 72 and the judge's variance 14/4 / 72, so lambda is 6/7. Of
    that variance, 1.25 errors of size 1 are to stay, each of a fourth of 14/72 / (14/4/72 * 20) = 1/20 of it
    where each answer is there 20 times: lambda is at most 1 - sqrt(1.25 / 20) = 3/4.
    """
    people, judge = np.tile([1.0, 1, 1, 0], repeats), np.tile([1.0, 0, 1, 0], repeats)
    chances = np.tile([1 / 2, 1 / 2, 1 / 4, 1 / 4], repeats)
    every = np.repeat([1.0, 0.0], [6 * repeats, 4 * repeats])
    found = weighted_mean([WeightedStratum(people, judge, chances, every)], [1])
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(2 / 3 + weight * (6 / 10 - 1 / 2))
    assert (found.labels, found.unlabelled) == (4 * repeats, 6 * repeats)
    assert found.low < found.value < found.high


def test_chances_are_in_proportion_and_at_most_one() -> None:
    """Of sizes 8, 1, 1 and 2, two answers: the first is certain, the others share one label by 1/4, 1/4, 1/2.
    A judge that is sure of all draws all alike; the uniform part is 0.3 of the average."""
    assert chances_of(np.array([8.0, 1, 1, 2]), 2) == pytest.approx([1, 1 / 4, 1 / 4, 1 / 2])
    assert chances_of(np.array([8.0, 1, 1, 2]), 4) == pytest.approx(np.ones(4))
    assert sizes_of(np.array([0.0, 0.0])) == pytest.approx([1, 1])
    assert sizes_of(np.array([0.0, 0.1, 0.3])) == pytest.approx([0.3, 0.3 + 0.7 * 0.75, 0.3 + 0.7 * 2.25])


def test_equal_chances_give_nearly_the_interval_of_a_uniform_sample() -> None:
    people, judge = np.tile([1.0, 1, 1, 0], 20), np.tile([1.0, 1, 0, 0], 20)
    others = np.tile([1.0, 1, 0, 0, 0, 0, 1, 1], 20)
    uniform = prediction_powered_mean([Stratum(people, judge, others)], [1])
    every = np.concatenate([judge, others])
    found = weighted_mean([WeightedStratum(people, judge, np.full(80, 1 / 3), every)], [1])
    assert found.value == pytest.approx(uniform.value, abs=0.005)
    assert found.high - found.low == pytest.approx(uniform.high - uniform.low, rel=0.03)


def test_labels_on_all_answers_are_wilsons_interval_whatever_the_judge_says() -> None:
    people = np.repeat([1.0, 0.0], [81, 182])
    found = weighted_mean([WeightedStratum(people, 1 - people, np.ones(263), 1 - people)], [1])
    assert (found.weight, found.value) == (0, pytest.approx(81 / 263))
    assert (found.low, found.high) == pytest.approx(wilson(81 / 263, 263), abs=1e-3)


def test_how_many_more_labels_halve_a_weighted_interval() -> None:
    """A silent judge with equal chances needs about as many as Wilson's interval."""
    people, every = np.tile([1.0, 1, 1, 0], 20), np.ones(20_000)
    one = WeightedStratum(people, np.ones(80), np.full(80, 80 / 20_000), every)
    low, high = wilson(0.75, 80)
    wanted = next(n for n in range(80, 400, 4) if np.diff(wilson(0.75, n))[0] <= (high - low) / 2)
    assert labels_to_halve([one], [1], weighted_mean) == pytest.approx(wanted - 80, abs=8)


class Widths(NamedTuple):
    """The shares of intervals that hold the truth, in percent, and their mean widths; `plain` is a uniform
    sample of the same size."""

    coverage: float
    width: float
    plain_coverage: float
    plain: float


def p_of_judge(rng: np.random.Generator, kind: str, size: int) -> tuple[np.ndarray, ...]:
    """What people and a judge say of answers, and the probability that the judge gives; the rate is 0.8 in
    all but the first kinds.

    Calibrated judges are right as often as they say: of a fifth of the answers they are unsure. A blind one
    says any probability, a conceited one nearly always that it is sure, and a misled one is sure of its
    errors.
    """
    if kind in ("knows well", "knows"):
        sure, share = (0.995, 0.2) if kind == "knows well" else (0.97, 0.3)
        p = np.where(rng.random(size) < 0.75, sure, 1 - sure)
        p = np.where(rng.random(size) < share, 0.3 + 0.4 * rng.random(size), p)
        return (rng.random(size) < p).astype(float), (p > 0.5).astype(float), p
    people = (rng.random(size) < 0.8).astype(float)
    judge = (rng.random(size) < np.where(people, 0.93, 0.25)).astype(float)
    p = rng.random(size)
    if kind == "conceited":
        p = np.where(p < 0.8, 0.999, 0.6)
    if kind == "misled":
        p = np.where(judge != people, 0.99, np.where(p < 0.5, 0.99, 0.6))
    return people, judge, p


TRUTHS = {
    "knows well": 0.8 * (0.75 * 0.995 + 0.25 * 0.005) + 0.2 * 0.5,
    "knows": 0.7 * (0.75 * 0.97 + 0.25 * 0.03) + 0.3 * 0.5,
    **dict.fromkeys(("blind", "conceited", "misled"), 0.8),
}


def drawn(rng: np.random.Generator, p: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of a sample by the uncertainty of a judge, as `fathoms review` draws it, and the chances."""
    sizes = sizes_of(uncertainty(p))
    places = np.argsort(rng.random(p.size) / sizes)[:count]
    return places, chances_of(sizes, count)[places]


def uncertainty(p: np.ndarray) -> np.ndarray:
    """That of one verdict with each probability, as `fathoms review` takes it."""
    p = np.clip(p, 0.05, 0.95)
    return np.sqrt(p * (1 - p))


def widths(kind: str, labels: int, size: int, runs: int, seed: int = 0) -> Widths:
    """Draw samples of answers to new questions, and see how often the intervals hold the rate of all."""
    rng, truth, found = np.random.default_rng(seed), TRUTHS[kind], np.zeros(4)
    for _ in range(runs):
        people, judge, p = p_of_judge(rng, kind, size)
        own, chances = drawn(rng, p, labels)
        ours = weighted_mean([WeightedStratum(people[own], judge[own], chances, judge)], [1])
        plain = prediction_powered_mean([Stratum(people[:labels], judge[:labels], judge[labels:])], [1])
        for n, one in enumerate((ours, plain)):
            found[2 * n : 2 * n + 2] += one.low <= truth <= one.high, one.high - one.low
    covered, width, plain_covered, plain_width = found / runs
    return Widths(100 * covered, width, 100 * plain_covered, plain_width)


@pytest.mark.slow
def test_weighted_intervals_hold_the_truth_and_are_narrower_in_a_short_simulation() -> None:
    """`make slow` has the grid; three standard errors of a coverage are 2."""
    known, misled = (widths(kind, 100, 1_000, 1_000) for kind in ("knows well", "misled"))
    assert 93 <= known.coverage <= 98.5
    assert 93 <= misled.coverage <= 98.5
    assert known.width < 0.93 * known.plain
    assert misled.width < 1.15 * misled.plain


@pytest.mark.long
@pytest.mark.parametrize("kind", TRUTHS)
def test_weighted_intervals_hold_the_truth_on_a_grid(kind: str) -> None:
    """`pytest -m long -s` prints the table in docs/statistics.md. The uniform part of the chances and the
    limit of probabilities were chosen on judges of these kinds, with other seeds and partly other rates."""
    covered = []
    for labels, size in ((50, 300), (100, 1_000), (200, 2_000), (400, 2_000)):
        found = widths(kind, labels, size, 4_000, seed=labels)
        covered.append(found.coverage)
        print(
            f"| {kind} | {labels} of {size} | {found.coverage:.1f} ({found.plain_coverage:.1f}) |"
            f" {found.width:.3f} ({found.plain:.3f}) | {found.width / found.plain:.2f} |"
        )
        if kind == "knows well" and labels >= 100:
            assert found.width < 0.93 * found.plain
        assert found.width < 1.15 * found.plain
        assert 93 <= found.coverage <= 98
    assert 94 <= np.mean(covered) <= 97


@pytest.mark.long
def test_weighted_means_of_categories_hold_the_truth() -> None:
    """Three categories with the same judge, of which one has a tenth of the answers; shares of four claims,
    of which the judge knows how sure it is, in the second."""
    rng, covered, runs = np.random.default_rng(4), 0, 4_000
    sizes, truth = np.array([100, 300, 600]), np.mean([TRUTHS["knows"], TRUTHS["knows well"], 0.8])
    for _ in range(runs):
        parts = [
            p_of_judge(rng, "knows", 100),
            p_of_judge(rng, "knows well", 1_200),
            p_of_judge(rng, "blind", 600),
        ]
        spread = uncertainty(parts[1][2]).reshape(300, 4)
        means = [one.reshape(300, 4).mean(axis=1) for one in parts[1][:2]]
        of_shares = np.sqrt((spread**2).sum(axis=1)) / 4
        doubts = np.concatenate([uncertainty(parts[0][2]), of_shares, uncertainty(parts[2][2])])
        people, judge = (np.concatenate([parts[0][side], means[side], parts[2][side]]) for side in (0, 1))
        drawn_by = sizes_of(doubts)
        own = np.zeros(1_000, dtype=bool)
        own[np.argsort(rng.random(1_000) / drawn_by)[:150]] = True
        chances = chances_of(drawn_by, 150)
        strata = []
        for group in np.split(np.arange(1_000), np.cumsum(sizes)[:-1]):
            some = group[own[group]]
            strata.append(WeightedStratum(people[some], judge[some], chances[some], judge[group]))
        found = weighted_mean(strata, [1 / 3] * 3)
        covered += found.low <= truth <= found.high
    print(f"means of categories: {100 * covered / runs:.1f}")
    assert 94 <= 100 * covered / runs <= 97
