"""`fathoms compare`: compare runs with the first of them, question by question."""

from __future__ import annotations

from dataclasses import asdict

from fathoms.cli import console
from fathoms.cli.options import RUNS, All, Json, Metrics, Out, Profile, References


def compare(
    runs: References,
    metric: Metrics = None,
    profile: Profile = None,
    everything: All = False,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Compare runs with the first of them, question by question.

    Prints whether there is a difference, by how much, and the questions whose result changed; tests are
    corrected for their number. With --all, also every category, other documents, and hits by modality where
    the questions state one. RUN@FILE is a run as an earlier version of its questions scored it.
    """
    from fathoms.compare.compare import compare as compare_runs
    from fathoms.compare.question_scores import default_metrics
    from fathoms.report.comparison import comparison_panel, short_comparison
    from fathoms.report.leaderboard import run_labels
    from fathoms.report.modalities import modality_section
    from fathoms.report.of_sweeps import read_all_scores
    from fathoms.report.terminal import drawn
    from fathoms.runs.scorings import open_scored

    stores = [open_scored(name, out) for name in runs]
    scores = [read_all_scores(store, profile) for store in stores]
    metrics = list(dict.fromkeys(metric or default_metrics(scores)))
    found = compare_runs(scores, metrics)
    if as_json:
        console.show_json(asdict(found))
        return 0
    if everything:
        console.show(*comparison_panel(found), *drawn([modality_section(stores)]))
    else:
        labels = dict(zip((store.id for store in stores), run_labels(stores), strict=True))
        console.show(*short_comparison(found, labels))
    return 0
