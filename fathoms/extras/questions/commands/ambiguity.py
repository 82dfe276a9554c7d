"""`fathoms questions ambiguity`: find ambiguous questions, decide about them, and rewrite them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import QuestionFile
from fathoms.errors import DataError, ExitCode, UsageError, some_of
from fathoms.extras.questions.commands.parsing import read_text

if TYPE_CHECKING:
    from fathoms.extras.questions.ambiguity_review import Adjudicated
    from fathoms.types import Question


To = Annotated[
    Path | None, typer.Argument(help="The .json, .jsonl or .csv file to create.", show_default=False)
]
Judge = Annotated[
    Path | None,
    typer.Option("--judge", help="A YAML file with a judge whose model is asked.", show_default=False),
]
Review = Annotated[
    bool, typer.Option("--review", help="Decide by yourself about the questions that are flagged.")
]
Reviewer = Annotated[
    str | None, typer.Option("--reviewer", help="Your name as a reviewer.", show_default="the login name")
]
Matched = Annotated[
    bool,
    typer.Option("--matched", help="Keep the ambiguous questions, and as many clear ones by category."),
]
Pdfs = Annotated[
    list[Path] | None,
    typer.Option("--rewrite", metavar="PDFS", help="Rewrite ambiguous questions by these PDFs (repeatable)."),
]


def ambiguity(
    file: QuestionFile,
    to: To = None,
    judge: Judge = None,
    review: Review = False,
    reviewer: Reviewer = None,
    matched: Matched = False,
    pdfs: Pdfs = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws the clear questions of --matched.")] = 0,
) -> int:
    """Find ambiguous questions, decide about them, and rewrite them.

    A model marks each question as clear or ambiguous, with its reason, in the metadata. Two people then
    decide about the flagged ones with --review; what they say is kept beside the file, and counts from then
    on. With --rewrite, each ambiguous question gets a variant that the text of its gold pages decides, beside
    the original. Ends with exit code 1 if the model could not mark or rewrite a question, or if a PDF cannot
    be read.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.ambiguity import matched as match
    from fathoms.extras.questions.ambiguity_review import adjudicated
    from fathoms.paths import short_name
    from fathoms.runs.metadata import OF
    from fathoms.runs.people import AmbiguityLabel, read_all

    labels = file.with_name(f"{short_name(file)}-ambiguity.jsonl")
    questions: Sequence[Question] = (read := read_questions(file).questions)
    if review:
        if to is not None:
            raise UsageError("--review writes no question file: leave out the second file")
        return _review(questions, file.stem, labels, reviewer)
    if to is None:
        raise UsageError("name the file to create after the question file, or decide with --review")
    if judge is None and not matched and not labels.exists():
        raise UsageError("there is nothing to do: add --judge FILE, --review or --matched")
    format_of(to)
    refuse_existing(to)
    failures: dict[str, str] = {}
    if judge is not None:
        questions, failures = _assess(questions, judge, file if file.is_dir() else file.parent)
    if labels.exists():
        found = adjudicated(questions, read_all([labels], AmbiguityLabel))
        questions = found.questions
        _tell(found)
    if matched:
        questions = match(questions, seed)
        if not questions:
            raise DataError(f"{to} was not written, because no question is marked as ambiguous")
    if pdfs:
        if judge is None:
            raise UsageError("--rewrite asks the model of a judge: add --judge FILE")
        more, failed = _rewrite(questions, pdfs, judge)
        questions, failures = [*questions, *more], {**failures, **failed}
    for name, why in failures.items():
        console.note(f"note: {name}: {why}")
    if failures and list(questions) == list(read):
        raise DataError(f"{to} was not written, because no question got a mark or was rewritten")
    write_questions(to, questions)
    verdicts = [
        str(one.metadata.get("ambiguity", "not marked")) for one in questions if OF not in one.metadata
    ]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts)))
    variants = len(questions) - len(verdicts)
    console.say(
        f"{to}: {counts}" + (f"; {console.amount(variants, 'rewritten question')}" if variants else "")
    )
    return ExitCode.FAILED if failures else ExitCode.OK


def _assess(
    questions: Sequence[Question], judge: Path, folder: Path
) -> tuple[Sequence[Question], dict[str, str]]:
    """Return the questions with marks, and why some have none."""
    from fathoms.extras.questions.ambiguity import assess, contradicted
    from fathoms.judges.of_run import read_judge
    from fathoms.models.caching import ReplyCache

    with opened() as cache, progress.bars() as bars:
        progressing = partial(bars.stage, "ambiguity")
        found = assess(questions, read_judge(judge), ReplyCache(cache), progressing, folder)
    if wrong := contradicted(found.questions):
        console.note(
            f"note: {console.amount(len(wrong), 'question')} marked as clear, with a reason that calls them"
            f" ambiguous: {some_of(wrong)}; take a better model"
        )
    return found.questions, dict(found.failures)


def _rewrite(
    questions: Sequence[Question], pdfs: Sequence[Path], judge: Path
) -> tuple[Sequence[Question], dict[str, str]]:
    """Return the rewritten questions, and why some have none."""
    from fathoms.extras.questions.ambiguity import rewrite
    from fathoms.judges.of_run import read_judge
    from fathoms.models.caching import ReplyCache

    own = read_judge(judge)
    parsed = read_text(pdfs)
    with opened() as cache, progress.bars() as bars:
        found = rewrite(questions, parsed.documents, own, ReplyCache(cache), partial(bars.stage, "rewrite"))
    for name, said in found.undecided.items():
        console.note(f"note: {name} is not rewritten, because its evidence does not decide it: {said}")
    return found.variants, {**parsed.failures, **found.failures}


def _review(questions: Sequence[Question], name: str, labels: Path, reviewer: str | None) -> int:
    """Let a person decide about the flagged questions."""
    from fathoms.cli.reviewing import ask_once, converse, login
    from fathoms.extras.questions.ambiguity_review import AmbiguityReview, adjudicated, flagged
    from fathoms.runs.people import AmbiguityLabel, read_all

    items = flagged(questions, name)
    if not items:
        raise UsageError("no question of this file is marked as ambiguous: mark them with --judge first")
    session = AmbiguityReview(items, labels, reviewer or login())
    code = converse(session, session.legend, partial(ask_once, session), session.noun)
    if labels.exists():
        _tell(adjudicated(questions, read_all([labels], AmbiguityLabel)))
    return code


def _tell(found: Adjudicated) -> None:
    """Print how far people agree, and what is still open."""
    for (first, second), (agreement, number) in found.kappas.items():
        shown = "n/a" if agreement is None else f"{agreement:.2f}"
        console.say(f"{first} and {second} decided {console.amount(number, 'question')}: kappa {shown}")
    if found.changed:
        console.say(
            f"{console.amount(found.changed, 'question')} that the model flagged: clear, as people agree"
        )
    if found.open:
        console.say(
            f"{console.amount(len(found.open), 'flagged question')} keep the model's mark, because no two"
            f" people agree: {some_of(found.open)}"
        )
