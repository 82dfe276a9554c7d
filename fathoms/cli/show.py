"""`fathoms show`: print one run, or one question of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import completion, console, results
from fathoms.cli.options import RUNS, All, By, Json, Only, Out
from fathoms.errors import UsageError

if TYPE_CHECKING:
    from fathoms.runs.run import Run


WORST = 5
"""The worst questions that are listed with the scores of a run."""


TheRun = Annotated[
    str,
    typer.Argument(
        help="A run: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before).",
        autocompletion=completion.run_names,
    ),
]
Question = Annotated[str | None, typer.Option("--question", help="The id of one question to show in full.")]
Lost = Annotated[
    str | None,
    typer.Option(
        "--lost",
        metavar="PART",
        help="List the questions whose answers were lost by this part of the pipeline: parser, retriever,"
        " prompt or model.",
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring",
        help="Show an earlier scoring, named by its question file, by the beginning of that file's sha256, or"
        " as `own`; as RUN@NAME does.",
    ),
]


def show(
    run: TheRun = "latest",
    question: Question = None,
    lost: Lost = None,
    everything: All = False,
    only: Only = None,
    by: By = None,
    scoring: Scoring = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Show the scores of a run, or everything about one of its questions.

    For a question: the gold answer, the retrieved chunks, the prompt, the answer and the scores; long lists
    are cut unless you add --all.
    """
    from fathoms.runs.run import Run
    from fathoms.runs.scorings import EarlierScoring, earlier_scorings, open_scored, scoring_sentence

    if by is not None and question is not None:
        raise UsageError("--by groups the figures of all questions: leave out --question")
    wanted = results.Figures(everything, tuple(only or ())).checked()
    store = open_scored(run if scoring is None else f"{run}@{scoring}", out)
    if isinstance(store, EarlierScoring) and (question is not None or lost is not None):
        store.no_questions()
    if question is not None:
        from fathoms.report.question import question_panel
        from fathoms.runs.views import scored_question

        view = _question(store, question)
        if as_json:
            console.show_json(view)
        else:
            figures = store.summary.profiles.get("fathoms") if store.is_scored else None
            console.show(*question_panel(scored_question(view), figures, everything=everything))
        return 0
    if lost is not None:
        from fathoms.report.lost import lost_panel, lost_questions

        if as_json:
            console.show_json([asdict(one) for one in lost_questions(Run.scored(store.path), lost)])
        else:
            console.show(*lost_panel(Run.scored(store.path), lost, results.reference(store, out)))
        return 0
    shown: Run | None = store if isinstance(store, EarlierScoring) else None
    if by is not None:
        from fathoms.report.grouping import grouped  # imports all of scoring

        shown = grouped(shown or Run.scored(store.path), by)
    scorings = {} if isinstance(store, EarlierScoring) else earlier_scorings(store.path)
    if as_json:
        whole = shown or store
        found = whole.summary.plain() if whole.is_scored else None
        earlier = {version: one.plain() for version, one in scorings.items()}
        parts = {"manifest": store.manifest.plain(), "summary": found}
        console.show_json({**parts, **({"scorings": earlier} if earlier else {})})
        return 0
    console.say(str(store.path))
    if isinstance(store, EarlierScoring):
        console.say(scoring_sentence(store.version, store.summary))
    console.show(*results.shown([shown or Run.scored(store.path)], [store], out, wanted, WORST))
    for version, one in scorings.items():
        console.say(scoring_sentence(version, one))
    return 0


def _question(store: Run, wanted: str) -> dict[str, Any]:
    """The JSON of one question; raises UsageError, with a suggestion, for an unknown id."""
    from fathoms.errors import suggest

    if (view := store.files.of(wanted)) is not None:
        return view
    ids = {question for question, _ in store.records.entries()}
    raise UsageError(f"{store.id} has no question '{wanted}'{suggest(wanted, sorted(ids))}")
