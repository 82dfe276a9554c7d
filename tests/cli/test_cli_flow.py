"""The main job from the shell, on a project of one's own: ingest, run, score, report, show, ls."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from fathoms.cli import main
from fathoms.pdf.finishing import unread_pages
from tests.support import damage
from tests.support.project import CONFIG, Project
from tests.support.schemas import schema

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

VERBS = (
    "init",
    "ingest",
    "run",
    "score",
    "report",
    "compare",
    "gate",
    "reproduce",
    "review",
    "agree",
    "cache",
    "validate",
    "doctor",
    "ls",
    "show",
    "import",
    "data",
    "models",
)


def test_one_question_is_one(project: Project) -> None:
    (first,) = json.loads((project.path / "questions.json").read_text())["Text-Only"][:1]
    project.write("questions.json", json.dumps({"Text-Only": [first]}))
    assert project.fathoms("run", "tiny.yaml").stderr == "tiny: 1 question, data set questions\n"


def test_the_whole_flow(project: Project) -> None:
    first = project.fathoms("ingest", "tiny.yaml")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("2 documents, 3 pages, ")
    assert "in the cache already" in project.fathoms("ingest", "tiny.yaml").stdout

    done = project.fathoms("run", "tiny.yaml", fresh=True)
    assert (done.returncode, done.stderr) == (0, "tiny: 4 questions, data set questions\n")
    assert "correctness" in done.stdout
    (run,) = project.runs()

    # by hand: Text-Only (1 + 0) / 2, Tables 0 / 1 (the other question has no answer), macro 0.25
    (row,) = project.json("report", "tiny")
    assert row["run"] == run.name
    assert (row["name"], row["model"], row["profile"]) == ("tiny", "scripted", "fathoms")
    assert row["overall"]["correctness"] == 0.25
    assert row["overall"]["micro_correctness"] == pytest.approx(1 / 3)
    assert (row["overall"]["n"], row["overall"]["errors"]) == (3, 0)
    assert {name: (c["correctness"], c["n"]) for name, c in row["categories"].items()} == {
        "Text-Only": (0.5, 2),
        "Tables": (0.0, 1),
    }

    view = project.json("show", "latest", "--question", "text-only-01")
    answer = view["repeats"][0]
    assert answer["answer"]["text"] == "The Varn tower is 41.5 m tall."
    assert (answer["hits"][0]["document"], answer["hits"][0]["pages"]) == ("varn.pdf", [1])
    assert answer["scores"]["fathoms"]["correctness"] == 1.0
    assert [entry["run"] for entry in project.json("ls")] == [run.name]


def test_how_much_of_the_gold_two_parsers_keep(project: Project) -> None:
    """By hand: both pages hold their answers; `max_pages: 1` loses the door's colour (page 2)."""
    project.write("cut.yaml", CONFIG.replace("name: tiny", "name: cut\ningest: {kind: pdfium, max_pages: 1}"))
    done = project.fathoms("ingest", "tiny.yaml", "cut.yaml", "--recall")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny:"
    rows = [line.split() for line in lines[-4:]]
    assert rows[0] == ["tiny", "1.00", "(3)", "1.00", "(2)", "1.00", "(1)"]
    assert rows[1] == ["cut", "0.75", "(3)", "0.50", "(2)", "1.00", "(1)"]
    assert lines[-2] == "tiny: not counted: 1 unanswerable; chance that another document holds it: 0.00"

    tiny, cut = project.json("ingest", "tiny.yaml", "cut.yaml", "--recall")
    assert (tiny["recall"]["missed"], cut["recall"]["missed"]) == ({}, {"text-only-02": ["green"]})


