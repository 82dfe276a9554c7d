"""`data` and `models`: what has to be on this machine before a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import completion as completing
from fathoms.cli import console
from fathoms.cli.options import Json

data_app = typer.Typer(help="The data sets on this machine.", no_args_is_help=True, rich_markup_mode=None)
models_app = typer.Typer(
    help="The model weights on this machine.", no_args_is_help=True, rich_markup_mode=None
)

From = Annotated[
    Path | None, typer.Option("--from", help="Take the files from this folder instead of the network.")
]
SetName = Annotated[
    str,
    typer.Argument(
        help="A data set (`fathoms data list`).", show_default=False, autocompletion=completing.data_sets
    ),
]


@data_app.command("list")
def data_list(as_json: Json = False) -> int:
    """List the data sets, and how much of each is here."""
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


@data_app.command("pull")
def data_pull(
    name: SetName,
    source: From = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Ask any server that a manifest from elsewhere names.")
    ] = False,
) -> int:
    """Fetch a data set, or what is still missing of it; every file is checked by its sha256."""
    from fathoms.corpora import pull

    with console.bars() as bars:
        report = pull(
            name,
            source=source,
            on_progress=lambda file, done, total: bars.stage(file, done, total or done),
            trust=trust,
        )
    for file in report.files:
        console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    console.say(f"{report.folder}{'' if report.complete else ': not complete'}")
    return 0 if report.complete else 1


@data_app.command("verify")
def data_verify(name: SetName, as_json: Json = False) -> int:
    """Compare every file of a data set with its sha256."""
    from fathoms.corpora import verify

    files = verify(name)
    if as_json:
        console.show_json([asdict(file) for file in files])
    else:
        for file in files:
            console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    return 0 if all(file.state == "verified" for file in files) else 1


@models_app.command("list")
def models_list(as_json: Json = False) -> int:
    """List the weights that can be pulled, and which are here."""
    from fathoms.models.weights.assets import ASSETS
    from fathoms.models.weights.weights import is_installed

    rows = [(asset.name, is_installed(asset.name), asset.size, asset.licence) for asset in ASSETS.values()]
    if as_json:
        console.show_json([dict(zip(("name", "here", "bytes", "licence"), row, strict=True)) for row in rows])
        return 0
    console.show_table(
        ("model", "here", "size", "licence"),
        [(name, "yes" if here else "no", f"{size / 1e6:.0f} MB", by) for name, here, size, by in rows],
    )
    return 0


@models_app.command("pull")
def models_pull(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Models (`fathoms models list`).", show_default=False, autocompletion=completing.weights
        ),
    ],
    source: From = None,
) -> int:
    """Fetch model weights; each file is checked by its sha256."""
    from fathoms.models.weights.weights import pull

    for name in names:
        files = pull(name, source=source, on_progress=console.note)
        for path in files.values():
            console.say(f"{name}: {path}")
    return 0
