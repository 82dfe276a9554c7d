"""Times whole functions on hostile text of 64k and 1M characters, and how the time for a character grows.

    OMP_NUM_THREADS=1 python benchmarks/hostile_text.py

Prints a table of CPU seconds. A function is linear as a whole if a character takes about as long in the long
text as in the short one; the exit code is 1 if any takes more than 1.6 times as long.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fathoms.cli import main as cli
from fathoms.corpora import read_questions
from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.hits import read_hits
from fathoms.extras.exchange.reading.ragas import read_ragas
from fathoms.extras.exchange.reading.traces.reading import read_traces
from fathoms.importers import Imported, keep, read_answers
from fathoms.judges.claims import sentence_claims
from fathoms.metrics.quotes.selection import selected
from fathoms.metrics.score_records import Scoring, score
from fathoms.scoring import score_run
from fathoms.types import Chunk, Hit, Question, Quote, Record, Reply
from tests.extras.exchange.test_reading_traces import chat, otlp, span

SIZES = (64_000, 1_000_000)
UNITS = ("a", "ha ", "[1] ", "a. ", "one hundred ", "\n| ", "<b>", '"(')
QUESTION = Question(
    id="q",
    text="What?",
    category="A",
    answers=(("41",),),
    quotes=(Quote(id="t1", modality="text", text="x"),),
)
HITS = (Hit(chunk=Chunk(id="c", document="a.pdf", pages=(1,), text="x"), score=1.0, rank=1),)


def record(text: str) -> Record:
    """An answer of this text."""
    return Record(question=QUESTION, hits=HITS, answer=Reply(text=text))


def importing(read: Callable[[Path], object], **row: Any) -> Callable[[str, Path], object]:
    """Write one row of a file, in which "HUGE" stands for the text, and read it."""

    def time_it(text: str, folder: Path) -> object:
        path = folder / "rows.jsonl"
        path.write_text(json.dumps(row).replace("HUGE", json.dumps(text)[1:-1]) + "\n")
        return read(path)

    return time_it


def command(*arguments: str) -> Callable[[str, Path], object]:
    """Import the answer, score the run, and run a command on it, such as `report` with all its files."""

    def time_it(text: str, folder: Path) -> object:
        run = keep(Imported("huge", None, (record(text),), (QUESTION,)), "data", folder / "runs")
        score_run(run)
        with contextlib.redirect_stdout(io.StringIO()):
            code = cli([arguments[0], run.id, "--out", str(folder / "runs"), *arguments[1:]])
        if code:
            raise SystemExit(f"{arguments[0]} ended with {code}")
        return code

    return time_it


def spans(name: str, **attributes: Any) -> Callable[[str, Path], object]:
    """A trace with a span for 64 characters, all below one."""

    def time_it(text: str, folder: Path) -> object:
        top = chat("a", "f", 0, "", [("user", "What?")], answer="It is 41.") | {"spanId": "top"}
        result = [
            span("a", "", number, **attributes)
            | {"spanId": f"{number:x}", "parentSpanId": "top", "name": name}
            for number in range(len(text) // 64)
        ]
        path = folder / "t.json"
        path.write_text(json.dumps(otlp(top, *result)))
        return read_traces(path, Options())

    return time_it


CASES: dict[str, Callable[[str, Path], object]] = {
    "import answers": importing(
        lambda path: read_answers(path, [QUESTION]),
        **{"id": "q", "answer": "HUGE", "contexts": [{"text": "HUGE"}], "citations": ["HUGE.pdf"]},
    ),
    "import hits": importing(
        lambda path: read_hits(path, [QUESTION]),
        id="q",
        hits=[{"document": "HUGE.pdf", "page": 1, "text": "HUGE"}],
    ),
    "import ragas": importing(
        lambda path: read_ragas(path, Options()),
        **{"user_input": "HUGE", "response": "HUGE", "retrieved_contexts": ["HUGE"], "reference": "HUGE"},
    ),
    "import otel, fan-out": spans("step"),
    "import otel, retrievals": spans(
        "search", openinference__span__kind="RETRIEVER", retrieval__documents__0__document__content="x"
    ),
    "question files": importing(
        lambda path: read_questions(path), id="q", question="HUGE", answers="HUGE", reference="HUGE"
    ),
    "scoring": lambda text, folder: score([record(text)], Scoring()),
    "claims by sentences": lambda text, folder: sentence_claims(text),
    "quotes of MMDocRAG": lambda text, folder: selected(record(text)),
    "score and report": command("report"),
    "score and show": command("show"),
}


def seconds(case: Callable[[str, Path], object], unit: str, size: int) -> float:
    """The CPU seconds of a function on a text of a size."""
    text = (unit * (size // len(unit) + 1))[:size]
    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        started = time.process_time()
        case(text, Path(folder))
        return time.process_time() - started


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", help="the cases whose name has this text")
    given = parser.parse_args()
    print(f"{'function':<26}{'text':<16}" + "".join(f"{size:>12,}" for size in SIZES) + f"{'growth':>9}")
    bad = 0
    for name, case in CASES.items():
        if given.only and given.only not in name:
            continue
        case_worst: tuple[float, str, list[float]] = (0.0, "", [])
        seconds(case, "a", 100)  # imports
        for unit in UNITS if "otel" not in name else ("a",):
            try:
                took = [seconds(case, unit, size) for size in SIZES]
            except Exception as error:
                print(f"{name:<26}{unit!r:<16} {type(error).__name__}: {str(error)[:80]}")
                continue
            growth = took[1] / max(took[0], 0.01) * SIZES[0] / SIZES[1]
            case_worst = max(case_worst, (growth, unit, took))
        growth, unit, took = case_worst
        bad += growth > 1.6
        print(
            f"{name:<26}{unit!r:<16}" + "".join(f"{one:>12.3f}" for one in took) + f"{growth:>9.2f}",
            flush=True,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
