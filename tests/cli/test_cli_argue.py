"""Questions with nuggets and gold pages, but no reference: their metrics, and what the others lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fathoms.metrics.claims import mirage
from fathoms.metrics.registry import sets
from tests.support.http_stub import serving
from tests.support.project import Project, write_project
from tests.support.schemas import schema

pytestmark = pytest.mark.slow  # processes of their own

EVIDENCE = {"evidence": [{"document": "varn.pdf", "page": 1}, {"document": "varn.pdf", "page": 2}]}
NUGGETS = [
    {"question": "How tall is it?", "answers": ["41.5 m"], "importance": "vital"},
    {"question": "Which colour is its door?", "answers": "green", "origin": "drafted"},
    {"question": "Who built it?"},
]
QUESTIONS = [
    {"id": "tall", "question": "What is the Varn tower like?", "nuggets": NUGGETS, **EVIDENCE},
    {"id": "door", "question": "What is its door like?", **EVIDENCE},
]
ANSWER = "The Varn tower is 41.5 m tall [1]. Its door is painted red [1][2]. Nobody can say who built it."
LABELS = {"Nobody can say": "none", "painted red": "unsupported", "Who built it?": "supported"}
JUDGE = {"kind": "scripted", "labels_by": LABELS}
MIRAGE = [str(metric.model_fields["kind"].default) for metric in mirage.METRICS]
NO_REFERENCE = {
    *("ragas.context-precision", "ragas.context-recall", "alce.claim-recall"),
    *(name for name in MIRAGE if not name.endswith("-p-collection")),
}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write_project(tmp_path_factory.mktemp("argue"))
    project.cache = None  # the user's, where the weights of the small embedder are
    project.write("questions.json", json.dumps(QUESTIONS))
    config = project.path / "tiny.yaml"
    config.write_text(
        config.read_text()
        .replace("top_k: 1", "top_k: 2")
        .replace("default: Nobody can say.", f'default: "{ANSWER}"')
        .replace(
            "replies: {tall: The Varn tower is 41.5 m tall., colour: I do not know the colour.}",
            "replies: {}",
        )
    )
    rest = {"metrics": ["argue", "ragas", "alce", *MIRAGE], "judge": JUDGE}
    with config.open("a") as file:
        file.write("".join(f"{key}: {json.dumps(value)}\n" for key, value in rest.items()))
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    return project


def figures(project: Project) -> dict[str, Any]:
    (run,) = json.loads(project.fathoms("report", "tiny", "--json").stdout)
    return {str(name): one for name, one in run["metrics"].items()}


def test_metrics_that_need_no_reference_have_values_and_the_others_say_what_they_lack(
    scored: Project,
) -> None:
    found = figures(scored)
    names = {*sets()["argue"], *sets()["ragas"], *sets()["alce"], *MIRAGE}
    lacking = {name: found[name]["missing"] for name in names if found[name]["missing"]}
    assert set(lacking) == NO_REFERENCE
    assert all("needs a gold answer in running text" in said for said in lacking.values())
    assert all(found[name]["overall"]["value"] is not None for name in names - NO_REFERENCE)


def test_argue_from_the_shell(scored: Project) -> None:
    found = figures(scored)
    values = {name.removeprefix("argue."): found[name]["overall"]["value"] for name in sets()["argue"]}
    # of three sentences, the last needs no citation, and hit 1 attests the first one for one question only;
    # of its nuggets, the height is right, the colour is not, and nobody can indeed say who built it
    assert values == pytest.approx(
        {
            "sentence-support": (1 / 2 + 0) / 2,
            "sentence-support-of-all": (1 / 3 + 0) / 2,
            "nugget-coverage": 2 / 3,
            "nugget-coverage-weighted": 3 / 4,
            "f1-macro": 2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3),
            "f1-micro": 2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3),
        }
    )
    joined = " ".join(scored.fathoms("show", "tiny", "--question", "tall").stdout.split())
    assert "needs none: Nobody can say who built it." in joined
    assert "rightly unanswerable: Who built it?" in joined
    drafted = "1 nugget that a language model drafted"
    shown = " ".join(scored.fathoms("report", "tiny").stdout.split())
    assert drafted in shown
    judged = scored.fathoms("gate", "tiny", "--min", "argue.nugget-coverage=0.5")
    assert judged.returncode == 0, judged.stderr
    assert drafted in " ".join(judged.stdout.split())
    page = next(Path(scored.path).rglob("report.html")).read_text()
    assert drafted in page


def test_scoring_again_asks_nothing(scored: Project) -> None:
    done = scored.fathoms("score", "tiny", "--metric=argue")
    assert done.returncode == 0
    summary = json.loads(next(Path(scored.path).rglob("summary.json")).read_text())
    assert summary["judging"]["asked"] == 0


GOLD = {"reference": "The Varn tower is 41.5 m tall. Its door is painted green."}
BY_PAGE = "The Varn tower is 41.5 m tall [varn.pdf, p. 1]. Its door is painted red [varn.pdf, p. 2]."


@pytest.mark.parametrize("kind", ["python", "http"])
def test_pipelines_of_other_people_have_the_figures_of_our_own(project: Project, kind: str) -> None:
    """The same answers have the same figures: the default parser reads the gold pages for the metrics that
    need their text, as that of the built-in pipeline does."""
    project.write("gold.json", json.dumps([{**row, **GOLD} for row in QUESTIONS]))
    project.write("own.py", f"def answer(question):\n    return {{'answer': {BY_PAGE!r}}}\n")
    data = "data: {questions: gold.json, documents: pdfs}"
    rest = f"{data}\nmetrics: {json.dumps(MIRAGE)}\njudge: {json.dumps(JUDGE)}\n"
    generate = json.dumps({"kind": "scripted", "default": BY_PAGE})
    project.write(
        "ours.yaml", f"{rest}chunk: {{kind: page}}\nembed: {{kind: lexical}}\ngenerate: {generate}\n"
    )
    assert project.fathoms("run", "ours.yaml").returncode == 0
    with serving({"/ask": lambda body: (200, {"answer": BY_PAGE})}) as server:
        options = {"url": f"{server.address}/ask"} if kind == "http" else {"target": "own:answer"}
        project.write("own.yaml", f"{rest}pipeline: {json.dumps({'kind': kind, **options})}\n")
        done = project.fathoms("run", "own.yaml")
    assert done.returncode == 0, done.stderr
    ours, own = (mirage_of(project, name) for name in ("ours", "own"))
    assert own == ours
    assert None not in own.values()
    assert own["mirage.cite-r"] == 0.5  # the page of the height is cited for it, that of the door for red
    manifest = json.loads((project.runs()[-1] / "manifest.json").read_text())
    jsonschema.validate(manifest, schema("manifest"))
    entry = manifest["data"]["documents"]["varn.pdf"]
    assert (entry["pages"], len(entry["text"])) == (2, 64)
    assert manifest["data"]["parser"].startswith("pdfium (pypdfium2 ")
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert any(said.startswith("the documents were read by pdfium (") for said in summary["warnings"])


def mirage_of(project: Project, name: str) -> dict[str, float | None]:
    """The values of the metrics of MiRAGE of the last run of a name."""
    (run,) = json.loads(project.fathoms("report", name, "--json").stdout)
    return {name: run["metrics"][name]["overall"]["value"] for name in MIRAGE}
