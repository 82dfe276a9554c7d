"""What is added to fathoms, in a file and a line, or in a package of one's own, is found everywhere."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.types.run.part import FILE
from fathoms.types.run.summary import Summary
from tests.support.additions import ADDED, CONFIG, EXTRA
from tests.support.project import Project

pytestmark = pytest.mark.slow  # new interpreters

EVERYWHERE = """\
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from fathoms.cli import main

said = {}
for name, arguments in json.loads(sys.argv[1]).items():
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    said[name] = [code, out.getvalue(), err.getvalue()]
"""
REST = """\
from fathoms.cli import completion
from fathoms.config import Source, validate
from fathoms.experiment import Experiment
from fathoms.registry import rooms
from fathoms.runs.trust import demands

sys.path.insert(0, sys.argv[2])
from settings import config_page

said["reference"] = config_page()
said["completion"] = [*completion.settings("retrieve."), *completion.settings("judge.")]
said["completion"] += completion.metrics("")
data = {
    "name": "x",
    "data": {"questions": "q.json"},
    "generate": {"kind": "scripted"},
    "ingest": {"kind": "named"},
    "chunk": {"kind": "whole"},
    "judge": {"kind": "content"},
    "metrics": ["shortness"],
}
for weights in ("evil", "minilm"):
    data["retrieve"] = {"kind": "opening", "weights": weights}
    found = demands(validate(Experiment, Source("c", data)))
    said[f"trust {weights}"] = [".".join(map(str, demand.key)) for demand in found]
"""
END = "Path('said.json').write_text(json.dumps(said))\n"


def outputs(
    project: Project, code: str, commands: Mapping[str, list[str]], path: list[Path], *more: str
) -> dict[str, Any]:
    """What the commands print in one new interpreter that finds packages in `path` first."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "FATHOMS_CACHE_DIR": str(project.path / "cache"),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands), *more],
        cwd=project.path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((project.path / "said.json").read_text())
    return found


