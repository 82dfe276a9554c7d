"""Twenty configurations that cannot work: each gets a sentence with its place, exit code 2, and no run."""

from __future__ import annotations

import pytest
import yaml

from fathoms.cli import main
from tests.support.project import Project

GOOD = """\
name: tiny
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted}
"""

BROKEN = {
    "unknown-key": (GOOD + "retreive: {}\n", "c.yaml:7:1: unknown key 'retreive' (did you mean 'retrieve'?)"),
    "pipeline": (
        "name: own\ndata: sample\npipline: {kind: python, target: own}\n",
        "c.yaml:3:1: unknown key 'pipline' (did you mean 'pipeline'?)",
    ),
    "unknown-nested-key": (
        GOOD.replace("top_k", "topk"),
        "c.yaml:5:25: unknown key 'topk' (did you mean 'top_k'?)",
    ),
    "unknown-kind": (
        GOOD.replace("kind: page", "kind: pages"),
        "c.yaml:3:9: unknown kind 'pages' for chunk (did you mean 'page'?)",
    ),
    "no-kind": (GOOD.replace("{kind: page}", "{}"), "c.yaml:3:1: 'chunk' needs a 'kind'"),
    "no-model": (GOOD.replace("generate: {kind: scripted}\n", ""), "c.yaml:1:1: 'generate' is missing"),
    "no-data": (
        GOOD.replace("data: {questions: questions.json, documents: pdfs}\n", ""),
        "c.yaml:1:1: 'data' is missing",
    ),
    "unknown-data-set": (
        GOOD.replace("{questions: questions.json, documents: pdfs}", "sampel"),
        "did you mean 'sample'",
    ),
    "no-question-file": (GOOD.replace("questions.json", "nothing.json"), "nothing.json"),
    "no-document-folder": (GOOD.replace("pdfs", "nowhere"), "nowhere"),
    "zero": (GOOD.replace("top_k: 1", "top_k: 0"), "c.yaml:5:25: retrieve.top_k: "),
    "text-for-a-number": (GOOD.replace("top_k: 1", "top_k: three"), "c.yaml:5:25: retrieve.top_k: "),
    "list-for-a-mapping": (GOOD.replace("{kind: page}", "[page]"), "c.yaml:3:1: "),
    "overlap": (
        GOOD.replace("{kind: page}", "{kind: sentence, size: 64, overlap: 64}"),
        "c.yaml:3:1: chunk: overlap (64) must be smaller than size (64)",
    ),
    "template": (GOOD + "prompt: {template: defualt}\n", "did you mean 'default'"),
    "place": (GOOD + 'prompt: {user: "{contxt} {question}"}\n', "did you mean 'context'"),
    "twice": (GOOD + "name: again\n", "c.yaml:7:1: 'name' occurs twice (first at c.yaml:1:1)"),
    "not-yaml": (GOOD + "scoring: {profile: paper\n", "not valid YAML"),
    "tab": (GOOD + "scoring:\n\tprofile: paper\n", "c.yaml:8:1: not valid YAML"),
    "profile": (GOOD + "scoring: {profile: papre}\n", "c.yaml:7:11: scoring.profile: "),
    "empty": ("", "c.yaml:1:1: expected a mapping of keys"),
    "a-list": ("- name: tiny\n", "c.yaml:1:1: expected a mapping of keys"),
    "unsafe-tag": (GOOD.replace("name: tiny", "name: !!python/name:os.system"), "not valid YAML"),
    "no-weights": (
        GOOD.replace("{kind: scripted}", "{kind: embedded, model: smollm2-135}"),
        "did you mean 'smollm2-135m'",
    ),
    "exemplars": (GOOD + "scoring: {abstention: {exemplars: nothing.yaml}}\n", "nothing.yaml"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_config_is_named_with_its_place(
    project: Project, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = BROKEN[name]
    project.write("c.yaml", text)
    monkeypatch.chdir(project.path)
    assert main(["run", "c.yaml"]) in (1, 2)
    printed = capsys.readouterr()
    assert expected in printed.err
    assert "Traceback" not in printed.err
    assert "defect" not in printed.err
    assert not project.runs()


def test_the_good_one_is_good(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("c.yaml", GOOD)
    monkeypatch.chdir(project.path)
    assert main(["validate", "c.yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["name"] == "tiny"
