"""`fathoms import`: make runs of answers that other tools produced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, results
from fathoms.cli.options import RUNS, Out, Partial
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.importers import Imported, ParsedFolder
    from fathoms.runs.store import Run

app = typer.Typer(
    help="Import answers that were made by other tools, as runs.", no_args_is_help=True, rich_markup_mode=None
)

Files = Annotated[list[Path], typer.Argument(help="Result files of FATHOMS-RAG.", show_default=False)]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents", help="The folder of the PDFs, from which to estimate where answers were lost."
    ),
]
ParserKind = Annotated[str, typer.Option("--parser", help="The parser for --documents: pdfium or pymupdf.")]


@app.command("fathoms-rag")
def fathoms_rag(
    files: Files,
    out: Out = RUNS,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="The question file; by default the questions in the files."),
    ] = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
) -> int:
    """Import result files of the FATHOMS-RAG benchmark.

    The scores in the files are kept next to those of fathoms: see `fathoms report RUN --scores released`.
    """
    from fathoms.corpora import read_questions
    from fathoms.importers import read_result_file

    known = read_questions(questions) if questions else None
    imported = [read_result_file(path, known.questions if known else None) for path in files]
    parsed = _parse(documents, parser)
    return _keep([_rebuilt(item, parsed) for item in imported], "fathoms-rag", out, parsed)


@app.command("answers")
def answers(
    file: Annotated[Path, typer.Argument(help="A file with one JSON object per line.", show_default=False)],
    questions: Annotated[
        Path, typer.Option("--questions", help="The file of the questions that are answered.")
    ],
    out: Out = RUNS,
    name: Annotated[str | None, typer.Option("--name", help="The name of the run.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model that answered.")] = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import answers of any pipeline from a JSONL file.

    Each row has `id` or `question`, `answer`, and optionally `contexts` and `citations`.
    """
    from dataclasses import replace

    from fathoms.corpora import read_questions
    from fathoms.importers import read_answers

    parsed = _parse(documents, parser)
    imported = read_answers(
        file, read_questions(questions).questions, (document.id for document in parsed.documents)
    )
    named = replace(imported, name=name or imported.name, model=model)
    code = _keep([named], questions.stem, out, parsed)
    found, every = len(named.records), len(named.questions)
    if found < every and not partial:
        console.complain("not all questions have an answer; --partial accepts that")
    missing = found < every and not partial
    console.say(f"{named.name}: {found} of {every} questions: {'PARTIAL' if missing else 'OK'}")
    return ExitCode.FAILED if missing else code


def _parse(folder: Path | None, kind: str) -> ParsedFolder:
    """Parse the PDFs of a folder and print the warnings; no documents if `folder` is `None`."""
    from fathoms.config import suggest
    from fathoms.importers import NO_DOCUMENTS, parse_folder
    from fathoms.ingest import Pdfium, PyMuPDF

    parsers: dict[str, Pdfium | PyMuPDF] = {"pdfium": Pdfium(), "pymupdf": PyMuPDF()}
    if kind not in parsers:
        raise UsageError(f"--parser {kind}: there is no such parser{suggest(kind, parsers)}")
    if folder is None:
        return NO_DOCUMENTS
    parsed = parse_folder(folder, parsers[kind])
    for warning in parsed.warnings:
        console.complain(warning)
    return parsed


def _rebuilt(imported: Imported, parsed: ParsedFolder) -> Imported:
    """Restore chunks that the result file cut short, if LlamaIndex's splitter is installed."""
    from dataclasses import replace

    from fathoms.errors import MissingExtraError
    from fathoms.importers import rebuild
    from fathoms.ingest import SentenceChunker

    try:
        return rebuild(imported, parsed.documents, SentenceChunker()) if parsed.documents else imported
    except MissingExtraError as error:
        return replace(imported, warnings=(*imported.warnings, f"cut chunks were not restored: {error}"))


def _keep(imported: list[Imported], data: str, out: Path, parsed: ParsedFolder) -> int:
    """Store the runs, score them and print the scores, along with warnings about the files."""
    from fathoms import scoring
    from fathoms.importers import keep

    runs: list[Run] = []
    for item in imported:
        for warning in item.warnings:
            console.complain(warning)
        run = keep(item, data, out, parsed)
        scoring.score_run(run)
        runs.append(run)
    results.present(runs, out, each=False)
    return 0
