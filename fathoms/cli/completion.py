"""Shell completion for the names of runs, profiles, metrics, data sets and weights.

A folder that cannot be read offers no names. Words that contain a path separator are left to the completion
of files by the shell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fathoms.errors import FathomsError

if TYPE_CHECKING:
    from fathoms.registry import Room

Names = Callable[[str], list[str]]


def offered(names: Callable[[], Iterable[str]]) -> Names:
    """Make a completion function that offers the names that `names` returns."""

    def complete(incomplete: str) -> list[str]:
        return beginning(incomplete, names)

    return complete


def beginning(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    """The names that start with `incomplete`; empty if the names cannot be read."""
    with suppress(FathomsError, OSError):
        return [name for name in names() if name.startswith(incomplete)]
    return []


def run_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete `latest`, the names of the runs under `--out`, and run ids after a first digit."""
    if os.sep in incomplete:
        return []
    folder = Path(ctx.params.get("out") or "runs")
    return beginning(incomplete, lambda: _runs(folder, ids=incomplete[:1].isdigit()))


def _runs(folder: Path, *, ids: bool) -> list[str]:
    """The references to the runs of a folder that `Run.open` accepts, newest first."""
    from fathoms.runs.finding import list_runs
    from fathoms.runs.order import run_name

    runs = list_runs(folder)
    names = ["latest"] if runs else []
    names += dict.fromkeys(run_name(run.id) for run in reversed(runs))
    return names + [run.id for run in reversed(runs)] if ids else names


def _profiles() -> list[str]:
    from fathoms.metrics.profiles import PROFILES

    return [profile.name for profile in PROFILES]


def _scores() -> list[str]:
    from fathoms.metrics.score_records import RELEASED

    return [*_profiles(), RELEASED]


def _metrics() -> list[str]:
    from fathoms.metrics.registry import metric_kinds, sets

    return list(dict.fromkeys([*sets(), *metric_kinds(), *sets()["retrieval"]]))


KINDS: dict[str, Room] = {
    "ingest": "parsers",
    "chunk": "chunkers",
    "embed": "embedders",
    "retrieve": "retrievers",
    "generate": "models",
    "judge": "judges",
}
"""The keys of a configuration that take one component of a room."""


def settings(incomplete: str) -> list[str]:
    """Complete `KEY.kind=KIND` for the option `--set`."""
    from fathoms.registry import built_in

    key, dot, _ = incomplete.partition(".")
    if not dot:
        return [f"{name}.kind=" for name in KINDS if name.startswith(incomplete)]
    kinds = built_in(KINDS[key]) if key in KINDS else ()
    return [word for kind in kinds if (word := f"{key}.kind={kind}").startswith(incomplete)]


def _data_sets() -> Iterable[str]:
    from fathoms.corpora import known_sets

    return known_sets()


def _weights() -> Iterable[str]:
    from fathoms.models.weights.assets import ASSETS

    return ASSETS


profiles, scores, metrics = offered(_profiles), offered(_scores), offered(_metrics)
data_sets, weights = offered(_data_sets), offered(_weights)
