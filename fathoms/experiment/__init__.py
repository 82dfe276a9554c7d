"""Experiments join what makes a run with what scores it: a pipeline, its data, and the scoring."""

from __future__ import annotations

from fathoms.experiment.kinds import AnyExperiment, Experiment, ExternalExperiment, SearchExperiment
from fathoms.experiment.loading import KEYS, load_cells, load_experiment

__all__ = [
    "KEYS",
    "AnyExperiment",
    "Experiment",
    "ExternalExperiment",
    "SearchExperiment",
    "load_cells",
    "load_experiment",
]
