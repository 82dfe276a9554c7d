"""`fathoms questions`: create, check, describe and convert question files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.ambiguity import ambiguity
from fathoms.cli.cache import opened
from fathoms.cli.candidates import candidates
from fathoms.cli.dedupe import dedupe
from fathoms.cli.edit import edit
from fathoms.cli.filter import filter_questions
from fathoms.cli.inspecting import inspect
from fathoms.cli.label import label
from fathoms.cli.options import RUNS, Json, Out
from fathoms.cli.parsing import find_documents, note_all, parsed
from fathoms.cli.perturb import perturb
from fathoms.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.runs.reading import ScoredRun
    from fathoms.types import Question

app = typer.Typer(
    help="Write, check and convert question files.", no_args_is_help=True, rich_markup_mode=None
)

app.command("candidates")(candidates)
app.command("filter")(filter_questions)
app.command("ambiguity")(ambiguity)
app.command("label")(label)
app.command("inspect")(inspect)
app.command("dedupe")(dedupe)
app.command("perturb")(perturb)
app.command("edit")(edit)

Name = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A question file; or, without PDFS, a config or the name of a data set.",
        show_default=False,
    ),
]
Pdfs = Annotated[
    list[Path] | None,
    typer.Argument(help="The PDFs that the questions are about, or folders of them.", show_default=False),
]
ParserKind = Annotated[
    str | None,
    typer.Option(
        "--parser", help="The parser: pdfium or pymupdf, instead of the config's.", show_default=False
    ),
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="How phrases are matched: fathoms (whole words), paper or released-code (parts of words).",
        show_default=False,
    ),
]


@app.command("init")
def init(
    file: Annotated[
        Path, typer.Argument(help="The .csv, .json or .jsonl file to create.", show_default=False)
    ],
    pdfs: Annotated[list[Path], typer.Argument(help="PDFs, or folders of them.", show_default=False)],
    parser: ParserKind = None,
) -> int:
    """Create a question file to fill in.

    It has two rows per PDF: one for an answerable and one for an unanswerable question. An existing file is
    never overwritten.
    """
    from fathoms.build import find_parser, scaffold
    from fathoms.corpora import refuse_existing, write_new
    from fathoms.corpora.questions import format_of

    ending = format_of(file)
    refuse_existing(file)
    reading = parsed(find_documents(pdfs), find_parser(parser or "pdfium"))
    for name, reason in reading.failures.items():
        console.note(f"note: left out {name}: {reason}")
    write_new(file, scaffold(reading.documents.values(), ending))
    console.say(
        f"{file}: two questions to fill in for each of {console.amount(len(reading.documents), 'document')}"
    )
    return ExitCode.FAILED if reading.failures else ExitCode.OK


@app.command("check")
def check(
    name: Name,
    pdfs: Pdfs = None,
    parser: ParserKind = None,
    profile: ProfileName = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="CODE", help="Skip this rule (repeatable).")
    ] = None,
    from_run: Annotated[
        str | None,
        typer.Option(
            "--from-run",
            metavar="RUN",
            help="Propose variants for answers of this run that its judge calls correct.",
            autocompletion=completion.run_names,
        ),
    ] = None,
    out: Out = RUNS,
    strict: Annotated[bool, typer.Option("--strict", help="End with exit code 1 for warnings, too.")] = False,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Write the ids that the file lacks into it, and change nothing else."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Look for mistakes in a question file.

    Compares the questions with the text that the parser extracts from the PDFs, and with --from-run also with
    the answers of a run that was scored by correctness-judged. Ends with exit code 1 if
    there is an error, or, with --strict, any finding.
    """
    from fathoms.build import check as find
    from fathoms.build import find_source

    source = find_source(name, pdfs or (), parser=parser, profile=profile)
    note_all(source.warnings, source.documents)
    if fix:
        _add_ids(source.path)
    found = find(
        source.path,
        source.documents,
        parsed(source.documents, source.parser),
        match=source.profile.match,
        hyphens=source.profile.hyphens,
        ignore=ignore or (),
        run=None if from_run is None else _judged_run(from_run, out),
    )
    if as_json:
        console.show_json(
            {
                "findings": [asdict(finding) for finding in found.findings],
                "errors": found.count("error"),
                "warnings": found.count("warning"),
                "questions": found.questions,
                "documents": found.documents,
            }
        )
    else:
        for finding in found.findings:
            console.say(str(finding))
        sums = [console.amount(found.count(severity), severity) for severity in ("error", "warning")]
        asked, about = (
            console.amount(found.questions, "question"),
            console.amount(found.documents, "document"),
        )
        console.say(f"{', '.join(sums)}; {asked} on {about}")
    return ExitCode.FAILED if found.count("error") or (strict and found.findings) else ExitCode.OK


def _add_ids(path: Path) -> None:
    """Write the ids that a question file lacks into it, and say how many."""
    from fathoms.corpora import add_ids, read_questions

    if count := add_ids(path, read_questions(path)):
        console.note(f"note: {path}: wrote the ids of {console.amount(count, 'question')} into the file")


def _judged_run(name: str, out: Path) -> ScoredRun:
    """Read a run that was scored by the judged metric; raises UsageError for another."""
    from fathoms.runs.disagreements import JUDGED
    from fathoms.runs.finding import find_run
    from fathoms.runs.reading import load

    run = load(find_run(name, out).path)
    if JUDGED not in run.metrics():
        raise UsageError(
            f"{run.run} is not scored by {JUDGED}:"
            f" run 'fathoms score {run.run} --metric {JUDGED} --judge FILE'"
        )
    return run


