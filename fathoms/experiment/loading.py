"""Reading experiments: from configuration files, with overrides and matrices, and back from a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from fathoms.config import Source, override, read_yaml, validate
from fathoms.errors import ConfigError, UsageError
from fathoms.experiment.kinds import (
    AnyExperiment,
    Experiment,
    ExternalExperiment,
    Measured,
    SearchExperiment,
)
from fathoms.metrics.registry import default_metrics
from fathoms.pipeline.matrix import Cell, at_cell, axes_of, cells_in, read_axes, titled
from fathoms.pipeline.pipeline import Pipeline

E = TypeVar("E", bound=Measured)


def load_experiment(
    path: Path,
    settings: Iterable[str] = (),
    *,
    model: str | None = None,
    concurrency: int | None = None,
    retrieval_only: bool = False,
    cell: Cell | None = None,
) -> AnyExperiment:
    """Read a configuration file and override keys of it. `name` defaults to the name of the file.

    `cell` has the name chosen on each axis of the file's matrix; without it, the configuration is read as it
    stands without the matrix. `model` and `concurrency` override those of the generator or of the external
    pipeline. With `retrieval_only`, the keys `prompt` and `generate` are not read, and need not be there.
    Raises ConfigError for an invalid configuration, and UsageError for a `model` where there is no such key,
    and for a cell that there is not.
    """
    source = read_yaml(path)
    source.data.setdefault("name", path.stem)
    settings = list(settings)
    source = override(at_cell(source, axes_of(source, KEYS), cell or {}), settings)
    if retrieval_only:
        return _search(source, settings, model, concurrency).at(path.parent)
    if "pipeline" not in source.data:
        if not source.data.keys() & Pipeline.model_fields.keys():  # else it is one of fathoms' own pipelines
            for key in get_close_matches("pipeline", map(str, source.data), 1, 0.8):
                raise source.complain((key,), f"unknown key '{key}' (did you mean 'pipeline'?)")
        source = override(source, _shortcuts("generate", model, concurrency))
        return _with_known_metrics(validate(Experiment, source), source).at(path.parent)
    for stage in Pipeline.model_fields:
        if stage in source.data:
            raise source.complain(
                (stage,),
                f"'{stage}' is a stage of fathoms' own pipelines, and this configuration has another one"
                f" ('pipeline', {source.at(('pipeline',))}): remove one of the two",
            )
    section = source.data["pipeline"]  # as written, not validated yet
    if model is not None and isinstance(section, dict) and section.get("kind") == "python":
        raise UsageError(f"another model, {model}: a pipeline of the kind 'python' has no key 'model'")
    source = override(source, _shortcuts("pipeline", model, concurrency))
    experiment = _with_known_metrics(validate(ExternalExperiment, source), source)
    try:
        return experiment.at(path.parent)
    except ConfigError as error:
        raise source.complain(("pipeline", "target"), str(error)) from error


def load_cells(path: Path, settings: Iterable[str] = ()) -> Iterator[tuple[Cell, AnyExperiment]]:
    """Yield every cell of the matrix of a configuration file with its experiment, named after both; without
    a matrix, the one experiment with an empty cell. Raises as `load_experiment` does."""
    settings = list(settings)
    for cell in cells_in(read_axes(path, KEYS)):
        experiment = load_experiment(path, settings, cell=cell)
        yield cell, experiment.model_copy(update={"name": titled(experiment.name, cell)})


def _search(
    source: Source, settings: Sequence[str], model: str | None, concurrency: int | None
) -> SearchExperiment:
    """Read the experiment of a run that only searches."""
    if "pipeline" in source.data:
        raise UsageError(
            f"{source.at(('pipeline',))}: --retrieval-only searches with the stages of fathoms, and this"
            " configuration has another pipeline: 'fathoms import hits' measures what that one found"
        )
    unused = [each.partition("=")[0] for each in settings if each.split(".")[0] in AFTER_RETRIEVAL]
    unused += ["--model"] if model is not None else []
    unused += ["--max-concurrency"] if concurrency is not None else []
    if unused:
        raise UsageError(f"--retrieval-only asks no model for answers: leave out {', '.join(unused)}")
    data = {key: value for key, value in source.data.items() if key not in AFTER_RETRIEVAL}
    source = Source(source.name, data, source.places)
    experiment = _with_known_metrics(validate(SearchExperiment, source), source)
    from fathoms.retrieve import Describe

    if isinstance(experiment.retrieve, Describe):  # what is found is not changed by how it is read
        experiment = experiment.model_copy(update={"retrieve": experiment.retrieve.first})
    if not experiment.retrieve.searches:
        raise source.complain(
            ("retrieve", "kind"), f"kind '{experiment.retrieve.kind}' searches for nothing: name a retriever"
        )
    return experiment


KEYS = frozenset({*Experiment.model_fields, *ExternalExperiment.model_fields})
"""The keys at the top of a configuration."""

AFTER_RETRIEVAL = ("prompt", "generate")
"""The stages that a run has not which only searches."""


def _with_known_metrics(experiment: E, source: Source) -> E:
    """Return the experiment; raises ConfigError if its gate names a metric that its runs will not have, or
    one that cannot be gated."""
    units = {metric.name: metric.measured_in for metric in (*default_metrics(), *experiment.metrics)}
    if experiment.gate is not None:
        for place, message in experiment.gate.mistakes(units):
            raise source.complain(("gate", *place), message)
    return experiment


def _shortcuts(section: str, model: str | None, concurrency: int | None) -> Iterator[str]:
    """The `--set` settings that are equal to a model and a concurrency."""
    if model is not None:
        yield f"{section}.model={json.dumps(model)}"  # quoted, so that YAML reads it as text
    if concurrency is not None:
        yield f"{section}.max_concurrency={concurrency}"
