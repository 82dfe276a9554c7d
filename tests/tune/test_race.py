"""The race: its bets by hand, the probability of dropping the best, and what it saves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fathoms.tune.order import draw_order
from fathoms.tune.race import Race
from fathoms.tune.replay import figures, least_calls, replay

Array = NDArray[np.float64]


def raced(scores: Array, categories: list[str], seed: int = 0, **options: float) -> Race:
    order = draw_order(categories, np.random.default_rng(seed))
    race = Race(order, len(scores), **options)  # type: ignore[arg-type]
    while not race.is_over:
        race.add(scores[:, order.positions[race.done]])
    return race


def test_questions_weigh_as_in_the_mean_of_categories() -> None:
    order = draw_order(["a", "a", "a", "b"], np.random.default_rng(1))
    by_position = dict(zip(order.positions.tolist(), order.weights.tolist(), strict=True))
    assert by_position == {0: pytest.approx(1 / 6), 1: pytest.approx(1 / 6), 2: pytest.approx(1 / 6), 3: 0.5}


def test_the_next_question_is_drawn_in_proportion_to_its_weight() -> None:
    rng = np.random.default_rng(2)
    first = [draw_order(["a", "a", "a", "b"], rng).positions[0] for _ in range(2000)]
    assert abs(first.count(3) / 2000 - 0.5) < 0.05


def test_a_bet_by_hand() -> None:
    """Two candidates, 0/1 scores: the first difference is not bet on but for the optimism of .01: a stake of
    .01 / (.2 + .0001), so that the wealth against the loser is 1.05."""
    race = Race(draw_order(["a"] * 50, np.random.default_rng(0)), 2)
    race.add(np.array([1.0, 0.0]))
    stake = 0.01 / (0.2 + 0.01**2)
    assert race._wealth.tolist() == [pytest.approx(math.log(1 - stake)), pytest.approx(math.log(1 + stake))]


@pytest.mark.slow
def test_a_good_guess_saves_calls_and_a_wrong_one_costs_few() -> None:
    rng = np.random.default_rng(6)
    scores = (rng.random((8, 200)) < np.linspace(0.3, 0.7, 8)[:, None]).astype(float)
    truth = scores.mean(1)
    means = []
    for prior in (None, truth.tolist(), truth[::-1].tolist()):
        draws = [
            replay(scores, ["a"] * 200, np.random.default_rng(seed), prior=prior).calls for seed in range(30)
        ]
        means.append(sum(draws) / len(draws))
    none, good, wrong = means
    assert good < none
    assert wrong < 1.15 * none


def test_what_is_left_cannot_make_up_for_it() -> None:
    """After 6 of 10 questions that the first won, the second cannot win by the 4 that are left."""
    scores = np.array([[1.0] * 10, [0.0] * 10])
    assert (
        raced(scores, ["a"] * 10, alpha=1e-9).dropped_at[1] == 6
        or raced(scores, ["a"] * 10, alpha=1e-9).dropped_at[1] == 7
    )


def test_equal_candidates_are_asked_everything() -> None:
    race = raced(np.ones((3, 20)), ["a"] * 20)
    assert race.done == 20
    assert race.alive.all()


def test_at_the_end_the_best_on_all_questions_is_chosen() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random((3, 12))
    assert raced(scores, ["a"] * 6 + ["b"] * 6, alpha=0.001).best() == int(
        np.argmax(figures(scores, ["a"] * 6 + ["b"] * 6))
    )


@pytest.mark.parametrize("alpha", [0.05, 0.5])
@pytest.mark.parametrize(
    ("candidates", "categories", "rate"),
    [(6, ["a"] * 15, 0.5), (12, ["a"] * 30, 0.03), (4, ["a"] * 30 + ["b"] * 10 + ["c"] * 3, 0.3)],
)
@pytest.mark.slow
def test_the_best_is_dropped_in_at_most_alpha(
    candidates: int, categories: list[str], rate: float, alpha: float
) -> None:
    rng, dropped, races = np.random.default_rng(7), 0, 60
    for seed in range(races):
        scores = (rng.random((candidates, len(categories))) < rate).astype(float)
        overall = figures(scores, categories)
        race = raced(scores, categories, seed, alpha=alpha)
        dropped += bool(overall[race.best()] < overall.max() - 1e-9)
    assert dropped <= alpha * races + 2 * math.sqrt(alpha * races)


@pytest.mark.slow
def test_unequal_categories_cost_no_more_than_equal_ones() -> None:
    """Weights alone need 85 % of the calls in categories of 45, 30, 10, 5 and 3 (the issue's trial)."""
    rng = np.random.default_rng(3)
    categories = [name for name, size in zip("abcde", (45, 30, 10, 5, 3), strict=True) for _ in range(size)]
    truth = np.linspace(0.2, 0.8, 12)
    calls = []
    for _ in range(5):
        scores = (rng.random((12, 93)) < truth[:, None]).astype(float)
        calls.append(replay(scores, categories, rng).calls)
    assert np.mean(calls) < 0.6


def test_an_unknown_score_drops_nobody() -> None:
    """Failures of a candidate that are not final count for it, and none is dropped because of them."""
    order = draw_order(["a"] * 40, np.random.default_rng(0))
    race = Race(order, 2)
    while not race.is_over:
        race.add(np.array([0.5, np.nan]))
    assert race.alive.all()


def test_scores_out_of_range_are_refused() -> None:
    race = Race(draw_order(["a", "a"], np.random.default_rng(0)), 2)
    with pytest.raises(ValueError, match="from 0 to 1"):
        race.add(np.array([0.5, 1.5]))


def test_within_a_margin_the_race_ends_early() -> None:
    rng = np.random.default_rng(5)
    scores = np.clip(rng.normal([[0.62], [0.6], [0.3]], 0.1, (3, 400)), 0, 1)
    whole, margin = raced(scores, ["a"] * 400), raced(scores, ["a"] * 400, within=0.1)
    assert margin.done < whole.done
    assert figures(scores, ["a"] * 400)[margin.best()] > 0.5


def test_with_costs_the_cheapest_stays() -> None:
    scores = np.array([[1.0] * 60, [0.5] * 60, [0.2] * 60])
    race = raced(scores, ["a"] * 60, costs=[3.0, 1.0, 2.0])  # type: ignore[arg-type]
    assert race.alive.tolist() == [True, True, False]


def test_the_bound_by_hand() -> None:
    """Two candidates: D = .5, s^2 = .25, z = 1.645: t = .676 / (.25 + .676 / 8)."""
    scores = np.array([[1.0] * 8, [0.0, 1.0] * 4])
    noise = 1.6448536**2 * 0.25
    assert least_calls(scores, ["a"] * 8) == pytest.approx(noise / (0.25 + noise / 8) / 8, rel=1e-6)
