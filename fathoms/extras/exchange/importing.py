"""`fathoms import`: make runs of answers that other tools produced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from fathoms.cli import console, results
from fathoms.cli.options import RUNS, Out, Partial
from fathoms.errors import ExitCode, MissingExtraError, UsageError
from fathoms.extras.exchange.options import ByFormat, command

if TYPE_CHECKING:
    from fathoms.extras.exchange.reading.foreign import Options
    from fathoms.importers import Imported, ParsedFolder
    from fathoms.runs.run import Run
    from fathoms.types import Question


class _Formats(ByFormat):
    """The formats that are read, by `--format`."""

    option = "--format"


app = typer.Typer(
    cls=_Formats,
    help="Import answers that were made by other tools, as runs.\n\n'fathoms import FILE --format ragas' and"
    " 'fathoms import ragas FILE' are the same.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Rows = Annotated[
    Path, typer.Argument(help="A table, or a file with one JSON object per line.", show_default=False)
]
Questions = Annotated[Path, typer.Option("--questions", help="The file of the questions.")]


@dataclass(frozen=True)
class Given:
    """The options for a file and its run. Each format has the options that it can use."""

    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="The question file; by default the questions in the file itself."),
    ] = None
    contexts: Annotated[
        str | None,
        typer.Option(
            "--contexts",
            metavar="JSONPATH",
            help="Where a row of the file has its retrieved contexts, such as `$.metadata.passages`.",
        ),
    ] = None
    first_page: Annotated[
        int,
        typer.Option("--first-page", min=0, max=1, help="The number of a PDF's first page in the contexts."),
    ] = 1
    out: Out = RUNS
    name: Annotated[str | None, typer.Option("--name", help="The name of the run.")] = None
    model: Annotated[str | None, typer.Option("--model", help="The model that answered.")] = None
    documents: Annotated[
        Path | None,
        typer.Option(
            "--documents",
            help="The folder of the PDFs, from which to estimate where answers were lost, and in which texts"
            " of contexts without a document are looked for.",
        ),
    ] = None
    parser: Annotated[
        str, typer.Option("--parser", help="The parser for --documents: pdfium or pymupdf.")
    ] = "pdfium"
    partial: Partial = False

    @cached_property
    def parsed(self) -> ParsedFolder:
        """The parsed PDFs of the folder, after printing warnings about them; none without a folder."""
        from fathoms.errors import suggest
        from fathoms.importers import NO_DOCUMENTS, parse_folder
        from fathoms.ingest import Pdfium, PyMuPDF

        parsers: dict[str, Pdfium | PyMuPDF] = {"pdfium": Pdfium(), "pymupdf": PyMuPDF()}
        if self.parser not in parsers:
            raise UsageError(
                f"--parser {self.parser}: there is no such parser{suggest(self.parser, parsers)}"
            )
        if self.documents is None:
            return NO_DOCUMENTS
        parsed = parse_folder(self.documents, parsers[self.parser])
        for warning in parsed.warnings:
            console.complain(warning)
        return parsed

    @property
    def loaded_questions(self) -> tuple[Question, ...] | None:
        """The questions of the question file; `None` without one."""
        return None if self.questions is None else _read_questions(self.questions)

    def options(self) -> Options:
        """Return the options of the readers of other tools' files."""
        from fathoms.extras.exchange.reading.foreign import Options
        from fathoms.pipeline.external.mapping import compiled

        parsed = self.parsed
        if self.contexts is not None:
            try:
                compiled(self.contexts)
            except ValueError as error:
                raise UsageError(f"--contexts {self.contexts}: {error}") from error
        return Options(self.loaded_questions, parsed.names, self.contexts, self.first_page, parsed.texts)

    def finish(self, read: list[Imported], data: Path | str) -> int:
        """Store, score and print imported runs, whose data set is named after a file; ends with 1 if one of
        them is partial and `partial` does not accept that. `read` is empty afterwards, see `keep`."""
        read[:] = [replace(one, name=self.name or one.name, model=self.model or one.model) for one in read]
        endings = [_Ending.of(one) for one in read]
        code = self.keep(read, data if isinstance(data, str) else data.stem)
        for one in endings:
            if one.means:
                shown = ", ".join(f"{key} {mean:.3g} ({n})" for key, (mean, n) in one.means.items())
                console.say(f"{one.name}: scores in the file, as means over rows: {shown}")
            rows = f", and {console.amount(one.left_out, 'row')} without use" if one.left_out else ""
            missing = (one.found < one.every or bool(one.left_out)) and not self.partial
            if missing:
                all_found = one.found == one.every
                what = "not all rows could be used" if all_found else "not all questions have an answer"
                console.complain(f"{what}; --partial accepts that")
                code = ExitCode.FAILED
            console.say(
                f"{one.name}: {one.found} of {console.amount(one.every, 'question')}{rows}:"
                f" {'PARTIAL' if missing else 'OK'}"
            )
        return code

    def keep(self, imported: list[Imported], data: str) -> int:
        """Store the runs, score them and print the scores, along with warnings about the files. Each is taken
        out of the list, so that scoring has the memory that its questions took."""
        from fathoms import scoring
        from fathoms.importers import keep

        runs: list[Run] = []
        while imported:
            for warning in imported[0].warnings:
                console.complain(warning)
            run = keep(imported.pop(0), data, self.out, self.parsed)
            scoring.score_run(run)
            runs.append(run)
        results.present(runs, self.out)
        return 0


