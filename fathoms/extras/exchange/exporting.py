"""`fathoms export`: write a complete copy of a run, or what it holds in the formats of other tools.

`fathoms export RUN` is short for `fathoms export run RUN`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Out, Profile

if TYPE_CHECKING:
    from fathoms.extras.exchange.writing.rankings import Level
    from fathoms.runs.reading import ScoredRun


class _CopyByDefault(TyperGroup):
    """A group in which a first word that is not a command names a run to be copied."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_CopyByDefault,
    help="Write a complete copy of a run (fathoms export RUN), or what it holds for other tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Reference = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before).",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
To = Annotated[
    Path | None,
    typer.Option("--to", help="Where to write; by default a new place that is named after the run."),
]
LevelOption = Annotated[
    str, typer.Option("--level", metavar="page|document", help="What the ids stand for: pages or documents.")
]
Repeat = Annotated[int, typer.Option("--repeat", min=0, help="Which repeat of the run is written, from 0.")]
RankScores = Annotated[
    bool,
    typer.Option(
        "--rank-scores",
        help="Write 1 / rank as scores, for tools that sort by score and order equal ones anew.",
    ),
]


@app.command("run")
def run_(run: Reference, to: To = None, out: Out = RUNS) -> int:
    """Write a complete copy of a run as a new folder, with the parsed documents that it shares with other
    runs.

    Hand over such a copy: whoever gets it can score and report it. 'fathoms export RUN' does the same.
    """
    from fathoms.runs.exporting import export_run
    from fathoms.runs.finding import find_run

    store = find_run(run, out)
    return _written([export_run(store, to or Path(store.id)).path], ())


@app.command("trec")
def trec(
    run: Reference,
    to: To = None,
    level: LevelOption = "page",
    repeat: Repeat = 0,
    rank_scores: RankScores = False,
    out: Out = RUNS,
) -> int:
    """Write a run in the format of TREC: `run.trec`, `qrels.trec` and `questions.jsonl` in a folder.

    `fathoms import trec` reads them back.
    """
    from fathoms.extras.exchange.writing.rankings import rankings_of
    from fathoms.extras.exchange.writing.trec import write_trec
    from fathoms.runs.finding import find_run

    store = find_run(run, out)
    found = rankings_of(store, _level(level), repeat, by_rank=rank_scores)
    paths, warnings = write_trec(found, to or Path(f"{store.id}-trec"))
    return _written(paths, (*found.warnings, *warnings))


@app.command("beir")
def beir(
    run: Reference,
    to: To = None,
    level: LevelOption = "page",
    repeat: Repeat = 0,
    rank_scores: RankScores = False,
    out: Out = RUNS,
) -> int:
    """Write a run in the layout of BEIR (corpus, queries, qrels, results), and as predictions of MTEB."""
    from fathoms.extras.exchange.writing.beir import write_beir
    from fathoms.extras.exchange.writing.rankings import rankings_of
    from fathoms.runs.documents import StoredDocuments
    from fathoms.runs.finding import find_run

    store = find_run(run, out)
    found = rankings_of(store, _level(level), repeat, by_rank=rank_scores)
    documents = StoredDocuments(store, store.manifest)
    return _written(write_beir(found, documents, to or Path(f"{store.id}-beir")), found.warnings)


@app.command("csv")
def csv(run: Reference, to: To = None, profile: Profile = None, out: Out = RUNS) -> int:
    """Write a scored run as CSV tables: answers.csv with a row for each question and all its metrics,
    hits.csv, and claims.csv where claims were judged; columns.csv says what each column means."""
    from fathoms.extras.exchange.writing.writing_tables import write_csv

    scored = _scored(run, out)
    return _written(write_csv(scored, to or Path(f"{scored.run}-csv"), profile), ())


@app.command("parquet")
def parquet(run: Reference, to: To = None, profile: Profile = None, out: Out = RUNS) -> int:
    """Write the tables of 'fathoms export csv' as Parquet, with types and meanings of the columns."""
    from fathoms.extras.exchange.writing.writing_tables import write_parquet

    scored = _scored(run, out)
    return _written(write_parquet(scored, to or Path(f"{scored.run}-parquet"), profile), ())


@app.command("hf")
def hf(run: Reference, to: To = None, profile: Profile = None, out: Out = RUNS) -> int:
    """Write the tables of 'fathoms export csv' as a dataset folder of Hugging Face, with a card (README.md),
    which `datasets.load_dataset(FOLDER)` reads. Nothing is uploaded."""
    from fathoms.extras.exchange.writing.hf import write_hf

    scored = _scored(run, out)
    warning = "the card states no license: add one before you publish the folder, as its documents allow"
    return _written(write_hf(scored, to or Path(f"{scored.run}-hf"), profile), [warning])


