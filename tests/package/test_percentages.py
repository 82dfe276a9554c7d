"""Percentages look the same everywhere: a number, a space and the sign, `88 %`, written by one function.

What people type, such as `--max-empty 5%`, and what documents say have no space: the reference is full of it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fathoms.text.amounts import percent
from tests.support.doc_pages import PAGES

ROOT = Path(__file__).parents[2]
AMOUNTS = ROOT / "fathoms/text/amounts.py"
BY_HAND = re.compile(r":[^{}\"':]*%\}|:\.\df\} ?%")
"""A percentage that an f-string formats: `{share:.0%}` or `{100 * share:.0f} %`."""
GLUED = re.compile(r"\d%(?![\w%])")


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(0.884, 0, "88 %"), (0.884, 1, "88.4 %"), (0, 0, "0 %"), (1, 1, "100.0 %"), (2 / 3, 0, "67 %")],
)
def test_a_share_is_a_number_a_space_and_the_sign(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text


def test_only_one_function_formats_percentages() -> None:
    modules = [*ROOT.glob("fathoms/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]
    texts = {path: path.read_text("utf-8") for path in modules if path != AMOUNTS}
    found = [(path.name, match[0]) for path, text in texts.items() for match in BY_HAND.finditer(text)]
    assert not found, "use fathoms.text.amounts.percent"
    assert [bool(BY_HAND.search(text)) for text in ("{a:.0%}", "{100 * a:.1f} %", "{a:%Y}", "{a:.2f}")] == [
        *(True, True, False, False)
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "reference"], ids=lambda page: page.name
)
def test_pages_have_a_space_before_the_sign(page: Path) -> None:
    prose = re.sub(r"`[^`\n]+`", "", page.read_text("utf-8"))
    lines = [line for line in prose.splitlines() if GLUED.search(line) and " --" not in line]
    assert not lines, "88 % in sentences and outputs; 5% only in what is typed, as code"
