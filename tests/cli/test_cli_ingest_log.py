"""How far parsing is: a JSON line per document, and a remark in the progress."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import time

import pytest

from fathoms.cli import main
from fathoms.cli.ingest import ParsingRemark
from fathoms.errors import DocumentError
from fathoms.pipeline.parsed_documents import ParseEvents
from fathoms.runs.events import heard
from tests.support.project import Project, write_pdf


@pytest.mark.slow
def test_each_document_is_a_line_that_says_how_far_the_corpus_is(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    (project.path / "pdfs" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    code = main(["ingest", "tiny.yaml", "--set", "ingest.on_error=skip", "--log-file", "log.jsonl"])
    assert code == 1
    capsys.readouterr()
    lines = [json.loads(line) for line in (project.path / "log.jsonl").read_text().splitlines()]
    assert {(line["document"], line["event"], line["level"]) for line in lines} == {
        ("varn.pdf", "document-parsed", "info"),
        ("lune.pdf", "document-parsed", "info"),
        ("broken.pdf", "document-failed", "warning"),
    }
    assert [(line["done"], line["left"]) for line in lines] == [(1, 2), (2, 1), (3, 0)]
    last = lines[-1]
    assert last["failed"] == 1
    assert last["per_second"] > 0
    most = max(line["seconds"] for line in lines)
    slowest = {line["document"] for line in lines if line["seconds"] == most}  # there may be ties
    assert last["slowest"] in slowest
    assert last["slowest_seconds"] == most
    (failed,) = [line for line in lines if line["event"] == "document-failed"]
    assert failed["kind"] == "damaged"
    assert "is damaged beyond what PDFium can repair" in failed["error"]


WAITING = """\
import time
from pathlib import Path


def read(path, options):
    time.sleep(0.1)
    while Path(path).stem > "25" and not Path("go-on").exists():
        time.sleep(0.05)
    return {"pages": [{"text": path}]}
"""


@pytest.mark.slow
def test_what_was_told_as_parsed_is_kept_though_the_command_is_killed(project: Project) -> None:
    """Documents are stored several together, so that some may wait when others are told."""
    for number in range(38):
        write_pdf(project.path / "pdfs" / f"{number}.pdf", [f"Page of {number}."])
    project.write("reader.py", WAITING)
    own = ["--set", "ingest.kind=python", "--set", "ingest.target=reader"]
    log = project.path / "log.jsonl"
    command = ["ingest", "tiny.yaml", *own, "--log-file", str(log)]
    with project.start(*command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n")):
            time.sleep(0.005)
        process.kill()
    first = {json.loads(line)["document"] for line in log.read_text().splitlines()}
    assert process.returncode == -signal.SIGKILL
    assert 1 <= len(first) < 40
    log.unlink()
    (project.path / "go-on").touch()
    assert project.fathoms(*command).returncode == 0
    again = [json.loads(line)["document"] for line in log.read_text().splitlines()]
    assert len(again) == len(set(again))
    assert first.isdisjoint(again)
    assert len(first) + len(again) <= 40


def test_the_progress_names_failures_and_the_slowest_document() -> None:
    remark = ParsingRemark()
    events = ParseEvents(total=9, done=2)
    with heard(remark):
        assert remark.text == ""
        events.tell("a.pdf", DocumentError("a.pdf", "crash", "is bad"), 0.04)
        assert remark.text == "1 failed, slowest a.pdf (0.0 s)"
        events.tell("b.pdf", DocumentError("b.pdf", "timeout", "is slow"), 12.34)
        logging.getLogger("fathoms.run").info("something else")
    assert remark.text == "2 failed, slowest b.pdf (12.3 s)"