@app.command("mlflow")
def mlflow(
    run: Reference,
    uri: Annotated[
        str | None,
        typer.Option(
            "--tracking-uri",
            envvar="MLFLOW_TRACKING_URI",
            help="The server (http://...) or the database (sqlite:///FILE) of MLflow.",
            show_default=False,
        ),
    ] = None,
    experiment: Annotated[
        str, typer.Option("--experiment", help="The experiment, which is made if it does not exist.")
    ] = "fathoms",
    profile: Profile = None,
    out: Out = RUNS,
) -> int:
    """Write a scored run to MLflow: figures with their intervals, options as params, reports and questions as
    artifacts. The same run again brings the same run of MLflow up to date."""
    from fathoms.errors import UsageError
    from fathoms.extras.exchange.writing.mlflow_run import log_run

    if not uri:
        raise UsageError("name the address of MLflow by --tracking-uri or MLFLOW_TRACKING_URI")
    logged = log_run(_scored(run, out), uri, experiment, profile)
    _written((), logged.warnings)
    console.say(f"{experiment}: run {logged.id} {'made' if logged.is_new else 'brought up to date'}")
    return 0


@app.command("otel")
def otel(
    run: Reference,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint",
            help="The collector, such as http://127.0.0.1:4318; by default OTEL_EXPORTER_OTLP_ENDPOINT.",
            show_default=False,
        ),
    ] = None,
    content: Annotated[
        bool,
        typer.Option("--content", help="Send the texts too: questions, contexts, prompts and answers."),
    ] = False,
    profile: Profile = None,
    out: Out = RUNS,
) -> int:
    """Send a scored run to an OpenTelemetry collector as spans by question and stage (OTLP over HTTP), after
    the conventions for generative AI. The same run again sends the same spans."""
    from fathoms.extras.exchange.writing.otel import send_spans

    scored = _scored(run, out)
    count = send_spans(scored, endpoint, profile, content=content)
    console.say(f"{scored.run}: {count} spans sent")
    return 0


@app.command("hits")
def hits(run: Reference, to: To = None, repeat: Repeat = 0, out: Out = RUNS) -> int:
    """Write the hits of a run with texts, pages, boxes and rounds to a JSONL file.

    `fathoms import hits` reads it back without a loss.
    """
    from fathoms.extras.exchange.writing.hits import write_hits
    from fathoms.extras.exchange.writing.rankings import rankings_of
    from fathoms.runs.finding import find_run

    store = find_run(run, out)
    found = rankings_of(store, "document", repeat, by_rank=True)
    path = to or Path(f"{store.id}-hits.jsonl")
    write_hits(found.records, path)
    return _written([path], found.warnings)


@app.command("verdicts")
def verdicts(
    run: Reference,
    to: To = None,
    judge: Annotated[
        Path | None,
        typer.Option(
            "--judge", help="A YAML file with the judge, instead of that of the run's configuration."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="question|document|category",
            help="What a topic is: a question, the questions on one gold document, or a category.",
        ),
    ] = "question",
    unbalanced: Annotated[
        bool, typer.Option("--unbalanced", help="Write all verdicts, however often each label occurs.")
    ] = False,
    binary: Annotated[
        bool,
        typer.Option("--binary", help="Write supported or unsupported where the judge has three labels."),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides which topics and rows are drawn.")] = 0,
    out: Out = RUNS,
) -> int:
    """Write the verdicts of a run as labelled claims for training a verifier, split by topic and balanced.

    The folder gets train.jsonl, validation.jsonl and test.jsonl, with 80, 10 and 10 % of the topics.
    `fathoms agree` reads them. Nobody is asked: only verdicts that the run holds are written.
    """
    from typing import get_args

    from fathoms.errors import UsageError
    from fathoms.extras.exchange.writing.verdicts import Topic, verdicts_of, write_verdicts
    from fathoms.judges.of_run import read_judge
    from fathoms.runs.finding import find_run
    from fathoms.scoring import judged_by

    topic = _one_of("--by", by, get_args(Topic))
    store = find_run(run, out)
    own, metrics = judged_by(store)
    whose = own if judge is None else read_judge(judge)
    if whose is None:
        raise UsageError(f"the configuration of {store.id} has no judge: name a file with one by --judge")
    found = verdicts_of(store, whose, metrics, topic, balanced=not unbalanced, binary=binary, seed=seed)
    return _written(write_verdicts(found, to or Path(f"{store.id}-verdicts")), found.warnings)


def _scored(reference: str, out: Path) -> ScoredRun:
    """Find a run and read its scores."""
    from fathoms.runs.finding import find_run
    from fathoms.runs.reading import load

    return load(find_run(reference, out).path)


def _level(name: str) -> Level:
    """Return the level of the ids; raises UsageError for an unknown one."""
    from typing import get_args

    from fathoms.extras.exchange.writing.rankings import Level

    level: Level = _one_of("--level", name, get_args(Level))
    return level


def _one_of(option: str, name: str, choices: Iterable[Any]) -> Any:
    """Return the choice with a name; raises UsageError if there is none."""
    from fathoms.config import suggest
    from fathoms.errors import UsageError

    known = tuple(choices)
    if name not in known:
        raise UsageError(f"{option} {name}: there is no such choice{suggest(name, known)}")
    return name


def _written(paths: Iterable[Path], warnings: Iterable[str]) -> int:
    """Print the warnings and the files that were written."""
    for warning in warnings:
        console.complain(warning)
    for path in paths:
        console.say(str(path))
    return 0
