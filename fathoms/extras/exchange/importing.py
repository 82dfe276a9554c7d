"""`fathoms import`: make runs of answers that other tools produced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, results
from fathoms.cli.options import RUNS, Out, Partial
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.extras.exchange.reading.foreign import Options
    from fathoms.importers import Imported, ParsedFolder
    from fathoms.runs.store import Run
    from fathoms.types import Question

app = typer.Typer(
    help="Import answers that were made by other tools, as runs.", no_args_is_help=True, rich_markup_mode=None
)

Files = Annotated[list[Path], typer.Argument(help="Result files of FATHOMS-RAG.", show_default=False)]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        help="The folder of the PDFs, from which to estimate where answers were lost, and in which texts of"
        " contexts without a document are looked for.",
    ),
]
Rows = Annotated[Path, typer.Argument(help="A file with one JSON object per line.", show_default=False)]
Questions = Annotated[Path, typer.Option("--questions", help="The file of the questions.")]
OwnQuestions = Annotated[
    Path | None,
    typer.Option("--questions", help="The question file; by default the questions in the file itself."),
]
Name = Annotated[str | None, typer.Option("--name", help="The name of the run.")]
Model = Annotated[str | None, typer.Option("--model", help="The model that answered.")]
ContextsPath = Annotated[
    str | None,
    typer.Option(
        "--contexts",
        metavar="JSONPATH",
        help="Where a row of the file has its retrieved contexts, such as `$.metadata.passages`.",
    ),
]
FirstPage = Annotated[
    int, typer.Option("--first-page", min=0, max=1, help="The number of a PDF's first page in the contexts.")
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
    file: Rows,
    questions: Questions,
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import answers of any pipeline from a JSONL file.

    Each row has `id` or `question`, `answer`, and optionally `contexts` and `citations`.
    """
    from fathoms.importers import read_answers

    parsed, asked = _parse(documents, parser), _asked(questions)
    read = [read_answers(file, asked, parsed.names, parsed.texts)]
    return _finish(read, questions.stem, out, parsed, name=name, model=model, partial=partial)


@app.command("hits")
def hits(
    file: Rows,
    questions: Questions,
    out: Out = RUNS,
    name: Name = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import what a retriever found from a JSONL file, and score its retrieval.

    Each row has `id` or `question`, and `hits`: a list of objects with `document`, and optionally `page`,
    `score`, `text`, `bbox` or `boxes`, `rank` and `modality`. `rounds` are those of a retriever with several.
    """
    from fathoms.extras.exchange.reading.hits import read_hits

    parsed, asked = _parse(documents, parser), _asked(questions)
    read = [read_hits(file, asked, parsed.names, parsed.texts)]
    return _finish(read, questions.stem, out, parsed, name=name, partial=partial)


@app.command("trec")
def trec(
    file: Annotated[Path, typer.Argument(help="A run in the format of TREC.", show_default=False)],
    qrels: Annotated[Path, typer.Option("--qrels", help="The relevance judgments of the queries.")],
    questions: OwnQuestions = None,
    out: Out = RUNS,
    name: Name = None,
    partial: Partial = False,
) -> int:
    """Import a run in the format of TREC with its relevance judgments, and score its retrieval.

    Ids of `fathoms export trec`, such as `varn.pdf#page=3`, name a page; any other id is a document.
    """
    from fathoms.extras.exchange.reading.trec import read_trec
    from fathoms.importers import NO_DOCUMENTS

    read = [read_trec(file, qrels, None if questions is None else _asked(questions))]
    data = (qrels if questions is None else questions).stem
    return _finish(read, data, out, NO_DOCUMENTS, name=name, partial=partial)


@app.command("ragas")
def ragas(
    file: Annotated[
        Path, typer.Argument(help="A data set or result of Ragas: .jsonl, .json or .csv.", show_default=False)
    ],
    questions: OwnQuestions = None,
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import answers and contexts from a data set or a result file of Ragas.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.ragas import read_ragas

    parsed = _parse(documents, parser)
    read = [read_ragas(file, _options(questions, parsed))]
    data = (questions or file).stem
    return _finish(read, data, out, parsed, name=name, model=model, partial=partial)


@app.command("ragchecker")
def ragchecker(
    file: Annotated[
        Path,
        typer.Argument(help="The inputs of RAGChecker, or its outputs with claims.", show_default=False),
    ],
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    partial: Partial = False,
) -> int:
    """Import answers, retrieved passages and gold answers of RAGChecker.

    The claims and labels of its outputs are kept as verdicts, so that the metrics of the set `ragchecker` ask
    no judge. Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.ragchecker import read_ragchecker
    from fathoms.importers import NO_DOCUMENTS

    read = [read_ragchecker(file)]
    return _finish(read, file.stem, out, NO_DOCUMENTS, name=name, model=model, partial=partial)


@app.command("mirage")
def mirage(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with the released files, which are found by name.", show_default=False),
    ],
    out: Out = RUNS,
    partial: Partial = False,
) -> int:
    """Import the answers that MiRAGE released, one run for each system and each person who judged its claims.

    The claims and people's judgements are kept as verdicts, so that the metrics `mirage.info-p-reference`,
    `mirage.info-r` and `mirage.info-f1-reference` ask no judge.
    """
    from fathoms.extras.exchange.reading.mirage import read_mirage
    from fathoms.importers import NO_DOCUMENTS

    return _finish(list(read_mirage(folder)), "mirage", out, NO_DOCUMENTS, partial=partial)


