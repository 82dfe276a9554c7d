"""What the modules of fathoms find on Windows, as far as it can be played on another system.

Python runs this file at the start of every process whose PYTHONPATH has its folder, those that fathoms starts
included. Other libraries see the system as it is: what they do on Windows is theirs to test. After the
documentation of CPython ("Availability") and the modules that its build for Windows has, the modules of
fathoms find

- no module, function or constant that exists on POSIX alone, and `os.name` and `sys.platform` of Windows,
- no signal handlers on an event loop, and processes that take no descriptors,
- that a file or folder in which something is open can neither be renamed, replaced nor removed,
- that no file can be created whose name Windows reserves or does not allow, or whose path is too long.
"""

from __future__ import annotations

import asyncio
import builtins
import errno
import mmap
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[3] / "fathoms") + os.sep
LONGEST = 259
"""The most characters of a path where long paths are not enabled."""
WORKPLACE = r"C:\Users\somebody\Documents\projects\benchmark"
"""Stands for the test's own folder: a path of usual length."""

MODULES = {
    *("_curses", "_posixsubprocess", "crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty"),
    *("pwd", "readline", "resource", "spwd", "syslog", "termios", "tty"),
}
_OS = re.compile(
    r"O_(?!RDONLY|WRONLY|RDWR|APPEND|CREAT|EXCL|TRUNC$)|EX_(?!OK$)|[PRFS]_(?:PID|PGID|ALL|PIDFD|LOCK|TEST|ULOCK)"
    r"|SCHED_|PRIO_|POSIX_|RWF_|ST_|XATTR_|W(?:NOHANG|CONTINUED|UNTRACED|IF|EXIT|STOP|TERM|CORE|NOWAIT|EXITED)"
    r"|CLD_|RTLD_|GRND_|MFD_|EFD_|SPLICE_|CLONE_|fork|register_at_fork|killpg|[gs]et(?:e|re|res)?[ug]id|[gs]etpg"
    r"|[gs]etsid|[gs]etgroups|initgroups|getgrouplist|[gs]etpriority|nice|uname|sysconf|confstr|f?pathconf"
    r"|getloadavg|sched_|[fl]?chown|[fl]chmod|chroot|fchdir|mkfifo|mknod|major|minor|makedev|p(?:read|write)v?$"
    r"|readv|writev|sendfile|posix_|fdatasync|sync$|f?statvfs|lockf|wait[34]?$|waitid|openpty|login_tty|ttyname"
    r"|ctermid|tc[gs]etpgrp|[gsl]\w*xattr|removexattr|memfd_create|copy_file_range|splice|pidfd_open|eventfd"
    r"|getrandom|environb|getenvb|fwalk|[gs]et_blocking|unshare|setns|getlogin_r"
)
_SIGNALS = re.compile(
    r"SIG(?!ABRT$|FPE$|ILL$|INT$|SEGV$|TERM$|_DFL$|_IGN$)[A-Z_0-9]+|alarm|[gs]etitimer|ITIMER_|ItimerError"
    r"|pthread_|sig(?:pending|wait|timedwait|interrupt)|pause|Sigmasks"
)
_GONE: Mapping[types.ModuleType, re.Pattern[str]] = {
    os: _OS,
    signal: _SIGNALS,
    select: re.compile(r"poll|epoll|kqueue|devpoll|POLL|EPOLL|PIPE_BUF"),
    socket: re.compile(
        r"AF_(?:UNIX|NETLINK|PACKET|ALG|VSOCK)|SO_REUSEPORT|MSG_(?:DONTWAIT|NOSIGNAL)|SCM_|send_fds|recv_fds"
    ),
    mmap: re.compile(r"MADV_|MAP_|PROT_"),
    time: re.compile(r"tzset|(?:clock|pthread)_get|clock_settime|CLOCK_"),
}
_OTHER: Mapping[types.ModuleType, Mapping[str, Any]] = {
    os: {"name": "nt", "O_BINARY": 0, "O_NOINHERIT": 0},
    sys: {"platform": "win32"},
}


def _in_fathoms(depth: int = 2) -> bool:
    """Whether the code that asks is a module of fathoms."""
    return sys._getframe(depth).f_code.co_filename.startswith(ROOT)


def _dict_of(module: types.ModuleType) -> dict[str, Any]:
    """The own variables of a module that stands for another one."""
    found: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
    return found


