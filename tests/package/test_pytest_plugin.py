"""The plugin for pytest: real pytest processes, with a scripted model whose scores are worked out by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.doc_pages import blocks
from tests.support.project import CONFIG, Project

ROOT = Path(__file__).parents[2]
# One of the two questions on text is answered ("41.5"), the one on a table is not. The mean of the categories
# is therefore (0.5 + 0) / 2 = 0.25. All answers but the right one are statements, and so hallucinations:
# (0.5 + 1) / 2 = 0.75. The context of both questions on text says "tall", so both get that reply.
SHOWN = next(block.text for block in blocks("python") if block.file == "test_answers.py")
MORE = """
def test_enough(fathoms_gate):
    assert fathoms_gate(fathoms.find("mine"), correctness=0.25, hallucination=0.75).verdict == "PASS"

def test_a_metric_that_nobody_knows(fathoms_gate):
    fathoms_gate(fathoms.find("mine"), corectness=0.6)

def test_without_a_limit(fathoms_gate):
    fathoms_gate(fathoms.find("mine"))
"""


def run_pytest(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user would; the plugin is named, so that no installation is needed."""
    environment = {
        **os.environ,
        "FATHOMS_CACHE_DIR": str(project.path / "cache"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "pytest", "-p", "fathoms.pytest_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *arguments], cwd=project.path, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_checks_pass_and_fail_with_what_a_reader_needs(project: Project) -> None:
    (project.path / "configs").mkdir()
    place = f"{{questions: {project.path}/questions.json, documents: {project.path}/pdfs}}"
    project.write("configs/mine.yaml", re.sub("data: .*", f"data: {place}", CONFIG).replace("tiny", "mine"))
    for arguments in (["run", "configs/mine.yaml"], ["gate", "mine", "--save-baseline", "baseline.json"]):
        assert project.fathoms(*arguments).returncode == 0
    project.write("test_answers.py", SHOWN + MORE)
    done = run_pytest(project, "-q", "--junit-xml", "out.xml")
    said = done.stdout
    assert done.returncode == 1, said + done.stderr
    assert "4 failed, 2 passed in" in said, said  # and no warning
    first = project.runs()[1]
    assert f"{first.name}: correctness 0.25 (3 questions), at least 0.6: FAIL\n" in said
    assert "at least 0.6: FAIL, 95 % interval [0.01, 0.88]\n" in said
    assert "hallucination 0.75 (4 questions), at most 0.8: PASS, 95 % interval [0.25, 0.99]\n" in said
    assert "worst questions by correctness:" in said
    assert "(0.00): Which colour is the Varn door?" in said
    assert "gold:   green" in said
    assert "answer: The Varn tower is 41.5 m tall." in said
    assert f"run: {first}\n" in said
    assert "no metric 'corectness' (did you mean 'correctness'?)" in said
    assert "nothing to judge by: name the wanted value of a metric" in said
    assert "Traceback" not in said
    properties = ET.parse(project.path / "out.xml").iter("property")
    lines = [each.get("value", "") for each in properties if each.get("name") == "fathoms"]
    (passed,) = [
        line for line in lines if line.endswith("correctness 0.25 (3 questions), at least 0.25: PASS")
    ]
    assert said.count(passed) == 1  # at the end


@pytest.mark.slow
def test_options_of_the_command_line(project: Project) -> None:
    project.write("tiny.yaml", f"{CONFIG}gate: {{min: {{correctness: 0.5}}}}\n")
    check = (
        "def test_one(fathoms_gate):\n    assert fathoms_gate('tiny.yaml', questions=[]).verdict == 'PASS'\n"
    )
    project.write("test_one.py", check)
    # the first question of each category: one right answer and one wrong one, and the section asks for 0.5
    done = run_pytest(project, "--fathoms-out", "elsewhere", "--fathoms-limit", "2")
    assert done.returncode == 0, done.stdout
    (result,) = (project.path / "elsewhere").glob("*_tiny_*")
    assert f"{result.name}: correctness 0.50 (2 questions), at least 0.5: PASS" in done.stdout
    assert not (project.path / "runs").exists()


@pytest.mark.slow
def test_pytest_that_does_not_use_it_imports_nothing_of_fathoms(project: Project) -> None:
    check = "import sys\ndef test_it():\n    assert [m for m in sys.modules if m.startswith('fathoms')] == "
    project.write("test_it.py", f"{check}['fathoms', 'fathoms.pytest_plugin']\n")
    done = run_pytest(project)
    assert done.returncode == 0, done.stdout
    assert "fathoms_gate" in run_pytest(project, "--fixtures").stdout


def test_pytest_finds_the_plugin_by_itself() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert points == {"fathoms": "fathoms.pytest_plugin"}
