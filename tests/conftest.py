"""What several test modules share: outside data, real weights, and a project of one's own in a folder."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fathoms.models import Embedded, OnnxEmbedder
from fathoms.models.weights.weights import is_installed, locate
from fathoms.paths import cache_dir
from tests.support.fork_server import preloaded
from tests.support.measured import measure_no_processes, measured, pause_imports, resume_after_imports
from tests.support.ollama_server import NoServerError, OllamaServer, set_up
from tests.support.project import Project, write_project

gc.disable()  # until the tests are collected: nothing of what they import becomes free
settings.register_profile("fathoms", deadline=None, max_examples=20)  # nothing here is a test of speed
settings.register_profile("thorough", deadline=None, max_examples=1000)  # for `make slow`
settings.load_profile("fathoms")
# threads of torch that wait sleep, because the processes of the tests share the cores
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# a job in the background of a shell ignores SIGINT, and so would all that the tests start and interrupt
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# the environment's own commands (uv) come first, whether or not it is activated
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# nothing of the tests goes to where the user's own runs share what they make
os.environ.pop("FATHOMS_SHARED_CACHE", None)
# what tests make is signed by a key of theirs, not by the user's
os.environ["FATHOMS_KEY_FILE"] = str(Path(tempfile.mkdtemp(prefix="fathoms-key-")) / "signing.key")
atexit.register(shutil.rmtree, Path(os.environ["FATHOMS_KEY_FILE"]).parent, ignore_errors=True)

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("FATHOMS_SHARED", ROOT.parent / "shared"))

WITH_TORCH = frozenset(
    f"tests/{name}.py"
    for name in (
        "hostile/test_hostile_weights",
        "ingest/test_ingest_docling_chunk",
        "judges/test_cascade_of_models",
        "judges/test_fact_checkers",
        "judges/test_judges_models",
        "metrics/test_metrics_reference",
        "models/test_models_pages",
        "models/test_models_sentence_transformers",
        "pipeline/test_page_index",
        "retrieve/test_retrieve_late_interaction",
    )
)
"""Files of tests that import torch and transformers, or have a child do so, for about ten seconds. They run
in one process of the tests, so that no other imports them."""

WITH_RAY = frozenset(
    f"tests/{name}.py"
    for name in (
        "extras/cluster/test_failed_starts",
        "extras/cluster/test_ray_executor",
        "golden/test_golden",
    )
)
"""Files of tests that start a Ray cluster. They run in one process of the tests, because Ray looks through
all processes of a machine, and says so on stderr where it finds another cluster."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out the tests of a file together (`--dist loadfile`), and as one file those with torch or Ray."""
    from xdist.scheduler import LoadFileScheduling

    together = {file: name for name, files in (("torch", WITH_TORCH), ("ray", WITH_RAY)) for file in files}
    # the core's tests run without the folders of the extras, too
    if moved := [f for f in together if (ROOT / f).parent.is_dir() and not (ROOT / f).is_file()]:
        raise pytest.UsageError(f"tests/conftest.py names files that are not there: {moved}")

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return together.get(file, file)

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)  # coverage begins here, in the processes of pytest-xdist
def pytest_sessionstart(session: pytest.Session) -> None:
    """Measure the imports of the tests in one process only."""
    pause_imports(session.config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare `make test-fast` the imports of files in which every test is slow."""
    if "not slow" not in config.getoption("markexpr") or collection_path.suffix != ".py":
        return None
    return True if "\npytestmark = pytest.mark.slow" in collection_path.read_text() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files with slow tests first, and before them those that run in one process, so that short ones
    are left to even out the processes at the end.

    The Makefile tells pytest-xdist to keep this order; its own begins with the files of most tests.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.nodeid.partition("::")[0] not in WITH_TORCH, item.path not in slow))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: the tests and what they have imported.

    Coverage has begun by now, in the processes of pytest-xdist too.
    """
    if measure_no_processes():
        for module in preloaded():  # a fork has them before it is measured
            if module.startswith("fathoms."):
                with suppress(ModuleNotFoundError):  # of an extra that is not installed
                    importlib.import_module(module)
    resume_after_imports()
    gc.set_threshold(100_000)  # as the command line does: many tests import torch or pandas
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure coverage only where a test may cover something new."""
    with measured(item):
        return (yield)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The acceptance data; tests that need it skip where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"acceptance data is not at {SHARED} (set FATHOMS_SHARED)")
    return SHARED / "data"


def needs(asset: str) -> None:
    """Skip where the weights of an asset are not on this machine."""
    if not is_installed(asset):
        pytest.skip(f"no weights: run 'fathoms models pull {asset}'")


@pytest.fixture(scope="session")
def smollm() -> Embedded:
    """The small language model, with short replies."""
    needs("smollm2-135m")
    # one thread, because the processes of the tests share the CPUs, and threads that wait keep theirs busy
    return Embedded(model="smollm2-135m", n_ctx=1024, max_tokens=12, threads=1)


@pytest.fixture(scope="session")
def minilm() -> OnnxEmbedder:
    """The sentence embedder."""
    needs("minilm-l6-v2")
    return OnnxEmbedder()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that takes no model and no second."""
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return write_project(tmp_path)


@pytest.fixture(scope="session")
def ollama_folder() -> Path:
    """A real Ollama 0.5.4 on this machine, kept between test runs."""
    needs("smollm2-135m")
    try:
        script = SHARED / "tools" / "ollama_cpu.sh"
        return set_up(script, cache_dir() / "tests" / "ollama", locate("smollm2-135m"))
    except NoServerError as error:
        pytest.skip(f"no Ollama server: {error}")


@pytest.fixture(scope="session")
def ollama(ollama_folder: Path) -> Iterator[OllamaServer]:
    """A running Ollama server, one for each process of the tests."""
    with OllamaServer(ollama_folder).running() as server:
        yield server


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small red PNG."""
    from PIL import Image

    path = tmp_path_factory.mktemp("pictures") / "red.png"
    Image.new("RGB", (8, 8), "red").save(path)
    return path
