"""The core scores, imports and reports with no parser, index or model installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
import sys
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
sys.exit(main(sys.argv[1:]))
"""


def bare(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=project.path,
        env={**os.environ, "FATHOMS_CACHE_DIR": str(project.path / "elsewhere")},
        capture_output=True,
        text=True,
    )


def test_score_and_report(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    (run,) = project.runs()
    before = json.loads((run / "summary.json").read_text())
    (run / "summary.json").unlink()
    for path in (run / "verdicts").iterdir():
        path.unlink()
    done = bare(project, "score", "tiny")
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "summary.json").read_text()) == before
    assert bare(project, "report", "tiny", "--json").returncode == 0
    assert bare(project, "show", "tiny", "--question", "tables-01").returncode == 0


def test_import(project: Project) -> None:
    project.write("a.jsonl", json.dumps({"id": "text-only-01", "answer": "41.5"}))
    done = bare(project, "import", "answers", "a.jsonl", "--questions", "questions.json", "--partial")
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
    project: Project, setting: str, package: str
) -> None:
    done = bare(project, "run", "tiny.yaml", "--set", setting)
    assert done.returncode == 2
    assert package in done.stderr
    assert not project.runs()
    assert len([line for line in done.stderr.splitlines() if line.startswith("fathoms:")]) == 1


def test_a_data_set_in_parquet_names_the_extra(project: Project) -> None:
    for table in ("corpus", "queries", "qrels"):
        (project.path / "vidore" / table).mkdir(parents=True)
        (project.path / "vidore" / table / "test.parquet").write_bytes(b"PAR1")
    done = bare(project, "questions", "convert", "vidore", "own.jsonl")
    assert done.returncode == 2
    assert (
        "test.parquet, a parquet file, needs the package 'pyarrow': pip install 'fathoms[parquet]'"
        in done.stderr
    )


def test_a_project_is_made_and_what_it_lacks_is_named(project: Project) -> None:
    done = bare(project, "init", "new")
    assert done.returncode == 0, done.stderr
    missing = done.stdout.split("missing here:\n")[1].split("\nnext:")[0].splitlines()
    assert any("pip install 'fathoms[llamaindex]'" in line for line in missing)
    assert any("pip install 'fathoms[embedded]'" in line for line in missing)
    assert (project.path / "new" / "first.yaml").is_file()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_a_compressed_log_names_the_extra(project: Project) -> None:
    log = Path(__file__).parents[1] / "importers" / "samples" / "inspect.eval"
    done = bare(project, "import", "inspect", str(log))
    assert done.returncode == 2
    assert "needs the package 'backports.zstd': pip install 'fathoms[inspect]'" in done.stderr
