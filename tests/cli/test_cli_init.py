"""`fathoms init`: what it writes, that it writes over nothing, and that the project runs as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fathoms.cli.init import make_project
from fathoms.corpora import read_questions
from fathoms.errors import StoreError, UsageError
from fathoms.experiment import load_experiment
from fathoms.models import Embedded, OnnxEmbedder
from tests.support.measured import unmeasured
from tests.support.project import Project

FILES = {
    "first.yaml",
    ".env.example",
    ".gitignore",
    "README.md",
    "questions.json",
    "pdfs/lumet-3-pump-manual.pdf",
}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file under a folder with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_project_is_written_and_its_config_and_questions_are_valid(tmp_path: Path, root: Path) -> None:
    written = make_project(tmp_path / "new" / "place")
    files = tree(tmp_path / "new" / "place")
    assert set(files) == FILES == {path.relative_to(tmp_path / "new/place").as_posix() for path in written}
    assert load_experiment(tmp_path / "new/place/first.yaml").name == "first"
    questions = read_questions(tmp_path / "new/place/questions.json").questions
    # counted in data/sample/questions.json: nine questions name this manual alone, three have no answer
    assert (len(questions), sum(not question.answerable for question in questions)) == (9, 3)
    sample = root / "data" / "sample" / "lumet-3-pump-manual.pdf"
    assert files["pdfs/lumet-3-pump-manual.pdf"] == sample.read_bytes()
    assert ".env" in files[".gitignore"].decode().split()
    assert all(line.startswith("#") for line in files[".env.example"].decode().splitlines())


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_that_is_there_is_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=name.replace(".", r"\.")):
        make_project(tmp_path)
    assert tree(tmp_path) == {name: b"mine"}


def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "questions.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(UsageError):
        make_project(tmp_path)
    assert not (tmp_path / "elsewhere.json").exists()


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    make_project(tmp_path)
    assert tree(tmp_path)["notes.txt"] == b"mine"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        make_project(tmp_path / "file" / "sub")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_of_a_project_that_does_not_fit_nothing_stays(tmp_path: Path) -> None:
    """The PDF is larger than any file may be: as if the disk ended there."""
    code = (
        "import resource, sys\n"
        "from fathoms.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))\n"
        "sys.exit(main(['init', 'first']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=unmeasured(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "fathoms: first cannot be written: File too large\n")
    assert [path for path in (tmp_path / "first").rglob("*") if path.is_file()] == []
    assert make_project(tmp_path / "first")


def test_git_leaves_out_keys_and_runs(tmp_path: Path) -> None:
    make_project(tmp_path)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=x")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    left = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert {line.split(" ", 1)[1] for line in left.stdout.splitlines()} == FILES


@pytest.mark.slow
def test_what_is_missing_is_said_with_the_command(project: Project) -> None:
    """The cache of this project is empty: no weights are here."""
    done = project.fathoms("init", "my project")
    assert done.returncode == 0, done.stderr
    assert "  cd 'my project'\n" in done.stdout
    assert "fathoms models pull minilm-l6-v2" in done.stdout
    assert "fathoms models pull smollm2-135m" in done.stdout
    assert done.stdout.endswith("  fathoms run first.yaml\n")
    again = project.fathoms("init", "my project")
    assert again.returncode == 2
    assert "contains first.yaml" in again.stderr


@pytest.mark.long
@pytest.mark.slow
def test_the_project_runs(tmp_path: Path, smollm: Embedded, minilm: OnnxEmbedder) -> None:
    process = Project(tmp_path, cache=None).fathoms("init", "rag")
    assert process.returncode == 0, process.stderr
    project = Project(tmp_path / "rag", cache=None)
    short = [word for pair in ("threads=1", "max_tokens=4") for word in ("--set", f"generate.{pair}")]
    done = project.fathoms("run", "first.yaml", "--limit", "1", *short, timeout=300)
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    assert json.loads((run / "summary.json").read_text())["counts"]["answered"] == 1
