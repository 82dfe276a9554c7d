"""Exact MaxSim over stored page vectors, beside the bare matrix products, and what approximations lose.

    python benchmarks/visual [--pages 400] [--vectors 700] [--queries 20] [--tokens 20] [--rounds 5]

Pages of random vectors are written once in each format, and then opened and searched by a new process, which
must find what this process finds. In every round, the bare products and the search of each format have one
turn each. The bare products multiply the vectors of all queries with one block of float32 vectors in memory,
into the same array, as often as there are blocks in the pages, and do nothing with the results. Prints
medians, ratios, the memory that the search adds (peak of what NumPy allocates), the most memory of its own
that the new process had (RssAnon of Linux, which leaves out the mapped file) and the load of the machine;
then recall@k against exact search of float32 for the formats, for token pooling, for search in two stages,
and with `--lancedb` for tables of LanceDB with and without an index. Ends with 1 if a ratio is over 2, or if
the new process finds other pages.

The pages are made: those of a document share directions around which their vectors lie, and most vectors of a
query are near vectors of one page. Recall on real pages is different.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from fathoms.retrieve.approximation import recall
from fathoms.retrieve.lance_multi_vectors import LanceIndex, LanceMultiVectors
from fathoms.retrieve.max_sim import best_pages, max_sim
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.token_pooling import pool_tokens
from fathoms.retrieve.two_stages import mean_vectors, search_in_two_stages
from fathoms.retrieve.vector_formats import FORMATS

Floats = NDArray[np.float32]
T = TypeVar("T")
Show = Callable[[str, Callable[[], list[list[tuple[int, float]]]], int], None]
GOAL = 2.0
WIDTH = 128
BARE_ROWS = 2_800  # vectors in a block of the bare products: four pages; one to twenty differ by little
DOCUMENT = 10  # pages
DIRECTIONS = 40  # of a document
REGIONS = 12  # of a page, each around one of the directions
NOISE = 0.06  # of each number of a vector; its length is then about 0.7 of that of the direction


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that a call takes, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def normal(vectors: Floats) -> Floats:
    """Give every row length one."""
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def make_page(number: int, vectors: int) -> Floats:
    """Page `number` with so many vectors, give or take a tenth; the same whenever it is made."""
    document = np.random.default_rng([0, number // DOCUMENT])
    directions = normal(document.standard_normal((DIRECTIONS, WIDTH), dtype=np.float32))
    generator = np.random.default_rng([1, number])
    count = int(generator.integers(vectors - vectors // 10, vectors + vectors // 10 + 1))
    regions = generator.choice(DIRECTIONS, REGIONS, replace=False)
    middles = directions[regions[generator.integers(0, REGIONS, count)]]
    return normal(middles + np.float32(NOISE) * generator.standard_normal((count, WIDTH), dtype=np.float32))


def make_pages(options: argparse.Namespace) -> Iterator[Floats]:
    """All pages, one after the other."""
    return (make_page(number, options.vectors) for number in range(options.pages))


def make_queries(options: argparse.Namespace) -> list[Floats]:
    """Queries of which three quarters of the vectors are near vectors of one page, and the others random."""
    queries = []
    for number in range(options.queries):
        generator = np.random.default_rng([2, number])
        page = make_page(int(generator.integers(options.pages)), options.vectors)
        near = page[generator.integers(0, len(page), options.tokens)]
        near[: options.tokens // 4] = 0
        noise = generator.standard_normal((options.tokens, WIDTH), dtype=np.float32)
        queries.append(normal(near + np.float32(NOISE) * noise))
    return queries


def bare(queries: list[Floats], block: Floats, total: int) -> None:
    """Multiply the vectors of all queries with `total` vectors, which are the same block again and again."""
    tokens = np.concatenate(queries)
    results = np.empty((len(tokens), len(block)), dtype=np.float32)
    for _ in range(total // len(block)):
        np.matmul(tokens, block.T, out=results)
    if left := total % len(block):
        np.matmul(tokens, block[:left].T)


def pages_of(found: list[list[tuple[int, float]]]) -> list[list[int]]:
    """The pages without their scores."""
    return [[page for page, _ in row] for row in found]


def search(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """What a new process does: open a store and search it."""
    queries = make_queries(options)
    own = OwnMemory()
    opened, store = timed(lambda: MultiVectors.open(folder))
    searched, scores = timed(lambda: max_sim(queries, store))
    found = {"opened": opened, "searched": searched, "before": own.before, "most": own.most()}
    return {**found, "best": pages_of(best_pages(scores, options.top_k))}


class OwnMemory:
    """Watches the memory of this process that is not that of mapped files, in MiB, every 20 ms; 0 where
    there is no /proc."""

    def __init__(self) -> None:
        self.before = self._highest = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self._highest = max(self._highest, self._now())

    def _now(self) -> int:
        status = Path("/proc/self/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon:")), 0)

    def most(self) -> int:
        """Stop watching, and return the most."""
        self._done.set()
        self._thread.join()
        return self._highest


def search_elsewhere(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Search a store in a new process."""
    values = {name: getattr(options, name) for name in ("pages", "vectors", "queries", "tokens", "top_k")}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    command = [sys.executable, __file__, *arguments, "--search", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


def build(options: argparse.Namespace, work: Path) -> tuple[dict[str, MultiVectors], bool]:
    """Write the pages in each format, print what that takes, and return the stores and whether a new process
    finds the same pages in each."""
    stores = {}
    all_same = True
    queries = make_queries(options)
    print(
        "| format | MB | s to make and write | s to open anew | s to search there"
        " | MiB of its own before, most | the same pages |\n|---|---|---|---|---|---|---|"
    )
    for dtype in options.formats:
        folder = work / dtype
        seconds, store = timed(partial(MultiVectors.write, folder, make_pages(options), dtype))
        there = search_elsewhere(options, folder)
        here = pages_of(best_pages(max_sim(queries, store), options.top_k))
        same = "yes" if there["best"] == here else "NO"
        all_same &= there["best"] == here
        times = f"{seconds:.2f} | {there['opened']:.2f} | {there['searched']:.2f}"
        memory = f"{there['before']}, {there['most']}"
        print(f"| {dtype} | {store.nbytes / 1e6:.0f} | {times} | {memory} | {same} |", flush=True)
        stores[dtype] = store
    print()
    return stores, all_same


def measure_speed(options: argparse.Namespace, stores: dict[str, MultiVectors]) -> bool:
    """Print the seconds of the bare products and of the search in each format; whether the goal is met."""
    queries = make_queries(options)
    total = int(stores["float32"].offsets[-1])
    block = np.array(stores["float32"].vectors(0, min(BARE_ROWS, total)))
    seconds: dict[str, list[float]] = {name: [] for name in ("bare", *stores)}
    for _ in range(options.rounds):
        seconds["bare"].append(timed(lambda: bare(queries, block, total))[0])
        for dtype in stores:
            seconds[dtype].append(timed(partial(max_sim, queries, stores[dtype]))[0])
    print("| | s, median | least | x bare, median of rounds | x bare, least | MiB |")
    print("|---|---|---|---|---|---|")
    met = True
    for name, found in seconds.items():
        ratios = [ours / theirs for ours, theirs in zip(found, seconds["bare"], strict=True)]
        ratio, least = statistics.median(ratios), min(found) / min(seconds["bare"])
        met &= ratio <= GOAL
        memory = "" if name == "bare" else f"{peak(partial(max_sim, queries, stores[name])) / 2**20:.0f}"
        row = f"{statistics.median(found):.3f} | {min(found):.3f} | {ratio:.2f} | {least:.2f} | {memory}"
        print(f"| {name} | {row} |", flush=True)
    print(f"\ngoal {GOAL:.0f} x in every format: {'met' if met else 'MISSED'}\n")
    return met


def peak(work: Callable[[], object]) -> int:
    """The most bytes that NumPy and Python have allocated at once during a call."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure_recall(options: argparse.Namespace, stores: dict[str, MultiVectors], work: Path) -> None:
    """Print recall@k against exact search of float32, and seconds, of each approximation."""
    queries, k = make_queries(options), options.top_k
    exact = stores["float32"]
    best = pages_of(best_pages(max_sim(queries, exact), k))
    print(f"| approximation | recall@1 | recall@{k} | s | share of the bytes |\n|---|---|---|---|---|")

    def show(name: str, find: Callable[[], list[list[tuple[int, float]]]], size: int) -> None:
        seconds, found = timed(find)
        numbers = pages_of(found)
        values = f"{recall(numbers, best, 1):.3f} | {recall(numbers, best, k):.3f}"
        print(f"| {name} | {values} | {seconds:.3f} | {size / exact.nbytes:.3f} |", flush=True)

    def exactly(store: MultiVectors) -> Callable[[], list[list[tuple[int, float]]]]:
        return lambda: best_pages(max_sim(queries, store), k)

    for dtype in stores:
        show(dtype, exactly(stores[dtype]), stores[dtype].nbytes)
    for factor in options.pool:
        pooled_pages = (pool_tokens(exact.page(number), factor) for number in range(len(exact)))
        took, pooled = timed(partial(MultiVectors.write, work / f"pooled-{factor}", pooled_pages))
        show(f"pooled by {factor} ({took / len(exact) * 1000:.0f} ms a page)", exactly(pooled), pooled.nbytes)
    means = mean_vectors(exact)
    for candidates in sorted({max(k, len(exact) // share) for share in (len(exact), 20, 4)}):
        find = partial(search_in_two_stages, queries, exact, means, candidates, k)
        show(f"two stages, {candidates} candidates", find, exact.nbytes + means.nbytes)
    if options.lancedb:
        measure_lancedb(options, exact, work, show)


def measure_lancedb(options: argparse.Namespace, exact: MultiVectors, work: Path, show: Show) -> None:
    """Print the same of LanceDB without an index, and with each kind of index."""
    queries = make_queries(options)
    for index in get_args(LanceIndex):
        folder = work / f"lancedb-{index}"
        took, table = timed(partial(LanceMultiVectors.write, folder, make_pages(options), index))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for refine in (1, 10) if index != "none" else (1,):
            find = partial(table.search, queries, options.top_k, refine=refine)
            show(f"LanceDB, index {index}, refine {refine} (written in {took:.0f} s)", find, size)


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    numbers = {"pages": 400, "vectors": 700, "queries": 20, "tokens": 20, "top-k": 10, "rounds": 5}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--pool", type=int, nargs="*", default=[3])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS, help="float32 and others")
    parser.add_argument("--lancedb", action="store_true", help="compare LanceDB, too")
    parser.add_argument("--work", type=Path, help="a folder for the stores; a temporary one by default")
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.formats = ["float32", *(each for each in options.formats if each != "float32")]
    if options.search:
        print(json.dumps(search(options, options.search)))
        return 0
    size = f"{options.pages} pages x {options.vectors} vectors x {WIDTH}"
    print(f"{options.queries} queries x {options.tokens} vectors, {size}, load {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        stores, same = build(options, Path(folder))
        met = measure_speed(options, stores)
        measure_recall(options, stores, Path(folder))
    print(f"\nload {os.getloadavg()[0]:.1f}")
    return 0 if met and same else 1


if __name__ == "__main__":
    sys.exit(main())
