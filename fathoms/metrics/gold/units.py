"""Units of measurement: their names, and the factors by which they are converted.

Only names that people write in answers and documents are known: those in English, and the most common ones in
French, Spanish, Arabic, Chinese and Japanese. A name can mean several units ("pounds" of mass or of money,
"MB" and "Mb" in lower case); a gold number accepts any of its meanings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from fathoms.text.folding import KATAKANA, LETTER, plain_letters, without_vowel_marks


class Unit(NamedTuple):
    """A unit: a value in it times `factor` plus `offset` is the value in the base unit of its dimension."""

    dimension: str
    factor: float
    offset: float = 0.0


LONGEST = 32
"""The longest name of a unit in characters."""
_PREFIXES = {
    **{"p": 1e-12, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "h": 1e2, "k": 1e3},
    **{"M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15},
}
_PREFIX_WORDS = {
    **{"pico": 1e-12, "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "centi": 1e-2, "deci": 1e-1},
    **{"hecto": 1e2, "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15},
}
# Units that take prefixes: dimension, factor, symbols, words.
_METRIC = (
    ("length", 1.0, ("m",), ("metre", "meter")),
    ("mass", 1e-3, ("g",), ("gram", "gramme")),
    ("time", 1.0, ("s",), ("second",)),
    ("pressure", 1.0, ("Pa",), ("pascal",)),
    ("pressure", 1e5, ("bar",), ()),
    ("energy", 1.0, ("J",), ("joule",)),
    ("energy", 3600.0, ("Wh",), ("watt-hour", "watt hour", "watthour")),
    ("energy", 4.184, ("cal",), ("calorie",)),
    ("energy", 1.602176634e-19, ("eV",), ("electronvolt",)),
    ("power", 1.0, ("W",), ("watt",)),
    ("voltage", 1.0, ("V",), ("volt",)),
    ("current", 1.0, ("A",), ("ampere", "amp")),
    ("resistance", 1.0, ("Ω", "ohm"), ("ohm",)),
    ("force", 1.0, ("N",), ("newton",)),
    ("frequency", 1.0, ("Hz",), ("hertz",)),
    ("length^3", 1e-3, ("l", "L"), ("litre", "liter")),
    ("data", 8.0, ("B",), ("byte",)),
    ("data", 1.0, ("b", "bit"), ("bit",)),
    ("amount", 1.0, ("mol",), ("mole",)),
)
# Units without prefixes: dimension, factor, names. A word of three letters or more has a plural with "s".
_OTHERS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("length", 0.0254, ("in", "inch", "inches", "″")),
    ("length", 0.3048, ("ft", "foot", "feet", "′")),  # noqa: RUF001
    ("length", 0.9144, ("yd", "yard")),
    ("length", 1609.344, ("mi", "mile")),
    ("length", 1852.0, ("nmi", "nautical mile")),
    ("length", 1e-6, ("micron",)),
    ("length", 1e-10, ("Å", "angstrom")),
    ("mass", 1e3, ("t", "tonne", "metric ton")),
    ("mass", 907.18474, ("ton", "short ton")),
    ("mass", 1e3, ("ton",)),
    ("mass", 0.45359237, ("lb", "lbs", "pound")),
    ("mass", 0.028349523125, ("oz", "ounce")),
    ("time", 60.0, ("min", "mins", "minute")),
    ("time", 3600.0, ("h", "hr", "hrs", "hour")),
    ("time", 86400.0, ("d", "day")),
    ("time", 604800.0, ("wk", "week")),
    ("time", 1.0, ("sec", "secs")),
    ("time", 1e-3, ("msec",)),
    ("months", 1.0, ("month", "mo")),
    ("months", 12.0, ("year", "yr", "yrs")),
    ("months", 120.0, ("decade",)),
    ("months", 1200.0, ("century", "centuries")),
    ("pressure", 101325.0, ("atm", "atmosphere")),
    ("pressure", 6894.757293168, ("psi",)),
    ("pressure", 133.322387415, ("mmHg", "torr")),
    ("energy", 1055.05585262, ("BTU",)),
    ("power", 745.6998715822702, ("hp", "horsepower")),
    ("power", 735.49875, ("PS",)),
    ("frequency", 1 / 60, ("rpm",)),
    ("length^2", 1e4, ("ha", "hectare")),
    ("length^2", 4046.8564224, ("acre",)),
    ("length^3", 3.785411784e-3, ("gal", "gallon")),
    ("length^3", 1e-6, ("cc",)),
    ("length/time", 1 / 3.6, ("kph", "kmh")),
    ("length/time", 0.44704, ("mph",)),
    ("length/time", 1852 / 3600, ("kn", "kt", "knot")),
    ("angle", 1.0, ("°", "degree", "deg")),
    ("angle", 57.29577951308232, ("rad", "radian")),
    ("share", 1e-2, ("%", "percent", "per cent", "pct", "percentage point", "pp")),
    ("share", 1e-3, ("‰", "per mille")),
    ("share", 1e-6, ("ppm",)),
    ("share", 1e-9, ("ppb",)),
    ("USD", 1.0, ("$", "US$", "USD", "dollar", "US dollar", "U.S. dollar")),
    ("EUR", 1.0, ("€", "EUR", "euro")),
    ("GBP", 1.0, ("£", "GBP", "pound", "pound sterling", "pounds sterling")),
    ("JPY", 1.0, ("¥", "JPY", "yen")),
    ("CNY", 1.0, ("CNY", "RMB", "yuan", "renminbi", "¥")),
    ("CHF", 1.0, ("CHF", "Swiss franc")),
    ("INR", 1.0, ("₹", "INR", "rupee")),
)
_TEMPERATURES: tuple[tuple[float, float, tuple[str, ...]], ...] = (
    (1.0, 273.15, ("°C", "ºC", "C", "celsius", "degree celsius", "degrees celsius", "deg C", "degrees C")),
    (5 / 9, 459.67 * 5 / 9, ("°F", "F", "fahrenheit", "degree fahrenheit", "degrees fahrenheit", "deg F")),
    (1.0, 0.0, ("K", "kelvin", "kelvins")),
)
# Names of common units in other languages, by a name known above; an underscore stands for a space.
_ELSEWHERE = {
    "m": "mètre mètres metro metros 米 公尺 メートル متر مترا امتار",
    "cm": "centimètre centimètres centímetro centímetros 厘米 公分 センチ センチメートル سم سنتيمتر سنتيمترا",
    "mm": "millimètre millimètres milímetro milímetros 毫米 ミリ ミリメートル مم مليمتر ملم",
    "km": "kilomètre kilomètres kilómetro kilómetros 公里 千米 キロメートル كم كيلومتر كيلومترا",
    "m2": "mètre_carré mètres_carrés metro_cuadrado metros_cuadrados 平方米 平方メートル متر_مربع مترا_مربعا",
    "km2": "kilomètres_carrés kilómetros_cuadrados 平方公里 平方千米 平方キロメートル كيلومتر_مربع كم_مربع",
    "m3": "mètre_cube mètres_cubes metro_cúbico metros_cúbicos 立方米 立方メートル متر_مكعب",
    "ha": "hectárea hectáreas 公顷 ヘクタール هكتار",
    "g": "gramo gramos 克 グラム غرام جرام",
    "kg": "kilogramo kilogramos kilo kilos 公斤 千克 キログラム كغ كجم كيلوغرام كيلوغراما كيلوجرام",
    "tonne": "tonelada toneladas 吨 公吨 トン طن طنا",
    "l": "litro litros 升 公升 リットル لتر لترا",
    "ml": "mililitro mililitros 毫升 ミリリットル مل مليلتر",
    "second": "seconde secondes segundo segundos 秒 ثانيه ثوان",
    "minute": "minuto minutos 分钟 分鐘 分間 دقيقه دقائق",
    "hour": "heure heures hora horas 小时 小時 時間 ساعه ساعات",
    "day": "jour jours día días 天 日間 يوم يوما ايام",
    "week": "semaine semaines semana semanas 周 星期 週間 اسبوع اسابيع",
    "month": "mois mes meses 个月 個月 か月 ヶ月 カ月 شهر شهرا اشهر شهور",
    "year": "année années ans año años 年 年間 سنه سنوات عام عاما اعوام",
    "°": "degré degrés grado grados 度 درجه درجات",
    "°C": "摄氏度 degrés_celsius grados_celsius درجه_مئويه",
    "%": "pour_cent por_ciento パーセント في_المئه في_المائه بالمئه بالمائه",
    "USD": "dólar dólares 美元 美金 ドル 米ドル دولار دولارا دولارات",
    "EUR": "欧元 歐元 ユーロ يورو",
    "GBP": "英镑 英鎊 ポンド",
    "JPY": "円 日元 日圓 ين",
    "CNY": "元 人民币 人民幣 块 人民元 يوان",
}
_INSIDE = re.compile(rf"(?!_){LETTER}(?!_){LETTER}|{KATAKANA}{{2}}")
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_POWERS = ((2, ("square ", "sq ", "sq. "), ("2", "^2")), (3, ("cubic ", "cu ", "cu. "), ("3", "^3")))


def meanings(name: str) -> tuple[Unit, ...]:
    """Return the units that a name can mean, also "km/h", "metres per second" and "m/s²"; none if it is not
    known. Case counts where it tells units apart and they are written correctly."""
    return _meanings(_folded(name))


@lru_cache(maxsize=4096)
def _meanings(name: str) -> tuple[Unit, ...]:
    """Look a name up, or take it apart; cached."""
    exact, loose = _table()
    found = exact.get(name) or loose.get(name.casefold(), ())
    if found:
        return found
    for mark in ("/", " per ", " a "):
        above, there, below = name.partition(mark)
        if there and not _has_divisor(below):
            return tuple(
                Unit(f"{one.dimension}/{other.dimension}", one.factor / other.factor)
                for one in _meanings(above.strip())
                for other in _meanings(below.strip())
                if not one.offset and not other.offset
            )
    base = name.removesuffix(" squared").removesuffix("2").removesuffix("^")
    if base != name:
        return tuple(
            Unit(f"{unit.dimension}^2", unit.factor**2) for unit in _meanings(base) if not unit.offset
        )
    return ()


def unit_at(text: str, start: int) -> int:
    """Return the end of the longest name of a unit that stands at `start`; `start` if none does."""
    first = text[start : start + 1]
    if not first.isspace() and _folded(first)[:1].casefold() not in _initials():
        return start
    for end in range(min(len(text), start + LONGEST), start, -1):
        if text[end - 1].isspace() or _INSIDE.match(text, end - 1):
            continue  # the name would end within a word
        if meanings(text[start:end]):
            return end
    return start


def _has_divisor(name: str) -> bool:
    """Return whether a name is a quotient of units."""
    return "/" in name or " per " in name


def _folded(name: str) -> str:
    """Normalise the spelling of a name, except its case: "m²" and "m2" are one."""
    if not name.isascii():
        name = plain_letters(without_vowel_marks(name))
    return " ".join(unicodedata.normalize("NFKC", name).replace("\u03bc", "µ").replace("⋅", "·").split())


@cache
def _initials() -> frozenset[str]:
    """Return the characters that names of units begin with, in lower case."""
    return frozenset(name[:1].casefold() for table in _table() for name in table)


@cache
def _table() -> tuple[dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]]]:
    """Return the units by name as written, and by name in lower case."""
    exact: dict[str, dict[Unit, None]] = {}
    loose: dict[str, dict[Unit, None]] = {}
    for names in (_names(), _names_elsewhere(exact)):
        for name, unit in names:
            folded = _folded(name)
            exact.setdefault(folded, {})[unit] = None
            if len(folded) > 1:
                loose.setdefault(folded.casefold(), {})[unit] = None
    first, second = ({key: tuple(units) for key, units in table.items()} for table in (exact, loose))
    return first, second


def _names() -> Iterator[tuple[str, Unit]]:
    """Yield every name with the unit that it means."""
    for dimension, factor, symbols, words in _METRIC:
        for prefix, scale in {"": 1.0, **_PREFIXES}.items():
            for symbol in symbols:
                yield from _with_powers(prefix + symbol, Unit(dimension, factor * scale))
        for prefix, scale in {"": 1.0, **_PREFIX_WORDS}.items():
            for word in words:
                for name in (prefix + word, prefix + word + "s"):
                    yield from _with_powers(name, Unit(dimension, factor * scale))
    for dimension, factor, names in _OTHERS:
        for name in names:
            yield from _with_powers(name, Unit(dimension, factor))
            if len(name) > 2 and name[-1].isalpha():
                yield from _with_powers(name + "s", Unit(dimension, factor))
    for prefix, scale in _BINARY.items():
        yield prefix + "B", Unit("data", 8.0 * scale)
    for scale, offset, names in _TEMPERATURES:
        for name in names:
            yield name, Unit("temperature", scale, offset)


def _names_elsewhere(english: dict[str, dict[Unit, None]]) -> Iterator[tuple[str, Unit]]:
    """Yield the names in other languages with the units that the English name means."""
    for base, names in _ELSEWHERE.items():
        for name in names.split():
            for unit in english[base]:
                yield name.replace("_", " "), unit


def _with_powers(name: str, unit: Unit) -> Iterator[tuple[str, Unit]]:
    """Yield a unit, and for a length its areas and volumes."""
    yield name, unit
    if unit.dimension == "length":
        for power, before, after in _POWERS:
            for written in (*(mark + name for mark in before), *(name + mark for mark in after)):
                yield written, Unit(f"length^{power}", unit.factor**power)
