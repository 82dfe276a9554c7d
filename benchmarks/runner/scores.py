"""Measures how long scoring takes for records in memory: phrase recall alone, and the whole of `score`.

    python benchmarks/runner/scores.py --records 100000 --questions 1000        prints JSON

All answers are different. With fewer questions than records, each question has several answers, as in a
hundred runs on one data set.

    python benchmarks/runner/scores.py --against DIR [--released ../shared/data] [--rounds 3]

With `--against`, the same records are scored side by side by this version and by that of another checkout, in
turns and in processes of their own, whose first one changes with every round. It prints the seconds of the
processor, of the whole of `score` and of the profile `fathoms` alone, and ends with 1 if this version takes
more than 10 % longer for all rounds together. With `--released`, the answers are those that MMDocRAG and
others released, each once as it is and then with a number in it; their questions ask for words of theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import Scoring, score
from fathoms.types import Question, Record, Reply

MOST = 1.1
SENTENCES = (
    "According to the manual, pump {n} lifts {flow:.1f} litres a second with the valve open.",
    "Line {n} is rated at {flow:.1f} l/s; the table on page 3 gives {n}.5 for the closed valve.",
    "The document does not say how much the pump of line {n} lifts.",
    "**{flow:.1f}** litres a second, measured at line {n} on a non-standard test-bench in the north-west.",
)
RELEASED = {
    "mmdocrag/responses/*.jsonl": "response",
    "abstention/*.jsonl": "answer",
    "cases/abstention.jsonl": "answer",
}


def records(count: int, questions: int) -> list[Record]:
    """Answers that are right, half right, wrong or none, to each question in turn."""
    some_questions = [question(number) for number in range(min(questions, count))]
    return [Record(question=some_questions[n % len(some_questions)], answer=answer(n)) for n in range(count)]


def question(number: int) -> Question:
    """Two variants, of two phrases and of one."""
    variants = ((f"{flow(number):.1f}", f"line {number}"), (f"{flow(number):.1f} litres",))
    text = f"How many litres a second does the pump of line {number} lift?"
    return Question(id=f"q-{number}", text=text, category="Text-Only", answers=variants)


def answer(number: int) -> Reply:
    """A sentence of its own."""
    return Reply(text=SENTENCES[number % len(SENTENCES)].format(n=number, flow=flow(number)))


def flow(number: int) -> float:
    """What a pump lifts."""
    return 10 + number / 10


def released(data: Path, count: int) -> list[Record]:
    """Answers that were released, and questions that ask for two words of one answer and for one of the next,
    of which every third has a number."""
    texts = list(dict.fromkeys(_texts(data)))[:count]
    words = [text.split() or ["-"] for text in texts]
    numbers = [[word for word in of if word.strip("*.,%").isdecimal()] or of for of in words]
    wanted = []
    for number, own in enumerate(words):
        more = numbers if number % 3 == 0 else words
        variants = ((own[len(own) // 3], more[number][-1]), (words[number - 1][0],))
        gold = tuple(tuple(word.strip("*.,:;()[]\"'") or "-" for word in variant) for variant in variants)
        wanted.append(Question(id=f"q-{number}", text="What?", category="Text-Only", answers=gold))
    found = []
    for number in range(count):
        text = texts[number % len(texts)]
        if number >= len(texts):
            first, space, rest = text.partition(" ")
            text = f"{first} {number}{space}{rest}"
        found.append(Record(question=wanted[number % len(texts)], answer=Reply(text=text)))
    return found


def _texts(data: Path) -> Iterator[str]:
    """The released answers in a folder."""
    for pattern, field in RELEASED.items():
        for path in sorted(data.glob(pattern)):
            yield from (json.loads(line)[field] for line in path.read_text().splitlines())


def recall(rows: Sequence[Record]) -> None:
    """Phrase recall under every profile, as `score` asks for it."""
    for row in rows:
        assert row.answer is not None
        for profile in PROFILES:
            phrase_recall(row.answer.text, row.question.answers, profile.match, profile.hyphens_for(row))


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """By the clock, or by another one."""
    started = clock()
    work()
    return clock() - started


def processor() -> float:
    """The seconds of the processor that this process and its children took."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def one_turn(rows: Sequence[Record]) -> dict[str, float]:
    """The seconds of the processor for `score`, and for the profile `fathoms` alone."""
    alone = tuple(profile for profile in PROFILES if profile.name == "fathoms")
    score(rows[:100], Scoring())  # imports, and reads the weights
    return {
        "score": seconds(lambda: score(rows, Scoring()), processor),
        "fathoms": seconds(lambda: score(rows, Scoring(), profiles=alone), processor),
    }


def against(other: Path, arguments: Sequence[str], rounds: int) -> float:
    """Compare this version with another and print what each turn took; returns the ratio of `score`."""
    checkouts = {"this": Path(__file__).parents[2], "other": other}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for number in range(rounds):
        for name in sorted(checkouts, reverse=number % 2 == 0):
            command = [sys.executable, __file__, "--turn", *arguments]
            environment = {**os.environ, "PYTHONPATH": str(checkouts[name].resolve())}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
            found[name].append(json.loads(done.stdout))
            print(number + 1, name, found[name][-1], flush=True)
    for part in ("score", "fathoms"):
        pairs = [a[part] / b[part] for a, b in zip(found["this"], found["other"], strict=True)]
        print(f"{part}: {median(pairs):.3f} times the other version ({min(pairs):.3f}-{max(pairs):.3f})")
    return _total(found["this"]) / _total(found["other"])


def _total(turns: Sequence[dict[str, Any]]) -> float:
    """The seconds of several turns for `score`."""
    return float(sum(turn["score"] for turn in turns))


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--released", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.against is not None:
        sizes = ["--records", str(args.records), "--questions", str(args.questions)]
        if args.released is not None:
            sizes += ["--released", str(args.released.resolve())]
        ratio = against(args.against, sizes, args.rounds)
        print(f"all rounds of score: {ratio:.3f}, at most {MOST}")
        return int(ratio > MOST)
    loaded = (
        records(args.records, args.questions)
        if args.released is None
        else released(args.released, args.records)
    )
    if args.turn:
        found = one_turn(loaded)
    else:
        found = {
            "recall": seconds(lambda: recall(loaded)),
            "score": seconds(lambda: score(loaded, Scoring())),
        }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
