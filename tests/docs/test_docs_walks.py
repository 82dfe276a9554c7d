"""The pages that are followed step by step: every file of them is written, every command run, in order."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fathoms.models import Embedded, OnnxEmbedder
from tests.extras.questions.building import recipe, scripted
from tests.extras.questions.test_build_facts import PAGES as FACT_PAGES
from tests.extras.questions.test_build_facts import PATTERNS
from tests.support.doc_pages import DOCS, ROOT, SETS_UP, blocks_of, words
from tests.support.forked import run_forked, write_command
from tests.support.ports import free_port, wait_for
from tests.support.project import write_pdf


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One command as its reader would run it, with the checkout's fathoms."""
    first, *rest = words(command.removeprefix(".venv/bin/"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    if first == "fathoms":
        return run_forked(rest, folder, environment, timeout=300)
    program = sys.executable if first == "python" else first
    return subprocess.run(
        [program, *rest], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def walk(
    page: Path,
    folder: Path,
    shorter: Mapping[str, str] | None = None,
    replaced: Mapping[str, str] | None = None,
    chapter: str | None = None,
) -> list[str]:
    """Do what a page, or a chapter of it, says; returns what its commands printed. A `cd` holds for what
    follows.

    `shorter` are options that make the runs of a configuration quick, by its name; `replaced` are texts that
    its files have instead of others.
    """
    printed = []
    for block in blocks_of(page, chapter):
        if block.file is not None:
            text = block.text
            for shown, other in (replaced or {}).items():
                text = text.replace(shown, other)
            (folder / block.file).write_text(text)
        for command, code in block.commands if block.language == "bash" else ():
            if command.startswith("cd "):
                folder = folder / words(command)[1]
            elif not command.startswith(SETS_UP):
                done = run(command + _shorter(command, shorter or {}), folder)
                assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
                printed.append(done.stdout)
    return printed


def _shorter(command: str, options: Mapping[str, str]) -> str:
    """What makes a run quick that asks a model."""
    asks = command.startswith(("fathoms run", "fathoms build")) and "scripted" not in command
    return "".join(f" {text}" for name, text in options.items() if asks and name in command)


def write_tower(folder: Path) -> None:
    """A PDF whose gold phrase is cut in two by the end of a line, and a question about it."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(folder / "varn.pdf"), invariant=True)
    text = canvas.beginText(72, 720)
    for line in ("The Varn tower is 41.5 m tall. It is built of lime-", "stone."):
        text.textLine(line)
    canvas.drawText(text)
    canvas.save()
    questions = [
        {"question": "How tall is the Varn tower?", "files": ["varn.pdf"], "answers": [["41.5"]]},
        {"question": "What is the Varn tower built of?", "files": ["varn.pdf"], "answers": [["limestone"]]},
    ]
    (folder / "questions.json").write_text(json.dumps(questions))


@pytest.mark.slow
def test_following_extending_works(tmp_path: Path) -> None:
    """As a third party: the files of the page are all there is."""
    (tmp_path / "pdfs").mkdir()
    write_tower(tmp_path / "pdfs")
    shutil.move(tmp_path / "pdfs" / "questions.json", tmp_path)
    (tmp_path / "lighthouses").mkdir()
    write_tower(tmp_path / "lighthouses")
    (tmp_path / "harbour").mkdir()  # a package of one's own, which another test installs
    recall, ran, validated, lighthouses, scored, shown = walk(DOCS / "extending.md", tmp_path)
    assert "1.00 (2)" in recall  # with the words put together, both answers are there
    assert "correctness 1.00" in ran.splitlines()[-1]
    assert "name: lighthouses.yaml" in validated
    assert "correctness 0.50" in lighthouses.splitlines()[-1]
    assert re.search(r"metric +brief\nlighthouses +1.00 \[0.22, 1.00\]\n", scored)
    figures = json.loads(shown)[0]["metrics"]["brief"]["overall"]
    assert (figures["value"], round(figures["low"], 2), figures["n"]) == (1, 0.22, 2)


@pytest.mark.slow
def test_following_judges_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "pdfs").mkdir()
    write_tower(tmp_path / "pdfs")
    shutil.move(tmp_path / "pdfs" / "questions.json", tmp_path)
    claims = {"The tower has a lift.": "unsupported", "The tower is tall.": "supported"}
    rows = [
        {"claim": text, "premise": "The tower is tall.", "label": label} for text, label in claims.items()
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, shown, scored, graded, checked, agreed, again = walk(DOCS / "metrics.md", tmp_path, chapter="judges")
    assert "never checked against people" in " ".join(shown.split())
    assert "faithfulness" in scored
    assert "correctness-judged" in graded
    assert "warning disagrees" in checked
    assert "2 claims, of which people support 1; 0 without a verdict" in agreed
    assert "faithfulness" in again


@pytest.mark.slow
def test_following_claims_works(tmp_path: Path) -> None:
    """15 questions of the sample corpus, judged by a script, and a file of RAGChecker."""
    ran, released, imported = walk(DOCS / "metrics.md", tmp_path, chapter="claims-of-answers")
    assert "(15 questions, 0 failed, 15 with the same text)" in ran
    assert re.search(r"\nragchecker.precision +0.50 \[0.30, 0.70\]\n", ran)
    every = run("fathoms show claims --only metrics", tmp_path).stdout
    for name in (
        "ragchecker.precision ↑",
        "alce.citation-recall ↑",
        "ragas.context-relevance ↑",
        "extrinsic-hallucination ↓",
        "ragchecker.precision-released ↑",
    ):
        assert f"\n{name}" in every
    # the metrics that a command computes come first
    assert re.search(r"\nmetric .*\nragchecker.precision-released +0.50 \[0.30, 0.70\]\n", released)
    assert re.search(r"\nragchecker.precision +0.50 ", imported)


@pytest.mark.slow
def test_a_set_from_three_pdfs_is_measured_as_the_page_says(tmp_path: Path) -> None:
    """With a scripted model in place of the embedded ones; `test_cli_edit.py` mends questions on the page."""
    sample = ROOT / "data" / "sample"
    (tmp_path / "pdfs").mkdir()
    for name in ("lumet-3-pump-manual", "pelnorite-ceramic", "kestrel-irrigation-trial"):
        shutil.copy(sample / f"{name}.pdf", tmp_path / "pdfs")
    settings = {**recipe(), "model": scripted()}
    options = " ".join(
        f"--set {shlex.quote(f'{key}={json.dumps(value)}')}" for key, value in settings.items()
    )
    shorter = {"set.json": options, "mine.yaml": "--set 'generate={kind: scripted}'"}
    built, checked, ran = walk(DOCS / "building.md", tmp_path, shorter=shorter)
    assert "set.json: 5 questions, version 1" in built
    assert "0 errors" in checked
    assert "5 questions" in ran


@pytest.mark.slow
def test_following_many_documents_computes_questions_and_measures_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "pdfs").mkdir()
    for name, pages in FACT_PAGES.items():
        write_pdf(tmp_path / "pdfs" / name, pages)
    model = {"kind": "scripted", "patterns": PATTERNS, "default": "no"}
    shorter = {"found.csv": f"--set {shlex.quote(f'model={json.dumps(model)}')}"}
    result, found, ran = walk(DOCS / "many-documents.md", tmp_path, shorter)
    assert "found.csv: 12 facts, 3 in doubt" in found
    assert "questions.json: 6 questions" in result
    assert "(20 questions, 0 failed" in ran


SHORTER = {
    "first.yaml": "--limit 1 --set generate.max_tokens=8 --set generate.threads=1",
    "mine.yaml": "--set 'generate={kind: scripted}'",
}


@pytest.mark.slow
def test_following_the_tutorial_prints_what_it_shows(
    tmp_path: Path, smollm: Embedded, minilm: OnnxEmbedder
) -> None:
    """The model of the first run answers one question, a stand-in the later ones.

    What the page shows is printed, but for what the model said.
    """
    printed = walk(DOCS / "tutorial.md", tmp_path, shorter=SHORTER)
    shown = [block.text for block in blocks_of(DOCS / "tutorial.md") if block.language == "text"]
    assert shown[0] in printed
    (recall,) = [text for text in printed if "recall of the gold phrases" in text]
    assert shown[1] in "".join(f"{line.rstrip()}\n" for line in recall.splitlines())
    for line in shown[2].splitlines():
        assert any(line.partition(", cost")[0] in text for text in printed)
    assert printed[-1].count("no difference shown") == 2


@pytest.mark.slow
def test_following_the_gate_goes_through_bad_nights_and_a_repair(tmp_path: Path) -> None:
    """The service of the page is started as the page says; then its `night.sh` runs."""
    port, page = free_port(), DOCS / "gate.md"
    blocks = list(blocks_of(page))
    (source,) = (block.text for block in blocks if block.file == "service.py")
    (tmp_path / "mode").write_text("unchanged\n")
    (tmp_path / "started.py").write_text(source.replace("8642", str(port)))
    service = subprocess.Popen(
        [sys.executable, "started.py"], cwd=tmp_path, stderr=subprocess.DEVNULL, text=True
    )
    try:
        wait_for(port, service)
        printed = walk(page, tmp_path, {"rag.yaml": "--set execution.max_attempts=1"}, {"8642": str(port)})
        (script,) = (block.text for block in blocks if block.text.startswith("#!/bin/bash"))
        (tmp_path / "logs").mkdir()
        (tmp_path / ".venv" / "bin").mkdir(parents=True)
        write_command(tmp_path / ".venv" / "bin")
        lines = script.replace("cd /srv/rag", f"cd {tmp_path}")

        def night() -> subprocess.CompletedProcess[str]:
            return subprocess.run(["bash", "-c", lines], capture_output=True, text=True, timeout=300)

        good = night()
        (tmp_path / "mode").write_text("errors\n")
        bad = night()
        service.kill()
        service.wait()
        down = night()
    finally:
        service.kill()
        service.wait()
    shown = [block.text.splitlines() for block in blocks if block.text.startswith("FAIL  ")]
    *_, half, _, errors, _, repaired, _, flaky = printed
    for found, lines_shown in zip((half, errors), shown, strict=True):
        pairs = zip(
            found.splitlines(), lines_shown, strict=True
        )  # but for ids, which the width of a line rests on
        assert all(one == other or one.startswith("next  fathoms compare 2") for one, other in pairs), found
        assert len(found.splitlines()) <= 8
    assert (
        repaired.splitlines()[1]
        == "why   0 of 12 right answers were lost (p 1.000; FAIL at 5 steady answers)"
    )
    assert "q01" in flaky
    assert good.returncode == 0, good.stderr
    ran, judged = good.stdout.splitlines()
    assert ran.startswith("rag: correctness 0.80 (15 questions, 0 failed), cost not known, ")
    assert judged.startswith("PASS: 0 of 12 right answers lost")
    ran, judged = bad.stdout.splitlines()
    assert (bad.returncode, ran.rpartition(" ")[2]) == (1, "FAILED")
    assert judged == (
        "FAIL: 4 of 15 calls failed (HTTP 500), and at most 2 % may fail; repair the service, then run again"
    )
    mailed = " ".join((down.stdout + down.stderr).split())
    assert (down.returncode, "not finished, connection refused: FAILED" in mailed) == (2, True)
    assert re.search(
        r"no run of rag on the night of .*: no service at 127\.0\.0\.1:\d+.*; run it again", mailed
    )
