"""What a newcomer leans on: versions, completion, verbose lines, no colour, and what may have been meant."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from importlib import metadata

import pytest

import fathoms
from fathoms.cli import main
from fathoms.cli.verbose import PlainLines
from fathoms.metrics.profiles import PROFILES
from fathoms.runs.events import LOGGER
from tests.support.forked import Forked, run_forked, write_command
from tests.support.project import CONFIG, PAGES, QUESTIONS, Project, write_pdf

pytestmark = pytest.mark.slow  # processes of their own


# ----- versions


def test_the_versions_of_what_matters_without_importing_it(project: Project) -> None:
    done = project.fathoms("--version")
    first, second, *libraries = done.stdout.splitlines()
    assert (done.returncode, first) == (0, f"fathoms {fathoms.__version__}")
    assert second.startswith(f"Python {sys.version.split()[0]} on ")
    assert f"pydantic {metadata.version('pydantic')}" in libraries
    assert all(line == f"{line.split()[0]} {metadata.version(line.split()[0])}" for line in libraries)
    code = "import sys, fathoms.cli\nfathoms.cli.main(['--version'])\nprint(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "pydantic", "matplotlib", "torch"):
        assert f"'{heavy}'" not in loaded.splitlines()[-1]


# ----- completion


def completed(project: Project, *words: str) -> list[str]:
    """What bash is given for the last word, through the variable that its script sets."""
    variables = {
        "_FATHOMS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["fathoms", *words]),
        "COMP_CWORD": str(len(words)),
        "FATHOMS_CACHE_DIR": str(project.path / "cache"),
    }
    done = run_forked([], project.path, {**os.environ, **variables}, timeout=300)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_names_complete(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml", "--out", "others").returncode == 0
    (run,) = (project.path / "others").glob("*_tiny_*")
    for words, offered in [
        (["rep"], ["report", "reproduce"]),
        (["run", "--dry"], ["--dry-run"]),
        (["import", "an"], ["answers"]),
        (["report", "--out", "others", ""], ["latest", "tiny"]),
        (["show", "--out", "others", "20"], [run.name]),
        (["report", "--out", "others", "others/"], []),
        (["report", "--out", "nowhere", ""], []),
        (["report", "--scores", "re"], ["released-code", "released"]),
        (["score", "--profile", ""], [profile.name for profile in PROFILES]),
        (["compare", "--metric", "hallu"], ["hallucination"]),
        (["data", "pull", "sample-q"], ["sample-quotes"]),
        (["models", "pull", "mini"], ["minilm-l6-v2", "minilm-l6-v2-torch"]),
        (["reproduce", "fathoms-rag/"], ["fathoms-rag/table-2"]),
    ]:
        assert completed(project, *words) == offered, words


def test_a_damaged_run_spoils_no_completion(project: Project) -> None:
    (project.path / "runs" / "zzz").mkdir(parents=True)
    (project.path / "runs" / "zzz" / "manifest.json").write_text("{")
    assert completed(project, "report", "z") == ["zzz"]


def test_bash_takes_the_script_and_leaves_files_to_itself(project: Project) -> None:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    (project.path / "bin").mkdir()
    command = project.path / "bin" / "fathoms"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m fathoms "$@"\n')
    command.chmod(0o755)
    script = """
        source <(fathoms --show-completion bash)
        complete -p fathoms
        COMP_WORDS=(fathoms val); COMP_CWORD=1; _fathoms_completion fathoms; echo "${COMPREPLY[@]}"
        COMP_WORDS=(fathoms run ti); COMP_CWORD=2; _fathoms_completion fathoms; echo "files: ${COMPREPLY[@]}"
    """
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=project.path,
        env={**os.environ, "PATH": path, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert "-o default" in lines[0], done.stderr  # what we offer nothing for, bash completes with files
    assert lines[1:] == ["validate", "files: "]


# ----- what is told


def test_verbose_tells_every_event_and_no_secret(project: Project) -> None:
    """The name of the run is in an event, and here it is a secret of `.env`, too."""
    project.write(".env", "SOME_API_KEY=planted-4711\n")
    done = project.fathoms("-v", "run", "tiny.yaml", "--set", "name=planted-4711")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if re.match(r"\d\d:\d\d:\d\d ", line)]
    events = [line.split()[1] for line in lines]
    assert events.count("question-answered") == 4
    assert events[-1] == "run-reported"
    assert "***" in lines[-1]
    assert not any("4711" in line for line in lines)
    assert "question-answered" not in project.fathoms("run", "tiny.yaml").stderr


def test_an_event_is_one_line_without_what_is_not_known() -> None:
    facts = {"event": "e", "a": "x\n y", "b": None, "c": 0}
    record = LOGGER.makeRecord("fathoms", 20, "f", 1, "said", (), None, extra={"facts": facts})
    assert PlainLines().format(record)[8:] == " e a=x y c=0"


def test_verbose_and_quiet_contradict_each_other(project: Project) -> None:
    for option in ("-v", "--verbose", "--debug"):
        done = project.fathoms("--quiet", option, "ls")
        assert done.returncode == 2
        assert "use only one of them" in done.stderr


def test_quiet_leaves_results_alone(project: Project) -> None:
    done = project.fathoms("--quiet", "run", "tiny.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "correctness" in done.stdout


# ----- colour


def on_terminal(project: Project, *arguments: str, **variables: str) -> str:
    """What a terminal of 80 columns is sent."""
    wanted = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "CI")}
    wanted |= {"FATHOMS_CACHE_DIR": str(project.path / "cache"), "COLUMNS": "80", **variables}
    main, side = pty.openpty()
    process = Forked(arguments, cwd=project.path, env=wanted, stdin=side, stdout=side, stderr=side)
    os.close(side)
    sent = b""
    try:
        while piece := os.read(main, 65536):
            sent += piece
    except OSError:  # Linux says so where the other side has closed
        pass
    os.close(main)
    assert process.wait() == 0, sent
    return sent.decode()


COLOUR = re.compile(r"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38;)[0-9;]*m")


def test_no_colour_where_none_is_wanted_and_no_control_on_a_dumb_terminal(project: Project) -> None:
    plain = on_terminal(project, "run", "tiny.yaml", TERM="dumb")
    assert "\x1b" not in plain
    assert "correctness" in plain
    assert COLOUR.search(on_terminal(project, "run", "tiny.yaml", TERM="xterm-256color"))
    assert not COLOUR.search(on_terminal(project, "run", "tiny.yaml", TERM="xterm-256color", NO_COLOR="1"))


# ----- typing errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reprot"], "Did you mean 'report'"),
        (["run", "tiny.yaml", "--dryrun"], "--dry-run"),
        (["import", "answer"], "Did you mean 'answers'"),
        (["run", "tinny.yaml"], "did you mean 'tiny.yaml'"),
        (["report", "tiyn"], "did you mean 'tiny'"),
        (["report", "tiyn~1"], "did you mean 'tiny'"),
        (["show", "latets"], "did you mean 'latest'"),
        (["report", "tiny", "--scores", "papr"], "did you mean 'paper'"),
        (["score", "tiny", "--profile", "papr"], "did you mean 'paper'"),
        (["compare", "tiny", "tiny", "--metric", "corectness"], "did you mean 'correctness'"),
        (
            ["import", "answers", "answers.jsonl", "--questions", "questions.json", "--parser", "pdfum"],
            "did you mean 'pdfium'",
        ),
        (["run", "tiny.yaml", "--set", "generate.kind=olama"], "did you mean 'ollama'"),
        (["run", "tiny.yaml", "--set", "retreive.top_k=3"], "did you mean 'retrieve'"),
        (["data", "pull", "smaple"], "did you mean 'sample'"),
        (["models", "pull", "minilm-l6"], "did you mean 'minilm-l6-v2'"),
        (["reproduce", "fathoms-rag/table2", "--results", "."], "did you mean 'fathoms-rag/table-2'"),
    ],
)
def test_what_may_have_been_meant(
    one_run: Project,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(one_run.path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run."""
    project = Project(tmp_path_factory.mktemp("typing"))
    (project.path / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(project.path / "pdfs" / name, pages)
    project.write("questions.json", json.dumps(QUESTIONS))
    project.write("answers.jsonl", json.dumps({"id": "text-only-01", "answer": "41.5"}))
    project.write("tiny.yaml", CONFIG)
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    return project


SHELLS = {
    "zsh": """
        autoload -Uz compinit && compinit -u -d "$PWD/dump"
        source <(fathoms --show-completion zsh)
        compadd() { print -rl -- "${@: -1}" }
        _describe() { print -r -- "${(P)2%%:*}" }
        _arguments() { local said="${@[-1]}"; print -r -- "$said" }
        words=(fathoms val); CURRENT=2; _fathoms_completion
    """,
    "fish": """
        fathoms --show-completion fish | source
        complete --do-complete 'fathoms val'
    """,
}


@pytest.mark.parametrize("shell", SHELLS)
def test_other_shells_take_the_script(project: Project, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (project.path / "bin").mkdir()
    write_command(project.path / "bin")
    own = {"PATH": f"{project.path}/bin{os.pathsep}{os.environ['PATH']}", "HOME": str(project.path)}
    done = subprocess.run(
        [shell, "-f" if shell == "zsh" else "--no-config", "-c", SHELLS[shell]],
        cwd=project.path,
        env={**os.environ, **own, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "validate" in done.stdout, done.stderr
    assert "version" not in done.stdout
