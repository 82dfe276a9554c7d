"""Measures whether reading and scoring one answer takes time in proportion to its length.

    python benchmarks/long_answers.py [--rounds 3] [--only UNIT ...]

Each answer repeats one short text to 64,000, 256,000 and 1,000,000 characters, because that is what a model
that never stops writes, and what makes a pattern look back or ahead too far. Every function is timed as a
whole, in seconds of the processor, the best of some rounds. It prints a table of the microseconds a character
at 1,000,000 characters, and of their ratio to those at 64,000, and ends with 1 if a ratio is above 1.6.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

from fathoms.answers import read
from fathoms.answers.citations import parse_citations
from fathoms.metrics.abstention import label_answers
from fathoms.metrics.labels import classified_text
from fathoms.metrics.linear import Linear
from fathoms.metrics.phrase_recall import reading_recall
from fathoms.metrics.said import blanked
from fathoms.models.sentences import sentences
from fathoms.types import Chunk, GoldDate, GoldNumber, GoldPhrase, GoldRegex, GoldYesNo, Hit

SIZES = (64_000, 256_000, 1_000_000)
MOST = 1.6
LEAST = 20_000.0
"""The microseconds that calls are measured for at least: shorter times vary more."""
UNITS = (
    *("one hundred ", "**", "(p. 3) ", "Sources:\n- a\n", "\n", "a", "<think>", "</think>", "$a$", "[1] "),
    *("[1]", "\\frac{1}{2} ", "| a ", "3.", "- ", "\u4e0a\u4e0b\u6587\u3002", "&amp;"),
)
PLAIN = (("41.5 m", "p. 12", "[3]", "self-attention", "1,000"), ("Kestrel",))
RICH: tuple[tuple[GoldPhrase, ...], ...] = (
    (GoldNumber(number=7, unit="m"), GoldDate(date="2024-03-15"), GoldYesNo(yes_no="yes")),
    (GoldRegex(regex=r"x\d+y"),),
)
HITS = tuple(
    Hit(rank=rank, score=1.0, chunk=Chunk(id=f"c{rank}", text="x", document="report.pdf", pages=(rank,)))
    for rank in (1, 2, 3)
)
PARTS: dict[str, Callable[[str], object]] = {
    "read": lambda text: read(text, HITS).plain,
    "parts": lambda text: blanked(read(text)),
    "numbers": lambda text: read(text).numbers,
    "phrases": lambda text: reading_recall(read(text), PLAIN),
    "rich gold": lambda text: reading_recall(read(text), RICH),
    "citations": lambda text: parse_citations(text, HITS),
    "sentences": sentences,
    "verdict": lambda text: Linear().classify([text]),
    "label": lambda text: label_answers([classified_text(read(text))], Linear(), {}),
}


def microseconds(
    work: Callable[[str], object], unit: str, size: int, times: int, less: Iterator[int]
) -> float:
    """The microseconds of the processor a character that one of several calls takes; `less` says how many
    units each text is shorter, because the readings of equal texts are cached."""
    texts = [unit * (size // len(unit) - next(less)) for _ in range(times)]
    gc.collect()
    gc.disable()
    started = time.process_time()
    for text in texts:
        work(text)
    spent = time.process_time() - started
    gc.enable()
    return spent / sum(map(len, texts)) * 1e6


def of_unit(work: Callable[[str], object], unit: str, rounds: int) -> tuple[list[float], float]:
    """The microseconds a character of each size, and the ratio of the last to the first."""
    best, less = [float("inf")] * len(SIZES), count(1)
    first = microseconds(work, unit, SIZES[0], 1, less) * SIZES[0]
    for _ in range(rounds):
        for at, size in enumerate(SIZES):
            times = 1 + round(LEAST / max(first, 1.0) * SIZES[0] / size)
            best[at] = min(best[at], microseconds(work, unit, size, times, less))
    return best, best[-1] / best[0]


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--units", nargs="+", default=UNITS)
    args = parser.parse_args()
    print("| answer |", " | ".join(args.only), "|")
    print("|---" * (len(args.only) + 1), "|", sep="")
    worst = 0.0
    for unit in args.units:
        cells = []
        for name in args.only:
            found, ratio = of_unit(PARTS[name], unit, args.rounds)
            worst = max(worst, ratio)
            cells.append(f"{found[-1]:.3f} ({ratio:.2f})")
            if ratio > MOST:
                print(f"{unit!r} {name}: {[round(one, 3) for one in found]}", file=sys.stderr, flush=True)
        print(f"| `{ascii(unit)[1:-1]}` |", " | ".join(cells), "|", flush=True)
    print(f"\nthe largest ratio is {worst:.2f}, at most {MOST}")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
