"""Reading runs from disk, the worst questions, the Markdown, the schemas, and all files of a report."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from markdown_it import MarkdownIt

from fathoms.errors import DataError, StoreError, UsageError
from fathoms.report.markdown import escape, report_markdown
from fathoms.report.terminal import summary_panel
from fathoms.report.worst import first_messages, worst_questions
from fathoms.report.write import write_report
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply
from tests.support.run_in_memory import changed
from tests.support.schemas import NAMES, schema

pytestmark = pytest.mark.slow  # they draw


def html_of(markdown):
    """Markdown as GitHub-flavoured HTML, raw HTML let through."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)


# ----- reading


def test_load_reads_a_run_and_questions_anew_each_time(run_dir):
    run = Run.scored(run_dir)
    assert (run.original_id, run.name, run.summary.model, run.profile()) == (
        run_dir.name,
        "small",
        "a-model",
        "paper",
    )
    assert [view["question"]["id"] for view in run.views()] == ["failed", "half", "right", "wrong"]
    assert len(list(run.questions())) == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("summary.json", None, "fathoms score"),
        ("manifest.json", None, "is not a run"),
        ("manifest.json", "{", "cannot be read"),
        ("manifest.json", "[]", "a JSON object is needed"),
        ("summary.json", '{"schema": 2}', "update fathoms"),
        ("summary.json", '{"schema": "1"}', "is unknown"),
        ("questions/half.json", "\x00", "half.json"),
    ],
)
def test_a_damaged_run_is_named(run_dir, name, text, message):
    (run_dir / name).unlink()
    if text is not None:
        (run_dir / name).write_text(text)
    with pytest.raises(StoreError, match=message):
        list(Run.scored(run_dir).questions())


# ----- the worst questions


def test_the_worst_come_first_and_right_answers_do_not_come(small_run):
    found = worst_questions(small_run(), "paper")
    assert [miss.id for miss in found] == ["wrong", "failed", "half"]
    assert found[1].error == "Timeout: no answer within 300 s"
    assert [miss.id for miss in worst_questions(small_run(), "paper", limit=1)] == ["wrong"]
    assert worst_questions(small_run(), "fathoms") == []


def test_repeats_count_by_their_mean_and_show_the_worst_answer(run_of, question, small_run):
    view, other = question("q", 1.0, 0.0), question("q", 0.5, 1.0, answer={"text": "the bad one"})
    view["repeats"].append({**other["repeats"][0], "repeat": 1})
    (miss,) = worst_questions(run_of(small_run().summary_json, [view]), "paper")
    assert (miss.correctness, miss.hallucination, miss.answer) == (0.75, 0.5, "the bad one")


def test_an_answer_to_an_unanswerable_question_stands_with_the_zeros(run_of, question, small_run):
    views = [
        question("half", 0.5, 1.0),
        question("made-up", None, 1.0, answerable=False),
        question("abstained", None, 0.0, answerable=False),
    ]
    found = worst_questions(run_of(small_run().summary_json, views), "paper")
    assert [miss.id for miss in found] == ["made-up", "half"]
    assert found[0].gold == "(not answerable from the documents)"


def test_the_first_message_of_every_kind(run_of, question, small_run):
    errors = [{"kind": kind, "message": f"{kind} {n}"} for n, kind in enumerate(["A", "A", "B"])]
    views = [question(str(n), 0.0, None, answer=None, error=error) for n, error in enumerate(errors)]
    run = run_of({**small_run().summary_json, "errors": {"A": 2, "B": 1}}, views)
    assert first_messages(run) == {"A": "A 0", "B": "B 2"}


# ----- Markdown