class _Ending(NamedTuple):
    """What is printed of an imported run after its scores: how many of its questions were found, how many
    rows were of no use, and the means of released scores with their number."""

    name: str
    found: int
    every: int
    left_out: int
    means: Mapping[str, tuple[float, int]]

    @classmethod
    def of(cls, one: Imported) -> _Ending:
        """Return what is printed of a run."""
        from fathoms.importers import released_means

        found = len({record.question.id for record in one.records})
        return cls(one.name, found, len(one.questions), one.left_out, released_means(one.records))


_format = partial(command, app, Given)
_DOCUMENTS = ("documents", "parser")
_NAMES = ("out", "name", "model", "partial")


@_format("fathoms-rag", "questions", "out", *_DOCUMENTS)
def fathoms_rag(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files of FATHOMS-RAG, or folders of them.", show_default=False),
    ],
    given: Given,
) -> int:
    """Import result files of the FATHOMS-RAG benchmark.

    The scores in the files are kept next to those of fathoms: see `fathoms report RUN --scores released`,
    which takes the files themselves, too.
    """
    from fathoms.importers import read_result_files

    imported = read_result_files(files, given.loaded_questions)
    return given.keep([_rebuilt(item, given.parsed) for item in imported], "fathoms-rag")


@_format("answers", *_NAMES, *_DOCUMENTS)
def answers(file: Rows, questions: Questions, given: Given) -> int:
    """Import answers of any pipeline from a table (CSV, TSV, .xlsx) or a JSONL file.

    Each row has `id` or `question`, `answer`, and optionally `contexts` and `citations`.
    """
    from fathoms.importers import read_answers

    parsed = given.parsed
    return given.finish(
        [read_answers(file, _read_questions(questions), parsed.names, parsed.texts)], questions
    )


@_format("hits", "out", "name", "partial", *_DOCUMENTS)
def hits(file: Rows, questions: Questions, given: Given) -> int:
    """Import what a retriever found from a table or a JSONL file, and score its retrieval.

    Each row has `id` or `question`, and `hits`: a list of objects with `document`, and optionally `page`,
    `score`, `text`, `bbox` or `boxes`, `rank` and `modality`. `rounds` are those of a retriever with several.
    In a table, `hits` may also be places such as `a.pdf:7; b.pdf`, best first.
    """
    from fathoms.extras.exchange.reading.hits import read_hits

    parsed = given.parsed
    return given.finish([read_hits(file, _read_questions(questions), parsed.names, parsed.texts)], questions)


@_format("trec", "questions", "out", "name", "partial")
def trec(
    file: Annotated[Path, typer.Argument(help="A run in the format of TREC.", show_default=False)],
    qrels: Annotated[Path, typer.Option("--qrels", help="The relevance judgments of the queries.")],
    given: Given,
) -> int:
    """Import a run in the format of TREC with its relevance judgments, and score its retrieval.

    Ids of `fathoms export trec`, such as `varn.pdf#page=3`, name a page; any other id is a document.
    """
    from fathoms.extras.exchange.reading.trec import read_trec

    return given.finish([read_trec(file, qrels, given.loaded_questions)], given.questions or qrels)


@_format("ragas", "questions", *_NAMES, *_DOCUMENTS)
def ragas(
    file: Annotated[
        Path, typer.Argument(help="A data set or result of Ragas: .jsonl, .json or .csv.", show_default=False)
    ],
    given: Given,
) -> int:
    """Import answers and contexts from a data set or a result file of Ragas.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.ragas import read_ragas

    return given.finish([read_ragas(file, given.options())], given.questions or file)


@_format("ragchecker", *_NAMES)
def ragchecker(
    file: Annotated[
        Path,
        typer.Argument(help="The inputs of RAGChecker, or its outputs with claims.", show_default=False),
    ],
    given: Given,
) -> int:
    """Import answers, retrieved passages and gold answers of RAGChecker.

    The claims and labels of its outputs are kept as verdicts, so that the metrics of the set `ragchecker` ask
    no judge. Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.ragchecker import read_ragchecker

    return given.finish([read_ragchecker(file)], file)


@_format("mirage", "out", "partial")
def mirage(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with the released files, which are found by name.", show_default=False),
    ],
    given: Given,
) -> int:
    """Import the answers that MiRAGE released, one run for each system and each person who judged its claims.

    The claims and people's judgements are kept as verdicts, so that the metrics `mirage.info-p-reference`,
    `mirage.info-r` and `mirage.info-f1-reference` ask no judge.
    """
    from fathoms.extras.exchange.reading.mirage import read_mirage

    return given.finish([*read_mirage(folder)], "mirage")


