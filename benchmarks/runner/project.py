"""Makes the questions that all tools ask, and the project for fathoms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
MODEL = "fixed-latency"
"""As `server.py` lists it."""
PDF = "lumet-3-pump-manual.pdf"
CONTEXT = 1700
"""Characters of the document in every prompt; with template and question it has some 2,000."""

CONFIG = """\
name: benchmark
data: {{questions: questions.json, documents: pdfs}}
retrieve: {{kind: whole-document, max_chars: {context}}}
generate: {{kind: openai-compatible, base_url: "{base_url}", model: {model}, max_concurrency: {concurrency},
  stream: {stream}}}
"""


def question(number: int) -> str:
    """One question, unlike every other."""
    return f"How many litres a second does the pump of line {number} lift when the valve stands open?"


def questions(count: int) -> list[dict[str, object]]:
    """As fathoms reads them; every answer is right."""
    return [
        {
            "id": f"q-{number:05d}",
            "question": question(number),
            "category": "Text-Only",
            "files": [PDF],
            "answers": [["41.5"]],
        }
        for number in range(count)
    ]


def prompts(count: int) -> list[str]:
    """As the others send them: as long as those of fathoms, which takes its context from the PDF."""
    filler = "The pump stands on its frame and the gauge is read twice a day. " * 40
    instruction = "Answer the question from the context. Say that you do not know where it does not say."
    return [f"{instruction}\n\n{filler[: CONTEXT + 150]}\n\nQuestion: {question(n)}" for n in range(count)]


def write_project(folder: Path, base_url: str, count: int, concurrency: int, *, stream: bool = False) -> Path:
    """A folder with a configuration, its questions and one PDF; the configuration."""
    (folder / "pdfs").mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLE / PDF, folder / "pdfs" / PDF)
    (folder / "questions.json").write_text(json.dumps(questions(count)))
    config = folder / "benchmark.yaml"
    options = {"concurrency": concurrency, "stream": str(stream).lower()}
    config.write_text(CONFIG.format(context=CONTEXT, model=MODEL, base_url=base_url, **options))
    return config
