"""Retrieval by page images with an embedder behind a server, from the command line to the report."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from fathoms.errors import NoAnswerError
from fathoms.experiment import load_experiment
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
from tests.support.embedding_server import KEY, Fails, embeddings
from tests.support.project import QUESTIONS, Project, write_project

pytestmark = pytest.mark.slow  # pages are rendered in processes of their own

CONFIG = """\
name: seen
data: {{questions: questions.json, documents: pdfs}}
retrieve:
  kind: visual
  embed: {{kind: voyage, base_url: "{address}/voyage/v1", price: {{image: 2, text: 1}}, batch_size: 2}}
  top_k: 2
  dpi: 72
prompt: {{template: page-images}}
generate: {{kind: scripted, replies: {{tall: It is 41.5 m tall.}}, price: {{input: 0, output: 0}}}}
execution: {{max_attempts: 2, first_wait: 0.01}}
"""
SEARCH = ("run", "--retrieval-only", "seen.yaml")


def draw(path: Path, *sizes: tuple[int, int]) -> None:
    """A PDF with a page of each size in points, which has as many pixels at 72 dots per inch."""
    canvas = Canvas(str(path), invariant=True)
    for size in sizes:
        canvas.setPageSize(size)
        canvas.drawString(20, 20, f"A page of {size[0]} x {size[1]} points.")
        canvas.showPage()
    canvas.save()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of a tall, a wide and a square page."""
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    written = write_project(tmp_path)
    draw(tmp_path / "pdfs" / "varn.pdf", (300, 400), (400, 300))
    draw(tmp_path / "pdfs" / "lune.pdf", (300, 300))
    return written


def test_pages_and_questions_are_embedded_once_and_told_with_their_cost(place: Project) -> None:
    """A question has more letters than words, so the tall page is nearest, and the square one follows. The
    key is in no file and no output; a second run sends nothing."""
    with embeddings() as server:
        place.write("seen.yaml", CONFIG.format(address=server.address))
        server.steps = [Fails(429, "slow down", (("Retry-After", "0.1"),))]
        done = place.fathoms("run", "seen.yaml")
        assert done.returncode == 0, done.stderr
        assert sorted(server.sizes) == [(300, 300), (300, 400), (400, 300)]
        assert [body["input_type"] for body in server.bodies].count("query") == 2, "two by two"
        (run,) = place.runs()
        record = next(record for record in Run(run).records.all() if record.question.id == "text-only-01")
        assert [hit.chunk.id for hit in record.hits] == ["varn.pdf#p1", "lune.pdf#p1"]
        times = json.loads((run / "manifest.json").read_text())["data"]["ingest"]["times"]
        pages, questions = times["embed pages"], times["embed questions"]
        assert (pages["made"], pages["calls"], pages["tokens"]) == (3, 2, 3000)
        assert (questions["made"], questions["calls"], questions["tokens"]) == (4, 2, 40)
        assert pages["cost"] == pytest.approx(0.006)
        assert questions["cost"] == pytest.approx(0.00004)
        assert place.fathoms("report", "latest").returncode == 0
        written = "".join(path.read_text() for path in place.path.rglob("*.md"))
        assert "(3), 2 calls, 3,000 tokens, $0.0060; embed questions" in html.unescape(written)
        sent = len(server.bodies)
        assert place.fathoms("run", "seen.yaml").returncode == 0
        assert len(server.bodies) == sent
    everything = [path for path in place.path.rglob("*") if path.is_file()]
    assert not [path for path in everything if KEY.encode() in path.read_bytes()]
    assert KEY not in done.stdout + done.stderr


