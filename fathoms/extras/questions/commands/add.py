"""`fathoms questions add`: the questions that a run answered worst, as drafts of a question set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Out
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.extras.questions.making.drafts import Draft
    from fathoms.runs.run import Run
    from fathoms.types import Evidence
    from fathoms.types.run.rows import ScoredQuestion, ScoredRepeat

PASSAGES = 5
"""The most retrieved passages that a draft has."""
LONGEST = 2000
"""The most characters of a passage and of an answer in a draft."""


def add(
    run: Annotated[
        str,
        typer.Argument(
            help="The run: a path, an id, `latest` or a name.",
            show_default=False,
            autocompletion=completion.run_names,
        ),
    ],
    to: Annotated[
        Path, typer.Option("--to", help="The question file to add to, or a new one.", show_default=False)
    ],
    failed: Annotated[int, typer.Option("--failed", min=1, help="How many of the worst questions.")] = 20,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="The metrics whose mean says which are the worst, by default all judged ones (repeatable).",
        ),
    ] = None,
    pdfs: Annotated[
        list[Path] | None,
        typer.Option("--pdfs", help="PDFs that the page shows, or folders of them (repeatable)."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Open the page of `questions edit` with them.")
    ] = True,
    out: Out = RUNS,
) -> int:
    """Add the questions that a run answered worst to a question set, as drafts to be mended.

    Failed calls come first, then the lowest scores. Each draft has the question, the retrieved passages with
    their pages, the answer and the scores. It has no gold answer, and is no part of the set until a person
    gives it one on the page of `fathoms questions edit`, which is opened. A set that does not exist yet is
    written when the first draft is accepted.
    """
    from fathoms.corpora import read_questions
    from fathoms.corpora.writing import DUMPERS
    from fathoms.extras.questions.making.drafts import read_drafts, write_drafts
    from fathoms.runs.run import Run

    is_new = not to.exists()
    if is_new and (to.suffix.lower() not in DUMPERS or not to.parent.is_dir()):
        raise UsageError(
            f"{to} cannot be started: name a file in {', '.join(DUMPERS)} in a folder that exists"
        )
    known = set() if is_new else {one.id for one in read_questions(to).questions}
    found = Run.open(run, out)
    drafts = [draft for draft in _worst(found, metric or ()) if draft.question.id not in known][:failed]
    if not drafts:
        raise UsageError(f"{found.id} has no question that failed, or all of them are in {to}")
    new = {draft.question.id for draft in drafts}
    write_drafts(to, [*(one for one in read_drafts(to) if one.question.id not in new), *drafts])
    new_set = " for a new set, which is written when one is accepted" if is_new else ""
    console.say(f"{to}: {console.amount(len(drafts), 'draft')} of {found.id}{new_set}")
    if not page:
        return ExitCode.OK
    from fathoms.extras.questions.commands.edit import edit

    return edit(str(to), pdfs)


def _worst(run: Run, names: Sequence[str]) -> list[Draft]:
    """Return drafts of the questions that a run answered worst, without those that have the best score of
    each metric; raises UsageError for a metric that the run does not have."""
    from fathoms.compare.question_scores import read_scores, scores_like

    scores = read_scores(run)
    judged = [name for name, one in run.summary.metrics.items() if one.judge and name in scores.metrics]
    known: dict[str, dict[str, float]] = {}
    for name in names or judged:
        for id, values in scores_like(scores, scores, name).items():
            known.setdefault(id, {})[name] = fmean(values)
    views = list(run.questions())
    rank = {
        view.question.id: -1.0
        if any(repeat.error for repeat in view.repeats)
        else fmean(known.get(view.question.id, {}).values() or [1.0])
        for view in views
    }
    views.sort(key=lambda view: rank[view.question.id])
    low = (view for view in views if rank[view.question.id] < 1)
    return [_draft(run.id, view, known.get(view.question.id, {})) for view in low]


def _draft(run: str, view: ScoredQuestion, scores: dict[str, float]) -> Draft:
    """Return a draft with what is known of a question."""
    from fathoms.extras.questions.making.drafts import Check, Draft

    repeat = view.repeats[0]
    said = repeat.answer.text if repeat.answer else repeat.error.message if repeat.error else ""
    listed = ", ".join(f"{name} {value:.2f}" for name, value in scores.items()) or "the call failed"
    question = view.question
    return Draft(
        question=question.model_copy(update={"evidence": question.evidence or tuple(_evidence(repeat))}),
        checks=(
            Check(check="answer", item=run, passed=True, reason=said[:LONGEST]),
            Check(check="scores from 0 (worst) to 1", item=run, passed=False, reason=listed),
        ),
    )


def _evidence(repeat: ScoredRepeat) -> list[Evidence]:
    """Return the first retrieved passages whose document is known, as evidence to be checked."""
    from fathoms.types import Evidence

    return [
        Evidence(document=hit.document, page=hit.pages[0] if hit.pages else None, quote=hit.text[:LONGEST])
        for hit in (repeat.hits or ())[:PASSAGES]
        if hit.document and (hit.pages or hit.text.strip())
    ]
