"""A project of version 0.1.0 goes on with this version: runs, cache, configs, questions, ratings, baseline
and the state of a sequential gate. `made_by_0_1_0` was made with that version, by

    fathoms run tiny.yaml; fathoms gate latest --save-baseline baseline.json; fathoms run lost.yaml
    fathoms gate lost --baseline baseline.json --sequential; fathoms review tiny --sample 2 --reviewer ann

and has no reports, which can be written again.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fathoms import __version__
from tests.support.project import Project

RESULT = Path(__file__).with_name("made_by_0_1_0")
OLD = "20261127T160816347Z_tiny_7be6d59d"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after its first run with this version."""
    folder = tmp_path_factory.mktemp("upgrade") / "project"
    shutil.copytree(RESULT, folder)
    project = Project(folder)
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    return project


def test_the_same_answers_get_the_same_figures(project: Project) -> None:
    done = project.fathoms("ls")
    assert done.stdout.count("0.25           0.75  3") == 2, done.stdout
    new = project.runs()[-1]
    manifest = json.loads((new / "manifest.json").read_text())
    assert manifest["versions"]["fathoms"] == __version__ != "0.1.0"


def test_what_the_cache_has_is_used(project: Project) -> None:
    """The embedded chunks and the index have the same keys as then."""
    found = []
    for one in (RESULT, project.path):
        address = f"file:{one}/cache/cache.sqlite?mode=ro&immutable=1"  # which leaves no file beside it
        with closing(sqlite3.connect(address, uri=True)) as table:
            keys = {key for (key,) in table.execute("select key from sealed where kind = 'embedding'")}
        found.append(keys | {path.name for path in (one / "cache/indexes").iterdir()})
    assert found[0]
    assert found[0] <= found[1]


@pytest.mark.parametrize(
    "arguments",
    [("show", "lost"), ("report", OLD), ("compare", OLD, "lost"), ("trends", "tiny"), ("score", OLD)],
)
def test_old_runs_are_read(project: Project, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shutil.copytree(RESULT, tmp_path / "project")
    done = Project(tmp_path / "project").fathoms(*arguments)
    assert done.returncode == 0, done.stderr
    if arguments[0] == "report":
        written = (tmp_path / "project/runs" / OLD / "report.md").read_text()
        assert "Reviewers: ann." in written  # what people said then


def test_a_night_goes_on_after_the_commands_that_are_printed(project: Project) -> None:
    """Other rules recognise abstentions now, so the baseline is scored and saved again, as the gate says."""
    refused = project.fathoms("gate", "latest", "--baseline", "baseline.json", "--sequential")
    assert refused.returncode == 1
    said = " ".join(refused.stderr.split())
    commands = re.search(r"run (fathoms score .+), and save the baseline again: (fathoms gate .+)", said)
    assert commands is not None, said
    for command in commands.groups():
        done = project.fathoms(*shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr
    state = project.fathoms("gate", "latest", "--baseline", "baseline.json", "--sequential")
    assert "baseline.sequential.json belongs to another baseline" in " ".join(state.stderr.split())
    (project.path / "baseline.sequential.json").unlink()
    assert project.fathoms("run", "tiny.yaml").returncode == 0  # the next night has the same rules
    for more in ([], ["--sequential"]):
        done = project.fathoms("gate", "latest", "--baseline", "baseline.json", "--margin", "0.9", *more)
        assert done.returncode in (0, 2), done.stderr
        assert "judged by different rules" not in done.stderr
