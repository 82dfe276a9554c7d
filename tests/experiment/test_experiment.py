"""Experiments: what earlier versions cached and ran is found, and the three kinds answer the runner alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.component import package_version
from fathoms.config import Source, validate
from fathoms.experiment import AnyExperiment, Experiment, ExternalExperiment, SearchExperiment

RUNS = Path(__file__).parents[1] / "golden" / "runs"
PINNED = Path(__file__).with_name("fingerprints.json")
KINDS = ("dense", "bm25", "hybrid", "expanded", "pages", "distractors-gold", "retrieval-only")


def recorded(name: str) -> dict[str, Any]:
    """The manifest of a run that an earlier version has made."""
    (path,) = RUNS.glob(f"*_{name}_*/manifest.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def read(manifest: dict[str, Any]) -> AnyExperiment:
    kind = SearchExperiment if manifest.get("retrieval_only") else Experiment
    kind = ExternalExperiment if "pipeline" in manifest["config"] else kind
    return validate(kind, Source("manifest.json", manifest["config"]))


@pytest.mark.parametrize("name", KINDS)
def test_what_an_earlier_version_made_of_documents_is_found(name: str) -> None:
    """The names in the cache and of indexes are fingerprints of options, and not of where code stands: a
    module can move, and an option that is added is left out of them while it has its default.

    They are renewed on purpose when a component's revision is raised, as that of `pdfium` for `join_lines`.
    """
    pinned = json.loads(PINNED.read_text())
    for package, version in pinned["versions"].items():
        if version != package_version(package):
            pytest.skip(f"the fingerprints were pinned with another version of {package}")
    manifest = recorded(name)
    stages = read(manifest).stages
    assert stages is not None
    documents = {name: entry["sha256"] for name, entry in manifest["data"]["documents"].items()}
    assert stages.fingerprints(documents) == pinned["fingerprints"][name]


@pytest.mark.parametrize(
    ("name", "called", "provider", "stages", "depth", "concurrency"),
    [
        ("dense", ["answer"], "scripted", True, None, 8),
        ("expanded", ["answer", "expand"], "scripted", True, None, 8),
        ("retrieval-only", [], "no model", True, 10, 1),
        ("http", ["answer"], "http", False, None, 1),
    ],
)
def test_the_runner_asks_the_kinds_of_experiments_alike(
    name: str, called: list[str], provider: str, stages: bool, depth: int | None, concurrency: int
) -> None:
    experiment = read(recorded(name))
    assert list(experiment.called) == called
    assert experiment.provider.split(" http:")[0] == provider
    assert experiment.providers == {experiment.provider}
    assert (experiment.stages is not None) is stages
    assert (None if experiment.depth is None else experiment.depth.k) == depth
    assert experiment.max_concurrency == concurrency
    assert list(experiment.model_dump(mode="json")) == list(recorded(name)["config"])
