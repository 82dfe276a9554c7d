"""The core scores, imports and reports with no parser, index or model installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

# what the extras bring, and the parser of the core: an import of any of them fails in these tests
NOT_INSTALLED = [
    "llama_index",
    "nltk",
    "onnxruntime",
    "tokenizers",
    "xllamacpp",
    "pymupdf",
    "pypdfium2",
    "pyarrow",
    "backports",
]

CODE = f"""
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
class Without:
    def __init__(self, finders):
        self.finders = finders
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {NOT_INSTALLED}:
            return None
        found = (finder.find_spec(name, path, target) for finder in self.finders)
        return next((spec for spec in found if spec), None)
sys.meta_path[:] = [Without(list(sys.meta_path))]
from fathoms.cli import main
for line in sys.stdin:
    folder, arguments = json.loads(line)
    os.chdir(folder)
    os.environ["FATHOMS_CACHE_DIR"] = folder + "/elsewhere"
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def core() -> Iterator[subprocess.Popen[str]]:
    """A process in which these packages cannot be imported, and which runs one command after another."""
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


Bare = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def bare(core: subprocess.Popen[str], project: Project) -> Bare:
    """Run a command there, in the project's folder."""
    assert core.stdin is not None
    assert core.stdout is not None
    reported, heard = core.stdin, core.stdout

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        print(json.dumps([str(project.path), arguments]), file=reported, flush=True)
        return subprocess.CompletedProcess(arguments, *json.loads(heard.readline()))

    return run


def test_score_and_report(project: Project, bare: Bare) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    (run,) = project.runs()
    before = json.loads((run / "summary.json").read_text())
    (run / "summary.json").unlink()
    for path in (run / "verdicts").iterdir():
        path.unlink()
    done = bare("score", "tiny")
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "summary.json").read_text()) == before
    assert bare("report", "tiny", "--json").returncode == 0
    assert bare("show", "tiny", "--question", "tables-01").returncode == 0


def test_import(project: Project, bare: Bare) -> None:
    project.write("a.jsonl", json.dumps({"id": "text-only-01", "answer": "41.5"}))
    done = bare("import", "answers", "a.jsonl", "--questions", "questions.json", "--partial")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("setting", "package"),
    [
        ("generate={kind: embedded}", "pip install 'fathoms[embedded]'"),
        ("embed={kind: onnx}", "pip install 'fathoms[embedded]'"),
        ("ingest={kind: pymupdf}", "pip install 'fathoms[pymupdf]'"),
        ("chunk={kind: sentence}", "pip install 'fathoms[llamaindex]'"),
    ],
)
def test_what_is_missing_is_one_line_that_names_the_command(
    project: Project, bare: Bare, setting: str, package: str
) -> None:
    done = bare("run", "tiny.yaml", "--set", setting)
    assert done.returncode == 2
    assert package in done.stderr
    assert not project.runs()
    assert len([line for line in done.stderr.splitlines() if line.startswith("fathoms:")]) == 1


def test_a_data_set_in_parquet_names_the_extra(project: Project, bare: Bare) -> None:
    for table in ("corpus", "queries", "qrels"):
        (project.path / "vidore" / table).mkdir(parents=True)
        (project.path / "vidore" / table / "test.parquet").write_bytes(b"PAR1")
    done = bare("questions", "convert", "vidore", "own.jsonl")
    assert done.returncode == 2
    assert (
        "test.parquet, a parquet file, needs the package 'pyarrow': pip install 'fathoms[parquet]'"
        in done.stderr
    )


def test_a_project_is_made_and_what_it_lacks_is_named(project: Project, bare: Bare) -> None:
    done = bare("init", "new")
    assert done.returncode == 0, done.stderr
    missing = done.stdout.split("missing here:\n")[1].split("\nnext:")[0].splitlines()
    assert any("pip install 'fathoms[llamaindex]'" in line for line in missing)
    assert any("pip install 'fathoms[embedded]'" in line for line in missing)
    assert (project.path / "new" / "first.yaml").is_file()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_a_compressed_log_names_the_extra(project: Project, bare: Bare) -> None:
    log = Path(__file__).parents[1] / "extras" / "exchange" / "samples" / "inspect.eval"
    done = bare("import", "inspect", str(log))
    assert done.returncode == 2
    assert "needs the package 'backports.zstd': pip install 'fathoms[inspect]'" in done.stderr
