"""The graph of question building: what merging takes with once and with twice as many entities.

    python benchmarks/building [--names 20000] [--rounds 3]

Names are two or three made-up words and sometimes a number, and every fifth is a plural of another. Each has
two mentions on pages of its own and one relation. Embeddings are `kind: lexical` with 256 dimensions, taken
from a cache that has them already. Prints CPU seconds (the least of the rounds), the peak of what Python and
NumPy allocate, their ratios, and the close names that were found. Ends with 1 if a ratio is over 2.1.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from fathoms.extras.questions.making.graph import merge, plain
from fathoms.extras.questions.making.relations import Extracted, Mention, Relation
from fathoms.models import LexicalEmbedder
from fathoms.models.caching import embed_cached
from fathoms.runs.cache import Cache

GOAL = 2.1
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]


def names_of(count: int) -> list[str]:
    """Return different names; the first ones do not depend on their number."""
    drawn = random.Random(0)
    found: dict[str, None] = {}
    while len(found) < count:
        words = ["".join(drawn.choices(SYLLABLES, k=3)) for _ in range(drawn.choice((2, 3)))]
        name = " ".join([*words, *([str(drawn.randrange(1000))] if drawn.random() < 0.2 else [])])
        found[name] = None
        if drawn.random() < 0.25:
            found[f"{name}s"] = None
    return list(found)[:count]


def extracted(names: list[str]) -> Extracted:
    """Return mentions and relations as a model would find them, ten names on a page."""
    mentions, relations = [], []
    for at, name in enumerate(names):
        place = {"document": f"{at // 500}.pdf", "page": at % 500 // 10 + 1, "component": f"c{at // 10}"}
        mentions += [Mention(name=name, kind="other", **place)] * 2
        other = names[(at * 7919 + 1) % len(names)]
        relations.append(Relation(source=name, relation="leads to", target=other, quote=other, **place))
    return Extracted(tuple(mentions), tuple(relations))


def measured(count: int, rounds: int, cache: Cache, embedder: LexicalEmbedder) -> tuple[float, float, int]:
    """Return CPU seconds, the peak in MiB, and how many names were merged."""
    data = extracted(names_of(count))
    embed_cached(embedder, [plain(one.name) for one in data.mentions], cache)
    seconds = []
    for _ in range(rounds):
        gc.collect()
        started = time.process_time()
        graph = merge(data, embedder, cache)
        seconds.append(time.process_time() - started)
        merged = count - len(graph)
        del graph
    tracemalloc.start()
    merge(data, embedder, cache)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return min(seconds), peak, merged


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--names", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    embedder = LexicalEmbedder(dimension=256)
    gc.set_threshold(100_000)  # as the command line does
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        found = [measured(options.names * times, options.rounds, cache, embedder) for times in (1, 2)]
        cache.close()
    print(f"load {os.getloadavg()[0]:.1f}")
    for times, (seconds, peak, merged) in enumerate(found, 1):
        print(f"{options.names * times:7} names  {seconds:6.2f} s CPU  {peak:7.1f} MiB  {merged} merged")
    ratios = found[1][0] / found[0][0], found[1][1] / found[0][1]
    print(f"ratios: time {ratios[0]:.2f}, memory {ratios[1]:.2f} (goal {GOAL})")
    return 0 if max(ratios) <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
