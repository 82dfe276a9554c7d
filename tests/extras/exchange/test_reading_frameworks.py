"""Traces that instrumentations of LangChain and LlamaIndex write, and the SDKs of Langfuse and LangSmith.

They run in an environment of their own, whose interpreter FATHOMS_INSTRUMENTED_PYTHON names;
`benchmarks/production/frameworks.py` says what each kind needs. A kind without its packages is skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.traces import read_traces
from fathoms.extras.exchange.reading.traces.sampling import Selection
from tests.support.strict_server import strict_server

PYTHON = os.environ.get("FATHOMS_INSTRUMENTED_PYTHON")
PRODUCTION = Path(__file__).parents[3] / "benchmarks" / "production"
KINDS = {  # whether the conversation is in the spans
    "langchain-openinference": True,
    "langchain-openllmetry": True,
    "llamaindex-openinference": False,
    "llamaindex-openllmetry": False,
    "langsmith": True,
    "langsmith-otel": True,
    "langfuse": True,
}


def says(prompt: str) -> str:
    """Answer with the number of the question."""
    found = re.search(r"number (\d+)\?", prompt)
    return f"It is {found[1]} m tall." if found else "yes"


@pytest.mark.long
@pytest.mark.skipif(not PYTHON, reason="FATHOMS_INSTRUMENTED_PYTHON names no interpreter")
@pytest.mark.parametrize("kind", KINDS)
def test_questions_answers_and_contexts_of_a_framework(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "traces.jsonl"
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with strict_server(says) as server:
        command = [str(PYTHON), "frameworks.py", kind, f"{server.address}/v1", str(file), "3"]
        done = subprocess.run(
            command, cwd=PRODUCTION, env=outside, capture_output=True, text=True, timeout=300
        )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    imported = read_traces(file, Options(), Selection(by="route") if KINDS[kind] else Selection())
    assert not imported.warnings
    topics = ("mast", "lift", "door")
    for at, (topic, record) in enumerate(zip(topics, imported.records, strict=True)):
        assert record.question.text == f"How tall is {topic} number {at}?"
        assert record.answer is not None
        assert (record.answer.text, record.answer.model) == (f"It is {at} m tall.", "strict")
        (hit,) = record.hits or ()
        assert (hit.chunk.document, hit.chunk.pages) == (f"{topic}.pdf", (1,))
        assert hit.chunk.text == f"The {topic} number {at} is {at} m tall."
        if KINDS[kind]:
            assert record.question.metadata["turn"] == at + 1
            assert record.question.category == "/tall"
            assert ("history" in record.question.metadata) == (at > 0)
