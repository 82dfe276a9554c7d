"""Counts the calls and the tokens that judging answers of the sample takes, by how judgements share calls.

    PYTHONPATH=. python benchmarks/judges/calls.py [--questions 5] [--metrics ragchecker faithfulness ...]

A server that honours the schema it is sent answers for the model: it makes a claim of each half of a sentence
that "and" joins, and says yes. A token is taken as four characters of prompts and replies, which is what
OpenAI's rule of thumb says, so the columns compare with one another and not with a bill. `again` counts the
tokens at the beginning of a prompt that it shares with an earlier one, which providers may cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.support.strict_server import CHAT, MODEL, strict_server

WAYS: dict[str, dict[str, Any]] = {
    "one claim a call": {"claims_a_call": 1},
    "8 claims on one text": {"claims_a_call": 8},
    "by default": {},
}
METRICS = ("ragchecker", "faithfulness", "correctness-judged")
SAMPLE = Path(__file__).parents[2] / "data" / "sample"


def main() -> None:
    """Judge the same answers in each way, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--long", action="store_true", help="each answer says that of the next question, too")
    args = parser.parse_args()
    rows = [one for rows in json.loads((SAMPLE / "questions.json").read_text()).values() for one in rows]
    said = [one.get("reference") or "It is not known." for one in rows]
    answers = {
        one["question"]: f"{own} {other}" if args.long else f"By the documents: {own}"
        for one, own, other in zip(rows, said, [*said[1:], said[0]], strict=True)
    }
    for name, options in WAYS.items():
        with tempfile.TemporaryDirectory() as folder, strict_server(says) as server:
            model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
            config = {
                "name": "calls",
                "data": "sample",
                "chunk": {"kind": "sentence", "size": 120, "overlap": 0},
                "retrieve": {"kind": "bm25", "top_k": 3},
                "generate": {"kind": "scripted", "replies": answers},
                "metrics": ["fathoms", *args.metrics],
                "judge": {"kind": "llm", "model": {**model, "max_tokens": 800}, **options},
            }
            (Path(folder) / "calls.yaml").write_text(yaml.safe_dump(config))
            command = [sys.executable, "-m", "fathoms", "run", "calls.yaml", "--limit", str(args.questions)]
            done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
            prompts = [one["messages"][-1]["content"] for one in server.bodies(CHAT)]
            print(f"{name}: {len(prompts)} calls, {_tokens(prompts)} tokens of prompts", end="")
            print(f" ({sum(_again(prompts)) // 4} again), {_replies(folder)} of replies")


def says(prompt: str) -> str:
    """What the model says: claims where it is shown sentences, 10 where it grades, and else yes."""
    _, splits, listed = prompt.partition("\nSentences:\n")
    if not splits:
        return "10" if "from 0 to 10" in prompt else "yes"
    lines = [line.partition(". ") for line in listed.splitlines() if line[:1].isdigit()]
    return json.dumps({number: sentence.rstrip(".").split(" and ") for number, _, sentence in lines})


def _tokens(texts: list[str]) -> int:
    return sum(map(len, texts)) // 4


def _again(prompts: list[str]) -> list[int]:
    """The characters at the beginning of each prompt that it shares with an earlier one."""
    return [max((_shared(one, other) for other in prompts[:at]), default=0) for at, one in enumerate(prompts)]


def _shared(one: str, other: str) -> int:
    """The characters at the beginning of two texts that are the same."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _replies(folder: str) -> int:
    """The tokens of all replies, as the journal of the run has them."""
    (journal,) = Path(folder).rglob("judge.jsonl")
    found = [json.loads(line)["result"] for line in journal.read_text().splitlines()]
    return sum(
        (one.get("usage") or {}).get("completion_tokens") or 0 for one in found if isinstance(one, dict)
    )


if __name__ == "__main__":
    main()
