"""Exact search by `store: numpy`, beside the bare matrix product and top-k of NumPy.

    python benchmarks/search [--rows 1000000] [--width 384] [--queries 1000] [--top-k 10] [--rounds 3]

Both search the same memory-mapped vectors, one after the other in every round. The bare product compares 64
queries with all rows at a time, because the scores of all 1,000 queries would take 4 GB. Prints the medians,
their ratio, the memory that the search of fathoms adds (peak of what NumPy allocates) and the load of the
machine. Ends with 1 if the ratio is over 1.5 or the two results differ.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fathoms.retrieve.numpy_store import NumpyStore

Vectors = NDArray[np.float32]
GOAL = 1.5
AT_ONCE = 64


def make(path: Path, rows: int, width: int, seed: int) -> Vectors:
    """Write normalised random vectors to a file, block by block, and map it into memory."""
    result = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
    generator = np.random.default_rng(seed)
    for start in range(0, rows, 50_000):
        block = generator.standard_normal((min(50_000, rows - start), width), dtype=np.float32)
        result[start : start + 50_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    result.flush()
    return np.load(path, mmap_mode="r")


def bare(vectors: Vectors, queries: Vectors, k: int) -> list[list[int]]:
    """The `k` nearest rows of each query, by one product and one `argpartition` per block of queries."""
    found = []
    for start in range(0, len(queries), AT_ONCE):
        scores = queries[start : start + AT_ONCE] @ vectors.T
        best = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
        found += np.take_along_axis(best, order, axis=1).tolist()
    return found


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (
        ("rows", 1_000_000),
        ("width", 384),
        ("queries", 1_000),
        ("top-k", 10),
        ("rounds", 3),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vectors = make(Path(folder) / "vectors.npy", options.rows, options.width, seed=0)
        queries = np.array(make(Path(folder) / "queries.npy", options.queries, options.width, seed=1))
        store, k = NumpyStore(), options.top_k
        seconds: dict[str, list[float]] = {"bare": [], "fathoms": []}
        same = True
        for _ in range(options.rounds):
            started = time.perf_counter()
            expected = bare(vectors, queries, k)
            seconds["bare"].append(time.perf_counter() - started)
            started = time.perf_counter()
            found = store.search(Path(folder), vectors, queries, k)
            seconds["fathoms"].append(time.perf_counter() - started)
            # the last digits of a product depend on how it is divided, so neighbours may change places
            pairs = zip(found, expected, strict=True)
            same &= all({row for row, _ in ours} == set(theirs) for ours, theirs in pairs)
        tracemalloc.start()
        store.search(Path(folder), vectors, queries, k)
        memory = tracemalloc.get_traced_memory()[1]
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    ratio = medians["fathoms"] / medians["bare"]
    size = f"{options.rows} x {options.width} float32"
    print(f"{options.queries} queries, {size}, top {k}, load {os.getloadavg()[0]:.1f}")
    for name, value in medians.items():
        print(f"{name:8} {value:7.2f} s ({min(seconds[name]):.2f} to {max(seconds[name]):.2f})")
    print(f"ratio {ratio:.2f} (goal {GOAL}), the same rows: {same}, memory: {memory / 2**20:.0f} MiB")
    return 0 if same and ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