def test_embedding_is_estimated_by_nobody_and_counts_against_the_budget(place: Project) -> None:
    """3,000 tokens of pages and 40 of questions are more than the limit, so no question is asked."""
    with embeddings() as server:
        config = place.write("seen.yaml", CONFIG.format(address=server.address))
        dry = place.fathoms("run", "seen.yaml", "--dry-run")
        assert "voyage voyage-multimodal-3.5 would have to be called" in dry.stdout, dry.stderr
        assert not server.bodies
        done = place.fathoms("run", "seen.yaml", "--max-tokens-total", "3040")
        assert "0 of 4" in done.stdout + done.stderr, done.stdout + done.stderr
        ingested = place.fathoms("ingest", "seen.yaml", "--refresh")
        assert "embed pages: 2 calls, 3,000 tokens, $0.0060" in ingested.stdout, ingested.stderr
        config.write_text(config.read_text().replace("price: {image: 2, text: 1}, ", ""))
        refused = place.fathoms("run", "seen.yaml", "--max-cost", "1")
        assert refused.returncode == 2
        assert "no price is known for voyage-multimodal-3.5" in refused.stderr
        assert "under the `embed:` of the retriever `visual`" in refused.stderr


def searched(place: Project, address: str) -> None:
    """Write a configuration whose questions have gold pages, and cost 1 cent each and pages nothing."""
    rows = [
        {"question": item["question"], "category": category, "evidence": [{"document": file, "page": 1}]}
        for category, items in QUESTIONS.items()
        for item in items
        for file in item["files"]
    ]
    place.write("questions.jsonl", "\n".join(map(json.dumps, rows)))
    config = CONFIG.format(address=address).replace("questions.json", "questions.jsonl")
    place.write("seen.yaml", config.replace("{image: 2, text: 1}", "{image: 0, text: 1000}"))


def times(run: Path) -> dict[str, Any]:
    """What the stages of a run took."""
    return dict(json.loads((run / "manifest.json").read_text())["data"]["ingest"]["times"])


def times_of(run: Path) -> dict[str, Any]:
    """What embedding the questions of a run took."""
    return dict(times(run)["embed questions"])


def test_a_search_alone_states_what_its_questions_took(place: Project) -> None:
    """The first question, which is not measured, and then all four, two by two."""
    with embeddings() as server:
        searched(place, server.address)
        dry = place.fathoms(*SEARCH, "--dry-run")
        assert "voyage voyage-multimodal-3.5 would have to be called" in dry.stdout, dry.stderr
        assert not server.bodies
        done = place.fathoms(*SEARCH, "--max-cost", "0.05")
        assert done.returncode == 0, done.stderr
        shown = place.fathoms("show", "--all").stdout
        assert "besides, embed questions: 3 calls, 50 tokens, $0.05" in shown
        assert ", $0.050, " in done.stdout.splitlines()[-1]
        (run,) = place.runs()
        took = times_of(run)
        assert (took["made"], took["calls"], took["tokens"]) == (5, 3, 50)
        assert took["cost"] == pytest.approx(0.05)
        journal = run / "journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
        assert place.fathoms("run", "--resume").returncode == 0
        assert times_of(run)["tokens"] == 50 + 10 + 20, "the first one again, and the two that are left"


def test_a_race_states_what_its_embeddings_took(place: Project) -> None:
    """Both candidates search with the same vectors, which are paid once, round by round."""
    with embeddings() as server:
        place.write("seen.yaml", CONFIG.format(address=server.address).replace("text: 1}", "text: 1000}"))
        found = place.json("tune", "seen.yaml", "--matrix", "retrieve.top_k=1,2")
        assert [body["input_type"] for body in server.bodies].count("query") > 1, "in rounds"
        took = sum(times_of(run)["tokens"] for run in place.runs() if "embed questions" in times(run))
        done = place.fathoms("tune", "--resume", "latest")
    assert took == 3 * 10, "three questions have a gold answer"
    assert found["cost"] == pytest.approx(0.006 + 0.03)
    assert ", $0.036 of about $0.036" in " ".join(done.stdout.split()), done.stdout


def test_a_search_alone_keeps_to_the_budget(place: Project) -> None:
    """One cent is spent before any question is asked, and all four need four more."""
    with embeddings() as server:
        searched(place, server.address)
        done = place.fathoms(*SEARCH, "--max-cost", "0.049")
        assert "stopped by its budget: 0 of 4" in done.stdout + done.stderr
        assert [body["input_type"] for body in server.bodies].count("query") == 1
        (run,) = place.runs()
        assert times_of(run)["tokens"] == 10


