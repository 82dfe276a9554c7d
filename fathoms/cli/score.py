"""`fathoms score`: score runs again from what they hold."""

from __future__ import annotations

from typing import Annotated

import typer

from fathoms.cli import completion, results
from fathoms.cli.options import RUNS, Out, References, Trust


def score(
    runs: References,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of `scoring` (repeatable)."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            help="The profile of the headline scores: paper, released-code or fathoms.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    out: Out = RUNS,
    trust: Trust = False,
) -> int:
    """Score the stored answers of runs again.

    Needs no parser, index or model: everything is read from the runs.
    """
    from fathoms.runs.finding import find_run
    from fathoms.scoring import score_run

    found = [find_run(reference, out) for reference in runs]
    for store in found:
        if trust:
            store.trust()
        changed = [*(settings or ()), *([f"profile={profile}"] if profile else [])]
        results.warn(store, score_run(store, changed))
    results.present(found, out)
    return 0