@app.command("stats")
def stats(name: Name, pdfs: Pdfs = None, parser: ParserKind = None, as_json: Json = False) -> int:
    """Count what the questions cover, and estimate how precise a score over them can be."""
    from fathoms.build import describe, find_source
    from fathoms.build.precision import margin_lines
    from fathoms.corpora import read_questions

    source = find_source(name, pdfs or (), parser=parser)
    note_all(source.warnings, source.documents)
    questions = read_questions(source.path).questions
    reading = parsed(source.documents, source.parser)
    figures = describe(questions, source.documents, reading.documents)
    if as_json:
        console.show_json(figures)
    else:
        _print_figures(figures)
        for line in margin_lines(questions, None):
            console.say(fill(line, 80))
    return 0


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
    from fathoms.compare.pairing import difference, identity
    from fathoms.corpora import read_questions

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


@app.command("nuggets")
def nuggets(
    file: Annotated[Path, typer.Argument(help="The question file to read.", show_default=False)],
    to: Annotated[Path, typer.Argument(help="The .json, .jsonl or .csv file to create.", show_default=False)],
    bank: Annotated[
        Path | None,
        typer.Option("--from", help="Nugget banks of TREC, by the ids of the questions.", show_default=False),
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option(
            "--judge", help="A YAML file with a judge whose model drafts nuggets.", show_default=False
        ),
    ] = None,
) -> int:
    """Add nuggets to the questions that have none.

    Nuggets are questions that a good answer answers, too. They are read from nugget banks, or drafted from
    the gold answers, and marked as imported or drafted: look through them before you rely on them. Ends with
    exit code 1 if an answerable question still has none. If no question got any, no file is written.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of

    if (bank is None) == (judge is None):
        raise UsageError("name either --from FILE with nugget banks, or --judge FILE to draft nuggets")
    format_of(to)
    refuse_existing(to)
    questions = read_questions(file).questions
    made, why = _imported(questions, bank) if bank else _drafted(questions, judge or Path())
    without = [question.id for question in made if question.answerable and not question.nuggets]
    for name in without:
        console.note(f"note: {name} has no nuggets: {why.get(name, 'no bank is of this topic')}")
    count = sum(len(question.nuggets) for question in made)
    if not count or (without and list(made) == list(questions)):
        raise DataError(f"{to} was not written, because no question got nuggets")
    write_questions(to, made)
    console.say(f"{to}: {console.amount(count, 'nugget')} of {console.amount(len(made), 'question')}")
    if not without:
        return ExitCode.OK
    more = shlex.join([str(to), str(to.with_stem(f"{to.stem}-more"))])
    option = f"--judge {shlex.quote(str(judge))}" if judge else "--judge FILE"
    console.complain(f"for the other {len(without)}, run 'fathoms questions nuggets {more} {option}'")
    return ExitCode.FAILED


def _imported(questions: Sequence[Question], bank: Path) -> tuple[Sequence[Question], Mapping[str, str]]:
    """Return the questions with the nuggets of a file, and why others have none."""
    from fathoms.build.nuggets import with_nuggets
    from fathoms.importers import read_nuggets

    found, notes = read_nuggets(bank)
    if unknown := found.keys() - {question.id for question in questions}:
        notes.append(f"{bank}: no question has the id of the topics {', '.join(sorted(unknown)[:20])}")
    for note in notes:
        console.note(f"note: {note}")
    return with_nuggets(questions, found), {}


def _drafted(questions: Sequence[Question], judge: Path) -> tuple[Sequence[Question], Mapping[str, str]]:
    """Return the questions with drafted nuggets, and why others have none."""
    from fathoms.build.nuggets import draft_nuggets
    from fathoms.judges.of_run import read_judge
    from fathoms.models.caching import ReplyCache

    with opened() as cache, progress.bars() as bars:
        found = draft_nuggets(questions, read_judge(judge), ReplyCache(cache), partial(bars.stage, "draft"))
    return found.questions, found.without


def _print_figures(figures: dict[str, Any]) -> None:
    """Print the figures as two tables, followed by remarks about the documents."""
    groups = {"all": figures["overall"], **figures["categories"]}
    console.show_table(
        ("category", "n", "answerable", "hops", "words", "width"),
        [(name, *_cells(group)) for name, group in groups.items()],
    )
    console.say(
        "n: questions; words: least, median and most of a phrase; width: how wide the\n"
        "95 % interval of the mean correctness can be (all: of the mean of categories)\n"
    )
    documents = figures["documents"]
    console.show_table(
        ("document", "n", "pages of evidence"),
        [
            (name, documents["used"].get(name, 0), f"{pages['evidence']} of {pages['all'] or 'unknown'}")
            for name, pages in documents["pages"].items()
        ],
    )
    if documents["unused"]:
        console.say(f"no question is about: {', '.join(documents['unused'])}")
    if documents["unknown"]:
        console.say(f"missing documents: {', '.join(documents['unknown'])}")
    if documents["naming_none"]:
        console.say(f"{console.amount(documents['naming_none'], 'question')} without a file: asked of all")


def _cells(group: dict[str, Any]) -> tuple[object, ...]:
    """The figures of one row of the first table."""
    words, width = group["phrase_words"], group["width"]
    return (
        group["questions"],
        group["answerable"],
        ", ".join(f"{number}: {count}" for number, count in group["hops"].items()) or "-",
        f"{words['least']}, {words['median']:g}, {words['most']}" if words else "-",
        "-" if width is None else f"{width:.2f}",
    )