@app.command("mmdocrag")
def mmdocrag(
    responses: Annotated[
        Path, typer.Argument(help="A file of answers as MMDocRAG released it.", show_default=False)
    ],
    gold: Annotated[
        Path, typer.Option("--gold", help="The file of the data set, or one with q_id and gold_quotes.")
    ],
    judge: Annotated[
        Path | None, typer.Option("--judge", help="The file with a judge's grades of these answers.")
    ] = None,
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    partial: Partial = False,
) -> int:
    """Import the answers of a model that MMDocRAG released, and score which quotes they cite.

    The grades of a judge are kept as verdicts, so that the metrics of the sets `mmdocrag-quality` and
    `mmdocrag-quality-released` ask no judge.
    """
    from fathoms.importers import NO_DOCUMENTS, read_mmdocrag

    read = [read_mmdocrag(responses, gold, judge)]
    return _finish(read, gold.stem, out, NO_DOCUMENTS, name=name, model=model, partial=partial)


@app.command("promptfoo")
def promptfoo(
    file: Annotated[
        Path, typer.Argument(help="The file of `promptfoo eval -o FILE.json` or .jsonl.", show_default=False)
    ],
    questions: OwnQuestions = None,
    contexts: ContextsPath = None,
    first_page: FirstPage = 1,
    out: Out = RUNS,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import the results of promptfoo, one run for each prompt and provider.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.promptfoo import read_promptfoo

    parsed = _parse(documents, parser)
    read = read_promptfoo(file, _options(questions, parsed, contexts, first_page))
    return _finish(read, (questions or file).stem, out, parsed, partial=partial)


@app.command("inspect")
def inspect(
    file: Annotated[Path, typer.Argument(help="A log of Inspect: .eval or .json.", show_default=False)],
    questions: OwnQuestions = None,
    contexts: ContextsPath = None,
    first_page: FirstPage = 1,
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import the samples of a log of Inspect (inspect_ai); its epochs are repeats.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.inspect_log import read_inspect

    parsed = _parse(documents, parser)
    read = [read_inspect(file, _options(questions, parsed, contexts, first_page))]
    data = (questions or file).stem
    return _finish(read, data, out, parsed, name=name, model=model, partial=partial)


@app.command("otel")
def otel(
    file: Annotated[
        Path,
        typer.Argument(
            help="Traces: OTLP in JSON, or an export of Langfuse or Phoenix (.json or .jsonl).",
            show_default=False,
        ),
    ],
    questions: OwnQuestions = None,
    first_page: FirstPage = 1,
    out: Out = RUNS,
    name: Name = None,
    model: Model = None,
    documents: Documents = None,
    parser: ParserKind = "pdfium",
    partial: Partial = False,
) -> int:
    """Import traces of an application that runs: GenAI spans of OpenTelemetry, or an export of Langfuse or
    Phoenix. Each turn becomes a question with its contexts and its answer.

    Turns of a conversation keep what was said before as metadata of the question.
    """
    from fathoms.extras.exchange.reading.traces.reading import read_traces

    parsed = _parse(documents, parser)
    read = [read_traces(file, _options(questions, parsed, None, first_page))]
    data = (questions or file).stem
    return _finish(read, data, out, parsed, name=name, model=model, partial=partial)


def _asked(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file."""
    from fathoms.corpora import read_questions

    return read_questions(path).questions


def _options(
    questions: Path | None, parsed: ParsedFolder, contexts: str | None = None, first_page: int = 1
) -> Options:
    """Return the options of the files of other tools."""
    from fathoms.extras.exchange.reading.foreign import Options
    from fathoms.pipeline.external.mapping import compiled

    if contexts is not None:
        try:
            compiled(contexts)
        except ValueError as error:
            raise UsageError(f"--contexts {contexts}: {error}") from error
    asked = None if questions is None else _asked(questions)
    return Options(asked, parsed.names, contexts, first_page, parsed.texts)


def _finish(
    read: list[Imported],
    data: str,
    out: Path,
    parsed: ParsedFolder,
    *,
    name: str | None = None,
    model: str | None = None,
    partial: bool = False,
) -> int:
    """Store, score and print imported runs; ends with 1 if one of them is partial and `partial` does not
    accept that."""
    from dataclasses import replace

    from fathoms.importers import released_means

    runs = [replace(one, name=name or one.name, model=model or one.model) for one in read]
    code = _keep(runs, data, out, parsed)
    for one in runs:
        if means := released_means(one.records):
            shown = ", ".join(f"{key} {mean:.3g} ({n})" for key, (mean, n) in means.items())
            console.say(f"{one.name}: scores in the file, as means over rows: {shown}")
        found, every = len({record.question.id for record in one.records}), len(one.questions)
        rows = f", and {one.left_out} rows without use" if one.left_out else ""
        missing = (found < every or bool(one.left_out)) and not partial
        if missing:
            what = "not all questions have an answer" if found < every else "not all rows could be used"
            console.complain(f"{what}; --partial accepts that")
            code = ExitCode.FAILED
        console.say(
            f"{one.name}: {found} of {console.amount(every, 'question')}{rows}:"
            f" {'PARTIAL' if missing else 'OK'}"
        )
    return code


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
    from fathoms.extras.exchange.reading.rebuilding import rebuild
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
