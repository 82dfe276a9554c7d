"""Hostile files and names: each gets a sentence with its place, and none reaches a terminal raw."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.cli.progress import Bars
from fathoms.config import override, parse_yaml, read_yaml, validate
from fathoms.corpora import find_manifest, load, read_questions
from fathoms.corpora.pdfs import find_pdfs, gather_pdfs
from fathoms.corpora.sources import FileSource
from fathoms.errors import DataError, FathomsError, QuestionsError, StoreError, UsageError
from fathoms.gate.baselines import read_baseline
from fathoms.importers import read_answers, read_result_file
from fathoms.metrics.agreement import read_labels
from fathoms.metrics.nearest_neighbour import read_exemplars
from fathoms.report.junit import Case, Suite, junit
from fathoms.report.latex import escape as latex_escape
from fathoms.report.text import abbreviate, unseen_escaped
from fathoms.retrieve import Dense
from fathoms.runs.ratings import read_ratings
from fathoms.safety.inputs import DEEPEST, LARGEST, read_file
from fathoms.types import Question
from tests.support.project import CONFIG, PAGES, QUESTIONS, Project, write_pdf

ESC = "\x1b[2J\x1b]0;owned\x07"
BIDI = "\u202egnp\u2066"
STEERS = ("\x1b", "\x07", "\x9b", "\x7f", "\u202e", "\u2066", "\x00")

Reader = Callable[[Path], object]
WANTED = [Question(id="q", text="Why?", category="A", answers=(("rain",),))]
READERS: dict[str, Reader] = {
    "config.yaml": read_yaml,
    "manifest.yaml": lambda path: find_manifest(str(path)),
    "questions.json": read_questions,
    "questions.jsonl": read_questions,
    "questions.csv": read_questions,
    "answers.jsonl": lambda path: read_answers(path, WANTED),
    "released.json": read_result_file,
    "labels.jsonl": read_labels,
    "exemplars.json": read_exemplars,
    "baseline.json": read_baseline,
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(tmp_path / "pdfs" / name, pages)
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    return Project(tmp_path)


def complaint(read: Reader, path: Path) -> str:
    """What a reader says of a file; a raised error of another kind fails the test by itself."""
    with pytest.raises(FathomsError) as caught:
        read(path)
    return str(caught.value)


def test_fifos_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    for name, read in READERS.items():
        pipe = tmp_path / name
        os.mkfifo(pipe)  # nobody ever writes to it
        assert "it is a pipe or a device" in complaint(read, pipe), name
        pipe.unlink()
        pipe.symlink_to("/dev/zero")  # it never ends
        assert "it is a pipe or a device" in complaint(read, pipe), name
        pipe.unlink()
        pipe.mkdir()
        assert "Is a directory" in complaint(read, pipe), name
        pipe.rmdir()
        said = complaint(read, tmp_path / f"a\0{name}")
        assert "not a valid file name" in said, name


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    for name, read in READERS.items():
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(2 * 2**30)  # a hole: it takes no room on the disk
        assert " MB, the most that is read" in complaint(read, path), name


def test_a_file_of_proc_that_says_it_is_empty_is_read(tmp_path: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here")
    assert b"Name:" in read_file(Path("/proc/self/status"))
    with pytest.raises(DataError, match="the most that is read"):
        read_file(Path("/proc/self/status"), largest=10)
    assert LARGEST > 10


def test_other_formats_in_disguise_are_named(tmp_path: Path) -> None:
    wrong = {
        "UTF-16": '{"id": "ä"}'.encode("utf-16"),
        "a zip archive or a spreadsheet": b"PK\x03\x04\xff\xfe",
        "a gzip archive": b"\x1f\x8b\x08\x00",
        "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    }
    for name, read in READERS.items():
        for what, data in wrong.items():
            if name.endswith(".csv") and what == "UTF-16":
                continue  # spreadsheets save it, so it is read
            (tmp_path / name).write_bytes(data)
            said = complaint(read, tmp_path / name)
            assert f"not UTF-8 (it is {what}): save it as UTF-8" in said, name
        # 0x81 is no character of cp1252, in which spreadsheets save tables
        (tmp_path / name).write_bytes(b"# fine\n# caf\xe9 \x81 in cp1252\n")
        assert f"{name}:2: not UTF-8: save it as UTF-8" in complaint(read, tmp_path / name)
        (tmp_path / name).write_bytes(b"{" if name == "labels.jsonl" else b"")
        assert name in complaint(read, tmp_path / name)


def test_json_that_no_program_means_is_refused_with_its_place(tmp_path: Path) -> None:
    bad = {
        "nested too deeply": '{"metadata": ' + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1) + "}",
        "nested too deeply ": "[" * 200_000,
        "the key 'id' occurs twice": '{"id": "a", "id": "b"}',
        "a number of 5000 characters is too long": '{"hops": ' + "9" * 5000 + "}",
        "not valid JSON: NaN": '{"score": NaN}',
    }
    for name in ("questions.jsonl", "answers.jsonl", "labels.jsonl", "released.json", "exemplars.json"):
        for what, text in bad.items():
            (tmp_path / name).write_text(text)
            said = complaint(READERS[name], tmp_path / name)
            assert f"{name}:1" in said
            assert what.strip() in said


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    good = '{"question": "Why?", "answers": ["rain"]}'
    files = {
        "q.jsonl": f'{good}\n{{"question": 1}}\n[]\n{{\n{good}\n{{"question": "x"}}\n',
        "q.json": json.dumps([json.loads(good), 7, {"question": 1}, [], {"question": "x"}]),
        "q.csv": 'question,answers,files\nWhy?,rain,\n,x,\na,b\nc,"[1",\n"d",e,../etc/passwd\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(QuestionsError) as caught:
            read_questions(tmp_path / name)
        assert len(caught.value.complaints) == 4, caught.value.complaints
    rows = '{"id": "q", "answer": "x", "label": "statement"}\n{"id": 1}\n7\n{\n'
    for read in (read_labels, READERS["answers.jsonl"]):
        (tmp_path / "rows.jsonl").write_text(rows)
        assert [line.split(":")[1] for line in complaint(read, tmp_path / "rows.jsonl").splitlines()] == [
            "2",
            "3",
            "4",
        ]


def row(**values: Any) -> str:
    """A question as a line of JSON."""
    return json.dumps({"question": "Why?", "answers": ["rain"], **values})


def test_names_of_questions_are_short_visible_and_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    bad = {
        "q.jsonl:1: id: has 201 characters": row(id="x" * 201),
        "q.jsonl:1: category: has 5000 characters": row(category="x" * 5000),
        "q.jsonl:1: id: contains the control character U+001B": row(id=ESC),
        "q.jsonl:1: category: contains the control character U+0000": row(category="a\0b"),
        "contains the control character U+000A": row(files=["a\nb.pdf"]),
        "q.jsonl:1: \\ud800 is an unpaired surrogate": row(id="\ud800"),
        "is not the name of a file": row(files=["../../etc/passwd"]),
        "(at {path}:1) only in its spelling": "\n".join(
            [row(id="Ångström 1"), row(id="A\u030angstro\u0308M  1")]
        ),
        "q.jsonl:2: the id 'a' is already used": "\n".join([row(id="a"), row(id="a")]),
    }
    for said, text in bad.items():
        path.write_text(text)
        assert said.replace("{path}", str(path)) in complaint(read_questions, path)
    path.write_text(
        "\n".join([row(id="x" * 200), row(id="__proto__"), row(id="constructor", category="toString")])
    )
    assert [q.id for q in read_questions(path).questions][1:] == ["__proto__", "constructor"]


def test_numbers_are_numbers(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    for value in ("true", "'5'", "08", "010", "1:30", "1e999", ".inf", ".nan", "-0", "-1", "9" * 5000):
        config.write_text(f"kind: dense\ntop_k: {value}\n")
        said = complaint(lambda path: validate(Dense, read_yaml(path)), config)
        assert said.startswith(f"{config}"), said
        assert len(said) < 400
    config.write_text("kind: dense\ntop_k: 5\n")
    source = read_yaml(config)
    assert validate(Dense, override(source, ["top_k=7"])).top_k == 7
    with pytest.raises(UsageError, match=r"^--set top_k: top_k: expected a number \(this is True\)"):
        validate(Dense, override(source, ["top_k=true"]))
    path = tmp_path / "q.jsonl"
    place = {"document": "a.pdf", "page": 1}
    for values in (
        {"hops": True},
        {"hops": "2"},
        {"hops": 10**30},
        {"answerable": 1},
        {"answerable": "yes"},
        {"evidence": [{**place, "page": True}]},
        {"evidence": [{**place, "bbox": [0, 0, 1, "1"]}]},
    ):
        path.write_text(row(**values))
        assert complaint(read_questions, path).startswith(f"{path}:1: {next(iter(values))}")
    path.write_text(
        row(evidence=[{**place, "bbox": [0, 0, 1, 2]}]).replace("[0, 0, 1, 2]", "[0, 0, 1, 1e999]")
    )
    assert "expected a finite number" in complaint(read_questions, path)
    table = tmp_path / "q.csv"
    table.write_text("question,answers,hops,answerable\nWhy?,rain,2,yes\n")
    assert read_questions(table).questions[0].hops == 2
    table.write_text("question,answers,hops\nWhy?,rain,05\n")
    assert "q.csv:2: hops: expected a number (this is '05')" in complaint(read_questions, table)
    answers = tmp_path / "a.jsonl"
    answers.write_text('{"id": "q", "answer": "x", "usage": {"prompt_tokens": true}}')
    assert "usage.prompt_tokens: expected a number" in complaint(READERS["answers.jsonl"], answers)


def test_ratings_and_baselines_hold_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    rating = {"run": "r", "question": "q", "profile": "p", "reviewer": "me", "seed": True, "time": "now"}
    shown = dict.fromkeys(("correctness", "hallucination", "abstained", "score_rating", "flag_rating"))
    for line in (
        json.dumps({**rating, **shown}),
        json.dumps({**rating, **shown, "seed": 1, "correctness": 7}).replace("7", "1e999"),
        "[" * 100_000,
        "7",
    ):
        path.write_text(line + "\n")
        with pytest.raises(StoreError, match="a rating"):
            read_ratings(path)
    for text in ("[]", "{}", '{"kind": "baseline"}', '{"kind": "baseline", "schema": "1"}'):
        path.write_text(text)
        assert "is not a baseline" in complaint(read_baseline, path)


def test_yaml_that_grows_or_hides_is_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
    )
    for text, said in {
        bomb: "too many keys",
        "a: &a [*a]\n": "nested too deeply",
        "a: " + "[" * 1200: "nested too deeply",
        "a: {<<: {b: 1}}\n": "c:1:5: a key must be text",
        "? [a]\n: 1\n": "c:1:3: a key must be text: put 'a list or a mapping' in quotes",
        'a: "\\0"\n': "c:1:4: this text contains a NUL",
        'a: "\\ud800"\n': "c:1:4: this text contains an unpaired surrogate (U+D800)",
        "a: 010\n": "c:1:4: YAML reads '010' as a different number",
        "a: 1:30\n": "c:1:4: YAML reads '1:30' as a different number",
        "a: \x1b\n": "c: not valid YAML",
    }.items():
        with pytest.raises(UsageError) as caught:
            parse_yaml(text, "c")
        assert said in str(caught.value)


def test_an_unknown_home_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no home folder is known for '~no-such-user'"):
        load(FileSource(questions=Path("~no-such-user/q.json")), tmp_path)


def test_only_files_in_the_folder_of_documents_are_read(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.pdf", tmp_path / "pdfs"
    write_pdf(secret, ["Nobody else may read this."])
    (folder / "deep").mkdir(parents=True)
    write_pdf(folder / "deep" / "a.pdf", ["Fine."])
    (folder / "leak.pdf").symlink_to(secret)
    (folder / "alias.pdf").symlink_to("deep/a.pdf")  # a link that stays inside is a file like any other
    (folder / "outside").symlink_to(tmp_path)
    (folder / "pipe.pdf").unlink(missing_ok=True)
    os.mkfifo(folder / "pipe.pdf")
    for find in (find_pdfs, lambda path: gather_pdfs([path])):
        found, warnings = find(folder)
        assert sorted(found) == ["a.pdf", "alias.pdf", "pipe.pdf"]  # the pipe fails by name when it is read
        assert [warning.split(":")[0] for warning in warnings] == [str(folder / "leak.pdf")]
    assert list(gather_pdfs([folder / "leak.pdf"])[0]) == ["leak.pdf"]  # who names a link means it
    evidence = [{"document": "../secret.pdf", "page": 1}]
    (tmp_path / "q.jsonl").write_text(row(evidence=evidence))
    with pytest.raises(DataError, match=r"documents are missing in .*: \.\./secret\.pdf"):
        load(FileSource(questions=tmp_path / "q.jsonl", documents=folder))


def test_a_manifest_keeps_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (tmp_path / "passwd.jsonl").write_text(row())
    (folder / "q.jsonl").symlink_to(tmp_path / "passwd.jsonl")
    manifest = tmp_path / "own.yaml"
    text = "name: own\ntitle: t\nlicence: l\nquestions: {{file: {0}}}\ndocuments: [{1}]\n"
    manifest.write_text(text.format("q.jsonl", "{file: a.pdf}"))
    with pytest.raises(DataError, match="the data set 'own' is not on this machine"):
        load(str(manifest))
    for files in (
        "{file: A.pdf}, {file: a.pdf}",
        "{file: ../a.pdf}",
        '{file: "a\\e.pdf"}',
        "{file: /etc/passwd}",
    ):
        manifest.write_text(text.format("q.jsonl", files))
        assert "own.yaml:" in complaint(READERS["manifest.yaml"], manifest)


@pytest.mark.slow
def test_nothing_steers_the_terminal(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Names in the config, in file names, in answers and in errors, through the verbs that print them."""
    evil = f"n{ESC}{BIDI}\x9b1m[/bold][red]"
    write_pdf(project.path / "pdfs" / f"{ESC}.pdf", ["Nothing."])
    config = project.write("evil.yaml", CONFIG.replace("name: tiny", f"name: {json.dumps(evil)}"))
    lines = [
        json.dumps(
            {"question": item["question"], "answer": evil, "contexts": [{"text": evil, "document": evil}]}
        )
        for items in QUESTIONS.values()
        for item in items
    ]
    answers = project.write("answers.jsonl", "\n".join([*lines, json.dumps({"id": evil, "answer": ""})]))
    out, questions = str(project.path / "runs"), str(project.path / "questions.json")
    log, cases = project.path / "log.jsonl", project.path / "cases.xml"
    calls = [
        ["validate", str(config)],
        ["validate", str(config), "--json"],
        ["-v", "run", str(config), "--out", out, "--log-file", str(log), "--junit", str(cases)],
        [
            "import",
            "answers",
            str(answers),
            "--questions",
            questions,
            "--name",
            evil,
            "--model",
            evil,
            "--out",
            out,
        ],
        ["ls", "--out", out],
        ["ls", "--out", out, "--json"],
        ["show", "--out", out],
        ["show", "--out", out, "--question", "text-only-01"],
        ["show", "--out", out, "--question", evil],
        ["compare", evil, "latest", "--out", out],
        ["report", "latest", "--out", out],
        ["run", f"{evil}.yaml"],
        [evil],
        ["questions", "check", questions, str(project.path / "pdfs")],
    ]
    os.environ["FATHOMS_CACHE_DIR"], before = str(project.path / "cache"), os.environ.get("FATHOMS_CACHE_DIR")
    try:
        for call in calls:
            main(call)
            said = capsys.readouterr()
            for sign in STEERS:
                assert sign not in said.out + said.err, (call, sign)
            assert "bug in fathoms" not in said.err, (call, said.err)
    finally:
        del os.environ["FATHOMS_CACHE_DIR"]
        if before is not None:
            os.environ["FATHOMS_CACHE_DIR"] = before
    assert ET.fromstring(cases.read_bytes()).tag == "testsuites"
    for line in log.read_text().splitlines():
        assert json.loads(line)["event"]
    for path in (log, *(project.path / "runs").rglob("report.md"), *(project.path / "runs").rglob("*.csv")):
        text = path.read_text()
        assert not any(sign in text for sign in STEERS), path


