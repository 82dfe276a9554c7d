"""Measures how long scoring takes for records in memory: phrase recall alone, and the whole of `score`.

    python benchmarks/runner/scores.py --records 100000 --questions 1000        prints JSON

All answers are different. With fewer questions than records, each question has several answers, as in a
hundred runs on one data set.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence

from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import Scoring, score
from fathoms.types import Question, Record, Reply

SENTENCES = (
    "According to the manual, pump {n} lifts {flow:.1f} litres a second with the valve open.",
    "Line {n} is rated at {flow:.1f} l/s; the table on page 3 gives {n}.5 for the closed valve.",
    "The document does not say how much the pump of line {n} lifts.",
    "**{flow:.1f}** litres a second, measured at line {n} on a non-standard test-bench in the north-west.",
)


def records(count: int, questions: int) -> list[Record]:
    """Answers that are right, half right, wrong or none, to each question in turn."""
    asked = [question(number) for number in range(min(questions, count))]
    return [Record(question=asked[n % len(asked)], answer=answer(n)) for n in range(count)]


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


def recall(rows: Sequence[Record]) -> None:
    """Phrase recall under every profile, as `score` asks for it."""
    for row in rows:
        assert row.answer is not None
        for profile in PROFILES:
            phrase_recall(row.answer.text, row.question.answers, profile.match, profile.hyphens_for(row))


def seconds(work: Callable[[], object]) -> float:
    """By the clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=1_000)
    args = parser.parse_args()
    loaded = records(args.records, args.questions)
    found = {"recall": seconds(lambda: recall(loaded)), "score": seconds(lambda: score(loaded, Scoring()))}
    print(json.dumps(found))
