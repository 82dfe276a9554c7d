"""Badly installed machines of a real cluster, and a cluster of another version of Ray."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ray")

from ray._private.utils import check_version_info

import fathoms
from fathoms.extras.cluster.connection import other_version
from tests.extras.cluster.test_ray_executor import Cluster
from tests.support.project import write_project
from tests.support.ray_cluster import RayCluster

LACKING = "raise ModuleNotFoundError(\"No module named 'fathoms'\")\n"
OLDER = f"__path__ = [{str(Path(fathoms.__file__).parent)!r}]\n__version__ = '0.0.1'\n"


def installed(folder: Path, text: str) -> str:
    """A folder with another package of the name."""
    (folder / "fathoms").mkdir(parents=True)
    (folder / "fathoms" / "__init__.py").write_text(text)
    return str(folder)


def ingest(imported: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Ingest 30 documents of 0.3 s each on a cluster of machines that import from these folders first."""
    ray = RayCluster(len(imported), imported=imported)
    if ray.why_not is not None:
        pytest.skip(ray.why_not)
    cluster = Cluster(ray, write_project(folder))
    cluster.documents(30, reader_nap=0.3)
    done = ray.wait(cluster.start("ray", "deeds.yaml", cache="cache"))
    ray.close()
    return done


@pytest.mark.slow  # a cluster, and a command on it
def test_work_goes_on_without_badly_installed_machines_which_are_named_once(tmp_path: Path) -> None:
    lacking, older = installed(tmp_path / "lacking", LACKING), installed(tmp_path / "older", OLDER)
    done = ingest(["", lacking, older], tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["documents"], report["failures"]) == (30, {})
    said = [line for line in done.stderr.splitlines() if "of the Ray cluster cannot do the work" in line]
    assert len(said) == 2
    assert (
        sum("No module named 'fathoms'): it goes on without it; install the same" in one for one in said) == 1
    )
    assert sum(f"fathoms is {fathoms.__version__} here and 0.0.1 there; install" in one for one in said) == 1


@pytest.mark.slow  # a cluster, and a command on it
def test_where_no_machine_is_left_the_error_says_what_is_wrong_with_them(tmp_path: Path) -> None:
    done = ingest([installed(tmp_path / "lacking", LACKING)], tmp_path)
    assert done.returncode == 2
    assert "fathoms can start on no machine of the Ray cluster (" in done.stderr
    assert "No module named 'fathoms'): install the same fathoms on all machines" in done.stderr


def test_another_version_of_ray_is_named() -> None:
    with pytest.raises(RuntimeError) as raised:
        check_version_info({"ray_version": "2.49.1", "python_version": "3.12.4"}, "127.0.0.1")
    found = other_version(raised.value)
    assert found is not None
    assert found.startswith("Ray 2.49.1 with Python 3.12.4 there, Ray 2.")
    assert other_version(RuntimeError("a token was refused")) is None
