"""Compares the speed and memory of `fathoms run` with a bare client and three other tools; prints Markdown.

    python benchmarks/runner --work DIR                    all sections, medians of 5 rounds
    python benchmarks/runner --work DIR --quick            50 questions, one round, without the other tools
    python benchmarks/runner --work DIR --only asking      one section; several may be named
    python benchmarks/runner --work DIR --goals            only what the goals need, without the other tools

All tools ask the same server (`server.py`), which answers each request after 50 ms. In every round each tool
runs once, so that other load on the machine affects all of them. DIR keeps the other tools for the next time.
The last table compares the figures with the goals; where one is missed, the exit code is 1 (but not after
`--quick`, whose figures are none).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import Bench, Size, Target, table
from contestants import PACKAGES, installed
from measuring import machine, serving
from sections import SECTIONS

from fathoms.text.amounts import percent

FULL = Size(questions=1_000, few=100, many=10_000, large=100_000, records=100_000, runs=1_000, rounds=5)
QUICK = Size(questions=50, few=20, many=100, large=200, records=1_000, runs=20, rounds=1)


def main() -> int:
    """Measure and print; returns the exit code."""
    args = arguments()
    size = QUICK if args.quick else FULL
    size = replace(size, rounds=args.rounds or size.rounds)
    work, without = args.work.resolve(), set(PACKAGES) if args.quick else set(args.without)
    if args.goals:
        without = set(PACKAGES)
    others = {name: installed(work, name) for name in PACKAGES if name not in without}
    # `bare` is the part of `asking` that decides the goals
    sections = args.only or [name for name in SECTIONS if name != ("asking" if args.goals else "bare")]
    say(machine())
    say(f"Medians of {size.rounds} (least-most); the server answers after {args.latency * 1000:g} ms.")
    targets: list[Target] = []
    with serving() as server:
        bench = Bench(server, work, size, args.latency, others)
        bench.ask(bench.fathoms, 1, 1)  # parses the PDF and compiles the modules
        for name in sections:
            section = SECTIONS[name](bench)
            say(section.text)
            targets += section.targets
    say(against(targets))
    return int(not args.quick and any(target.found > target.limit for target in targets))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder for projects and the other tools")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (5)")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before an answer (0.05)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="sections (all)")
    parser.add_argument("--without", nargs="+", choices=PACKAGES, default=(), help="tools that are left out")
    parser.add_argument("--goals", action="store_true", help="only what the goals need")
    parser.add_argument("--quick", action="store_true", help="a small run that shows that all works")
    return parser.parse_args()


def against(targets: Sequence[Target]) -> str:
    """Each target with what was found."""
    rows = []
    for target in targets:
        over = target.found / target.limit - 1
        verdict = "met" if over <= 0 else f"missed by {percent(over)}"
        limit, found = f"{target.limit:.3g} {target.unit}", f"{target.found:.3g} {target.unit}"
        rows.append([target.what, limit, found, verdict])
    return table("Targets", ["", "at most", "found", ""], rows)


def say(text: str) -> None:
    """Print a paragraph at once: a run takes long."""
    print(f"{text}\n" if not text.endswith("\n") else text, file=sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
