"""Scores a run of the sample corpus with an embedded judge, kills it at five points, and compares.

    python benchmarks/judges/killed.py [--questions 50] [--points 5]

A run is answered once. One copy of it is scored undisturbed. The scoring of another copy is killed with
`kill -9` whenever a further share of the verdicts is stored, and then completed. Both must have the same
figures. The judge is the embedded model `qwen2.5-coder-1.5b`; no server and no key are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CONFIG = """\
name: judged
data: sample
chunk: {kind: sentence, size: 120, overlap: 0}
retrieve: {kind: bm25, top_k: 2}
generate: {kind: embedded, model: smollm2-135m, n_ctx: 1024, max_tokens: 48}
metrics: [fathoms, exact-match, rouge-l, faithfulness]
judge:
  kind: llm
  claims: sentences
  model: {kind: embedded, model: qwen2.5-coder-1.5b, n_ctx: 1024, max_tokens: 8, temperature: 0}
"""


def main() -> None:
    """Score undisturbed and killed, and print the figures and the calls."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--points", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "judged.yaml").write_text(CONFIG)
        _fathoms(base, "run", "judged.yaml", "--no-score", "--limit", str(args.questions)).wait()
        (answered,) = (base / "runs").iterdir()
        shutil.copytree(answered, base / "whole" / answered.name)
        shutil.copytree(answered, base / "killed" / answered.name)

        started = time.perf_counter()
        assert _score(base, "whole").wait() == 0
        print(f"undisturbed: {time.perf_counter() - started:.0f} s")
        whole = _summary(base / "whole" / answered.name)
        verdicts = sum(whole["judging"]["verdicts"].values())
        print(f"judge: {whole['judging']['judge']}, verdicts: {whole['judging']['verdicts']}")

        journal = base / "killed" / answered.name / "verdicts" / "judge.jsonl"
        started = time.perf_counter()
        for point in range(args.points):
            enough = verdicts * (2 * point + 1) // (2 * args.points)
            process = _score(base, "killed")
            while _lines(journal) < enough and process.poll() is None:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            seconds = time.perf_counter() - started
            print(f"killed after {seconds:.0f} s with {_lines(journal)} verdicts stored", flush=True)
        assert _score(base, "killed").wait() == 0
        killed = _summary(base / "killed" / answered.name)

    same = {key: whole[key] == killed[key] for key in ("profiles", "metrics")}
    found, wanted = killed["judging"]["found"], killed["judging"]["asked"]
    print(
        f"completed after {time.perf_counter() - started:.0f} s: {found} verdicts found, {wanted} asked for"
    )
    print(f"the figures are the same: {same}")
    for name in ("exact-match", "rouge-l", "faithfulness"):
        print(f"  {name}: {json.dumps(whole['metrics'][name]['overall'])}")
    if not all(same.values()):
        raise SystemExit("the figures differ")


def _fathoms(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the command line in a process group of its own."""
    command = [sys.executable, "-m", "fathoms", *arguments]
    return subprocess.Popen(command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL)


def _score(folder: Path, out: str) -> subprocess.Popen[bytes]:
    """Start the scoring of the latest run in a folder."""
    return _fathoms(folder, "score", "latest", "--out", out)


def _summary(run: Path) -> dict[str, Any]:
    """The summary of a run."""
    found: dict[str, Any] = json.loads((run / "summary.json").read_bytes())
    return found


def _lines(journal: Path) -> int:
    """How many verdicts are stored."""
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


if __name__ == "__main__":
    main()
