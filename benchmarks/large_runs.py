"""How long the commands take that read the scores of large runs, and how much memory.

    python benchmarks/large_runs.py --work DIR [--questions 20000] [--characters 0] [--rounds 3]
        [--before TREE] [--only COMMAND ...]

Makes two runs of the same made-up questions in DIR, with one short hit each and answers of at least so many
characters, scores them, and measures `score` of a copy of one, `show` of one, and `compare` and `gate` of
both: processor seconds of all processes, seconds by the clock, and the largest memory of a process. With
`--before`, the checkout TREE of another commit is measured in turns with this one, on the same runs; what it
imports besides may be named by PYTHONPATH. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import time
from itertools import count as count_from
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "runner")]

from bench import table  # noqa: E402 - of the other benchmark
from measuring import machine  # noqa: E402

from fathoms.runs.finding import list_runs  # noqa: E402
from fathoms.runs.run import Run  # noqa: E402
from fathoms.runs.writing import new_run  # noqa: E402
from fathoms.scoring import score_run  # noqa: E402
from fathoms.types import Chunk, Evidence, Hit, Question, Record, Reply  # noqa: E402

MORE = (
    "According to the manual, pump {n} lifts {share} litres a second with the valve open (p. 3).",
    "Line {n} is rated at {share} l/s; the table on page 4 gives {n}.5 for the closed valve [1].",
    "The document does not say how much the pump of line {n} lifts at night.",
    "**{share} %** of it was measured at line {n} on a non-standard test-bench in the north-west.",
)
"""What longer answers go on with."""


class Cost(NamedTuple):
    """What a command took: processor seconds, seconds by the clock, and MB of memory."""

    busy: float
    seconds: float
    memory: float


def main() -> None:
    """Print the table."""
    args = arguments()
    folder = args.work / f"runs-{args.questions}-{args.characters}"
    if len(list_runs(folder)) < 2:
        for right in (7, 8):
            score_run(large_run(folder, args.questions, right, args.characters))
    first, second = (str(run.path) for run in list_runs(folder))
    commands = {
        "score": ["score", str(args.work / "copy" / Path(second).name)],
        "show": ["show", second],
        "compare": ["compare", first, second],
        "gate": ["gate", second, "--baseline", first],
    }
    trees = {"before": args.before, "now": ROOT} if args.before else {"now": ROOT}
    rows = []
    for name, command in ((name, commands[name]) for name in args.only or commands):
        found: dict[str, list[Cost]] = {tree: [] for tree in trees}
        for _ in range(args.rounds):
            for tree, path in trees.items():
                if name == "score":
                    copy_unscored(Path(second), Path(command[1]))
                found[tree].append(cost(path, command))
        rows += [[name, tree, *map(shown, zip(*costs, strict=True))] for tree, costs in found.items()]
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {args.rounds} rounds, median (least to most)\n")
    heads = ("command", "commit", "s of the processor", "s by the clock", "MB")
    print(table(f"Two runs of {args.questions:,} answers", heads, rows))


def copy_unscored(run: Path, copy: Path) -> None:
    """Copy a run without anything that scoring writes, and without what an earlier copy held."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for name in ("manifest.json", "journal.jsonl"):
        shutil.copy(run / name, copy / name)


def large_run(folder: Path, count: int, right: int, characters: int) -> Run:
    """A run on many questions of 4 categories, of which so many in ten have a right answer."""
    ids = [f"q{number:06}" for number in range(count)]
    categories = ["Text", "Tables", "Charts", "Several pages"]
    data = {"name": "made-up", "questions": count, "asked": count, "asked_ids": ids, "categories": categories}
    config = {"retrieve": {"kind": "scripted"}, "generate": {"kind": "scripted"}}
    run = new_run(folder, f"right-{right}", "0" * 10, {"config": config, "data": data, "repeats": 1})
    for start in range(0, count, 1_000):
        numbers = range(start, min(start + 1_000, count))
        run.records.append(record(number, right, characters) for number in numbers)
    return run


def record(number: int, right: int, characters: int) -> Record:
    """The answer to a question, of at least so many characters."""
    document, category = f"d{number // 10:05}.pdf", ("Text", "Tables", "Charts", "Several pages")[number % 4]
    evidence = Evidence(document=document, page=number % 10 + 1)
    question = Question(
        id=f"q{number:06}",
        text=f"How tall is tower {number}?",
        category=category,
        answers=((f"{number} m",),),
        evidence=(evidence,),
    )
    is_right = (7 * number + number // 10) % 10 < right
    text = f"Tower {number}: {number} m."
    chunk = Chunk(id=f"c{number}", document=document, pages=(evidence.page,), text=text)
    said = f"It is {number} m tall." if is_right else f"It is 3 feet tall, seen from tower {number}."
    for part in count_from(number):
        if len(said) >= characters:
            break
        said += f" {MORE[part % len(MORE)].format(n=part, share=part % 97)}"
    answer = Reply(text=said, latency=0.5)
    return Record(question=question, hits=(Hit(chunk=chunk, rank=1, score=1.0),), answer=answer)


def cost(tree: Path, command: list[str]) -> Cost:
    """Run a command of a checkout."""
    start = time.perf_counter()
    path = [str(tree), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    null = os.open(os.devnull, os.O_WRONLY)
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "fathoms", *command],  # not the checkout in the current folder
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)],
    )
    os.close(null)
    _, status, used = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: the gate fails
        sys.exit(f"fathoms {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - start, megabytes(used))


def megabytes(used: resource.struct_rusage) -> float:
    """The largest memory of a process and its children; Linux counts it in kB."""
    return used.ru_maxrss / 1000


def shown(values: tuple[float, ...]) -> str:
    """A median with its range."""
    middle, least, most = statistics.median(values), min(values), max(values)
    digits = 0 if middle >= 100 else 2
    return f"{middle:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--characters", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", nargs="+", choices=("score", "show", "compare", "gate"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
