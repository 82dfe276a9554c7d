"""Replays races between systems whose scores on all questions are known, on random subsets of both.

MATRIX.csv has a question in each row and a system in each column, after a first column of ids; a column
`category` is read as such. Scores are from 0 to 1. Printed are the calls of the races as a share of asking
everything, the share of races in which a system was chosen that is not the best of the subset (or more than
--within worse), and the calls of tests that know the best, the differences and their variances beforehand.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from fathoms.text.amounts import percent
from fathoms.tune.order import Array
from fathoms.tune.replay import figures, least_calls, replay

TOLERANCE = 1e-9


def read(path: Path) -> tuple[Array, list[str]]:
    """The scores, systems by questions, and the category of each question."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    systems = [name for name in list(rows[0])[1:] if name != "category"]
    scores = np.array([[float(row[name]) for row in rows] for name in systems])
    return scores, [row.get("category", "all") for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("matrix", type=Path)
    parser.add_argument("--questions", type=int, help="questions in each race (default: all)")
    parser.add_argument("--candidates", type=int, help="systems in each race (default: all)")
    parser.add_argument("--draws", type=int, default=20, help="races (default: 20)")
    parser.add_argument("--within", type=float, default=0.0)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    scores, categories = read(arguments.matrix)
    rng = np.random.default_rng(arguments.seed)
    calls, least, errors = [], [], 0
    for _ in range(arguments.draws):
        systems = rng.permutation(len(scores))[: arguments.candidates]
        chosen = rng.permutation(scores.shape[1])[: arguments.questions]
        part, names = scores[np.ix_(systems, chosen)], [categories[one] for one in chosen]
        found = replay(part, names, rng, alpha=arguments.alpha, within=arguments.within)
        overall = figures(part, names)
        errors += bool(overall[found.chosen] < overall.max() - arguments.within - TOLERANCE)
        calls.append(found.calls)
        least.append(least_calls(part, names, arguments.alpha))
    result = {
        "calls": round(float(np.mean(calls)), 4),
        "errors": round(errors / arguments.draws, 4),
        "bound": round(float(np.mean(least)), 4),
        "ratio": round(float(np.mean(calls) / np.mean(least)), 2) if np.mean(least) else None,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print(
            f"calls {percent(result['calls'], 1)} of all, {result['ratio']} x the bound;"
            f" errors {percent(result['errors'], 1)}"
        )


if __name__ == "__main__":
    main()
