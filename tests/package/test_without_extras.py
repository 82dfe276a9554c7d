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
from tests.support.without_extras import copied

pytestmark = pytest.mark.slow  # a new interpreter

WORKS = {
    "help": ["--help"],
    "run": ["run", "tiny.yaml"],
    "score": ["score", "latest"],
    "show": ["show", "latest"],
    "report": ["report", "latest"],
    "json": ["report", "latest", "--json"],
}
SETTINGS = {
    "execution kind 'ray'": "execution: {kind: ray}",
    "the shared cache": "cache: file:///nowhere",
    "ingest.layout kind 'cdla'": "ingest: {kind: docling, layout: {kind: cdla}}",
    "ingest.tables kind 'geometric'": "ingest: {kind: docling, tables: {kind: geometric}}",
}
"""A configuration that asks for each."""
LOADED = """\
import typer
from fathoms.cli import app

def names(group, above=""):
    for name, command in group.commands.items():
        yield f"{above}{name}"
        yield from names(command, f"{name} ") if hasattr(command, "commands") else ()

said["all"] = [*names(typer.main.get_command(app))]
"""


def test_the_core_works_and_names_what_is_not_installed(project: Project, tmp_path: Path) -> None:
    copy = copied(tmp_path / "copy", "fathoms")
    project.write("tiny.yaml", CONFIG)
    # the last is for an option that takes the one before
    missing = {name: [*name.split(), "latest", "latest"] for name in hooks.COMES_WITH}
    settings = {name: ["run", f"{number}.yaml"] for number, name in enumerate(SETTINGS)}
    for (_, file), wanted in zip(settings.values(), SETTINGS.values(), strict=True):
        project.write(file, f"{CONFIG}{wanted}\n")
    done = subprocess.run(
        [sys.executable, "-c", EVERYWHERE + LOADED + END, json.dumps(WORKS | missing | settings)],
        cwd=project.path,
        env={**os.environ, "PYTHONPATH": str(copy), "FATHOMS_CACHE_DIR": str(tmp_path / "cache")},
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
    assert set(SETTINGS) == set(hooks.SETTINGS)
    for name in SETTINGS:
        code, _, err = said[name]
        assert code == 2, (name, said[name])
        assert f"{name} is not installed: it comes with fathoms/extras/{hooks.SETTINGS[name]}, " in err


def test_every_command_of_an_extra_is_known_to_the_message() -> None:
    for extra, package in hooks.extras().items():
        said = {name for name, of in hooks.COMES_WITH.items() if of == extra}
        added = set(getattr(package, "COMMANDS", {}))
        provided = set(getattr(package, "HOOKS", {}))
        assert added <= said <= added | provided
        assert {name for name, of in hooks.SETTINGS.items() if of == extra} <= provided
    assert {*hooks.COMES_WITH.values(), *hooks.SETTINGS.values()} <= set(hooks.extras())


ALONE = """\
import importlib, pkgutil
from fathoms import hooks

((name, package),) = hooks.extras().items()
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    importlib.import_module(module.name)
places = [command.place for command in getattr(package, "COMMANDS", {}).values()]
for place in [*places, *getattr(package, "HOOKS", {}).values()]:
    hooks.loaded(f"{package.__name__}.{place}")
print(name)
"""


@pytest.mark.long  # `test_rooms.py` reads the imports
@pytest.mark.parametrize("extra", list(hooks.extras()))
def test_each_extra_is_imported_without_the_others(extra: str, root: Path, tmp_path: Path) -> None:
    stored = {path.name for path in (root / "fathoms").iterdir()} - {"extras", "__pycache__"}
    (tmp_path / "fathoms" / "extras").mkdir(parents=True)
    for name in (*stored, "extras/__init__.py", f"extras/{extra}"):
        (tmp_path / "fathoms" / name).symlink_to(root / "fathoms" / name)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (f"{extra}\n", "")
