"""Measures how long the answers that MMDocRAG released take to be scored, without a judge.

    python benchmarks/quotes.py ../shared/data/mmdocrag [--rounds 3] [--work DIR]

The answers of GPT-4.1 are imported twice: with the released gold quotes alone, and with rows as the data set
has them, with 20 candidate quotes each and the answer of Qwen2.5-72B as the reference, so that BLEU and
ROUGE-L are computed, too. It prints the seconds of the whole command `fathoms score` by the clock and of the
processor, medians, and ends with 1 if either takes 5 s by the clock or more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

GOAL = 5.0
ANSWERS = "responses/gpt-4.1_pure-text_quotes20_response.jsonl"
REFERENCES = "responses/qwen2.5-72b_pure-text_quotes20_response.jsonl"
GOLD = "gold_quotes_eval.jsonl"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return map(json.loads, path.read_text().splitlines())


def full_row(gold: dict[str, Any], reference: str) -> dict[str, Any]:
    """A row as in the data set; its quotes are made up."""
    number, text = gold["q_id"], "What the page says about the question. " * 8
    pages = {"page_id": number % 50, "layout_id": 1}
    return {
        "q_id": number,
        "doc_name": f"report_{number % 200}",
        "domain": "Research report",
        "question": f"What does page {number} say?",
        "question_type": "Descriptive",
        "evidence_modality_type": ["Chart"],
        "text_quotes": [
            {"quote_id": f"text{n}", "type": "text", "text": text, **pages} for n in range(1, 13)
        ],
        "img_quotes": [
            {
                "quote_id": f"image{n}",
                "type": "image",
                "img_path": f"images/{number}_{n}.jpg",
                "img_description": "A chart of what the page says. " * 4,
                **pages,
            }
            for n in range(1, 9)
        ],
        "gold_quotes": gold["gold_quotes"],
        "answer_short": gold["answer_short_joined"],
        "answer_interleaved": reference,
    }


def fathoms(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run a command; returns its seconds by the clock and of the processor, with all of its processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "fathoms", *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(released: Path, work: Path) -> dict[str, Path]:
    """Import the answers with both kinds of gold; returns the folders by name."""
    references = {row["q_id"]: row["response"] for row in rows(released / REFERENCES)}
    full = [full_row(gold, references[gold["q_id"]]) for gold in rows(released / GOLD)]
    folders = {"gold quotes alone": work / "bare", "rows with references": work / "full"}
    texts = [(released / GOLD).read_text(), "".join(f"{json.dumps(row)}\n" for row in full)]
    for folder, text in zip(folders.values(), texts, strict=True):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "evaluation_20.jsonl").write_text(text)
        if not (folder / "runs").exists():
            answers = str((released / ANSWERS).resolve())
            fathoms(folder, "import", "mmdocrag", answers, "--gold", "evaluation_20.jsonl")
    return folders


def main() -> int:
    """Print the table; returns 1 if the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("released", type=Path, help="the folder with responses/ and the gold quotes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a folder in which the runs are kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = prepare(args.released, args.work or Path(temporary))
        print(f"load before: {os.getloadavg()[0]:.1f}; medians of {args.rounds} rounds")
        rounds = [
            {name: fathoms(folder, "score", "latest") for name, folder in folders.items()}
            for _ in range(args.rounds)
        ]
    missed = False
    for name in folders:
        wall, cpu = (median(found[name][at] for found in rounds) for at in (0, 1))
        missed |= wall >= GOAL
        print(f"{name}: {wall:.1f} s by the clock, {cpu:.1f} s of the processor")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
