"""The format of `fathoms import` and `fathoms export` by an option, and options that are the same for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from fathoms.cli import main
from fathoms.extras.exchange import exporting, importing

ROWS = [{"id": "q1", "hits": [{"document": "a.pdf", "page": 2}]}]
QUESTIONS = [{"id": "q1", "question": "How tall?", "evidence": [{"document": "a.pdf", "page": 2}]}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("hits.jsonl", ROWS), ("questions.jsonl", QUESTIONS)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.slow
def test_a_format_is_the_first_word_or_an_option(folder: Path) -> None:
    rest = ["--questions", "questions.jsonl"]
    for words in ("hits hits.jsonl", "hits.jsonl --format hits", "--format=hits hits.jsonl"):
        assert main(["import", *words.split(), *rest]) == 0
    assert len(list((folder / "runs").glob("*_hits_*"))) == 3
    for number, words in enumerate(("trec latest", "latest --as trec", "--as=trec latest")):
        assert main(["export", *words.split(), "--to", str(number)]) == 0
        assert (folder / str(number) / "run.trec").read_text() == (folder / "0" / "run.trec").read_text()
    assert main(["export", "latest", "--to", "copy"]) == 0
    assert (folder / "copy" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "hits.jsonl", "--format", "ragsa"], "--format ragsa: there is no such format (did"),
        (["import", "hits.jsonl", "--format"], "--format: there is no such format (available: fathoms-rag,"),
        (["import", "hits.jsonl"], "hits.jsonl: say in which format it is, by --format: one of fathoms-rag,"),
        (["export", "latest", "--as", "xlsx"], "--as xlsx: there is no such format (available: run, trec,"),
    ],
)
def test_a_format_that_is_not_known_is_refused(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("app", [importing.app, exporting.app])
def test_an_option_of_several_formats_is_the_same_in_all(app: typer.Typer) -> None:
    group: Any = typer.main.get_command(app)
    found: dict[str, set[Any]] = {}
    for command in group.commands.values():
        for one in command.params:
            if one.param_type_name == "option" and not one.required:
                found.setdefault(one.opts[0], set()).add((one.name, one.default, one.help, one.type.name))
    assert {name: len(kinds) for name, kinds in found.items() if len(kinds) > 1} == {}
    assert {"--out"} < set(found)
