"""Measures what it costs to keep, besides the vectors of texts, which texts the documents have.

    python benchmarks/vector_parts.py [--texts 50000] [--each 10] [--rounds 2]

`--each` is the number of texts of a document. Prints the CPU seconds of embedding by `kind: lexical` with 384
numbers, which costs next to nothing, and the size of the cache, without the lists of texts and with them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path

from fathoms.models import LexicalEmbedder
from fathoms.models.caching import embed_cached
from fathoms.runs.cache import Cache

BLOCK = 16_000
"""So many texts are embedded at a time."""


def measured(texts: int, each: int, listed: bool) -> tuple[float, float]:
    """Embed so many texts in a new cache; returns the CPU seconds and the MB of the cache."""
    embedder = LexicalEmbedder(dimension=384)
    with tempfile.TemporaryDirectory() as folder:
        with closing(Cache(Path(folder), alone=True)) as cache:
            started = time.process_time()
            for first in range(0, texts, BLOCK):
                block = [f"text {number} of these" for number in range(first, min(first + BLOCK, texts))]
                whole, rest = divmod(len(block), each)
                parts = [each] * whole + [rest] * (rest > 0)
                embed_cached(embedder, block, cache, parts=parts if listed else ())
            seconds = time.process_time() - started
        return seconds, (Path(folder) / "cache.sqlite").stat().st_size / 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    for _ in range(asked.rounds):
        for listed in (False, True):
            seconds, size = measured(asked.texts, asked.each, listed)
            print(f"{'with' if listed else 'without'} lists: {seconds:.2f} s of CPU, {size:.2f} MB")
