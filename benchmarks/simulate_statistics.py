"""Checks the intervals, tests and verdicts of `fathoms.stats` on simulated data with known true values.

    python benchmarks/simulate_statistics.py [--replications 5000] [--histories 400] [--json FILE] [TABLE...]

Prints the tables of docs/statistics.md. The categories have the proportions of FATHOMS-RAG.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri, stdtrit
from scipy.stats import binom, hypergeom

from fathoms.stats.clusters import cr2_difference, cr2_interval, usable
from fathoms.stats.detectable import detectable, sign_flip_ps
from fathoms.stats.difference import bounds, macro_weights, pair, score_p
from fathoms.stats.few_questions import LEAST_LOST, MONTH, loss, p_values, weights
from fathoms.stats.few_questions import LEVEL as LEVEL_OF_FEW
from fathoms.stats.intervals import blaker, log_t_interval, mean_interval, ratio_interval, stratified_interval
from fathoms.stats.noninferiority import FEW, LEVELS, LOST_LEVEL, WAVERING, Answers, judge
from fathoms.stats.paired import difference_p, mcnemar_p, sign_flip_p
from fathoms.stats.pooled import pooled_p
from fathoms.stats.ranks import rank_intervals
from fathoms.stats.ratio import linearised
from fathoms.stats.sequential import SHIFTS, YEAR, level_alone, needed
from fathoms.stats.shrink import shrunk
from fathoms.text.amounts import percent
from fathoms.tune.order import draw_order
from fathoms.tune.race import Race

Array = NDArray[np.float64]
Row = dict[str, Any]
SHARES = np.array([31, 13, 14, 25, 10]) / 93
CATEGORIES = len(SHARES)
GRID = np.round(np.arange(0.05, 0.951, 0.1), 2)
FINE_GRID = np.round(np.arange(0.01, 0.991, 0.01), 2)
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
        rates = [float(binom.pmf(seen, n, p)[(low <= p) & (p <= high)].sum()) for p in FINE_GRID]
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


def edge_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Overall of few questions and of extreme rates: coverage of each rate, and the mean width at .5."""
    kinds: dict[str, Callable[..., Array]] = {
        "right or wrong": lambda p, n: (rng.random(n) < p).astype(float),
        "thirds": lambda p, n: rng.binomial(3, p, n) / 3,
        "means of 5 repeats": lambda p, n: rng.binomial(5, rng.beta(p, 1 - p, n)) / 5,
        # a question has 1, or with a chance of 2 (1 - p) any score from 0 to 1
        "mostly 1": lambda p, n: np.where(rng.random(n) < 2 * (1 - p), rng.random(n), 1.0),
    }
    rows = []
    for sizes in ((3,), (10,), (3,) * 5, (10,) * 5, (30,) * 5, (31, 13, 14, 25, 10)):
        weights = np.full(len(sizes), 1 / len(sizes))
        for kind, draw in kinds.items():
            rates = [p for p in EDGE_RATES if kind != "mostly 1" or p >= 0.5]
            found = {}
            for p in rates:
                drawn = ([draw(p, n) for n in sizes] for _ in range(replications))
                ends = [interval_of(strata, weights) for strata in drawn]
                found[p] = share(low <= p <= high for low, high in ends)
                if p == 0.5:
                    width = np.mean([high - low for low, high in ends])
            worst = min(rates, key=lambda p: figure(found[p]))
            rows.append(
                {
                    "questions": "+".join(map(str, sizes)),
                    "scores": kind,
                    **{f"rate {p:g}": found.get(p, "-") for p in EDGE_RATES},
                    "lowest": found[worst],
                    "mean width at .5": f"{width:.3f}",
                }
            )
    return rows


FRACTIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "beta around .82": lambda rng, size: rng.beta(8.2, 1.8, size),
    "beta around .82, wide": lambda rng, size: rng.beta(2.05, 0.45, size),
    "beta around .5": lambda rng, size: rng.beta(6, 6, size),
    "grades 0-10, 45 % at 10": lambda rng, size: rng.choice(np.arange(11) / 10, size, p=GRADES),
    "grades 7-10, 40 % at 10": lambda rng, size: rng.choice(
        [0.7, 0.8, 0.9, 1], size, p=[0.05, 0.2, 0.35, 0.4]
    ),
    "grades 0-10, 80 % at 10": lambda rng, size: np.where(
        rng.random(size) < 0.8, 1, rng.choice(np.arange(10) / 10, size)
    ),
    "like ROUGE-L": lambda rng, size: rng.beta(2.5, 6, size),
    "half zeros": lambda rng, size: np.where(rng.random(size) < 0.5, 0, rng.beta(4, 2, size)),
    "0, .5 or 1": lambda rng, size: rng.choice([0, 0.5, 1], size, p=[0.2, 0.3, 0.5]),
    "two clusters, 40 % low": lambda rng, size: two_clusters(0.4, rng, size),
    "two clusters, 10 % low": lambda rng, size: two_clusters(0.1, rng, size),
    "tau of 3 systems around .78": lambda rng, size: rng.choice(
        [1, 0.908, 0.667, 0.333, 0], size, p=[0.62, 0.14, 0.2, 0.03, 0.01]
    ),
    # the constants of the interval were not chosen on these
    "uniform": lambda rng, size: rng.random(size),
    "beta around .5, U-shaped": lambda rng, size: rng.beta(0.5, 0.5, size),
    "beta around .9, tight": lambda rng, size: rng.beta(27, 3, size),
    "70 % zeros": lambda rng, size: np.where(rng.random(size) < 0.7, 0, rng.beta(2, 2, size)),
    "log-normal around .24": lambda rng, size: np.minimum(rng.lognormal(-1.6, 0.6, size), 1),
    "0, .5 or 1, 75 % at 1": lambda rng, size: rng.choice([0, 0.5, 1], size, p=[0.05, 0.2, 0.75]),
}
GRADES = np.array([2, 1, 2, 3, 3, 5, 6, 8, 12, 13, 45]) / 100


