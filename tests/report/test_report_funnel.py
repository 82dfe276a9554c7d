"""The funnel as people see it: on the terminal, in Markdown, and of one question."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType

from fathoms.report.funnel import funnel_of, funnel_panel, funnel_section, stage_cell
from fathoms.report.leaderboard import leaderboard
from fathoms.report.question import funnel_lines
from fathoms.runs.run import Run
from fathoms.types.run.figures import FunnelStage
from fathoms.types.run.rows import AnswerScores
from tests.support.made_run import MadeRun

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


def run(funnel: dict[str, Any] | None) -> Run:
    figures = {"overall": {"correctness": 0.6, "n": 5}, "categories": {}, "funnel": funnel}
    summary = {"profile": "paper", "complete": True, "profiles": {"paper": figures}}
    return MadeRun("r", {}, summary, lambda: [])


def printed(parts: list[RenderableType], width: int = 80) -> list[str]:
    console = Console(width=width, record=True, color_system=None)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_terminal_shows_recall_over_losses_and_gains() -> None:
    lines = printed(funnel_panel(run(FUNNEL), "paper"))
    assert lines[0].split()[4:] == ["documents", "retrieved", "prompt", "answer", "n"]
    assert lines[1].split() == ["Overall", "0.75", "-", "0.50", "0.62", "4/0/4/5"]
    assert lines[2].split() == ["-0.25", "-0.25", "+0.12"]
    assert lines[3].startswith("Tables")
    text = " ".join(lines)
    left_out = "2 whose answer also stands in many other documents, 1 with yes or no as the answer"
    assert f"not counted: {left_out}; another document holds an answer by chance: 0.21" in text
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
    lines = printed(funnel_panel(view, "paper"))
    assert lines[1].split()[0] == "Overall*"
    first = next(index for index, line in enumerate(lines) if line.startswith("Tables"))
    assert lines[first].split()[-1] == "7/0/10/10"
    assert lines[first + 1].split() == ["-1.00", "-0.10", "7/0/7/10"]
    text = " ".join(lines)
    assert (
        "* in the documents, recall: 1 of 2 categories; in the documents, lost and gained: 1 of 2 categories"
        in text
    )
    assert max(map(len, lines)) <= 80
    ((_, rows, _),) = funnel_section([(view, leaderboard([view]).rows[0])])
    assert rows[1][7:9] == ["0.10 (10)", "1.00 (7)"]


def test_a_loss_too_small_to_print_is_not_printed() -> None:
    assert stage_cell(FunnelStage.model_validate(stage(0.5, 300, 0.004))) == "0.50\n"


def test_a_run_that_tells_nothing_but_its_answers_has_no_table() -> None:
    answers = {name: stage(None, 0, None) for name in ("documents", "retrieved", "prompt")}
    bare = {**FUNNEL, "overall": {**answers, "answer": stage(0.5, 5, None)}}
    for funnel in (None, bare):
        assert funnel_of(run(funnel), "paper") is None
        assert funnel_panel(run(funnel), "paper") == []
        view = run(funnel)
        assert list(funnel_section([(view, leaderboard([view]).rows[0])])) == []


def test_markdown_has_every_figure_with_its_questions() -> None:
    view = run(FUNNEL)
    ((_, rows, notes),) = funnel_section([(view, leaderboard([view]).rows[0])])
    assert rows[1] == [
        "Tables",
        *("0.75 (4)", "0.25 (4)", "0.00 (4)"),
        *("n/a", "n/a", "n/a"),
        *("0.50 (4)", "0.25 (4)", "0.00 (4)"),
        *("0.62 (5)", "0.00 (5)", "0.12 (5)"),
    ]
    assert len(notes) == 2


def test_a_question_says_from_where_its_phrases_are_missing() -> None:
    scores = {
        "paper": {"funnel": {"documents": 1.0, "answer": 0.0, "missed": {"17 crowns": "retrieved"}}},
        "fathoms": {"funnel": {"left_out": "common", "missed": {}}},
        "released": {"funnel": None},
    }
    found = {name: AnswerScores.model_validate(values) for name, values in scores.items()}
    lines = [line.split() for line in printed(funnel_lines(found), 120)]
    assert ["paper", "1.00", "n/a", "n/a", "0.00", "17", "crowns:", "retrieved"] in lines
    assert ["fathoms", "n/a", "n/a", "n/a", "n/a", "left", "out:", "common"] in lines
    assert not any("released" in line for line in lines)
