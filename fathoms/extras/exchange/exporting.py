"""`fathoms export`: write a complete copy of a run, or what it holds in the formats of other tools.

`fathoms export RUN` is short for `fathoms export run RUN`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, OtherJudge, Out, Profile
from fathoms.errors import UsageError
from fathoms.extras.exchange.options import ByFormat, command

if TYPE_CHECKING:
    from fathoms.extras.exchange.writing.rankings import Rankings
    from fathoms.runs.run import Run


class _Formats(ByFormat):
    """The formats that are written, by `--as`; without one, a run is copied."""

    option = "--as"
    standard = "run"


app = typer.Typer(
    cls=_Formats,
    help="Write a complete copy of a run (fathoms export RUN), or what it holds for other tools.\n\n"
    "'fathoms export RUN --as trec' and 'fathoms export trec RUN' are the same.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Given:
    """The run and the options of an export. Each format has the options that it can use."""

    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The run: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before).",
            show_default=False,
            autocompletion=completion.run_names,
        ),
    ]
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Where to write; by default a new place that is named after the run."),
    ] = None
    level: Annotated[
        str,
        typer.Option("--level", metavar="page|document", help="What the ids stand for: pages or documents."),
    ] = "page"
    repeat: Annotated[
        int, typer.Option("--repeat", min=0, help="Which repeat of the run is written, from 0.")
    ] = 0
    rank_scores: Annotated[
        bool,
        typer.Option(
            "--rank-scores",
            help="Write 1 / rank as scores, for tools that sort by score and reorder equal ones.",
        ),
    ] = False
    profile: Profile = None
    out: Out = RUNS

    @cached_property
    def store(self) -> Run:
        """The run, found by its name."""
        from fathoms.runs.run import Run

        return Run.open(self.run, self.out)

    @cached_property
    def scored(self) -> Run:
        """The run with its scores."""
        from fathoms.runs.run import Run

        return Run.scored(self.store.path)

    def place(self, ending: str) -> Path:
        """Return where to write: what the user named, or a place with this ending."""
        return self.to or Path(f"{self.store.id}{ending}")

    def rankings(self) -> Rankings:
        """Return what the run retrieved, by the level of the ids."""
        from fathoms.extras.exchange.writing.rankings import Level, rankings_of

        level: Level = _one_of("--level", self.level, get_args(Level))
        return rankings_of(self.store, level, self.repeat, by_rank=self.rank_scores)


_format = partial(command, app, Given)
_RANKINGS = ("run", "to", "level", "repeat", "rank_scores", "out")
_TABLES = ("run", "to", "profile", "out")


@_format("run", "run", "to", "out")
def run_(given: Given) -> int:
    """Write a complete copy of a run as a new folder, with the parsed documents that it shares with other
    runs.

    Hand over such a copy: whoever gets it can score and report it. 'fathoms export RUN' does the same.
    """
    from fathoms.runs.exporting import export_run

    return _written([export_run(given.store, given.place("")).path], ())


@_format("trec", *_RANKINGS)
def trec(given: Given) -> int:
    """Write a run in the format of TREC: `run.trec`, `qrels.trec` and `questions.jsonl` in a folder.

    `fathoms import trec` reads them back.
    """
    from fathoms.extras.exchange.writing.trec import write_trec

    found = given.rankings()
    paths, warnings = write_trec(found, given.place("-trec"))
    return _written(paths, (*found.warnings, *warnings))


@_format("beir", *_RANKINGS)
def beir(given: Given) -> int:
    """Write a run in the layout of BEIR (corpus, queries, qrels, results), and as predictions of MTEB."""
    from fathoms.extras.exchange.writing.beir import write_beir
    from fathoms.runs.documents import StoredDocuments

    found = given.rankings()
    documents = StoredDocuments(given.store, given.store.manifest)
    return _written(write_beir(found, documents, given.place("-beir")), found.warnings)


@_format("csv", *_TABLES)
def csv(given: Given) -> int:
    """Write a scored run as CSV tables: answers.csv with a row for each question and all its metrics,
    hits.csv, and claims.csv where claims were judged; columns.csv says what each column means."""
    from fathoms.extras.exchange.writing.writing_tables import write_csv

    return _written(write_csv(given.scored, given.place("-csv"), given.profile), ())


@_format("parquet", *_TABLES)
def parquet(given: Given) -> int:
    """Write the tables of 'fathoms export csv' as Parquet, with types and meanings of the columns."""
    from fathoms.extras.exchange.writing.writing_tables import write_parquet

    return _written(write_parquet(given.scored, given.place("-parquet"), given.profile), ())


@_format("hf", *_TABLES)
def hf(given: Given) -> int:
    """Write the tables of 'fathoms export csv' as a dataset folder of Hugging Face, with a card (README.md),
    which `datasets.load_dataset(FOLDER)` reads. Nothing is uploaded."""
    from fathoms.extras.exchange.writing.hf import write_hf

    warning = "the card states no license: add one before you publish the folder, as its documents allow"
    return _written(write_hf(given.scored, given.place("-hf"), given.profile), [warning])


@_format("mlflow", "run", "profile", "out")
def mlflow(
    given: Given,
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
) -> int:
    """Write a scored run to MLflow: figures with their intervals, options as params, reports and questions as
    artifacts. The same run again brings the same run of MLflow up to date."""
    from fathoms.extras.exchange.writing.mlflow_run import log_run

    if not uri:
        raise UsageError("name the address of MLflow by --tracking-uri or MLFLOW_TRACKING_URI")
    logged = log_run(given.scored, uri, experiment, given.profile)
    _written((), logged.warnings)
    console.say(f"{experiment}: run {logged.id} {'made' if logged.is_new else 'brought up to date'}")
    return 0


@_format("otel", "run", "profile", "out")
def otel(
    given: Given,
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
) -> int:
    """Send a scored run to an OpenTelemetry collector as spans by question and stage (OTLP over HTTP), after
    the conventions for generative AI. The same run again sends the same spans."""
    from fathoms.extras.exchange.writing.otel import send_spans

    count = send_spans(given.scored, endpoint, given.profile, content=content)
    console.say(f"{given.scored.original_id}: {console.amount(count, 'span')} sent")
    return 0


@_format("hits", "run", "to", "repeat", "out")
def hits(given: Given) -> int:
    """Write the hits of a run with texts, pages, boxes and rounds to a JSONL file.

    `fathoms import hits` reads it back without a loss.
    """
    from fathoms.extras.exchange.writing.hits import write_hits
    from fathoms.extras.exchange.writing.rankings import rankings_of

    found = rankings_of(given.store, "document", given.repeat, by_rank=True)
    path = given.place("-hits.jsonl")
    write_hits(found.records, path)
    return _written([path], found.warnings)


@_format("verdicts", "run", "to", "out")
def verdicts(
    given: Given,
    judge: OtherJudge = None,
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
) -> int:
    """Write the verdicts of a run as labelled claims for training a verifier, split by topic and balanced.

    The folder gets train.jsonl, validation.jsonl and test.jsonl, with 80, 10 and 10 % of the topics. `fathoms
    agree` reads them. No judge is called: only stored verdicts are written.
    """
    from fathoms.extras.exchange.writing.verdicts import Topic, verdicts_of, write_verdicts
    from fathoms.judges.of_run import read_judge
    from fathoms.scoring import judged_by

    topic = _one_of("--by", by, get_args(Topic))
    own, metrics = judged_by(given.store)
    whose = own if judge is None else read_judge(judge)
    if whose is None:
        raise UsageError(
            f"the configuration of {given.store.id} has no judge: name a file with one by --judge"
        )
    balanced = not unbalanced
    found = verdicts_of(given.store, whose, metrics, topic, balanced=balanced, binary=binary, seed=seed)
    return _written(write_verdicts(found, given.place("-verdicts")), found.warnings)


def _one_of(option: str, name: str, choices: Iterable[Any]) -> Any:
    """Return the choice with a name; raises UsageError if there is none."""
    from fathoms.errors import suggest

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
