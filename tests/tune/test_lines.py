"""What a race prints: short names, and everything within a screen."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.tune.lines import details, headline, labels, table, wrapped
from fathoms.tune.order import draw_order
from fathoms.tune.race import Race
from fathoms.tune.result import Candidate, Result, Settings, result_of


def result(cells: list[dict[str, str]], names: list[str], questions: int = 60) -> Result:
    """A race of candidates that are nearly alike, so that many are left."""
    rng = np.random.default_rng(1)
    order = draw_order(["a"] * questions, rng)
    scores = (rng.random((len(names), questions)) < 0.5).astype(float)
    race = Race(order, len(names))
    while not race.is_over and race.done < questions // 2:
        race.add(scores[:, order.positions[race.done]])
    candidates = [
        Candidate(name, f"run-{name}", cell, race.done, 9, 0.5 * place, 0.01 * place, 1.25, 0.5)
        for place, (name, cell) in enumerate(zip(names, cells, strict=True))
    ]
    return result_of(race, order, scores, candidates, Settings(), "budget")


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["good", "bad"], ["good", "bad"]),
        (
            ["m generate=scripted (echo True)", "m generate=embedded (model a, n_ctx 9)"],
            ["m generate=scripted", "m generate=embedded"],
        ),
        # the options are all that differs
        (["m llm=x (model a)", "m llm=x (model b)"], ["m llm=x (model a)", "m llm=x (model b)"]),
        (["a-long-name-of-a-config k=1 size=9", "a-long-name-of-a-config k=2 size=9"], ["k=1", "k=2"]),
        (
            ["kind=bm25 k=4 model=claude-haiku-4-5", "kind=dense k=4 model=gpt-5-mini-2025-08-07"],
            ["bm25 claude-haiku-4-5", "dense gpt-5-mini-2025…"],
        ),
        (["a" * 40, "b" * 40], ["a" * 21 + "…", "b" * 21 + "…"]),
    ],
)
def test_names_are_as_short_as_they_stay_different(names: list[str], short: list[str]) -> None:
    assert list(labels(names).values()) == short


def test_a_race_fits_a_screen() -> None:
    """24 candidates, all failing often, with costs, a screen and axes: 25 lines of 80 columns with the two
    lines below that name files."""
    cells = [
        {"retrieve.kind": kind, "retrieve.top_k": str(k), "generate.model": model}
        for kind in ("bm25", "dense", "hybrid")
        for k in (1, 2, 4, 8)
        for model in ("gpt-5-mini-2025-08-07", "claude-haiku-4-5-20251001")
    ]
    names = [
        " ".join(["own-pdfs", *(f"{key.rpartition('.')[2]}={value}" for key, value in cell.items())])
        for cell in cells
    ]
    found = result(cells, names)
    heads, rows = table(found)
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    said = [*headline(found), *details(found, 60.0)]
    lines = [part for line in said for part in wrapped(line).split("\n")]
    assert max(map(len, lines)) <= 80
    assert len(lines) + 2 + 1 + len(rows) + 2 <= 25
    assert sum(widths) + 2 * (len(widths) - 1) <= 80
