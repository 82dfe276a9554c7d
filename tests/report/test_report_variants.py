"""Variants beside their originals, and ambiguous questions beside clear ones, worked out by hand."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fathoms.compare.question_scores import read_scores
from fathoms.report.grouping import grouped
from fathoms.report.markdown import report_markdown
from fathoms.report.sections import sections, sections_json
from fathoms.report.terminal import drawn
from fathoms.runs.metadata import variant
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply
from tests.support.run_in_memory import changed


def question(name: str, ambiguity: str) -> Question:
    return Question(
        id=name, text=f"What is {name}?", category="A", answers=(("yes",),), metadata={"ambiguity": ambiguity}
    )


CLEAR = [question(f"c{n}", "clear") for n in range(4)]
VAGUE = [question(f"a{n}", "ambiguous") for n in range(4)]
REWRITTEN = [variant(one, "rewritten", f"{one.text} In 2022?", reference="Yes.") for one in VAGUE]
RIGHT = {"c0", "c1", "c2", "a0", "a0~rewritten", "a1~rewritten", "a2~rewritten"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    data = {"name": "d", "variants": [one.id for one in REWRITTEN]}
    one_run = new_run(tmp_path, "one", "0" * 16, {"config": {}, "data": data})
    one_run.records.append(
        [
            Record(question=one, answer=Reply(text="yes" if one.id in RIGHT else "green"))
            for one in (*CLEAR, *VAGUE, *REWRITTEN)
        ]
    )
    score_run(one_run)
    return Run.scored(one_run.path)


def test_a_variant_names_its_original_and_keeps_its_gold() -> None:
    first = REWRITTEN[0]
    assert (first.id, first.answers, first.reference) == ("a0~rewritten", (("yes",),), "Yes.")
    assert first.metadata == {"ambiguity": "ambiguous", "variant": "rewritten", "variant_of": "a0"}
    assert variant(first, "typos", "Waht?").metadata["variant_of"] == "a0"


def test_pairs_and_groups(run: Run, tmp_path: Path) -> None:
    figures: Any = sections_json([run])["variants"]["runs"][0]
    rewritten = figures["variants"]["rewritten"]
    assert (rewritten["correct"]["value"], rewritten["originals"]["value"]) == (0.75, 0.25)
    assert (rewritten["change"]["value"], rewritten["change"]["n"]) == (0.5, 4)
    groups = figures["ambiguity"]
    assert (groups["clear"]["value"], groups["ambiguous"]["value"], groups["n"]) == (0.75, 0.25, 4)
    assert groups["change"]["value"] == -0.5
    assert groups["change"]["low"] < -0.5 < groups["change"]["high"]
    assert figures["patterns"] is None  # no claim was judged
    markdown = report_markdown([run], tmp_path)
    assert "## Questions put differently" in markdown
    assert "| one | rewritten | 0.75" in markdown


def test_variants_count_in_no_other_figure(run: Run) -> None:
    """4 of the 8 originals are right; with the 4 variants, it would be 7 of 12."""
    found = run.metrics(None)["correctness"].overall
    assert (found.value, found.n) == (0.5, 8)
    assert "4 of the questions are variants of others" in run.summary.plain()["warnings"][0]
    assert run.summary.counts.answered == 12
    assert len(run.correctness(run.profile(None))) == 8
    assert run.path is not None
    assert len(read_scores(Run(run.path)).questions) == 8
    kinds = grouped(run, "variant").metrics(None)["correctness"].categories
    assert {name: (one.value, one.n) for name, one in kinds.items()} == {
        "rewritten": (0.75, 4),
        "(none)": (0.5, 8),
    }
    assert grouped(run, "ambiguity").metrics(None)["correctness"].categories["ambiguous"].n == 4


def test_ambiguous_questions_fail_by_pattern(run: Run) -> None:
    """Claim recall and hallucination by question; the answer to `a3` makes no claims."""
    claims = {"a0": (1, 0), "a1": (0.5, 0), "a2": (0.5, 0.5), "a3": (0, None)}
    views = [dict(view) for view in run.views()]
    for view in views:
        recall, wrong = claims.get(view["question"]["id"], (None, None))
        found = {"ragchecker.recall": {"value": recall}, "ragchecker.hallucination": {"value": wrong}}
        view["repeats"] = [{**repeat, "metrics": found} for repeat in view["repeats"]]
    metrics: dict[str, Any] = {"ragchecker.recall": {}, "ragchecker.hallucination": {}}
    judged = changed(run, views=lambda: views, summary={**run.summary.plain(), "metrics": metrics})
    (section,) = (one for one in sections([judged]) if one.key == "variants")
    assert section.figures["runs"][0]["patterns"] == {"single interpretation": 1, "conflation": 1, "n": 3}
    assert section.notes[-1].startswith("of 3 ambiguous questions with judged claims, 1 have answers")


def test_runs_without_variants_have_no_such_table(tmp_path: Path) -> None:
    one_run = new_run(tmp_path, "one", "0" * 16, {"config": {}, "data": {"name": "d"}})
    plain = question("q", "x").model_copy(update={"metadata": {}})
    one_run.records.append([Record(question=plain, answer=Reply(text="yes"))])
    score_run(one_run)
    assert not [one for one in sections([Run.scored(one_run.path)]) if one.key == "variants"]


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    odd = [variant(one, "typos [/b]", "What?") for one in VAGUE]
    one_run = new_run(tmp_path, "one", "0" * 16, {"config": {}, "data": {"name": "d"}})
    one_run.records.append([Record(question=one, answer=Reply(text="yes")) for one in (*VAGUE, *odd)])
    score_run(one_run)
    console = Console(file=StringIO(), width=200)
    console.print(*drawn(sections([Run.scored(one_run.path)])))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "typos [/b]" in shown
