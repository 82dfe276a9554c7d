"""Runs as rows: the paper's figures, hand-worked cells, marks of incomplete runs, the JSON shape."""

from __future__ import annotations

import json

import pytest

from fathoms.errors import DataError, UsageError
from fathoms.report.as_json import report_json
from fathoms.report.leaderboard import leaderboard, run_labels
from fathoms.report.shrunk import shrunk_section
from fathoms.report.terminal import leaderboard_panel
from fathoms.text.amounts import figure
from fathoms.types.run.figures import Means
from tests.support.report_runs import example_runs

# As printed in Table II of the paper, correctness then hallucination.
PRINTED = {
    "gemma3-4b LlamaIndex": "0.23 0.49 0.15 0.21 0.19 0.12 / 0.53 0.35 0.54 0.43 0.72 0.60",
    "gpt_4_1 closed": "0.79 0.90 0.92 0.79 0.72 0.64 / 0.20 0.06 0.08 0.21 0.24 0.40",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_papers_table_to_the_printed_digit(paper_runs, name):
    table = leaderboard(paper_runs)
    row = next(row for row in table.rows if row.name == name)
    cells = [row.overall, *map(row.cell, table.categories)]
    printed = [
        " ".join(figure(cell.mean(metric)) for cell in cells) for metric in ("correctness", "hallucination")
    ]
    assert " / ".join(printed) == PRINTED[name]


FILES = {
    "gemma3-1b LlamaIndex": "gemma3-1b__LlamaIndex_RAG",
    "gemma3-4b LlamaIndex": "gemma3-4b__LlamaIndex_RAG",
    "llama3_3-70b LlamaIndex": "llama3_3-70b__LlamaIndex_RAG",
    "gemma3-1b Docling": "gemma3-1b_Docling_with_easyOCR",
    "gpt_oss-20b Docling": "gpt_oss-20b_Docling_with_easyOCR",
    "llama3_3-70b Docling": "llama3_3-70b_Docling_with_easyOCR",
    "gpt_4_1 closed": "gpt_4_1_openai_api",
    "gpt_4o closed": "gpt_4o_openai_api",
}


def test_the_released_means_print_as_the_papers_table(paper_runs, run_of, shared):
    for paper in paper_runs:
        file = shared / "fathoms-rag" / "results" / f"{FILES[paper.name]}.json"
        released = json.loads(file.read_text())
        scores = released["scores"]
        categories = {
            name: {"correctness": scores[name], "hallucination": scores[f"{name} Hallucination Rate"]}
            for name in paper.summary.categories
        }
        rates = {
            "correctness": released["overall_score"],
            "hallucination": released["total_hallucination_rate"],
        }
        figures = {"overall": rates, "categories": categories}
        run = run_of({**paper.summary_json, "profile": "released", "profiles": {"released": figures}})
        assert printed(leaderboard([run])) == printed(leaderboard([paper]))


def printed(table):
    """The figures of the first row as they are printed."""
    cells = [cell for name, cell in table.cells(table.rows[0]) if name != "Micro"]
    return [figure(cell.mean(metric)) for cell in cells for metric in ("correctness", "hallucination")]


def test_an_eighth_is_printed_as_python_rounds_it():
    assert [figure(0.125), figure(0.375), figure(None), figure(0.0), figure(1)] == [
        "0.12",
        "0.38",
        "n/a",
        "0.00",
        "1.00",
    ]


def test_the_small_run(small_run):
    (row,) = leaderboard([small_run()]).rows
    assert (row.overall.correctness, row.overall.hallucination) == (0.375, 0.5)
    assert row.micro.hallucination == pytest.approx(1 / 3)
    assert row.cell("Images").count("hallucination") == 1
    assert row.mark == ""


def test_a_category_that_a_run_lacks_is_empty_and_the_others_keep_their_order(small_run, paper_runs):
    table = leaderboard([paper_runs[0], small_run()])
    assert table.categories == (*paper_runs[0].summary.categories,)
    assert table.rows[1].cell("Text-Only") == Means()


def test_incomplete_runs_share_the_mark_of_a_shared_reason(small_run):
    lacking = small_run(complete=False, incomplete=["Cross has no question."])
    other = small_run(complete=False, incomplete=["stopped", "2 questions are missing"])
    table = leaderboard([lacking, small_run(), other, lacking])
    assert [row.mark for row in table.rows] == ["¹", "", "²", "¹"]
    assert table.notes == (
        "¹ incomplete: Cross has no question",
        "² incomplete: stopped; 2 questions are missing",
        table.notes[-1],
    )
    assert table.notes[-1].startswith("Rank 1 to 2: with these questions")


def test_mixed_profiles_are_said_not_to_be_comparable(small_run, run_of):
    ours = small_run()
    profiles = {"fathoms": ours.summary_json["profiles"]["paper"]}
    other = run_of({**ours.summary_json, "profile": "fathoms", "profiles": profiles})
    assert "fathoms and paper" in leaderboard([ours, other]).notes[-1]
    assert not any("comparable" in note for note in leaderboard([ours, ours], "paper").notes)


@pytest.mark.slow
def test_ranks_are_intervals(small_run, paper_runs):
    ours = small_run()
    both = leaderboard([ours, ours])
    assert both.notes == (
        "Rank 1 to 2: with these questions, its place is between first and second (95 % confidence).",
    )
    assert [row.rank_text for row in both.rows] == ["1 to 2"] * 2
    # half of 120 answers are right, a third, and none; both runs are right on every sixth
    shown = example_runs()
    assert [row.is_best for row in leaderboard(shown).rows] == [True, False, False]
    assert [run["rank"] for run in report_json(shown)] == [(1, 1), (2, 2), (3, 3)]
    unknown = leaderboard([paper_runs[0], ours])
    assert unknown.notes == ("Ranks are not known, because the runs were not asked the same questions.",)
    assert [row.rank_text for row in unknown.rows] == ["-", "-"]


def test_one_question_that_differs_removes_no_ranks(question, small_run, run_of):
    """Ranks are of the questions that all runs were asked alike, and the note names the others."""

    def run(name, gold):
        views = [question(f"q{number}", float(name == "a"), 0.0) for number in range(8)]
        views[2]["question"]["answers"] = [[gold]]
        return run_of({**small_run().summary_json, "name": name}, views)

    alike = leaderboard([run("a", "x"), run("b", "x")])
    other = leaderboard([run("a", "x"), run("b", "y")])
    assert [row.rank for row in other.rows] == [row.rank for row in alike.rows] == [(1, 1), (2, 2)]
    assert other.notes[0] == (
        "Ranks are of the 7 of 8 questions that all runs answered with the same gold answer; not counted: q2."
    )


def test_labels_tell_runs_apart(small_run, run_of):
    run, other = small_run(), small_run(model="other")
    again = run_of({**run.summary_json, "run": "20260103T000000000Z_small_0a1b2c3d"})
    assert run_labels([run, small_run(name="n")]) == ["small", "n"]
    assert run_labels([run, other]) == ["small (a-model)", "small (other)"]
    assert run_labels([run, again, other]) == ["small (02 Jan)", "small (03 Jan)", "small (other)"]


def test_the_json_shape_is_exact_and_unrounded(small_run):
    (shown,) = report_json([small_run()])
    metrics = shown.pop("metrics")
    seconds = {stage: one["value"] for stage, one in shown.pop("seconds").items()}
    assert seconds == {"retrieve": 0.5, "prompt": 0.125, "generate": 9.0}
    assert shown.pop("ingest_seconds") == {}
    assert [shown] == [
        {
            "run": "20260102T030405678Z_small_0a1b2c3d",
            "name": "small",
            "model": "a-model",
            "profile": "paper",
            "rank": None,
            "overall": {
                "correctness": 0.375,
                "hallucination": 0.5,
                "micro_correctness": 0.375,
                "micro_hallucination": 1 / 3,
                "n": 4,
                "errors": 1,
                "intervals": None,
            },
            "categories": {
                "Tables": {"correctness": 0.75, "hallucination": 0.0, "n": 2, "intervals": None},
                "Images": {"correctness": 0.0, "hallucination": 1.0, "n": 2, "intervals": None},
            },
            "funnel": None,
            "abstention_table": {
                "answerable": {"answered": 2, "abstained": 1},
                "unanswerable": {"answered": 0, "abstained": 0},
            },
            "abstention_rates": small_run().summary_json["profiles"]["paper"]["abstention_rates"],
            "agreement": None,
        }
    ]
    assert list(metrics) == ["correctness", "hallucination", "abstention", "coverage", "selective-accuracy"]
    unknown = {"low": None, "high": None}
    assert metrics["hallucination"] == {
        "overall": {"value": 0.5, **unknown, "n": 3},
        "micro": {"value": 1 / 3, **unknown, "n": 3},
        "categories": {
            "Tables": {"value": 0.0, **unknown, "n": 2},
            "Images": {"value": 1.0, **unknown, "n": 1},
        },
        "direction": "lower",
        "unit": "share",
        "judge": None,
        "missing": None,
    }


def test_scores_that_a_run_does_not_have(small_run):
    with pytest.raises(DataError, match=r"no scores 'released' \(available: paper\)"):
        report_json([small_run()], "released")
    with pytest.raises(UsageError, match=r"no scores 'papr' \(did you mean 'paper'\?\)"):
        report_json([small_run()], "papr")
    with pytest.raises(UsageError, match=r"no scores 'foo' \(available: paper, .*released\)"):
        leaderboard_panel([small_run()] * 2, "foo")
    with pytest.raises(DataError, match="fathoms score"):
        leaderboard_panel([small_run(profiles={})])


def test_scores_under_a_profile_of_its_own_are_shown(small_run):
    run = small_run()
    run.summary_json["profiles"]["mine"] = run.summary_json["profiles"]["paper"]
    assert report_json([run], "mine")[0]["profile"] == "mine"


def test_a_summary_with_nothing_in_it_reports_nothing(run_of):
    bare = run_of({"run": "r", "name": "n", "profile": "paper", "profiles": {"paper": {}}})
    (found,) = report_json([bare])
    assert found["overall"] == {
        "correctness": None,
        "hallucination": None,
        "micro_correctness": None,
        "micro_hallucination": None,
        "n": 0,
        "errors": 0,
        "intervals": None,
    }
    assert found["categories"] == {}
    assert json.loads(json.dumps(found)) == found


def test_three_categories_cannot_be_shrunk():
    (run,) = example_runs(["alpha"])
    assert report_json([run], shrink=True)[0]["shrunk"] == {}
    section = shrunk_section([run])
    assert (section.rows, section.notes[1]) == ([], "fewer than four categories, which cannot be shrunk")
