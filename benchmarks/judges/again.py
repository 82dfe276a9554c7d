"""Measures how long a run of many claims takes to be scored again from its verdicts.

    python benchmarks/judges/again.py [--answers 5000] [--claims 20] [--passages 3]

It writes a file as RAGChecker's outputs are, in which every answer has as many claims and every claim has a
verdict against the gold answer and each passage, imports it with all verdicts, and scores the run again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOLD = 5
"""The claims of a gold answer."""
LABELS = ("Entailment", "Neutral", "Contradiction")


def result(number: int, claims: int, passages: int) -> dict[str, Any]:
    """One answer with its verdicts, unlike every other."""
    flows = range(number % 7, number % 7 + claims)
    own = [f"Pump {number} lifts {flow} litres a second with valve {flow} open." for flow in flows]
    gold = [f"With valve {valve} open, pump {number} lifts {valve} litres a second." for valve in range(GOLD)]

    def labels(count: int, salt: int) -> list[str]:
        return [LABELS[(number * 7 + at * 5 + salt) % 3] for at in range(count)]

    texts = [f"Sheet {number % 997}.{part} says what pump {number} lifts. " * 12 for part in range(passages)]
    return {
        "query_id": f"q-{number:05d}",
        "query": f"What does pump {number} lift?",
        "gt_answer": " ".join(gold),
        "response": " ".join(own),
        "retrieved_context": [{"doc_id": f"sheet-{number % 997}", "text": text} for text in texts],
        "response_claims": own,
        "gt_answer_claims": gold,
        "answer2response": labels(claims, 0),
        "response2answer": labels(GOLD, 1),
        "retrieved2response": [labels(passages, claim) for claim in range(claims)],
        "retrieved2answer": [labels(passages, claim + 2) for claim in range(GOLD)],
    }


def main() -> None:
    """Import and score the run, and print the seconds by the clock and those of the CPU."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=5_000)
    parser.add_argument("--claims", type=int, default=20)
    parser.add_argument("--passages", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a folder in which the run is kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "runs").exists():
            results = [result(number, args.claims, args.passages) for number in range(args.answers)]
            (work / "outputs.json").write_text(json.dumps({"results": results}))
            fathoms(work, "import", "ragchecker", "outputs.json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        fathoms(work, "score", "latest")
        seconds = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        verdicts = args.answers * (args.claims + GOLD) * (args.passages + 1)
        require_all(work, verdicts + args.answers)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    claims = args.answers * args.claims
    print(f"{claims:,} claims, {verdicts:,} verdicts: {seconds:.1f} s, {cpu:.1f} s of CPU")


def require_all(work: Path, expected: int) -> None:
    """End the benchmark where the run was not scored from all of its verdicts and lists of claims: one that
    misses some is scored faster."""
    (summary,) = work.glob("runs/*/summary.json")
    judging = json.loads(summary.read_text())["judging"]
    if (judging["found"], judging["failed"], judging["asked"]) != (expected, 0, 0):
        raise SystemExit(
            f"{expected:,} verdicts and lists of claims were expected, and the run has {judging}"
        )


def fathoms(work: Path, *arguments: str) -> None:
    """Run a command of fathoms in a folder."""
    command = [sys.executable, "-m", "fathoms", *arguments]
    subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
