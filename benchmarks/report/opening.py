"""Measures how long Chromium takes to open a report page."""

from __future__ import annotations

import os
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
TEXTS = ("overview", "index")
_OPEN = """async () => {
    const start = performance.now();
    location.hash = 'view=question&id=q0000';
    while (!document.querySelector('h2.question')) await new Promise((done) => requestAnimationFrame(done));
    return performance.now() - start;
}"""


def opening_times(file: Path, rounds: int) -> dict[str, list[float]]:
    """Open a page so many times, each in a new process. Returns when the leaderboard was drawn (`overview`)
    and when the list of questions could be used (`index`), in milliseconds after it began to load, and how
    many the first question took to open (`question`)."""
    from playwright.sync_api import sync_playwright

    times: dict[str, list[float]] = {name: [] for name in (*TEXTS, "question")}
    with sync_playwright() as play:
        for _ in range(rounds):
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
            page = browser.new_page()
            page.goto(file.absolute().as_uri())
            for name in TEXTS:
                found = page.wait_for_function(f"performance.getEntriesByName('{name}')[0]?.startTime")
                times[name].append(found.json_value())
            times["question"].append(page.evaluate(_OPEN))
            browser.close()
    return times
