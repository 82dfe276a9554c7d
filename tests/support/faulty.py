"""A project whose provider is the scripted server, for each kind of provider that has a server of ours."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from fathoms.types import Record
from tests.support.project import Project, write_pdf

SAID = "It is v1v."

PROVIDERS = {
    "openai-compatible": """\
retrieve: {{kind: none}}
generate: {{kind: openai-compatible, base_url: "{address}/v1", model: scripted, {more}
  request_timeout: {silence}, max_concurrency: {at_once}}}
""",
    "ollama": """\
retrieve: {{kind: none}}
generate: {{kind: ollama, base_url: "{address}", model: scripted, {more}
  request_timeout: {silence}, max_concurrency: {at_once}}}
""",
    "http": """\
pipeline: {{kind: http, preset: openai-chat, url: "{address}/v1/chat/completions", model: scripted, {more}
  timeout: {silence}, max_concurrency: {at_once}}}
""",
}
PROVIDERS["reranker"] = """\
chunk: {{kind: page}}
retrieve:
  kind: rerank
  first: {{kind: bm25, query: "Nothing to see: {{question}}", stopwords: none, stemmer: none}}
  by:
    kind: llm
    prompt: "Grade from 0 to 10: {{passage}} {{question}}"
    generate: {{kind: openai-compatible, base_url: "{address}/v1", model: scripted, {more}
      request_timeout: {silence}, max_concurrency: {at_once}}}
generate: {{kind: scripted, default: "It is v1v.", max_concurrency: {at_once}}}
"""
"""A server that grades the one candidate of each question, which a scripted model then answers."""
PROVIDERS["http-stream"] = PROVIDERS["http"].replace("openai-chat,", "openai-chat, stream: true,")

COMMON = """\
name: faulty
data: {{questions: questions.json, documents: pdfs}}
question_timeout: {question_timeout}
execution: {{max_attempts: {max_attempts}, first_wait: {first_wait}, give_up_after: {give_up_after}}}
"""


def config(
    provider: str,
    address: str,
    *,
    silence: float = 10,
    at_once: int = 1,
    question_timeout: float = 60,
    max_attempts: int = 2,
    first_wait: float = 0.01,
    give_up_after: float = 600,
    more: str = "",
) -> str:
    """A configuration of one provider; `more` are other keys of it, each with a comma at its end."""
    common = COMMON.format(
        question_timeout=question_timeout,
        max_attempts=max_attempts,
        first_wait=first_wait,
        give_up_after=give_up_after,
    )
    own = PROVIDERS[provider].format(address=address, silence=silence, at_once=at_once, more=more)
    return common + own


def said(provider: str) -> str:
    """A good reply of the server: an answer, or the grade of a reranker."""
    return "7" if provider == "reranker" else SAID


def attempts(provider: str, record: Record) -> int:
    """How many requests the server got for a question."""
    return sum(call.attempts for call in record.calls) if provider == "reranker" else record.attempts


def seconds(provider: str, record: Record) -> float:
    """The seconds that a question spent on the server."""
    return record.timings["rerank" if provider == "reranker" else "generate"]


def faulty_project(path: Path, texts: Sequence[str]) -> Project:
    """A folder with these questions, `q0` and so on, on one page; `v1v` is right for all of them."""
    (path / "pdfs").mkdir(parents=True)
    write_pdf(path / "pdfs" / "a.pdf", ["Nothing to see."])
    rows = [
        {"id": f"q{number}", "question": text, "files": ["a.pdf"], "answers": [["v1v"]]}
        for number, text in enumerate(texts)
    ]
    (path / "questions.json").write_text(json.dumps({"Questions": rows}))
    return Project(path)


def views(run: Path) -> dict[str, dict[str, Any]]:
    """The one repeat of every question by the question's text, from the files that people read."""
    found = (json.loads(path.read_bytes()) for path in (run / "questions").glob("*.json"))
    return {view["question"]["text"]: view["repeats"][0] for view in found}


def journal(run: Path) -> list[dict[str, Any]]:
    """Every line of the journal; each has to be whole."""
    return [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]


def summary(run: Path) -> dict[str, Any]:
    """The scores of a run."""
    found: dict[str, Any] = json.loads((run / "summary.json").read_bytes())
    return found


def contents(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and what is compressed in it."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".gz":
        yield gzip.decompress(data)
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            for (value,) in database.execute("SELECT value FROM sealed"):
                with suppress(zlib.error):
                    yield zlib.decompress(value)
