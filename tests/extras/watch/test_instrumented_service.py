"""1,000 questions of a really instrumented service become figures, a page and a verdict by one file.

The instrumentations are those of OpenInference and of OpenLLMetry, in an environment of their own, whose
interpreter FATHOMS_INSTRUMENTED_PYTHON names; `benchmarks/production/service.py` says what it needs.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.project import Project
from tests.support.strict_server import MODEL, strict_server

PYTHON = os.environ.get("FATHOMS_INSTRUMENTED_PYTHON")
SERVICE = Path(__file__).parents[3] / "benchmarks" / "production" / "service.py"
QUESTIONS = 1000


def says(prompt: str) -> str:
    """What the service's model answers, and what the judge says."""
    if "Passages, numbered:" in prompt:
        return "0" if "Nothing of use" in prompt.partition("Passages, numbered:")[2] else "3"
    found = re.search(r"number (\d+)", prompt)
    return f"It is {found[1]} m tall." if found and prompt.startswith("How tall") else "yes"


@pytest.mark.long
@pytest.mark.skipif(not PYTHON, reason="FATHOMS_INSTRUMENTED_PYTHON names no interpreter")
@pytest.mark.parametrize("kind", ["openinference", "openllmetry"])
def test_a_thousand_questions(project: Project, kind: str) -> None:
    traces = project.path / "traces.jsonl"
    with strict_server(says) as server:
        address = f"{server.address}/v1"
        subprocess.run(
            [str(PYTHON), str(SERVICE), kind, address, str(traces), str(QUESTIONS)],
            check=True,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        model = {"kind": "openai-compatible", "base_url": address, "model": MODEL}
        config = {
            "name": "towers",
            "traces": traces.name,
            "since": "1d",
            "by": "http.route",
            "sample": 200,
            "redact": ["email"],
            "embed": {"kind": "lexical"},
            "metrics": ["umbrela"],
            "compare": ["umbrela.nothing-to-answer-from", "umbrela.answered-on-nothing"],
            "judge": {"kind": "llm", "model": model},
        }
        project.write("watch.yaml", yaml.safe_dump(config))
        first = project.fathoms("watch", "watch.yaml")
        again = project.fathoms("watch", "watch.yaml")
    assert first.returncode == again.returncode == 0, first.stdout + first.stderr + again.stdout
    assert first.stdout.rstrip().endswith("REFERENCE")
    said = " ".join(again.stdout.split())
    assert said.endswith("runs/report.html: OK"), said
    assert f"200 questions of {QUESTIONS}" in said
    assert "about roof" in said
    assert "ada@example.org" not in "".join(
        one.read_text(errors="replace") for one in (project.path / "runs").rglob("*.json*")
    )
