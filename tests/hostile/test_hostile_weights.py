"""The name of a model never leads to a folder that happens to have this name, whose code would then run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.config import Source, validate
from fathoms.errors import ConfigError, MissingWeightsError
from fathoms.judges.nli.hhem import _foundation
from fathoms.metrics.reference.bertscore import BertScore
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import folder_of, load
from fathoms.models.weights.weights import is_installed, locate
from fathoms.registry import built_in
from tests.support.project import CONFIG, Project

CANARY = "owned"
CODE = f"open({CANARY!r}, 'w').close()\n\n\nclass Evil:\n    pass\n"
JUDGED = CONFIG.replace("Nobody can say.", "The text is silent on what you ask for.")


def plant(place: Path) -> Path:
    """Make a folder that a library would take for a model, and that brings code of its own along."""
    place.mkdir(parents=True, exist_ok=True)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil_code.Evil"}]
    (place / "modules.json").write_text(json.dumps(modules))
    own = {"AutoConfig": "evil_code.Evil", "AutoModel": "evil_code.Evil", "AutoTokenizer": "evil_code.Evil"}
    (place / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": own}))
    (place / "evil_code.py").write_text(CODE)
    return place


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder that cannot reach the hub, with code that an import by name would find."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "evil_code.py").write_text(CODE)
    return tmp_path


MODELS = ["evil", ".", "org/evil"]


def foreign_run(project: Project, monkeypatch: pytest.MonkeyPatch, model: str) -> Path:
    """Make a run, as if it came from elsewhere, whose metrics and judge name a folder with code."""
    monkeypatch.chdir(project.path)
    monkeypatch.syspath_prepend(project.path)
    project.write("tiny.yaml", JUDGED)
    project.write("evil_code.py", CODE)
    assert main(["run", "tiny.yaml"]) == 0
    (run,) = project.runs()
    manifest = json.loads((run / "manifest.json").read_text())
    embed = {"kind": "sentence-transformers", "model": model}
    manifest["config"]["scoring"]["abstention"] = {"kind": "nearest-neighbour", "embed": embed}
    manifest["config"]["metrics"] = [
        {"kind": "bertscore", "model": model, "layer": 1},
        {"kind": "semantic-similarity", "embed": embed},
    ]
    manifest["config"]["judge"] = {"kind": "nli", "model": model}
    (run / "manifest.json").write_text(json.dumps(manifest))
    for place in (project.path / model, run, run / model):
        plant(place)
    shutil.rmtree(run / "verdicts", ignore_errors=True)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_foreign_run_cannot_name_a_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    foreign_run(project, monkeypatch, model)
    for command in ("score", "report", "compare", "gate", "show"):
        capsys.readouterr()
        code = main([command, "latest", *(["latest"] if command == "compare" else [])])
        if command == "score":
            said = capsys.readouterr().err
            assert code == 2
            for key in (
                "scoring.abstention.embed.model",
                "metrics.0.model",
                "metrics.1.embed.model",
                "judge.model",
            ):
                assert f"config.{key}: reads {model}\n" in said
            assert "--trust" in said
        assert not (project.path / CANARY).exists(), command


LOADERS: list[tuple[str, dict[str, Any]]] = [
    ("embedders", {"kind": "sentence-transformers"}),
    ("page_embedders", {"kind": "multi-vector"}),
    ("page_embedders", {"kind": "image-text"}),
    ("judges", {"kind": "nli"}),
    *(
        ("judges", {"kind": "nli", "checker": checker})
        for checker in ("factcg", "minicheck", "hhem", "lettucedetect")
    ),
    ("metrics", {"kind": "bertscore", "layer": 1}),
]


@pytest.mark.parametrize(("room", "options"), LOADERS, ids=lambda value: str(value)[-20:])
def test_a_name_on_the_hub_is_never_a_folder(here: Path, room: Any, options: dict[str, Any]) -> None:
    component = built_in(room)[options["kind"]]
    for model, says in (
        ("org/evil", "write ./org/evil"),
        ("evil", "./evil"),
        ("a/b/evil", "./a/b/evil"),
    ):
        plant(here / model)
        result: Any = validate(component, Source("c", {**options, "model": model}))
        for what in (result.check, result.identity):
            with pytest.raises(ConfigError) as caught:
                what()
            assert says in str(caught.value)
    assert not (here / CANARY).exists()


def test_the_reranker_is_loaded_by_the_same_rule(here: Path) -> None:
    plant(here / "org/evil")
    from fathoms.models import CrossEncoder

    with pytest.raises(ConfigError, match=r"write \./org/evil"):
        CrossEncoder(model="org/evil").check()


def test_a_path_is_a_folder_only_where_it_is_written_as_one(here: Path) -> None:
    folder = plant(here / "mine")
    for written in ("./mine", "../" + here.name + "/mine", str(folder)):
        assert (found := folder_of(written)) is not None
        assert found.samefile(folder)
    for absent in ("./absent", "/absent", "~/absent-folder"):
        with pytest.raises(ConfigError, match="no such folder"):
            folder_of(absent)
    assert folder_of("intfloat/e5-small-v2") is None
    for no_name in ("org//x", "-org/x", "org/..", "org/x y", "org/x\n", "org\\x", "ö/x", "mine", "C:evil"):
        with pytest.raises(ConfigError):
            folder_of(no_name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SentenceTransformer", "CrossEncoder"])
def test_code_in_the_folder_of_a_model_is_not_run(here: Path, kind: str) -> None:
    plant(here / "mine")
    with pytest.raises(ConfigError, match=r"evil_code\.Evil"):
        load(kind, "./mine", None)
    router = here / "router" / "0_Router"
    router.mkdir(parents=True)
    outer = [{"idx": 0, "name": "0", "path": "0_Router", "type": "sentence_transformers.models.Router"}]
    (here / "router" / "modules.json").write_text(json.dumps(outer))
    (router / "router_config.json").write_text(json.dumps({"types": {"query_0": "evil_code.Evil"}}))
    with pytest.raises(ConfigError, match=r"evil_code\.Evil"):
        load(kind, "./router", None)
    assert not (here / CANARY).exists()


def test_a_file_does_not_take_the_place_of_an_asset(here: Path) -> None:
    name = "minilm-l6-v2"
    (here / name).write_text("another model")
    if is_installed(name):
        assert locate(name).parent == ASSETS[name].folder
    else:
        with pytest.raises(MissingWeightsError):
            locate(name)


def test_the_files_of_a_fact_checker_name_no_folder_elsewhere(here: Path) -> None:
    settings = here / "model" / "config.json"
    (here / "model" / "beside").mkdir(parents=True)
    settings.write_text(json.dumps({"foundation": "beside"}))
    assert Path(_foundation(settings)) == here / "model" / "beside"
    for elsewhere in (str(here), "..", "../other", "./x", "~/x"):
        settings.write_text(json.dumps({"foundation": elsewhere}))
        with pytest.raises(ConfigError, match="foundation"):
            _foundation(settings)


def test_names_of_bertscore_that_are_folders_are_refused(here: Path) -> None:
    plant(here / "roberta-large")
    check: Callable[[], None] = BertScore().check
    with pytest.raises(ConfigError, match=r"write \./roberta-large"):
        check()
    assert not (here / CANARY).exists()
