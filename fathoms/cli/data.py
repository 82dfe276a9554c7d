"""`fathoms data`: list, download and verify data sets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.commands import Group, with_extras
from fathoms.cli.options import From, Json
from fathoms.errors import ExitCode

app = typer.Typer(
    cls=Group,
    help="List, download and verify data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
SetName = Annotated[
    str,
    typer.Argument(
        help="The name of a data set (see `fathoms data list`).",
        show_default=False,
        autocompletion=completion.data_sets,
    ),
]


@app.command("list")
def data_list(as_json: Json = False) -> int:
    """List the data sets, and how much of each is on this machine."""
    from fathoms.corpora import list_sets

    sets = list_sets()
    if as_json:
        console.show_json([{**asdict(info), "folder": str(info.folder)} for info in sets])
        return 0
    rows = [
        (
            info.name,
            info.state,
            f"{info.here} of {info.files} files",
            f"{info.bytes / 1e6:.1f} MB",
            info.licence,
        )
        for info in sets
    ]
    console.show_table(("data set", "state", "here", "size", "licence"), rows)
    return 0


@app.command("pull")
def data_pull(
    name: SetName,
    source: From = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Also contact private and non-https servers that the manifest names."),
    ] = False,
) -> int:
    """Download a data set, or the files that are missing of it, and check the sha256 of every file."""
    from fathoms.corpora import pull

    with progress.bars() as bars:
        report = pull(
            name,
            source=source,
            on_progress=lambda file, done, total: bars.stage(file, done, total or done),
            trust=trust,
        )
    for file in report.files:
        console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    console.say(f"{report.folder}{'' if report.complete else ': not complete'}")
    return ExitCode.OK if report.complete else ExitCode.FAILED


@app.command("verify")
def data_verify(name: SetName, as_json: Json = False) -> int:
    """Check that every file of a data set has the expected sha256."""
    from fathoms.corpora import verify

    files = verify(name)
    if as_json:
        console.show_json([asdict(file) for file in files])
    else:
        for file in files:
            console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    return ExitCode.OK if all(file.state in ("verified", "same") for file in files) else ExitCode.FAILED


with_extras(app, "data")
