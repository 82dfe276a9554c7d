"""`fathoms models`: list and download model weights."""

from __future__ import annotations

from typing import Annotated

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import From, Json

app = typer.Typer(
    help="List and download model weights.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@app.command("list")
def models_list(as_json: Json = False) -> int:
    """List the model weights that can be pulled, and which of them are on this machine."""
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
    source: From = None,
) -> int:
    """Download model weights, and check the sha256 of every file."""
    from fathoms.models.weights.weights import pull

    for name in names:
        files = pull(name, source=source, on_progress=console.note)
        for path in files.values():
            console.say(f"{name}: {path}")
    return 0
