"""What a person sees: 80 columns, whatever the names are."""

from __future__ import annotations

import io
import re
import shutil

import pytest
from rich.cells import cell_len
from rich.console import Console

from fathoms.errors import StoreError, amount_of
from fathoms.report.change import last_comparable
from fathoms.report.markdown import report_markdown
from fathoms.report.question import question_panel
from fathoms.report.terminal import leaderboard_panel, summary_panel
from fathoms.runs.run import Run
from fathoms.runs.views import scored_question
from fathoms.types.run.figures import ProfileFigures


def render(parts, width=80):
    """The lines a terminal shows; every one is checked to fit."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for part in parts:
        console.print(part)
    lines = console.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    return [line.rstrip() for line in lines]


def line_of(lines, start):
    return next(line for line in lines if line.strip().startswith(start)).split()


def test_the_papers_table_fits_and_reads(paper_runs):
    lines = render(leaderboard_panel(paper_runs), 120)
    own = [line for line in lines if line.startswith("gpt_4_1 closed ")]
    correctness, hallucination = (re.findall(r"\b[01]\.\d\d\b", line) for line in own)
    assert correctness == ["0.79", "0.90", "0.92", "0.79", "0.72", "0.64"]
    assert hallucination == ["0.20", "0.06", "0.08", "0.21", "0.24", "0.40"]
    text = " ".join(render(leaderboard_panel(paper_runs)))
    assert "Text-" in text
    assert "Document" in text
    assert "llama3_3-70b" in text


def with_categories(run, names):
    """The run with the figures of a category under other names."""
    figures = run.summary_json["profiles"]["paper"]
    figures["categories"] = dict.fromkeys(names, figures["categories"]["Tables"])
    run.summary_json["categories"] = names
    return run


def test_many_categories_take_several_tables(small_run):
    run = with_categories(small_run(), [f"Category number {index}" for index in range(20)])
    lines = render(leaderboard_panel([run, run]))
    assert sum(line.strip().startswith("correctness ↑ ") for line in lines) > 1
    assert "…" not in " ".join(lines)


@pytest.mark.parametrize("number", [1, 2, 5, 8])
def test_long_names_and_twelve_categories_fit_and_lose_no_figure(small_run, number):
    names = [f"A category with a long name, number {index}" for index in range(12)]
    runs = []
    for run in range(number):
        small = small_run(name="nightly evaluation with page images " * 3 + str(run), model="model" * 20)
        figures = small.summary_json["profiles"]["paper"]
        cell = figures["categories"]["Tables"]
        figures["categories"] = {
            name: {**cell, "correctness": 0.81 + index / 100} for index, name in enumerate(names)
        }
        small.summary_json["categories"] = names
        runs.append(small)
    text = "\n".join(render(leaderboard_panel(runs)))
    for index in range(12):
        assert text.count(f"{0.81 + index / 100:.2f}") == number
    if number == 1:
        assert all(f"number {index}" in " ".join(text.split()) for index in range(12))


def test_one_run_has_a_line_for_each_category_with_denominators(small_run):
    lines = render(leaderboard_panel([small_run()]))
    assert line_of(lines, "Tables") == ["Tables", "0.75", "0.00", "0.50", "2", "0"]
    assert line_of(lines, "Images") == ["Images", "0.00", "1.00", "(1)", "0.00", "2", "1"]
    assert line_of(lines, "Overall") == ["Overall", "0.38", "0.50", "(3)", "0.25", "4", "1"]
    assert line_of(lines, "Questions") == ["Questions", "0.38", "0.33", "(3)", "0.33", "4", "1"]


def test_the_summary_shows_failures_and_the_worst_questions_in_order(small_run):
    lines = render(summary_panel(small_run()))
    text = " ".join(line.strip() for line in lines)
    assert line_of(lines, "1 ")[:2] == ["1", "Timeout"]
    assert "no answer within 300 s" in text
    assert "4 of 4 questions asked, 3 answered, 1 failed, 300 tokens in, 40 out, cost $0.013, 10 s" in text
    some_lines = [line for line in lines if "What about" in line]
    assert [line.split()[0] for line in some_lines] == ["wrong", "failed", "half"]
    assert some_lines[1].split()[1:3] == ["0.00", "n/a"]


def test_calls_besides_the_answers_are_shown_with_their_cost(small_run):
    took = {"calls": 2, "prompt_tokens": 2000, "completion_tokens": 20, "cost": 2.1}
    unknown = {"calls": 1, "prompt_tokens": None, "completion_tokens": 3, "cost": None}
    small = small_run(usage_by_purpose={"answer": took, "describe": took, "rerank": unknown, "judge": took})
    expected = [
        "of these, describe: 2 calls, 2,000 tokens in, 20 out, $2.10",
        "of these, rerank: 1 call, tokens not known, cost not known",
    ]
    shown = [line.strip() for line in render(summary_panel(small))]
    assert [line for line in shown if line.startswith("of these")] == expected
    markdown = report_markdown([small], small.path).splitlines()
    (first, _) = (line for line in markdown if "of these, " in line)
    assert first.endswith("of these, describe: 2 calls, 2,000 tokens in, 20 out, &#36;2.10")


def test_a_long_id_is_folded_and_never_cut(small_run, run_of, question):
    long = "-".join(f"part{index}" for index in range(12))
    run = run_of(
        small_run().summary_json, [question(long, 0.0, 1.0, text="w " * 99), question("b", 0.0, 0.0)]
    )
    lines = render(summary_panel(run))
    first = next(index for index, line in enumerate(lines) if "part0" in line)
    assert long in "".join(line.split()[0] for line in lines[first : first + 7])


def test_answerable_or_not_by_answered_or_not(small_run):
    run = small_run()
    figures = run.summary_json["profiles"]["paper"]
    figures["abstention_table"]["unanswerable"] = {"answered": 6, "abstained": 2}
    lines = render(summary_panel(run))
    assert line_of(lines, "answerable") == ["answerable", "2", "(0.67)", "1", "(0.33)"]
    assert line_of(lines, "unanswerable") == ["unanswerable", "6", "(0.75)", "2", "(0.25)"]
    assert line_of(lines, "answers") == ["answers", "answered", "abstained"]  # repeats count each
    assert "coverage 0.67 [0.21, 0.94] (3)" in lines
    assert "selective accuracy 0.50 [0.09, 0.91] (2)" in lines
    assert "abstentions classified by 1-nn" in " ".join(lines)
    run = small_run()
    run.summary_json["profiles"]["paper"]["abstention_table"] = None
    assert not any("answerable" in line for line in render(summary_panel(run)))


def test_every_document_that_was_left_out_has_a_line(ingested_run):
    failures = {"a.pdf": "needs a password", "[b]\x1b.pdf": "is empty"}
    lines = render(summary_panel(ingested_run({"documents": 3, "failures": failures})))
    assert "not read: a.pdf: needs a password" in lines
    assert "not read: [b].pdf: is empty" in lines
    for nothing in (None, {}, {"documents": 3, "failures": {}}):
        assert not any("not read" in line for line in render(summary_panel(ingested_run(nothing))))


def test_ids_stand_whole_below_the_comparison(small_run, run_of):
    ids = [f"20260102T030405678Z_{'n' * 40}_0a1b2c3{digit}" for digit in "de"]
    lines = render(leaderboard_panel([run_of({**small_run().summary_json, "run": id}) for id in ids]))
    assert [sum(line == id for line in lines) for id in ids] == [1, 1]


def test_an_incomplete_run_says_why(small_run):
    lines = render(summary_panel(small_run(complete=False, incomplete=["1 of 2 categories was asked"])))
    assert any("Overall¹" in line for line in lines)
    assert any("¹ incomplete: 1 of 2 categories was asked" in line for line in lines)


def test_the_change_to_the_last_run(small_run, run_of):
    run, before = small_run(), small_run()
    before.summary_json["profiles"]["paper"]["overall"] |= {"correctness": 0.25, "hallucination": 0.75}
    text = " ".join(render(summary_panel(run, before)))
    assert "correctness +0.12, hallucination -0.25 (the same questions)" in text
    fewer = run_of(before.summary_json, list(before.views())[:3])
    text = " ".join(render(summary_panel(run, fewer)))
    assert "not comparable, it asked other questions (3 the same; 4 here, 3 there)" in text
    assert "hallucination -" not in text
    assert "Change since small of 02 Jan 03:04: not comparable" in text
    unscored = small_run(profiles={})
    assert "it has no scores under the profile 'paper'" in " ".join(render(summary_panel(run, unscored)))


def test_the_last_comparable_run_is_the_newest_with_the_same_questions(small_run, run_of):
    run, *views = small_run(), *small_run().views()
    fewer = run_of({**run.summary_json, "run": "fewer"}, views[:3])
    other = {**views[0], "question": {**views[0]["question"], "answers": [["green"]]}}
    regraded = run_of({**run.summary_json, "run": "gold"}, [other, *views[1:]])
    same, older = (run_of({**run.summary_json, "run": name}, views[::-1]) for name in ("same", "older"))
    assert last_comparable(run, iter([fewer, regraded, same, older])) is same
    assert last_comparable(run, [fewer, regraded]) is None
    assert last_comparable(run, []) is None


def test_an_earlier_run_with_a_damaged_question_is_passed_over(run_dir):
    run, same = Run.scored(run_dir), Run.scored(run_dir)
    assert last_comparable(run, [same]) is same
    other = run_dir.with_name("damaged")
    shutil.copytree(run_dir, other)
    (other / "questions" / "half.json").write_text("{")
    assert last_comparable(run, [Run.scored(other), same]) is same
    with pytest.raises(StoreError):
        last_comparable(Run.scored(other), [same])


def test_a_change_of_gold_is_another_question(small_run, run_of, question):
    run = small_run()
    regraded = run_of(
        run.summary_json, [question("right", 1.0, 0.0, answers=[["green"]]), *list(run.views())[1:]]
    )
    assert "(3 the same; 4 here, 4 there)" in " ".join(render(summary_panel(run, regraded)))


def test_names_and_answers_are_neither_markup_nor_control(small_run, run_of, question):
    answer = {"text": "\x1b]0;owned\x07[red]x[/red] \u202e" + "y" * 2**20}
    names = {
        "name": "[bold]n[/bold]\x1b[31m",
        "model": "[/]",
    }
    views = [question("[q]", 0.0, 1.0, answer=answer, text="[b]?\0")]
    result = with_categories(small_run(), ["[link=x]c", "[/]", "[red]", "Tables", "Images"])
    run = run_of({**result.summary_json, **names}, views)
    text = "\n".join(render(summary_panel(run)) + render(leaderboard_panel([run, run])))
    assert "[bold]n[/bold]" in text
    assert "[red]x[/red]" in text
    assert "[link=x]c" in text
    assert line_of(text.splitlines(), "correctness ↑")[5:8] == ["[link=x]c", "[/]", "[red]"]
    assert not any(sign in text for sign in "\x1b\x07\0\u202e")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_bare_summary_is_shown_at_any_width(run_of, width):
    bare = run_of({"run": "r", "name": "n", "profile": "paper", "profiles": {"paper": {}}})
    text = " ".join(render(summary_panel(bare), width))
    assert "n/a" in text
    assert "incomplete: the run does not say why" in " ".join(text.split())


def test_a_perfect_run_lists_no_worst_question(small_run, run_of, question):
    run = run_of({**small_run().summary_json, "errors": {}}, [question("a", 1.0, 0.0)])
    text = " ".join(render(summary_panel(run)))
    assert "worst" not in text
    assert "first message" not in text


def test_one_question_whole(question):
    lines = render(question_panel(scored_question(question("q1", 0.5, 1.0))))
    text = "\n".join(lines)
    assert "gold: red + blue or purple" in text
    assert "answer: The answer to q1." in text
    assert "prompt: 12 tokens, 1 chunks cut" in text
    assert line_of(lines, "1 ") == ["1", "0.50", "a.pdf", "2", "red", "things"]
    assert line_of(lines, "paper") == ["paper", "0.50", "1.00", "no", "blue"]
    assert "paper: statement: It is red. (nearest exemplar)" in lines


def test_a_question_over_many_documents_is_cut_unless_all_is_wanted(question):
    """By hand: of 30 rows 12 are shown, and of 28 hits 20."""
    view = question("q1", 0.5, 1.0)
    view["question"]["metadata"] = {"rule": "sum", "rows": ", ".join(map(str, range(1, 31)))}
    (hit,) = view["repeats"][0]["hits"]
    view["repeats"][0]["hits"] = [{**hit, "rank": rank} for rank in range(1, 29)]
    whole = scored_question(view)
    text = " ".join("\n".join(render(question_panel(whole))).split())
    assert "rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 18 more (--all)" in text
    assert text.count("red things") == 20
    assert " and 8 more (--all) " in text
    text = " ".join("\n".join(render(question_panel(whole, everything=True))).split())
    assert "28, 29, 30" in text
    assert text.count("red things") == 28
    assert "more (--all)" not in text


def test_what_was_set_aside_of_an_answer(question):
    view = question("q1", 0.5, 1.0)
    view["repeats"][0]["answer"]["text"] = "<think>Blue?</think>It is red[1].\n\nSources: a.pdf, p. 2"
    kinds = ("citation", "sources")
    text = "\n".join(render(question_panel(scored_question(view), ProfileFigures(set_aside=kinds))))
    assert "not scored (reasoning): <think>Blue?</think>" in text
    assert "not scored (citation): [1]" in text
    assert "not scored (sources): Sources: a.pdf, p. 2" in text
    text = "\n".join(render(question_panel(scored_question(view), ProfileFigures(set_aside=("citation",)))))
    assert "not scored (sources)" not in text
    assert "not scored" not in "\n".join(render(question_panel(scored_question(view), ProfileFigures())))
    view["question"]["reading"] = "raw"
    text = "\n".join(render(question_panel(scored_question(view), ProfileFigures(set_aside=kinds))))
    assert "set aside" not in text


def test_one_question_that_failed(question):
    error = {"kind": "Timeout", "message": "too slow\x1b[0m"}
    view = question("q1", 0.0, None, answer=None, error=error)
    text = "\n".join(render(question_panel(scored_question(view))))
    assert "failed: Timeout: too slow[0m" in text
    assert "\nanswer:" not in text


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, ""), (1, "1 prompt was cut by the server"), (3, "3 prompts were cut by the server")],
)
def test_prompts_that_the_server_cut_are_told(small_run, number, said):
    counts = {**small_run().summary_json["counts"], "cut_by_server": number}
    text = " ".join(render(summary_panel(small_run(counts=counts))))
    assert said in text
    assert ("cut by the server" in text) is bool(number)


def test_a_prompt_that_the_server_cut(question):
    view = question("q1", 0.5, 1.0)
    assert "cut by the server" not in "\n".join(render(question_panel(scored_question(view))))
    view["repeats"][0]["answer"]["prompt_cut"] = True
    assert "chunks cut, cut by the server" in "\n".join(render(question_panel(scored_question(view))))


def test_what_a_pipeline_does_not_tell_is_not_known(question):
    view = question("q1", 0.5, 1.0)
    view["repeats"][0]["hits"] = None
    assert "retrieved: not known" in "\n".join(render(question_panel(scored_question(view))))
    view["repeats"][0]["hits"] = []
    assert "retrieved:" not in "\n".join(render(question_panel(scored_question(view))))


def test_refusals_are_shown_and_counted(question, small_run):
    view = question("q1", 0.0, 0.0)
    view["repeats"][0]["answer"] = {"text": "", "refusal": "content_filter"}
    assert "refused: content_filter" in "\n".join(render(question_panel(scored_question(view))))
    counts = {**small_run().summary_json["counts"], "refused": 2}
    assert "2 refused" in " ".join(render(summary_panel(small_run(counts=counts))))
    assert "refused" not in " ".join(render(summary_panel(small_run())))


def test_hallucinations_of_two_judges_have_no_difference(small_run):
    runs = [small_run(), small_run(run="earlier")]
    assert "hallucination 0.00" in " ".join(render(summary_panel(*runs)))
    runs = [small_run(), small_run(run="earlier")]
    for run, key in zip(runs, ("a", "b"), strict=True):
        run.summary_json["profiles"]["paper"]["classifier_key"] = key
    assert "correctness 0.00, hallucination n/a" in " ".join(render(summary_panel(*runs)))


@pytest.mark.parametrize(
    ("what", "of_one"),
    [
        ("answers that do not state one number", "answer that does not state one number"),
        ("replies without a short and a long answer", "reply without a short and a long answer"),
        ("pieces of evidence without a page", "piece of evidence without a page"),
        ("retrieved chunks without a page", "retrieved chunk without a page"),
        ("nuggets that a language model drafted", "nugget that a language model drafted"),
        (
            "claims without a probability, which are in no expected count",
            "claim without a probability, which is in no expected count",
        ),
        (
            "questions of several hops that their evidence does not tell apart",
            "question of several hops that its evidence does not tell apart",
        ),
        ("reached", "reached"),
    ],
)
def test_what_is_counted_once_stands_in_the_singular(what: str, of_one: str) -> None:
    assert (amount_of(1, what), amount_of(2, what)) == (f"1 {of_one}", f"2 {what}")