class _Seen(types.ModuleType):
    """A module as fathoms sees it on Windows, and as it is for everybody else."""

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(name, doc)
        _dict_of(self)["_real"] = sys.modules.get(name)

    def __getattribute__(self, name: str) -> Any:
        real = _dict_of(self)["_real"]
        if real is None:  # a module of another name, because `type(sys)` is this class
            return super().__getattribute__(name)
        if _in_fathoms():
            if name in (other := _OTHER.get(real, {})):
                return other[name]
            if real in _GONE and _GONE[real].match(name):
                raise AttributeError(f"module '{real.__name__}' has no attribute '{name}' (on Windows)")
        return getattr(real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        real = _dict_of(self)["_real"]
        super().__setattr__(name, value) if real is None else setattr(real, name, value)

    def __delattr__(self, name: str) -> None:
        real = _dict_of(self)["_real"]
        super().__delattr__(name) if real is None else delattr(real, name)


def _import(name: str, *rest: Any, **more: Any) -> Any:
    """Import a module, unless Windows has none of this name."""
    if name.partition(".")[0] in MODULES and _in_fathoms():
        raise ModuleNotFoundError(f"No module named '{name}' (on Windows)", name=name)
    return _really_import(name, *rest, **more)


def _no_handler(*_: Any) -> None:
    """What every event loop answers on Windows."""
    raise NotImplementedError


def _popen(self: Any, *arguments: Any, **options: Any) -> None:
    """Start a process as on Windows, where none takes descriptors, and none runs code before it starts."""
    if _in_fathoms():
        assert not options.get("pass_fds"), "pass_fds not supported on Windows."
        assert options.get("preexec_fn") is None, "preexec_fn is not supported on Windows platforms"
    _start(self, *arguments, **options)


def _open_in(path: Any) -> str | None:
    """The path of something open in this process that is this file or lies in this folder."""
    whole = os.path.realpath(path)
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found = str(entry.readlink())
        except OSError:
            continue
        if found == whole or found.startswith(whole + os.sep):
            return found
    for line in Path("/proc/self/maps").read_text().splitlines():
        found = f"/{line.partition('/')[2]}"
        if found == whole or found.startswith(whole + os.sep):
            return found
    return None


def _unless_open(change: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to rename, replace or remove what is open."""

    def changed(path: Any, *others: Any, **more: Any) -> Any:
        paths = [path, *others[:1]] if change.__name__ in ("rename", "replace") else [path]
        for one in [] if more.get("dir_fd") is not None else paths:
            if (found := _open_in(one)) is not None:
                raise PermissionError(errno.EACCES, f"it is open, on Windows: {found}", os.fspath(path))
        for one in paths[1:]:
            _require_name(os.fspath(one))
        return change(path, *others, **more)

    return changed


_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM[0-9¹²³]|LPT[0-9¹²³])(\.|$)", re.I)


def _require_name(path: Any) -> None:
    """Raise OSError for a new path that Windows does not allow."""
    work = os.environ.get("FATHOMS_TEST_FOLDER", "")
    whole = str(Path(os.fsdecode(path)).absolute())
    if not work or not whole.startswith(work):
        return
    for part in Path(whole[len(work) :]).parts[1:]:
        if _RESERVED.match(part) or re.search(r'[<>:"|?*\\\x00-\x1f]|[. ]$', part):
            raise OSError(errno.EINVAL, "the name is not allowed on Windows", whole)
    if len(WORKPLACE + whole[len(work) :]) > LONGEST:
        raise FileNotFoundError(errno.ENOENT, "the path is too long for Windows", whole)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Look at every file and folder that is made."""
    if event == "os.mkdir":
        _require_name(arguments[0])
    elif event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_CREAT | os.O_WRONLY):
        _require_name(arguments[0])


def _play() -> None:
    """Change what the modules of fathoms find."""
    for name in ("os", "signal", "select", "socket", "mmap", "time", "sys"):
        sys.modules[name] = _Seen(name)
    builtins.__import__ = _import
    for loop in (asyncio.SelectorEventLoop, asyncio.BaseEventLoop):
        loop.add_signal_handler = loop.remove_signal_handler = _no_handler  # type: ignore[method-assign,assignment]
    subprocess.Popen.__init__ = _popen  # type: ignore[method-assign]
    for name in ("rename", "replace", "unlink", "remove", "rmdir"):
        setattr(os, name, _unless_open(getattr(os, name)))
    sys.addaudithook(_audit)


_really_import, _start = builtins.__import__, subprocess.Popen.__init__
_play()