def test_the_report_of_one_run(run_dir):
    text = report_markdown([Run.scored(run_dir)], run_dir)
    for line in (
        "| Category | Correctness ↑ | Hallucination ↓ | Abstained | N | Failed |",
        "| Overall | 0.38 | 0.50 (3) | 0.25 | 4 | 1 |",
        "| Questions | 0.38 | 0.33 (3) | 0.33 | 4 | 1 |",
        "| Tables | 0.75 | 0.00 | 0.50 | 2 | 0 |",
        "| Images | 0.00 | 1.00 (1) | 0.00 | 2 | 1 |",
    ):
        assert f"\n{line}\n" in text
    first = next(line for line in text.splitlines() if line.startswith("|"))
    assert first == "|   | Correctness | Hallucination | Abstained | Failed |"
    assert "| answerable | 2 (0.67) | 1 (0.33) |" in text
    assert "| unanswerable | 0 | 0 |" in text
    assert "\ncoverage 0.67 \\[0.21, 0.94\\] (3).\n" in text
    assert "\nselective accuracy 0.50 \\[0.09, 0.91\\] (2).\n" in text
    assert (
        "| small | paper | substring | both | 1-nn (unit answer) | 0.38 | 0.38 | 0.50 | 0.33 | 0.25 | 4 |"
        in text
    )
    assert "| small | Timeout | no answer within 300 s | 1 |" in text
    assert "| small | 300 | 40 | 0.0125 | 0 | 0 | 0 | 10.0 |" in text
    assert "| small | 500 ms | 125 ms | 9 s |" in text
    assert "[wrong](questions/wrong.json)" in text
    assert "red + blue or purple" in text
    assert "![Correctness as a radar plot](radar-correctness.svg)" in text


def test_the_report_of_several_runs_has_a_line_a_run(run_dir):
    text = report_markdown([Run.scored(run_dir), Run.scored(run_dir)], run_dir)
    assert text.count(" | 1 to 2 | 0.38 | 0.38 | 0.75 | 0.00 |\n") == 2
    assert "\n| n |  | 4 | 4 | 2 | 2 |\n" in text
    assert text.count(" | 0.50 | 0.33 | 0.00 | 1.00 |\n| n | 3 | 3 | 2 | 1 |\n") == 1
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(set(titles)) == len(titles)


def test_intervals_stand_in_the_table_and_are_told_once(small_run, tmp_path):
    run = small_run()
    found = {"low": 0.17, "high": 1.0, "method": "wilson", "n": 4}
    run.summary_json["profiles"]["paper"]["overall"]["intervals"] = {"correctness": found}
    text = report_markdown([run], tmp_path)
    assert "| Overall | 0.38 \\[0.17, 1.00\\] | 0.50 (3) | 0.25 | 4 | 1 |" in text
    assert report_markdown([run, run], tmp_path).count("95 % intervals, for other questions") == 1
    reported = report_markdown([run, small_run(name="other")], tmp_path)
    assert "\nsmall: \\[low, high\\]: 95 % intervals" in reported


def test_every_table_has_as_many_cells_in_each_line(paper_runs, small_run, tmp_path):
    text = report_markdown([*paper_runs, small_run(complete=False, incomplete=["a | b"])], tmp_path)
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert html_of(text).count("<table>") == 11
    assert "¹ incomplete: a \\| b" in text


def test_all_files_together_read_the_questions_once(small_run, tmp_path):
    """Reading them takes longer than all the rest of a large report."""
    run, read = small_run(), []
    counted = changed(run, views=lambda: read.append(run) or run.views())
    write_report([counted], tmp_path, html=False, plots=False)
    summary_panel(counted, None)
    # for the scores, the lines of scores.csv, the worst questions and the first messages
    assert len(read) == 4
    summary_panel(counted, None)
    assert len(read) == 4


def test_released_scores_know_no_rules(small_run, run_of, tmp_path):
    figures = {
        **small_run().summary_json["profiles"]["paper"],
        "match": None,
        "hyphens": None,
        "classifier": None,
        "abstention_table": None,
        "abstention_rates": None,
    }
    run = run_of({**small_run().summary_json, "profiles": {"released": figures}})
    text = report_markdown([run], tmp_path, "released")
    assert "| small | released | n/a | n/a | n/a | 0.38 |" in text
    assert "## Abstention" not in text


def test_what_was_read_of_the_documents(ingested_run, small_run, tmp_path):
    ingest = {"documents": 3, "pages": 40, "tables": None, "pictures": 5, "chunks": 210}
    ingest |= {
        "warnings": {"odd.pdf": ["page 2 has no text", "repaired"]},
        "failures": {"b|d.pdf": "is empty"},
    }
    text = report_markdown([ingested_run(ingest), small_run()], tmp_path)
    assert "## Documents" in text
    assert "| 3 | 40 | n/a | 5 | 210 | 1 |" in text
    assert "| b\\|d.pdf | not read | is empty |" in text
    assert "| odd.pdf | warning | page 2 has no text |" in text
    assert "| odd.pdf | warning | repaired |" in text
    without = report_markdown([small_run(), small_run()], tmp_path)
    assert html_of(text).count("<table>") == html_of(without).count("<table>") + 2


