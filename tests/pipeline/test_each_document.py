"""`retrieve: {kind: each-document}` in whole commands: one call a document, and one that combines them."""

from __future__ import annotations

import json
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fathoms import corpora
from fathoms.experiment import load_experiment
from fathoms.runner.runner import Job, Tally, run
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
from fathoms.types import Record
from tests.support.http_stub import Stub
from tests.support.project import Project, write_pdf
from tests.support.strict_server import strict_server

pytestmark = pytest.mark.slow  # processes of their own

HEIGHTS = {"Arn": 41, "Bel": 52, "Cor": 17, "Dun": 63}
QUESTION = "How many towers are taller than 40 metres?"
SAYS = {r"The tower of (\w+) is (\d+) metres": r"\1: \2 metres."}
CONFIG = """\
name: each
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
retrieve:
  kind: each-document
  retriever: {kind: bm25}
  chunks: 2
  generate: %s
generate:
  kind: scripted
  replies: {asked of each part: "3 towers: Arn, Bel and Dun."}
  price: {input: 1000, output: 5000}
"""
READER: dict[str, Any] = {
    "kind": "scripted",
    "patterns": SAYS,
    "default": "**NOTHING FOUND.**",
    "max_tokens": 20,
    "price": {"input": 1000, "output": 5000},
}


@pytest.fixture
def towers(tmp_path: Path) -> Project:
    """Four documents on towers, one that shares words with the question and one that does not."""
    (tmp_path / "pdfs").mkdir()
    for name, height in HEIGHTS.items():
        pages = [f"The tower of {name} is {height} metres tall.", "Many towers have doors.", "towers towers"]
        write_pdf(tmp_path / "pdfs" / f"{name}.pdf".lower(), pages)
    write_pdf(tmp_path / "pdfs" / "ore.pdf", ["Metres of rock lie over the ore."])
    write_pdf(tmp_path / "pdfs" / "sea.pdf", ["Water."])
    project = Project(tmp_path)
    gold = [{"document": f"{name}.pdf".lower(), "page": 1} for name in HEIGHTS]
    row = {"question": QUESTION, "answers": [["3 towers"]], "evidence": gold}
    project.write("questions.json", json.dumps({"Count": [row]}))
    project.write("each.yaml", CONFIG % json.dumps(READER))
    return project


def record_of(project: Project) -> Record:
    """The only record of the newest run."""
    (record,) = Run(project.runs()[-1]).records.all()
    return record


def test_each_document_is_asked_and_the_answers_are_combined(towers: Project) -> None:
    """By hand: five documents share a word with the question, four of them say something, so there are five
    calls and one that combines four answers. Each call has at most two of the three pages of a tower."""
    done = towers.fathoms("run", "each.yaml")
    assert done.returncode == 0, done.stderr
    record = record_of(towers)
    assert record.answer is not None
    assert record.answer.text == "3 towers: Arn, Bel and Dun."
    assert record.prompt is not None
    parts = {part.document: part for part in record.prompt.parts}
    assert {name for name, part in parts.items() if part.is_combined} == {
        "arn.pdf",
        "bel.pdf",
        "cor.pdf",
        "dun.pdf",
    }
    assert parts["ore.pdf"].nothing
    merged = record.prompt.messages[-1].text
    assert "dun.pdf:\nDun: 63 metres." in merged
    assert "ore.pdf" not in merged
    assert {len(part.prompt.context.split("[page ")) - 1 for part in parts.values()} == {1, 2}
    assert "The tower of Bel" not in parts["arn.pdf"].prompt.context
    assert [call.purpose for call in record.calls] == ["extract"] * 5
    assert record.attempts == 1
    assert list(record.timings) == ["retrieve", "extract", "prompt", "generate"]
    summary = json.loads((towers.runs()[0] / "summary.json").read_text())
    spent = summary["usage_by_purpose"]
    assert (spent["extract"]["calls"], spent["answer"]["calls"]) == (5, 1)
    assert spent["extract"]["completion_tokens"] == 4 * 3 + 2
    assert summary["cost"] == pytest.approx(spent["extract"]["cost"] + spent["answer"]["cost"])
    assert summary["retries"] is None if "retries" in summary else True
    planned = towers.fathoms("run", "each.yaml", "--dry-run")
    assert "extract: 5 requests" in planned.stdout
    assert "answer: 1 requests" in planned.stdout
    searched = towers.fathoms("run", "each.yaml", "--retrieval-only")
    assert searched.returncode == 0, searched.stderr
    assert (record_of(towers).calls, record_of(towers).hits) == ((), record.hits)


def test_a_document_that_fails_is_named_and_counted(towers: Project) -> None:
    failing = {**READER, "fail_on": {"tower of Bel": "overloaded"}}
    towers.write("each.yaml", CONFIG % json.dumps(failing))
    done = towers.fathoms("run", "each.yaml", "--set", "execution={max_attempts: 1}")
    assert done.returncode == 0, done.stderr
    record = record_of(towers)
    assert record.answer is not None
    assert record.prompt is not None
    failed = [part for part in record.prompt.parts if part.error]
    assert [(part.document, part.error and part.error.message) for part in failed] == [
        ("bel.pdf", "overloaded")
    ]
    assert "bel.pdf" not in record.prompt.messages[-1].text
    assert [call.error and call.error.message for call in record.calls].count("overloaded") == 1
    said = "1 of 1 answers were combined without some documents"
    assert said in " ".join((done.stdout + done.stderr).split())
    assert said in " ".join(json.loads((towers.runs()[0] / "summary.json").read_text())["warnings"])
    documents = "4 of 4 documents parsed, 4 retrieved, 4 in the prompt, 3 combined"
    shown = " ".join(towers.fathoms("show", "each", "--only", "retrieval").stdout.split())
    assert documents in shown
    assert documents in (towers.runs()[0] / "report.md").read_text()
    shown = " ".join(towers.fathoms("show", "each", "--question", "count-01").stdout.split())
    assert f"evidence documents: {documents}; not combined: bel.pdf" in shown
    assert "5 documents, 3 combined; failed: bel.pdf (overloaded); nothing found: ore.pdf" in shown

    towers.write("each.yaml", CONFIG % json.dumps({**READER, "fail_on": {"metres": "overloaded"}}))
    done = towers.fathoms("run", "each.yaml", "--set", "execution={max_attempts: 1}")
    record = record_of(towers)
    assert record.answer is None
    assert record.error is not None
    assert record.error.message == "overloaded"
    assert record.hits


