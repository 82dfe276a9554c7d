"""A question set lives: one answer is corrected, three questions are new, and a category has another name.
The runs before and after are judged, compared and shown by the questions that are the same."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.api import Result
from fathoms.cli import main
from fathoms.corpora.versions import questions_of_run
from fathoms.errors import ExitCode
from fathoms.report.change import change
from fathoms.report.html import payload
from fathoms.report.leaderboard import leaderboard
from fathoms.runs.run import Run
from tests.support.project import Project, copy_project, write_pdf

CONFIG = """\
name: night
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, default: It is seven.}
"""
pytestmark = pytest.mark.slow


def questions(*names: str, ids: bool) -> list[dict[str, Any]]:
    """Questions by their names, which the pipeline answers rightly."""
    return [
        {"question": f"What is {name}?", "files": ["a.pdf"], "answers": [["seven"]]}
        | ({"id": name} if ids else {})
        for name in names
    ]


@pytest.fixture(scope="module", params=[True, False], ids=["with-ids", "without-ids"])
def ids(request: pytest.FixtureRequest) -> bool:
    """Whether the question file has ids."""
    return bool(request.param)


with_ids = pytest.mark.parametrize("ids", [True], indirect=True)
"""For what does not depend on the names that questions without ids get."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, ids: bool) -> Project:
    """A run of 15 questions, of which one has a wrong gold answer, and a saved baseline of it; then the
    corrected set, and a run of it."""
    path = tmp_path_factory.mktemp("versions")
    (path / "pdfs").mkdir()
    write_pdf(path / "pdfs" / "a.pdf", ["It is seven, they say."])
    one_project = Project(path)
    text = questions(*(f"t{number}" for number in range(10)), ids=ids)
    tables = questions(*(f"u{number}" for number in range(5)), ids=ids)
    text[3]["answers"] = [["eight"]]
    one_project.write("v1.json", json.dumps({"Text": text, "Tables": tables}))
    text[3]["answers"] = [["seven"]]
    new = questions("n1", "n2", "n3", ids=ids)
    one_project.write(
        "v2.json", json.dumps({"Text": [new[0], *text[:2], new[1], *text[2:], new[2]], "Tabular": tables})
    )
    one_project.write("night.yaml", CONFIG)
    for version, commands in (
        ("v1", (["run", "night.yaml"], ["gate", "night", "--save-baseline", "baseline.json"])),
        ("v2", (["run", "night.yaml"],)),
    ):
        one_project.write("questions.json", (path / f"{version}.json").read_text())
        for command in commands:
            assert one_project.fathoms(*command).returncode == 0
    return one_project


