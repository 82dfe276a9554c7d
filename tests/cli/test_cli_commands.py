"""The table of commands that `fathoms --help` prints without importing the commands."""

from __future__ import annotations

import pytest
import typer

from fathoms.cli import app, main
from fathoms.cli.commands import commands
from fathoms.cli.help_groups import OPTIONS


def test_the_table_has_the_first_sentence_of_the_help_of_each_command() -> None:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert " ".join(command.help.split("\n\n")[0].split()) == commands()[name].summary


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() & commands().keys()))
def test_the_groups_of_a_command_list_options_that_it_has_each_once(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    listed = [option for options in OPTIONS[name].values() for option in options]
    known = {option for parameter in command.params for option in parameter.opts}
    assert set(listed) <= known
    assert len(set(listed)) == len(listed)


def test_groups_list_their_commands_by_a_whole_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"models", "data", "cache", "questions", "import", "export"}
    for name in sorted(groups & commands().keys()):  # some are extras
        assert main([name, "--help"]) == 0
        assert "..." not in capsys.readouterr().out.replace("[ARGS]...", ""), name
