"""The order in which a race asks its questions, and what each question weighs in the overall figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """A random order of n questions, the same for all candidates.

    `positions` are the indexes of the questions in the order in which they are asked. `weights` are what each
    of them weighs in the overall figure, in that order; they sum to 1. `strata` are the codes of their
    categories, in that order.
    """

    positions: Codes
    weights: Array
    strata: Codes

    def __len__(self) -> int:
        return len(self.positions)


def draw_order(categories: Sequence[str], rng: np.random.Generator) -> Order:
    """Draw an order without replacement in which the next question is always drawn with a probability in
    proportion to its weight among the questions that are left.

    The overall figure is the mean of the categories, so a question of a category of N_c among C categories
    weighs 1 / (C N_c). Drawing in proportion to that weight makes the mean difference of the questions that
    are left the expected value of the next difference, whatever the categories' sizes: the difference itself
    is then bet on, in [-1, 1], without being scaled by weights as unequal as 45 to 3. Small categories are
    exhausted first, as their questions weigh most. Questions sorted by exponential times divided by their
    weights have that distribution (Efraimidis and Spirakis 2006).
    """
    _, strata, sizes = np.unique(np.asarray(categories, dtype=str), return_inverse=True, return_counts=True)
    weights = 1.0 / (len(sizes) * sizes[strata])
    positions = np.argsort(rng.exponential(size=len(strata)) / weights, kind="stable")
    return Order(positions, weights[positions], strata[positions].astype(np.int64))
