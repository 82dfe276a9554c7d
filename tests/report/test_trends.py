"""The figures of a pipeline over its nights, with what changed and what the gate said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from fathoms.cli import main
from fathoms.errors import DataError, UsageError
from fathoms.report.trends import Night, flaky, gate_verdicts, trend
from fathoms.runs.run import Run
from tests.support.view import MANIFEST, night


def test_each_night_has_its_figure_and_what_changed_before_it(tmp_path: Path) -> None:
    other = {**MANIFEST["data"], "questions_sha256": "b", "asked_ids": ["q-000", "q-001", "q-002"]}
    more = {**MANIFEST["data"], "documents": {"mill.pdf": {"sha256": "m"}, "new.pdf": {"sha256": "n"}}}
    runs = [
        night(tmp_path, 1, "alpha", {}),
        night(tmp_path, 2, "alpha", {}),
        night(tmp_path, 3, "beta", {"data": other}),
        night(tmp_path, 4, "beta", {"data": more}, model="small-2"),
        night(tmp_path, 5, "beta", {"fingerprints": {"retrieve": "R", "generate": "g"}}, model="small-2"),
        night(tmp_path, 6, "beta", {"versions": {"fathoms": "0.2.0"}}, model="small-2"),
        night(tmp_path, 7, "beta", {}, model="small-2", service={"versions": {"v7": 6}}),
    ]
    (runs[1].path / "summary.json").unlink()
    said = {runs[2].id: ("FAIL", "night: worse: FAIL")}
    found = trend("night", runs, None, said)
    assert (found.metric, found.direction, found.bounds) == ("correctness", "higher", (0.0, 1.0))
    assert [one.value for one in found.nights] == [0.5, None, *[pytest.approx(1 / 3)] * 5]
    assert found.nights[0].bounds == (pytest.approx(0.4), pytest.approx(0.6))
    assert [one.verdict for one in found.nights] == [None, None, "FAIL", None, None, None, None]
    assert found.nights[1] == Night(runs[1].id, "", why="not scored")
    assert [dict(one.changes) for one in found.nights] == [
        {},
        {},
        {},  # the manifest has another hash, but all questions are the same
        {
            "documents": "1 of 1 are the same, now 2",
            "model": "a-model to small-2",
        },
        {"documents": "1 of 2 are the same, now 1", "settings": "retrieve"},
        {"settings": "retrieve", "fathoms": "0.1.0 to 0.2.0"},
        {"fathoms": "0.2.0 to 0.1.0", "service": "none to v7"},
    ]
    lower = trend("night", runs, "hallucination", {})
    assert (lower.direction, lower.nights[0].value, lower.nights[0].low) == ("lower", 0.5, None)
    with pytest.raises(UsageError, match=r"no run of 'night' has the metric 'corectness' .did you mean"):
        trend("night", runs, "corectness", {})
    with pytest.raises(DataError, match="no run of 'night' is scored"):
        trend("night", [runs[1]], None, {})


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_nights_fit_any_terminal_by_names_that_commands_know(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    more = {**MANIFEST["data"], "documents": {"mill.pdf": {"sha256": "m"}, "new.pdf": {"sha256": "n"}}}
    for number in range(1, 4):
        night(tmp_path, number, "alpha", {"data": more} if number > 1 else {}, model=f"m{number}-" + "x" * 50)
    assert main(["trends", "night", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert "\u2026" not in "".join(lines)
    names = [line.split()[0] for line in lines if line.startswith("night~") or line.startswith("night ")]
    assert names == ["night~2", "night~1", "night", "night~1", "night"]
    assert "documents: 1 of 1 are the same, now 2" in " ".join(" ".join(lines).split())


def test_what_the_gate_said_stands_in_the_log_of_the_nights(tmp_path: Path) -> None:
    log = tmp_path / "night.jsonl"
    event = {"event": "gate-judged", "run": "n1", "verdict": "UNDECIDED", "line": "n1: UNDECIDED"}
    lines = [
        json.dumps(event),
        "not JSON, but gate-judged",
        '{"event": "gate-judged"',
        '["gate-judged"]',
        json.dumps({"event": "run-reported", "verdict": "OK", "line": '"gate-judged"'}),
        "[" * 100_000 + '"gate-judged"',
        json.dumps(event | {"verdict": "PASS", "line": "n1: PASS"}),
    ]
    log.write_text("\n".join(lines))
    assert gate_verdicts([log]) == {"n1": ("PASS", "n1: PASS")}
    later = tmp_path / "later.jsonl"
    log.write_text(json.dumps(event | {"time": "2026-01-02T03:04:05.000+00:00"}))
    later.write_text(json.dumps(event | {"time": "2026-01-03T03:04:05.000+00:00", "verdict": "FAIL"}))
    for rotated in ([log, later], [later, log]):
        assert gate_verdicts(rotated) == {"n1": ("FAIL", "n1: UNDECIDED")}
    log.write_bytes(gzip.compress(later.read_bytes()))
    with pytest.raises(UsageError, match=r"is compressed: unpack it first"):
        gate_verdicts([log])
    with pytest.raises(UsageError, match=r"nothing\.jsonl cannot be read"):
        gate_verdicts([tmp_path / "nothing.jsonl"])


def test_questions_that_waver_are_those_of_one_pipeline(tmp_path: Path) -> None:
    other = {"fingerprints": {"retrieve": "R", "generate": "g"}}
    runs = [
        night(tmp_path, number, right, facts)
        for number, (right, facts) in enumerate(
            [("alpha", {}), ("beta", {}), ("alpha", {}), ("alpha", other), ("beta", {})], 1
        )
    ]
    found = flaky("night", runs, None)
    assert found.runs == tuple(run.id for run in runs if run is not runs[3])
    shown = [(one.question, one.right, one.wrong, one.now) for one in found.wavering]
    assert shown == [("q-002", 2, 2, 0.0), ("q-003", 2, 2, 1.0), ("q-004", 2, 2, 0.0)]
    assert found.questions == 6
    # a night that the gate stopped is no wavering
    calm = flaky("night", runs, None, {runs[1].id: ("FAIL", "x")})
    assert (calm.alarms, [(one.right, one.wrong) for one in calm.wavering]) == (1, [(2, 1), (1, 2), (2, 1)])
    (runs[1].path / "summary.json").unlink()  # it says nothing then
    runs = [Run(run.path) for run in runs]
    assert [(one.right, one.wrong) for one in flaky("night", runs, None).wavering] == [(2, 1), (1, 2), (2, 1)]
    with pytest.raises(UsageError, match="no metric 'correctnes'"):
        flaky("night", runs, "correctnes")
