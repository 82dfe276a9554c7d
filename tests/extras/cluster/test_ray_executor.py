"""A real cluster of two raylets: the same results as on one machine, and what happens when parts die."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fathoms.models import OnnxEmbedder
from fathoms.paths import cache_dir
from fathoms.runs.run import Run
from tests.extras.cluster.test_scoring_on_cluster import run_in
from tests.package.test_scoring import files
from tests.support.fact_checkers import minicheck
from tests.support.project import CONFIG, PAGES, Project, write_pdf, write_project
from tests.support.ray_cluster import RayCluster, cached

NAME = "verdicts/judge.jsonl"
pytestmark = pytest.mark.slow  # a cluster, and commands on it

READER = """\
import os
import signal
import time
from pathlib import Path


def read(path, options):
    name = Path(path).stem
    with open(options["log"], "a") as log:
        log.write(name + "\\n")
    print("noise on stdout")
    time.sleep(options["nap"])
    if name == "killer":
        os.kill(os.getppid(), signal.SIGKILL)
    return {"pages": [{"text": f"What {name} says."}]}
"""


@dataclass
class Cluster:
    """The cluster, and a project whose own reader notes each document that it reads."""

    ray: RayCluster
    project: Project

    def start(self, executor: str, *arguments: str, cache: str, address: str | None = None) -> int:
        """Start `fathoms ingest` on this machine or on the cluster, with a cache of its own."""
        folder = self.project.path / cache
        if not folder.exists():
            folder.mkdir()
            (folder / "models").symlink_to(cache_dir() / "models")  # workers look in the user's cache
        environment = {"FATHOMS_CACHE_DIR": str(folder), "PYTHONWARNINGS": "error"}
        address = ["--set", f"execution.address={address or self.ray.address}"]
        line = ["ingest", *arguments, "--json", *address, "--executor", executor]
        return self.ray.start(line, self.project.path, environment)

    def report(self, command: int, code: int = 0) -> Any:
        """What a command printed, which says nothing else."""
        done = self.ray.wait(command)
        # Ray notes that the namespace has no way out
        said = [line for line in done.stderr.splitlines() if "network_util" not in line]
        assert (done.returncode, said) == (code, [])
        return json.loads(done.stdout)

    def documents(self, number: int, reader_nap: float) -> None:
        """Have so many documents, those of the questions among them, read by the project's own reader."""
        for path in (self.project.path / "pdfs").iterdir():
            if path.name not in PAGES:
                path.unlink()
        for at in range(number - len(PAGES)):
            write_pdf(self.project.path / "pdfs" / f"d{at:02}.pdf", [f"Page {at}."])
        log = self.project.path / "log.txt"
        log.write_text("")
        self.project.write("deeds.py", READER)
        options = json.dumps({"log": str(log), "nap": reader_nap})
        ingest = f"ingest: {{kind: python, target: deeds, on_error: skip, options: {options}}}\n"
        self.project.write("deeds.yaml", CONFIG + ingest)

    def log(self) -> Counter[str]:
        """How often each document was read so far."""
        return Counter((self.project.path / "log.txt").read_text().split())

    def wait_for(self, number: int, command: int) -> None:
        """Wait until a command has begun so many documents."""
        while self.log().total() < number:
            assert not self.ray.has_ended(command), self.ray.wait(command).stderr
            time.sleep(0.05)


@pytest.mark.long
def test_a_cluster_may_ask_for_a_token(tmp_path: Path) -> None:
    ray = RayCluster(1, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64})
    if ray.why_not is not None:
        pytest.skip(ray.why_not)
    look = ["doctor", "--executor", "ray", "--address", ray.address]
    known, other = (
        ray.wait(ray.start(look, tmp_path, token)) for token in ({}, {"RAY_AUTH_TOKEN": "b" * 64})
    )
    ray.close()
    assert (known.returncode, other.returncode) == (0, 1)
    assert f"at {ray.address}: 1 machine" in known.stdout
    assert f"Ray cannot join what answers at '{ray.address}'" in other.stdout + other.stderr


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    ray = RayCluster()
    if ray.why_not is not None:
        pytest.skip(ray.why_not)
    yield Cluster(ray, write_project(tmp_path_factory.mktemp("cluster")))
    ray.close()


