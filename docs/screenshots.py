"""The pictures of docs/reports.md and docs/metrics.md: reports in Chromium, at 1280 and 390 pixels,
light and dark.

    python docs/screenshots.py docs/images paper=PAPER/report.html demo=DEMO/report.html

`paper` is the report of the eight result files of the paper, and `demo` that of the two runs of `make demo`;
the pictures of reports that are not named stay as they are. It needs the extra `test` and Debian's chromium.
"""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = "/usr/bin/chromium"
LARGEST = 150_000


@dataclass(frozen=True)
class Shot:
    """A view of one of the reports, from `top` (an element) down."""

    name: str
    report: str
    view: str
    theme: str = "light"
    top: str = "body"
    width: int = 1280
    height: int = 900


SHOTS = (
    Shot("report-overview", "paper", "view=overview", height=1640),
    Shot("report-funnel", "demo", "view=overview", theme="dark", top="#funnel", height=760),
    Shot("report-question", "demo", "view=question&id=text-01", height=1020),
    Shot("report-compare", "demo", "view=compare&a=0&b=1", theme="dark"),
    Shot("report-gold-pages", "demo", "view=overview", top="#table-pages", height=1240),
    Shot("report-narrow-overview", "paper", "view=overview", theme="dark", width=390),
    Shot("report-narrow-questions", "demo", "view=questions", width=390),
)


_SHOW = """element => {
    const folds = element.matches('.fold') ? document.querySelectorAll('.fold > details') : [];
    folds.forEach((found) => (found.open = true));
    element.scrollIntoView();
}"""


def take(browser: Browser, shot: Shot, report: Path) -> bytes:
    """The picture as PNG."""
    page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
    page.goto(f"{report.resolve().as_uri()}#{shot.view}&theme={shot.theme}")
    page.wait_for_selector("main #title")
    page.wait_for_load_state("networkidle")
    page.locator(shot.top).evaluate(_SHOW)
    picture = page.screenshot()
    page.close()
    return picture


def save(picture: bytes, path: Path) -> int:
    """Write it with 256 colours: text and flat charts need no more. Returns the bytes."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def main(out: str, reports: dict[str, str]) -> None:
    Path(out).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for shot in (shot for shot in SHOTS if shot.report in reports):
            path = Path(out) / f"{shot.name}.png"
            size = save(take(browser, shot, Path(reports[shot.report])), path)
            print(f"{path}: {size:,} bytes")
            if size > LARGEST:
                sys.exit(f"{path} is larger than {LARGEST:,} bytes")
        browser.close()


if __name__ == "__main__":
    named = dict(argument.partition("=")[::2] for argument in sys.argv[2:])
    if not named or not named.keys() <= {shot.report for shot in SHOTS}:
        sys.exit(__doc__)
    main(sys.argv[1], named)
