"""`fathoms questions init`, `check`, `stats` and `nuggets`: write, check and describe question files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import RUNS, Json, NewFile, Out, Pdfs, QuestionFile
from fathoms.errors import DataError, ExitCode, UsageError
from fathoms.extras.questions.commands.parsing import find_documents, note_all, parsed

if TYPE_CHECKING:
    from fathoms.runs.run import Run
    from fathoms.types import Question

Name = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A question file; or, without PDFS, a config or the name of a data set.",
        show_default=False,
    ),
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
    from fathoms.corpora import refuse_existing, write_new
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.question_source import find_parser
    from fathoms.extras.questions.scaffold import scaffold

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
    from fathoms.extras.questions.checking import check as find
    from fathoms.extras.questions.question_source import find_source

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
        questions = console.amount(found.questions, "question")
        documents = console.amount(found.documents, "document")
        console.say(f"{', '.join(sums)}; {questions} on {documents}")
    return ExitCode.FAILED if found.count("error") or (strict and found.findings) else ExitCode.OK


def _add_ids(path: Path) -> None:
    """Write the ids that a question file lacks into it, and say how many."""
    from fathoms.corpora import add_ids, read_questions

    if count := add_ids(path, read_questions(path)):
        console.note(f"note: {path}: wrote the ids of {console.amount(count, 'question')} into the file")


def _judged_run(name: str, out: Path) -> Run:
    """Read a run that was scored by the judged metric; raises UsageError for another."""
    from fathoms.runs.disagreements import JUDGED
    from fathoms.runs.run import Run

    run = Run.scored(Run.open(name, out).path)
    if JUDGED not in run.metrics():
        raise UsageError(
            f"{run.original_id} is not scored by {JUDGED}:"
            f" run 'fathoms score {run.original_id} --metric {JUDGED} --judge FILE'"
        )
    return run


def stats(name: Name, pdfs: Pdfs = None, parser: ParserKind = None, as_json: Json = False) -> int:
    """Count what the questions cover, and estimate how precise a score over them can be."""
    from fathoms.corpora import read_questions
    from fathoms.extras.questions.question_source import find_source
    from fathoms.extras.questions.set_statistics import describe
    from fathoms.gate.precision import margin_lines

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


def nuggets(
    file: QuestionFile,
    to: NewFile,
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
    result, why = _imported(questions, bank) if bank else _drafted(questions, judge or Path())
    without = [question.id for question in result if question.answerable and not question.nuggets]
    for name in without:
        console.note(f"note: {name} has no nuggets: {why.get(name, 'no bank is of this topic')}")
    count = sum(len(question.nuggets) for question in result)
    if not count or (without and list(result) == list(questions)):
        raise DataError(f"{to} was not written, because no question got nuggets")
    write_questions(to, result)
    console.say(f"{to}: {console.amount(count, 'nugget')} of {console.amount(len(result), 'question')}")
    if not without:
        return ExitCode.OK
    more = shlex.join([str(to), str(to.with_stem(f"{to.stem}-more"))])
    option = f"--judge {shlex.quote(str(judge))}" if judge else "--judge FILE"
    console.complain(f"for the other {len(without)}, run 'fathoms questions nuggets {more} {option}'")
    return ExitCode.FAILED


def _imported(questions: Sequence[Question], bank: Path) -> tuple[Sequence[Question], Mapping[str, str]]:
    """Return the questions with the nuggets of a file, and why others have none."""
    from fathoms.extras.questions.nugget_banks import read_nuggets
    from fathoms.extras.questions.nuggets import with_nuggets

    found, notes = read_nuggets(bank)
    if unknown := found.keys() - {question.id for question in questions}:
        notes.append(f"{bank}: no question has the id of the topics {', '.join(sorted(unknown)[:20])}")
    for note in notes:
        console.note(f"note: {note}")
    return with_nuggets(questions, found), {}


def _drafted(questions: Sequence[Question], judge: Path) -> tuple[Sequence[Question], Mapping[str, str]]:
    """Return the questions with drafted nuggets, and why others have none."""
    from fathoms.extras.questions.nuggets import draft_nuggets
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