def test_a_question_that_the_server_refuses_fails_alone(place: Project) -> None:
    """All others of its block are found, and their vectors are paid for once."""
    with embeddings() as server:
        searched(place, server.address)
        server.refuses = "Which colour is the Varn door?"
        options = ("--set", "retrieve.embed.batch_size=1", "--set", "retrieve.embed.max_concurrency=1")
        done = place.fathoms(*SEARCH, *options, "--repeats", "2")
        assert done.returncode == 1, "2 of 8 are more failures than are allowed"
        (run,) = place.runs()
        errors = {record.question.id: record.error for record in Run(run).records.all() if record.error}
        assert list(errors) == ["text-only-02"]
        assert "answers 400: refused" in str(errors["text-only-02"])
        assert times_of(run)["tokens"] == 10 * (1 + 4 - 1)
        queries = [body["inputs"][0]["content"][0].get("text") for body in server.bodies]
        assert queries.count(server.refuses) == 2, "in the block and alone"
        server.refuses = "How tall is the Varn tower?"
        place.fathoms(*SEARCH)
        last = max(place.runs())
        failed = [record.question.id for record in Run(last).records.all() if record.error]
        assert failed == ["text-only-01"], "although it comes first"


def test_an_outage_ends_with_the_command(place: Project) -> None:
    """A server that had been given up is asked again by the next command of the same process."""
    with embeddings() as server:
        place.write("seen.yaml", CONFIG.format(address=server.address))
    settings = ("execution.max_attempts=1", "execution.give_up_after=0.001")
    own, cache = load_experiment(place.path / "seen.yaml", settings), Cache(place.path / "cache")
    documents = {path.name: path for path in (place.path / "pdfs").iterdir()}
    for _ in range(2):
        with pytest.raises(NoAnswerError):
            own.prepare(documents, cache)
    with embeddings(int(server.address.rpartition(":")[2])) as again:
        own.prepare(documents, cache)
        assert len(again.sizes) == 3


def test_a_limit_that_cannot_be_enforced_is_refused(place: Project) -> None:
    """The server tells no tokens, so what was spent is not known."""

    def untold(answer: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in answer.items() if key != "usage"}

    with embeddings() as server:
        searched(place, server.address)
        for limit, name in (("--max-cost", "cost"), ("--max-tokens-total", "tokens")):
            server.steps = [untold] * 9
            done = place.fathoms("run", "seen.yaml", "--refresh", limit, "100000")
            assert done.returncode == 2
            assert f"embed pages: the limit of {name} cannot be enforced" in done.stderr
            assert not place.runs()
        server.steps = []
        assert place.fathoms("ingest", "seen.yaml", "--refresh").returncode == 0
        server.steps = [None, *[untold] * 9]
        done = place.fathoms(*SEARCH, "--max-cost", "100000")
        assert done.returncode == 2
        assert "embed questions: the limit of cost cannot be enforced" in done.stderr


def test_pages_that_were_embedded_before_a_failure_are_not_sent_again(place: Project) -> None:
    with embeddings() as server:
        place.write("seen.yaml", CONFIG.format(address=server.address))
        one_by_one = ["run", "seen.yaml", "--set", "retrieve.embed.batch_size=1"]
        server.steps = [None, None, Fails(400, "bad picture")]
        failed = place.fathoms(*one_by_one, "--set", "retrieve.embed.max_concurrency=1")
        assert "answers 400: bad picture" in failed.stderr
        assert place.fathoms(*one_by_one).returncode == 0
        assert len(server.sizes) == 3, "every page once"


def test_a_server_that_fails_ends_the_run_before_a_question(place: Project) -> None:
    with embeddings() as server:
        place.write("seen.yaml", CONFIG.format(address=server.address))
        server.steps = [Fails(500, "out of order")] * 9
        done = place.fathoms("run", "seen.yaml")
        assert done.returncode == 1
        assert "answers 500: out of order" in done.stderr
        assert not place.runs()
        changed = place.fathoms("run", "seen.yaml", "--set", "retrieve.embed.dimension=256")
        assert changed.returncode == 1
        server.steps = []
        assert place.fathoms("run", "seen.yaml").returncode == 0
        dimension = place.fathoms("run", "seen.yaml", "--set", "retrieve.embed.dimension=256")
        assert "the vectors have 2 numbers, and dimension: 256 was asked for" in dimension.stderr
