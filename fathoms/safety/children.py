"""Child processes that end with their parent, however it ends.

The parent holds the write end of a pipe and never writes to it; every child has the read end. The kernel
closes the write end when the parent is gone, even after `kill -9`, and the child reads the end of the file.
`child_main` is the part of this that runs in the child.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MAIN = str(Path(__file__).with_name("child_main.py"))
_PIPE: list[int] = []  # read end and write end; empty until the first child starts


def start_child(target: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a Python process that runs `target`: the path of a file, or `-m` and the name of a module.

    It runs in its own session, so that Ctrl-C is not sent to it and its whole process group can be killed.
    Its stdin is a pipe. `options` are those of `subprocess.Popen`.
    """
    # -P keeps the script's own folder out of the search path for modules
    if os.name == "posix":
        options["pass_fds"] = [_read_end()]
        command = [sys.executable, "-P", _MAIN, str(_read_end()), *target]
    else:  # on Windows, where descriptors cannot be passed, a child ends with its stdin
        command = [sys.executable, "-P", *target]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **options)


def _read_end() -> int:
    """The read end of the pipe, which children inherit; the pipe is created on first use."""
    if not _PIPE:
        _PIPE.extend(os.pipe())
    return _PIPE[0]


def _forget() -> None:
    """Close the parent's pipe in a forked process, which would otherwise keep the parent's children alive."""
    while _PIPE:
        os.close(_PIPE.pop())


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget)
