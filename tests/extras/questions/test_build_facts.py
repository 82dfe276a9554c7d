"""A table of facts that a model extracts from PDFs: two readings, what is in doubt, and people who mend."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms.corpora import read_questions
from tests.support.project import Project, write_pdf
from tests.support.strict_server import CHAT, MODEL, by_patterns, strict_server

pytestmark = pytest.mark.slow
PAGES = {
    "a.pdf": ["Station Alder in North", "Its flow is 180 m3/h since 2019."],
    "b.pdf": ["Station Birch in North", "Its flow is 50 l/s since 2020."],
    "c.pdf": ["Station Cedar in North", "Its flow is 300 m3/h since 2021."],
    "d.pdf": ["Station Dorn in South", "Its flow is 90 m3/h since 2021."],
}
SAID = r"Station (\w+) in (\w+).*flow is (\d+) (\S+) since"
FIRST = json.dumps(
    {
        "facts": [
            {"field": "station", "value": r"\1", "unit": "", "page": 1},
            {"field": "district", "value": r"\2", "unit": "", "page": 1},
            {"field": "flow", "value": r"\3 \4", "unit": r"=\4", "page": 1},  # it stands on page 2
        ]
    }
).replace("\\\\", "\\")
PATTERNS = {
    # the first reading makes up the flow of Cedar, the second reads Dorn's in another way and in other words
    r"Station Cedar.*List the facts": FIRST.replace(r"\1", "Cedar")
    .replace(r"\2", "North")
    .replace(r'"\3 \4"', '"305"')
    .replace(r"\4", "m3/h"),
    r"Station (Dorn) in South.*What does": (
        r'{"station": "DORN", "district": "not given", "flow": "95 m3/h"}'
    ),
    r"Station (Birch) in North.*What does": r'{"station": "Birch", "district": "north", "flow": "180 m3/h"}',
    rf"{SAID}.*List the facts": FIRST,
    rf"{SAID}.*What does": r'{"station": "\1", "district": "\2", "flow": "\3 \4"}',
    r"beginnings of documents": '{"fields": ["station", "district", "flow"]}',
}
TABLE = [
    ("a.pdf", "1", "station", "Alder", "", ""),
    ("a.pdf", "1", "district", "North", "", ""),
    ("a.pdf", "2", "flow", "180", "m3/h", ""),
    ("b.pdf", "1", "station", "Birch", "", ""),
    ("b.pdf", "1", "district", "North", "", ""),
    ("b.pdf", "2", "flow", "50", "l/s", ""),  # as much as 180 m3/h, which the second reading says
    ("c.pdf", "1", "station", "Cedar", "", ""),
    ("c.pdf", "1", "district", "North", "", ""),
    ("c.pdf", "1", "flow", "305", "m3/h", "differs: '305' does not stand there as written"),
    ("d.pdf", "1", "station", "Dorn", "", ""),
    ("d.pdf", "1", "district", "South", "", "differs: a second reading found no value"),
    ("d.pdf", "2", "flow", "90", "m3/h", "differs: 95 m3/h"),
]


def build(folder: Path, model: dict[str, Any], *options: str) -> Any:
    (folder / "pdfs").mkdir(exist_ok=True)
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, pages)
    recipe = {"model": model, "documents": ["pdfs"]}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    return Project(folder).fathoms("build", "facts", "recipe.yaml", "--out", "facts.csv", *options)


def rows(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "facts.csv").open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


SCRIPTED = {"kind": "scripted", "patterns": PATTERNS, "default": "no"}


def test_two_readings_make_a_table_that_people_mend_and_questions_follow(tmp_path: Path) -> None:
    done = build(tmp_path, SCRIPTED, "--field", "station", "--field", "district", "--field", "flow")
    assert done.returncode == 0, done.stderr
    assert "facts.csv: 12 facts, 3 in doubt (column check)" in done.stdout
    assert "flow: 4 of 4 documents" in done.stdout
    assert rows(tmp_path) == TABLE  # units are no formulas, and stand once
    project = Project(tmp_path)
    options = ("questions", "from-facts", "facts.csv", "--about", "station", "--rule", "sum", "--n", "1")
    refused = project.fathoms(*options, "--out", "none.json")
    assert refused.returncode == 1
    assert "rest on a value in doubt" in " ".join(refused.stderr.split())
    text = (tmp_path / "facts.csv").read_text()
    text = text.replace("1,flow,305,m3/h,differs: '305' does not stand there as written", "2,flow,300,m3/h,")
    text = text.replace("South,,differs: a second reading found no value", "South,,")
    (tmp_path / "facts.csv").write_text(text)
    process = project.fathoms(*options, "--out", "sums.json")
    assert process.returncode == 0, process.stderr
    (question,) = read_questions(tmp_path / "sums.json").questions
    assert question.reference == "660 m3/h, the sum of Alder 180 m3/h, Birch 50 l/s, Cedar 300 m3/h."
    assert question.gold_pages == {(name, page) for name in ("a.pdf", "b.pdf", "c.pdf") for page in (1, 2)}
    (tmp_path / "facts.csv").write_text(text.replace("flow,300", "flow,310"))
    said = project.fathoms("questions", "edit", "facts.csv", "--questions", "sums.json", "--summary")
    refused = project.fathoms("questions", "edit", "facts.csv", "--write")
    assert (refused.returncode, "is saved at once" in " ".join(refused.stderr.split())) == (2, True)
    changed = (
        f"sum-01: {question.reference} -> 670 m3/h, the sum of Alder 180 m3/h, Birch 50 l/s, Cedar 310 m3/h."
    )
    assert changed in " ".join(said.stdout.split())
    updated = project.fathoms("questions", "from-facts", "facts.csv", "--out", "sums.json", "--update")
    assert (updated.returncode, changed in " ".join(updated.stdout.split())) == (0, True)
    (now,) = read_questions(tmp_path / "sums.json").questions
    assert (now.id, now.reference[:8]) == ("sum-01", "670 m3/h")


def test_a_server_that_honours_the_schema_gives_the_same_table_with_proposed_fields(tmp_path: Path) -> None:
    with strict_server(by_patterns(PATTERNS, "no")) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        done = build(tmp_path, model, "--json")
        assert done.returncode == 0, done.stderr
        assert rows(tmp_path) == TABLE
        assert len(server.bodies(CHAT)) == 1 + 4 + 4
        parsed = json.loads(done.stdout)
        assert (parsed["facts"], parsed["in_doubt"], parsed["fields"]["flow"]) == (12, 3, 4)
        # what is kept is not asked again
        (tmp_path / "facts.csv").unlink()
        stopped = build(tmp_path, model)
        assert (stopped.returncode, "--resume" in stopped.stderr) == (2, True)
        again = build(tmp_path, model, "--resume")
        assert again.returncode == 0, again.stderr
        assert len(server.bodies(CHAT)) == 9
        (tmp_path / "facts.csv").unlink()
        redone = build(tmp_path, model, "--resume", "--redo", "second-reading")
        assert redone.returncode == 0, redone.stderr
        assert len(server.bodies(CHAT)) == 13


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    patterns = {r"Station Alder.*List the facts": "no list", r"Station Birch.*What does": "[]", **PATTERNS}
    done = build(tmp_path, {**SCRIPTED, "patterns": patterns}, "--field", "station", "--field", "flow")
    assert done.returncode == 1
    assert "a.pdf was not read: " in done.stderr
    checks = {row[-1] for row in rows(tmp_path) if row[0] == "b.pdf"}
    assert len(checks) == 1
    assert next(iter(checks)).startswith("differs: there is no second reading: ")
    nothing = build(tmp_path / "..", {**SCRIPTED, "patterns": {}, "default": '{"facts": []}'}, "--field", "x")
    assert nothing.returncode == 1
    assert "was not written, because no document gives a value for x" in nothing.stderr
