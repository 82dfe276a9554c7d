"""The preset for few questions: its permutation test worked by hand and by enumeration, how k depends on the
baseline, and false alarms and power in simulated months."""

from __future__ import annotations

from itertools import product
from math import comb, prod
from types import ModuleType

import numpy as np
import pytest

from fathoms.stats.few_questions import BUDGET, LEVEL, loss, weights


@pytest.mark.parametrize(("nights", "k"), [(1, 10), (3, 5), (4, 4), (5, 4), (11, 3), (24, 2)])
def test_steady_answers_worked_by_hand(nights: int, k: int) -> None:
    """One of nights + 1 answers is wrong, and each may be tonight's: (nights + 1) ** -k."""
    before = [(nights, nights)] * 12 + [(0, nights)] * 3
    found = loss(before, [(0, 1)] * k + [(1, 1)] * (12 - k) + [(0, 1)] * 3)
    assert found.p == pytest.approx((nights + 1) ** -k)
    assert (found.needed, found.alarm, len(found.lost)) == (k, True, k)
    assert (nights + 1.0) ** -k < LEVEL <= (nights + 1.0) ** (1 - k)


def test_several_answers_of_a_night_worked_by_hand() -> None:
    """Three of twelve answers are wrong, and tonight's are these: one choice of 220, for two questions."""
    found = loss([(9, 9)] * 15, [(0, 3)] * 2 + [(3, 3)] * 13)
    assert found.p == pytest.approx(comb(12, 3) ** -2)
    assert found.alarm


def test_the_p_value_is_that_of_all_exchanges() -> None:
    """Five answers to each of three questions of different kinds, by enumeration."""
    before, tonight = [(3, 3), (2, 3), (2, 4)], [(0, 2), (1, 2), (0, 1)]
    seen, total = [], 0.0
    chances = []
    for (hits, of), (now, wanted) in zip(before, tonight, strict=True):
        weight, chance = weights(of, wanted)
        seen.append(weight[hits + now, now])
        chances.append([(weight[hits + now, each], chance[hits + now, each]) for each in range(wanted + 1)])
    for picked in product(*chances):
        if sum(weight for weight, _ in picked) >= sum(seen):
            total += prod(chance for _, chance in picked)
    assert loss(before, tonight).p == pytest.approx(total)


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5, 0.5), (0.9, 0.6, 0.97, 0.75)])
def test_no_rates_make_small_p_values_more_frequent_than_they_say(rates: tuple[float, ...]) -> None:
    """The chance of p at most alpha, over all results of two nights of the baseline and one more, is at most
    alpha: exactly, whatever the rates."""
    results = []
    for hits in product(range(3), repeat=4):
        for now in product(range(2), repeat=4):
            chance = prod(
                comb(2, hit) * rate ** (hit + one) * (1 - rate) ** (3 - hit - one)
                for hit, one, rate in zip(hits, now, rates, strict=True)
            )
            p = loss([(hit, 2) for hit in hits], [(one, 1) for one in now]).p
            results.append((p, chance))
    assert sum(chance for _, chance in results) == pytest.approx(1)
    for alpha, _ in results:
        assert sum(chance for p, chance in results if p <= alpha + 1e-12) <= alpha + 1e-9


def test_one_lucky_night_gives_no_certainty() -> None:
    rights = [(1, 1)] * 10 + [(0, 1)] * 5
    night = [(0, 1)] * 5 + [(1, 1)] * 5 + [(0, 1)] * 5
    once = loss(rights, night)
    assert (len(once.right), once.lost, once.alarm) == (10, (0, 1, 2, 3, 4), False)
    often = loss([(5 * hits, 5) for hits, _ in rights], night)
    assert often.alarm
    assert often.needed is not None
    assert once.needed is not None
    assert often.needed < once.needed
    assert often.p < LEVEL < once.p


def test_a_question_that_wavers_needs_more_company() -> None:
    steady = loss([(5, 5)] * 10 + [(0, 5)] * 5, [(1, 1)] * 15)
    wavers = loss([(5, 5)] * 5 + [(3, 5)] * 5 + [(0, 5)] * 5, [(1, 1)] * 15)
    assert steady.needed is not None
    assert wavers.needed is not None
    assert 2 <= steady.needed < wavers.needed


