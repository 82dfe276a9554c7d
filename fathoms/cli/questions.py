"""`fathoms questions`: convert and compare question files; extras add commands that make and check them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console
from fathoms.cli.commands import Group, with_extras
from fathoms.cli.options import RUNS, Json, NewFile, Out, QuestionFile
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.corpora.versions import Questions
    from fathoms.report.question_history import Version

app = typer.Typer(
    cls=Group,
    help="Write, check and convert question files.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command("convert")
def convert(
    file: QuestionFile,
    to: NewFile,
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
    from fathoms.corpora.csv_table import is_foreign
    from fathoms.corpora.questions import columns_in

    if named is not None:
        pairs = [pair.partition("=") for pair in named.split(",")]
        if wrong := next((key for key, sign, column in pairs if not (key.strip() and sign and column)), None):
            raise UsageError(f"--map {wrong}: write KEY=COLUMN, such as question=Frage,answer=Antwort")
        return {key.strip(): column.strip() for key, _, column in pairs}
    columns = columns_in(file) if file.is_file() else []
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
    old: Annotated[str, typer.Argument(help="A question file, or a run.", show_default=False)],
    new: Annotated[str, typer.Argument(help="A later version of it, or a later run.", show_default=False)],
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Say what differs between two versions of a question set.

    Questions are the same where their ids stand in both files; others are matched by their texts. A run
    stands for the questions that it was made with.
    """
    from fathoms.report.question_history import between

    before, after = (_version(reference, out) for reference in (old, new))
    found = between(before, after)
    if as_json:
        console.show_json(asdict(found))
        return ExitCode.OK
    console.say(
        f"in both: {console.amount(len(found.pairs), 'question')}, of {len(before.identities)} in {old} and"
        f" {len(after.identities)} in {new}"
    )
    for line in found.lines():
        console.say(line)
    for one in (before, after):
        if not one.whole:
            console.note(f"note: {one.name} has no copy of its questions, so only those that it asked count")
    for note in found.notes:
        console.note(f"note: {note}")
    return ExitCode.OK


def _version(reference: str, out: Path) -> Questions:
    """Return the questions of a file, or of a run."""
    from fathoms.corpora.versions import questions_of_file, questions_of_run
    from fathoms.runs.order import is_run
    from fathoms.runs.run import Run

    path = Path(reference)
    if path.suffix or (path.exists() and not is_run(path)):
        return questions_of_file(path)
    return questions_of_run(Run.open(reference, out))


@app.command("log")
def log(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A question file; by default, all question sets of the runs.", show_default=False
        ),
    ] = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Say which runs used which version of a question set, and what differs from the version before.

    Ends with exit code 1 if no run used the file.
    """
    from fathoms.report.question_history import histories
    from fathoms.runs.finding import list_runs

    found = histories(list_runs(out), file)
    if as_json:
        console.show_json([asdict(one) for one in found])
    for history in () if as_json else found:
        console.say(history.name)
        for number, version in enumerate(history.versions, start=1):
            _show_version(number, version)
        if history.now is not None:
            same = not history.now.lines()
            console.say(f"  the file now: {'as in the last version' if same else ''}".rstrip())
            for line in history.now.lines():
                console.say(f"    {line}")
    if not any(one.versions for one in found):
        console.complain(f"no run in {out} used {file or 'a question set'}")
        return ExitCode.FAILED
    return ExitCode.OK


def _show_version(number: int, version: Version) -> None:
    """Print a version of a question set: its size, its runs, and what differs from the version before."""
    which = version.sha256 or version.copy
    known = "" if version.whole else "; no copy of them, so only those asked are compared"
    console.say(
        f"  version {number}{f' ({which[:12]})' if which else ''}:"
        f" {console.amount(version.questions, 'question')}{known}"
    )
    for line in version.changes.lines() if version.changes else ():
        console.say(f"    {line}")
    for note in version.changes.notes if version.changes else ():
        console.say(f"    note: {note}")
    for run in version.runs:
        day = (run.created or "")[:16].replace("T", " ")
        scored = f", scored by {run.scored_by}" if run.scored_by else ""
        console.say(f"    {day or 'date not known'}  {run.id}{scored}")


with_extras(app, "questions")
