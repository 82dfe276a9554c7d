"""What breaks a conversion costs that document only, and of it only the pages that break it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fathoms.errors import DocumentError
from fathoms.ingest import parse_all, parse_in_child
from fathoms.types import Document
from tests.support import damage
from tests.support.docling_samples import OFFLINE, SAMPLE, extract, needs_docling, own_workers, workers_of

pytestmark = pytest.mark.slow  # processes that load models
if sys.platform != "linux":
    pytest.skip("the tests find processes by /proc", allow_module_level=True)


@pytest.fixture(autouse=True)
def _needs_docling() -> None:
    needs_docling()


def kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.long
def test_a_killed_process_costs_time_only(tmp_path: Path) -> None:
    paths = [extract(tmp_path, "kestrel", 1, 2, 3), extract(tmp_path, "lumet", 2)]
    killed: list[int] = []
    reported: list[tuple[int, int]] = []

    def on_page(done: int, total: int) -> None:
        reported.append((done, total))
        if not killed:
            killed.extend(own_workers()[:1])
            kill(killed)

    # one worker: a second might be killed while it loads its models, which is another error
    first, second = parse_all(OFFLINE, paths, workers=1, on_page=on_page)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert killed
    assert first.warnings == second.warnings == ()
    assert [page.number for page in first.pages] == [1, 2, 3]
    assert "Twenty-four plots were followed" in first.pages[0].text
    assert "The control loop of one plot" in first.pages[1].text
    assert "The control loop of one plot" not in first.pages[2].text
    assert [item.bbox is not None for item in first.pages[1].elements]
    assert reported[-1] == (4, 4)
    assert own_workers() == []


def test_a_page_that_kills_again_is_lost_and_named(tmp_path: Path) -> None:
    path = extract(tmp_path, "kestrel", 1, 2, 3)
    deaths: list[tuple[int, int]] = []

    def on_page(done: int, total: int) -> None:
        wanted = [(0, 3), (1, 3)]  # at the start of the whole, and of page 2 alone
        if len(deaths) < 2 and (done, total) == wanted[len(deaths)]:
            deaths.append((done, total))
            kill(own_workers())

    (document,) = parse_all(OFFLINE, [path], workers=1, on_page=on_page)
    assert isinstance(document, Document)
    assert [bool(page.text) for page in document.pages] == [True, False, True]
    (warning,) = document.warnings
    assert warning.startswith("page 2 is lost: caused its process to be killed")
    again = OFFLINE.from_native(path, document.sha256, document.native or "")
    assert again == document


@pytest.mark.long
def test_processes_serve_many_documents(tmp_path: Path) -> None:
    """Of the last one, more pages than are read."""
    paths = [extract(tmp_path, name, 1) for name in ("kestrel", "skarrow")]
    paths.append(extract(tmp_path, "lumet", 1, 2, 3))
    parser = OFFLINE.model_copy(update={"max_pages": 2})
    libraries: dict[int, str] = {}

    def on_page(done: int, total: int) -> None:
        for pid in own_workers():
            libraries[pid] = Path(f"/proc/{pid}/maps").read_text()

    found = parse_all(parser, paths, workers=1, on_page=on_page)
    (loaded,) = libraries.values()
    assert "/onnxruntime/" in loaded
    assert "/torch/" not in loaded  # of the models that Docling has and nobody asked for
    assert "/scipy/" not in loaded
    documents = [document for document in found if isinstance(document, Document)]
    assert [document.id for document in documents] == [path.name for path in paths]
    assert [len(document.pages) for document in documents] == [1, 1, 2]
    assert documents[0].warnings == documents[1].warnings == ()
    assert documents[2].warnings == ("only the first 2 of 3 pages are read (max_pages)",)


@pytest.mark.long
def test_a_document_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    parser = OFFLINE.model_copy(update={"page_timeout": 60, "timeout": 0.5})
    with pytest.raises(DocumentError, match="gave no result within") as caught:
        parse_in_child(parser, damage.write(tmp_path, "laughing-forms"))
    assert caught.value.reason == "timeout"
    assert own_workers() == []


@pytest.mark.long
def test_a_page_that_hangs_again_is_lost_and_does_not_harm_the_next_document(tmp_path: Path) -> None:
    """The processes are stopped, so that the page waits for `page_timeout` without taking CPU time."""
    paths = [extract(tmp_path, "kestrel", 1, 2), extract(tmp_path, "lumet", 2)]
    stopped: list[int] = []

    def on_page(done: int, total: int) -> None:
        if done == len(stopped) < 2:  # at the start of the whole, and of page 2 alone
            stopped.extend(own_workers())
            os.kill(stopped[-1], signal.SIGSTOP)

    parser = OFFLINE.model_copy(update={"page_timeout": 8})
    first, second = parse_all(parser, paths, workers=1, on_page=on_page)
    assert isinstance(first, Document)
    assert [bool(page.text) for page in first.pages] == [True, False]
    assert len(set(stopped)) == 2
    (warning,) = first.warnings
    assert warning.startswith("page 2 is lost: finished no page within 8 s")
    assert isinstance(second, Document)
    assert second.warnings == ()
    assert own_workers() == []


@pytest.mark.long
def test_too_little_memory_is_a_reason(tmp_path: Path) -> None:
    parser = OFFLINE.model_copy(update={"memory_mb": 64, "page_timeout": 30})
    with pytest.raises(DocumentError) as caught:
        parse_in_child(parser, extract(tmp_path, "pelnorite", 3))
    assert caught.value.reason == "memory"
    assert "needs more than 64 MiB" in caught.value.detail


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document | DocumentError]:
    """Damaged files by their names, in one go."""
    needs_docling()
    names = [
        "empty",
        "text",
        "truncated-25",
        "wrong-offsets",
        "page-loop",
        "no-pages",
        "locked",
        "huge-image",
    ]
    folder = tmp_path_factory.mktemp("damaged")
    paths = [damage.write(folder, name) for name in names]
    return dict(zip(names, parse_all(OFFLINE, paths, workers=1), strict=True))


@pytest.mark.parametrize(
    "name",
    ["empty", "text", "truncated-25", "wrong-offsets", "page-loop", "no-pages", "locked", "huge-image"],
)
def test_damage_ends_as_for_the_other_parsers(
    name: str, damaged: dict[str, Document | DocumentError]
) -> None:
    found = damaged[name]
    assert (found.reason if isinstance(found, DocumentError) else "read") in damage.FILES[name][1]
    if isinstance(found, DocumentError):
        assert ";" in found.detail, "a detail says what is wrong; then what to do"
    elif name == "wrong-offsets":
        assert "repaired: the cross-reference table was rebuilt" in found.warnings


PARENT = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us deaf to it
from tests.support.docling_samples import OFFLINE
from fathoms.ingest import parse_all
parse_all(OFFLINE.model_copy(update={"timeout": 20}), [Path(name) for name in sys.argv[1:]], workers=2)
"""


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL])
def test_no_process_outlives_its_parent(number: int, tmp_path: Path) -> None:
    hang = damage.write(tmp_path, "laughing-forms")
    command = [sys.executable, "-c", PARENT, str(hang), str(next(SAMPLE.glob("pelnorite*.pdf")))]
    parent = subprocess.Popen(command, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL)
    pids = wait_for(lambda: workers_of(parent.pid), 60)
    parent.send_signal(number)
    assert parent.wait(60) != 0
    assert wait_for(lambda: [True] if not any(map(running, pids)) else [], 60)


def wait_for(ask: object, seconds: float) -> list[int]:
    """What it gives once that is something."""
    assert callable(ask)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := ask():
            return list(found)
        time.sleep(0.1)
    raise AssertionError("in vain")


def running(pid: int) -> bool:
    """Is there such a process, and is it more than a name?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
