"""A run, a data set and a `.env` from elsewhere are data: what they name is not run, asked or read."""

from __future__ import annotations

import gc
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms import api
from fathoms.cli import main
from fathoms.component import Component, kind_of
from fathoms.corpora import find_manifest, pull
from fathoms.corpora.download import Policy, is_public
from fathoms.errors import ChecksumError, DataError, UsageError
from fathoms.ingest.docling.options import EasyOcr
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import folder_of
from fathoms.runner.manifest import git_commit
from fathoms.runs.run import Run
from fathoms.runs.trust import is_signed
from fathoms.runs.writing import new_run, trust_run, write_manifest
from fathoms.types.run.manifest import Manifest
from tests.support.http_stub import Stub, serving
from tests.support.project import CONFIG, Project

pytestmark = pytest.mark.slow  # real commands on runs from elsewhere

PLANTED = "planted-key-0123456789"
QUICK = Policy(attempts=1, first_pause=0.01, timeout=5.0)
PIPELINE = """\
from pathlib import Path

Path("imported.txt").write_text("imported")


def answer(question):
    return "Nobody can say."
"""
OWN = """\
name: own
data: {questions: questions.json, documents: pdfs}
pipeline: {kind: python, target: own_pipe:answer}
"""
EMBEDDER = {"kind": "openai-compatible", "model": "e"}
VECTORS = {"data": [{"index": 0, "embedding": [1.0, 0.0], "object": "embedding"}], "object": "list"}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a trusted run starts is closed by nobody: the warning would come with whatever test is running
    when it is collected."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@dataclass