@pytest.mark.parametrize("ingest", [None, {}])
def test_a_run_without_documents_has_no_section_on_them(ingested_run, tmp_path, ingest):
    assert "## Documents" not in report_markdown([ingested_run(ingest)], tmp_path)


def test_links_lead_to_the_run_from_anywhere(run_dir, tmp_path):
    out = tmp_path / "reports" / "both"
    text = report_markdown([Run.scored(run_dir)], out)
    for target in re.findall(r"\]\((\.\./[^)]*)\)", text):
        assert (out / target).resolve().exists()
    assert f"(../../{run_dir.name}/questions/wrong.json)" in text


HOSTILE = (
    "<img src=x onerror=alert(1)> | `code` </td></table> ![x](http://e.example/p.png) [l](javascript:1) "
    "**bold** _em_ ~~gone~~ $x^2$ &lt; \\| {{ braces }} www.e.example\n# head\n\n| a |\n\0\u202e"
)


def test_hostile_text_is_shown_and_does_nothing(run_of, question, small_run, tmp_path):
    changes = {"name": HOSTILE, "model": HOSTILE, "data": HOSTILE, "complete": False, "incomplete": [HOSTILE]}
    ingest = {"documents": 1, "warnings": {HOSTILE: [HOSTILE]}, "failures": {HOSTILE: HOSTILE}}
    changes |= {"errors": {HOSTILE: 1}, "categories": [HOSTILE, "Tables", "Images"]}
    error = {"kind": HOSTILE, "message": HOSTILE}
    views = [
        question("a|b<i>", 0.0, 1.0, text=HOSTILE, answers=[[HOSTILE]], answer={"text": HOSTILE}),
        question("q2", 0.0, None, text=HOSTILE, answer=None, error=error, category=HOSTILE),
    ]
    run = run_of({**small_run().summary_json, **changes}, views, tmp_path)
    run = changed(run, manifest={"data": {"ingest": ingest}})
    text = report_markdown([run], tmp_path)
    assert not set(text) & set("$\0\u202e")
    page = html_of(text)
    tags = set(re.findall(r"<(/?[a-z0-9]+)", page))
    allowed = {"h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "a"}
    assert tags == allowed | {f"/{tag}" for tag in allowed} | {"img"}
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {
        "radar-correctness.svg",
        "radar-correctness.png",
        "radar-hallucination.svg",
        "radar-hallucination.png",
        "radar-correctness.pdf",
        "radar-hallucination.pdf",
        "report.json",
        "scores.csv",
        "table.tex",
        "manifest.json",
        "summary.json",
        "questions",
        "questions/q2.json",
        f"questions/{run.question_file('a|b<i>').name}",
    }


def test_a_data_set_is_a_column_whatever_its_name(tmp_path):
    """The table of prompts has a column for each data set."""
    result = []
    for template in ("default", "short-and-long"):
        sweep = {"id": "s", "cell": {"prompt.template": template}}
        config = {"prompt": {"template": template}}
        run = new_run(
            tmp_path, template, "0" * 16, {"config": config, "data": {"name": "a|<i>b"}, "sweep": sweep}
        )
        question = Question(id="q", text="?", category="A", answers=(("yes",),))
        run.records.append([Record(question=question, answer=Reply(text="yes"))])
        score_run(run)
        result.append(Run.scored(run.path))
    (head,) = (
        line for line in report_markdown(result, tmp_path).splitlines() if line.startswith("| Prompt |")
    )
    assert head == r"| Prompt | A\|&lt;i&gt;b | N |"


def test_escaped_text_reads_as_it_was():
    text = r"a|b `c` <d> *e* _f_ [g](h) ~i~ \j {k} #l !m &amp; $n$ @o 1.5%"
    shown = html_of(f"| x |\n| --- |\n| {escape(text)} |")
    assert "<td>a|b `c` &lt;d&gt; *e* _f_ [g](h) ~i~ \\j {k} #l !m &amp;amp; $n$ @o 1.5%</td>" in shown


# ----- all files


def test_write_report_writes_all_files(run_dir):
    written = write_report([Run.scored(run_dir)], run_dir)
    names = ["report.html", "report.md", "table.tex", "scores.csv", "report.json"]
    plots = [
        f"radar-{m}.{suffix}" for m in ("correctness", "hallucination") for suffix in ("png", "svg", "pdf")
    ]
    assert [path.name for path in written] == [*names, *plots]
    assert all(path.parent == run_dir and path.stat().st_size > 0 for path in written)
    assert json.loads((run_dir / "report.json").read_text())[0]["overall"]["correctness"] == 0.375
    assert "[report.html](report.html)" in (run_dir / "report.md").read_text()
    write_report([Run.scored(run_dir)], run_dir, html=False, plots=False)
    assert "report.html" not in (run_dir / "report.md").read_text()


def test_without_plots_none_is_written_or_linked(run_dir):
    write_report([Run.scored(run_dir)], run_dir)
    assert "[PDF](radar-correctness.pdf)" in (run_dir / "report.md").read_text()
    written = write_report([Run.scored(run_dir)], run_dir, plots=False)
    assert not [path for path in written if path.name.startswith("radar")]
    assert "radar-" not in (run_dir / "report.md").read_text()
    assert not list(run_dir.glob("radar-*"))  # they would be of the scores of before


def test_nothing_is_written_where_scores_are_missing(run_dir, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(DataError, match="available: paper"):
        write_report([Run.scored(run_dir)], out, "released")
    with pytest.raises(UsageError):
        write_report([], out)
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_named(run_dir, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/sub cannot be written: (Not a directory|File exists)"):
        write_report([Run.scored(run_dir)], tmp_path / "file" / "sub")


def test_scores_of_no_profile_are_a_wrong_call(run_dir, tmp_path):
    with pytest.raises(UsageError, match="did you mean 'released'"):
        write_report([Run.scored(run_dir)], tmp_path / "out", "relased")
    assert not (tmp_path / "out").exists()


def test_a_bare_summary_has_a_report(run_of, tmp_path):
    bare = run_of({"run": "r", "name": "n", "profile": "paper", "profiles": {"paper": {}}})
    write_report([bare], tmp_path)
    assert "incomplete: the run does not say why" in (tmp_path / "report.md").read_text()


# ----- schemas


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas_with_a_description_everywhere(name):
    whole = schema(name)
    jsonschema.Draft202012Validator.check_schema(whole)
    lacking = [place for place, part in fields(whole, name) if not part.get("description")]
    assert lacking == []
    assert len(list(fields(whole, name))) > 5


def fields(part, place):
    """Every field of a schema with its place."""
    for key, value in part.get("properties", {}).items():
        yield f"{place}.{key}", value
        yield from fields(value, f"{place}.{key}")
    for name, value in part.get("$defs", {}).items():
        yield from fields(value, f"{place}.{name}")


def test_a_report_of_documents_is_valid(ingested_run):
    ingest = {"documents": 1, "pages": 2, "tables": None, "pictures": 0, "chunks": 3}
    ingest |= {"warnings": {"a.pdf": ["odd"]}, "failures": {"b.pdf": "is empty"}}
    jsonschema.validate(ingested_run(ingest).manifest_json, schema("manifest"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(ingested_run({**ingest, "failures": ["b.pdf"]}).manifest_json, schema("manifest"))


def test_the_fixtures_are_valid_and_unknown_keys_are_allowed(run_dir, paper_runs):
    run = Run.scored(run_dir)
    jsonschema.validate({**run.summary.plain(), "later": 1}, schema("summary"))
    jsonschema.validate(run.manifest.plain(), schema("manifest"))
    for view in run.views():
        jsonschema.validate({**view, "later": 1}, schema("question"))
    for row in paper_runs:
        jsonschema.validate(row.summary_json, schema("summary"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("summary", {"schema": 2}),
        ("summary", {"complete": "yes"}),
        ("summary", {"counts": {"unanswered": -1}}),
        ("summary", {"profiles": {"paper": {}}}),
    ],
)
def test_invalid_summaries_fail_the_schema(small_run, name, change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(dict(small_run(**change).summary_json), schema(name))


def test_a_score_of_percent_is_not_valid(question):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(question("q", 50.0, 0.0), schema("question"))