def test_what_is_written_fits_its_schema(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    (run,) = project.runs()
    for name in ("manifest", "summary"):
        jsonschema.validate(json.loads((run / f"{name}.json").read_text()), schema(name))
    questions = list((run / "questions").glob("*.json"))
    assert len(questions) == 4
    for path in questions:
        jsonschema.validate(json.loads(path.read_text()), schema("question"))
    for name in (
        "README.md",
        "report.html",
        "report.md",
        "report.json",
        "scores.csv",
        "table.tex",
    ):
        assert (run / name).stat().st_size > 0
    assert not list(run.glob("radar-*"))
    assert project.fathoms("report", "latest").returncode == 0
    for name in ("radar-correctness.png", "radar-hallucination.svg"):
        assert (run / name).stat().st_size > 0


def test_scoring_again_gives_the_same_bytes(project: Project) -> None:
    project.fathoms("run", "tiny.yaml")
    (run,) = project.runs()
    before = {path: path.read_bytes() for path in run.rglob("*.json")}
    assert project.fathoms("score", "tiny", fresh=True).returncode == 0  # hashes strings differently
    assert {path: path.read_bytes() for path in run.rglob("*.json")} == before
    assert project.fathoms("score", "tiny", "--profile", "paper-by-words").returncode == 0
    assert json.loads((run / "summary.json").read_text())["profile"] == "paper-by-words"


def test_no_score_then_score(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "--no-score")
    (run,) = project.runs()
    assert done.stdout.strip() == f"runs/{run.name}"
    assert not (run / "summary.json").exists()
    shown = project.fathoms("show", "latest", "--question", "tables-01", "--json")
    assert json.loads(shown.stdout)["repeats"][0]["scores"] == {}
    assert not (run / "questions").exists()
    assert project.fathoms("score", "latest").returncode == 0
    assert (run / "summary.json").exists()
    assert (run / "questions" / "tables-01.json").exists()


def test_selections(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "--limit", "2")
    assert done.returncode == 0
    wanted = {path.stem for path in (project.runs()[-1] / "questions").iterdir()}
    assert wanted == {"text-only-01", "tables-01"}
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert (summary["complete"], summary["counts"]["asked"]) == (False, 2)
    wrong = project.fathoms("run", "tiny.yaml", "--category", "Tabels")
    assert wrong.returncode == 2
    assert "did you mean 'Tables'" in wrong.stderr


def test_two_runs_of_a_name_show_the_change(project: Project) -> None:
    project.fathoms("run", "tiny.yaml")
    better = project.fathoms("run", "tiny.yaml", "--set", "generate.replies.What does ore=17 crowns")
    assert "+0.50" in better.stdout
    assert "Change since tiny of " in better.stdout


def test_a_failed_question_is_a_failure(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "--set", "generate.fail_on={What does ore: it is on fire}")
    assert done.returncode == 1
    assert "it is on fire" in done.stdout
    summary = json.loads((project.runs()[0] / "summary.json").read_text())
    assert summary["counts"]["errors"] == 1
    figures = summary["profiles"]["fathoms"]
    assert figures["categories"]["Tables"]["correctness"] == 0.0
    # two with an answer and the one without; the failed call is left out
    assert figures["overall"]["hallucination_n"] == 3
    allowed = project.fathoms(
        "run", "tiny.yaml", "--set", "generate.fail_on={What does ore: fire}", "--fail-on-error", "25%"
    )
    assert allowed.returncode == 0


def test_an_interrupt_keeps_what_was_answered(project: Project) -> None:
    slow = ["-j", "1", "--set", "generate.latency=1.5"]
    process = project.start("run", "tiny.yaml", *slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for(lambda: any((project.path / "runs").glob("*/journal.jsonl")))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    (run,) = project.runs()
    count = len((run / "journal.jsonl").read_text().splitlines())
    assert f"stopped: {count} of 4 questions are in" in stderr
    assert 0 < count < 4
    assert json.loads((run / "summary.json").read_text())["complete"] is False


def _wait_for(condition: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_an_unreadable_document_is_fatal_or_named(project: Project) -> None:
    (project.path / "pdfs" / "lune.pdf").write_bytes(b"this is no PDF")
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 1
    assert "lune.pdf" in done.stderr
    assert not project.runs()
    skipped = project.fathoms(
        *("run", "tiny.yaml", "--set", "ingest.kind=pdfium", "--set", "ingest.on_error=skip"),
        *("--junit", "junit.xml"),
    )
    # both questions on it fail, and are not asked: the others have their answers
    assert skipped.returncode == 1
    last = skipped.stdout.splitlines()[-1]
    assert "(4 questions, 2 failed, not read: lune.pdf)" in last
    assert last.endswith("FAILED")
    assert 'errors="1"' in (project.path / "junit.xml").read_text()  # of the category with both
    allowed = ("--retrieval-only", "--fail-on-error", "2")
    for options, code in ((allowed[:1], 1), (allowed, 0)):
        done = project.fathoms("run", "tiny.yaml", "--set", "ingest.on_error=skip", *options)
        assert done.returncode == code
    shallow = project.fathoms("run", "tiny.yaml", "--set", "retrieve={kind: none}")
    assert shallow.returncode == 0  # a model that is shown nothing needs no document
    manifest = json.loads((project.runs()[0] / "manifest.json").read_text())
    assert list(manifest["data"]["ingest"]["failures"]) == ["lune.pdf"]
    assert (
        project.fathoms(
            "ingest", "tiny.yaml", "--set", "ingest.kind=pdfium", "--set", "ingest.on_error=skip"
        ).returncode
        == 1
    )


def test_a_gold_page_beyond_the_pages_that_are_read_fails_its_question(project: Project) -> None:
    questions = json.loads((project.path / "questions.json").read_text())
    for page, row in enumerate(questions["Text-Only"], 1):
        row["evidence"] = [{"document": "varn.pdf", "page": page}]
    project.write("questions.json", json.dumps(questions))
    done = project.fathoms("run", "tiny.yaml", "--set", "ingest.max_pages=1")
    assert (done.returncode, "4 questions, 1 failed" in done.stdout) == (1, True)
    assert "varn.pdf: page 2 is not read (ingest.max_pages is 1)" in " ".join(done.stdout.split())


@pytest.mark.parametrize("options", [(), ("--retrieval-only",)])
def test_a_gold_page_that_is_lost_in_its_document_fails_its_question(
    project: Project, options: tuple[str, ...]
) -> None:
    """The second of three pages is damaged: the question on it is not asked and named."""
    (project.path / "pdfs" / "gap.pdf").write_bytes(damage.build(damage.objects(3) | {6: b"42"}))
    rows = [
        {"question": f"{n}?", "files": ["gap.pdf"], "evidence": [{"document": "gap.pdf", "page": n}]}
        for n in (1, 2, 3)
    ]
    project.write("questions.json", json.dumps({"Text": [{**row, "answers": [["x"]]} for row in rows]}))
    done = project.fathoms("run", "tiny.yaml", *options)
    said = " ".join(done.stdout.split())
    assert (done.returncode, "3 questions" in said, "1 failed" in said) == (1, True, True), done.stdout
    assert "gap.pdf: page 2 could not be read" in said
    assert unread_pages(["page 7 could not be read", "pages 2, 5-9 could not be read", "a scan"]) == [
        *(range(7, 8), range(2, 3), range(5, 10))
    ]


def test_an_output_folder_that_cannot_be_written(project: Project) -> None:
    project.write("blocked", "")
    done = project.fathoms("run", "tiny.yaml", "--out", "blocked")
    assert done.returncode == 1
    assert "blocked" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_on_two_runs(project: Project) -> None:
    project.fathoms("run", "tiny.yaml")
    project.write("other.yaml", (project.path / "tiny.yaml").read_text().replace("name: tiny", "name: other"))
    project.fathoms("run", "other.yaml")
    done = project.fathoms("report", "tiny", "other", "--to", "both")
    assert done.returncode == 0, done.stderr
    text = (project.path / "both" / "report.md").read_text()
    assert "tiny" in text
    assert "other" in text
    assert len(json.loads((project.path / "both" / "report.json").read_text())) == 2


def test_scores_that_a_run_does_not_have(project: Project) -> None:
    project.fathoms("run", "tiny.yaml")
    done = project.fathoms("report", "tiny", "--scores", "released")
    assert done.returncode == 1
    assert "fathoms" in done.stderr


def test_validate_fills_in_the_defaults(project: Project) -> None:
    config = project.json("validate", "tiny.yaml")
    assert config["retrieve"] == {
        "kind": "dense",
        "query": "{question}",
        "top_k": 1,
        "store": {"kind": "numpy"},
    }
    assert (
        "# 4 questions (Text-Only 2, Tables 2) on 2 documents"
        in project.fathoms("validate", "tiny.yaml").stdout
    )


def test_importing_answers(project: Project) -> None:
    rows = [
        {
            "id": "text-only-01",
            "answer": "41.5 m",
            "contexts": [{"text": "x", "document": "varn.pdf", "page": 1}],
        },
        {"question": "What does ore cost in Lune?", "answer": "17 crowns"},
        {"id": "nonsense-09", "answer": "?"},
    ]
    project.write("answers.jsonl", "\n".join(map(json.dumps, rows)))
    arguments = ("import", "answers", "answers.jsonl", "--questions", "questions.json", "--name", "mine")
    done = project.fathoms(*arguments)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "mine: 2 of 4 questions: PARTIAL")
    assert "nonsense-09" in done.stderr
    done = project.fathoms(*arguments, "--partial")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "mine: 2 of 4 questions: OK")
    (row,) = project.json("report", "mine")
    assert (row["overall"]["correctness"], row["overall"]["n"]) == (1.0, 2)


def test_a_run_without_some_documents_is_partial(project: Project) -> None:
    (project.path / "pdfs" / "lune.pdf").unlink()
    project.write("tiny.yaml", CONFIG.replace("documents: pdfs", "documents: pdfs, missing: skip"))
    done = project.fathoms("run", "tiny.yaml", "--junit", "night.xml")
    assert done.returncode == 1
    assert re.search(r"\(2 of 4 questions, 0 failed\), .*: PARTIAL$", done.stdout.splitlines()[-1])
    assert "--partial accepts that" in done.stderr
    said = (project.path / "night.xml").read_text()
    assert 'type="partial" message="2 of 4 questions were left out because documents' in said
    done = project.fathoms("run", "tiny.yaml", "--partial")
    assert (done.returncode, done.stdout.splitlines()[-1][-4:]) == (0, ": OK")
    # who asks for some questions misses none
    done = project.fathoms("run", "tiny.yaml", "--category", "Text-Only", "--limit", "1")
    assert (done.returncode, done.stdout.splitlines()[-1][-4:]) == (0, ": OK")


def test_the_working_directory_is_no_password(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", str(project.path))
    done = project.fathoms("run", "tiny.yaml", "--out", str(project.path / "elsewhere"))
    assert f"--out {project.path}/elsewhere" in done.stdout


def test_every_verb_has_help(project: Project) -> None:
    for verb in VERBS:
        done = project.fathoms(verb, "--help")
        assert done.returncode == 0
        assert "Usage:" in done.stdout


def test_help_imports_nothing_heavy(project: Project) -> None:
    code = "import sys, fathoms.cli\nfathoms.cli.main(['--help'])\nprint(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    for heavy in (
        "numpy",
        "scipy",
        "pydantic",
        "rich.console",
        "httpx",
        "matplotlib",
        "yaml",
        "llama_index",
        "pypdfium2",
    ):
        assert f"'{heavy}'" not in loaded


def test_debug_shows_the_traceback(project: Project) -> None:
    assert "Traceback" not in project.fathoms("validate", "nothing.yaml").stderr
    done = project.fathoms("--debug", "validate", "nothing.yaml")
    assert "Traceback" in done.stderr
    assert done.returncode == project.fathoms("validate", "nothing.yaml").returncode == 2


def test_a_run_needs_no_network_and_names_no_key(project: Project, tmp_path: Path) -> None:
    project.fathoms("run", "tiny.yaml")
    (run,) = project.runs()
    assert "://" not in (run / "manifest.json").read_text()


def test_two_interrupts_stop_at_once(project: Project) -> None:
    log = project.path / "log.jsonl"
    slow = ["--set", "generate.latency=600", "--log-file", str(log)]
    process = project.start("run", "tiny.yaml", *slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for(lambda: log.is_file() and "run-started" in log.read_text())
    time.sleep(1)  # so that the questions are in flight
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("interrupt again" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopped: 0 of 4 questions" in stderr


def test_documents_that_were_left_out_are_named_and_the_run_is_not_complete(project: Project) -> None:
    (project.path / "pdfs" / "lune.pdf").write_bytes(b"this is no PDF")
    done = project.fathoms("run", "tiny.yaml", "--set", "ingest.on_error=skip")
    assert "not read: lune.pdf" in done.stdout
    summary = json.loads((project.runs()[0] / "summary.json").read_text())
    assert summary["complete"] is False
    assert "lune.pdf" in (project.runs()[0] / "report.md").read_text()


def test_another_runs_damage_spoils_nothing(project: Project) -> None:
    project.fathoms("run", "tiny.yaml")
    (project.runs()[0] / "summary.json").write_text("{")
    (project.path / "runs" / "zzz").mkdir()
    (project.path / "runs" / "zzz" / "manifest.json").write_text("{")
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    listed = project.fathoms("ls")
    assert listed.returncode == 0
    assert listed.stderr.count("cannot be read") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["report", "nothing"], 2, "available: tiny"),
        (["report", "tiny~5"], 2, "holds 1 of 'tiny'"),
        (["report", "tiny", "--to", "tiny.yaml"], 1, "cannot be"),
        (["report", "tiny", "--scores", "papre"], 2, "did you mean 'paper'"),
        (["show", "tiny", "--question", "text-only-1"], 2, "did you mean 'text-only-01'"),
        (["show", "x" * 5000], 2, "no run"),
        (["ls", "--out", "nowhere"], 2, "nowhere"),
        (["run", "tiny.yaml", "--fail-on-error", "some"], 2, "--fail-on-error some"),
        (["run", "tiny.yaml", "--set", "generate"], 2, "expected KEY=VALUE"),
        (["import", "answers", "none.jsonl", "--questions", "questions.json"], 2, "none.jsonl"),
        (["data", "pull", "smaple"], 2, "did you mean 'sample'"),
        (["data", "verify", "nope"], 2, "nope"),
        (["models", "pull", "smollm"], 2, "smollm2-135m"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_mistakes_are_named(
    project: Project,
    arguments: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project.path)
    assert main(["run", "tiny.yaml"]) == 0
    capsys.readouterr()
    assert main(arguments) == code
    printed = capsys.readouterr().err
    assert said in printed
    assert "defect" not in printed
