"""Child processes: limits, every way of dying, many at once, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest

from fathoms.errors import DocumentError
from fathoms.executors import LocalExecutor
from fathoms.ingest import PdfParser, parse_all, parse_in_child
from fathoms.ingest.workers.parallel import ParseWork
from fathoms.pdf.parsed import Parsed
from fathoms.types import Document
from tests.support import damage

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

MIB = 1024 * 1024
HERE = Path(__file__).parent


class Hostile(PdfParser):
    """A parser whose reader does what the file's name says."""

    kind: str = "hostile"
    reader: ClassVar[str] = "tests.support.hostile_reader"


class Several(Hostile):
    """The same, with several files in one process."""

    files_per_child: ClassVar[int] = 3


both = pytest.mark.parametrize("parser", [Hostile, Several])


def pdf(folder: Path, deed: str) -> Path:
    path = folder / f"{deed}.pdf"
    path.write_bytes(damage.sound())
    return path


def text(folder: Path, deed: str, parser: PdfParser) -> str:
    return parse_in_child(parser, pdf(folder, deed)).pages[0].text


@both
@pytest.mark.parametrize(
    ("deed", "reason", "words"),
    [
        ("segv", "crash", "SIGSEGV"),
        ("exit", "crash", "exit code 3"),
        ("forge", "crash", "makes the parser return no document"),
        ("forge-facts", "crash", "makes the parser return no document"),
        ("forge-empty", "crash", "makes the parser return no document"),
        ("abort", "memory", "memory_mb"),
        ("kill", "memory", "memory"),
        ("hoard", "memory", "needs more than 512 MiB"),
        ("flood", "memory", "more than 64 MiB of text"),
        ("sleep", "timeout", "within 1 s"),
        ("raise", "damaged", "ValueError: no such colour \ufffd"),
        ("write", "damaged", "File too large"),
    ],
)
def test_every_way_of_dying_has_its_reason(
    parser: type[Hostile], deed: str, reason: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_in_child(parser(timeout=1 if deed == "sleep" else 30, memory_mb=512), pdf(tmp_path, deed))
    assert caught.value.reason == reason
    assert words in caught.value.detail


def test_a_reader_that_cannot_be_loaded_is_a_crash_that_says_why(tmp_path: Path) -> None:
    class Broken(Hostile):
        reader: ClassVar[str] = "tests.support.damage"

    with pytest.raises(DocumentError, match="KeyError: 'read'") as caught:
        parse_in_child(Broken(), pdf(tmp_path, "any"))
    assert caught.value.reason == "crash"


@both
def test_what_libraries_print_does_not_reach_the_reading(
    parser: type[Hostile], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert text(tmp_path, "noise", parser()) == "noise made"
    assert capfd.readouterr() == ("", "")


def test_odd_text_crosses_and_is_cleaned(tmp_path: Path) -> None:
    assert text(tmp_path, "odd", Hostile()) == "a\ufffdb\ufffdc\nd\ufffde\ufffd[31m"


@both
def test_the_child_has_its_limits(parser: type[Hostile], tmp_path: Path) -> None:
    limits = json.loads(text(tmp_path, "limits", parser(timeout=7.5, memory_mb=512)))
    assert limits["RLIMIT_CPU"] == 9
    assert limits["RLIMIT_CORE"] == 0
    assert limits["RLIMIT_FSIZE"] == 64 * MIB
    assert 512 * MIB < limits["RLIMIT_AS"] < 1024 * MIB


def test_the_child_starts_light(tmp_path: Path) -> None:
    modules = json.loads(text(tmp_path, "modules", Hostile()))
    assert {"fathoms", "pydantic", "yaml", "numpy"}.isdisjoint(modules)


def outcomes(parser: PdfParser, deeds: list[str], folder: Path) -> list[str]:
    """The text of each file, or the reason why it has none."""
    found = parse_all(parser, [pdf(folder, deed) for deed in deeds], workers=1)
    return [each.pages[0].text if isinstance(each, Document) else each.reason for each in found]


def test_one_process_reads_several_files_and_is_then_replaced(tmp_path: Path) -> None:
    said = outcomes(Several(), [f"process-{n}" for n in range(7)], tmp_path)
    first, second, third = said[0], said[3], said[6]
    assert said == [first] * 3 + [second] * 3 + [third]
    assert len({first, second, third, str(os.getpid())}) == 4


def test_what_breaks_a_process_costs_its_own_file_only(tmp_path: Path) -> None:
    deeds = ["process-1", "segv", "process-2", "hoard", "process-3", "sleep", "process-4"]
    said = outcomes(Several(timeout=4, memory_mb=512), deeds, tmp_path)
    assert said[1::2] == ["crash", "memory", "timeout"]
    assert len({*said[::2]}) == 4


def test_a_file_that_fails_after_others_is_read_again_by_a_new_process(tmp_path: Path) -> None:
    assert outcomes(Several(), ["spoil", "innocent"], tmp_path) == ["spoilt", "sound"]


def test_the_limits_count_anew_for_each_file(tmp_path: Path) -> None:
    parser = Several(timeout=4.5)
    assert outcomes(parser, ["nap-1.6", "nap-1.61", "nap-1.62"], tmp_path) == ["rested"] * 3


def test_outcomes_come_in_the_order_of_the_paths(tmp_path: Path) -> None:
    names = ["nap-0.6", "nap-0.0", "segv", "nap-0.3"]
    paths = [pdf(tmp_path, name) for name in names] + [tmp_path / "absent.pdf"]
    done: list[tuple[Path, object]] = []
    threads: set[int] = set()

    def on_done(path: Path, outcome: Document | DocumentError) -> None:
        threads.add(threading.get_ident())
        done.append((path, outcome))

    found = parse_all(Hostile(), paths, workers=3, on_done=on_done)
    assert [o.id if isinstance(o, Document) else o.reason for o in found] == [
        "nap-0.6.pdf",
        "nap-0.0.pdf",
        "crash",
        "nap-0.3.pdf",
        "missing",
    ]
    assert sorted(map(str, paths)) == sorted(str(path) for path, _ in done)
    assert dict(done) == dict(zip(paths, found, strict=True))
    assert threads == {threading.get_ident()}


def test_no_more_children_run_than_workers(tmp_path: Path) -> None:
    start = time.monotonic()
    parse_all(Hostile(), [pdf(tmp_path, f"nap-0.{n}") for n in (3, 31, 32)], workers=1)
    assert time.monotonic() - start > 0.9


def test_the_next_file_is_read_while_a_document_is_made(tmp_path: Path) -> None:
    next_is_read = threading.Event()

    class Watched(Several):
        needs_check: ClassVar[bool] = True

        def check_file(self, path: Path) -> None:
            if path.stem == "nap-0.01":
                next_is_read.set()

    def hash_of(path: Path) -> str:
        assert next_is_read.wait(20)
        return path.stem

    paths = [pdf(tmp_path, deed) for deed in ("nap-0.0", "nap-0.01")]
    found = LocalExecutor(1).run(ParseWork(Watched(), hash_of), paths)
    assert [one.facts.sha256 for one in found if isinstance(one, Parsed)] == ["nap-0.0", "nap-0.01"]


def test_no_paths_give_no_outcomes() -> None:
    assert parse_all(Hostile(), [], workers=2) == []


def test_an_exception_in_the_callback_ends_the_children(tmp_path: Path) -> None:
    sleeper = pdf(tmp_path, "sleep")

    def stop(path: Path, outcome: Document | DocumentError) -> None:
        wait_for_pid(sleeper)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        parse_all(Hostile(), [sleeper, pdf(tmp_path, "nap-0.0")], workers=2, on_done=stop)
    assert is_gone(wait_for_pid(sleeper), within=20)


PARENT = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us deaf to it
sys.path.insert(0, sys.argv[1])
from tests.ingest import test_ingest_child
from fathoms.ingest import parse_all
parser = getattr(test_ingest_child, sys.argv[2])
parse_all(parser(timeout=float(sys.argv[3])), [Path(name) for name in sys.argv[4:]], workers=2)
"""


def start_parent(parser: type[Hostile], timeout: float, paths: list[Path]) -> subprocess.Popen[bytes]:
    options = [str(HERE.parents[1]), parser.__name__, str(timeout)]
    command = [sys.executable, "-c", PARENT, *options, *map(str, paths)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def wait_for_pid(path: Path) -> int:
    """The process id that the reader of a `sleep` file wrote down."""
    note = path.with_suffix(".pid")
    for _ in range(2400):
        if note.exists() and note.read_text():
            return int(note.read_text())
        time.sleep(0.05)
    raise AssertionError("the child did not start")


def is_gone(pid: int, within: float) -> bool:
    """Does no such process run any more?"""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@both
def test_ctrl_c_leaves_no_child(parser: type[Hostile], tmp_path: Path) -> None:
    paths = [pdf(tmp_path, f"sleep-{n}") for n in range(4)]
    parent = start_parent(parser, 60, paths)
    pids = [wait_for_pid(path) for path in paths[:2]]
    parent.send_signal(signal.SIGINT)
    try:
        assert parent.wait(60) != 0
    finally:
        parent.kill()
    assert all(is_gone(pid, within=20) for pid in pids)
    assert not paths[3].with_suffix(".pid").exists()


@both
def test_a_child_whose_parent_was_killed_ends_by_itself(parser: type[Hostile], tmp_path: Path) -> None:
    path = pdf(tmp_path, "sleep")
    parent = start_parent(parser, 60, [path])
    pid = wait_for_pid(path)
    parent.kill()
    parent.wait()
    assert is_gone(pid, within=20)
