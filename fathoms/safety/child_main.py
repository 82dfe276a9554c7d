"""Entry point of every child process: `python child_main.py FD TARGET`; see `children`.

It kills the process, with all processes that it started, when the file FD reaches its end, because the parent
is then gone. It is run by its path, so that nothing of fathoms is imported.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from contextlib import suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def main() -> None:
    """Watch the parent, and run the target as `python` itself would."""
    watch(int(sys.argv[1]))
    del sys.argv[:2]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def watch(parent: int) -> None:
    """Kill this process group when the file `parent` reaches its end.

    A thread notices it on every system, but cannot act while a library holds the interpreter's lock. On Linux
    the kernel is therefore also asked to send SIGIO, which ends processes that do not handle it.
    """
    os.set_inheritable(parent, False)
    threading.Thread(target=_wait, args=(parent,), daemon=True).start()
    with suppress(OSError, AttributeError):
        # opened again, because all processes that inherited a descriptor share its F_SETOWN
        own = os.open(f"/proc/self/fd/{parent}", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(own, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _wait(parent: int) -> None:
    """Wait for the end of the file, then kill the process group."""
    os.read(parent, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