@pytest.fixture
def project(ran: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of it, as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return copy_project(ran, tmp_path)


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command prints with --json."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def sha256(name: str) -> str:
    """The hash of a question file."""
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_the_story(project: Project, ids: bool, capsys: pytest.CaptureFixture[str]) -> None:
    corrected, new = ("t3", ["n1", "n2", "n3"]) if ids else ("text-04", ["text-01", "text-04", "text-13"])
    by_text = [] if ids else ["15 questions are matched by text, because the question file does not have"]

    gated = json_of(capsys, "gate", "night", "--baseline", "baseline.json", "--margin", "0.5", "--strict")
    assert (gated["verdict"], gated["changed"], gated["added"]) == ("PASS", [corrected], new)
    assert gated["checks"][0]["questions"] == 14
    assert [note[:73] for note in gated["notes"]] == [note[:73] for note in by_text]

    earlier, later = sorted(path.name for path in Path("runs").glob("2*"))
    compared = json_of(capsys, "compare", earlier, later)
    correctness = compared["tests"][0]
    assert (correctness["overall"]["n"], correctness["categories"].keys()) == (14, {"Text", "Tables"})
    (left_out,) = compared["unshared"]
    assert (left_out["only_first"], left_out["only_second"], left_out["changed"]) == ([], new, [corrected])

    for old, later_one in (("v1.json", "v2.json"), (earlier, later), (earlier, "v2.json")):
        difference = json_of(capsys, "questions", "diff", old, later_one)
        assert difference["added"] == new
        assert difference["changes"][corrected] == ["gold"]
        assert sum(what == ["category"] for what in difference["changes"].values()) == 5
    assert main(["questions", "check", "v1.json", "pdfs", "--fix", "--ignore", "few-questions"]) in (0, 1)
    rows = json.loads((project.path / "v1.json").read_text())["Text"]
    assert [row["id"] for row in rows[:2]] == (["t0", "t1"] if ids else ["text-01", "text-02"])


@with_ids
def test_old_answers_are_scored_by_new_gold(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    corrected = "t3"
    earlier, later = sorted(path.name for path in Path("runs").glob("2*"))

    def correctness(run: str) -> float:
        summary = json.loads((Path("runs") / run / "summary.json").read_text())
        return round(summary["profiles"][summary["profile"]]["overall"]["micro_correctness"], 3)

    assert (correctness(earlier), correctness(later)) == (round(14 / 15, 3), 1)
    assert main(["score", earlier, "--questions", "v2.json"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"scored by the gold answers of v2.json, which differ for 1 of 15 questions ({corrected})" in said
    assert correctness(earlier) == 1
    summary = json.loads((Path("runs") / earlier / "summary.json").read_text())
    assert (summary["questions"]["file"], summary["questions"]["kept"]) == ("v2.json", [])
    assert summary["categories"] == ["Text", "Tabular"]
    compared = json_of(capsys, "compare", earlier, later)
    assert (compared["tests"][0]["overall"]["n"], compared["unshared"][0]["changed"]) == (15, [])
    assert main(["gate", earlier, "--save-baseline", "corrected.json"]) == 0
    gated = json_of(capsys, "gate", later, "--baseline", "corrected.json", "--margin", "0.5")
    assert (gated["verdict"], gated["checks"][0]["questions"], gated["changed"]) == ("PASS", 15, [])

    own, new = (sha256(name) for name in ("v1.json", "v2.json"))
    shown = json_of(capsys, "show", earlier)
    assert shown["summary"]["questions"]["sha256"] == new
    (before,) = shown["scorings"].items()
    assert (before[0], "questions" in before[1]) == (own, False)
    assert round(before[1]["profiles"]["fathoms"]["overall"]["micro_correctness"], 3) == round(14 / 15, 3)
    assert main(["show", earlier]) == 0
    assert f"scored before by its own questions ({own[:12]}): correctness 0.9" in capsys.readouterr().out

    # an earlier scoring is compared and shown like a run, question by question
    then = f"{earlier}@{own[:12]}"
    compared = json_of(capsys, "compare", f"{earlier}@own", earlier)
    assert compared["first"] == then
    assert (compared["tests"][0]["overall"]["n"], compared["unshared"][0]["changed"]) == (14, [corrected])
    assert main(["compare", then, earlier]) == 0
    assert json_of(capsys, "show", earlier, "--scoring", own[:8])["summary"] == before[1]
    assert json_of(capsys, "show", f"{earlier}@v2.json") == shown
    capsys.readouterr()
    assert main(["show", then]) == 0
    assert "scored before by its own questions" in capsys.readouterr().out
    gated = json_of(capsys, "gate", later, "--baseline", then, "--margin", "0.5")
    assert (gated["verdict"], gated["baseline"], gated["changed"]) == ("PASS", [then], [corrected])
    for command in (["show", earlier, "--scoring", "v3.json"], ["score", then], ["show", f"{earlier}@abcd"]):
        assert main(command) == 2
    assert "it was scored by own (" in capsys.readouterr().err
    assert main(["show", then, "--question", corrected]) == 2
    assert main(["show", then, "--by", "part"]) == 2
    assert "is an earlier scoring" in capsys.readouterr().err

    assert main(["score", earlier]) == 0
    assert "was scored by the gold answers of v2.json, and is by its own again" in capsys.readouterr().err
    assert correctness(earlier) == round(14 / 15, 3)
    assert list(json_of(capsys, "show", earlier)["scorings"]) == [new]
    assert main(["score", "--history", "--questions", "v2.json"]) == 0
    assert (correctness(earlier), correctness(later)) == (1, 1)
    # a run that has nothing in common with the file does not keep others of the history from being scored
    first = json.loads((project.path / "v2.json").read_text())["Text"][0]
    (project.path / "new.json").write_text(json.dumps({"Text": [first]}))
    before_all = (Path("runs") / earlier / "summary.json").read_bytes()
    assert main(["score", "--history", "--questions", "new.json"]) == 1
    assert f"{earlier} has no question in common with new.json" in capsys.readouterr().err
    assert (Path("runs") / earlier / "summary.json").read_bytes() == before_all
    assert json_of(capsys, "show", later)["summary"]["questions"]["file"] == "new.json"


@with_ids
def test_a_gate_scores_its_baseline_again(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    corrected = "t3"
    earlier, later = sorted(path.name for path in Path("runs").glob("2*"))
    before = {path: path.read_bytes() for path in Path("runs", earlier).rglob("*.json*")}
    for baseline in ("baseline.json", earlier):
        gated = json_of(
            capsys, "gate", "night", "--baseline", baseline, "--margin", "0.5", "--strict", "--rescore"
        )
        assert (gated["verdict"], gated["changed"], len(gated["added"])) == ("PASS", [], 3)
        assert (gated["checks"][0]["questions"], gated["checks"][0]["nights"][0]["delta"]) == (15, 0)
        assert gated["baseline"] == [earlier]
        assert (
            f"{earlier} was scored again by the gold answers of {later}, which differ for 1 question"
            f" ({corrected}); the stored scores stay what they were"
        ) in gated["notes"]
    assert {path: path.read_bytes() for path in Path("runs", earlier).rglob("*.json*")} == before
    judged = Result(Path("runs", later).absolute()).gate(baseline=earlier, margin=0.5, rescore=True)
    assert (judged.verdict, judged.found.changed) == ("PASS", ())
    assert sorted(path.name for path in Path("runs").glob("*") if path.is_dir()) == [
        ".documents",
        ".questions",
        earlier,
        later,
    ]

    capsys.readouterr()
    assert main(["gate", "night", "--baseline", "baseline.json", "--rescore", "--sequential"]) == 2
    assert "--rescore scores the baseline of one verdict again" in " ".join(capsys.readouterr().err.split())
    Path("runs", earlier).rename(project.path / earlier)
    assert main(["gate", "night", "--baseline", "baseline.json", "--rescore"]) == 2
    assert f"does not have its runs {earlier}" in " ".join(capsys.readouterr().err.split())


@with_ids
def test_the_log_names_the_versions(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is held once beside the runs, so that a run is explained after its file has changed."""
    earlier, later = sorted(path.name for path in Path("runs").glob("2*"))
    corrected = "t3"
    assert main(["run", "night.yaml"]) == 0
    assert main(["score", earlier, "--questions", "v2.json"]) == 0
    assert len(list(Path("runs/.questions").iterdir())) == 2
    (history,) = json_of(capsys, "questions", "log")
    first, second = history["versions"]
    assert (history["name"], first["sha256"], second["sha256"]) == (
        "questions",
        sha256("v1.json"),
        sha256("v2.json"),
    )
    assert (first["questions"], second["questions"], first["changes"]) == (15, 18, None)
    assert [run["id"] for run in first["runs"]] == [earlier]
    assert (first["runs"][0]["scored_by"], len(second["runs"])) == ("v2.json", 2)
    assert second["changes"]["changes"][corrected] == ["gold"]

    capsys.readouterr()
    (project.path / "questions.json").write_text((project.path / "v1.json").read_text())
    assert main(["questions", "log", "questions.json"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["questions.json", f"  version 1 ({sha256('v1.json')[:12]}): 15 questions"]
    assert said[2].endswith(f"{earlier}, scored by v2.json")
    assert said[4].startswith("    3 added: ")
    assert f"    1 gold changed: {corrected}" in said
    assert said[said.index("  the file now:") + 1].startswith("    3 removed: ")
    (project.path / "other.json").write_text(json.dumps({"A": questions("other", ids=True)}))
    assert main(["questions", "log", "other.json"]) == 1
    assert "no run in runs used other.json" in capsys.readouterr().err

    for name in ("handed-over", "damaged"):
        assert main(["export", earlier, "--to", name]) == 0
    copied = Run(project.path / "handed-over")
    assert questions_of_run(copied).whole
    (project.path / "damaged/blobs" / f"{copied.manifest.data.questions_copy}.gz").write_bytes(b"no text")
    assert main(["questions", "diff", "damaged", later]) == ExitCode.FAILED
    assert "cannot be read" in capsys.readouterr().err
    for copy in Path("runs/.questions").iterdir():
        copy.unlink()
    assert main(["questions", "diff", earlier, later]) == 0
    shown = capsys.readouterr()
    assert f"1 gold changed: {corrected}" in shown.out
    assert f"{earlier} has no copy of its questions" in " ".join(shown.err.split())


def test_the_page_pairs_what_compare_pairs(project: Project, ids: bool) -> None:
    runs = [Run.scored(path) for path in sorted(Path("runs").glob("2*"))]
    (index,) = [each for each in payload(runs).chunks if each.name == "index"]
    found = json.loads(gzip.decompress(base64.b64decode(index.data)))
    first, second = (
        {at for at, one in enumerate(run["outcome"]) if one is not None} for run in found["runs"]
    )
    assert (len(first), len(second), len(first & second)) == (15, 18, 14)
    names = found["questions"]["id"]
    assert {names[at] for at in first - second} == {"t3" if ids else "text-04"}
    # what only the later run has carries its name where the earlier one has another question of this id
    assert len(set(names)) == len(names) == 19


def test_ranks_are_of_the_questions_that_all_runs_share(project: Project, ids: bool) -> None:
    runs = [Run.scored(path) for path in sorted(Path("runs").glob("2*"))]
    found = leaderboard(runs)
    assert [row.rank is not None for row in found.rows] == [True, True]
    (note,) = [one for one in found.notes if one.startswith("Ranks are of")]
    left_out = "t3, n1, n2, n3" if ids else "text-04, text-01, text-04, text-13"
    assert note.startswith("Ranks are of the 14 of 18 questions")
    assert note.endswith(f"not counted: {left_out}.")
    since = change(runs[1], runs[0], "fathoms")
    assert since.obstacle == "it asked other questions (14 the same; 18 here, 15 there)"


def test_verdicts_of_a_rescored_baseline_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge is asked about the corrected gold once, not at every gate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pdfs").mkdir()
    write_pdf(tmp_path / "pdfs" / "a.pdf", ["It is seven, they say."])
    one_project = Project(tmp_path)
    one_project.write(
        "night.yaml",
        CONFIG + "metrics: [fathoms, {kind: correctness-judged, rubric: binary}]\n"
        "judge: {kind: llm, model: {kind: scripted, default: 'Yes'}}\n",
    )
    wanted = questions("a", "b", "c", ids=True)
    for gold in ("eight", "seven"):
        wanted[1]["answers"] = [[gold]]
        one_project.write("questions.json", json.dumps({"Text": wanted}))
        assert main(["run", "night.yaml"]) == 0
    earlier, _ = sorted(Path("runs").glob("2*"))
    journal = earlier / "verdicts/judge.jsonl"
    before = len(journal.read_bytes().splitlines())
    summary = (earlier / "summary.json").read_bytes()
    for _ in range(2):
        json_of(
            capsys,
            "gate",
            "night",
            "--baseline",
            earlier.name,
            "--rescore",
            "--margin",
            "0.5",
            "--metric",
            "correctness-judged",
            "--allow-unchecked-judge",
        )
        assert len(journal.read_bytes().splitlines()) == before + 1
    assert (earlier / "summary.json").read_bytes() == summary


@with_ids
def test_trends_draw_one_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the earlier run is scored again, the corrected question counts in no night."""
    left_out = "t3, n1, n2, n3"
    for gold, n, without in ((None, 14, 4), ("v2.json", 15, 3)):
        if gold:
            assert main(["score", "--history", "--questions", gold]) == 0
        trend = json_of(capsys, "trends", "night")
        assert [(night["value"], night["n"], night["changes"]) for night in trend["nights"]] == [
            (1, n, [])
        ] * 2
        assert f"over the {n} questions that all these runs have" in trend["notes"][0]
        assert f"not counted: {without} (" in trend["notes"][0]
        assert set(trend["notes"][0].partition("not counted: ")[2][3:-1].split(", ")) <= set(
            left_out.split(", ")
        )
