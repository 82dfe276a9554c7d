"""The core works without the folder `fathoms/extras/`, and says which commands came with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fathoms import hooks
from tests.package.test_additions import END, EVERYWHERE
from tests.support.project import CONFIG, Project

pytestmark = pytest.mark.slow  # a new interpreter

WORKS = {
    "help": ["--help"],
    "run": ["run", "tiny.yaml"],
    "score": ["score", "latest"],
    "show": ["show", "latest"],
    "report": ["report", "latest"],
    "json": ["report", "latest", "--json"],
}
LOADED = """\
import typer
from fathoms.cli import app

def names(group, above=""):
    for name, command in group.commands.items():
        yield f"{above}{name}"
        yield from names(command, f"{name} ") if hasattr(command, "commands") else ()

said["all"] = [*names(typer.main.get_command(app))]
"""


def test_the_core_works_and_names_what_is_not_installed(project: Project, root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "fathoms"
    copy.mkdir(parents=True)
    for path in (root / "fathoms").iterdir():
        if path.name not in ("extras", "__pycache__"):
            (copy / path.name).symlink_to(path)
    project.write("tiny.yaml", CONFIG)
    missing = {name: [*name.split(), "latest"] for name in hooks.COMES_WITH}
    done = subprocess.run(
        [sys.executable, "-c", EVERYWHERE + LOADED + END, json.dumps(WORKS | missing)],
        cwd=project.path,
        env={**os.environ, "PYTHONPATH": str(copy.parent), "FATHOMS_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads((project.path / "said.json").read_text())
    for name in WORKS:
        assert said[name][0] == 0, (name, said[name])
    assert "Extras" not in said["help"][1]
    for name in missing:
        code, out, err = said[name]
        assert (code, out) == (2, ""), name
        assert f"'fathoms {name}' is not installed: it comes with fathoms/extras/" in err
    assert not set(said["all"]) & set(missing)


def test_every_command_of_an_extra_is_known_to_the_message() -> None:
    added = {
        name: extra for extra, package in hooks.extras().items() for name in getattr(package, "COMMANDS", {})
    }
    assert added == {name: extra for name, extra in hooks.COMES_WITH.items() if " --" not in name}
