"""The table of the core's commands, to which those of extras are added (`fathoms/hooks.py`). The module of a
command is imported when the command is called, so that `--help` and the start of each command do not wait for
the other commands."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from fathoms import hooks
from fathoms.cli.help_groups import COMMANDS as COMMAND_GROUPS
from fathoms.cli.help_groups import GroupedCommand, grouped
from fathoms.hooks import Command

COMMANDS = {
    "init": Command("init:init", "Create a sample project to start from."),
    "ingest": Command("ingest:ingest", "Parse, chunk and embed documents."),
    "run": Command("run:run", "Ask the questions, score the answers and print the figures."),
    "score": Command("score:score", "Score the stored answers of runs again."),
    "report": Command("report:report", "Write the report of one or more runs."),
    "compare": Command("compare:compare", "Compare runs with the first of them, question by question."),
    "gate": Command(
        "gate:gate", "Judge whether runs are worse than a baseline: PASS, FAIL (exit code 100) or UNDECIDED."
    ),
    "premerge": Command(
        "premerge:premerge", "Judge a branch before it is merged: PASS, FAIL (exit code 100) or UNDECIDED."
    ),
    "comment": Command(
        "comment:comment", "Post or update the comment of a gate on the pull or merge request of this job."
    ),
    "tune": Command("tune:tune", "Find the best of several pipelines with few of the calls."),
    "trends": Command("trends:trends", "Show the figures of one pipeline over its nights, oldest first."),
    "validate": Command("validate:validate", "Check a config and its data."),
    "doctor": Command(
        "doctor:doctor", "Check what is missing to run pipelines, and print the command that fixes it."
    ),
    "ls": Command("ls:ls", "List the runs, oldest first."),
    "show": Command("show:show", "Show the scores of a run, or everything about one of its questions."),
    "metrics": Command(
        "metrics:metrics",
        "List the metrics: name, what each needs, which direction is better, and its source.",
    ),
    "agree": Command(
        "agree:agree",
        "Measure how well the abstention classifier, a judge, metrics and people agree with one another.",
    ),
    "data": Command("data:app", "List, download and verify data sets."),
    "models": Command("models:app", "List and download model weights."),
    "cache": Command(
        "cache:app", "Inspect and shrink the cache of parsed documents, embeddings and replies."
    ),
    "questions": Command("questions:app", "Write, check and convert question files."),
}


RENAMED: dict[tuple[str, str], str] = {}
"""The successor of each option that has got another name, by command and old name, such as
`("gate", "--old"): "--new"`. The old name is still read, with a warning (`docs/stability.md`)."""


def by_new_names(command: str, arguments: Sequence[str]) -> list[str]:
    """Put the new names of options in place of their old ones, and warn of each."""
    found = []
    for argument in arguments:
        name, is_equal, value = argument.partition("=")
        if (command, name) in RENAMED:
            from fathoms.safety.deprecation import warn_of_old_name

            successor = RENAMED[command, name]
            warn_of_old_name(f"the option {name} of 'fathoms {command}'", successor)
            argument = f"{successor}{is_equal}{value}"
        found.append(argument)
    return found


def commands() -> dict[str, Command]:
    """Return every command of fathoms by name: those of the core, and then those of extras."""
    return COMMANDS | hooks.commands()


def with_extras(app: typer.Typer, group: str) -> typer.Typer:
    """Add to a group the commands that extras have for it, and return the group."""
    for name, command in hooks.commands(group).items():
        app.command(name)(hooks.loaded(command.place))
    return app


class Group(TyperGroup):
    """A group of commands that says of one which came with a deleted extra that it is not installed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; raises UsageError where its extra was deleted."""
        name = f"{ctx.info_name} {args[0]}" if args else ""
        if name in hooks.COMES_WITH and args[0] not in self.commands:
            raise hooks.not_installed(name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under the headings of the table."""
        groups = COMMAND_GROUPS.get(ctx.info_name or "", {})
        for heading, names in grouped(self.list_commands(ctx), groups):
            with formatter.section(heading if groups else "Commands"):
                helps = [(name, self.commands[name].get_short_help_str()) for name in names]
                formatter.write_dl(helps)


class LazyGroup(TyperGroup):
    """A group whose commands are those of the table."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(commands())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, and give it its options by their new names."""
        return super().resolve_command(ctx, [*args[:1], *by_new_names(args[0], args[1:])] if args else args)

    def invoke(self, ctx: Any) -> Any:
        """Call a command. An interrupt is raised as Abort, because Typer ends without a word after one."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, table in (("Commands", COMMANDS), ("Extras", hooks.commands())):
            if table:
                with formatter.section(heading):
                    formatter.write_dl([(name, command.summary) for name, command in table.items()])


def _defined(name: str) -> Any:
    """Import the function or the Typer app of a command; raises KeyError where neither fathoms nor a package
    that is installed beside it has one, and UsageError where it came with an extra that was deleted."""
    if name in COMMANDS:
        return hooks.loaded(f"fathoms.cli.{COMMANDS[name].place}")
    if name in hooks.commands():
        return hooks.loaded(hooks.commands()[name].place)
    from fathoms import registry

    for entry in registry.entry_points(registry.COMMANDS):
        if entry.name == name:
            return registry.imported(entry)
    if name in hooks.COMES_WITH:
        raise hooks.not_installed(name)
    raise KeyError(name)


class _Loaded(MutableMapping[str, Any]):
    """The commands by name; each is imported when it is looked up."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            defined = _defined(name)
            if not isinstance(defined, typer.Typer):
                function, defined = defined, typer.Typer(rich_markup_mode=None, add_completion=False)
                defined.command(name, cls=GroupedCommand)(function)
            command = typer.main.get_command(defined)
            command.name = name
            for one in getattr(command, "commands", {}).values():
                one.short_help = one.get_short_help_str(1000)  # the whole first sentence, not its beginning
            self.known[name] = command
        return self.known[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.known[name] = command

    def __delitem__(self, name: str) -> None:
        del self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())