def test_many_partial_answers_are_combined_in_rounds(towers: Project) -> None:
    """By hand: around n partial answers of three words each, the prompt has 13 + 2n words between blanks. 18
    of them have room for two answers, so the first round has two prompts, and the two replies have 17."""
    merge = "prompt={system: '', merge: 'asked of each part {answers} {question}'}"
    window = ("generate.context_window=28", "generate.max_tokens=10", "generate.replies={asked of each: '3'}")
    settings = [word for one in (merge, *window) for word in ("--set", one)]
    done = towers.fathoms("run", "each.yaml", *settings)
    assert done.returncode == 0, done.stderr
    record = record_of(towers)
    assert record.prompt is not None
    assert record.prompt.messages[-1].text.startswith(
        "asked of each part Documents, group 1:\n3\n\nDocuments"
    )
    assert (record.prompt.tokens, record.prompt.budget) == (17, 18)
    assert len(record.calls) == 5 + 2
    assert len(record.prompt.parts) == 5

    # a round without a reply would lose what its documents say, so the question fails
    towers.fathoms("run", "each.yaml", *settings, "--set", "generate.replies={asked of each: ''}")
    record = record_of(towers)
    assert record.error is not None
    assert "the reply is empty" in record.error.message

    done = towers.fathoms("run", "each.yaml", *settings, "--set", "generate.context_window=25")
    assert "the prompt has no room for the answers" in " ".join(done.stdout.split())


def test_no_document_helps(towers: Project) -> None:
    towers.write("each.yaml", CONFIG % json.dumps({**READER, "patterns": {}}))
    assert towers.fathoms("run", "each.yaml").returncode == 0
    record = record_of(towers)
    assert record.prompt is not None
    assert "None of them says anything that helps." in record.prompt.messages[-1].text


def served(stub: Stub) -> list[str]:
    """The documents that a server was asked about."""
    texts = (json.dumps(body["messages"]) for body in stub.bodies("/v1/chat/completions"))
    return [text.split("one document, ")[1].split(".pdf")[0] for text in texts if "one document, " in text]


def test_a_killed_run_over_http_is_resumed(towers: Project) -> None:
    """The calls about the documents are bounded by `max_concurrency`, and a question that was killed among
    them is asked again as a whole."""
    rows = [{"question": f"{QUESTION} ({n})", "answers": [["3 towers"]]} for n in range(3)]
    towers.write("questions.json", json.dumps({"Count": rows}))

    in_flight, lock = [0, 0], threading.Lock()

    def says(prompt: str) -> str:
        with lock:
            in_flight[0] += 1
            in_flight[1] = max(in_flight)
        time.sleep(0.02)
        with lock:
            in_flight[0] -= 1
        if "asked of each part" in prompt:
            return "3 towers" if prompt.count("metres.") == 4 else "none"
        name = prompt.partition("one document, ")[2].partition(".pdf")[0].capitalize()
        return f"{name}: {HEIGHTS[name]} metres." if name in HEIGHTS else "NOTHING FOUND"

    with strict_server(says) as stub:
        address = f"{stub.address}/v1"
        model = {"kind": "openai-compatible", "base_url": address, "model": "strict", "max_concurrency": 2}
        one = (CONFIG % json.dumps(model)).partition("generate:\n")[0]
        towers.write("each.yaml", f"{one}generate: {json.dumps(model)}\n")
        with towers.start("run", "each.yaml", "-j", "1") as process:
            while len(served(stub)) < 8 and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        stored = len((towers.runs()[0] / "journal.jsonl").read_bytes().splitlines())
        assert stored < 3
        done = towers.fathoms("run", "--resume")
        assert done.returncode == 0, done.stderr
        records = list(Run(towers.runs()[0]).records.all())
        assert [record.answer and record.answer.text for record in records] == ["3 towers"] * 3
        assert [len(record.calls) for record in records] == [5] * 3
        assert len(served(stub)) >= 15
    assert in_flight[1] == 2, "no more than `max_concurrency` at once, and not one after another"


def test_progress_counts_the_documents_that_were_asked(towers: Project) -> None:
    """By hand: five documents are asked, so five reports have one more document each, and a sixth the
    answer."""
    experiment = load_experiment(towers.path / "each.yaml")
    tallies: list[Tally] = []
    with closing(Cache(towers.path / "cache")) as cache:
        job = Job(experiment, corpora.load(experiment.data, towers.path), towers.path)
        run([job], out=towers.path / "runs", cache=cache, workers=1, on_tally=tallies.append)
    assert [(one.documents, one.done) for one in tallies] == [
        *[((number, 5), 0) for number in range(1, 6)],
        ((5, 5), 1),
    ]
