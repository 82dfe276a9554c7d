"""The tables of numbers, units and eras, row by row, against lists that were written without looking at them.

Years are those of known events, factors those of the SI brochure and of the international yard and pound.
"""

from __future__ import annotations

import pytest

from fathoms.metrics.gold.units import meanings
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Question

ERAS = [
    ("明治元年10月23日", "1868-10-23"),  # the era begins
    ("明治45年7月30日", "1912-07-30"),  # the Meiji emperor dies
    ("大正12年9月1日", "1923-09-01"),  # the earthquake of Kanto
    ("昭和20年8月15日", "1945-08-15"),  # the war ends
    ("昭和39年10月10日", "1964-10-10"),  # the Olympic Games of Tokyo begin
    ("平成元年1月8日", "1989-01-08"),  # the era begins
    ("平成23年3月11日", "2011-03-11"),  # the earthquake of Tohoku
    ("令和元年5月1日", "2019-05-01"),  # the era begins
    ("令和3年7月23日", "2021-07-23"),  # the Olympic Games of Tokyo begin
    ("民国38年12月7日", "1949-12-07"),  # the government moves to Taipei
    ("民國38年12月7日", "1949-12-07"),
]


def found(form: dict[str, object], text: str) -> bool:
    """Whether the scorer finds a gold form in a text."""
    gold = Question(id="q", text="q", category="c", answers=[[form]]).answers
    return phrase_recall(text, gold, "word").value == 1


def test_eras() -> None:
    assert [day for written, day in ERAS if not found({"date": day}, written)] == []


ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS = {
    **{word: value for value, word in enumerate(f"{ONES} seventeen eighteen nineteen".split())},
    **{word: 10 * (at + 2) for at, word in enumerate(TENS)},
    "fourty": 40,
    **{"one dozen": 12, "one hundred": 100, "one thousand": 1_000, "one million": 1_000_000},
    **{"one billion": 10**9, "one trillion": 10**12, "3 lakh": 300_000, "3 crore": 30_000_000},
    **{"2 bn": 2 * 10**9, "2 mn": 2_000_000, "2 mio": 2_000_000, "2 milliard": 2 * 10**9},
    **{"2 millones": 2_000_000, "2 mil millones": 2 * 10**9, "2 billones": 2 * 10**12},
    **{"2 مليون": 2_000_000, "2 مليار": 2 * 10**9, "2 تريليون": 2 * 10**12, "2 الاف": 2_000},
    **{"½": 1 / 2, "¼": 1 / 4, "¾": 3 / 4, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 1 / 8, "⅜": 3 / 8, "⅝": 5 / 8},
    **{"三百": 300, "两千": 2_000, "七万": 70_000, "五萬": 50_000, "六亿": 6 * 10**8, "六億": 6 * 10**8},
    **{"四兆": 4 * 10**12, "九十八": 98, "二〇二六": 2026, "2k": 2_000, "2M": 2_000_000, "2B": 2 * 10**9},
    **{"2T": 2 * 10**12, "2m": 2_000_000, "2b": 2 * 10**9, "2K": 2_000},
}


def test_number_words() -> None:
    said = {written: f"There are {written}." for written in WORDS}
    assert [one for one, value in WORDS.items() if not found({"number": value}, said[one])] == []


# one of a unit, in the unit of its dimension
FACTORS = {
    "length": {
        **{"pm": 1e-12, "nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 0.001, "cm": 0.01, "dm": 0.1, "m": 1.0},
        **{"km": 1000.0, "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "nmi": 1852.0},
        **{"micron": 1e-6, "Å": 1e-10, "picometre": 1e-12, "nanometer": 1e-9, "micrometre": 1e-6},
        **{
            "millimetre": 0.001,
            "centimeter": 0.01,
            "decimetre": 0.1,
            "kilometre": 1000.0,
            "公里": 1000.0,
        },
    },
    "mass": {
        **{"mg": 1e-6, "g": 0.001, "kg": 1.0, "t": 1000.0, "short ton": 907.18474, "lb": 0.45359237},
        **{"oz": 0.028349523125, "µg": 1e-9, "megagram": 1000.0, "公斤": 1.0, "吨": 1000.0},
    },
    "time": {
        "ms": 0.001,
        "min": 60.0,
        "h": 3600.0,
        "day": 86400.0,
        "week": 604800.0,
        "sec": 1.0,
        "msec": 0.001,
    },
    "months": {"month": 1.0, "year": 12.0, "decade": 120.0, "century": 1200.0, "年間": 12.0},
    "pressure": {
        **{"hPa": 100.0, "kPa": 1000.0, "MPa": 1e6, "bar": 1e5, "mbar": 100.0, "atm": 101325.0},
        **{"psi": 6894.757293168, "mmHg": 133.322387415},
    },
    "energy": {"kJ": 1000.0, "kWh": 3.6e6, "kcal": 4184.0, "eV": 1.602176634e-19, "BTU": 1055.05585262},
    "power": {"MW": 1e6, "gigawatt": 1e9, "TW": 1e12, "PW": 1e15, "hp": 745.6998715822702, "PS": 735.49875},
    "voltage": {"mV": 0.001, "kV": 1000.0, "megavolt": 1e6},
    "current": {"mA": 0.001, "amp": 1.0},
    "resistance": {"kΩ": 1000.0, "ohm": 1.0},
    "force": {"N": 1.0, "kN": 1000.0},
    "frequency": {"Hz": 1.0, "MHz": 1e6, "GHz": 1e9, "rpm": 1 / 60},
    "length^2": {"ha": 10_000.0, "acre": 4046.8564224, "m2": 1.0, "km2": 1e6},
    "length^3": {
        "ml": 1e-6,
        "cl": 1e-5,
        "dl": 1e-4,
        "l": 0.001,
        "hl": 0.1,
        "gal": 3.785411784e-3,
        "cc": 1e-6,
    },
    "data": {"B": 8.0, "kB": 8000.0, "MB": 8e6, "GB": 8e9, "TB": 8e12, "PB": 8e15, "Mbit": 1e6, "bit": 1.0},
    "amount": {"mol": 1.0, "mmol": 0.001},
    "length/time": {"kph": 1000 / 3600, "mph": 1609.344 / 3600, "kn": 1852 / 3600},
    "angle": {"°": 1.0, "rad": 57.29577951308232},
    "share": {"%": 0.01, "‰": 0.001, "ppm": 1e-6, "ppb": 1e-9},
}


@pytest.mark.parametrize("dimension", FACTORS)
def test_factors_of_units(dimension: str) -> None:
    for name, factor in FACTORS[dimension].items():
        found = {one.dimension: one.factor for one in meanings(name)}
        assert found.get(dimension) == pytest.approx(factor, rel=1e-12), name


def test_binary_units_and_temperatures() -> None:
    for name, factor in {"KiB": 2**13, "MiB": 2**23, "GiB": 2**33, "TiB": 2**43}.items():
        assert [one.factor for one in meanings(name)] == [factor]
    # water boils, and the two scales meet
    for name, at, kelvin in (
        ("°C", 100.0, 373.15),
        ("°F", 212.0, 373.15),
        ("°F", -40.0, 233.15),
        ("K", 7.0, 7.0),
    ):
        (unit,) = (one for one in meanings(name) if one.dimension == "temperature")
        assert unit.factor * at + unit.offset == pytest.approx(kelvin)
