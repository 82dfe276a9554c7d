"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion
from fathoms.errors import UsageError

if TYPE_CHECKING:
    pass


RUNS = Path("runs")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path, typer.Option("--out", help="The folder that holds the runs.")]
References = Annotated[
    list[str],
    typer.Argument(
        help="Runs: a path, an id, a name, `latest`, NAME~1.",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
LogFile = Annotated[
    Path | None, typer.Option("--log-file", help="Append what happens to this file, as JSON lines.")
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Keep nothing of this command, and look at nothing that was kept.")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Look at nothing that was kept, and keep it anew.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Do what a run from elsewhere names: its code, servers, keys, files.")
]


def allowance(text: str) -> Callable[[int], float]:
    """How many of n questions may fail, from `3` or `2%`; raises UsageError."""
    share = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1
    if not number >= 0:
        raise UsageError(f"--fail-on-error {text}: want a count such as 3 or a share such as 2%")
    return lambda asked: asked * number / 100 if share else number


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="correctness or hallucination; may be repeated.",
        autocompletion=completion.metrics,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="Scores of this profile; by default the runs' own.",
        autocompletion=completion.scores,
    ),
]


From = Annotated[
    Path | None, typer.Option("--from", help="Take the files from this folder instead of the network.")
]
