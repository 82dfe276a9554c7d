"""Checks the intervals, tests and verdicts of `fathoms.stats` on simulated data with known true values.

    python benchmarks/simulate_statistics.py [--replications 5000] [--histories 400] [--json FILE] [TABLE...]

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
from fathoms.stats.difference import bounds, macro_weights, pair
from fathoms.stats.intervals import blaker, stratified_interval
from fathoms.stats.noninferiority import Answers, judge
from fathoms.stats.paired import mcnemar_p, sign_flip_p

Array = NDArray[np.float64]
Row = dict[str, Any]
SHARES = np.array([31, 13, 14, 25, 10]) / 93
CATEGORIES = len(SHARES)
GRID = np.round(np.arange(0.05, 0.951, 0.1), 2)
EDGES = np.round(np.arange(0.01, 0.991, 0.01), 2)
ALPHA, MARGIN, NIGHTS = 0.025, 0.02, 30
BETA = 0.26
"""Concentration of the beta distribution: 2 p (1 - p) is 0.1 on average, 0.48 * BETA / (1 + BETA)."""
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


def blaker_rows() -> list[Row]:
    """Exact, from the binomial distribution, on the grid and at the edges."""
    rows = []
    for n in (3, 10, 13, 31, 93):
        seen = np.arange(n + 1)
        low, high = np.array([blaker(count / n, n) for count in seen]).T
        rates = [float(binom.pmf(seen, n, p)[(low <= p) & (p <= high)].sum()) for p in EDGES]
        rows.append(coverage(f"Blaker, {n} questions (exact)", rates))
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
    for _ in range(times):
        values, truth = draw(float(p), codes, rng)
        found = stratified_interval(np.split(values, edges), weights)
        hits += found.low <= truth <= found.high
    return hits / times


def cluster_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Questions on one document that rise and fall together (intra-class correlation 0.2)."""
    rows = []
    for groups in (20, 40):
        levels = (cluster_coverage(groups, p, replications, rng) for p in GRID[::3])
        naive, robust = zip(*levels, strict=True)
        rows.append(coverage(f"questions alone, {groups} documents of 5 questions, other documents", naive))
        rows.append(coverage(f"CR2, {groups} documents of 5 questions, other documents", robust))
    return rows


def cluster_coverage(groups: int, p: float, times: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often the interval without groups and CR2 hold the mean over all documents there could be."""
    documents, one = np.repeat(np.arange(groups), 5), np.ones(1)
    hits = np.zeros(2)
    for _ in range(times):
        level = rng.beta(4 * p, 4 * (1 - p), groups)
        values = (rng.random(documents.size) < level[documents]).astype(float)
        plain = stratified_interval([values], one)
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


def identical(n: int, noise: str, rng: np.random.Generator) -> Array:
    """Chances of each question to be right, 60 % on average, such that two identical runs differ in 10 % of
    the questions. `spread`: all waver a little; `coins`: every fifth is a coin toss; `beta`: some waver much
    and most hardly, by a beta distribution."""
    if noise == "beta":
        return rng.beta(0.6 * BETA, 0.4 * BETA, n)
    right = rng.random(n) < 0.6
    if noise == "spread":
        slip = (1 - np.sqrt(0.8)) / 2
        return np.where(right, 1 - slip, slip)
    return np.where(rng.random(n) < 0.2, 0.5, right)


def dropped(chances: Array, drop: float, rng: np.random.Generator) -> Array:
    """The same pipeline worse by `drop` on average: as many questions as needed are always wrong now."""
    worse_now, left = chances.copy(), drop * chances.size
    for place in rng.permutation(chances.size):
        taken = min(left, worse_now[place])
        worse_now[place] -= taken
        left -= taken
    return worse_now


def gate_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """Months of nights against a baseline, without a change, and with a collapse or a drop of 20 points."""
    cases = [(6, 1), (6, 5), (20, 1), (20, 5), (50, 1), (50, 5), (93, 5), (500, 5)]
    return [
        gate_row(n, repeats, noise, max(20, histories * 50 // max(n, 50)), rng)
        for n, repeats in cases
        for noise in ("spread", "coins", "beta")
    ]


def gate_row(n: int, repeats: int, noise: str, histories: int, rng: np.random.Generator) -> Row:
    """One size of question set and baseline; every history has its own questions, categories being small."""
    codes = strata(n) if n >= 50 else np.zeros(n, int)
    false, passed = 0, 0
    caught = {drop: np.zeros(3) for drop in (1.0, 0.2, 0.05)}
    for _ in range(histories):
        chances = identical(n, noise, rng)
        base = rng.binomial(1, np.repeat(chances[:, None], repeats, axis=1)).astype(float)
        month = [rng.binomial(1, chances).astype(float) for _ in range(NIGHTS)]
        false += any(fails(codes, base, month[max(0, last - 2) : last + 1]) for last in range(NIGHTS))
        passed += verdict_of(codes, base, month[:1]) == "PASS"
        for drop, hits in caught.items():
            truth = dropped(chances, drop, rng)
            nights = [rng.binomial(1, truth).astype(float) for _ in range(3)]
            seen = [fails(codes, base, nights[: last + 1]) for last in range(3)]
            hits += np.maximum.accumulate(seen)
    row: Row = {"questions": n, "baseline runs": repeats, "noise": noise, "histories": histories}
    row |= {"pass": 100 * passed / histories, "false month": 100 * false / histories}
    names = {1.0: "collapse", 0.2: "20 points", 0.05: "5 points"}
    for drop, hits in caught.items():
        row[f"{names[drop]} caught on night 1 / 2 / 3"] = " / ".join(
            f"{100 * hit / histories:.0f}" for hit in hits
        )
    return row


def fails(codes: NDArray[np.int64], base: Array, nights: list[Array]) -> bool:
    """Whether the verdict is FAIL. A newest night above the margin cannot fail, and is not computed."""
    lost = macro_weights(codes) @ (base.mean(axis=1) - nights[-1])
    return bool(lost >= MARGIN and verdict_of(codes, base, nights) == "FAIL")


def verdict_of(codes: NDArray[np.int64], base: Array, nights: list[Array]) -> str:
    """The verdict of the gate."""
    answers = Answers(
        tuple(codes.tolist()),
        tuple(map(tuple, base.tolist())),
        tuple(tuple((score,) for score in night.tolist()) for night in nights),
    )
    return judge([answers], MARGIN, ALPHA)[0].verdict


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
    parser.add_argument("--histories", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--json", type=Path)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="coverage, clusters, size, gate")
    options = parser.parse_args()
    makers: dict[str, Callable[[np.random.Generator], list[Row]]] = {
        "coverage": lambda rng: [
            *blaker_rows(),
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
