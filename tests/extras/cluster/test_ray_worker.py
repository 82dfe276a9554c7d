"""A worker of a cluster, without the cluster: models are loaded once, and other versions are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.errors import DocumentError, ModelError, StoreError, error_of
from fathoms.executors import LocalExecutor, OnPage, Work
from fathoms.extras.cluster.worker import Failed, RayWorker, identity_of
from fathoms.ingest import Pdfium
from fathoms.ingest.workers.parallel import Outcome, ParseWork
from fathoms.ingest.workers.rendering import Rendered, RenderWork
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.pdf.parsed import Parsed
from fathoms.runs.trust import demands
from fathoms.safety.children import Children
from tests.ingest.test_ingest_child import Hostile
from tests.support import damage
from tests.support.away import Away
from tests.support.project import write_pdf

OPENED: list[str] = []
CLOSED: list[str] = []


@dataclass(frozen=True)
class Shout(Work[str, str]):
    """Repeats a word aloud, and is out of ideas at `nothing`."""

    name: str
    version: str = "1"

    def open(self, children: Children, workers: int) -> Shout:
        OPENED.append(self.name)
        return self

    def do(self, item: str, on_page: OnPage) -> Callable[[], str]:
        if item == "nothing":
            raise StoreError("out of ideas")
        if item == "full disk":
            raise OSError("no room")
        return item.upper

    def close(self) -> None:
        CLOSED.append(self.name)

    def identity(self) -> dict[str, Any]:
        return {"versions": {"throat": self.version}}


def test_a_worker_opens_each_work_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # as it was, afterwards
    OPENED.clear()
    CLOSED.clear()
    worker = RayWorker(str(tmp_path))
    first, second = Shout("first"), Shout("second")
    assert [worker.do(1, first, identity_of(first), word) for word in ("a", "b")] == ["A", "B"]
    assert worker.do(2, second, identity_of(second), "c") == "C"
    assert (OPENED, CLOSED) == (["first", "second"], ["first"])


def test_errors_are_sent_by_name_and_a_full_disk_is_said_to_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    worker, work = RayWorker("/no such folder"), Shout("it")
    reported = worker.do(1, work, identity_of(work), "nothing")
    assert reported == Failed("StoreError", "out of ideas")
    assert isinstance(error_of(*reported), StoreError)
    reported = worker.do(1, work, identity_of(work), "full disk")
    assert reported == Failed("FathomsError", "a worker of the Ray cluster failed: no room")


def test_a_worker_with_other_versions_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    OPENED.clear()
    reported = RayWorker(str(tmp_path)).do(1, Shout("it", "2"), identity_of(Shout("it", "1")), "a")
    assert reported.name == "ConfigError"
    assert "make other results: throat is 1 here and 2 there; install the same versions" in reported.message
    assert OPENED == []


def test_errors_of_documents_survive_a_pickle() -> None:
    error = pickle.loads(pickle.dumps(DocumentError("a.pdf", "crash", "is bad")))
    assert (error.document, error.reason, error.detail, str(error)) == (
        "a.pdf",
        "crash",
        "is bad",
        "a.pdf: is bad",
    )
    assert isinstance(error_of("NoAnswerError", "silence"), ModelError)


@pytest.mark.slow  # child processes
def test_documents_and_images_need_no_disk_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "here" / "a.pdf"
    path.parent.mkdir()
    write_pdf(path, ["One.", "Two."])
    worker, parsing = RayWorker(str(tmp_path)), ParseWork(Pdfium())
    sent = pickle.loads(pickle.dumps(parsing.sent(path)))
    moved = path.rename(tmp_path / "elsewhere.pdf")
    parsed = parsing.received(path, worker.do(1, parsing, identity_of(parsing), sent))
    moved.rename(path)
    assert isinstance(parsed, Parsed)
    document = parsed.open(path)
    assert document == Pdfium().parse(path)
    missing = worker.do(1, parsing, identity_of(parsing), parsing.sent(tmp_path / "b.pdf"))
    assert isinstance(missing, DocumentError)
    assert (missing.document, missing.reason) == ("b.pdf", "missing")
    rendering = RenderWork(20, Pdfium(), {"max_side": 100})
    sent = rendering.sent(Rendered(document, tmp_path / "images"))
    returned = worker.do(2, rendering, identity_of(rendering), sent)
    assert not (tmp_path / "images").exists()
    images = rendering.received(Rendered(document, tmp_path / "images"), returned)
    local = Rendered(document, tmp_path / "local")
    expected = rendering.open(Children(), 1).do(local, lambda done, total: None)()
    assert isinstance(images, dict)
    assert isinstance(expected, dict)
    assert [(at, image.read_bytes()) for at, image in images.items()] == [
        (at, image.read_bytes()) for at, image in expected.items()
    ]
    assert [image.parent.name for image in images.values()] == [
        image.parent.name for image in expected.values()
    ]


@pytest.mark.slow  # child processes that crash, hang and fill their memory
def test_what_files_do_to_their_parser_comes_out_as_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"{deed}.pdf" for deed in ("segv", "hoard", "nap-60", "noise", "raise", "odd")]
    for path in paths:
        path.write_bytes(damage.sound())
    work = ParseWork(Hostile(timeout=4, memory_mb=256))
    here, there = LocalExecutor(2).run(work, paths), Away(3).run(work, paths)
    assert list(map(described, there)) == list(map(described, here))
    assert [
        each.reason if isinstance(each, DocumentError) else each.open(paths[0]).text for each in there
    ] == [
        "crash",
        "memory",
        "timeout",
        "noise made",
        "damaged",
        "a\ufffdb\ufffdc\nd\ufffde\ufffd[31m",
    ]


def described(outcome: Outcome) -> object:
    """All of a document, or of the error."""
    if isinstance(outcome, DocumentError):
        return outcome.document, outcome.reason, outcome.detail
    return outcome


def test_a_run_from_elsewhere_sends_documents_to_no_cluster_without_consent() -> None:
    assert list(demands(ExecutionSettings(), ("execution",))) == []
    (demand,) = demands(ExecutionSettings(kind="ray", address="far.example:6379"), ("execution",))
    assert demand.key == ("execution", "kind")
    assert "for the kind 'ray'" in demand.what


@pytest.mark.parametrize(
    "address", ["local", "ray://head:10001", "head", "a b:1", "http://head:6379", "head:0", "head:65536"]
)
def test_only_addresses_of_clusters_that_run_are_taken(address: str) -> None:
    with pytest.raises(ValidationError, match=r"HOST:PORT .* which 'ray start --head' prints"):
        ExecutionSettings(kind="ray", address=address)
