"""Runs three kinds of pipelines against a local server that produces random faults.

Each trial is one `fathoms run` of three pipelines (openai-compatible, ollama, http) with a few questions. A
trial fails if the command ends with a signal, a traceback or a message about a defect, exceeds its limits on
time or memory, or records neither an answer nor a failure for a question. Prints a table of outcomes; the
exit code is 1 if there is any fault. The same seed gives the same faults.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.faulty import config, faulty_project, views  # noqa: E402
from tests.support.raw_service import answer, chunked, service  # noqa: E402

QUESTIONS = 4
SECONDS = 120
MEMORY = 4 * 2**30
PROVIDERS = ("openai-compatible", "ollama", "http")
JSON = "Content-Type: application/json"
GOOD = {
    "model": "scripted",
    "choices": [{"message": {"content": "It is v1v."}, "finish_reason": "stop"}],
    "message": {"content": "It is v1v."},
    "done": True,
    "done_reason": "stop",
}
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    "",
    "x" * 5000,
    [],
    {},
    [[]],
    {"a": {"b": 1}},
    "\ud800",
)


def mutated(chance: random.Random) -> bytes:
    """A good answer with one value replaced, or a part of its bytes."""
    value = json.loads(json.dumps(GOOD))
    places: list[tuple[Any, Any]] = []

    def walk(inner: Any) -> None:
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            places.append((inner, key))
            if isinstance(inner[key], dict | list):
                walk(inner[key])

    walk(value)
    inner, key = chance.choice(places)
    inner[key] = chance.choice(VALUES)
    data = bytearray(json.dumps(value).encode())
    if chance.random() < 0.4:
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(8)] = chance.randbytes(chance.randrange(8))
    return bytes(data)


def faults(chance: random.Random) -> dict[str, Callable[[], bytes]]:
    """What one answer may be, by name."""
    import gzip

    return {
        "good": lambda: answer(json.dumps(GOOD), "200 OK", JSON),
        "mutated": lambda: answer(mutated(chance), "200 OK", JSON),
        "mutated-event": lambda: chunked(f"data: {mutated(chance).decode('utf-8', 'replace')}\n\n"),
        "random": lambda: chance.randbytes(chance.randrange(400)),
        "status": lambda: answer(
            chance.randbytes(50), f"{chance.choice([100, 204, 301, 307, 400, 429, 500, 999])} Odd"
        ),
        "error-in-answer": lambda: answer(
            {**GOOD, "error": {"message": "burnt", "code": 502}}, "200 OK", JSON
        ),
        "gzip-bomb": lambda: answer(gzip.compress(bytes(2**26)), "200 OK", JSON, "Content-Encoding: gzip"),
        "gzip-twice": lambda: answer(
            gzip.compress(gzip.compress(bytes(2**26))), "200 OK", JSON, "Content-Encoding: gzip, gzip"
        ),
        "deep": lambda: answer(b"[" * 200_000, "200 OK", JSON),
        "cut": lambda: answer(json.dumps(GOOD), "200 OK", JSON)[: chance.randrange(1, 200)],
        "headers": lambda: b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"b" * 300_000,
        "redirect": lambda: answer(b"", "302 Found", "Location: /v1/chat/completions"),
        "silence": lambda: b"",
    }


def trial(seed: int, made: Counter[str]) -> list[str]:
    """One run of the three pipelines; what went wrong."""
    chance = random.Random(seed)
    known = faults(chance)

    def act(connection: socket, sent: Any) -> None:
        if "messages" not in (sent or {}):  # asked beforehand
            listed = {"data": [{"id": "scripted"}], "capabilities": ["completion"]}
            connection.sendall(answer(listed))
            return
        name = chance.choice(sorted(known))
        made[name] += 1
        connection.sendall(known[name]())
        if name == "silence":
            time.sleep(1.5)

    with tempfile.TemporaryDirectory() as folder, service(act) as server:
        project = faulty_project(Path(folder) / "p", [f"What {n}?" for n in range(QUESTIONS)])
        for name in PROVIDERS:
            text = config(name, server.address, silence=1, question_timeout=10, max_attempts=1)
            project.write(f"{name}.yaml", text)
        command = [sys.executable, "-m", "fathoms", "-q", "run", *(f"{name}.yaml" for name in PROVIDERS)]
        try:
            done = subprocess.run(
                command,
                cwd=project.path,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
            )
        except subprocess.TimeoutExpired:
            return ["hang"]
        return _wrong(done, [record for run in project.runs() for record in views(run).values()], made)


def _wrong(done: subprocess.CompletedProcess[str], records: list[Any], made: Counter[str]) -> list[str]:
    """The faults of one trial by kind; outcomes of its questions are counted."""
    found = []
    if done.returncode not in (0, 1):
        found.append(f"exit-{done.returncode}")
    if "Traceback" in done.stderr or "defect" in done.stderr:
        found.append("traceback")
        print(done.stderr[-2000:], file=sys.stderr)
    if len(records) != QUESTIONS * len(PROVIDERS):
        found.append("lost-question")
    failed = [record["error"]["kind"] for record in records if record["error"]]
    made["-> answers"] += len(records) - len(failed)
    for kind in failed:
        made[f"-> {kind}"] += 1
    if done.returncode == 0 and failed:
        found.append("exit-0-with-failures")
    known = {"ModelError", "NoAnswerError", "RateLimitError", "PromptTooLongError", "Timeout"}
    found += [f"unforeseen-{kind}" for kind in set(failed) - known]
    return found


def main() -> int:
    """Run the trials and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_args()
    made: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    ok = 0
    for number in range(given.trials):
        seed = given.seed * 1_000_003 + number
        if wrong := trial(seed, made):
            kinds.update(wrong)
            print(f"trial {number} (seed {seed}): {', '.join(wrong)}", file=sys.stderr)
        else:
            ok += 1
    print(f"trials {given.trials}\nok     {ok}")
    for kind, count in sorted(kinds.items()):
        print(f"fault  {kind:30} {count}")
    for name, count in sorted(made.items()):
        print(f"       {name:30} {count}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
