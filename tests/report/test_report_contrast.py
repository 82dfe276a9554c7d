"""The colours of the report and of the page of edits: WCAG 2.2 AA contrast, in both themes."""

from __future__ import annotations

import re

import pytest

from fathoms.report.html.assembling import PAGE
from tests.package.test_rooms import PACKAGE

PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
STYLES = [(PAGE / "style.css").read_text()]
STYLES += [path.read_text() for path in sorted(PACKAGE.glob("extras/**/*.css"))]
# what is read, on what it stands: 4.5 (success criterion 1.4.3)
TEXTS = [
    *((ink, ground) for ink in ("ink", "soft", "link") for ground in ("paper", "panel")),
    *(("ink", "best"), ("soft", "best"), ("ink", "mark"), ("paper", "ink")),
    *((kind, f"{kind}-back") for kind in ("good", "half", "bad", "fail")),
    *(("ink", "half-back"), ("sheet", "box"), ("sheet", "chosen")),
    *(("on-frame", f"frame-{what}") for what in ("phrase", "lost", "evidence", *range(8))),
    *(
        (f"on-{part}", part)
        for part in ("reached", *(f"lost-{s}" for s in ("documents", "retrieved", "prompt", "answer")))
    ),
]
# what is seen and means something: 3 (success criterion 1.4.11); pale parts of the funnel have a rim
SHAPES = [
    *((f"run{number}", "paper") for number in range(8)),
    *((name, "paper") for name in ("edge", "reached", "lost-documents", "lost-retrieved", "rim", "gained")),
]


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_known_contrasts() -> None:
    """Black on white is 21; #767676 is the lightest grey that may stand on white (WebAIM)."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("style", STYLES)
def test_all_colours_have_the_contrast_that_wcag_demands(style: str) -> None:
    colours = {name: pair for name, *pair in PAIR.findall(style)}
    demanded = [(*pair, 4.5) for pair in TEXTS] + [(*pair, 3.0) for pair in SHAPES]
    pairs = [(ink, ground, least) for ink, ground, least in demanded if {ink, ground} <= colours.keys()]
    assert len(pairs) > 10
    too_low = [
        f"{ink} on {ground}, {theme}: {found:.2f} < {least}"
        for ink, ground, least in pairs
        for at, theme in enumerate(("light", "dark"))
        if (found := contrast(colours[ink][at], colours[ground][at])) < least
    ]
    assert not too_low, "\n".join(too_low)


@pytest.mark.parametrize("style", STYLES)
def test_every_colour_of_the_style_is_in_the_list(style: str) -> None:
    """A colour elsewhere in the style would be checked by nobody."""
    for line in style.splitlines():
        assert PAIR.search(line) or not re.search(r"#[0-9a-fA-F]{3}|\brgb|\bhsl", line), line
