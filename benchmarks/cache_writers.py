"""Measures what SQLite's lock costs when many processes write to the cache of one machine at once.

    python benchmarks/cache_writers.py [--values 640] [--size 40000]

All values together are the same for each number of writers, each value is a transaction of its own, as that
of a parsed document, and all writers begin at once. Prints Markdown, and ends with 1 if a value is missing or
a write failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "runner")]

from bench import table  # noqa: E402 - of the other benchmark
from measuring import machine  # noqa: E402

from fathoms.runs.cache import Cache  # noqa: E402

WRITERS = (1, 2, 4, 8, 16, 32)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--values", type=int, default=640)
    parser.add_argument("--size", type=int, default=40_000)
    args = parser.parse_args()
    found = [written(writers, args.values // writers, args.size) for writers in WRITERS]
    print(f"{machine()}\n")
    heads = ("writers", "values", "all, s", "values a second", "CPU ms a value", "longest wait, ms", "lost")
    print(table("Processes that write to one cache at once", heads, [row for row, _ in found]))
    sys.exit(int(any(lost for _, lost in found)))


def written(writers: int, each: int, size: int) -> tuple[list[str], int]:
    """Have so many processes write; returns a row of the table, and how many values are missing."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with closing(Cache(place, alone=True)):
            pass
        began, before = time.perf_counter(), sum(os.times()[:4])
        children = []
        for number in range(writers):
            if (child := os.fork()) == 0:
                os._exit(write(place, number, each, size))
            children.append(child)
        failed = [child for child in children if os.waitpid(child, 0)[1]]
        seconds, spent = time.perf_counter() - began, sum(os.times()[:4]) - before
        waits = [float(path.read_text()) for path in place.glob("wait-*")]
        with closing(Cache(place, alone=True)) as cache:
            keys = [key(number, at) for number in range(writers) for at in range(each)]
            lost = len(keys) - len(cache.get_many("document", keys)) + len(failed)
        rate, cost = len(keys) / seconds, 1000 * spent / len(keys)
        cells = [f"{seconds:.1f}", f"{rate:.0f}", f"{cost:.1f}", f"{1000 * max(waits):.0f}"]
        return [str(writers), str(len(keys)), *cells, str(lost)], lost


def write(folder: Path, number: int, each: int, size: int) -> int:
    """Write the values of one process; returns its exit code."""
    longest = 0.0
    with closing(Cache(folder, alone=True)) as cache:
        for at in range(each):
            began = time.perf_counter()
            cache.put("document", key(number, at), os.urandom(size))
            longest = max(longest, time.perf_counter() - began)
    (folder / f"wait-{number}").write_text(str(longest))
    return 0


def key(number: int, at: int) -> str:
    """The key of a value."""
    return f"{100_000 * number + at:032x}"


if __name__ == "__main__":
    main()
