"""What the shell offers for a word that is half written. A folder that cannot be read offers nothing; a word
that is a path is left to the shell, which knows files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import typer

from fathoms.errors import FathomsError

Names = Callable[[str], list[str]]


def offered(names: Callable[[], Iterable[str]]) -> Names:
    """A completion of some names."""

    def complete(incomplete: str) -> list[str]:
        return beginning(incomplete, names)

    return complete


def beginning(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    """The names that begin as the word does; none where they cannot be found out."""
    with suppress(FathomsError, OSError):
        return [name for name in names() if name.startswith(incomplete)]
    return []


def run_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """`latest` and the names of the runs under `--out`; their ids once a digit is written."""
    if os.sep in incomplete:
        return []
    folder = Path(ctx.params.get("out") or "runs")
    return beginning(incomplete, lambda: _runs(folder, ids=incomplete[:1].isdigit()))


def _runs(folder: Path, *, ids: bool) -> list[str]:
    """What `find_run` takes for the runs of a folder."""
    from fathoms.runs.store import list_runs, run_name

    runs = list_runs(folder)
    names = ["latest"] if runs else []
    names += dict.fromkeys(run_name(run) for run in reversed(runs))
    return names + [run.id for run in reversed(runs)] if ids else names


def _profiles() -> list[str]:
    from fathoms.metrics.profiles import PROFILES

    return [profile.name for profile in PROFILES]


def _scores() -> list[str]:
    from fathoms.metrics.score_records import RELEASED

    return [*_profiles(), RELEASED]


def _metrics() -> list[str]:
    from fathoms.compare.question_scores import HIGHER_IS_BETTER

    return list(HIGHER_IS_BETTER)


def _data_sets() -> Iterable[str]:
    from fathoms.corpora import known_sets

    return known_sets()


def _weights() -> Iterable[str]:
    from fathoms.models.weights.assets import ASSETS

    return ASSETS


def _tables() -> Iterable[str]:
    from fathoms.reproduce import table_names

    return table_names()


profiles, scores, metrics = offered(_profiles), offered(_scores), offered(_metrics)
data_sets, weights, tables = offered(_data_sets), offered(_weights), offered(_tables)
