"""The goals of the runner with what was measured, for a table of all benchmarks.

python benchmarks/runner/goals.py DIR [ROUNDS]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from bench import Bench, Size
from measuring import machine, serving
from sections import against_bare, one


class Goal(NamedTuple):
    """A figure, which is the median of some rounds, and the most that it should be."""

    name: str
    figure: float
    goal: float
    met: bool


def goals(work: Path, rounds: int = 5) -> list[Goal]:
    """Measure fathoms and the bare client in turns; `work` keeps the project and the cache."""
    size = Size(questions=1_000, few=100, many=10_000, records=100_000, rounds=rounds)
    with serving() as server:
        bench = Bench(server, work, size, 0.05, {})
        bench.ask(bench.fathoms, 1, 1)  # parses the PDF and compiles the modules
        targets = [*against_bare(bench).targets, *one(bench).targets]
    return [Goal(f"{t.what} ({t.unit})", t.found, t.limit, t.found <= t.limit) for t in targets]


if __name__ == "__main__":
    print(machine())
    for goal in goals(Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:])):
        print(f"{goal.name}: {goal.figure:.2f}, goal {goal.goal:g}, {'met' if goal.met else 'missed'}")
