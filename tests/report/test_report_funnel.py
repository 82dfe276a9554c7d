"""The funnel as people see it: on the terminal, in Markdown, and of one question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from fathoms.report.funnel import funnel_of, funnel_section, stage_cell
from fathoms.report.markdown import report_markdown
from fathoms.report.question import funnel_lines
from fathoms.report.terminal import drawn
from fathoms.runs.run import Run
from fathoms.types.run.figures import FunnelStage
from fathoms.types.run.rows import AnswerScores
from tests.support.run_in_memory import RunInMemory

Stages = dict[str, dict[str, Any]]


def stage(recall: float | None, n: int, lost: float | None, gained: float | None = 0.0) -> dict[str, Any]:
    compared = n if lost is not None else 0
    gains = None if lost is None else gained
    return {"recall": recall, "n": n, "lost": lost, "gained": gains, "compared": compared}


KNOWN: Stages = {
    "documents": stage(0.75, 4, 0.25),
    "retrieved": stage(None, 0, None),
    "prompt": stage(0.5, 4, 0.25),
    "answer": stage(0.625, 5, 0.0, 0.125),
}
FUNNEL = {
    "overall": KNOWN,
    "categories": {"Tables": KNOWN},
    "left_out": {"common": 2, "yes-no": 1},
    "chance": 0.215,
    "estimate": "pdfium (pypdfium2 5)",
}


def run(funnel: dict[str, Any] | None, name: str = "r") -> Run:
    figures = {"overall": {"correctness": 0.6, "n": 5}, "categories": {}, "funnel": funnel}
    summary = {"name": name, "profile": "paper", "complete": True, "profiles": {"paper": figures}}
    return RunInMemory(name, {}, summary, lambda: [])


def printed(parts: Iterable[RenderableType], width: int = 80) -> list[str]:
    console = Console(width=width, record=True, color_system=None)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return [line.rstrip() for line in capture.get().splitlines() if line.strip()]


def test_the_terminal_shows_recall_over_losses_and_gains() -> None:
    """The number of questions stands where it is not that of the line."""
    lines = printed(drawn([funnel_section([run(FUNNEL)], "paper")]))
    assert lines[0].split()[-4:] == ["in", "the", "answer", "n"]
    assert lines[1].split() == ["Overall", "0.75", "(4)", "-", "0.50", "(4)", "0.62", "5"]
    assert lines[2].split() == ["-0.25", "(4)", "-0.25", "(4)", "+0.12"]
    assert lines[3].startswith("Tables")
    text = " ".join(lines)
    left_out = "2 whose answer also stands in many other documents, 1 with yes or no as the answer"
    assert (
        f"not counted: {left_out}; share of the other documents that contain an answer by chance: 0.21"
        in text
    )
    assert (
        "parser: assumed pdfium (pypdfium2 5), as it is not known how this pipeline reads documents" in text
    )
    assert max(map(len, lines)) <= 80


def test_losses_have_their_own_number_of_questions_and_overall_its_categories() -> None:
    """A loss over 7 of the 10 questions that recall is over, in one category; a stage known in one of two."""
    prompt = {**stage(0.1, 10, 1.0), "compared": 7}
    one = {**KNOWN, "prompt": prompt, "documents": stage(1.0, 7, 0.0), "answer": stage(0.0, 10, 0.1)}
    other = {**KNOWN, "documents": stage(None, 0, None)}
    overall = {**one, "documents": {**one["documents"], "categories": 1, "compared_categories": 1}}
    view = run({**FUNNEL, "overall": overall, "categories": {"Tables": one, "Images": other}})
    lines = printed(drawn([funnel_section([view], "paper")]))
    first = next(index for index, line in enumerate(lines) if line.startswith("Tables"))
    assert lines[first - 2].startswith("Overall*")
    assert lines[first].split()[1:] == ["1.00", "(7)", "-", "0.10", "0.00", "10"]
    assert lines[first + 1].split() == ["-1.00", "(7)", "-0.10"]
    text = " ".join(lines)
    assert (
        "* in the documents, recall: 1 of 2 categories; in the documents, lost and gained: 1 of 2 categories"
        in text
    )
    assert max(map(len, lines)) <= 80


def test_a_loss_too_small_to_print_is_not_printed() -> None:
    assert stage_cell(FunnelStage.model_validate(stage(0.5, 300, 0.004)), 300) == "0.50"


def test_a_run_that_tells_nothing_but_its_answers_has_no_table() -> None:
    answers = {name: stage(None, 0, None) for name in ("documents", "retrieved", "prompt")}
    bare = {**FUNNEL, "overall": {**answers, "answer": stage(0.5, 5, None)}}
    for funnel in (None, bare):
        assert funnel_of(run(funnel), "paper") is None
        assert funnel_section([run(funnel)], "paper") is None


def test_markdown_has_the_same_table_with_the_names_of_several_runs(tmp_path: Path) -> None:
    """What is said of all runs is said once."""
    text = report_markdown([run(FUNNEL, "a"), run({**FUNNEL, "chance": 0.5}, "b")], tmp_path, "paper")
    assert "| b | Tables | 0.75 (4) -0.25 (4) | - | 0.50 (4) -0.25 (4) | 0.62 +0.12 | 5 |" in text
    _, _, table = text.partition("## Phrase recall by stage")
    assert table.count("parser: assumed pdfium") == 1
    assert "\na: not counted: 2 whose answer" in text


def test_a_question_says_from_where_its_phrases_are_missing() -> None:
    scores = {
        "paper": {"funnel": {"documents": 1.0, "answer": 0.0, "missed": {"17 crowns": "retrieved"}}},
        "fathoms": {"funnel": {"left_out": "common", "missed": {}}},
        "released": {"funnel": None},
    }
    found = {name: AnswerScores.model_validate(values) for name, values in scores.items()}
    lines = [line.split() for line in printed(funnel_lines(found), 120)]
    assert ["paper", "1.00", "n/a", "n/a", "0.00", "17", "crowns:", "retrieved"] in lines
    assert ["fathoms", "n/a", "n/a", "n/a", "n/a", "not", "counted:", "whose", "answer"] in [
        line[:9] for line in lines
    ]
    assert not any("released" in line for line in lines)