class Here:
    """The project, its command line in this process: most of a second saved on each call."""

    project: Project
    capture: pytest.CaptureFixture[str]

    def fathoms(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        self.capture.readouterr()
        code = main(arguments)
        out, err = self.capture.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The project's folder as the current one."""
    monkeypatch.chdir(project.path)
    return Here(project, capsys)


@pytest.fixture
def other() -> Callable[..., Any]:
    """Change the manifest of a run as a colleague's editor would, and take its verdicts away."""

    def change(run: Path, section: str, value: Any) -> Path:
        path = run / "manifest.json"
        manifest = json.loads(path.read_text())
        *above, last = section.split(".")
        found = manifest["config"]
        for key in above:
            found = found[key]
        found[last] = value
        path.write_text(json.dumps(manifest))
        shutil.rmtree(run / "verdicts", ignore_errors=True)
        return run

    return change


@pytest.fixture
def ran(project: Project, here: Here) -> Path:
    """A run of the project, made here, with one answer that only an embedder can judge."""
    project.write("tiny.yaml", CONFIG.replace("Nobody can say.", "The text is silent on what you ask for."))
    done = here.fathoms("run", "tiny.yaml", "--no-score")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    return run


def stop_early(run: Path) -> None:
    """Take the last line from the journal, so that there is something to resume."""
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    (run / "journal.jsonl").write_text("".join(lines[:-1]))


def nearest(embed: dict[str, Any]) -> dict[str, Any]:
    """A scoring that asks the embedder about every answer."""
    return {"kind": "nearest-neighbour", "embed": embed}


def popen(marker: Path, name: str = "Popen") -> dict[str, Any]:
    """An embedder that is a process: `touch MARKER`."""
    options = {"args": ["touch", str(marker)]}
    return {"kind": "llamaindex", "target": f"subprocess:{name}", "options": options}


# ----- scoring


def test_scoring_a_run_from_elsewhere_starts_no_process(
    here: Here, project: Project, ran: Path, other: Any
) -> None:
    marker = project.path / "owned"
    other(ran, "scoring.abstention", nearest(popen(marker)))
    done = here.fathoms("score", "latest")
    assert done.returncode == 2
    assert "config.scoring.abstention.embed.target" in done.stderr
    assert "subprocess:Popen" in done.stderr
    assert "--trust" in done.stderr
    assert "changed since" in done.stderr
    assert not marker.exists()
    with pytest.raises(UsageError, match="subprocess:Popen"):
        api.score(ran)
    assert not marker.exists()
    here.fathoms("score", "latest", "--trust")
    for _ in range(500):  # nobody waits for the process that was started
        if marker.exists():
            break
        time.sleep(0.02)
    assert marker.exists()
    for stored in gc.get_objects():
        if type(stored) is subprocess.Popen:
            stored.poll()


def test_scoring_a_run_from_elsewhere_sends_no_key(
    here: Here, project: Project, ran: Path, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
    target = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"
    with serving({"/v1/embeddings": VECTORS, "/v1/models": {"data": []}}) as stub:
        base = f"{stub.address}/v1"
        options = {"api_base": base, "api_key": "${OPENAI_API_KEY}", "model_name": "e", "max_retries": 0}
        sending: list[tuple[dict[str, Any], str]] = [
            ({"kind": "llamaindex", "target": target, "options": options}, "api_key"),
            ({**EMBEDDER, "base_url": base, "api_key_env": "OPENAI_API_KEY"}, "api_key_env"),
            ({"kind": "ollama", "model": "e", "base_url": stub.address}, "base_url"),
            ({"kind": "ollama", "model": "e"}, "kind"),
        ]
        for embed, named in sending:
            other(ran, "scoring.abstention", nearest(embed))
            done = here.fathoms("score", "latest")
            assert done.returncode == 2, done.stderr
            assert named in done.stderr
            assert PLANTED not in done.stderr
        assert stub.requests == []
        # the user's own setting in the place of the run's
        own = here.fathoms("score", "latest", "--set", "abstention.embed={kind: lexical}")
        assert own.returncode == 0, own.stderr
        # half a setting leaves the run's address
        other(ran, "scoring.abstention", nearest({**EMBEDDER, "base_url": base}))
        half = here.fathoms("score", "latest", "--set", "abstention.embed.api_key_env=OPENAI_API_KEY")
        assert half.returncode == 2, half.stderr
        assert "base_url" in half.stderr
        assert stub.requests == []


def test_scoring_an_own_run_uses_its_embedder_without_a_question(
    here: Here, project: Project, other: Any
) -> None:
    with serving({"/v1/embeddings": VECTORS, "/v1/models": {"data": []}}) as stub:
        embed = {**EMBEDDER, "base_url": f"{stub.address}/v1", "batch_size": 1}
        project.write("tiny.yaml", CONFIG + yaml.safe_dump({"scoring": {"abstention": nearest(embed)}}))
        done = here.fathoms("run", "tiny.yaml", "--no-score")
        assert done.returncode == 0, done.stderr
        done = here.fathoms("score", "latest")
        assert done.returncode == 0, done.stderr
        assert stub.bodies("/v1/embeddings")
        (run,) = project.runs()
        other(run, "scoring.abstention.embed.query_prefix", "edited")
        edited = here.fathoms("score", "latest")
        assert edited.returncode == 2
        assert "changed since" in edited.stderr


def test_a_foreign_run_cannot_make_a_command_read_a_file(
    here: Here, project: Project, ran: Path, other: Any
) -> None:
    secret = project.write("secret.yaml", "statement: [of mine]\nabstention: [never to be shown]\n")
    other(ran, "scoring.abstention", {"kind": "cues", "exemplars": str(secret)})
    done = here.fathoms("score", "latest")
    assert done.returncode == 2
    assert str(secret) in done.stderr
    assert not (ran / "verdicts").exists()
    (ran / "verdicts").mkdir()
    (ran / "verdicts" / "exemplars.yaml").symlink_to(secret)
    assert here.fathoms("score", "latest").returncode == 2
    (ran / "verdicts" / "exemplars.yaml").unlink()
    # the copy that a run keeps is part of it
    (ran / "verdicts" / "exemplars.yaml").write_text("statement: [It is so.]\nabstention: [Who knows]\n")
    process = here.fathoms("score", "latest")
    assert process.returncode == 0, process.stderr
    assert "Who knows" in (ran / "verdicts" / "exemplars.yaml").read_text()


def test_no_command_but_score_builds_components_that_a_run_names(
    here: Here, project: Project, ran: Path, other: Any
) -> None:
    marker = project.path / "owned"
    done = here.fathoms("score", "latest")
    assert done.returncode == 0, done.stderr
    other(ran, "scoring.abstention", nearest(popen(marker, "run")))
    other(ran, "generate", popen(marker, "run"))
    for arguments in (
        ["report", "latest", "--thumbnails"],
        ["show", "latest"],
        ["show", "latest", "--json"],
        ["ls"],
        ["compare", "latest", "latest"],
        ["gate", "latest", "--baseline", "latest"],
        ["gate", "latest", "--save-baseline", "kept.json"],
        ["agree", "latest"],
        ["cache", "info"],
    ):
        here.fathoms(*arguments)
        assert not marker.exists(), arguments
    assert api.Result(ran).manifest["config"]["generate"]["target"] == "subprocess:run"
    assert not marker.exists()


def test_page_images_are_drawn_only_for_own_runs(here: Here, project: Project, ran: Path) -> None:
    assert here.fathoms("score", "latest").returncode == 0
    own = here.fathoms("report", "latest", "--thumbnails")
    assert own.returncode == 0, own.stderr
    assert "no pictures" not in own.stderr
    manifest = json.loads((ran / "manifest.json").read_text())
    del manifest["signature"]  # as every run of an earlier version
    (ran / "manifest.json").write_text(json.dumps(manifest))
    process = here.fathoms("report", "latest", "--thumbnails")
    assert process.returncode == 0, process.stderr
    assert "--trust" in process.stderr
    trusted = here.fathoms("report", "latest", "--thumbnails", "--trust")
    assert "no pictures" not in trusted.stderr


# ----- resuming


def test_resuming_a_run_from_elsewhere_imports_nothing(here: Here, project: Project) -> None:
    project.write("own_pipe.py", PIPELINE)
    project.write("own.yaml", OWN)
    marker = project.path / "imported.txt"

    def resume(*arguments: str) -> subprocess.CompletedProcess[str]:
        stop_early(run)
        sys.modules.pop("own_pipe", None)
        marker.unlink(missing_ok=True)
        return here.fathoms("run", "--resume", "--no-score", *arguments)

    assert here.fathoms("run", "own.yaml", "--no-score").returncode == 0
    (run,) = project.runs()
    own = resume()
    assert own.returncode == 0, own.stderr
    assert marker.exists()
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "signature": "0" * 64}))
    other = resume()
    assert other.returncode == 2
    for named in ("config.pipeline.target", "own_pipe:answer", "config.data.documents", "--trust"):
        assert named in other.stderr
    assert not marker.exists()
    trusted = resume("--trust")
    assert trusted.returncode == 0, trusted.stderr
    assert marker.exists()
    del sys.modules["own_pipe"]
    assert len(Run(run).records.all()) == 4


