"""The agreement of metrics with people's preferences, from RAGChecker's release and from small files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import pearsonr, spearmanr

from fathoms.cli import main

TOY = {
    **{"table": "T", "paper": "P", "results": "ragchecker", "instances": 3, "unit": "percent", "digits": 2},
    **{"columns": {"overall": "overall_label"}, "compare": {"Pearson": "pearson"}},
    "rows": [
        {"row": "mine", "of": "mine", "figure": "f", "printed": {"Pearson": [97.49]}},
        {"row": "people", "of": "people", "printed": {"Pearson": [86.60]}},
    ],
}


def reproduced(capsys: pytest.CaptureFixture[str], table: str, folder: Path) -> tuple[int, Any, str]:
    code = main(["reproduce", table, "--results", str(folder), "--json"])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else None, shown.err


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three pairs with two labels each: -2 -2, 0 1, 2 2. The scores differ by -1 and 1, and the one that is
    missing is their median, 0. So Pearson is that of -1 -1 0 0 1 1 and the labels, whose sum is 1 and whose
    squares add up to 17: 8 / sqrt(4 * (17 - 1 / 6)). The labels of the two people: -2 0 2 and -2 1 2."""
    labels = [(-2, -2), (0, 1), (2, 2)]
    people = [{"instance_id": n, "overall_label": said} for n, pair in enumerate(labels) for said in pair]
    (tmp_path / "human_labeled_data.json").write_text(json.dumps(people))
    scores = [
        {"instance_id": n, "model1": {"mine": {"f": 1}}, "model2": {"mine": {"f": f}}}
        for n, f in enumerate((0, float("nan"), 2))
    ]
    (tmp_path / "baseline_mine_llama3.json").write_text(json.dumps(scores))
    (tmp_path / "toy.yaml").write_text(json.dumps(TOY))
    return tmp_path


def test_each_label_is_compared_with_the_difference_of_the_scores(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, done, _ = reproduced(capsys, str(small / "toy.yaml"), small)
    found = {one["row"]: one["value"] for one in done["agreement"]}
    assert found["mine"] == pytest.approx(8 / (4 * (17 - 1 / 6)) ** 0.5)
    # -2 0 2 and -2 1 2: 8 / sqrt(8 * (9 - 1 / 3))
    assert found["people"] == pytest.approx(8 / (8 * (9 - 1 / 3)) ** 0.5)
    assert [cell["status"] for row in done["rows"] for cell in row["cells"]] == ["same", "differs"]


def test_fewer_instances_than_the_paper_has_are_the_reason_of_a_difference(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small / "toy.yaml").write_text(json.dumps({**TOY, "instances": 4}))
    code, done, _ = reproduced(capsys, str(small / "toy.yaml"), small)
    cells = [cell for row in done["rows"] for cell in row["cells"]]
    assert (code, [cell["status"] for cell in cells]) == (0, ["same", "documented"])
    assert cells[1]["why"].startswith("the files have 3 of 4 instances, which give ")


def test_files_that_are_not_there_or_of_another_kind_are_named(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(small / "toy.yaml"), "--live"]) == 2
    (small / "baseline_mine_llama3.json").unlink()
    code, done, said = reproduced(capsys, str(small / "toy.yaml"), small)
    assert (code, done["compared"], "there is no file baseline_mine*.json" in said) == (1, 1, True)
    people = small / "human_labeled_data.json"
    people.write_text('[{"instance_id": 1}]')
    assert (
        "row 1: expected a number as 'overall_label'" in reproduced(capsys, str(small / "toy.yaml"), small)[2]
    )
    people.write_text("{}")
    assert "expected a list of objects" in reproduced(capsys, str(small / "toy.yaml"), small)[2]
    people.unlink()
    assert "contains no people's labels" in reproduced(capsys, str(small / "toy.yaml"), small)[2]


def test_the_released_sample_gives_the_coefficients_of_the_released_script(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "ragchecker"
    people = json.loads((folder / "human_labeled_sample.json").read_text())
    scores = {
        row["instance_id"]: row
        for row in json.loads((folder / "baseline_ragchecker_sample.json").read_text())
    }
    code, done, said = reproduced(capsys, "ragchecker/table-5", folder)
    assert (code, done["compared"], done["differs"]) == (0, 2, [])
    assert "there is no file baseline_ragas*.json" in said
    found = {(one["row"], one["metric"], one["column"]): one["value"] for one in done["agreement"]}
    for column in ("correctness", "completeness", "overall"):
        label = f"{column}_label"
        pairs = [scores[row["instance_id"]] for row in people]
        one, other = ([pair[side]["ragchecker"][label] for pair in pairs] for side in ("model1", "model2"))
        differences = [b - a for a, b in zip(one, other, strict=True)]
        said_by = [row[label] for row in people]
        for name, coefficient in (("Pearson", pearsonr), ("Spearman", spearmanr)):
            expected = float(coefficient(differences, said_by).statistic)
            assert found["RAGChecker", name, column] == pytest.approx(expected)
