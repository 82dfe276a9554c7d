"""The screens that people see, compared with mock-ups in `screens/`, at 60, 80 and 120 columns.

The runs are golden ones. `python -m tests.cli.test_cli_screens` draws the mock-ups anew, to be looked at.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from fathoms.cli import main, results
from fathoms.compare.compare import compare
from fathoms.errors import UsageError
from fathoms.report.comparison import short_comparison
from fathoms.report.leaderboard import run_labels
from fathoms.report.lost import loss_sentence, lost_panel, lost_questions
from fathoms.report.of_sweeps import read_all_scores
from fathoms.report.terminal import ONLY, everything, only
from fathoms.runs.run import Run
from tests.golden.outputs import workplace

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (60, 80, 120)
EIGHT = ("dense", "bm25", "hybrid", "degraded", "expanded", "oracle", "whole-document", "closed-book")
SHOWN: Mapping[str, tuple[str, ...]] = {
    "one": ("dense",),
    "two": ("dense", "closed-book"),
    "eight": EIGHT,
    "judged": ("judged",),
    "failed": ("http-failed",),
    "searched": ("retrieval-only",),
    "settings": ("settings rag", "settings oracle", "settings closed-book"),
}
MOST = {"two": 23, "eight": 27, "settings": 32, "judged": 32, "compare": 8}
"""The most lines of a screen at 80 columns, without the last line of each run."""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A copy of the golden runs, as the current folder."""
    with workplace() as folder:
        yield folder


def drawn(parts: Iterable[RenderableType], width: int) -> str:
    """What a terminal of this width shows."""
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, highlight=False, emoji=False)
    for part in parts:
        console.print(part, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def screens(width: int) -> Iterator[tuple[str, str]]:
    """Every screen at a width, by the name of its mock-up."""
    out = Path("runs")
    for name, names in SHOWN.items():
        runs = [Run.open(one, out) for one in names]
        views = [Run.scored(run.path) for run in runs]
        worst = 5 if len(runs) == 1 else 0
        yield name, drawn(results.shown(views, runs, out, results.Figures(), worst), width)
    dense, degraded = (Run.open(one, out) for one in ("dense", "degraded"))
    scores = [read_all_scores(run, None) for run in (dense, degraded)]
    found = compare(scores, ["correctness", "hallucination"])
    views = [Run.scored(run.path) for run in (dense, degraded)]
    labels = dict(zip((view.original_id for view in views), run_labels(views), strict=True))
    yield "compare", drawn(short_comparison(found, labels), width)
    yield "lost", drawn(lost_panel(views[1], "retriever", "degraded"), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_screens_are_as_drawn(place: Path, width: int) -> None:
    for name, text in screens(width):
        assert text == (SCREENS / f"{name}-{width}.txt").read_text(encoding="utf-8"), name
        if width == 80:
            assert text.count("\n") <= MOST.get(name, 30), name


def test_a_screen_cuts_nothing_and_breaks_no_figure() -> None:
    for path in SCREENS.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        width = int(path.stem.rpartition("-")[2])
        assert "…" not in text
        commands = [line for line in text.splitlines() if "fathoms " in line]
        wide = [line for line in text.splitlines() if len(line) > width]
        assert set(wide) <= set(commands), path.name  # a command is never broken
        assert text.count("[") == text.count("]")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_nothing_of_all_figures_is_cut(place: Path, width: int) -> None:
    views = [Run.scored(Run.open(name, Path("runs")).path) for name in ("judged", "quotes")]
    text = drawn(everything(views), width)
    assert "…" not in text
    assert not re.search(r"^\s*[↑↓]", text, flags=re.MULTILINE)  # it belongs to a name
    ids = [view.original_id for view in views]
    assert [
        line for line in text.splitlines() if len(line) > width and not any(id in line for id in ids)
    ] == []


def test_only_shows_its_group_and_an_unknown_one_is_an_error(place: Path) -> None:
    view = Run.scored(Run.open("dense", Path("runs")).path)
    texts = {name: drawn(only([view], [name]), 80) for name in ONLY}
    assert "retrieval" in texts["retrieval"]
    assert "gold pages" in texts["pages"]
    assert "coverage" in texts["abstention"]
    assert "time of a question" in texts["time"]
    assert "phrase recall" in texts["lost"]
    assert "nothing is known of this run" in texts["reviews"]
    with pytest.raises(UsageError, match=r"--only retreival: there is no .*did you mean 'retrieval'"):
        list(only([view], ["retreival"]))


def test_the_questions_behind_a_loss_are_those_of_the_figure(place: Path) -> None:
    view = Run.scored(Run.open("degraded", Path("runs")).path)
    found = lost_questions(view, "retriever")
    lost = view.figures().funnel
    assert lost is not None
    # by hand: both questions of one of the three categories are lost
    assert {one.id for one in found} == {"visitors", "ore"}
    assert lost.overall.retrieved.lost == pytest.approx((0 + 2 / 2 + 0) / 3)
    with pytest.raises(UsageError, match="expected one of parser, retriever, prompt, model"):
        lost_questions(view, "retreiver")


def test_a_question_begins_with_what_lost_its_answer(place: Path) -> None:
    """The first cause is named before any text or figure: of the same question by run."""
    said = {}
    for name in ("degraded", "whole-document", "dense"):
        view = Run.scored(Run.open(name, Path("runs")).path)
        (wanted,) = (one for one in view.questions() if one.question.id == "visitors")
        said[name] = loss_sentence(wanted.question, wanted.repeats[0])
    assert said == {
        "degraded": "Lost by the retriever: page 3 was not found, and '1350' is in no retrieved text.",
        "whole-document": "Lost by the prompt limit: the passage with '1350' was retrieved, but did not fit"
        " into the prompt.",
        "dense": "Lost by the model: '1350' was in the prompt, but is not in the answer.",
    }


if __name__ == "__main__":
    with workplace():
        texts = {f"{name}-{width}": text for width in WIDTHS for name, text in screens(width)}
    SCREENS.mkdir(exist_ok=True)
    for name, text in texts.items():
        (SCREENS / f"{name}.txt").write_text(text, encoding="utf-8")


def test_a_report_prints_a_group_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "any", "--only", "losst"]) == 2
    assert "did you mean 'lost'" in capsys.readouterr().err