def test_the_bytes_are_those_of_one_machine(cluster: Cluster, minilm: OnnxEmbedder) -> None:
    project = cluster.project
    for at in range(6):
        pages = [f"Page {page} of {at}. The gauge read {at * page} metres." for page in range(1, at + 2)]
        write_pdf(project.path / "pdfs" / f"d{at}.pdf", pages)
    (project.path / "pdfs" / "broken.pdf").write_bytes(b"%PDF-1.4 broken\n%%EOF\n")
    skip = "ingest: {kind: pdfium, on_error: skip}\n"
    texts = CONFIG.replace("{kind: page}", "{kind: sentence, size: 48, overlap: 8, unit: characters}")
    project.write("texts.yaml", skip + texts.replace("{kind: lexical}", "{kind: onnx}"))
    project.write("pages.yaml", skip + CONFIG.replace("{kind: page}", "{kind: page, image_dpi: 30}"))
    reports = {}
    for executor in ("local", "ray"):
        found = cluster.report(
            cluster.start(executor, "texts.yaml", "pages.yaml", cache=f"cache-{executor}"), code=1
        )
        reports[executor] = [
            {name: value for name, value in each.items() if name not in ("times", "seconds")}
            for each in found
        ]
    assert reports["ray"] == reports["local"]
    assert set(reports["ray"][0]["failures"]) == {"broken.pdf"}
    result = cached(project.path / "cache-ray")
    assert result == cached(project.path / "cache-local")
    assert {key[0] for key in result if isinstance(key, tuple)} >= {"document", "chunks", "embedding"}
    assert sum(isinstance(key, Path) and key.suffix == ".png" for key in result) == 24


def on_both(cluster: Cluster, folder: Path, run: Run) -> list[tuple[str, dict[str, bytes]]]:
    """What scoring a run prints and writes, here and on the cluster."""
    result = []
    for executor in ("local", "ray"):
        line = ["score", str(run.path), "--executor", executor, "--address", cluster.ray.address]
        # one thread as workers have it, because torch adds up differently with more
        done = cluster.ray.wait(cluster.ray.start(line, folder, {"OMP_NUM_THREADS": "1"}))
        assert done.returncode == 0, done.stderr
        result.append((done.stdout, files(run)))
        (run.path / NAME).unlink(missing_ok=True)
    return result


def test_answers_are_scored_to_the_byte_as_on_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    here, there = on_both(cluster, tmp_path, run_in(tmp_path / "run"))
    assert there == here


@pytest.mark.long  # two workers import torch; `test_scoring_on_cluster.py` has workers without Ray
def test_answers_are_judged_as_on_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    model = str(minicheck(tmp_path / "model"))
    judge = {"kind": "nli", "model": model, "checker": "minicheck", "batch_size": 8}
    run = run_in(tmp_path / "run", 9, metrics=["faithfulness"], judge=judge)
    result = []
    for printed, written in on_both(cluster, tmp_path, run):
        labels = [json.loads(each) for each in written[NAME].splitlines()]
        result.append((printed, {each["key"]: {**each["result"], "seconds": 0} for each in labels}))
    here, there = result
    assert there == here
    assert len(here[1]) == 8


def test_doctor_tells_how_a_cluster_is(cluster: Cluster, minilm: OnnxEmbedder) -> None:
    project = cluster.project
    texts = ["doctor", "--executor", "ray", "--address", cluster.ray.address]

    def checked(line: list[str], **environment: str) -> tuple[int, Any]:
        done = cluster.ray.wait(cluster.ray.start([*line, "--json"], project.path, environment))
        return done.returncode, json.loads(done.stdout)

    code, report = checked(texts)
    assert (code, report["cluster"]["ok"]) == (0, True)
    first, *warnings = report["cluster"]["detail"].splitlines()
    assert first.endswith(f"at {cluster.ray.address}: 2 machines, 2 processors")
    assert warnings == []  # no dashboard, and no way out of the namespace
    own = {"FATHOMS_CACHE_DIR": str(project.path / "cache-bare")}  # this machine has no weights
    vectors = CONFIG.replace("{kind: lexical}", "{kind: onnx}")
    project.write("on_ray.yaml", vectors + f"execution: {{kind: ray, address: '{cluster.ray.address}'}}\n")
    code, report = checked(["doctor", "on_ray.yaml"], **own)
    (row,) = (row for row in report["configs"][0]["checks"] if row["name"] == "cluster")
    assert (code, row["ok"]) == (1, False)
    faults = row["detail"].splitlines()[1:]
    assert len(faults) == 2
    assert all("embed is" in line and "fathoms models pull" in line for line in faults)
    code, report = checked([*texts[:-1], "127.0.0.1:9"])
    assert code == 1
    assert "no Ray cluster answers at '127.0.0.1:9'" in report["cluster"]["detail"]


