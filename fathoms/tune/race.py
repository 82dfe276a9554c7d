"""The race between candidates: which is best on these questions, with few of the calls.

All candidates are asked the same questions in the same random order (`fathoms.tune.order`), one by one, and
a candidate is dropped as soon as it is clear that it is not the best. With S the weighted sum of the known
differences d_i = score_j - score_k in [-1, 1], and A the weight of the questions that are left, the next
difference is expected to be at most m_i = -S / A if k is the best. So the wealth of a bet against k,

    W_k(t) = product over i <= t of (1 + lambda_i (d_i - m_i)),   0 <= lambda_i < 1 / (1 + m_i),

is a supermartingale if k is the best, and reaches 1 / alpha with a probability of at most alpha, whenever
one looks (Ville; betting without replacement: Waudby-Smith and Ramdas 2020 and 2024). lambda_i and the
candidate that k is compared with may depend on all that is known before question i. Here k is compared with
the candidates that lead so far: one bet against each candidate instead of the mean of K - 1 bets, which
saves a factor of K - 1 in the evidence that is needed. Only the bets against the best can be wrong, so with
probability 1 - alpha the best is never dropped, for any number of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fathoms.tune.order import Array, Order

# How the bets are placed. Any values are valid; these were chosen on the systems of MMDocRAG's answers, and
# tried on those of FATHOMS-RAG.
_SHARPNESS = 7.0
"""How fast the comparison narrows to the leader: exponent per standard error of its lead."""
_PRIOR = 3.0
"""Questions that the prior for a difference and for its variance counts as."""
_VARIANCE = 0.2
"""The variance of a difference that is assumed before three questions are known."""
_OPTIMISM = 0.01
"""Added to the estimated difference, so that something is bet before any is known."""
_BOLDNESS = 0.3
"""The same where a candidate is compared with the one that defends itself: a change breaks little or much.
With .05 instead, a third of 15 answers that are lost was found half as often."""
_LARGEST = 0.95
"""The largest share of the wealth that is bet."""
_FOR_MARGIN = 0.15
"""The part of alpha for the margin: with half of it, a small margin cost more calls than none."""
_CERTAIN = 1e3
"""The logarithm of the wealth of a bet that is won for certain."""


class Race:
    """The state of a race: which candidates are alive after the questions so far.

    `order` has the n questions. `alpha` is the greatest probability of dropping the best. With `within` > 0,
    a part of alpha (`_FOR_MARGIN`) is used to find a candidate that is at most so much worse than any other,
    in units of the score. `costs` are the costs of a question by candidate; with them, a candidate is dropped
    only where one that is no dearer is better. Nothing is bet on the first `costs_known_after` questions,
    from which the costs may be known. `prior` is a guess of each overall figure, such as one made from
    retrieval figures: it says with whom the candidates are compared first, and any guess is valid.

    With `defended`, the first candidate is what the others are compared with, and their answers may vary from
    one asking to the next. It is never dropped, and another one only where it is worse by more than `within`
    on these answers, and where answers that vary do not explain that it is worse: one that scores as well on
    each question, or is at most `within` worse on these answers, is dropped with a probability of at most
    alpha. One that is more than `within` worse on these answers is chosen with a probability of at most
    alpha.
    """

    def __init__(
        self,
        order: Order,
        candidates: int,
        *,
        alpha: float = 0.05,
        within: float = 0.0,
        costs: Sequence[float] | None = None,
        costs_known_after: int = 0,
        prior: Sequence[float] | None = None,
        defended: bool = False,
    ) -> None:
        if candidates < 1 or not 0 < alpha < 1 or not 0 <= within < 1:
            raise ValueError("expected a candidate or more, 0 < alpha < 1 and 0 <= within < 1")
        self.order = order
        self.alive: NDArray[np.bool_] = np.ones(candidates, dtype=bool)
        self.dropped_at: list[int | None] = [None] * candidates
        """After how many questions each candidate was dropped; `None` for those that are alive."""
        self.done = 0
        self.chosen: int | None = None
        """The candidate that was found to be within the margin of the best, once there is one."""
        strata = int(order.strata.max(initial=-1)) + 1
        self._left = np.bincount(order.strata, weights=order.weights, minlength=strata).astype(float)
        self._sums = np.zeros(candidates)  # weighted: what is known of each overall figure
        self._lows = np.zeros(candidates)  # the same, if all unknown scores were 0
        self._highs = np.zeros(candidates)  # the same, if they were 1
        self._last: dict[int, float] = {}  # the figures of dropped candidates
        self._plain = np.zeros((candidates, strata))  # sums of scores by category
        self._counts = np.zeros(strata)
        self._products = np.zeros((candidates, candidates))  # sums of products of scores
        self._wealth = np.zeros(candidates)  # logarithms
        # with `defended`, only one of both bets can be wrong: each has the whole of alpha
        split = within and not defended
        self._limit = -math.log(alpha * (1 - _FOR_MARGIN) if split else alpha)
        self._within = within
        self._defended = defended
        self._optimism = _BOLDNESS if defended else _OPTIMISM
        self._covered = np.zeros((candidates, candidates))  # logarithms, [j, k]: k is at most `within` better
        self._cover_limit = math.log(max(1, candidates - 1) / (alpha * _FOR_MARGIN if split else alpha))
        self._no_dearer: NDArray[np.bool_] | None = None
        if costs is not None:
            known = np.asarray(costs, dtype=float)
            self._no_dearer = known[None, :] <= known[:, None]
        if defended:
            self._no_dearer = np.zeros((candidates, candidates), dtype=bool)
            self._no_dearer[1:, 0] = True
        self._first_bet = costs_known_after
        self._prior = np.zeros(candidates) if prior is None else np.asarray(prior, dtype=float)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to ask."""
        return self.done >= len(self.order) or int(self.alive.sum()) <= 1 or self.chosen is not None

    def best(self) -> int:
        """The candidate that is chosen if the race ends now: the one that leads, unless one was found to be
        within the margin."""
        if self.chosen is not None:
            return self.chosen
        alive = np.flatnonzero(self.alive)
        return int(alive[np.argmax(self._estimates(alive))])

    def figure(self, candidate: int) -> float:
        """The overall figure of a candidate, estimated from the means of the categories that it was asked; of
        a dropped one, when it was dropped. 0.5 before the first question."""
        if self.dropped_at[candidate] is not None:
            return self._last[candidate]
        if not self.done:
            return 0.5
        sums, seen = self._plain[candidate], self._counts > 0
        means = np.where(seen, sums / np.maximum(self._counts, 1), sums.sum() / self.done)
        return float(self._sums[candidate] + means @ self._left)

    def add(self, scores: Array) -> list[int]:
        """Add the scores of all candidates on the next question, in [0, 1]; those of dropped ones are not
        read. An unknown score is NaN: it counts as 1 where the candidate may be dropped, and as 0 where
        others may be dropped because of it. Returns the candidates that are dropped now. Raises ValueError
        for a score out of its range."""
        alive = np.flatnonzero(self.alive)
        given = np.asarray(scores, dtype=float)[alive]
        low, high = np.nan_to_num(given, nan=0.0), np.nan_to_num(given, nan=1.0)
        if not ((low >= 0) & (high <= 1)).all():
            raise ValueError("expected scores from 0 to 1")
        left = float(self._left.sum())  # with the question that is added now
        if len(alive) > 1 and self.done >= self._first_bet:
            self._bet(alive, low, high, left)
            if self._within:
                self._cover(alive, low, high, left)
        self._learn(alive, low, high)
        return self._drop()

    def _rest(self, alive: NDArray[np.int64]) -> Array:
        """The estimated mean score of each candidate on the questions that are left; categories with few
        known scores lean on the others."""
        left = float(self._left.sum())
        pooled = (self._plain[alive].sum(1) + _PRIOR * self._prior[alive]) / (self.done + _PRIOR)
        by_stratum = (self._plain[alive] + _PRIOR * pooled[:, None]) / (self._counts + _PRIOR)
        return np.asarray(by_stratum @ self._left / left if left > 0 else pooled)

    def _estimates(self, alive: NDArray[np.int64]) -> Array:
        """The estimated overall figure of each candidate."""
        left = float(self._left.sum())
        return np.asarray(self._sums[alive] + left * self._rest(alive))

    def _variances(self, alive: NDArray[np.int64]) -> Array:
        """The mean squares of the differences between candidates, [j, k]."""
        products = self._products[np.ix_(alive, alive)]
        own = np.diag(products)
        return np.asarray((own[:, None] + own[None, :] - 2 * products) / max(1, self.done))

    def _rivals(self, alive: NDArray[np.int64]) -> Array:
        """The weights with which each candidate, by row, is compared with the others: most of it goes to
        those that lead."""
        size = len(alive)
        allowed = ~np.eye(size, dtype=bool)
        if self._no_dearer is not None:
            allowed &= self._no_dearer[np.ix_(alive, alive)]
        if self.done == 0 and not self._prior.any():
            shares = allowed.astype(float)
        else:
            found = self._estimates(alive)
            spread = _VARIANCE
            if self.done >= 3:
                spread = float(self._variances(alive).sum()) / (size * (size - 1))
            steepness = _SHARPNESS * math.sqrt(max(1, self.done) / max(spread, 1e-4))
            lead = np.where(allowed, found[None, :], -np.inf)
            best = lead.max(1, keepdims=True)
            shares = np.exp(np.maximum(steepness * (lead - np.where(np.isfinite(best), best, 0.0)), -50.0))
            shares = np.where(allowed, shares, 0.0)
        return np.asarray(shares / np.maximum(shares.sum(1, keepdims=True), 1e-300))

    def _bet(self, alive: NDArray[np.int64], low: Array, high: Array, left: float) -> None:
        """Bet against every candidate that is alive, and take the result."""
        rivals = self._rivals(alive)
        paired = rivals.sum(1) > 0  # nobody is no dearer than the cheapest
        against = rivals - np.eye(len(alive))
        result = rivals @ low - high
        margin = self._within if self._defended else 0.0
        expected = (margin - (rivals @ self._lows[alive] - self._highs[alive])) / left
        if self._defended:  # answers that vary may do so on every question, whatever is known
            expected = np.maximum(expected, 0.0)
        share = self._stake(against, alive, expected)
        factor = 1 + np.where(paired, share * (result - expected), 0.0)
        self._wealth[alive] += np.log(factor)
        self._wealth[alive[paired & (expected <= -1)]] = _CERTAIN  # what is left cannot make up for it

    def _stake(self, against: Array, alive: NDArray[np.int64], expected: Array) -> Array:
        """How much is bet on each row of `against`: about the share for which the wealth is expected to grow
        fastest, which is edge / (variance + edge^2)."""
        if self.done == 0:
            estimate, variance = against @ self._prior[alive], np.full(len(against), _VARIANCE)
        else:
            squares = np.einsum("kj,jl,kl->k", against, self._products[np.ix_(alive, alive)], against)
            prior = squares.mean() / self.done if self.done >= 3 else _VARIANCE
            estimate = against @ self._rest(alive)
            variance = (squares + _PRIOR * prior) / (self.done + _PRIOR) - estimate**2
        edge = np.maximum(estimate + self._optimism - expected, 0.0)
        stake = edge / (np.maximum(variance, 1e-4) + edge**2)
        return np.asarray(np.minimum(stake, _LARGEST / np.maximum(1 + expected, 1e-9)))

    def _cover(self, alive: NDArray[np.int64], low: Array, high: Array, left: float) -> None:
        """Bet for every pair that candidate k is less than the margin better than candidate j."""
        at = np.ix_(alive, alive)
        result = low[:, None] - high[None, :]
        expected = (-self._within - (self._lows[alive][:, None] - self._highs[alive][None, :])) / left
        rest = self._rest(alive)
        estimate = rest[:, None] - rest[None, :]
        squares = self._variances(alive)
        prior = squares.mean() if self.done >= 3 else _VARIANCE
        variance = (squares * self.done + _PRIOR * prior) / (self.done + _PRIOR) - estimate**2
        edge = np.maximum(estimate + _OPTIMISM - expected, 0.0)
        stake = edge / (np.maximum(variance, 1e-4) + edge**2)
        stake = np.minimum(stake, _LARGEST / np.maximum(1 + expected, 1e-9))
        grown = self._covered[at] + np.log(np.maximum(1 + stake * (result - expected), 1e-300))
        self._covered[at] = np.where(expected <= -1, _CERTAIN, grown)

    def _learn(self, alive: NDArray[np.int64], low: Array, high: Array) -> None:
        """Add the scores of a question to what is known; unknown ones count as a half in estimates."""
        values = (low + high) / 2
        stratum, weight = int(self.order.strata[self.done]), float(self.order.weights[self.done])
        self._sums[alive] += weight * values
        self._lows[alive] += weight * low
        self._highs[alive] += weight * high
        self._plain[alive, stratum] += values
        self._counts[stratum] += 1
        self._left[stratum] = max(0.0, self._left[stratum] - weight)
        self._products[np.ix_(alive, alive)] += np.outer(values, values)
        self.done += 1

    def _drop(self) -> list[int]:
        """Drop the candidates whose bet is won, and see whether one is within the margin of all others."""
        lost = self.alive & (self._wealth >= self._limit)
        if lost.any() and not (self.alive & ~lost).any():
            lost[self.best()] = False  # somebody has to win
        for candidate in np.flatnonzero(lost).tolist():
            self._last[candidate] = self.figure(candidate)
            self.dropped_at[candidate] = self.done
        self.alive &= ~lost
        if self._within and self.done < len(self.order):
            alive = np.flatnonzero(self.alive)
            covers = self._covered[np.ix_(alive, alive)] >= self._cover_limit
            np.fill_diagonal(covers, True)
            if self._defended:
                covers[alive == 0] = False
            whole = alive[covers.all(1)]
            if len(whole):
                ranked = dict(zip(alive.tolist(), self._estimates(alive).tolist(), strict=True))
                self.chosen = max(whole.tolist(), key=ranked.__getitem__)
        return [int(candidate) for candidate in np.flatnonzero(lost)]