@_format("mmdocrag", *_NAMES)
def mmdocrag(
    responses: Annotated[
        Path, typer.Argument(help="A file of answers as MMDocRAG released it.", show_default=False)
    ],
    gold: Annotated[
        Path, typer.Option("--gold", help="The file of the data set, or one with q_id and gold_quotes.")
    ],
    given: Given,
    judge: Annotated[
        Path | None, typer.Option("--judge", help="The file with a judge's grades of these answers.")
    ] = None,
    released: Annotated[
        bool,
        typer.Option(
            "--released-thoughts",
            help="Part thoughts from answers as the released evaluation does: any paragraph that ends in"
            " ' seconds' ends them.",
        ),
    ] = False,
) -> int:
    """Import the answers of a model that MMDocRAG released, and score which quotes they cite.

    The grades of a judge are kept as verdicts, so that the metrics of the sets `mmdocrag-quality` and
    `mmdocrag-quality-released` ask no judge.
    """
    from fathoms.importers import read_mmdocrag

    return given.finish([read_mmdocrag(responses, gold, judge, released=released)], gold)


@_format("promptfoo", "questions", "contexts", "first_page", "out", "partial", *_DOCUMENTS)
def promptfoo(
    file: Annotated[
        Path, typer.Argument(help="The file of `promptfoo eval -o FILE.json` or .jsonl.", show_default=False)
    ],
    given: Given,
) -> int:
    """Import the results of promptfoo, one run for each prompt and provider.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.promptfoo import read_promptfoo

    return given.finish(read_promptfoo(file, given.options()), given.questions or file)


@_format("inspect", "questions", "contexts", "first_page", *_NAMES, *_DOCUMENTS)
def inspect(
    file: Annotated[Path, typer.Argument(help="A log of Inspect: .eval or .json.", show_default=False)],
    given: Given,
) -> int:
    """Import the samples of a log of Inspect (inspect_ai); its epochs are repeats.

    Its scores are kept as released scores.
    """
    from fathoms.extras.exchange.reading.inspect_log import read_inspect

    return given.finish([read_inspect(file, given.options())], given.questions or file)


@_format("otel", "questions", "first_page", *_NAMES, *_DOCUMENTS)
def otel(
    file: Annotated[
        Path,
        typer.Argument(
            help="Traces: OTLP in JSON, or an export of Langfuse, LangSmith or Phoenix (.json or .jsonl).",
            show_default=False,
        ),
    ],
    given: Given,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only questions of the last time, such as 7d, 12h or 30m, or since a date (2026-11-20).",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="ATTRIBUTE",
            help="The attribute of spans, such as route, whose value is the category of a question.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            min=1,
            help="Import only so many questions, drawn at random; with --by at least two of each category.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides which questions --sample draws.")] = 0,
    dedupe: Annotated[
        float | None,
        typer.Option(
            "--dedupe",
            min=0.5,
            max=1.0,
            help="Leave out a question whose cosine with an earlier one is at least this, such as .95.",
        ),
    ] = None,
    redact: Annotated[
        str | None,
        typer.Option(
            "--redact",
            metavar="KINDS",
            help="Take out of all texts, before they are stored, what is named of email, phone and iban.",
        ),
    ] = None,
) -> int:
    """Import traces of an application that runs: GenAI spans of OpenTelemetry, or an export of Langfuse or
    Phoenix. Each turn becomes a question with its contexts, the tools that were called, and its answer.

    Turns of a conversation keep what was said before as metadata of the question. Figures of a sample by
    category weigh each category by its number of questions.
    """
    from fathoms.extras.exchange.reading.traces.reading import read_chosen

    kinds = _kinds(redact)
    return given.finish(
        [read_chosen(file, since, by, sample, seed, dedupe, kinds, given.options())], given.questions or file
    )


def _kinds(redact: str | None) -> tuple[str, ...]:
    """Return the kinds of personal data that `--redact` names; raises UsageError for an unknown one."""
    from fathoms.errors import suggest
    from fathoms.extras.exchange.reading.traces.redacting import KINDS

    kinds = tuple(filter(None, (redact or "").split(",")))
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"--redact {kind}: there is no such kind{suggest(kind, KINDS)}")
    return kinds


def _read_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file."""
    from fathoms.corpora import read_questions

    return read_questions(path).questions


def _rebuilt(imported: Imported, parsed: ParsedFolder) -> Imported:
    """Restore chunks that the result file cut short, if LlamaIndex's splitter is installed."""
    from fathoms.extras.exchange.reading.rebuilding import rebuild
    from fathoms.ingest import SentenceChunker

    try:
        return rebuild(imported, parsed.documents, SentenceChunker()) if parsed.documents else imported
    except MissingExtraError as error:
        return replace(imported, warnings=(*imported.warnings, f"cut chunks were not restored: {error}"))