@pytest.mark.long
def test_pages_are_labelled_as_on_one_machine(cluster: Cluster) -> None:
    model = {"kind": "scripted", "replies": {"41.5 m tall.": "yes"}, "default": "no"}
    cluster.project.write("judge.yaml", json.dumps({"kind": "llm", "model": model}))
    pdfs = [f"pdfs/{name}" for name in PAGES]
    line = ["questions", "label", "questions.json", *pdfs, "--judge", "judge.yaml", "--json"]
    found = {
        where: cluster.report(
            cluster.ray.start(
                [*line, "--executor", where, "--address", cluster.ray.address],
                cluster.project.path,
                {"FATHOMS_CACHE_DIR": str(cluster.project.path / f"cache-label-{where}")},
            )
        )
        for where in ("local", "ray")
    }
    assert found["ray"] == found["local"]
    assert found["ray"]["asked"] > 0


@pytest.mark.long
def test_a_command_that_dies_goes_on_where_it_was_and_a_deadly_document_is_named(cluster: Cluster) -> None:
    cluster.documents(15, reader_nap=0.5)
    command = cluster.start("ray", "deeds.yaml", cache="cache-driver")
    cluster.wait_for(4, command)
    cluster.ray.kill(command)
    assert cluster.ray.wait(command).returncode == -9
    write_pdf(cluster.project.path / "pdfs" / "killer.pdf", ["A deadly page."])
    report = cluster.report(cluster.start("ray", "deeds.yaml", cache="cache-driver"), code=1)
    assert report["documents"] == 15
    assert report["failures"] == {
        "killer.pdf": "killed the worker that had it, 3 times; fetch it again, or leave it out"
    }
    read = cluster.log()
    assert read.pop("killer") == 3
    assert len(read) == 15
    assert read.total() <= 15 + 2  # two machines had one document each in hand


def test_a_machine_that_dies_costs_what_it_had_in_hand(cluster: Cluster) -> None:
    """The other machine does the rest. The tests above have both."""
    cluster.documents(30, reader_nap=0.3)
    command = cluster.start("ray", "deeds.yaml", cache="cache-node", address="auto")
    cluster.wait_for(6, command)
    cluster.ray.kill_node()
    report = cluster.report(command)
    assert (report["documents"], report["failures"]) == (30, {})
    read = cluster.log()
    assert len(read) == 30
    assert read.total() <= 31  # one machine has one document in hand


@pytest.mark.parametrize(
    "command", ["ingest tiny.yaml", "questions label questions.json pdfs --judge j.yaml"]
)
def test_without_a_cluster_the_error_says_what_to_do(cluster: Cluster, command: str) -> None:
    cluster.project.write("j.yaml", '{kind: llm, model: {kind: scripted, default: "no"}}')
    address = ["--set", "execution.address=127.0.0.1:9"]
    if command.startswith("questions"):
        address = ["--address", "127.0.0.1:9"]
    environment = {"FATHOMS_CACHE_DIR": str(cluster.project.path / "cache-none")}
    done: subprocess.CompletedProcess[str] = cluster.ray.wait(
        cluster.ray.start(
            [*command.split(), "--executor", "ray", *address], cluster.project.path, environment
        )
    )
    assert done.returncode == 2
    assert "no Ray cluster answers at '127.0.0.1:9'" in done.stderr
    assert "start one with 'ray start --head'" in done.stderr
