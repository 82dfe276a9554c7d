"""The part of `fathoms reproduce` for ViDoRe: published figures of retrieval beside those of a run."""

from __future__ import annotations

from pathlib import Path

from fathoms.cli import console
from fathoms.errors import ExitCode, UsageError


def published_figures(
    name: str,
    results: Path,
    reference: str | None,
    subsets: tuple[str, ...],
    within: float | None,
    out: Path,
    *,
    as_json: bool,
) -> int:
    """Print the figures of a result file of MTEB, and those of a run with the differences.

    Without `within`, differences are shown and not judged: another machine, precision or version of a model
    changes the last digits. With it, a cell that differs by more ends the command with exit code 1, and so
    does one that the run has no figure for.
    """
    from fathoms.reproduce.display_published import published_json, published_lines, published_panel
    from fathoms.reproduce.mteb import read_published, task_of
    from fathoms.reproduce.vidore import compare_published, differing_counts, figures_of_run
    from fathoms.runs.finding import find_run

    if within is not None and (reference is None or not within >= 0):
        raise UsageError("--within needs a run to compare (--run RUN), and a difference of 0 or more")
    published = read_published(results, task_of(name))
    run = None if reference is None else find_run(reference, out)
    own = None if run is None else figures_of_run(run, published.metrics)
    cells = compare_published(published, own, subsets)
    notes = () if own is None else (*own.notes, *differing_counts(published, own))
    shown = None
    if run is not None:
        manifest = run.manifest()
        shown = f"{manifest['name']} on {(manifest.get('data') or {}).get('name')}"
    for line in notes:
        console.complain(line)
    if as_json:
        console.show_json(published_json(published, cells, shown, notes))
    else:
        console.show(*published_panel(published, cells, shown))
        for line in published_lines(cells):
            console.say(line)
    far = within is not None and any(
        cell.difference is None or abs(cell.difference) > within for cell in cells
    )
    return ExitCode.FAILED if far else ExitCode.OK
