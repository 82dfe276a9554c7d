"""Measures how long `report.html` takes to write and to open, and how large it is.

    python benchmarks/report --work DIR [--questions 1000] [--runs 5] [--no-browser]

Makes up to five runs of the same made-up questions in DIR, with texts as long as real ones (`corpus.py`),
scores them, and writes their report. The runs are the same every time. Then Chromium opens the file from disk
three times, each time in a new process, and reports when the leaderboard was drawn, when the list of
questions could be used, and how long a question takes to open.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import time
from pathlib import Path

from corpus import Corpus
from opening import opening_times
from pipelines import PIPELINES, make_run

from fathoms.report.html import report_html
from fathoms.runs.finding import list_runs
from fathoms.runs.run import Run
from fathoms.scoring import score_run

ROUNDS = 3


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser()
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--questions", type=int, default=1000)
    options.add_argument("--runs", type=int, default=len(PIPELINES))
    options.add_argument("--no-browser", action="store_true")
    given = options.parse_args()
    runs = scored_runs(given.work / f"runs-{given.questions}", given.questions, given.runs)
    print(f"{len(runs)} runs of {given.questions} questions; load {os.getloadavg()[0]:.1f}")
    describe(runs)
    file = given.work / "report.html"
    start, busy = time.perf_counter(), time.process_time()
    text = report_html(runs)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    file.write_text(text, encoding="utf-8")
    print(f"written in {seconds:.1f} s ({busy:.1f} s of CPU): {file.stat().st_size / 1e6:.1f} MB")
    if not given.no_browser:
        opened(file)


def scored_runs(folder: Path, questions: int, number: int) -> list[Run]:
    """Some runs, scored; taken from the folder where they were made before."""
    if len(list_runs(folder)) < number:
        corpus = Corpus(questions)
        for pipeline in PIPELINES[:number]:
            score_run(make_run(folder, corpus, pipeline))
    return [Run.scored(run.path) for run in list_runs(folder)[:number]]


def describe(runs: list[Run]) -> None:
    """How much text there is, and how far a single text can be compressed."""
    for run in runs:
        texts = [hit.text for view in run.questions() for repeat in view.repeats for hit in repeat.hits or ()]
        size = sum(map(len, texts))
        packed = sum(len(gzip.compress(text.encode(), 6)) for text in texts[:500])
        ratio = sum(map(len, texts[:500])) / packed if packed else 0
        print(
            f"{run.name}: {size / 1e6:.1f} MB of retrieved text, a text by itself compresses {ratio:.2f}-fold"
        )


def opened(file: Path) -> None:
    """Print when the page was drawn, in milliseconds after the browser began to load it."""
    for name, values in opening_times(file, ROUNDS).items():
        print(f"{name}: {statistics.median(values):.0f} ms ({min(values):.0f} to {max(values):.0f})")


if __name__ == "__main__":
    main()
