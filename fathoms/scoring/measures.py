"""What a run is measured by: the metrics of its configuration, and their judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fathoms.config import Source, validate
from fathoms.errors import ConfigError, PluginRefusedError, StoreError, UsageError
from fathoms.judges import AnyJudge
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.registry import Metrics, companions, default_metrics, distinct
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.store import Run
from fathoms.runs.trust import is_signed


class Measures(BaseModel):
    """The metrics of a configuration, their judge, and how it is called."""

    metrics: Metrics = ()
    judge: AnyJudge | None = None
    execution: ExecutionSettings = ExecutionSettings()
    question_timeout: float = 600


def read_measures(manifest: Mapping[str, Any]) -> Measures:
    """Read the metrics and the judge that the configuration of a run asks for; raises StoreError if they are
    wrong, and PluginRefusedError if the run is from elsewhere and one of them is a plug-in."""
    config = manifest.get("config") or {}
    folder = Path(manifest.get("folder") or "")
    try:
        known = {key: config[key] for key in Measures.model_fields if config.get(key) is not None}
        measures = validate(Measures, Source("metrics", known), trusted=is_signed(manifest))
        metrics = distinct(metric.at(folder) for metric in measures.metrics)
        return measures.model_copy(update={"metrics": metrics})
    except PluginRefusedError:
        raise
    except (ConfigError, UsageError, TypeError, AttributeError) as error:
        raise StoreError(f"manifest.json of {manifest.get('run')}, config: {error}") from error


def usable(metrics: Collection[Metric]) -> tuple[tuple[Metric, ...], list[str]]:
    """Return the metrics without those that scoring can do without and that cannot be computed here, and a
    warning for each of these."""
    reasons = {metric.name: metric.unusable() for metric in metrics}
    warnings = [
        f"{name} was left out, the other metrics stand: {why}" for name, why in reasons.items() if why
    ]
    return tuple(metric for metric in metrics if not reasons[metric.name]), warnings


def own_metrics(run: Run, manifest: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return all metrics that a run is scored by if none are asked for but those of its configuration."""
    return measuring(usable(read_measures(manifest).metrics)[0], StoredDocuments(run, manifest))


def measuring(asked: Iterable[Metric], documents: StoredDocuments) -> tuple[Metric, ...]:
    """Return all metrics that a run is scored by if some are asked for: besides them, those that every run
    has, and those that go with them. Judged ones read the documents of the run."""
    asked = tuple(asked)
    return tuple(
        metric.reading(documents) if isinstance(metric, JudgedMetric) else metric
        for metric in distinct([*default_metrics(), *asked, *companions(asked)])
    )
