"""Measures how quick `fathoms view` is with many runs and many questions, and beside a run in progress.

    python benchmarks/view --work DIR [--runs 1000] [--questions 100000] [--no-browser]

Makes in DIR a folder with so many small scored runs (copies of one of 20 questions) and one scored run of
many questions, whose texts are as long as real ones (`benchmarks/report`). Then it starts the command and
asks it over its socket as the page does, each request several times; and once more while a run answers
questions in the same folder and a page listens to it. Chromium opens the list and the questions of the large
run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from corpus import Corpus
from pipelines import PIPELINES, make_run

from fathoms.runs.run import Run
from fathoms.scoring import score_run

ROUNDS = 7
SLOW = """\
name: in progress
data: sample
embed: {kind: lexical}
generate: {kind: scripted, latency: 0.5, max_concurrency: 1}
"""


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser()
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--questions", type=int, default=100_000)
    options.add_argument("--no-browser", action="store_true")
    given = options.parse_args()
    folder = given.work / f"runs-{given.runs}-{given.questions}"
    large = large_run(folder, given.runs, given.questions)
    print(f"{given.runs:,} runs, one of {given.questions:,} questions; load {os.getloadavg()[0]:.1f}")
    with served(folder) as (address, process):
        measure(address, large, process)
        with in_progress(given.work, folder), listening(address):
            print("-- while a run answers a question every half second, and a page listens --")
            ask_all(address, large)
        print(f"memory of the server: {memory(process):.0f} MB")
        if not given.no_browser:
            opened(address, large)


def large_run(folder: Path, runs: int, questions: int) -> str:
    """Make the runs, unless they are there; returns the id of the large one."""
    known = folder / "large.txt"
    if not known.is_file():
        small = make_run(folder, Corpus(20), PIPELINES[0])
        score_run(small)
        for number in range(runs - 2):
            copy(small, number)
        large = make_run(folder, Corpus(questions), PIPELINES[1])
        score_run(large)
        known.write_text(large.id)
    return known.read_text()


def copy(run: Run, number: int) -> None:
    """Make another small run of the files that the list reads."""
    day, second = divmod(number, 80_000)
    stamp = f"202501{day + 1:02}T{second // 3600:02}{second // 60 % 60:02}{second % 60:02}000Z"
    path = run.path.with_name(f"{stamp}_pipeline-{number % 40}_0123abcd")
    path.mkdir()
    for name in ("manifest.json", "summary.json"):
        text = (run.path / name).read_text().replace(run.id, path.name)
        text = re.sub(r',\n  "crc": "[0-9a-f]{8}"', "", text)
        text = re.sub(r'\n  "name": "[^"]*"', f'\n  "name": "pipeline {number % 40}"', text, count=1)
        (path / name).write_text(text)


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command, and give the address of its page."""
    command = [sys.executable, "-m", "fathoms", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@contextmanager
def in_progress(work: Path, folder: Path) -> Iterator[None]:
    """Have a run answer questions slowly in the folder."""
    (work / "slow.yaml").write_text(SLOW)
    command = [sys.executable, "-m", "fathoms", "run", str(work / "slow.yaml"), "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not list(folder.glob("*_in-progress_*/journal.jsonl")):
                time.sleep(0.1)
            yield
        finally:
            process.kill()


@contextmanager
def listening(address: str) -> Iterator[None]:
    """Listen to the list of runs as a page does."""
    ended = Event()

    def listen() -> None:
        with urlopen(f"{address}events") as reply:
            while not ended.is_set():
                reply.readline()

    Thread(target=listen, daemon=True).start()
    yield
    ended.set()


def get(address: str) -> bytes:
    """Ask for something."""
    with urlopen(address) as reply:
        return bytes(reply.read())


def timed(what: str, ask: Callable[[], Any], rounds: int = ROUNDS) -> Any:
    """Print how many milliseconds a request takes, and return the last answer."""
    taken, found = [], None
    for _ in range(rounds):
        start = time.perf_counter()
        found = ask()
        taken.append(1000 * (time.perf_counter() - start))
    size = f", {len(found) / 1e6:.2f} MB" if isinstance(found, bytes) and len(found) > 10_000 else ""
    spread = f" ({min(taken):.0f} to {max(taken):.0f})" if rounds > 1 else ""
    print(f"{what}: {statistics.median(taken):.0f} ms{spread}{size}")
    return found


def measure(address: str, large: str, process: subprocess.Popen[str]) -> None:
    """Print what the first request takes, and how long it takes until all questions are read."""
    page = f"{address}run/{quote(large)}/"
    timed("list, the first time", lambda: get(address), 1)
    timed("page of the large run, the first time", lambda: get(page), 1)
    start = time.perf_counter()
    index = json.loads(timed("index of the questions read so far", lambda: get(f"{page}index"), 1))
    print(f"questions in it: {len(index['questions']['id']):,}")
    timed("50 questions while the others are read", lambda: rows(page, index))
    while standing(page)["live"]:
        time.sleep(0.25)
    print(f"all questions read after {time.perf_counter() - start:.1f} s; {memory(process):.0f} MB")
    ask_all(address, large)


def ask_all(address: str, large: str) -> None:
    """Print what each request takes."""
    page = f"{address}run/{quote(large)}/"
    timed("list", lambda: get(address))
    timed("page of the large run", lambda: get(page))
    index = json.loads(timed("index of all questions", lambda: get(f"{page}index")))
    timed("50 questions", lambda: rows(page, index))
    timed("search for two words", lambda: get(f"{page}search?q=valve+kpa&runs=0"))
    place = index["questions"]["place"][len(index["questions"]["place"]) // 2]
    timed("one question", lambda: get(f"{page}detail?run=0&place={place}"))


def rows(page: str, index: dict[str, Any]) -> bytes:
    """Ask for the texts of 50 questions."""
    places = index["questions"]["place"][-50:]
    return get(f"{page}rows?places={','.join(map(str, places))}")


def standing(page: str) -> Any:
    """Ask how far the reading is."""
    with urlopen(f"{page}events") as reply:
        return json.loads(reply.readline().removeprefix(b"data: "))


def memory(process: subprocess.Popen[str]) -> float:
    """The most memory that a process has had, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1000 if found else float("nan")


def opened(address: str, large: str) -> None:
    """Print how long Chromium takes from the request until it has drawn."""
    from playwright.sync_api import sync_playwright

    views = {
        "list": (address, "#all-runs"),
        "overview": (f"{address}run/{quote(large)}/", "#leaderboard"),
        "questions": (f"{address}run/{quote(large)}/#view=questions", "ol.questions"),
        "filtered questions": (f"{address}run/{quote(large)}/#view=questions&outcome=wrong", "ol.questions"),
    }
    with sync_playwright() as play:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        for name, (where, selector) in views.items():
            page = browser.new_page()

            def show(page: Any = page, where: str = where, selector: str = selector) -> None:
                page.goto("about:blank")
                page.goto(where)
                page.wait_for_selector(selector)

            timed(f"Chromium, {name}", show, 3)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
