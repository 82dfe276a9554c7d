"""What an accepted question of a build takes: calls and tokens, by a server that counts them.

    python benchmarks/building/cost.py [--n 20]

The server honours the schema that it is sent, as OpenAI's strict mode does, and replies by rules that are
right: it finds the words that are asked for. Of the drafts on the sample corpus it refuses those whose words
begin with a to h, about half, as not significant, which is the last item of the checklist. Ends with 1
if an accepted question takes more than 15 calls or 12,000 tokens, the goals.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from tests.extras.questions.building import PATTERNS, recipe
from tests.support.strict_server import CHAT, MODEL, by_patterns, strict_server

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
CALLS, TOKENS = 15, 12_000
REFUSED = {r"What follows the words [a-h].*significant in the evidence": '{"reason": "", "verdict": "no"}'}


def main() -> int:
    """Build a set, print what it took, and compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=20)
    number = parser.parse_args().n
    says = by_patterns({**REFUSED, **PATTERNS}, "no")
    with tempfile.TemporaryDirectory() as folder, strict_server(says) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        settings = recipe(n=number, model=model, documents=[str(SAMPLE)], clarity={}, checks={})
        Path(folder, "recipe.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
        command = [sys.executable, "-m", "fathoms", "--quiet", "build", "recipe.yaml", "--out", "set.json"]
        done = subprocess.run([*command, "--json"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        shown: dict[str, Any] = json.loads(done.stdout)
        calls = len(server.bodies(CHAT))
    tokens: Counter[str] = Counter()
    for stage, one in shown["spent"].items():
        tokens[stage] = int(one["prompt_tokens"] + one["reply_tokens"])
        print(f"{stage:<13} {int(one['calls']):>6} calls {tokens[stage]:>9,} tokens")
    each = calls / shown["questions"], tokens.total() / shown["questions"]
    print(
        f"{shown['drafts']} drafts, {shown['questions']} questions: {each[0]:.1f} calls and {each[1]:,.0f}"
        " tokens each"
    )
    return int(each[0] > CALLS or each[1] > TOKENS)


if __name__ == "__main__":
    sys.exit(main())
