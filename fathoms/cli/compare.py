"""`fathoms compare`: compare runs with the first of them, question by question."""

from __future__ import annotations

from dataclasses import asdict

from fathoms.cli import console
from fathoms.cli.options import RUNS, Json, Metrics, Out, Profile, References


def compare(
    runs: References,
    metric: Metrics = None,
    profile: Profile = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Compare runs with the first of them, question by question.

    Prints the differences with intervals, significance tests corrected for multiple comparisons, the
    questions whose result changed, and hits by modality where the questions state one.
    """
    from fathoms.compare.compare import compare as compare_runs
    from fathoms.compare.question_scores import default_metrics
    from fathoms.report.comparison import comparison_panel
    from fathoms.report.of_sweeps import read_all_scores
    from fathoms.report.terminal import modality_panel
    from fathoms.runs.run import Run

    stores = [Run.open(name, out) for name in runs]
    scores = [read_all_scores(store, profile) for store in stores]
    metrics = list(dict.fromkeys(metric or default_metrics(scores)))
    found = compare_runs(scores, metrics)
    if as_json:
        console.show_json(asdict(found))
    else:
        console.show(*comparison_panel(found), *modality_panel([Run.scored(store.path) for store in stores]))
    return 0
