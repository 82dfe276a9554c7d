"""Checks the intervals, tests and verdicts of `fathoms.stats` on simulated data with known true values.

    python benchmarks/simulate_statistics.py [--replications 5000] [--histories 2000] [--json FILE] [TABLE...]

Prints the tables of docs/statistics.md. The categories have the proportions of FATHOMS-RAG.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from fathoms.stats.clusters import cr2_interval
from fathoms.stats.difference import Paired, bounds, macro_weights, pair, worse_p
from fathoms.stats.intervals import stratified_interval, wilson
from fathoms.stats.paired import mcnemar_p, sign_flip_p

Array = NDArray[np.float64]
Row = dict[str, Any]
SHARES = np.array([31, 13, 14, 25, 10]) / 93
CATEGORIES = len(SHARES)
GRID = np.round(np.arange(0.05, 0.951, 0.1), 2)
ALPHA, MARGIN, BASELINES, NIGHTS = 0.025, 0.02, 5, 30
Z = float(ndtri(1 - ALPHA))


def strata(n: int) -> NDArray[np.int64]:
    """The category of each of n questions."""
    sizes = np.floor(SHARES * n + 0.5).astype(int)
    sizes[0] += n - sizes.sum()
    return np.repeat(np.arange(CATEGORIES), sizes)


def coverage(name: str, covered: Iterable[float]) -> Row:
    """One line of the table of coverage, from the coverage at each truth."""
    rates = 100 * np.array(list(covered))
    return {"interval": name, "mean": rates.mean(), "lowest": rates.min(), "highest": rates.max()}


# ----- intervals


def wilson_rows() -> list[Row]:
    """Exact, from the binomial distribution."""
    rows = []
    for n in (10, 13, 31, 93):
        seen = np.arange(n + 1)
        low, high = wilson(seen / n, np.full(n + 1, n))
        rates = [float(binom.pmf(seen, n, p)[(low <= p) & (p <= high)].sum()) for p in GRID]
        rows.append(coverage(f"Wilson, {n} questions (exact)", rates))
    return rows


def macro_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """The macro mean: right or wrong, thirds of an answer, and categories of unlike difficulty."""
    cases = {
        (93, "right or wrong"): flags,
        (93, "fractions"): thirds,
        (93, "unlike categories"): unlike,
        (500, "right or wrong"): flags,
    }
    return [
        coverage(
            f"macro mean, {n} questions, {kind}",
            [macro_coverage(draw, p, n, replications, rng) for p in GRID],
        )
        for (n, kind), draw in cases.items()
    ]


def flags(p: float, codes: NDArray[np.int64], rng: np.random.Generator) -> tuple[Array, float]:
    """Right with chance p."""
    return (rng.random(codes.size) < p).astype(float), p


def thirds(p: float, codes: NDArray[np.int64], rng: np.random.Generator) -> tuple[Array, float]:
    """0, 1/3, 2/3 or 1, with mean p."""
    return rng.binomial(3, rng.beta(2 * p, 2 * (1 - p), codes.size)) / 3, p


def unlike(p: float, codes: NDArray[np.int64], rng: np.random.Generator) -> tuple[Array, float]:
    """Right with chances around p that differ by category."""
    spread = min(p, 1 - p) * 0.8 * np.array([1, -1, 0.5, -0.5, 0])
    return (rng.random(codes.size) < p + spread[codes]).astype(float), p


def macro_coverage(draw: Callable[..., Any], p: float, n: int, times: int, rng: np.random.Generator) -> float:
    """How often the interval holds the truth."""
    codes, hits = strata(n), 0
    edges, weights = np.flatnonzero(np.diff(codes)) + 1, np.full(CATEGORIES, 1 / CATEGORIES)
    for seed in range(times):
        values, truth = draw(float(p), codes, rng)
        found = stratified_interval(np.split(values, edges), weights, resamples=999, seed=seed)
        hits += found.low <= truth <= found.high
    return hits / times


def cluster_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Questions on one document that rise and fall together (intra-class correlation 0.2)."""
    rows = []
    for groups in (20, 40):
        levels = (cluster_coverage(groups, p, replications, rng) for p in GRID[::3])
        naive, robust = zip(*levels, strict=True)
        rows.append(coverage(f"BCa, {groups} documents of 5 questions, other documents", naive))
        rows.append(coverage(f"CR2, {groups} documents of 5 questions, other documents", robust))
    return rows


