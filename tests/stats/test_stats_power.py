"""The smallest margin of a set, against nights that are drawn and judged one by one."""

from __future__ import annotations

import time

import numpy as np
import pytest

from fathoms.stats.noninferiority import Answers, judge
from fathoms.stats.power import smallest_margin

ALPHA = 0.025
PAPER = (31, 13, 14, 25, 10)
"""The categories of the FATHOMS-RAG questions."""
BETA = 0.26
"""As in benchmarks/simulate_statistics.py: two runs differ in 0.48 * 0.26 / 1.26 = 10 % of the questions."""


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(20,), PAPER])
def test_an_unchanged_pipeline_passes_with_it_in_four_of_five_nights(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    margin = smallest_margin(sizes, ALPHA)
    strata = tuple(np.repeat(np.arange(len(sizes)), sizes).tolist())
    passed, times = 0, 300
    for _ in range(times):
        chance = rng.beta(0.6 * BETA, 0.4 * BETA, len(strata))
        runs = (rng.random((6, len(strata))) < chance).astype(float).T.tolist()
        answers = Answers(strata, tuple(tuple(run[:5]) for run in runs), (tuple((run[5],) for run in runs),))
        passed += judge([answers], margin, ALPHA)[0].verdict == "PASS"
    # standard errors: 2.8 points of the 200 nights behind the margin, 2.3 of these
    assert abs(passed / times - 0.8) < 3.5 * np.hypot(0.028, 0.023)


@pytest.mark.slow
def test_more_questions_resolve_smaller_margins_in_little_time() -> None:
    started = time.perf_counter()
    margins = [smallest_margin((size,), ALPHA) for size in (6, 20, 50, 500, 5000, 20_000, 1_000_000)]
    assert margins == sorted(margins, reverse=True)
    assert margins[-2] == pytest.approx(margins[-3] / 2)
    assert time.perf_counter() - started < 10  # about one second on an idle machine
