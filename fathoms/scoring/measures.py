"""What a run is measured by: how it is scored, the metrics of its configuration, and their judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from fathoms.config import Source, override, validate
from fathoms.errors import ConfigError, PluginRefusedError, StoreError, UsageError
from fathoms.judges import AnyJudge
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.registry import (
    Metrics,
    companions,
    default_metrics,
    distinct,
)
from fathoms.metrics.score_records import Scoring
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.folder import write_file
from fathoms.runs.run import Run
from fathoms.runs.trust import demands, is_signed, refuse
from fathoms.types.run.manifest import Manifest


class Measures(BaseModel):
    """The metrics of a configuration, their judge, and how it is called."""

    metrics: Metrics = ()
    judge: AnyJudge | None = None
    execution: ExecutionSettings = ExecutionSettings()
    question_timeout: float = 600


def read_measures(manifest: Manifest) -> Measures:
    """Read the metrics and the judge that the configuration of a run asks for; raises StoreError if they are
    wrong, and PluginRefusedError if the run is from elsewhere and one of them is a plug-in."""
    config, folder = manifest.config, Path(manifest.folder)
    try:
        known = {key: config[key] for key in Measures.model_fields if config.get(key) is not None}
        measures = validate(Measures, Source("metrics", known), trusted=is_signed(manifest))
        metrics = distinct(metric.at(folder) for metric in measures.metrics)
        return measures.model_copy(update={"metrics": metrics})
    except PluginRefusedError:
        raise
    except (ConfigError, UsageError, TypeError, AttributeError) as error:
        raise StoreError(f"manifest.json of {manifest.run}, config: {error}") from error


def usable(metrics: Collection[Metric]) -> tuple[tuple[Metric, ...], list[str]]:
    """Return the metrics without those that scoring can do without and that cannot be computed here, and a
    warning for each of these."""
    reasons = {metric.name: metric.unusable() for metric in metrics}
    warnings = [
        f"{name} was left out, the other metrics stand: {why}" for name, why in reasons.items() if why
    ]
    return tuple(metric for metric in metrics if not reasons[metric.name]), warnings


def own_metrics(run: Run, manifest: Manifest) -> tuple[Metric, ...]:
    """Return all metrics that a run is scored by if none are asked for but those of its configuration."""
    return measuring(usable(read_measures(manifest).metrics)[0], StoredDocuments(run, manifest))


def measuring(metrics: Iterable[Metric], documents: StoredDocuments) -> tuple[Metric, ...]:
    """Return all metrics that a run is scored by if some are asked for: besides them, those that every run
    has, and those that go with them. Judged ones read the documents of the run."""
    metrics = tuple(metrics)
    return tuple(
        metric.reading(documents) if isinstance(metric, JudgedMetric) else metric
        for metric in distinct([*default_metrics(), *metrics, *companions(metrics)])
    )


def read_scoring(manifest: Manifest, settings: Iterable[str] = ()) -> Scoring:
    """Read the scoring configuration of a run from its manifest, ignoring the rest of its configuration.

    Raises StoreError if the manifest itself is wrong, and ConfigError if the settings are.
    """
    changed = list(settings)
    config = manifest.config.get("scoring") or {}
    try:
        if not isinstance(config, Mapping):
            raise ConfigError("scoring: expected a mapping")
        source = override(Source("scoring", dict(config)), changed)
        return validate(Scoring, source, trusted=is_signed(manifest))
    except ConfigError as error:
        if changed:
            raise
        raise StoreError(f"manifest.json of {manifest.run}, config: {error}") from error


_EXEMPLARS = ("config", "scoring", "abstention", "exemplars")


def trusted_scoring(
    run: Run, manifest: Manifest, settings: Collection[str]
) -> tuple[Scoring, tuple[Metric, ...]]:
    """The scoring of a run with the user's settings applied and its exemplars located, and the metrics of its
    configuration. Raises UsageError where the run is from elsewhere and its scoring would do more than read
    the run."""
    scoring, measures = read_scoring(manifest, settings), read_measures(manifest)
    run.records.keep = scoring.reading.keep
    own = [setting.partition("=")[0].strip() for setting in settings]
    found = [] if is_signed(manifest) else demands(scoring, ("config", "scoring"), own=own)
    if not is_signed(manifest):
        found += demands(measures, ("config",))
    copied = _copied_exemplars(run, scoring)
    foreign = any(demand.key == _EXEMPLARS for demand in found)
    refuse(run.id, manifest, [demand for demand in found if demand.key != _EXEMPLARS or copied is None])
    return _with_exemplars(run, scoring, copied, look=not foreign), measures.metrics


def _copied_exemplars(run: Run, scoring: Scoring) -> Path | None:
    """The run's own copy of the exemplar file; `None` if missing, or if a link leads outside of the run."""
    path = scoring.abstention.exemplars
    if path is None:
        return None
    copied = (run.path / "verdicts" / f"exemplars{path.suffix}").absolute()
    return (
        copied
        if copied.is_file() and copied.resolve() == run.path.resolve() / "verdicts" / copied.name
        else None
    )


def _with_exemplars(run: Run, scoring: Scoring, copied: Path | None, *, look: bool) -> Scoring:
    """Return the scoring with its exemplar file; the run has a copy of it. The copy is used where
    the file is gone or must not be read."""
    path = scoring.abstention.exemplars
    if path is None:
        return scoring
    if look and path.is_file():
        write_file(run.path, f"verdicts/exemplars{path.suffix}", path.read_bytes())
        return scoring
    if copied is None:
        return scoring  # reading the file will raise the error
    return scoring.model_copy(
        update={"abstention": scoring.abstention.model_copy(update={"exemplars": copied})}
    )
