"""The matrix of a configuration file: named changes, each combination of which is a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError, UsageError
from fathoms.experiment import KEYS, load_cells, load_experiment
from fathoms.pipeline.matrix import cells_in, read_axes

TEXT = """\
name: mine
data: sample
retrieve: {kind: bm25, top_k: 3}
generate: &model {kind: scripted, default: "No."}
matrix:
  size:
    small: {generate.model: s, retrieve.top_k: 1}
    large: {generate.model: l}
  reading:
    text:
    picture:
      chunk: {kind: page, image_dpi: 50}
      retrieve: {kind: describe, first: {kind: bm25}, generate: *model}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def test_every_combination_of_names_is_an_experiment(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    result: list[Any] = [each for _, each in load_cells(path)]
    assert [(each.name, each.generate.model, each.retrieve.kind, each.retrieve.top_k) for each in result] == [
        ("mine small text", "s", "bm25", 1),
        ("mine small picture", "s", "describe", 3),
        ("mine large text", "l", "bm25", 3),
        ("mine large picture", "l", "describe", 3),
    ]
    base: Any = load_experiment(path)
    assert (base.name, base.generate.model, base.retrieve.top_k) == ("mine", "scripted", 3)
    over: Any = load_experiment(path, ["retrieve.top_k=7"], cell={"size": "small"})
    assert over.retrieve.top_k == 7, "--set wins over the matrix"
    assert not any("matrix" in each.model_dump() for each in result)


def test_names_can_be_chosen(tmp_path: Path) -> None:
    axes = read_axes(written(tmp_path, TEXT), KEYS)
    assert list(cells_in(axes, {"size": "large"})) == [
        {"size": "large", "reading": "text"},
        {"size": "large", "reading": "picture"},
    ]
    assert list(cells_in({})) == [{}]
    with pytest.raises(UsageError, match="there is no 'lage'"):
        list(cells_in(axes, {"size": "lage"}))
    with pytest.raises(UsageError, match=r"no axis 'sise'"):
        load_experiment(tmp_path / "mine.yaml", cell={"sise": "large"})


@pytest.mark.parametrize(
    ("matrix", "place", "message"),
    [
        ("matrix: [a]", "4:1", "expected axes with names"),
        ("matrix: {reading: {}}", "4:10", "expected axes with names"),
        ("matrix: {reading: {a: 3}}", "4:20", "expected axes with names"),
        ("matrix: {retrieve: {a: {}}}", "4:10", "an axis cannot be called 'retrieve'"),
        ("matrix: {config: {a: {}}}", "4:10", "an axis cannot be called 'config'"),
        ("matrix: {setting: {a: {}}}", "4:10", "an axis cannot be called 'setting'"),
        ("matrix: {a.b: {a: {}}}", "4:10", "an axis cannot be called 'a.b'"),
        ("matrix: {reading: {a: {name.x: 3}}}", "4:24", "'name' is text and has no keys of its own"),
        ("matrix: {reading: {a: {retrieve: {kind: bm25, topk: 3}}}}", "4:47", "unknown key 'topk'"),
        ("matrix: {reading: {a: {retrive: 3}}}", "4:24", "unknown key 'retrive'"),
    ],
)
def test_a_mistake_is_named_at_its_place(tmp_path: Path, matrix: str, place: str, message: str) -> None:
    path = written(tmp_path, f"name: a\ndata: sample\ngenerate: {{kind: scripted}}\n{matrix}\n")
    with pytest.raises(ConfigError) as raised:
        list(load_cells(path))
    assert message in str(raised.value)
    assert f"mine.yaml:{place}" in str(raised.value)
