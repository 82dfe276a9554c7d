"""The promises of docs/stability.md."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from fathoms.cli import commands, main
from fathoms.component import Component
from fathoms.config import Source, validate
from fathoms.errors import ConfigError
from fathoms.safety.deprecation import OldNameWarning
from tests.support.project import Project, write_project


class Renamed(Component):
    """A component with an option that had another name."""

    top_k: int = 5
    renamed: ClassVar[Mapping[str, str]] = {"results": "top_k"}


def test_an_old_key_is_read_warns_once_and_names_its_successor() -> None:
    with pytest.warns(
        OldNameWarning, match="the option 'results' of Renamed is deprecated: use 'top_k' instead"
    ):
        assert validate(Renamed, Source("x.yaml", {"results": 7})).top_k == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert validate(Renamed, Source("x.yaml", {"results": 8})).top_k == 8
    with pytest.raises(ConfigError, match="'results' is the old name of 'top_k': give one of them"):
        validate(Renamed, Source("x.yaml", {"results": 7, "top_k": 7}))
    with pytest.raises(ConfigError, match="unknown key 'resuls'"):
        validate(Renamed, Source("x.yaml", {"resuls": 7}))  # other names are as wrong as ever


@pytest.mark.filterwarnings("default")
def test_an_old_option_is_read_warns_once_and_names_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(commands.RENAMED, ("ls", "--folder"), "--out")
    for arguments in (["--folder", str(tmp_path)], [f"--folder={tmp_path}"]):
        assert main(["ls", *arguments]) == 0
    assert capsys.readouterr().err.count("--folder of 'fathoms ls' is deprecated: use --out instead") == 1


def test_the_successors_of_old_options_exist() -> None:
    root = commands.LazyGroup(name="fathoms")
    for (name, _), successor in commands.RENAMED.items():
        known = [option for each in root.commands[name].params for option in each.opts]
        assert successor in known


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write_project(tmp_path_factory.mktemp("stability"))
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    return project


@pytest.mark.parametrize("file", ["manifest.json", "summary.json", "questions/text-only-01.json"])
def test_every_command_refuses_a_newer_run_and_says_what_to_do(
    finished_project: Project, tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / finished_project.runs()[0].name
    shutil.copytree(finished_project.runs()[0], run)
    written = json.loads((run / file).read_text())
    written.pop("crc")
    (run / file).write_text(json.dumps(written | {"schema": 2}))
    wanted = [
        ["report", str(run)],
        ["compare", str(run), str(finished_project.runs()[0])],
        ["gate", str(run), "--min", "correctness=0"],
    ]
    if file == "manifest.json":
        wanted.append(["score", str(run)])
    for arguments in wanted:
        assert main(arguments) == 1, arguments
        said = capsys.readouterr().err
        assert f"{file} was written by a newer fathoms (schema 2): update fathoms" in said, arguments


def test_a_reader_ignores_keys_that_came_later(finished_project: Project, tmp_path: Path) -> None:
    run = tmp_path / finished_project.runs()[0].name
    shutil.copytree(finished_project.runs()[0], run)
    for file in ("manifest.json", "summary.json", "questions/text-only-01.json"):
        written = json.loads((run / file).read_text())
        written.pop("crc")  # earlier versions wrote none
        (run / file).write_text(json.dumps(written | {"of_later": {"a": [1]}}))
    assert main(["report", str(run), "--to", str(tmp_path / "report")]) == 0
    assert main(["gate", str(run), "--min", "correctness=0.25"]) == 0
