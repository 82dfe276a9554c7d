"""`fathoms questions dedupe`: drop questions that are nearly the same as others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console
from fathoms.cli.options import Json, QuestionFile
from fathoms.errors import DataError, ExitCode


def dedupe(
    file: QuestionFile,
    to: Annotated[
        Path | None, typer.Argument(help="The .json, .jsonl or .csv file to create.", show_default=False)
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", metavar="FILE", help="Another set, such as a public one (repeatable)."),
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0.2, max=1, help="The similarity from which two are the same.")
    ] = 0.7,
    as_json: Json = False,
) -> int:
    """Find questions that are nearly the same as others, and drop them.

    Compares the spelling of questions, whatever their language. Prints each pair with its similarity; with a
    second file, writes the questions without those that repeat an earlier one, or one of another set, and
    without the variants of these.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.duplicates import near_duplicates
    from fathoms.runs.metadata import OF

    if to is not None:
        format_of(to)
        refuse_existing(to)
    questions = read_questions(file).questions
    others = [one for path in against or () for one in read_questions(path).questions]
    found = near_duplicates(questions, others, threshold)
    if as_json:
        rows = [
            {
                "id": one.question.id,
                "other": one.other.id,
                "similarity": round(one.similarity, 4),
                "same_gold": one.same_gold,
            }
            for one in found
        ]
        console.show_json({"questions": len(questions), "duplicates": rows})
    for one in [] if as_json else found:
        gold = "" if one.same_gold else "; their answers differ"
        console.say(f"{one.similarity:.2f} {one.question.id}: {one.question.text}")
        console.say(f"     {one.other.id}: {one.other.text}{gold}")
    if not as_json:
        console.say(f"{len(found)} of {console.amount(len(questions), 'question')} repeat another one")
    if to is not None:
        dropped = {one.question.id for one in found}
        # a variant cannot be compared without its original
        left = [one for one in questions if dropped.isdisjoint((one.id, str(one.metadata.get(OF))))]
        if not left:
            raise DataError(f"{to} was not written, because no question is left")
        write_questions(to, left)
        console.note(f"{to}: {console.amount(len(left), 'question')}")
    return ExitCode.OK
