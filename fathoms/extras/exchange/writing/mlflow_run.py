"""Writes a run to a server or a database of MLflow, as one run of an experiment."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.errors import MissingExtraError, ServerError
from fathoms.extras.exchange.writing.mlflow_names import metrics_of, params_of
from fathoms.extras.exchange.writing.times import seconds_of
from fathoms.paths import safe_name
from fathoms.runs.run import Run
from fathoms.safety.masking import without_logins

_TAG = "fathoms.run"
"""The tag by which the run is found again."""
_FILES = ("manifest.json", "summary.json", "report.html", "report.md", "report.json", "scores.csv")
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""Settings of the client, unless the user has others: it reports to nobody, gives up within seconds, and
prints nothing."""


@dataclass(frozen=True)
class Logged:
    """The run in MLflow: its id, whether it is new, and warnings about what MLflow could not change."""

    id: str
    is_new: bool
    warnings: tuple[str, ...]


def log_run(run: Run, uri: str, experiment: str, scores: str | None = None) -> Logged:
    """Write a run to the MLflow at `uri`: figures, options, tags, and files.

    A run that was written before is found by its tag and brought up to date: only figures that differ are
    written. Raises ServerError if MLflow cannot be reached or refuses, MissingExtraError without its client,
    and as `Run.profile` does.
    """
    profile = run.profile(scores)
    with _client(uri) as client:
        found = client.get_experiment_by_name(experiment)
        place = found.experiment_id if found else client.create_experiment(experiment)
        tag = safe_name(run.original_id, unique=True)
        known = client.search_runs([place], f"tags.`{_TAG}` = '{tag}'", max_results=1)
        start, end = _times(run)
        stored_run = known[0] if known else client.create_run(place, start, {_TAG: tag}, run.name)
        id = str(stored_run.info.run_id)
        left_out = _log_params(client, id, stored_run.data.params, params_of(run.manifest.config))
        at = _now() if known else end
        left_out += _log_metrics(client, id, stored_run.data.metrics, metrics_of(run, profile), at)
        for key, value in _tags(run, profile).items():
            client.set_tag(id, key, value)
        _log_files(client, id, run)
        client.set_terminated(id, "FINISHED", end)
    return Logged(id, not known, tuple(left_out))


@contextmanager
def _client(uri: str) -> Iterator[Any]:
    """Connect to MLflow; its errors become ServerError, and its warnings about itself are not shown."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # of a database that is created
        try:
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
        except ImportError as error:
            raise MissingExtraError("mlflow-skinny", "mlflow", "an export to MLflow") from error
        try:
            yield MlflowClient(tracking_uri=uri)
        except (MlflowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ServerError(f"MLflow at {without_logins(uri)}: {without_logins(reason)}") from error


def _log_params(client: Any, id: str, known: Mapping[str, str], params: Mapping[str, str]) -> list[str]:
    """Write the params that are not there yet; returns a warning if others differ."""
    from mlflow.entities import Param

    for some in _batches([Param(key, value) for key, value in params.items() if key not in known], 100):
        client.log_batch(id, params=some)
    differ = [key for key, value in params.items() if known.get(key, value) != value]
    return [f"MLflow cannot change params, so these stay as they were: {', '.join(differ)}"] if differ else []


def _log_metrics(
    client: Any, id: str, known: Mapping[str, float], metrics: Mapping[str, float], at: int
) -> list[str]:
    """Write the metrics whose values differ, with the time `at` in milliseconds; returns a warning if MLflow
    has some that the run lacks."""
    from mlflow.entities import Metric

    new = [Metric(key, value, at, 0) for key, value in metrics.items() if known.get(key) != value]
    for some in _batches(new, 1000):
        client.log_batch(id, metrics=some)
    gone = sorted(known.keys() - metrics.keys())
    return [f"MLflow cannot delete metrics, so these stay from before: {', '.join(gone)}"] if gone else []


def _tags(run: Run, profile: str) -> dict[str, str]:
    """Return what describes the run besides its options."""
    summary = run.summary
    found = {
        "data": summary.data or run.manifest.data.name,
        "model": run.summary.model,
        "profile": profile,
        "complete": str(summary.complete).lower(),
        "version": str(run.manifest.versions.get("fathoms", "")),
    }
    return {f"fathoms.{key}": value for key, value in found.items() if value}


def _log_files(client: Any, id: str, run: Run) -> None:
    """Upload the files of the run that exist, and its questions as one JSON line each."""
    for name in _FILES:
        if (path := run.path / name).is_file() and not path.is_symlink():
            client.log_artifact(id, str(path))
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "questions.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(view, ensure_ascii=False) + "\n" for view in run.views())
        client.log_artifact(id, str(lines))


def _times(run: Run) -> tuple[int, int]:
    """Return when the run began and ended, in milliseconds since 1970; now if that is not known."""
    start = seconds_of(run.manifest.created)
    if start is None:
        return _now(), _now()
    return int(1000 * start), int(1000 * (start + (run.summary.seconds.wall or 0)))


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return int(1000 * time.time())


def _batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    """Yield the items in lists of at most `size`."""
    return (list(items[at : at + size]) for at in range(0, len(items), size))
