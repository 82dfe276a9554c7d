"""A question set built by a server that honours the schema it is sent, as OpenAI's strict mode does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms.corpora import read_questions
from fathoms.extras.questions.making.drafts import read_drafts
from tests.extras.questions.building import PATTERNS, recipe
from tests.support.project import Project
from tests.support.strict_server import CHAT, MODEL, by_patterns, strict_server

SAMPLE = Path(__file__).parents[3] / "data" / "sample"
SEARCHES = [{"kind": "bm25", "top_k": 40}, {"kind": "dense", "top_k": 40}]
WORDS = by_patterns(PATTERNS, "no")


def write(project: Project, address: str, **settings: Any) -> str:
    model = {"kind": "openai-compatible", "base_url": f"{address}/v1", "model": MODEL, "max_tokens": 300}
    model["max_concurrency"] = 2
    found = recipe(model=model, **settings)
    project.write("recipe.yaml", yaml.safe_dump({"documents": [str(SAMPLE)], **found}))
    return "recipe.yaml"


@pytest.mark.slow
def test_a_server_that_honours_the_schema_builds_all_questions(tmp_path: Path) -> None:
    """Eight questions of the sample PDFs within 15 calls each: choices come back as `{"label": "yes"}`."""
    project = Project(tmp_path)
    with strict_server(WORDS) as server:
        name = write(project, server.address, n=8, clarity={"retrievers": SEARCHES}, checks={})
        done = project.fathoms("build", name, "--out", "set.json", "--json")
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    assert len(read_questions(tmp_path / "set.json").questions) == 8
    assert len(server.bodies(CHAT)) <= 8 * 15


@pytest.mark.slow
def test_replies_that_cannot_be_read_stop_the_build_after_ten(tmp_path: Path) -> None:
    """The message names stage, reply, max_tokens and the folder; resuming asks again what could not be read,
    and only that; a stage can be asked for again as a whole."""
    project = Project(tmp_path)
    spoilt = {"said": True}

    def says(prompt: str) -> str:
        words = WORDS(prompt)
        return (
            '{"short": "", "long": "", "phrases": [["x"]]}' if spoilt["said"] and "gold" in prompt else words
        )

    def calls_about(of: str) -> int:
        texts = [json.dumps(body["messages"]) for body in server.bodies(CHAT)]
        return sum(of in text for text in texts)

    with strict_server(says) as server:
        name = write(project, server.address, n=8, clarity={"retrievers": SEARCHES}, checks={})
        stopped = project.fathoms("build", name, "--out", "set.json")
        assert stopped.returncode == 1
        for part in ("10 of 10 replies", "'answers'", '"short"', "max_tokens of the model: 300", "set.build"):
            assert part in stopped.stderr, stopped.stderr
        before, gold = len(server.bodies(CHAT)), calls_about("Write the gold answer")
        assert 20 <= gold <= 24  # each twice, and those in flight
        again = project.fathoms("build", "--out", "set.json", "--resume")
        assert again.returncode == 1
        assert len(server.bodies(CHAT)) - before == calls_about("Write the gold answer") - gold > 0
        spoilt["said"] = False
        done = project.fathoms("build", "--out", "set.json", "--resume")
        assert done.returncode == 0, done.stderr
        drafts = calls_about("Write one question")
        (tmp_path / "set.json").unlink()
        redone = project.fathoms("build", "--out", "set.json", "--resume", "--redo", "drafts")
        assert redone.returncode == 0, redone.stderr
        again = [one for one in read_drafts(tmp_path / "set.json") if one.question.answerable]
        assert calls_about("Write one question") - drafts == len(again)
    wrong = project.fathoms("build", "--out", "set.json", "--update", "--redo", "draft")
    assert wrong.returncode == 2
    assert "drafts" in wrong.stderr
