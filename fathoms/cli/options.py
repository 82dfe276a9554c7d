"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RUNS = Path("runs")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path, typer.Option("--out", help="The folder that holds the runs.")]
References = Annotated[
    list[str], typer.Argument(help="Runs: a path, an id, a name, `latest`, NAME~1.", show_default=False)
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Keep nothing of this command, and look at nothing that was kept.")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Look at nothing that was kept, and keep it anew.")]
