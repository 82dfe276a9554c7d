"""Child processes: messages, how their end is told, and that one which misbehaves harms nobody."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from fathoms.safety.children import Child, ChildEndedError, Children

ECHO = """
def serve(process):
    for request in process.requests():
        process.answer({"heard": request}, b"\\x00" * request.get("bytes", 0))
"""


def child(folder: Path, code: str, **options: Any) -> Child:
    target = folder / "target.py"
    target.write_text(code)
    return Child(str(target), **{"stderr": "log", **options})


def ended(folder: Path, body: str, **options: Any) -> ChildEndedError:
    """How a child ends that runs `body` after its first request."""
    process = child(folder, f"import os, time\ndef serve(process):\n    {body}\n", **options)
    process.send({})
    with pytest.raises(ChildEndedError) as caught:
        process.receive(20)
    with pytest.raises(ChildEndedError):  # it is told as often as somebody asks
        process.receive(20)
    process.end()
    assert not process.alive
    return caught.value


def test_messages_of_any_size_cross_with_their_bytes(tmp_path: Path) -> None:
    process = child(tmp_path, ECHO)
    for request in ({"text": "\ud800 é"}, {"text": "x" * 3_000_000, "bytes": 5_000_000}):
        process.send(request)
        assert process.receive(20) == ({"heard": request}, bytes(request.get("bytes", 0)))
    assert process.alive
    process.end()
    process.end()
    process.send({})  # is lost
    with pytest.raises(ChildEndedError):
        process.receive(20)


@pytest.mark.parametrize(
    ("body", "how", "cause", "last_line"),
    [
        ("os.abort()", "SIGABRT", "memory", ""),
        ("os.kill(os.getpid(), 9)", "SIGKILL", "killed", ""),
        ("os.kill(os.getpid(), 35)", "signal 35", "crash", ""),
        ("raise KeyError('read')", "exit code 1", "crash", "KeyError: 'read'"),
        ("os.write(process._output, b'noise that is no message')", "unreadable answer", "crash", ""),
        ("process.answer(b'{')", "unreadable answer", "crash", ""),
        ("process.answer('x' * 2000)", "a message of 2002 bytes", "crash", ""),
    ],
)
def test_the_end_is_told_with_its_cause(
    body: str, how: str, cause: str, last_line: str, tmp_path: Path
) -> None:
    error = ended(tmp_path, body, most=1000)
    assert how in error.how
    assert (error.cause, error.last_line) == (cause, last_line)


def test_a_child_that_is_silent_is_waited_for_as_long_as_asked(tmp_path: Path) -> None:
    process = child(tmp_path, "import time\ndef serve(process): time.sleep(60)")
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        process.receive(0.2)
    assert time.monotonic() - start < 30
    assert process.alive
    assert process.ended(0.1) is None
    process.kill()
    ended = process.ended(20)
    assert ended is not None
    assert ended.how == "SIGKILL"


def test_nothing_starts_after_a_stop(tmp_path: Path) -> None:
    (tmp_path / "target.py").write_text(ECHO)
    children = Children()
    process = children.start(str(tmp_path / "target.py"), stderr="discard")
    children.stop()
    with pytest.raises(ChildEndedError, match="SIGKILL"):
        process.receive(20)
    with pytest.raises(InterruptedError):
        children.start(str(tmp_path / "target.py"), stderr="discard")


def test_a_child_ends_when_nobody_holds_it(tmp_path: Path) -> None:
    process = child(tmp_path, ECHO)
    pid = process.pid
    del process
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
