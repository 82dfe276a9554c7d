"""Two thousand races in which nobody is better: the best on the questions is dropped in at most alpha."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fathoms.tune.order import draw_order
from fathoms.tune.race import Race
from fathoms.tune.replay import figures

pytestmark = pytest.mark.long

RACES = 2000


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
@pytest.mark.parametrize(
    ("name", "candidates", "sizes"),
    [
        ("exchanged", 8, (15,)),
        ("exchanged", 8, (93,)),
        ("rare", 24, (30,)),
        ("rare", 8, (93,)),
        ("common", 8, (60, 30, 3)),
    ],
)
def test_the_best_is_dropped_in_at_most_alpha(
    name: str, candidates: int, sizes: tuple[int, ...], alpha: float
) -> None:
    rng, wrong = np.random.default_rng(11), 0
    categories = [f"c{number}" for number, size in enumerate(sizes) for _ in range(size)]
    hardness = rng.beta(0.5, 0.5, len(categories))
    for _ in range(RACES):
        shape = (candidates, len(categories))
        if name == "exchanged":  # the same scores of each question, in another order
            scores = np.clip(hardness + rng.normal(0, 0.4, shape), 0, 1)
        else:
            scores = (rng.random(shape) < (0.03 if name == "rare" else 0.3)).astype(float)
        order = draw_order(categories, rng)
        # any guess of the figures is valid, wrong ones too
        prior = rng.random(candidates).tolist() if name == "common" else None
        race = Race(order, candidates, alpha=alpha, prior=prior)
        while not race.is_over:
            race.add(scores[:, order.positions[race.done]])
        overall = figures(scores, categories)
        wrong += bool(overall[race.best()] < overall.max() - 1e-9)
    assert wrong <= alpha * RACES + 3 * math.sqrt(alpha * RACES)


@pytest.mark.parametrize(("sizes", "margin"), [((15,), 0.02), ((20, 10), 0.1), ((50,), 0.02)])
def test_a_branch_as_good_as_main_is_dropped_in_at_most_alpha(sizes: tuple[int, ...], margin: float) -> None:
    """Answers of both sides vary by themselves: each question has a rate of right answers, the same for
    both. And a branch that is worse by more than the margin on the questions as they were answered is found
    to be no worse, before all were asked, in at most alpha."""
    rng, alpha, races = np.random.default_rng(5), 0.05, RACES // 2
    categories = [f"c{number}" for number, size in enumerate(sizes) for _ in range(size)]
    dropped = passed = worse = 0
    for number in range(races):
        rates = rng.beta(0.5, 0.3, len(categories)) if number % 2 else np.full(len(categories), 0.5)
        scores = (rng.random((2, len(categories))) < rates).astype(float)
        order = draw_order(categories, rng)
        race = Race(order, 2, alpha=alpha, within=margin, defended=True)
        while not race.is_over:
            race.add(scores[:, order.positions[race.done]])
        dropped += race.dropped_at[1] is not None
        assert race.dropped_at[0] is None
        main, branch = figures(scores, categories)
        worse += main - branch > margin
        passed += race.chosen == 1 and main - branch > margin
    assert dropped <= alpha * races + 3 * math.sqrt(alpha * races)
    assert passed <= alpha * worse + 3 * math.sqrt(alpha * worse)
