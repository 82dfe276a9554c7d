"""A project whose provider is the scripted server, for each kind of provider that has a server of ours, and
for the reranker and the judge, which call models too."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

import fathoms
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import Judging
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.models.caller import Caller
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.types import Failure, Judgement, Record, Verdict
from tests.support.fault_server.server import ScriptedServer
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

CALLERS = [*PROVIDERS, "judge"]
"""All that call a model: the providers of answers, the reranker and the judge."""

DEFAULTS = {"question_timeout": 60, "max_attempts": 2, "first_wait": 0.01, "give_up_after": 600}
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
    more: str = "",
    **options: float,
) -> str:
    """A configuration of one provider; `more` are other keys of it, each with a comma at its end, and
    `options` replace `DEFAULTS`."""
    common = COMMON.format(**{**DEFAULTS, **options})
    own = PROVIDERS[provider].format(address=address, silence=silence, at_once=at_once, more=more)
    return common + own


def said(provider: str) -> str:
    """A good reply of the server: an answer, the grade of a reranker, or the word of a judge."""
    return {"reranker": "7", "judge": "yes"}.get(provider, SAID)


def expected_reply(provider: str) -> str:
    """What is kept of a good reply: the answer (after reranking a scripted one), or the label of a judge."""
    return "supported" if provider == "judge" else SAID


@dataclass(frozen=True)
class Outcome:
    """What became of one question: `reply` is what was kept of it, `None` after an error. `attempts` counts
    the requests that the server got for it, and `seconds` is what they took with all waits."""

    text: str
    error: Failure | None
    reply: str | None
    attempts: int
    seconds: float
    tokens: int | None

    def __str__(self) -> str:
        """`answered 1`, `ModelError 2`; `unparsed 2` for a reply that a judge could not read."""
        if self.error is None:
            return f"{'unparsed' if self.reply == 'unparsed' else 'answered'} {self.attempts}"
        return f"{self.error.kind} {self.attempts}"


def outcome(provider: str, record: Record) -> Outcome:
    """What became of a question that was asked."""
    reranked = provider == "reranker"
    usages = [call.usage for call in record.calls] if reranked else [record.answer and record.answer.usage]
    return Outcome(
        text=record.question.text,
        error=record.error,
        reply=record.answer and record.answer.text,
        attempts=sum(call.attempts for call in record.calls) if reranked else record.attempts,
        seconds=record.timings["rerank" if reranked else "generate"],
        tokens=usages[-1].completion_tokens if usages and usages[-1] else None,
    )


class WatchedJudge(LLMJudge):
    """A judge that notes what became of each claim, in the order in which they ended, and the seconds."""

    _ended: list[tuple[str, Verdict | Failure, float]] = PrivateAttr(default_factory=list)

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        started = time.perf_counter()
        found = await super().judge(judgements, caller, repeat)
        self._ended.append((judgements[0].claim, found[0], time.perf_counter() - started))
        return found


def judge(
    path: Path,
    texts: Sequence[str],
    server: ScriptedServer,
    *,
    silence: float = 10,
    at_once: int = 1,
    **options: Any,
) -> tuple[Run, list[Outcome]]:
    """Have a scripted model answer the questions, each in one sentence of its own, and a judge on the server
    judge these sentences. The outcomes are in the order in which they ended."""
    project = faulty_project(path, texts)
    claims = {text.replace("?", ",").strip() + " it is v1v.": text for text in texts}
    answering = {"kind": "scripted", "replies": {text[:60]: claim for claim, text in claims.items()}}
    common = COMMON.format(**{**DEFAULTS, **options})
    own = f"retrieve: {{kind: whole-document}}\ngenerate: {json.dumps(answering)}\n"
    result = fathoms.run(project.write("faulty.yaml", common + own), out=path / "runs")
    model = {
        "kind": "openai-compatible",
        "base_url": f"{server.address}/v1",
        "model": "scripted",
        "request_timeout": silence,
        "max_concurrency": at_once,
    }
    prompt = "Answer yes or no. {premise} {claim}"
    watched = WatchedJudge.model_validate({"model": model, "claims": "sentences", "prompt": prompt})
    texts_of = {claim[:60]: text for claim, text in claims.items()}  # a very long claim may be split
    run = Run(result.path)
    score_run(run, metrics=[Faithfulness()], judging=Judging(watched))
    return run, [
        Outcome(
            text=texts_of[claim[:60]],
            error=found if isinstance(found, Failure) else None,
            reply=None if isinstance(found, Failure) else found.label,
            attempts=server.count(claim[-60:]),
            seconds=seconds,
            tokens=found.usage.completion_tokens if isinstance(found, Verdict) and found.usage else None,
        )
        for claim, found, seconds in watched._ended
    ]


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
