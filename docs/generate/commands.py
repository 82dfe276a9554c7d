"""The command line, from the Typer app: every command, argument, option and default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from codes import MORE_CODES
from texts import MADE, code, join, plain, table

from fathoms.cli import app


def cli_page() -> str:
    """Every command, in the order of `fathoms --help`."""
    root = typer.main.get_command(app)
    codes = (
        "Every command ends with 0, 1, 2, 130 or 143 ([exit codes](exit-codes.md)), or with a code named"
        " below it."
    )
    parts = ["# Commands", MADE, codes, "## fathoms", root.help or "", _options(root)]
    return join([*parts, *(part for command in _commands(root, "fathoms") for part in command)])


def _commands(group: Any, above: str) -> Iterator[list[str]]:
    """The paragraphs of each command of a group, and of the groups in it."""
    for name, command in group.commands.items():
        path = f"{above} {name}"
        if hasattr(command, "commands"):
            yield from _commands(command, path)
        else:
            yield [
                f"## {path}",
                plain(command.help),
                _usage(command, path),
                _parameters(command),
                _codes(path),
            ]


def _usage(command: Any, path: str) -> str:
    words = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    return "```text\n" + " ".join([path, "[OPTIONS]", *words]) + "\n```"


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().strip("[].")
    several = "..." if argument.nargs == -1 else ""
    return f"{name}{several}" if argument.required else f"[{name}]{several}"


def _parameters(command: Any) -> str:
    """Arguments, then options, as tables."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    rows = [(code(_argument(each)), each.help or "") for each in arguments]
    return join([table(("argument", "what"), rows), _options(command)])


def _options(command: Any) -> str:
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    return table(("option", "default", "what"), map(_option, options))


def _option(option: Any) -> tuple[str, str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    takes = "" if option.is_flag else f" {option.metavar or _value(option.type)}"
    return code(names + takes), _default_of(option), option.help or ""


def _value(kind: Any) -> str:
    """What an option takes, in capitals: `<IntRange x>=1>` is an INTEGER."""
    return "|".join(kind.choices) if hasattr(kind, "choices") else kind.name.split()[0].upper()


def _default_of(option: Any) -> str:
    if isinstance(option.show_default, str):
        return option.show_default  # it differs from machine to machine
    if option.required:
        return "required"
    empty = option.is_flag or option.default in (None, "", [], ()) or callable(option.default)
    return "" if empty else code(str(option.default))


def _codes(path: str) -> str:
    more = MORE_CODES.get(path.removeprefix("fathoms "), ())
    return "Exit codes: " + "; ".join(f"{code}: {code.meaning}" for code in more) if more else ""
