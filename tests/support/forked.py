"""Runs `fathoms` commands in processes that are forked from one that has imported the package already.

A new interpreter imports for two seconds before its command begins; a fork takes some milliseconds. The
command still is a process of its own, with its own folder, environment, output and exit code. What depends on
the start of the interpreter itself (how long the imports take, what they load, hash seeds) is tested with new
interpreters: `Project.fathoms(..., fresh=True)`.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NoReturn

from tests.support.measured import is_measured, variables

ROOT = Path(__file__).resolve().parents[2]

# what most commands import; nothing that starts threads (onnxruntime, torch), which do not survive a fork
PRELOADED = (
    "coverage",
    "fathoms.build",
    "fathoms.compare.against_baseline",
    "fathoms.compare.compare",
    "fathoms.metrics.linear_weights",
    "fathoms.models.embed.lexical",
    "fathoms.report.change",
    "fathoms.report.comparison",
    "fathoms.report.ending",
    "fathoms.report.terminal",
    "fathoms.runner.plan",
    "fathoms.runs.finding",
    "fathoms.stats.difference",
    "fathoms.stats.power",
    "fathoms.report.html",
    "fathoms.report.radar",
    "fathoms.report.write",
    "fathoms.reproduce",
    "fathoms.runner.runner",
    "fathoms.scoring",
    "fathoms.stats.intervals",
    "fastjsonschema",
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
    """What the process to fork from imports: the modules above and those of all commands."""
    import fathoms.cli

    commands = [f"fathoms.cli.{module.name}" for module in pkgutil.iter_modules(fathoms.cli.__path__)]
    return [*PRELOADED, *commands]


def run_forked(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
    typed: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m fathoms ARGUMENTS` in a folder, like `subprocess.run` with its output captured.

    What is `typed` comes over a pipe; without it, the input is empty.
    """
    server = _server()
    with tempfile.TemporaryDirectory(prefix="fathoms-command-") as place:
        out, err = Path(place, "out"), Path(place, "err")
        order = {"arguments": [*arguments], "folder": str(folder), "environment": {**environment}}
        order |= {"out": str(out), "err": str(err), "imported": str(Path(place, "imported"))}
        order |= {"coverage": variables(is_measured(arguments)), "typed": typed}
        child = int(_ask(server, json.dumps(order)))
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), os.kill(child, signal.SIGKILL)))
        timer.start()
        code = int(_ask(server, "wait"))
        timer.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(
                ["fathoms", *arguments], timeout, out.read_bytes(), err.read_bytes()
            )
        return subprocess.CompletedProcess(["fathoms", *arguments], code, out.read_text(), err.read_text())


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process to fork from. It ends by itself when its input is closed, as this process ends."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(server: subprocess.Popen[str], line: str) -> str:
    """Send a line to the server and read its reply."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{line}\n")
    server.stdin.flush()
    reply = server.stdout.readline()
    assert reply, "the process that commands are forked from has ended"
    return reply


def _serve() -> None:
    """Fork for each order. It returns in the forked processes only, which then run their command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)  # as each command does
    for module in preloaded():
        importlib.import_module(module)
    _compute_once()
    _build_models()
    gc.freeze()  # collecting in a child would copy every page of what is loaded here
    child = 0
    imported = Path()
    for line in sys.stdin:
        if line == "wait\n":
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            _import_too(imported)
            print(code, flush=True)
            continue
        order = json.loads(line)
        imported = Path(order["imported"])
        if order["coverage"]:
            _find_modules()
        if child := os.fork():
            print(child, flush=True)
        else:
            _become(order)
            return
    os._exit(0)


def _import_too(imported: Path) -> None:
    """Import what a command that has ended had to import, so that the next ones find it."""
    found = imported.read_text().split() if imported.exists() else []
    for module in found:
        importlib.import_module(module)
    if found:
        gc.freeze()


def _tell_imported(target: Path, known: Set[str]) -> None:
    """Leave a note of the heavy modules that this command has imported and its parent had not."""
    if found := [module for module in LATER if module in sys.modules and module not in known]:
        target.write_text(" ".join(found))


def _compute_once() -> None:
    """Fill the caches in memory that most commands would fill at their start."""
    from matplotlib.figure import Figure

    from fathoms.metrics.grammar import read_grammar
    from fathoms.metrics.linear import Linear
    from fathoms.report.radar import plain_style
    from fathoms.runs import schemas

    read_grammar()
    Linear().check()
    for name in schemas.NAMES:
        schemas._validator(name, explains=False)
    with plain_style():  # loads the fonts
        picture = Figure()
        for weight in ("normal", "bold"):
            picture.text(0, 0, "A", weight=weight)
        for suffix in ("png", "svg", "pdf"):
            picture.savefig(io.BytesIO(), format=suffix)


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


def _become(order: Mapping[str, Any]) -> None:
    """Make this process what a shell would have started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in enumerate((os.devnull, order["out"], order["err"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    if order["typed"] is not None:
        reading, writing = os.pipe()
        os.write(writing, order["typed"].encode())
        os.dup2(reading, 0)
        os.close(reading)
        os.close(writing)
    sys.stdin = os.fdopen(0, closefd=False)  # the other one has read ahead
    os.chdir(order["folder"])
    os.environ.clear()
    if order["coverage"]:
        _measure(order["coverage"])
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]
    sys.argv = ["fathoms", *order["arguments"]]
    found = {module for module in LATER if module in sys.modules}
    atexit.register(_tell_imported, Path(order["imported"]), found)


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
    _serve()
    try:
        runpy.run_module("fathoms", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