def test_json_keeps_its_value_when_it_is_made_harmless() -> None:
    value = {"a\x9b\u202e": ["\ud800", "é😀\u2028", "\U000e0001"]}
    text = unseen_escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(sign in text for sign in (*STEERS, "\ud800"))
    assert "é😀" in text


def test_progress_takes_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0) as bars:
        bars.stage(f"answer [/bold]{ESC}", 1, 2, f"[red]{ESC}")
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_terminal_that_knows_few_characters(project: Project) -> None:
    """Neither an ASCII terminal nor a file name of raw bytes ends in a traceback."""
    raw = os.fsencode(project.path) + b"/\xff\xfe.yaml"
    Path(os.fsdecode(raw)).write_text(CONFIG + "naem: é\n")
    done = subprocess.run(
        [sys.executable, "-m", "fathoms", "validate", raw],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert b"unknown key 'naem'" in done.stderr
    assert b"defect" not in done.stderr


def test_a_path_that_is_too_long_is_no_defect(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 5000
    assert main(["validate", str(project.path / f"{long}.yaml")]) == 2
    assert main(["report", "latest", "--out", str(project.path / long)]) in (1, 2)
    assert main(["gate", "latest", "--baseline", str(project.path / long)]) in (1, 2)
    assert "bug in fathoms" not in capsys.readouterr().err


@pytest.mark.slow
def test_names_in_spreadsheets_xml_and_latex(project: Project) -> None:
    evil = '=HYPERLINK("http://x")\x1b\x00\ufffe]]>&<a>'
    data = junit([Suite(evil, [Case(evil, error=(evil, evil), said=evil)])])
    assert ET.fromstring(data)[0][0].get("name", "").startswith("=HYPERLINK")
    bomb = b'<!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuites>&b;</testsuites>'
    deep = b"<testsuites><testsuite>" + b"<a>" * 50_000 + b"</a>" * 50_000 + b"</testsuite></testsuites>"
    for before in (bomb, deep):
        with pytest.raises(ValueError, match=r"declaration|deep"):
            junit([], before)
    assert "\x1b" not in latex_escape("$%&_#^~\x1b")
    assert "\\input" not in latex_escape("\\input{x}")
    from fathoms.safety.spreadsheet import cell

    for start in "=+-@":
        assert str(cell(f"{start}cmd|' /C calc'!A0")).startswith("'")
        assert str(cell(f"\t{start}cmd")).startswith("'")
    written = io.StringIO()
    csv.writer(written).writerow([cell(evil)])
    assert written.getvalue().startswith("\"'=HYPERLINK")


def test_thousands_of_categories_have_short_names_in_time() -> None:
    names = [f"category {number}" for number in range(10_000)]
    labels = abbreviate(names, 8)
    assert len(set(labels)) == 10_000