def cluster_coverage(groups: int, p: float, times: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often BCa and CR2 hold the mean over all documents there could be."""
    documents, one = np.repeat(np.arange(groups), 5), np.ones(1)
    hits = np.zeros(2)
    for seed in range(times):
        level = rng.beta(4 * p, 4 * (1 - p), groups)
        values = (rng.random(documents.size) < level[documents]).astype(float)
        plain = stratified_interval([values], one, resamples=999, seed=seed)
        found = cr2_interval(values, np.zeros(values.size, int), documents, one)
        hits += plain.low <= p <= plain.high, found.low <= p <= found.high
    return float(hits[0] / times), float(hits[1] / times)


def difference_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """The difference of two runs, where the truth is a change from -16 to +16 points."""
    rows = []
    for n in (93, 500):
        for repeats in (1, 5):
            rates = [
                difference_coverage(n, c, repeats, replications, rng) for c in np.linspace(-0.16, 0.16, 9)
            ]
            rows.append(coverage(f"difference, {n} questions, {repeats} baseline runs", rates))
    return rows


def difference_coverage(n: int, change: float, repeats: int, times: int, rng: np.random.Generator) -> float:
    """Questions are drawn anew each time, with chances from 0.2 to 0.6 to be right; a share of them, unlike
    by category, gains or loses 20 points."""
    codes = strata(n)
    shares = np.abs(change) / 0.2 * np.array([0.5, 1, 1, 0.5, 1]) / 0.8
    old = 0.2 + 0.4 * rng.random((times, n))
    moved = rng.random((times, n)) < shares[codes]
    new = old + np.sign(change) * 0.2 * moved
    truth = np.sign(change) * 0.2 * shares.mean()
    differences = rng.binomial(1, new) - rng.binomial(repeats, old) / repeats
    low, high = bounds(pair(differences, macro_weights(codes)), Z)
    return float(((low <= truth) & (truth <= high)).mean())


# ----- tests


def size_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How often p < 0.05 where nothing has changed."""
    rows = []
    for n, rate in ((93, 0.1), (93, 0.3), (500, 0.05), (500, 0.1)):
        weights = macro_weights(strata(n))
        won, lost = flips(n, rate, replications, rng)
        signs = won.astype(float) - lost
        halves = signs * rng.choice([0.25, 0.5, 1.0], signs.shape)
        rows.append(
            {
                "questions": n,
                "flips": float((won | lost).sum(axis=1).mean()),
                "sign-flip, flags": size_of_sign_flip(signs, weights),
                "sign-flip, fractions": size_of_sign_flip(halves, weights),
                "McNemar": 100 * float((mcnemar_p(won.sum(axis=1), lost.sum(axis=1)) < 0.05).mean()),
            }
        )
    return rows


def flips(n: int, rate: float, times: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Which questions only the first, and only the second of two identical pipelines has right."""
    luck = rng.random((times, n))
    return luck < rate / 2, luck > 1 - rate / 2


def size_of_sign_flip(differences: Array, weights: Array) -> float:
    """In percent."""
    found = [sign_flip_p(row, weights, resamples=1_999, seed=seed) for seed, row in enumerate(differences)]
    return 100 * float(np.mean(np.array(found) < 0.05))


# ----- the gate


def identical(n: int, noise: str, times: int, rng: np.random.Generator) -> Array:
    """Chances of each question to be right, by history: 60 % of the firm ones are, and two identical runs
    differ in 10 % of the questions. `spread`: all waver a little; `coins`: every fifth is a coin toss."""
    right = rng.random((times, n)) < 0.6
    if noise == "spread":
        slip = (1 - np.sqrt(0.8)) / 2
        return np.where(right, 1 - slip, slip)
    return np.where(rng.random((times, n)) < 0.2, 0.5, right)


def dropped(chances: Array, drop: str, rng: np.random.Generator) -> Array:
    """The same pipeline 5 points worse: `some` questions, as many as make 5 points, are always wrong now, or
    `all` are right less often."""
    if drop == "some":
        firm = chances > 0.9
        lost = round(0.05 * chances.shape[1] / chances[firm].mean())
        order = np.argsort(np.where(firm, rng.random(chances.shape), 2), axis=1)
        worse_now = chances.copy()
        np.put_along_axis(worse_now, order[:, :lost], 0, axis=1)
        return worse_now
    able = chances >= 0.06
    return chances - able * 0.05 / able.mean(axis=1, keepdims=True)


def gate_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """Months of nights against five baseline runs, without and with a change."""
    return [gate_row(n, noise, histories, rng) for n in (93, 500, 2000) for noise in ("spread", "coins")]


def gate_row(n: int, noise: str, histories: int, rng: np.random.Generator) -> Row:
    """One pipeline's histories."""
    weights, chances = macro_weights(strata(n)), identical(n, noise, histories, rng)
    baseline = rng.binomial(BASELINES, chances) / BASELINES

    def night(truth: Array) -> Paired:
        return pair(rng.binomial(1, truth) - baseline, weights)

    month = [night(chances) for _ in range(NIGHTS)]
    bad = np.array([worse(found) for found in month])
    beyond = np.array([found.mean <= -MARGIN for found in month])
    row = {
        "questions": n,
        "noise": noise,
        "pass": 100 * float(np.mean([bounds(found, Z)[0] > -MARGIN for found in month])),
        "false month": 100 * float((bad[1:] & bad[:-1]).any(axis=0).mean()),
        "false month, one night": 100 * float(bad.any(axis=0).mean()),
        "false month, tolerance": 100 * float(beyond.any(axis=0).mean()),
    }
    for drop in ("some", "all"):
        truth = dropped(chances, drop, rng)
        found = [night(truth) for _ in range(2)]
        row[f"caught, {drop}"] = 100 * float((worse(found[0]) & worse(found[1])).mean())
        row[f"caught, {drop}, tolerance"] = 100 * float(
            ((found[0].mean <= -MARGIN) | (found[1].mean <= -MARGIN)).mean()
        )
        row[f"passed, {drop}"] = 100 * float((bounds(found[1], Z)[0] > -MARGIN).mean())
    return row


def worse(found: Paired) -> NDArray[np.bool_]:
    """What FAIL asks of one night, with one metric."""
    return np.asarray((worse_p(found) < ALPHA) & (found.mean <= -MARGIN))


# ----- printing


def table(rows: list[Row]) -> str:
    """A Markdown table."""
    heads = list(rows[0])
    cells = [
        [value if isinstance(value, str | int) else f"{value:.1f}" for value in row.values()] for row in rows
    ]
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    """Print every table with the seconds it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=5000)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--json", type=Path)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="coverage, clusters, size, gate")
    options = parser.parse_args()
    makers: dict[str, Callable[[np.random.Generator], list[Row]]] = {
        "coverage": lambda rng: [
            *wilson_rows(),
            *macro_rows(options.replications, rng),
            *difference_rows(options.replications, rng),
        ],
        "clusters": lambda rng: cluster_rows(options.replications, rng),
        "size": lambda rng: size_rows(options.replications, rng),
        "gate": lambda rng: gate_rows(options.histories, rng),
    }
    found = {}
    for name in options.tables or makers:
        start = time.perf_counter()
        found[name] = makers[name](np.random.default_rng(options.seed))
        print(f"\n{name} ({time.perf_counter() - start:.0f} s)\n\n{table(found[name])}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