def two_clusters(low: float, rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Scores around .2 with chance `low`, and around .85."""
    return np.clip(rng.normal(np.where(rng.random(size) < low, 0.2, 0.85), 0.06), 0, 1)


def fraction_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Means of fractional scores: coverage, that of Student's t, and how much wider it is on average."""
    rows = []
    for name, draw in FRACTIONS.items():
        truth, row = float(draw(rng, (1000, 2000)).mean()), {"scores": name}
        for n in (10, 20, 50, 100):
            values = draw(rng, (replications, n))
            ends = np.array([mean_interval(sample)[:2] for sample in values]).T
            middle = values.mean(axis=1)
            half = float(stdtrit(n - 1, 0.975)) * values.std(axis=1, ddof=1) / math.sqrt(n)
            ours, student = (
                share((low <= truth) & (truth <= high))
                for low, high in (ends, (middle - half, middle + half))
            )
            wider = float((ends[1] - ends[0]).mean() / (2 * half.mean()))
            row[f"{n} questions"] = f"{ours} ({figure(student):.1f}), {wider:.2f}"
        rows.append(row)
    return rows


def interval_of(strata: Sequence[Array], weights: Array) -> tuple[float, float]:
    """The default interval of a category, or of the mean of several."""
    found = mean_interval(strata[0]) if len(strata) == 1 else stratified_interval(strata, weights)
    return found.low, found.high


def shrink_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How far raw and shrunk means of categories are from the true rates, by the spread of these."""
    rows = []
    sizes = np.bincount(strata(93))
    for spread in (0.0, 0.05, 0.1, 0.2, 0.3):
        raw, pulled = [], []
        for _ in range(replications):
            rates = np.clip(rng.normal(0.6, spread, CATEGORIES), 0.02, 0.98)
            means = rng.binomial(sizes, rates) / sizes
            within = float(np.sum(sizes * means * (1 - means))) / (93 - CATEGORIES)
            raw.append(np.mean((means - rates) ** 2))
            pulled.append(np.mean((shrunk(means, within / sizes) - rates) ** 2))
        less = 100 * (1 - np.mean(pulled) / np.mean(raw))
        rows.append(
            {
                "standard deviation of the true rates": f"{spread:.2f}",
                "error of the raw means": f"{np.sqrt(np.mean(raw)):.3f}",
                "of the shrunk means": f"{np.sqrt(np.mean(pulled)):.3f}",
                "less squared error, percent": f"{less:.0f}",
            }
        )
    return rows


def ratio_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Shares of answers where questions have unlike numbers of them: coverage of each mean chance of a
    question. `alike`: all questions have the same chance; `unlike`: chances from a beta distribution, nearly
    all close to 0 or 1; `easy ones`, `hard ones`: the more, or the less, probable a question is right, the
    more answers it has."""
    cases: dict[str, tuple[int, Callable[[Array], Any]]] = {
        "1 to 5": (5, lambda chances: rng.integers(1, 6, chances.size)),
        "5, of a tenth 50": (50, lambda chances: np.where(rng.random(chances.size) < 0.1, 50, 5)),
        "0 to 5, easy ones more": (5, lambda chances: rng.binomial(5, 0.2 + 0.8 * chances)),
        "1 to 5, easy ones more": (5, lambda chances: 1 + rng.binomial(4, chances)),
        "1 to 5, hard ones more": (5, lambda chances: 1 + rng.binomial(4, 1 - chances)),
    }
    rows = []
    for n, (name, (most, count)), chances in product((10, 20, 93, 200), cases.items(), ("alike", "unlike")):
        if "ones" in name and chances == "alike":
            continue
        found = {p: ratio_coverage(n, count, most, chances, p, replications, rng) for p in EDGE_RATES}
        row: Row = {"questions": n, "answers to a question": name, "chances": chances}
        row |= {f"rate {p:g}": covered for p, covered in found.items()}
        rows.append(row | {"lowest": min(found.values(), key=figure)})
    return rows


def ratio_coverage(
    n: int,
    count: Callable[[Array], Any],
    most: int,
    kind: str,
    p: float,
    times: int,
    rng: np.random.Generator,
) -> str:
    """One case; the truth is the mean chance, each question counting as much as it has answers."""
    many = rng.beta(BETA * p, BETA * (1 - p), 10**6)
    drawn = count(many)
    truth = float(drawn @ many / drawn.sum()) if kind == "unlike" else p
    covered = []
    while len(covered) < times:
        chances = rng.beta(BETA * p, BETA * (1 - p), n) if kind == "unlike" else np.full(n, p)
        answers = count(chances)
        if not answers.any():
            continue
        tops, bottoms = rng.binomial(answers, chances).astype(float), answers.astype(float)
        found = ratio_interval(tops, bottoms, most=most)
        covered.append(found.low <= truth <= found.high)
    return share(covered)


def f1_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """`abstention-f1`: the coverage for each recall, the lowest over false abstentions of 0, .02 and .1 and
    over whether the number of unanswerable questions is fixed or drawn, and the mean width at a recall of .5
    and no false abstentions. With 5 answers, questions differ in their chance of an abstention (beta
    distribution)."""
    rows = []
    for n, part, repeats in product((10, 20, 40, 93, 200), (0.1, 0.5), (1, 5)):
        row: Row = {"questions": n, "unanswerable": f"{part:g}", "answers": repeats}
        lowest = {}
        for recall in EDGE_RATES:
            cases = [
                f1_case(n, part, recall, false, repeats, drawn, replications, rng)
                for false, drawn in product((0.0, 0.02, 0.1), (False, True))
            ]
            lowest[recall] = min((covered for covered, _ in cases), key=figure)
            if recall == 0.5:
                width = cases[0][1]
        row |= {f"recall {recall:g}": covered for recall, covered in lowest.items()}
        rows.append(row | {"lowest": min(lowest.values(), key=figure), "mean width at .5": f"{width:.3f}"})
    return rows


def f1_case(
    n: int,
    part: float,
    recall: float,
    false: float,
    repeats: int,
    drawn: bool,
    times: int,
    rng: np.random.Generator,
) -> tuple[str, float]:
    """The coverage and the mean width of one case; if no question counts, there is no F1, and it is drawn
    again."""
    covered, widths = [], []
    known: dict[bytes, tuple[float, float]] = {}
    hits, wrong = n * part * recall, n * (1 - part) * false
    truth = 2 * hits / (n * part + hits + wrong)
    while len(covered) < times:
        unanswerable = np.arange(n) < (rng.binomial(n, part) if drawn else n * part)
        chances = np.where(unanswerable, recall, false)
        if repeats > 1:
            chances = np.where(chances > 0, rng.beta(np.maximum(chances, 1e-9), 1 - chances), 0.0)
        abstained = rng.binomial(repeats, chances)
        right = np.where(unanswerable, abstained, 0.0)
        bottoms = 2 * right + np.where(unanswerable, repeats - abstained, abstained)
        if not bottoms.any():
            continue
        # the order of the questions does not matter
        order = np.lexsort((right, bottoms))
        key = np.stack([right, bottoms])[:, order].tobytes()
        if key not in known:
            known[key] = ratio_interval(2 * right, bottoms, 2, repeats)[:2]
        low, high = known[key]
        covered.append(low <= truth + 1e-9 and truth - 1e-9 <= high)
        widths.append(high - low)
    return share(covered), float(np.mean(widths))


def unbounded_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """Coverage of the interval of values without bounds: positive ones that are ever more skewed."""
    kinds: dict[str, tuple[Callable[[int], Array], float]] = {
        "normal": (lambda n: rng.normal(10, 1, n), 10.0),
        "log-normal, sd 0.5": (lambda n: rng.lognormal(0, 0.5, n), float(np.exp(0.125))),
        "exponential": (lambda n: rng.exponential(1, n), 1.0),
        "log-normal, sd 1": (lambda n: rng.lognormal(0, 1, n), float(np.exp(0.5))),
        "a tenth 10 times as slow": (lambda n: rng.normal(1, 0.1, n) * (1 + 9 * (rng.random(n) < 0.1)), 1.9),
        # the limit of 60 questions was chosen with these two, the formula without them
        "gamma, shape 0.5": (lambda n: rng.gamma(0.5, 2, n), 1.0),
        "a twentieth 10 times as slow": (
            lambda n: rng.normal(1, 0.1, n) * (1 + 9 * (rng.random(n) < 0.05)),
            1.45,
        ),
        # these were looked at when everything had been chosen
        "Weibull, shape 0.6": (lambda n: rng.weibull(0.6, n), math.gamma(1 + 1 / 0.6)),
        "inverse Gaussian": (lambda n: rng.wald(1, 1, n), 1.0),
        "a fifth 5 times as slow": (
            lambda n: rng.normal(1, 0.1, n) * (1 + 4 * (rng.random(n) < 0.2)),
            1.8,
        ),
    }
    rows = []
    for sizes in ((60,), (93,), (31, 13, 14, 25, 10), (300,)):
        row: Row = {"questions": "+".join(map(str, sizes))}
        weights = np.full(len(sizes), 1 / len(sizes))
        for name, (draw, truth) in kinds.items():
            found = [log_t_interval([draw(n) for n in sizes], weights) for _ in range(replications)]
            # without an interval, no two values differ
            row[name] = share(it is not None and it.low <= truth <= it.high for it in found)
        rows.append(row)
    return rows


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


def clustered_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """CR2 at the edges: the coverage of each rate, the lower one of intra-class correlations of .2 and .5.
    Questions fall into the categories at random. `refused`: the share of sets that cannot be used."""
    cases = [
        (groups, sizes, kind) for groups in (20, 40) for sizes in ("3", "5", "unequal") for kind in KINDS
    ]
    rows = []
    for groups, sizes, kind in cases:
        if (kind == KINDS[2] and sizes != "3") or (kind == KINDS[3] and (groups, sizes) != (40, "5")):
            continue
        row: Row = {"documents": groups, "questions per document": sizes, "categories": kind}
        documents = documents_of(groups, sizes)
        sets = [codes_of(kind, documents, rng) for _ in range(max(20, replications // 10))]
        used = [codes for codes in sets if usable(codes, documents) is None]
        row["refused"] = 100 * (len(sets) - len(used)) / len(sets)
        # a set that is hardly ever usable is not simulated
        rates = EDGE_RATES if row["refused"] < 90 else ()
        found = {
            p: min(
                (clustered_coverage(used, documents, p, icc, replications, rng) for icc in (0.2, 0.5)),
                key=figure,
            )
            for p in rates
        }
        row |= {f"rate {p:g}": found.get(p, "-") for p in EDGE_RATES}
        rows.append(row | {"lowest": min(found.values(), key=figure, default="-")})
    return rows


KINDS = ("1", "5", "of 3 questions", "5, one of them on one document")


def documents_of(groups: int, sizes: str) -> NDArray[np.int64]:
    """The document of each question. `unequal`: 1, 2, 3, 5 and 14 questions per document."""
    counts = np.resize([1, 2, 3, 5, 14], groups) if sizes == "unequal" else np.full(groups, int(sizes))
    return np.repeat(np.arange(groups), counts)


def codes_of(kind: str, documents: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The category of each question, at random."""
    if kind == "of 3 questions":
        return rng.permutation(np.arange(documents.size) // 3)
    drawn = rng.choice(CATEGORIES, documents.size, p=SHARES) * (kind != "1")
    if kind == KINDS[3]:
        drawn = np.where(documents == 0, CATEGORIES, drawn % (CATEGORIES - 1))
    return np.unique(drawn, return_inverse=True)[1].astype(np.int64)


def clustered_coverage(
    sets: Sequence[NDArray[np.int64]],
    documents: NDArray[np.int64],
    p: float,
    icc: float,
    times: int,
    rng: np.random.Generator,
) -> str:
    """How often CR2 holds the mean over all documents there could be, where the chances of documents have a
    beta distribution with an intra-class correlation `icc`."""
    covered = []
    for number in range(times):
        codes = sets[number % len(sets)]
        kinds = int(codes.max()) + 1
        level = rng.beta((1 / icc - 1) * p, (1 / icc - 1) * (1 - p), documents.max() + 1)
        values = (rng.random(documents.size) < level[documents]).astype(float)
        found = cr2_interval(values, codes, documents, np.full(kinds, 1 / kinds))
        covered.append(found.low <= p <= found.high)
    return share(covered)


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


def skewed_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How often p < 0.05 where one run loses a little on most questions and gains much on a few, so that the
    means are equal and the differences are not symmetric; and how often the interval has the difference 0."""
    rows = []
    for n, gains in ((30, 0.1), (93, 0.1), (93, 0.05), (93, 1 / 30), (500, 0.05)):
        weights = np.full(n, 1 / n)
        found = np.where(rng.random((replications, n)) < gains, 1 - gains, -gains)
        low, high = bounds(pair(found, weights), Z)
        flip = [sign_flip_p(row, weights, resamples=1_999, seed=seed) for seed, row in enumerate(found)]
        p = np.maximum(flip, score_p(pair(found, weights)))
        rows.append(
            {
                "questions": n,
                "share that gains": f"{gains:.2f}",
                "sign-flip": share(np.array(flip) < 0.05),
                "used by compare": share(p < 0.05),
                "coverage of the interval": share((low <= 0) & (high >= 0)),
            }
        )
    return rows


def f1_difference_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """The difference of abstention-f1 between two runs of one pipeline, which agree on half of the luck: how
    often p < 0.05, and how often the interval has the difference 0."""
    kinds = np.array([(2.0, 2.0), (0.0, 0.0), (0.0, 1.0)])  # right abstention, right answer, either mistake
    rows = []
    for n, (recall, mistaken) in product(
        (40, 100, 200), ((0.9, 0.1), (0.9, 0.05), (0.97, 0.02), (0.99, 0.01), (0.5, 0.1))
    ):
        p, covered = [], []
        while len(p) < replications:
            unanswerable, one, other = rng.random(n) < 0.3, rng.random(n), rng.random(n)
            sides = []
            for luck in (one, np.where(rng.random(n) < 0.5, one, other)):
                abstained = luck < np.where(unanswerable, recall, mistaken)
                place = np.where(unanswerable & abstained, 0, np.where(unanswerable | abstained, 2, 1))
                sides.append(kinds[place])
            if not all(side[:, 1].any() for side in sides):
                continue
            values, weights = linearised(*sides), np.full(n, 1 / n)
            scale = float(np.abs(values).max()) or 1.0
            low, high = bounds(pair(values / scale, weights), Z)
            covered.append(bool(low <= 0 <= high))
            p.append(difference_p(values / scale, weights, resamples=1_999, seed=len(p)))
        row: Row = {"questions": n, "recall": f"{recall:g}", "false abstentions": f"{mistaken:g}"}
        rows.append(row | {"p < .05": share(np.array(p) < 0.05), "coverage": share(covered)})
    return rows


def rank_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How often the intervals of the ranks of four runs hold all true ranks; equal runs share rank 1."""
    rows = []
    for n, repeats, rates in product(
        (15, 93), (1, 5), ((0.98,) * 4, (0.5,) * 4, (0.5, 0.6, 0.7, 0.8), (0.9, 0.9, 0.95, 0.95))
    ):
        weights = macro_weights(edge_codes(n))
        truth = [1 + sum(other > rate for other in rates) for rate in rates]
        covered = []
        for seed in range(replications):
            # runs agree on half of the luck, as answers to one question do
            luck = rng.random(n)
            alone = rng.random((len(rates), n, repeats))
            shared = rng.random(n) < 0.5
            drawn = np.where(shared[None, :, None], luck[None, :, None], alone)
            scores = (drawn < np.array(rates)[:, None, None]).mean(axis=2)
            found = rank_intervals(scores, weights, seed=seed)
            covered.append(all(low <= rank <= high for (low, high), rank in zip(found, truth, strict=True)))
        names = ", ".join(f"{rate:g}" for rate in rates)
        rows.append({"questions": n, "answers": repeats, "true rates": names, "all held": share(covered)})
    return rows


def pass_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How often PASS comes where the true loss is as large as the margin, at level 2.5 %."""
    rows = []
    for (n, rate, margin), repeats in product(
        ((93, 0.9, 0.05), (93, 0.95, 0.05), (200, 0.95, 0.02), (500, 0.98, 0.02), (500, 0.6, 0.05)),
        (1, 5, 20),
    ):
        new = rng.binomial(1, rate - margin, (replications, n))
        old = rng.binomial(repeats, rate, (replications, n)) / repeats
        low, _ = bounds(pair(new - old, np.full(n, 1 / n)), Z)
        row: Row = {"questions": n, "rate": f"{rate:g}", "margin and loss": f"{margin:g}"}
        rows.append(row | {"baseline runs": repeats, "PASS": share(low > -margin)})
    return rows


def flips(n: int, rate: float, times: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Which questions only the first, and only the second of two identical pipelines has right."""
    luck = rng.random((times, n))
    return luck < rate / 2, luck > 1 - rate / 2


def size_of_sign_flip(differences: Array, weights: Array) -> float:
    """In percent."""
    found = [difference_p(row, weights, resamples=1_999, seed=seed) for seed, row in enumerate(differences)]
    return 100 * float(np.mean(np.array(found) < 0.05))


# ----- comparisons at the edges

EDGES = (0.02, 0.5, 0.9, 0.98)
EDGE_RATES = (0.02, 0.1, 0.5, 0.9, 0.98)
CHANGES = ((0.02, 0.02), (0.98, 0.98), (0.98, 0.90), (0.02, 0.10), (0.90, 0.50), (0.98, 0.50), (0.5, 0.5))


def share(hits: Iterable[Any]) -> str:
    """A share in percent, with its standard error."""
    found = np.array(list(hits), dtype=float)
    rate = found.mean()
    return f"{100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / found.size):.1f}"


def figure(text: str) -> float:
    """The figure of a share."""
    return float(text.split()[0])


def edge_codes(n: int) -> NDArray[np.int64]:
    """3 questions are one category; 15 are 3 in each category."""
    return np.zeros(3, int) if n == 3 else np.repeat(np.arange(CATEGORIES), 3) if n == 15 else strata(n)


def repeat_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """The highest size, and the lowest coverage of no difference, over shares of right answers (`EDGES`).

    Neither run is better. `equal`: both answer all questions with the same chance; `mixed`: both with the
    same chances, from a beta distribution; `traded`: each run with its own, from that distribution.
    """
    rows = []
    for n, (first, second) in product((15, 93), ((1, 1), (5, 5), (5, 1))):
        for world in ("equal", "mixed", "traded"):
            cases = [repeated(n, first, second, world, rate, replications, rng) for rate in EDGES]
            flip, drawn, used, covered = zip(*cases, strict=True)
            row: Row = {"questions": n, "answers": f"{first} and {second}", "runs": world}
            row |= {"sign-flip": max(flip, key=figure), "pooled": max(drawn, key=figure)}
            row |= {"used by compare": max(used, key=figure), "coverage": min(covered, key=figure)}
            rows.append(row)
    return rows


def repeated(
    n: int, first: int, second: int, world: str, rate: float, times: int, rng: np.random.Generator
) -> tuple[str, str, str, str]:
    """How often the tests find a difference, and how often the interval holds 0."""
    weights, found = macro_weights(edge_codes(n)), []
    for seed in range(times):
        ours = np.full(n, rate) if world == "equal" else rng.beta(BETA * rate, BETA * (1 - rate), n)
        theirs = rng.beta(BETA * rate, BETA * (1 - rate), n) if world == "traded" else ours
        one, two = answered(ours, first, rng), answered(theirs, second, rng)
        differences = np.mean(two, axis=1) - np.mean(one, axis=1)
        low, high = bounds(pair(differences, weights), Z)
        flip = sign_flip_p(differences, weights, resamples=1_999, seed=seed)
        drawn = pooled_two_sided(one, two, weights) if max(first, second) > 1 else flip
        both = max(flip, float(score_p(pair(differences, weights))))
        used = max(both, drawn) if first != second else both
        found.append((flip < 0.05, drawn < 0.05, used < 0.05, low <= 0 <= high))
    flips, draws, chosen, covered = map(share, zip(*found, strict=True))
    return flips, draws, chosen, covered


def answered(chances: Array, repeats: int, rng: np.random.Generator) -> list[list[float]]:
    """Right or wrong answers to each question."""
    drawn = rng.binomial(1, np.repeat(chances[:, None], repeats, axis=1))
    answers: list[list[float]] = drawn.astype(float).tolist()
    return answers


def pooled_two_sided(one: list[list[float]], two: list[list[float]], weights: Array) -> float:
    """Twice the smaller side of the permutation test of the gate."""
    listed = weights.tolist()
    return min(1.0, 2 * min(pooled_p(one, two, listed), pooled_p(two, one, listed)))


def shifted_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """The lowest coverage of the interval of a difference, over pairs of rates at the edges (`CHANGES`)."""
    rows = []
    for n, (first, second), parts in product((3, 15, 93), ((1, 1), (5, 1)), (1, 3)):
        covered = [shifted(n, first, second, parts, *rates, replications, rng) for rates in CHANGES]
        at = min(range(len(covered)), key=lambda place: figure(covered[place]))
        row: Row = {"questions": n, "answers": f"{first} and {second}"}
        row |= {"scores": "thirds" if parts > 1 else "right or wrong", "lowest coverage": covered[at]}
        rows.append(row | {"between": "{:.2f} and {:.2f}".format(*CHANGES[at])})
    return rows


def shifted(
    n: int,
    first: int,
    second: int,
    parts: int,
    start: float,
    end: float,
    times: int,
    rng: np.random.Generator,
) -> str:
    """One case: every question has the same chance, and each answer 1 or 3 parts to get right."""
    sides = [
        rng.binomial(parts * repeats, rate, (times, n)) / (parts * repeats)
        for repeats, rate in ((first, start), (second, end))
    ]
    low, high = bounds(pair(sides[1] - sides[0], macro_weights(edge_codes(n))), Z)
    return share((low <= end - start) & (end - start <= high))


def document_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """How often p < 0.05 if each run is better on some documents: the share of differing questions that one
    of them wins is close to 0 or 1 on most documents and .5 on average (beta distribution with 1/2 and 1/2).
    Questions fall into the categories at random. `unequal`: 1, 2, 3, 5 and 14 questions per document."""
    return [
        document_row(groups, sizes, kinds, rate, replications, rng)
        for groups in (20, 40, 100)
        for sizes in ("5", "unequal")
        for kinds in (1, CATEGORIES)
        for rate in (0.05, 0.2, 0.6)
        if (groups, sizes) != (20, "unequal")  # too few degrees of freedom
    ]


HIGHEST = ((20, "5", 5, 0.6), (40, "unequal", 1, 0.6), (40, "unequal", 5, 0.6), (100, "5", 1, 0.6))
HIGHEST += ((100, "5", 5, 0.2),)
"""The lines of `document_rows` with more than 5.5 % in 1,500 replications."""


def highest_rows(replications: int, rng: np.random.Generator) -> list[Row]:
    """These lines again, with more replications and without the sign-flip test."""
    return [document_row(*case, replications, rng, flip=False) for case in HIGHEST]


def document_row(
    groups: int, sizes: str, kinds: int, rate: float, times: int, rng: np.random.Generator, flip: bool = True
) -> Row:
    """One case; question sets that cannot be used are drawn again."""
    documents = documents_of(groups, sizes)
    found: dict[str, list[bool]] = {"sign-flip": [], "CR2": [], "coverage of CR2": []}
    while len(found["CR2"]) < times:
        codes = codes_of(str(kinds), documents, rng)
        if usable(codes, documents) is not None:
            continue
        won = rng.random(documents.size) < rng.beta(0.5, 0.5, groups)[documents]
        differences = (rng.random(documents.size) < rate) * np.where(won, 1.0, -1.0)
        if flip:
            weights, seed = macro_weights(codes), len(found["CR2"])
            found["sign-flip"].append(sign_flip_p(differences, weights, resamples=999, seed=seed) < 0.05)
        wide = cr2_difference(differences, codes, documents)
        found["CR2"].append(wide.p < 0.05)
        found["coverage of CR2"].append(wide.low <= 0 <= wide.high)
    return {
        "documents": groups,
        "questions per document": sizes,
        "categories": kinds,
        "differ": f"{rate:.2f}",
    } | {name: share(hits) for name, hits in found.items() if hits}


def detectable_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """The power of the test at the difference that is printed: each history is a comparison without a true
    difference, from which the smallest difference is computed; then 500 fresh comparisons have this true
    difference. 6 and 20 questions are one category."""
    return [
        detectable_row(n, rate, level, max(20, histories // 8), rng)
        for n in (6, 20, 50, 93, 500)
        for rate in (0.05, 0.1, 0.3, 0.6)
        for level in ((0.05, 0.025) if n == 6 else (0.05,))
    ]


def detectable_row(n: int, rate: float, level: float, histories: int, rng: np.random.Generator) -> Row:
    """One size of question set; a share `rate` of the questions differs."""
    codes = strata(n) if n >= 50 else np.zeros(n, int)
    weights, printed, powers = macro_weights(codes), [], []
    for history in compared(n, rate, 0.0, histories, rng):
        least = detectable(history, codes, "sign-flip", level)
        if least is not None:
            printed.append(least)
            fresh = compared(n, rate, least, 500, rng)
            ps = np.maximum(sign_flip_ps(fresh * weights), score_p(pair(fresh, weights)))
            powers.append(float(np.mean(ps <= level)))
    error = np.std(powers) / np.sqrt(len(powers)) if powers else 0.0
    return {
        "questions": n,
        "differ": f"{rate:.2f}",
        "level": f"{level:.3f}",
        "unreachable": 100 * (histories - len(printed)) / histories,
        "printed (mean)": f"{np.mean(printed):.3f}" if printed else "-",
        "power there": f"{100 * np.mean(powers):.1f} ± {100 * error:.1f}" if powers else "-",
    }


def compared(n: int, rate: float, change: float, times: int, rng: np.random.Generator) -> Array:
    """Differences of right or wrong answers, with a true change; more questions differ if it needs them."""
    differ = max(rate, change)
    luck = rng.random((times, n))
    gained = luck < (differ + change) / 2
    return gained.astype(float) - (~gained & (luck < differ))


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
        gate_row(n, repeats, noise, max(histories // 2, histories * 50 // max(n, 50)), rng)
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


# ----- the gate, night after night

CASES = [(n, repeats) for n in (6, 20, 50, 93) for repeats in (1, 5)]
NOISES = ("spread", "coins", "beta")
DROPS = {1.0: "collapse", 0.2: "20 points", 0.05: "5 points"}
LONGEST = 90
"""How many nights after a change are looked at."""
LARGE = 0.25
"""The loss from which on the gate ends with 101 although it is undecided (`LARGE_LOSS`)."""


def year_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """Years without a change: the share with a false alarm, by `--sequential`, `--last 3` and a gate of the
    newest run alone."""
    rows = []
    for n, repeats in CASES:
        found: dict[str, list[Array]] = {
            "--sequential": [],
            "--last 3": [],
            "--last 3, or exit code 101": [],
            "one run": [],
            "one run, or exit code 101": [],
        }
        for noise in NOISES:
            chances = np.array([identical(n, noise, rng) for _ in range(histories)])
            base = rng.binomial(repeats, chances)
            nights = rng.random((histories, YEAR, n)) < chances[:, None]
            found["--sequential"].append(alarms(base, repeats, nights, rng).any(axis=1).astype(float))
            for name, most in (("--last 3", 3), ("one run", 1)):
                failed, unsure = fails_of_last(most, base, repeats, nights)
                found[name].append(failed.any(axis=1).astype(float))
                found[f"{name}, or exit code 101"].append((failed | unsure).any(axis=1).astype(float))
        row: Row = {"questions": n, "baseline runs": repeats, "histories": histories * len(NOISES)}
        for name, years in found.items():
            row[f"false year, {name}"] = share(np.concatenate(years))
        row["--sequential, highest of the three noises"] = 100 * max(
            float(years.mean()) for years in found["--sequential"]
        )
        rows.append(row)
    return rows


def together_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """Years without a lasting change, in which all questions are a little better or worse together from night
    to night: the chance of every question to be right is moved by one normal number each night."""
    rows = []
    for n in (20, 93):
        for points in (1, 2, 4):
            found: dict[str, list[Array]] = {"--sequential": [], "--last 3": []}
            for noise in NOISES:
                chances = np.array([identical(n, noise, rng) for _ in range(histories)])
                moved = chances[:, None] + rng.normal(0, points / 100, (histories, 5 + YEAR, 1))
                right = rng.random(moved.shape) < moved
                base, nights = right[:, :5].sum(axis=1), right[:, 5:]
                found["--sequential"].append(alarms(base, 5, nights, rng).any(axis=1).astype(float))
                found["--last 3"].append(fails_of_last(3, base, 5, nights)[0].any(axis=1).astype(float))
            row: Row = {"questions": n, "standard deviation of a night, points": points}
            row |= {f"false year, {rule}": share(np.concatenate(years)) for rule, years in found.items()}
            rows.append(row)
    return rows


def delay_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """Nights until a loss is found that begins after some good nights: the median, and the shares found
    within 7 and 30 nights."""
    rows = []
    for n, repeats in CASES:
        for good in (0, 30):
            row: Row = {"questions": n, "baseline runs": repeats, "good nights before": good}
            for drop, name in DROPS.items():
                delays: dict[str, list[Any]] = {"--sequential": [], "--last 3": []}
                for noise in NOISES:
                    chances = np.array([identical(n, noise, rng) for _ in range(histories)])
                    worse = np.array([dropped(each, drop, rng) for each in chances])
                    base = rng.binomial(repeats, chances)
                    of_nights = np.stack([chances] * good + [worse] * LONGEST, axis=1)
                    nights = rng.random(of_nights.shape) < of_nights
                    seen = {
                        "--sequential": alarms(base, repeats, nights, rng),
                        "--last 3": fails_of_last(3, base, repeats, nights)[0],
                    }
                    for rule, each in seen.items():
                        hit = each[:, good:]
                        delays[rule].append(np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, LONGEST + 1))
                for rule, each in delays.items():
                    row[f"{name}, {rule}"] = delay(np.concatenate(each))
            order = [f"{name}, {rule}" for rule in ("--sequential", "--last 3") for name in DROPS.values()]
            rows.append({key: row[key] for key in [*list(row)[:3], *order]})
    return rows


def delay(nights: NDArray[np.int64]) -> str:
    """The median delay, and the percentages found within 7 and 30 nights."""
    median = np.median(nights)
    shown = f"> {LONGEST}" if median > LONGEST else f"{median:.0f}"
    return f"{shown}; {100 * (nights <= 7).mean():.0f}; {100 * (nights <= 30).mean():.0f}"


def alarms(base: NDArray[np.int64], repeats: int, nights: Any, rng: np.random.Generator) -> Any:
    """On which nights of which histories `--sequential` has an alarm.

    `base` counts the right answers to each question in the baseline, and `nights` holds those of each night.
    """
    ones = base.copy()
    sums = np.zeros((len(SHIFTS), base.shape[0]))
    found = np.zeros(nights.shape[:2], bool)
    for number in range(nights.shape[1]):
        tonight = nights[:, number]
        ones += tonight
        below, at_most = lower_tail(ones, repeats + number + 1, 1, tonight.sum(axis=1))
        p = np.maximum(below + rng.random(below.size) * (at_most - below), 1e-12)
        z = -ndtri(p)
        sums = (1 + sums) * np.array([np.exp(shift * z - shift**2 / 2) for shift in SHIFTS])
        sums = np.minimum(sums, 1e200)  # long after an alarm it would overflow
        found[:, number] = (sums.mean(axis=0) >= needed()) | (at_most <= level_alone(number + 1))
    if repeats == 1:
        found[:, :1] |= lost_too_many(base, nights[:, :1])
    return found


def lost_too_many(base: NDArray[np.int64], nights: Any) -> Any:
    """On which nights `lost_p` is below its level, for a baseline of one run."""
    right = base.sum(axis=1)[:, None]
    gone = (base[:, None] > nights).sum(axis=2)
    few = (right > 0) & (right < FEW) & (gone > 0)
    return few & (bdtrc(np.maximum(gone - 1, 0), np.maximum(right, 1), WAVERING) < LOST_LEVEL)


def fails_of_last(most: int, base: NDArray[np.int64], repeats: int, nights: Any) -> tuple[Any, Any]:
    """On which nights the gate with `--last 3`, or another number, says FAIL, and on which it is UNDECIDED
    after a large loss."""
    changes = nights.mean(axis=2) - (base / repeats).mean(axis=1)[:, None]
    lost = changes <= -MARGIN
    found = np.zeros(lost.shape, bool)
    for last, level in enumerate(LEVELS[:most], 1):
        sums = sum(nights[:, place : nights.shape[1] - last + 1 + place].astype(int) for place in range(last))
        all_lost = np.logical_and.reduce(
            [lost[:, place : lost.shape[1] - last + 1 + place] for place in range(last)]
        )
        history, night = np.nonzero(all_lost)
        for part in np.array_split(np.arange(history.size), history.size // 20_000 + 1):
            rows, columns = history[part], night[part]
            drawn = sums[rows, columns]
            p = lower_tail(base[rows] + drawn, repeats + last, last, drawn.sum(axis=1))[1]
            found[rows, columns + last - 1] |= p < level
    if repeats == 1:
        found |= lost & lost_too_many(base, nights)
    return found, ~found & (changes <= -LARGE)


def lower_tail(ones: NDArray[np.int64], size: int, draws: int, seen: Any) -> tuple[Array, Array]:
    """The probabilities that fewer than `seen` answers are right, and at most so many, where for each
    question so many `draws` are taken from a pool of `size` answers of which `ones` are right. One row is one
    case; `pooled_tail` of fathoms does the same for one case with any scores."""
    table = hypergeom.pmf(np.arange(draws + 1), size, np.arange(size + 1)[:, None], draws)
    rows, n = ones.shape
    chances = np.zeros((n * draws + 1, rows))
    chances[0] = 1
    for question in range(n):
        pmf = table[ones[:, question]].T
        top = question * draws + 1
        before = chances[:top].copy()
        chances[: top + draws] = 0
        for right in range(draws + 1):
            chances[right : top + right] += before * pmf[right]
    up_to = np.cumsum(chances, axis=0)
    place = np.arange(rows)
    return np.where(seen > 0, up_to[np.maximum(seen - 1, 0), place], 0.0), up_to[seen, place]


# ----- the preset for few questions


FEW_CASES = [(1, 1), (3, 1), (5, 1), (6, 2), (9, 3), (12, 4), (15, 5)]
"""The answers to each question in the baseline, and in a night."""
FEW_NOISES = (*NOISES, "toss", "even")
"""As `identical`, and pipelines in which every question is a coin toss, or is right in 65 of 100 cases: the
worst ones for a rule that rests on an estimate of how much answers waver."""


def few_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """`gate --preset small` in months without a change, and on nights on which some right answers are lost
    for good. `baseline` are the answers to each question in the baseline, and `answers` those of a night."""
    return [few_row(n, *case, histories, rng) for n in (15, 30, 50, 100) for case in FEW_CASES]


def few_row(n: int, baseline: int, answers: int, histories: int, rng: np.random.Generator) -> Row:
    """One size of question set and baseline; each history has ten baselines, of five nights without a change
    and one with each loss, and power is that over the noises of `identical`."""
    found: dict[float, list[Array]] = {share: [] for share in (0.2, 0.4, 1.0)}
    months = {}
    for noise in FEW_NOISES:
        chances = np.array([few_chances(n, noise, rng) for _ in range(10 * histories)])
        base = np.repeat(rng.binomial(baseline, chances), 5, axis=0)
        nights = rng.binomial(answers, np.repeat(chances, 5, axis=0))
        months[noise] = MONTH * float(few_alarms(base, nights, baseline, answers).mean())
        if noise not in NOISES:
            continue
        base, nights = base[::5], nights[::5]
        order = np.where(2 * base > baseline, rng.random(base.shape), 2.0).argsort(axis=1).argsort(axis=1)
        right = (2 * base > baseline).sum(axis=1)[:, None]
        for share, caught in found.items():
            broken = np.where(order < np.round(share * right), 0, nights)
            caught.append(few_alarms(base, broken, baseline, answers))
    steady = loss([(baseline, baseline)] * n, [(answers, answers)] * n).needed
    row: Row = {"questions": n, "answers in the baseline": baseline, "answers of a night": answers}
    row |= {"FAIL from, all steady": steady, "false alarms a month": f"{np.mean(list(months.values())):.3f}"}
    worst = max(months, key=lambda noise: months[noise])
    row["highest of the noises"] = f"{months[worst]:.3f} ({worst})"
    for share, caught in found.items():
        row[f"found if {percent(share)} of the right answers are lost"] = percent(float(np.mean(caught)))
    return row


def few_chances(n: int, noise: str, rng: np.random.Generator) -> Array:
    """The chances of each question to be right."""
    return np.full(n, {"toss": 0.5, "even": 0.65}[noise]) if noise not in NOISES else identical(n, noise, rng)


def few_alarms(base: Any, nights: Any, baseline: int, answers: int) -> Any:
    """Which nights are alarms; rows are nights, with the right answers to each question."""
    weight, _ = weights(baseline, answers)
    whole = base + nights
    lost = ((2 * base > baseline) & (2 * nights <= answers)).sum(axis=1)
    seen = weight[whole, nights].sum(axis=1)
    p = np.empty(len(base))
    for part in np.array_split(np.arange(len(base)), len(base) // 500 + 1):
        counts = [(whole[part] == hits).sum(axis=1) for hits in range(baseline + answers + 1)]
        p[part] = p_values({(baseline, answers): np.stack(counts, axis=1).astype(float)}, seen[part])
    return (lost >= LEAST_LOST) & (p < LEVEL_OF_FEW)


# ----- a branch against main


def branch_rows(histories: int, rng: np.random.Generator) -> list[Row]:
    """`fathoms premerge`: branches as good as main, and branches that lost a part of the questions for good.
    Both sides are done once, and answers vary as in `identical`; `none` has answers that never vary."""
    return [
        branch_row(n, noise, histories, rng)
        for n in (15, 30, 50, 100)
        for noise in ("none", "spread", "coins")
    ]


def branch_row(n: int, noise: str, histories: int, rng: np.random.Generator) -> Row:
    """One size of question set and kind of noise."""
    row: Row = {"questions": n, "noise": noise}
    for lost in (0.0, 0.2, 1 / 3, 0.5):
        ends, done = Counter[str](), 0
        for _ in range(histories):
            chances = (rng.random(n) < 0.6).astype(float) if noise == "none" else identical(n, noise, rng)
            # of the questions that main knows, the branch never answers a part
            broken = rng.random(n) < lost
            scores = np.stack([rng.random(n) < chances, (rng.random(n) < chances) & ~broken]).astype(float)
            order = draw_order([""] * n, rng)
            race = Race(order, 2, within=0.02, defended=True)
            while not race.is_over:
                race.add(scores[:, order.positions[race.done]])
            change = float(scores[1].mean() - scores[0].mean())
            passed = race.chosen == 1 or change >= -0.02 - 1e-9
            ends["FAIL" if race.dropped_at[1] else "PASS" if passed else "UNDECIDED"] += 1
            done += race.done
        shares = " / ".join(f"{100 * ends[name] / histories:.0f}" for name in ("PASS", "UNDECIDED", "FAIL"))
        row[f"{percent(lost)} lost: PASS / UNDECIDED / FAIL, % of the questions done"] = (
            f"{shares}, {percent(done / n / histories)}"
        )
    return row


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
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="coverage, clusters, clustered, edges, fractions, ratios, f1, size, repeats,"
        " shifted, documents, sizes, detectable, gate, few, branch, years, delays, together, shrink,"
        " unbounded, skewed, f1-differences, ranks, passes",
    )
    options = parser.parse_args()
    makers: dict[str, Callable[[np.random.Generator], list[Row]]] = {
        "coverage": lambda rng: [
            *blaker_rows(),
            *macro_rows(options.replications, rng),
            *difference_rows(options.replications, rng),
        ],
        "clusters": lambda rng: cluster_rows(options.replications, rng),
        "edges": lambda rng: edge_rows(options.replications // 5, rng),
        "fractions": lambda rng: fraction_rows(options.replications // 2, rng),
        "clustered": lambda rng: clustered_rows(options.replications // 5, rng),
        "ratios": lambda rng: ratio_rows(options.replications // 5, rng),
        "f1": lambda rng: f1_rows(options.replications // 5, rng),
        "size": lambda rng: size_rows(options.replications, rng),
        "repeats": lambda rng: repeat_rows(options.replications // 10, rng),
        "shifted": lambda rng: shifted_rows(options.replications, rng),
        "documents": lambda rng: document_rows(options.replications // 2, rng),
        "sizes": lambda rng: highest_rows(options.replications * 4, rng),
        "detectable": lambda rng: detectable_rows(options.histories, rng),
        "unbounded": lambda rng: unbounded_rows(options.replications // 2, rng),
        "skewed": lambda rng: skewed_rows(options.replications // 2, rng),
        "f1-differences": lambda rng: f1_difference_rows(options.replications // 2, rng),
        "ranks": lambda rng: rank_rows(options.replications // 10, rng),
        "passes": lambda rng: pass_rows(options.replications, rng),
        "gate": lambda rng: gate_rows(options.histories, rng),
        "years": lambda rng: year_rows(options.histories, rng),
        "few": lambda rng: few_rows(max(1, options.histories // 5), rng),
        "branch": lambda rng: branch_rows(options.histories, rng),
        "delays": lambda rng: delay_rows(options.histories, rng),
        "together": lambda rng: together_rows(options.histories, rng),
        "shrink": lambda rng: shrink_rows(options.replications, rng),
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
