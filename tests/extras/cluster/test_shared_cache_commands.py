"""Two machines with one shared cache, each by its own command line: what one has made, the other finds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.project import CONFIG, Project
from tests.support.s3_server import ENVIRONMENT, Faults, faulty, s3_server

pytestmark = pytest.mark.slow  # real commands

PLANTED = ("planted-secret-0123456789", "planted-id-012345")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """A server of S3, and the environment of its users."""
    with s3_server() as upstream, faulty(upstream) as faults:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": faults.address}.items():
            monkeypatch.setenv(name, value)
        yield faults


@pytest.fixture
def other(project: Project) -> Project:
    """The same project on another machine: with a cache of its own."""
    return Project(project.path, Path("cache-of-another"))


def written(folder: Path) -> bytes:
    """All bytes of the runs and caches of both machines."""
    files = [path for path in folder.rglob("*") if path.is_file() and "pdfs" not in path.parts]
    return b"".join(path.read_bytes() for path in files)


def test_the_second_machine_parses_nothing_and_finds_the_same(
    project: Project, other: Project, s3: Faults
) -> None:
    project.write("tiny.yaml", CONFIG + "cache: s3://bucket/team\n")
    first = project.fathoms("run", "tiny.yaml")
    assert (first.returncode, first.stderr.count("shared cache")) == (0, 0), first.stderr
    lines = [line for line in s3.requests if line.startswith("GET")]
    assert len(lines) == len(set(lines)), "what is missing is asked for once"
    second = other.fathoms("run", "tiny.yaml")
    assert second.returncode == 0
    manifests = [json.loads((run / "manifest.json").read_text()) for run in project.runs()]
    s3.requests.clear()
    assert other.fathoms("ingest", "tiny.yaml").returncode == 0
    assert s3.requests == [], "all is on this machine"
    none = {"damaged": 0, "failed": 0}
    assert manifests[0]["shared_cache"] == {"address": "s3://bucket/team", "taken": 0, "stored": 6, **none}
    assert manifests[1]["shared_cache"] == {"address": "s3://bucket/team", "taken": 6, "stored": 0, **none}
    assert manifests[0]["fingerprints"] == manifests[1]["fingerprints"]
    answers = [
        [
            json.loads(line).get("answer", {}).get("text")
            for line in (run / "journal.jsonl").read_text().splitlines()
        ]
        for run in project.runs()
    ]
    assert answers[0] == answers[1]
    assert "The Varn tower is 41.5 m tall." in answers[1]
    everything = written(project.path) + (first.stderr + second.stderr + first.stdout).encode()
    assert not [word for word in PLANTED if word.encode() in everything]


def test_a_store_that_is_down_is_told_once_and_changes_no_figure(project: Project, s3: Faults) -> None:
    project.write("tiny.yaml", CONFIG + "cache: s3://bucket/team\n")
    s3.of = lambda method: "500"
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.splitlines() if "shared cache" in line and "read" in line]
    assert line.startswith("fathoms: the shared cache s3://bucket/team cannot be read (OSError: ")
    assert "which takes longer and changes no result" in line
    (run,) = project.runs()
    found = json.loads((run / "manifest.json").read_text())["shared_cache"]
    assert (found["taken"], found["stored"], found["failed"] > 3) == (0, 0, True)


def test_a_mistake_ends_the_run_before_it_begins(project: Project, s3: Faults) -> None:
    project.write("tiny.yaml", CONFIG + "cache: s3://none/team\n")
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 1
    assert "the shared cache s3://none/team cannot be written: there is no such bucket" in done.stderr
    assert project.runs() == []
    assert project.fathoms("run", "tiny.yaml", "--no-cache", "--no-score").returncode == 0
    done = project.fathoms("doctor", "tiny.yaml")
    assert "fails  cache    the shared cache s3://none/team cannot be written" in done.stdout
    assert done.stdout.count("fails") == 1
    project.write("tiny.yaml", CONFIG + "cache: s3://me:word@bucket/team\n")
    done = project.fathoms("ingest", "tiny.yaml")
    assert done.returncode == 2
    assert "tiny.yaml:10:1: " in done.stderr
    assert "word@" not in done.stderr


def test_a_damaged_value_is_made_again(project: Project, other: Project) -> None:
    shared = project.path / "shared"
    project.write("tiny.yaml", CONFIG + f"cache: file://{shared}\n")
    assert project.fathoms("ingest", "tiny.yaml").returncode == 0
    before = {path: path.read_bytes() for path in sorted(shared.rglob("*")) if path.is_file()}
    for path, data in before.items():
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    done = other.fathoms("ingest", "tiny.yaml")
    assert (done.returncode, done.stderr.count("damaged: they are made and stored again")) == (0, 1)
    assert "6 stored, " in done.stdout
    after = {path: path.read_bytes() for path in sorted(shared.rglob("*")) if path.is_file()}
    assert {path: data for path, data in after.items() if "probe" not in path.parts} == {
        path: data for path, data in before.items() if "probe" not in path.parts
    }


def test_the_environment_names_it_and_no_cache_leaves_it_alone(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = project.path / "shared"
    monkeypatch.setenv("FATHOMS_SHARED_CACHE", f"file://{shared}")
    assert project.fathoms("run", "tiny.yaml", "--no-cache").returncode == 0
    assert not shared.exists()
    report = project.json("ingest", "tiny.yaml")
    assert report["shared_cache"]["stored"] == 6
    assert (
        f"ok     cache    file://{shared} can be read and written"
        in project.fathoms("doctor", "tiny.yaml").stdout
    )
    assert f"\nshared cache: file://{shared} can be read and written\n" in project.fathoms("doctor").stdout
    assert project.json("cache", "info")["shared"] == f"file://{shared}"
    project.fathoms("cache", "clear")
    assert project.json("ingest", "tiny.yaml")["shared_cache"]["taken"] == 6, "clearing leaves it as it is"


def test_what_a_machine_had_made_before_is_pushed(project: Project, other: Project) -> None:
    address = f"file://{project.path}/shared"
    images = CONFIG.replace("{kind: page}", "{kind: page, image_dpi: 20}")
    project.write("tiny.yaml", images)
    project.fathoms("ingest", "tiny.yaml")
    assert "name a shared cache" in project.fathoms("cache", "push").stderr
    assert project.fathoms("cache", "push", "/mnt").returncode == 2
    done = project.fathoms("cache", "push", address)
    assert (done.returncode, done.stdout) == (0, f"8 of 8 values stored in {address}\n")
    report = other.json("ingest", "tiny.yaml", "--set", f"cache={address}")
    assert (report["shared_cache"]["taken"], report["shared_cache"]["stored"]) == (8, 0)
    done = project.fathoms("cache", "push", f"file://{project.path}/tiny.yaml")
    assert done.returncode == 1
    assert "there is no such bucket or folder" in done.stderr


def test_configurations_of_one_command_name_one_store(project: Project) -> None:
    project.write("a.yaml", CONFIG + f"cache: file://{project.path}/a\n")
    done = project.fathoms("ingest", "a.yaml", "tiny.yaml")
    assert done.returncode == 2
    assert "one command uses one shared cache" in done.stderr
    assert not (project.path / "a").exists() or not list((project.path / "a").glob("document/*"))


def test_a_run_from_elsewhere_shares_nothing_unless_it_is_trusted(project: Project) -> None:
    project.fathoms("run", "tiny.yaml", "--limit", "2")
    (run,) = project.runs()
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    (run / "journal.jsonl").write_text("".join(lines[:-1]))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["config"]["cache"] = f"file://{project.path}/theirs"
    (run / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(project.path / "cache")
    done = project.fathoms("run", "--resume")
    assert done.returncode == 2
    assert "config.cache: shares parsed documents with file://" in done.stderr
    assert not (project.path / "theirs").exists()
