"""Where every child process begins: `python child_main.py FD TARGET`, see `children`.

It ends the process, with all processes that it started, when the file FD ends: then the parent is gone.
Run by its path, so that nothing of fathoms is imported.
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
    """End this process group when the file `parent` ends.

    A thread sees it on every system. It cannot act while a library holds the interpreter's lock, so Linux
    is asked to send SIGIO at the end of the file, which ends processes that do not handle it.
    """
    os.set_inheritable(parent, False)
    threading.Thread(target=_wait, args=(parent,), daemon=True).start()
    with suppress(OSError, AttributeError):
        # opened again, because the owner of a file is shared by all who inherited it
        own = os.open(f"/proc/self/fd/{parent}", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(own, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _wait(parent: int) -> None:
    """End all when the file ends."""
    os.read(parent, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