def test_a_run_of_an_earlier_version_says_why_it_is_not_trusted(
    here: Here, project: Project, ran: Path
) -> None:
    stop_early(ran)
    manifest = json.loads((ran / "manifest.json").read_text())
    del manifest["signature"]
    (ran / "manifest.json").write_text(json.dumps(manifest))
    done = here.fathoms("run", "--resume")
    assert done.returncode == 2
    assert "earlier version" in done.stderr
    assert "config.data.questions" in done.stderr
    scored = here.fathoms("score", "latest")  # names nothing of the kind
    assert scored.returncode == 0, scored.stderr
    assert here.fathoms("run", "--resume", "--trust").returncode == 0
    assert here.fathoms("run", "tiny.yaml", "--trust").returncode == 2


# ----- signatures


def test_a_signature_is_of_this_user_and_of_this_content(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, run = Path(os.environ["FATHOMS_KEY_FILE"]), Run(ran)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert is_signed(run.manifest)
    manifest = run.manifest.plain()
    for change in (
        {"config": {**manifest["config"], "question_timeout": 1.0}},
        {"folder": "/"},
        {"data": {**manifest["data"], "folder": "/"}},
        {"signature": ""},
        {"signature": "é" * 64},
    ):
        write_manifest(run, Manifest.model_validate({**manifest, **change}))
        assert not is_signed(run.manifest), change
    write_manifest(
        run, Manifest.model_validate({**manifest, "totals": {"cost": 1.0}})
    )  # what a run writes as it goes on
    assert is_signed(run.manifest)
    monkeypatch.setenv("FATHOMS_KEY_FILE", str(ran / "another.key"))
    assert not is_signed(run.manifest)
    trust_run(run)
    assert is_signed(run.manifest)


def test_an_empty_or_unwritable_signing_key_signs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "signing.key"
    key.write_bytes(b"")
    monkeypatch.setenv("FATHOMS_KEY_FILE", str(key))
    assert not new_run(tmp_path, "r", "0" * 8, {"config": {}}).manifest.plain().get("signature")
    monkeypatch.setenv("FATHOMS_KEY_FILE", "/proc/no-such-place/signing.key")
    assert not new_run(tmp_path, "r", "0" * 8, {"config": {}}).manifest.plain().get("signature")


def sections(model: type[Component]) -> list[type[Component]]:
    """All components."""
    return [found for below in model.__subclasses__() for found in (below, *sections(below))]


TEXTS = {"anthropic", "google", "http", "llamaindex", "ollama", "openai", "openai-compatible", "python"}
TEXTS |= {"cohere", "jina", "voyage"}
NAMES = {"target": "code", "base_url": "server", "url": "server", "api_key_env": "variable"}
"""Options by their names, and what they name."""
WEIGHTS = {"model", "mmproj", "tokenizer", "weights"}


def test_every_component_says_what_it_would_do() -> None:
    found = [model for model in sections(Component) if model.__module__.startswith("fathoms.")]
    kinds = {model: kind_of(model) for model in found if kind_of(model)}
    of_no_configuration = {"images", "part", "thumbnails", "recording"}
    assert {kind for model, kind in kinds.items() if not model.inert} == TEXTS | of_no_configuration
    for model in kinds:
        for name, what in NAMES.items():
            if name in model.model_fields:
                assert not model.inert, model
                assert model.loads[name].what == what, model
        for name in WEIGHTS & model.model_fields.keys():
            is_text = model.model_fields[name].annotation in (str, str | None)
            if model.inert and is_text and kinds.get(model) != "scripted":  # its model is only a name
                assert model.loads[name].what == "weights", model


def test_weights_that_are_others_of_the_same_size_are_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    for name, load in (
        ("easyocr-en", lambda: EasyOcr(weights="easyocr-en").folder()),
        ("minilm-l6-v2-torch", lambda: folder_of("minilm-l6-v2-torch")),
    ):
        asset = ASSETS[name]
        for file in asset.files:
            (asset.folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            with (asset.folder / file.name).open("wb") as other:
                other.truncate(file.size)
        with pytest.raises(ChecksumError):
            load()


# ----- .env


CHILD = """\
import subprocess, sys

def answer(question):
    child = "import json, os; json.dump(dict(os.environ), open('seen.json', 'w'))"
    subprocess.run([sys.executable, "-c", child], check=True)
    return "done"
"""


def child_sees(project: Project) -> dict[str, str]:
    """The environment of a process that a pipeline in Python starts."""
    project.write("own_pipe.py", CHILD)
    project.write("own.yaml", OWN)
    done = project.fathoms("run", "own.yaml", "--limit", "1", "--no-score")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads((project.path / "seen.json").read_text())
    return found


def test_a_dotenv_sets_keys_and_nothing_else(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = project.path / "evil"
    evil.mkdir()
    (evil / "sitecustomize.py").write_text(f"open({str(project.path / 'owned')!r}, 'w').close()\n")
    (evil / "git").write_text(f"#!/bin/sh\ntouch {project.path / 'owned'}\n")
    (evil / "git").chmod(0o755)
    steering = {
        "PYTHONPATH": str(evil),
        "PYTHONSTARTUP": str(evil / "sitecustomize.py"),
        "LD_PRELOAD": "/nonexistent.so",
        "PATH": str(evil),
        "FATHOMS_CACHE_DIR": str(evil),
        "FATHOMS_KEY_FILE": str(evil / "key"),
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "OLLAMA_HOST": "127.0.0.1:9",
        "HF_HOME": str(evil),
        "BORROWED_API_KEY": "${SOME_TOKEN}",
    }
    for name in ("PYTHONPATH", "LD_PRELOAD", "OLLAMA_HOST", "HTTPS_PROXY", "OPENAI_BASE_URL", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SOME_TOKEN", "the-users-own-token")
    lines = [f"{name}={value}" for name, value in steering.items()]
    project.write(".env", "\n".join([*lines, f"NEW_VENDOR_API_KEY={PLANTED}", "SOME_TOKEN=replaced"]) + "\n")
    seen = child_sees(project)
    assert seen["NEW_VENDOR_API_KEY"] == PLANTED
    assert seen["SOME_TOKEN"] == "the-users-own-token"
    for name, value in steering.items():
        assert seen.get(name) != value, name
        assert "the-users-own-token" not in seen.get(name, "")
    assert not (project.path / "owned").exists()
    stderr = project.fathoms("ls").stderr
    (line,) = [line for line in stderr.splitlines() if ".env" in line]
    assert all(name in line for name in steering)
    assert str(evil) not in stderr


def test_python_tells_of_an_ignored_variable_too(project: Project) -> None:
    project.write(".env", "PYTHONPATH=evil\n")
    code = "import fathoms; fathoms.load('tiny.yaml')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.path, capture_output=True, text=True, check=True
    )
    assert "PYTHONPATH" in done.stderr


def test_the_child_of_the_embedded_model_imports_nothing_from_here(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "xllamacpp.py").write_text("open('owned', 'w').close()\n")
    (tmp_path / "json.py").write_text("open('owned', 'w').close()\n")
    code = (
        "import sys; sys.path[:] = [p for p in sys.path if p]\n"
        "from fathoms.models.chat.llama_server import ChildServer, Settings\n"
        "settings = Settings(model='none.gguf', projector=None, n_ctx=64, threads=1)\n"
        "try:\n    ChildServer(settings).address\nexcept Exception as error:\n    print(error)\n"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    assert "none.gguf could not be loaded" in done.stdout
    assert not (tmp_path / "owned").exists()


def test_the_commit_is_told_without_running_what_a_repository_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "data.txt").write_text("as committed\n")
    git("init", "--quiet")
    git("add", "data.txt")
    git("commit", "--quiet", "-m", "data")
    monkeypatch.chdir(tmp_path)
    clean = git_commit()
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "data.txt").write_text("as changed\n")
    assert git_commit() == f"{clean}+"
    (tmp_path / ".gitattributes").write_text("*.txt filter=evil\n")
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process"):
        git("config", key, f"touch '{tmp_path / key}'; cat")
    os.utime(tmp_path / "data.txt", (1, 1))
    git_commit()
    left = {path.name for path in tmp_path.iterdir()} - {".git", ".gitattributes", "data.txt"}
    assert left == set()


# ----- data sets


def data_set(folder: Path, name: str, url: str) -> str:
    """A manifest that somebody handed over."""
    path = folder / f"{name}.yaml"
    questions = {"file": "q.json", "url": url}
    path.write_text(
        yaml.safe_dump(
            {"name": name, "title": "t", "licence": "none", "questions": questions, "documents": []}
        )
    )
    return str(path)


def refused(name: str, stub: Stub) -> str:
    """The complaint about a pull, which has asked nobody."""
    with pytest.raises((UsageError, DataError)) as caught:
        pull(name, policy=QUICK)
    assert stub.requests == []
    return str(caught.value)


def test_a_data_set_from_elsewhere_asks_no_server_near_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    with serving({"/q": [{"question": "Why?", "answers": "rain"}]}) as stub:
        port = stub.address.rpartition(":")[2]
        for number, host in enumerate(
            ("127.0.0.1", "localhost", "[::1]", "2130706433", "0.0.0.0", "10.0.0.1", "169.254.169.254")
        ):
            near = data_set(tmp_path, f"near{number}", f"https://{host}:{port}/q")
            assert "--trust" in refused(near, stub), host
        plain = data_set(tmp_path, "plain", f"{stub.address}/q")
        assert f"{stub.address}/q" in refused(plain, stub)
        assert pull(plain, policy=QUICK, trust=True).complete
        assert len(stub.requests) == 1


def test_an_address_is_public_or_not() -> None:
    near = ("127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "fe80::1%eth0", "100.64.0.1", "224.0.0.1")
    assert not any(map(is_public, (*near, "2002:7f00:1::", "64:ff9b::7f00:1", "0.0.0.0", "::")))
    assert all(map(is_public, ("151.101.3.42", "2a04:4e42::81", "::ffff:151.101.3.42")))


def test_a_data_set_from_elsewhere_writes_into_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    with serving({"/q": [{"question": "Why?", "answers": "rain"}]}) as stub:
        known = data_set(tmp_path, "fathoms-rag", f"{stub.address}/q")
        with pytest.raises(UsageError, match="rename"):
            pull(known, policy=QUICK, trust=True)
        with pytest.raises(UsageError, match="name"):
            find_manifest(data_set(tmp_path, "..", f"{stub.address}/q"))
        assert stub.requests == []
