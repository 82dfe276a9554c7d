"""Arguments that name configuration files, and loading of these files and their data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console
from fathoms.safety.option_limits import MOST_AT_ONCE

if TYPE_CHECKING:
    from fathoms.corpora import Corpus
    from fathoms.pipeline.experiment import AnyExperiment


Config = Annotated[Path, typer.Argument(help="The YAML file of a pipeline.", show_default=False)]
Configs = Annotated[
    list[Path], typer.Argument(help="The YAML files of one or more pipelines.", show_default=False)
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the config (repeatable)."),
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

CORES = os.cpu_count() or 1


def load(
    config: Path,
    settings: Sequence[str] | None,
    model: str | None = None,
    concurrency: int | None = None,
    *,
    retrieval_only: bool = False,
) -> tuple[AnyExperiment, Corpus]:
    """Load an experiment and its data, and print the warnings about the data."""
    from fathoms import corpora
    from fathoms.pipeline.experiment import load_experiment

    experiment = load_experiment(
        config, settings or (), model=model, concurrency=concurrency, retrieval_only=retrieval_only
    )
    corpus = corpora.load(experiment.data, config.parent)
    for warning in corpus.warnings:
        console.note(f"note: {warning}")
    return experiment, corpus
