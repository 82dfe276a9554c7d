"""`fathoms questions`: convert and compare question files; extras add commands that make and check them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console
from fathoms.cli.commands import Group, with_extras
from fathoms.cli.options import Json
from fathoms.errors import ExitCode, UsageError

app = typer.Typer(
    cls=Group, help="Write, check and convert question files.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("convert")
def convert(
    file: Annotated[Path, typer.Argument(help="The question file to read.", show_default=False)],
    to: Annotated[Path, typer.Argument(help="The .json, .jsonl or .csv file to create.", show_default=False)],
    named: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="KEY=COLUMN,...",
            help="The columns of a table by their keys, such as `question=Frage,answer=Antwort`.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Convert a question file to another format.

    The question sets of promptfoo, Ragas, DeepEval, LangSmith, Langfuse, Phoenix and BEIR are read as well.
    Columns with other names are named by --map, or asked for on a terminal. What cannot be kept is named.

    The new file is written only if every question reads back unchanged from it. Question ids are written to
    the file, and do not change.
    """
    from fathoms.corpora import read_questions, write_questions

    read = read_questions(file, _columns(file, named))
    for warning in read.warnings:
        console.note(f"note: {warning}")
    if read.ignored:
        console.note(f"note: left out, because they are not part of a question: {', '.join(read.ignored)}")
    write_questions(to, read.questions)
    console.say(f"{to}: {console.amount(len(read.questions), 'question')}")
    if [question.id for question in read_questions(to).questions] != [one.id for one in read.questions]:
        console.note("note: the file groups the questions by category, so their order has changed")
    return 0


def _columns(file: Path, named: str | None) -> dict[str, str] | None:
    """Return the columns of a table by their keys, as given or as answered on a terminal; `None` where the
    table has the names of the keys already."""
    from fathoms.corpora.csv_table import columns_in, is_foreign
    from fathoms.safety.inputs import decode_table, read_file

    if named is not None:
        pairs = [pair.partition("=") for pair in named.split(",")]
        if wrong := next((key for key, sign, column in pairs if not (key.strip() and sign and column)), None):
            raise UsageError(f"--map {wrong}: write KEY=COLUMN, such as question=Frage,answer=Antwort")
        return {key.strip(): column.strip() for key, _, column in pairs}
    if file.suffix.lower() not in (".csv", ".tsv") or not file.is_file():
        return None
    columns = columns_in(decode_table(read_file(file), file)[0], str(file))
    if not columns or not is_foreign(columns):
        return None
    if not sys.stdin.isatty():
        raise UsageError(
            f"{file}: no column is called 'question': name the columns, such as --map"
            f" question=COLUMN,answer=COLUMN; they are {', '.join(columns)}"
        )
    console.note(f"columns: {', '.join(columns)}")
    found = {}
    for key, what in (
        ("question", "question"),
        ("answer", "expected answer"),
        ("files", "file (or nothing)"),
    ):
        column = typer.prompt(f"Which column has the {what}", default="", show_default=False).strip()
        if column:
            found[key] = column
    return found


@app.command("diff")
def diff(
    old: Annotated[Path, typer.Argument(help="A question file.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="A later version of it.", show_default=False)],
    as_json: Json = False,
) -> int:
    """Say what differs between two versions of a question set.

    Questions are the same where their ids stand in both files; others are matched by their texts.
    """
    from fathoms.compare.pairing import difference
    from fathoms.corpora import read_questions
    from fathoms.runs.identity import identity

    files = [read_questions(path) for path in (old, new)]
    before, after = (
        {one.id: identity(one, written=one.id not in file.derived) for one in file.questions}
        for file in files
    )
    found = difference(before, after, (str(old), str(new)))
    if as_json:
        console.show_json(asdict(found))
        return ExitCode.OK
    console.say(
        f"in both: {console.amount(len(found.pairs), 'question')}, of {len(before)} in {old} and {len(after)}"
        f" in {new}"
    )
    for line in found.lines():
        console.say(line)
    for note in found.notes:
        console.note(f"note: {note}")
    return ExitCode.OK


with_extras(app, "questions")
