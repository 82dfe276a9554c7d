"""Settings in which one pipeline is compared with itself: without context, with the gold pages, and as it is.

They show what the model knows by itself and what it could do with perfect retrieval; between them lies what
retrieval wins. The three are those of Double-Bench (Shen et al. 2025), whose oracle has the model extract
first (`oracle-extract`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fathoms.config import suggest
from fathoms.errors import UsageError
from fathoms.metrics.correctness_judged import CorrectnessJudged
from fathoms.pipeline.experiment import AnyExperiment, Experiment
from fathoms.pipeline.matrix import SETTING

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "closed-book": {"retrieve": {"kind": "none"}, "prompt": {"template": "closed-book"}},
    "oracle": {"retrieve": {"kind": "oracle"}},
    "oracle-extract": {"retrieve": {"kind": "oracle"}, "prompt": {"template": "extract-then-answer"}},
    "rag": {},
}
"""What each setting replaces in the configuration of a pipeline."""


CELL = SETTING
"""The key under which a run of a sweep names its setting."""


def graded(experiment: AnyExperiment) -> AnyExperiment:
    """Return the experiment with the metric that grades answers, if it has a judge to ask and no such metric.

    Without a judge, the table of settings goes by phrase recall. Raises UsageError for an external pipeline,
    which has no stages to replace.
    """
    if not isinstance(experiment, Experiment):
        raise UsageError(
            f"--settings replaces the retrieval of a pipeline, and '{experiment.name}' is an external one:"
            " compare it with the settings closed-book and oracle of a configuration with stages"
        )
    known = any(isinstance(metric, CorrectnessJudged) for metric in experiment.metrics)
    if experiment.judge is None or known:
        return experiment
    return experiment.model_copy(update={"metrics": (*experiment.metrics, CorrectnessJudged())})


def named_settings(names: Iterable[str]) -> tuple[str, ...]:
    """Return the settings of a list such as `closed-book,oracle,rag`; raises UsageError for an unknown one
    and for one that is named twice."""
    found = tuple(name.strip() for name in names)
    for name in found:
        if name not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise UsageError(
                f"--settings: there is no setting '{name}'{suggest(name, SETTINGS)}; they are {known}"
            )
        if found.count(name) > 1:
            raise UsageError(f"--settings: '{name}' is named twice")
    return found