def test_repeats_are_advised_where_answers_waver_and_only_there() -> None:
    """`repeats` says what the same baseline would take with so many answers a night."""
    steady = loss([(50, 50)] * 15, [(1, 1)] * 15)
    assert (steady.needed, steady.repeats) == (2, None)
    before = [(5, 5)] * 6 + [(4, 5)] * 6 + [(0, 5)] * 3
    wavers = loss(before, [(1, 1)] * 15)
    assert wavers.needed is not None
    assert wavers.repeats is not None
    times, needed = wavers.repeats
    assert needed < wavers.needed
    wanted = loss(before, [(times, times)] * 15)
    assert wanted.needed == needed
    assert wanted.repeats is None or wanted.repeats[1] < needed
    assert loss([(1, 1)], [(0, 1)]).repeats is None


def test_one_lost_answer_alone_is_never_an_alarm() -> None:
    found = loss([(700, 700)] * 50, [(0, 1)] + [(1, 1)] * 49)
    assert (found.needed, found.alarm) == (2, False)
    assert found.p < LEVEL


def test_what_has_no_answer_or_too_few_of_them_gives_no_alarm() -> None:
    assert loss([(1, 1)], [(0, 1)]).needed is None
    assert loss([], []).needed is None
    # half of an even number of answers is not right, and is lost
    assert loss([(2, 4), (3, 4), (4, 4)], [(0, 1), (1, 2), (0, 0)]).lost == (1,)
    assert loss([(2, 4), (3, 4), (4, 4)], [(0, 1), (1, 2), (0, 0)]).right == (1,)


def test_checks_share_the_level() -> None:
    base, night = [(5, 5)] * 40 + [(4, 5)] * 10, [(1, 1)] * 50
    one, four = loss(base, night).needed, loss(base, night, 4).needed
    assert one is not None
    assert four is not None
    assert one < four


def test_a_quick_look_at_false_alarms_and_power(simulation: ModuleType) -> None:
    """Coin tosses are the worst of all pipelines: of 600 nights, one may be an alarm."""
    rng = np.random.default_rng(5)
    base = rng.binomial(6, 0.5, (600, 20))
    nights = rng.binomial(2, 0.5, base.shape)
    assert simulation.few_alarms(base, nights, 6, 2).sum() <= 4
    steady = np.full((2, 15), 9)
    broken = np.array([[0] * 3 + [3] * 12, [0] + [3] * 14])
    assert simulation.few_alarms(steady, broken, 9, 3).tolist() == [True, False]


def test_the_simulation_decides_as_the_preset_does(simulation: ModuleType) -> None:
    rng = np.random.default_rng(6)
    chances = rng.beta(0.7, 0.3, (40, 12))
    base, nights = rng.binomial(6, chances), rng.binomial(2, chances * 0.5)
    alarms = [
        loss([(int(hits), 6) for hits in before], [(int(hits), 2) for hits in tonight]).alarm
        for before, tonight in zip(base, nights, strict=True)
    ]
    assert simulation.few_alarms(base, nights, 6, 2).tolist() == alarms
    assert 0 < sum(alarms) < len(alarms)


@pytest.mark.long
@pytest.mark.parametrize("questions", [15, 30, 50, 100])
def test_years_keep_their_budget_and_a_broken_part_is_found(questions: int, simulation: ModuleType) -> None:
    """55 years for each kind of pipeline; the standard error of false alarms a month is about 0.01."""
    rng = np.random.default_rng(questions)
    for baseline, answers in simulation.FEW_CASES:
        row = simulation.few_row(questions, baseline, answers, 400, rng)
        assert float(row["highest of the noises"].split()[0]) < BUDGET + 0.04, row
        assert float(row["false alarms a month"]) <= BUDGET, row
        found = float(row["found if 40 % of the right answers are lost"].removesuffix(" %"))
        assert answers == 1 or found > 85, row
        assert baseline == 1 or questions == 15 or found > 70, row
