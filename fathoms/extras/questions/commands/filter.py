"""`fathoms questions filter`: drop questions that need no documents, and the easiest ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Json, NewFile, Out, QuestionFile
from fathoms.errors import DataError, ExitCode, UsageError

Run = Annotated[
    str | None,
    typer.Option(
        "--closed-book",
        metavar="RUN",
        help="A run without documents: what it answers with confidence is dropped.",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]


Baseline = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="A run that says how easy questions are (repeatable).",
        autocompletion=completion.run_names,
    ),
]
Confidence = Annotated[
    float,
    typer.Option("--confidence", min=0, max=1, help="The confidence above which a question is dropped."),
]
Easiest = Annotated[
    float,
    typer.Option("--easiest", min=0, max=0.9, help="The share of each category to drop as easiest."),
]
Profile = Annotated[
    str, typer.Option("--profile", help="How phrases are matched: fathoms, paper or released-code.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be dropped, and write nothing.")]


def filter_questions(
    file: QuestionFile,
    to: NewFile,
    closed_book: Run = None,
    baseline: Baseline = None,
    confidence: Confidence = 0.9,
    easiest: Easiest = 0.1,
    profile: Profile = "fathoms",
    dry_run: DryRun = False,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Drop questions that a model answers without documents, and the easiest ones.

    Drops questions whose answer stands in the question, those that the closed-book run answers rightly and
    with confidence, and then the easiest share of each category. The full set is written beside the new file,
    as NAME-full, with the reason in the metadata of each question that was dropped: a run of it shows its
    figures over both sets.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.filtering import filtered, known_without_documents
    from fathoms.metrics.profiles import profile_named
    from fathoms.runs.run import Run

    format_of(to)
    full = to.with_stem(f"{to.stem}-full")
    for path in (to, full) if not dry_run else ():
        refuse_existing(path)
    questions, rules = read_questions(file).questions, profile_named(profile)
    known = None
    if closed_book is not None:
        known = known_without_documents(Run.scored(Run.open(closed_book, out).path), rules)
        _check_shared(closed_book, known, questions)
    runs = [Run.scored(Run.open(name, out).path) for name in baseline or ()]
    for name, run in zip(baseline or (), runs, strict=True):
        _check_shared(name, run.correctness(rules.name), questions)
    found = filtered(
        questions, rules, closed_book=known, confidence=confidence, baselines=runs, easiest=easiest
    )
    reasons = Counter(drop.reason for drop in found.dropped)
    if as_json:
        console.show_json(
            {
                "questions": len(questions),
                "kept": len(found.remaining),
                "dropped": [
                    {"id": drop.question.id, "reason": drop.reason, "detail": drop.detail}
                    for drop in found.dropped
                ],
                "reasons": dict(reasons),
                "closed_book": None if known is None else len(known),
            }
        )
    else:
        for drop in found.dropped:
            console.say(f"{drop.question.id}: {drop.reason}" + (f" ({drop.detail})" if drop.detail else ""))
        counts = "; ".join(f"{number} {reason}" for reason, number in reasons.items())
        console.say(
            f"{len(found.remaining)} of {console.amount(len(questions), 'question')} stay"
            + (f" ({counts})" if counts else "")
        )
    if dry_run:
        return ExitCode.OK
    if not found.remaining:
        raise DataError(f"{to} was not written, because no question is left")
    write_questions(to, found.remaining)
    if found.dropped:
        write_questions(full, found.full)
    return ExitCode.OK


def _check_shared(name: str, known: Mapping[str, Any], questions: Any) -> None:
    """Say how many questions a run lacks; raises UsageError if it lacks all of them."""
    lacking = [one.id for one in questions if one.answerable and one.id not in known]
    if lacking and len(lacking) == sum(one.answerable for one in questions):
        raise UsageError(f"{name} has none of these questions: name a run that asked them")
    if lacking:
        console.note(
            f"note: {name} has no scored answer to {len(lacking)} of these questions, for which"
            " it does not count"
        )
