"""`fathoms run --retrieval-only`: from PDFs to recall, without a model that answers."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fathoms.cli import main
from fathoms.pipeline.searching import Depth
from fathoms.types import Chunk, Hit
from tests.support.project import QUESTIONS, Project

SEARCH = """\
name: tiny
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: ollama, model: nothing, base_url: "http://127.0.0.1:9"}
prompt: {template: there-is-no-such-template}
"""
PAGES = {"How tall": 1, "Which colour": 2, "What does ore": 1, "Who owns": 1}
"""The gold pages of the questions of the project, by their beginning."""


@pytest.fixture
def search(project: Project) -> Project:
    """The project with gold pages and no gold answers, and a configuration whose model nobody could ask."""
    rows = [
        {
            "question": item["question"],
            "category": category,
            "evidence": [
                {"document": file, "page": page}
                for begins, page in PAGES.items()
                for file in item["files"]
                if item["question"].startswith(begins)
            ],
        }
        for category, items in QUESTIONS.items()
        for item in items
    ]
    project.write("questions.jsonl", "\n".join(map(json.dumps, rows)))
    project.write("search.yaml", SEARCH.replace("questions.json", "questions.jsonl"))
    return project


def recall(run: Path) -> dict[int, float]:
    """Recall among the first k pages, by k."""
    points = json.loads((run / "summary.json").read_text())["retrieval"]["curves"]["by_rank"]
    return {point["k"]: point["value"] for point in points}


@pytest.mark.slow
def test_no_model_is_needed_and_the_search_goes_as_deep_as_the_metrics(
    search: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(search.path)
    assert main(["run", "--retrieval-only", "search.yaml", "--dry-run"]) == 0
    plan = capsys.readouterr().out
    assert "no answers are asked for" in plan
    assert "requests" not in plan
    assert main(["run", "--retrieval-only", "search.yaml"]) == 0
    said = capsys.readouterr()
    assert "each question is searched for until 10 different pages are found, instead of 1 chunks" in said.err
    assert "recall@1" in said.out
    assert "correct" not in said.out
    assert "tiny: retrieval only (4 questions, 0 failed)" in said.out
    (run,) = search.runs()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["retrieval_only"] is True
    assert "generate" not in manifest["config"]
    assert list(manifest["fingerprints"]) == ["parse", "chunk", "embed", "retrieve"]
    ingest = manifest["data"]["ingest"]
    assert ingest["chunks"] == 3
    assert ingest["index_bytes"] % (3 * 4) == 0
    views = [json.loads(path.read_text()) for path in (run / "questions").glob("*.json")]
    assert {len(view["repeats"][0]["hits"]) for view in views} == {3}  # every page, although top_k is 1
    assert all(view["repeats"][0]["prompt"] is None for view in views)
    assert recall(run)[3] == 1.0


@pytest.mark.slow
def test_a_killed_search_is_resumed_and_gives_the_same_figures(
    search: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(search.path)
    assert main(["run", "--retrieval-only", "search.yaml"]) == 0
    (run,) = search.runs()
    before = recall(run)
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:40])  # as `kill -9` leaves it
    capsys.readouterr()
    assert main(["run", "--resume"]) == 0
    assert "2 of 4 questions were not searched for yet" in capsys.readouterr().err
    assert len([line for line in journal.read_bytes().splitlines() if line.endswith(b"}")]) == 4
    assert recall(run) == before
    assert main(["run", "--retrieval-only", "search.yaml", "--set", "retrieve.top_k=2"]) == 0
    capsys.readouterr()
    assert main(["compare", *(each.name for each in search.runs()), "--metric", "correctness"]) == 2
    assert "only searched and has no metric 'correctness'" in capsys.readouterr().err
    assert main(["score", run.name, "--metric", "recall@50"]) == 0
    assert "recall@50: the run searched until 10 different pages were found" in capsys.readouterr().err
    assert main(["run", "--retrieval-only", "search.yaml", "--matrix", "retrieve.kind=bm25,dense"]) == 0
    capsys.readouterr()
    assert main(["ls", "--sweep"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        *("retrieve.kind", "recall@10", "searched", "failed", "cost", "time"),
    ]


def _has_records(path: Path) -> bool:
    """Whether a run has written its first record."""
    return any(b"\n" in journal.read_bytes() for journal in path.glob("runs/*/journal.jsonl"))


@pytest.mark.long
@pytest.mark.slow
def test_a_search_is_resumed_after_kill_9(search: Project) -> None:
    grades = "{kind: scripted, default: '5', latency: 0.7, max_concurrency: 1}"
    reranked = f"{{kind: rerank, first: {{kind: bm25}}, by: {{kind: llm, generate: {grades}}}}}"
    search.write(
        "slow.yaml", (search.path / "search.yaml").read_text().replace("{kind: dense, top_k: 1}", reranked)
    )
    with search.start("run", "--retrieval-only", "slow.yaml", stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not _has_records(search.path):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    (run,) = search.runs()
    assert 1 <= (run / "journal.jsonl").read_bytes().count(b"\n") < 4
    done = search.fathoms("run", "--resume")
    assert done.returncode == 0, done.stderr
    assert "tiny: retrieval only (4 questions, 0 failed)" in done.stdout
    counts = json.loads((run / "summary.json").read_text())["counts"]
    assert (counts["searched"], counts["errors"], counts["unanswered"]) == (4, 0, 0)


def test_what_makes_no_sense_is_refused(
    search: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(search.path)
    search.write(
        "outside.yaml", "data: {questions: questions.json, documents: pdfs}\npipeline: {kind: python}"
    )
    no_model = "asks no model for answers: leave out"
    for arguments, message in (
        (
            ["search.yaml", "--matrix", "generate.model=a,b"],
            f"{no_model} generate.model",
        ),
        (["search.yaml", "--model", "a"], f"{no_model} --model"),
        (["search.yaml", "--set", "retrieve={kind: none}"], "kind 'none' searches for nothing"),
        (["outside.yaml"], "outside.yaml:2:1: --retrieval-only searches with the stages of fathoms"),
    ):
        assert main(["run", "--retrieval-only", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_language_model_that_reranks_is_asked(search: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(search.path)
    # every passage has the grade 0 but that about the door, which is the second page of varn.pdf
    grades = "{kind: scripted, replies: {painted green: '9'}, default: '0'}"
    reranked = f"retrieve={{kind: rerank, first: {{kind: bm25}}, by: {{kind: llm, generate: {grades}}}}}"
    (search.path / "search.yaml").write_text(
        SEARCH.replace("questions.json", "questions.jsonl").replace("dense, top_k: 1", "bm25")
    )
    assert main(["run", "--retrieval-only", "search.yaml", "--set", reranked]) == 0
    (run,) = search.runs()
    records = [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
    one_record = next(record for record in records if record["question"]["text"].startswith("Which colour"))
    assert {call["purpose"] for call in one_record["calls"]} == {"rerank"}
    assert one_record["hits"][0]["chunk"]["pages"] == [2]
    assert one_record["timings"]["rerank"] > 0
    assert "answer" not in one_record


@pytest.mark.long
@pytest.mark.slow
def test_a_matrix_of_retrievers_on_the_sample_prints_one_table(tmp_path: Path) -> None:
    project = Project(tmp_path, cache=None)
    project.write("search.yaml", "data: sample\nchunk: {kind: sentence, size: 96, overlap: 0}\n")
    both = "retrieve={kind: dense, top_k: 20},{kind: bm25, top_k: 20}"
    done = project.fathoms("run", "--retrieval-only", "search.yaml", "--matrix", both, "--limit", "20")
    assert done.returncode == 0, done.stderr
    assert "most at the" in done.stdout
    done = project.fathoms("report", *(run.name for run in project.runs()), "--all")
    assert done.stdout.count("recall@1 ") == 1  # the head of the one table
    dense, bm25 = project.runs()
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("dense (", "bm25 ("))]
    for run, row in zip((dense, bm25), rows[:2], strict=True):  # the others are those of tokens
        found = recall(run)
        assert [f"{found[k]:.2f}" for k in (1, 3, 5)] == [cell for cell in row if cell[0] in "01"][:3]
        assert 0 < found[1] < found[10] <= 1
        summary = json.loads((run / "summary.json").read_text())
        retrieval = summary["retrieval"]
        # the curve is computed on its own, and the metric by ir-measures
        figure, point = summary["metrics"]["recall@10"]["overall"], retrieval["curves"]["by_rank"][9]
        assert [point[key] for key in ("value", "low", "high")] == pytest.approx(
            [figure[key] for key in ("value", "low", "high")], abs=1e-12
        )
        assert (point["k"], point["n"]) == (10, figure["n"])
        assert retrieval["seconds"]["value"] > 0
        assert retrieval["seconds"]["blocks"] == 2
        tokens = retrieval["curves"]["by_tokens"]
        assert tokens[-1]["value"] >= tokens[0]["value"]
    compared = project.fathoms("compare", dense.name, bm25.name, "--all")
    assert compared.returncode == 0, compared.stderr
    assert "recall@10" in compared.stdout
    assert "Mean of the questions" in compared.stdout
    assert compared.stdout.count("hit@1 ") == 1  # not compared, and in the table by modality


def test_how_deep_a_search_must_go() -> None:
    def hit(rank: int, document: str, *pages: int) -> Hit:
        return Hit(chunk=Chunk(id=str(rank), document=document, pages=pages), score=1 / rank, rank=rank)

    row = [hit(1, "a", 1), hit(2, "a", 1), hit(3, "a", 2), hit(4, "a"), hit(5, "b", 1)]
    assert Depth(2).cut(row, 1) == 3  # two chunks of page 1 are one page
    assert Depth(2).cut(row, 4) == 4  # never fewer than top_k
    assert Depth(3).cut(row, 1) == 4  # a chunk whose page is not known is a page of its own
    assert Depth(2, documents=True).cut(row, 1) == 5
    assert Depth(9).cut(row, 1) is None
