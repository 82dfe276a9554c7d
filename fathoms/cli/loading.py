"""Arguments that name configuration files, and loading of these files and their data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fathoms.cli import completion, console
from fathoms.safety.option_limits import MOST_AT_ONCE

if TYPE_CHECKING:
    from fathoms.corpora import Corpus
    from fathoms.executors import Executor as AnyExecutor
    from fathoms.experiment import AnyExperiment
    from fathoms.models.calling.provider_calls import ExecutionSettings
    from fathoms.pipeline.matrix import Cell


Config = Annotated[Path, typer.Argument(help="The YAML file of a pipeline.", show_default=False)]
Configs = Annotated[
    list[Path], typer.Argument(help="The YAML files of one or more pipelines.", show_default=False)
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the config (repeatable).",
        autocompletion=completion.settings,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=MOST_AT_ONCE,
        help="How many documents to parse at once.",
        show_default="one per CPU",
    ),
]
Executor = Annotated[
    Literal["local", "ray"] | None,
    typer.Option(
        "--executor",
        help="Who does the work: this machine, or a Ray cluster (`execution.kind` of the config).",
        show_default=False,
    ),
]

Address = Annotated[
    str,
    typer.Option(
        "--address",
        help="HOST:PORT of the head of the Ray cluster (`execution.address` of a config).",
        show_default="the cluster of this machine",
    ),
]

CORES = os.cpu_count() or 1


def settings_with(settings: Sequence[str] | None, executor: str | None) -> list[str]:
    """Return the settings with that of the executor, if one was named."""
    return [*(settings or ()), *([] if executor is None else [f"execution.kind={executor}"])]


def cluster_at(executor: str | None, address: str) -> ExecutionSettings:
    """Return the settings of the executor of a command without a configuration; raises ConfigError."""
    from fathoms.config import Source, validate
    from fathoms.models.calling.provider_calls import ExecutionSettings

    return validate(ExecutionSettings, Source("--address", {"kind": executor or "local", "address": address}))


@contextmanager
def cluster(execution: ExecutionSettings) -> Iterator[AnyExecutor | None]:
    """Give the executor of a cluster, and let go of it at the end; `None` for this machine. Its warnings are
    printed."""
    if execution.kind == "local":
        yield None
        return
    from fathoms.cli.cache import printed_warnings

    with printed_warnings(), closing(execution.executor(1)) as executor:
        yield executor


def load(
    config: Path,
    settings: Sequence[str] | None,
    model: str | None = None,
    concurrency: int | None = None,
    *,
    retrieval_only: bool = False,
    cell: Cell | None = None,
) -> tuple[AnyExperiment, Corpus]:
    """Load an experiment and its data, and print the warnings about the data. `cell` is that of the file's
    matrix."""
    from fathoms.experiment import load_experiment

    experiment = load_experiment(
        config,
        settings or (),
        model=model,
        concurrency=concurrency,
        retrieval_only=retrieval_only,
        cell=cell,
    )
    return experiment, _data_of(experiment, config)


def load_cells(config: Path, settings: Sequence[str] | None) -> list[tuple[AnyExperiment, Corpus]]:
    """Load the experiment of every cell of the matrix of a file, and the data of each; without a matrix, the
    one experiment."""
    from fathoms import experiment

    cells = experiment.load_cells(config, settings or ())
    return [(each, _data_of(each, config)) for _, each in cells]


def _data_of(experiment: AnyExperiment, config: Path) -> Corpus:
    """Load the data of an experiment, and print the warnings about it."""
    from fathoms import corpora

    corpus = corpora.load(experiment.data, config.parent)
    for warning in corpus.warnings:
        console.note(f"note: {warning}")
    # before anything is paid for: what a parser or a vendor reads of such a file may be a part of it
    if experiment.stages is None or experiment.stages.retrieve.needs != "nothing":
        note_cut(corpus.documents.values())
    return corpus


def note_cut(paths: Iterable[Path]) -> None:
    """Name the PDFs whose end is missing."""
    from fathoms.corpora import cut_short

    for path in paths:
        if cut := cut_short(path):
            console.note(f"note: {path}: {cut}")