def test_an_addition_takes_a_file_and_a_line_and_is_found_everywhere(
    project: Project, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(root / "fathoms", copy / "fathoms")
    registry = copy / "fathoms" / "registry.py"
    text = registry.read_text()
    for room, (code, name, kind) in ADDED.items():
        places = {"parsers": "ingest.parsers", "chunkers": "ingest.chunkers", "retrievers": "retrieve"}
        module = f"{places.get(room, room)}.added_{kind}"
        (copy / "fathoms" / f"{module.replace('.', '/')}.py").write_text(code)
        line = f'        "fathoms.{module}:{name}",\n'
        text = text.replace(f'    "{room}": (\n', f'    "{room}": (\n{line}', 1)
    registry.write_text(text)
    extra = copy / "fathoms" / "extras" / "added"
    extra.mkdir()
    for name, code in EXTRA.items():
        (extra / name).write_text(code)
    project.write("added.yaml", CONFIG)
    project.write("wrong.yaml", CONFIG.replace("opening", "openin"))
    inside = "{kind: hybrid, of: [{kind: opening}]}"
    project.write("inside.yaml", CONFIG.replace("{kind: opening, top_k: 2}", inside))
    commands = {
        "help": ["--help"],
        "greet": ["greet"],
        "greet data": ["data", "greet"],
        "validate": ["validate", "added.yaml"],
        "wrong": ["validate", "wrong.yaml"],
        "inside": ["validate", "inside.yaml"],
        "doctor": ["doctor", "added.yaml"],
        "metrics": ["metrics"],
        "dry": ["run", "added.yaml", "--dry-run"],
        "run": ["run", "added.yaml"],
        "report": ["report", "latest"],
        "show": ["show", "latest"],
        "csv": ["export", "csv", "latest", "--to", "tables"],
        "again": ["run", "added.yaml"],
        "compare": ["compare", "latest~1", "latest", "--metric", "shortness"],
        "gate": ["gate", "latest", "--min", "shortness=0"],
    }
    said = outputs(project, EVERYWHERE + REST + END, commands, [copy], str(root / "docs" / "generate"))
    for name in ("validate", "doctor", "metrics", "dry", "run", "report", "show"):
        assert said[name][0] == 0, (name, said[name])
    assert re.search(r"^  greet +Greet somebody\.$", said["help"][1].partition("Extras:\n")[2], re.MULTILINE)
    assert said["greet"] == said["greet data"] == [0, "Hello.\n", ""]
    assert "retrieve.kind=nothing" in said["completion"]
    assert "did you mean 'opening'" in said["wrong"][2]
    assert said["wrong"][0] == said["inside"][0] == 2  # it does not say that `hybrid` can use it
    for kind in ("named", "whole", "opening"):
        assert kind in said["doctor"][1]
        assert kind in said["dry"][1]
    for kind in ("named", "whole", "opening", "content", "shortness"):
        assert f": {kind}\n" in said["reference"]
        assert kind in said["validate"][1]
    assert "A mark of the judge." in said["reference"]
    assert {"retrieve.kind=opening", "judge.kind=content", "shortness"} <= set(said["completion"])
    assert said["trust evil"] == said["trust minilm"] == ["data.questions", "retrieve.weights"]
    for name in ("metrics", "run", "show", "compare", "gate"):
        assert "shortness" in said[name][1], (name, said[name])
    run = project.runs()[0]
    assert "shortness" in (run / "summary.json").read_text()
    assert "shortness" in (project.path / "tables" / "answers.csv").read_text().splitlines()[0]
    assert "shortness" in (run / "report.md").read_text()
    assert "shortness" in (run / "report.html").read_text()


def distribution(
    folder: Path, name: str, modules: Mapping[str, str], points: Mapping[str, Mapping[str, str]]
) -> Path:
    """Install a package by hand, as an installer would: its modules, and what it says of itself."""
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)
    about = folder / f"{name}-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{kind} = {place}" for kind, place in listed.items())])
        for group, listed in points.items()
    ]
    (about / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return folder


COMMAND = """
import typer


def greet(name: str = typer.Argument("you")) -> None:
    \"\"\"Greet somebody.\"\"\"
    print(f"hello {name}")
"""


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that adds one of each, a command, and things whose names fathoms has."""
    seen = "open('imported', 'a').write(__name__ + ' ')\n"
    head = "from __future__ import annotations\n"
    modules = {f"more_{kind}": code.replace(head, f"{head}\n{seen}") for code, _, kind in ADDED.values()}
    points = {f"fathoms.{room}": {kind: f"more_{kind}:{name}"} for room, (_, name, kind) in ADDED.items()}
    points["fathoms.retrievers"]["bm25"] = "more_evil:Evil"
    points["fathoms.chunkers"] |= {"broken": "more_broken:Broken", "other": "more_whole:Whole"}
    points["fathoms.commands"] = {"greet": "more_greet:greet", "run": "more_evil:evil"}
    modules |= {"more_greet": COMMAND, "more_evil": seen, "more_broken": "1 / 0\n"}
    return distribution(tmp_path_factory.mktemp("site"), "fathoms-more", modules, points)


def test_a_package_adds_components_and_commands(project: Project, root: Path, installed: Path) -> None:
    project.write("added.yaml", CONFIG)
    project.write("broken.yaml", CONFIG.replace("kind: whole", "kind: broken"))
    project.write("other.yaml", CONFIG.replace("kind: whole", "kind: other"))
    project.write("unknown.yaml", CONFIG.replace("kind: whole", "kind: wholly"))
    project.write("own.yaml", CONFIG.replace("{kind: opening, top_k: 2}", "{kind: bm25}"))
    path = [installed, root]
    before = outputs(project, EVERYWHERE + END, {"help": ["--help"], "tiny": ["validate", "tiny.yaml"]}, path)
    assert "greet" not in before["help"][1]
    assert not (project.path / "imported").exists()
    commands = {
        "greet": ["greet", "Ada"],
        "typo": ["greeet"],
        "broken": ["validate", "broken.yaml"],
        "other": ["validate", "other.yaml"],
        "unknown": ["validate", "unknown.yaml"],
        "own": ["validate", "own.yaml"],
        "doctor": ["doctor", "added.yaml"],
        "run": ["run", "added.yaml"],
        "report": ["report", "latest"],
        "again": ["score", "latest"],
        "show": ["show", "latest"],
    }
    said = outputs(project, EVERYWHERE + END, commands, path)
    assert said["greet"] == [0, "hello Ada\n", ""]
    assert said["typo"][0] == 2
    assert said["broken"][0] == 2
    assert "plug-in 'broken' of fathoms-more 1.5 cannot be imported" in said["broken"][2]
    assert said["other"][0] == 2
    assert "is not a subclass of BaseChunker with this kind" in said["other"][2]
    assert said["unknown"][0] == 2
    assert "unknown kind 'wholly' for chunk" in said["unknown"][2]
    for name in ("own", "doctor", "run", "report", "again", "show"):
        assert said[name][0] == 0, (name, said[name])
    assert "plug-in: opening of fathoms.retrievers, from fathoms-more 1.5\n" in said["doctor"][1]
    for clash in ("bm25 of fathoms.retrievers", "run of fathoms.commands"):
        assert f"plug-in: {clash}, from fathoms-more 1.5, which is not used" in said["doctor"][1]
    assert "shortness" in said["run"][1]
    (run,) = project.runs()
    assert "evil" not in (project.path / "imported").read_text()
    # the same run from elsewhere: nothing of the package is imported
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "signature": "0" * 64}))
    (project.path / "imported").unlink()
    commands = {
        "score": ["score", "latest"],
        "resume": ["run", "--resume"],
        **{name: [name, "latest"] for name in ("report", "show", "agree", "gate")},
    }
    said = outputs(project, EVERYWHERE + END, commands, path)
    assert said["score"][0] == said["resume"][0] == 2
    assert "plug-in of fathoms-more 1.5" in said["score"][2]
    assert "--trust" in said["score"][2]
    assert not (project.path / "imported").exists()
    said = outputs(project, EVERYWHERE + END, {"score": ["score", "latest", "--trust"]}, path)
    assert said["score"][0] == 0, said["score"]
    assert (project.path / "imported").exists()


FIGURE = '''
"""A metric with a part and a count that a reader must know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from fathoms.metrics.metric import Facts, Metric
from fathoms.types import Score


class Letters(Metric):
    """How many letters an answer has."""

    unit: ClassVar[str] = "letters"

    kind: Literal["letters"] = "letters"

    @property
    def halves(self) -> Mapping[str, str]:
        """The vowels, which are no metric of their own."""
        return {"vowels": ""}

    def score(self, facts: Facts) -> Score:
        """Count the letters, the vowels and the digits."""
        assert facts.record.answer
        text = facts.record.answer.text.lower()
        vowels = float(sum(sign in "aeiou" for sign in text))
        parts = {"vowels": vowels, "digits": float(sum(map(str.isdigit, text)))}
        return Score(metric=self.name, value=float(sum(map(str.isalpha, text))), parts=parts)

    def counted(self, score: Score) -> Mapping[str, int]:
        """The digits."""
        return {"digits left out": int(score.parts["digits"] or 0)}
'''


def test_a_new_metric_stands_in_every_output(project: Project, root: Path, tmp_path: Path) -> None:
    # "The Varn tower is 41.5 m tall." has 19 letters, 6 vowels and 3 digits; "Nobody can say." 12 and 4
    modules = {"more_letters": FIGURE}
    installed = distribution(
        tmp_path, "fathoms-letters", modules, {"fathoms.metrics": {"letters": "more_letters:Letters"}}
    )
    project.write("new.yaml", project.config.read_text() + "metrics: [letters]\n")
    named = ["--metric", "letters"]
    commands = {
        "run": ["run", "new.yaml"],
        "again": ["run", "new.yaml"],
        "show": ["show", "latest", "--all"],
        "question": ["show", "latest", "--question", "tables-01"],
        "report": ["report", "latest"],
        "json": ["report", "latest", "--json"],
        "csv": ["export", "csv", "latest", "--to", "tables"],
        "compare": ["compare", "latest~1", "latest", *named],
        "gate": ["gate", "latest", "--min", "letters=15", "--junit", "gate.xml"],
        "trends": ["trends", *named],
        "together": ["report", "latest~1", "latest", "--to", "together"],
    }
    said = outputs(project, EVERYWHERE + END, commands, [installed, root])
    for name, (code, out, err) in said.items():
        assert code == 0, (name, err)
        assert name in ("csv", "together") or "letters" in out, name
    run = project.runs()[-1]
    figures = json.loads((run / "summary.json").read_text())["metrics"]["letters"]
    assert figures["overall"]["value"] == 15.5
    assert figures["categories"]["Tables"]["value"] == 12
    assert (figures["parts"]["vowels"]["value"], figures["counted"]) == (5, {"digits left out": 6})
    (repeat,) = json.loads((run / "questions" / "tables-01.json").read_text())["repeats"]
    assert repeat["metrics"]["letters"] == {"value": 12, "parts": {"vowels": 4, "digits": 0}}
    with np.load(run / "scores.npz") as table:
        assert sorted(table["metric/letters"]) == [12, 12, 19, 19]
    in_json = json.loads(said["json"][1])[0]["metrics"]["letters"]
    assert (in_json["overall"]["value"], in_json["parts"]["vowels"]["value"]) == (15.5, 5)
    assert in_json["counted"] == {"digits left out": 6}
    for name in (run / "scores.csv", project.path / "tables" / "answers.csv"):
        with name.open(newline="") as file:
            assert sorted(float(row["letters"]) for row in csv.DictReader(file)) == [12, 12, 19, 19]
    page = re.search(r'id="overview">(.*?)</script>', (run / "report.html").read_text(), re.DOTALL)
    assert page
    [shown] = [one for one in json.loads(page[1])["metrics"] if one["key"] == "metrics"]
    rows = {row[0]: row for row in shown["rows"]}
    assert rows["letters (letters) \u2191"][1].startswith("15.50")
    assert rows["letters, vowels"][2].startswith("5.00")
    assert any("6 digits left out" in note for note in shown["notes"])
    assert re.search(r"letters \(letters\) ↑ +15\.50 .*\nletters, vowels +5\.00 ", said["show"][1])
    lines = (run / "report.md").read_text()
    assert "| letters (letters) ↑ | 15.5" in lines
    assert "| letters, vowels | " in lines
    assert "letters (letters)" in (run / "table.tex").read_text()
    for text in (said["show"][1], lines, (run / "table.tex").read_text()):
        assert "6 digits left out" in text
    assert "PASS  letters 15.50 (4 questions), at least 15\n" in said["gate"][1]
    assert "letters" in (project.path / "gate.xml").read_text()
    for name in ("report.html", "report.md", "report.json", "scores.csv", "table.tex"):
        assert "letters" in (project.path / "together" / name).read_text(), name


NEW_KEY = """\
sys.path.insert(0, sys.argv[2])
from files import files_page
from schemas import schema_of

from fathoms.runs.run import read_summary

said["schema"] = schema_of("summary")["properties"]["counts"]["properties"]["shouted"]
said["page"] = files_page()
runs = sorted(Path("runs").glob("2*"))
said["read"] = [read_summary(run).counts.shouted for run in runs]
"""


def test_a_new_key_of_the_summary_is_a_field_and_what_counts_it(
    project: Project, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(root / "fathoms", copy / "fathoms")
    for file, before, added in (
        (
            "types/run/summary.py",
            "    refused: Count | None = absent()\n",
            '    shouted: Count | None = absent()\n    """Answers with an exclamation mark."""\n',
        ),
        (
            "scoring/tally.py",
            '            counts["refused"] += answer.refusal is not None\n',
            '            counts["shouted"] += "!" in answer.text\n',
        ),
    ):
        path = copy / "fathoms" / file
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, added + before))
    project.config.write_text(project.config.read_text().replace("can say.", "can say!"))
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    commands = {"run": ["run", "tiny.yaml"], "show": ["show", "latest~1"]}
    said = outputs(project, EVERYWHERE + NEW_KEY + END, commands, [copy], str(root / "docs" / "generate"))
    assert said["run"][0] == said["show"][0] == 0, said
    assert said["read"] == [None, 2]
    assert said["schema"]["description"] == "Answers with an exclamation mark."
    assert "shouted" in said["page"]
    # a fathoms without the key reads the run, and leaves the key where it is
    assert project.fathoms("export", "run", "latest", "--to", "kept").returncode == 0
    for run in (project.runs()[-1], project.path / "kept"):
        stored = json.loads((run / "summary.json").read_text())
        assert stored["counts"]["shouted"] == 2
        assert Summary.model_validate(stored, context=FILE).plain() == stored
        assert project.fathoms("show", str(run)).returncode == 0
