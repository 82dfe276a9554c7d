"""The process that `tests.support.forked` forks commands from: it imports once what all of them import.

For each command it takes a connection, on which come the three standard streams and an order in JSON. Its
answers are two numbers of `ANSWER` bytes: that of the process, and its exit code once it has ended.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ANSWER = 12

# what most commands import; nothing that starts threads (onnxruntime, torch), which do not survive a fork
PRELOADED = (
    "coverage",
    "filelock",
    "fontTools.subset",
    "jinja2",
    "logging.handlers",
    "lxml.etree",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.PpmImagePlugin",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "matplotlib.style",
    "rich.console",
    "rich.live",
    "rich.progress",
    "rich.table",
)

# what of the package imports such things, or what hardly any command needs
HEAVY = (
    "fathoms.__main__",
    "fathoms.extras.docling_offline.",
    "fathoms.ingest.docling.",
    "fathoms.ingest.parsers.pymupdf_reader",
    "fathoms.pytest_plugin",
    "fathoms.stats.few_questions",
)

# heavy imports of some commands only: the first of them that needs one has the later ones find it
LATER = (
    "aiohttp",
    "httpx",
    "ir_measures",
    "llama_index.core.node_parser",
    "scipy.special",
    "scipy.stats",
)


def preloaded() -> list[str]:
    """What the process to fork from imports: the modules above and nearly all of the package."""
    import fathoms

    found = (module.name for module in pkgutil.walk_packages(fathoms.__path__, "fathoms."))
    return [*PRELOADED, *(name for name in found if not name.startswith(HEAVY))]


def _serve(listening: socket.socket) -> None:
    """Fork for each order. It returns in the forked processes only, which then run their command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)  # as each command does
    for module in preloaded():
        with suppress(ModuleNotFoundError):  # of an extra that is not installed
            importlib.import_module(module)
    _compute_once()
    _build_models()
    gc.freeze()  # collecting in a child would copy every page of what is loaded here
    with tempfile.TemporaryFile() as file:
        notes = os.dup(file.fileno())
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    clients: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([0, ended, listening], [], [])
        if 0 in ready:  # the process of the tests has ended, and with it its end of the pipe
            os._exit(0)
        if ended in ready:
            os.read(ended, 4096)
            _import_too(notes)
            _tell_ended(clients)
        if listening not in ready:
            continue
        client, _ = listening.accept()
        order, streams = _read_order(client)
        if order["coverage"]:
            _find_modules()
        if child := os.fork():
            clients[child] = client
            _answer(client, child)
            for stream in streams:
                os.close(stream)
        else:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for ours in (listening, client, *clients.values()):
                ours.close()
            os.close(ended)
            os.close(end)
            _become(order, streams)
            found = {module for module in LATER if module in sys.modules}
            atexit.register(_note_imports, notes, found)
            return


def _read_order(client: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """What a client wants to be run, and the streams for it."""
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    with client.makefile() as reported:
        return json.loads(reported.readline()), streams


def _tell_ended(clients: dict[int, socket.socket]) -> None:
    """Tell those who wait for a process that it has ended, and how."""
    while clients:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with clients.pop(child) as client:
            _answer(client, os.waitstatus_to_exitcode(status))


def _answer(client: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody may listen any more
        client.sendall(f"{number}\n".rjust(ANSWER).encode())


def _import_too(notes: int) -> None:
    """Import what commands that have ended had to import, so that the next ones find it."""
    missing = set(os.pread(notes, 1_000_000, 0).decode().split()) - set(sys.modules)
    for module in missing:
        importlib.import_module(module)
    if missing:
        gc.freeze()


def _note_imports(notes: int, known: Set[str]) -> None:
    """Leave a note of the heavy modules that this command has imported and its parent had not."""
    if found := [module for module in LATER if module in sys.modules and module not in known]:
        os.write(notes, (" ".join(found) + "\n").encode())


def _compute_once() -> None:
    """Fill the caches in memory that most commands would fill at their start."""
    from fathoms.metrics.grammar import read_grammar
    from fathoms.metrics.linear import Linear
    from fathoms.report.radar import FORMATS, Chart, save

    read_grammar()
    Linear().classify(["I do not know the height.", "It is 41.5 m tall."])
    chart = Chart("A", "B", ("Overall", "C"), ("D",), ((0.5, 1.0),))
    with tempfile.TemporaryDirectory() as folder:  # loads the fonts
        save(chart, Path(folder, "radar"), tuple(FORMATS))


def _build_models() -> None:
    """Build the validators that pydantic would build when first used, a third of what a short run takes."""
    from pydantic import BaseModel

    from fathoms.metrics.registry import default_metrics
    from fathoms.runner.manifest import versions

    waiting = BaseModel.__subclasses__()
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if model.__module__.startswith("fathoms.") and not model.__pydantic_complete__:
            model.model_rebuild()
    default_metrics()
    versions()


@functools.cache
def _find_modules() -> None:
    """Look up the file of each module, which coverage would do in each fork that it measures (0.1 s)."""
    inspect.stack()


def _become(order: Mapping[str, Any], streams: list[int]) -> None:
    """Make this process what a shell would have started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(order["folder"])
    os.environ.clear()
    if order["coverage"]:
        _measure(order["coverage"])
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]
    sys.argv = ["fathoms", *order["arguments"]]
    if order["file_size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_size"], resource.RLIM_INFINITY))
    if order["memory"] is not None:
        resource.setrlimit(resource.RLIMIT_AS, (order["memory"], resource.RLIM_INFINITY))


def _measure(variables: Mapping[str, str]) -> None:
    """Measure coverage from here on. Lines of modules that are imported already were counted in the process
    of the tests, which has imported them too."""
    import coverage

    os.environ.update(variables)
    coverage.process_startup()
    os.environ.clear()  # processes of this one are not measured


def _end(code: int) -> NoReturn:
    """End as an interpreter ends, without taking its memory apart, which takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        runpy.run_module("fathoms", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
