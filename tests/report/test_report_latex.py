"""`table.tex`: read back as LaTeX reads it, with the paper's figures, and with text that would break it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.report.latex import escape, report_latex
from tests.support.report_runs import example_runs

SPELLED = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textasciigrave": "`",
    "textquotedblright": '"',
}


def read(text):
    """What LaTeX prints of escaped text; fails on a sign that would do something."""
    out, at = "", 0
    while at < len(text):
        sign = text[at]
        if arrow := re.match(r"\$\\(up|down)arrow\$", text[at:]):
            out, at = out + {"up": "↑", "down": "↓"}[arrow[1]], at + len(arrow[0])
        elif command := re.match(r"\\([a-z]+)\{\}", text[at:]):
            out, at = out + SPELLED[command[1]], at + len(command[0])
        elif raised := re.match(r"\\textsuperscript\{(\d)\}", text[at:]):
            out, at = out + "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(raised[1])], at + len(raised[0])
        elif special := re.match(r"\\([&%$#_{}])", text[at:]):
            out, at = out + special[1], at + 2
        elif grouped := re.match(r"\{([\[\]*-])\}", text[at:]):
            out, at = out + grouped[1], at + 3
        else:
            assert sign not in '\\{}[]&%$#_^~<>|`"*', text
            out, at = out + sign, at + 1
    return out


def rows(tex):
    """The cells of every line between the rules of the first table, as they stand."""
    body = re.search(r"\\begin\{tabular\}.*?\n(.*?)\\end\{tabular\}", tex, re.DOTALL)[1]
    lines = [line for line in body.splitlines() if line.endswith(r" \\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split(" & ")] for line in lines]


@given(st.text())
def test_what_is_escaped_reads_as_it_was(text):
    shown = read(escape(text))
    assert shown == " ".join(shown.split())
    assert set(shown) <= set(text) | {" "}
    assert [c for c in text if c in SPELLED.values()] == [c for c in shown if c in SPELLED.values()]


def test_every_special_sign_is_shown():
    text = r"""\ { } $ & # _ ^ ~ % < > | " ` [ ] * -- \input{/etc/passwd}"""
    assert read(escape(text)) == text
    assert escape("¹²") == r"\textsuperscript{1}\textsuperscript{2}"


def test_the_papers_table_has_models_as_rows(paper_runs):
    tex = report_latex(paper_runs)
    correctness, hallucination = (rows(part) for part in tex.split(r"\end{table*}")[:2])
    head, *lines, counts = correctness
    assert [read(cell) for cell in head[:6]] == [
        *(r"correctness ↑", "model", "Overall", "Text-Only", "Tables", "Images")
    ]
    assert head[-1] == r"\shortstack{Cross{-}Document\\Multimodal}"
    assert len(lines) == 8
    gpt, other = lines[6], hallucination[7]
    assert [read(cell) for cell in gpt[:2]] == ["gpt_4_1 closed", "gpt_4_1"]
    assert gpt[2:] == ["0.79", "0.90", "0.92", "0.79", "0.72", "0.64"]
    assert other[2:] == ["0.20", "0.06", "0.08", "0.21", "0.24", "0.40"]
    assert counts[2:] == ["93", "31", "13", "14", "25", "10"]


def test_ranks_say_what_is_shown_to_be_the_best():
    head, *lines, counts = rows(report_latex(example_runs()))
    assert head[1:3] == ["rank", "Overall"]
    assert [line[1:3] for line in lines] == [["1", "0.50"], ["2", "0.33"], ["3", "0.00"]]
    assert counts[:2] == ["n", ""]


def test_what_does_not_apply_is_said(small_run):
    other = small_run(name="other")
    figures = other.summary_json["profiles"]["paper"]["categories"]["Images"]
    figures |= {"hallucination": None, "hallucination_n": 0, "correctness": 0.5}
    tex = report_latex([small_run(), other])
    correctness, hallucination = (rows(part) for part in tex.split(r"\end{table*}")[:2])
    assert [line[-1] for line in correctness[1:]] == ["0.00", "0.50", "2"]
    assert [line[-1] for line in hallucination[1:]] == ["1.00", "n/a (0)", "1"]


def test_intervals_on_request(small_run):
    run = small_run()
    found = {"low": 0.17, "high": 1.0, "method": "wilson", "n": 4}
    run.summary_json["profiles"]["paper"]["overall"]["intervals"] = {"correctness": found}
    assert "0.17, 1.00" not in report_latex([run])
    assert r"0.38 {[}0.17, 1.00{]}" in report_latex([run], intervals=True)


def test_runs_that_model_and_name_do_not_distinguish_have_their_ids(small_run):
    _, first, second, _ = rows(report_latex([small_run(run="a_1"), small_run(run="b_2")]))
    assert [read(cell) for cell in (first[0], second[0])] == ["small (a_1)", "small (b_2)"]


HOSTILE = r"\end{tabular}\input{x} & 100% $x$ \\ [1] ^~#"


def test_names_break_no_table(small_run):
    runs = [small_run(name=f"{HOSTILE}{n}", model=HOSTILE, categories=[HOSTILE, "Tables"]) for n in range(2)]
    runs[0].summary_json.update(complete=False, incomplete=[HOSTILE])
    tex = report_latex(runs)
    assert tex.count(r"\end{tabular}") == 2  # of the scores, which are all that was asked for
    assert not re.search(r"(?<!\\)\\input", tex)  # \\input is the end of a line, and a word
    assert len({len(row) for row in rows(tex)}) == 1
    assert r"\textsuperscript{1}" in tex


@pytest.mark.slow
def test_pdflatex_takes_it(paper_runs, small_run, tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    wide = small_run(name=HOSTILE, categories=[f"{HOSTILE} {n}" for n in range(12)])
    (tmp_path / "a.tex").write_text(report_latex(paper_runs))
    (tmp_path / "b.tex").write_text(report_latex([wide], intervals=True))
    (tmp_path / "main.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}\input{a}\input{b}\end{document}"
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
