"""Anybody's answers, one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.importers import keep, read_answers
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.types import Citation, Failure, Question, Reply
from tests.support.table_files import write_cells

QUESTIONS = [
    Question(id="text-only-01", text="What is x?", category="Text-Only", answers=(("4",),)),
    Question(id="text-only-02", text="What is y?", category="Text-Only", answers=(("5",),)),
    Question(id="tables-01", text="How many?", category="Tables", files=("a.pdf",)),
    Question(id="tables-02", text="How many?", category="Tables", files=("b.pdf",)),
]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(*rows: Any) -> Path:
        path = tmp_path / "mine.jsonl"
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return _write


def test_by_id_or_by_question(write: Any) -> None:
    path = write(
        {"id": "text-only-02", "answer": "5", "latency": 3},
        "",
        {"question": "What  is x? ", "answer": ""},
        {"id": "tables-01", "answer": "seven"},
        {"id": "tables-02", "answer": "eight"},
    )
    imported = read_answers(path, QUESTIONS)
    assert imported.name == "mine"
    assert [(record.question.id, record.answer and record.answer.text) for record in imported.records] == [
        ("text-only-02", "5"),
        ("text-only-01", ""),
        ("tables-01", "seven"),
        ("tables-02", "eight"),
    ]
    assert imported.warnings == (f"{path}:1: the key 'latency' is ignored",)


def test_content_parts_of_reasoning_are_no_answer(write: Any) -> None:
    parts = [{"type": "thinking", "thinking": "Is it 4?"}, {"type": "text", "text": "5"}]
    path = write({"id": "text-only-02", "answer": parts}, {"id": "tables-01", "answer": parts[:1]})
    replies = [record.answer for record in read_answers(path, QUESTIONS).records]
    assert [(reply.text, reply.reasoning) for reply in replies if reply] == [
        ("5", "Is it 4?"),
        ("", "Is it 4?"),
    ]


def test_contexts_and_citations(write: Any) -> None:
    row = {
        "id": "text-only-01",
        "answer": "4",
        "contexts": ["bare", {"text": "placed", "document": "a.pdf", "page": 3, "score": 0.2}],
        "citations": ["a.pdf", {"document": "b.pdf", "page": 2, "quote": "x is 4"}],
    }
    record = read_answers(write(row), QUESTIONS).records[0]
    assert record.hits is not None
    assert [
        (hit.rank, hit.score, hit.chunk.document, hit.chunk.pages, hit.chunk.text) for hit in record.hits
    ] == [
        (1, 1.0, None, (), "bare"),
        (2, 0.2, "a.pdf", (3,), "placed"),
    ]
    assert record.citations == (
        Citation(document="a.pdf", ranks=(2,)),
        Citation(document="b.pdf", page=2, quote="x is 4"),
    )
    assert record.prompt is None


def test_what_a_row_does_not_say_is_not_known(write: Any) -> None:
    path = write(
        {"id": "text-only-01", "answer": "4"},
        {"id": "text-only-02", "answer": "5", "contexts": [], "citations": []},
        {"id": "tables-01", "answer": "6", "contexts": None, "citations": None},
    )
    silent, empty, null = read_answers(path, QUESTIONS).records
    assert (silent.hits, silent.citations) == (null.hits, null.citations) == (None, None)
    assert (empty.hits, empty.citations) == ((), ())


def test_null_is_a_call_that_failed(write: Any) -> None:
    path = write(
        {"id": "text-only-01", "answer": None, "error": "timed out", "contexts": ["seen"]},
        {"id": "text-only-02", "answer": None},
        {"id": "tables-01", "answer": "", "error": "looked at for null alone"},
    )
    first, second, third = read_answers(path, QUESTIONS).records
    assert (first.answer, first.error) == (None, Failure(kind="Imported", message="timed out"))
    assert [hit.chunk.text for hit in first.hits or ()] == ["seen"]
    assert (second.answer, second.error) == (None, Failure(kind="Imported", message="no answer"))
    assert (third.answer, third.error) == (Reply(text=""), None)


def test_strangers_duplicates_and_gaps_are_named(write: Any) -> None:
    path = write(
        {"id": "text-only-01", "answer": "4"},
        {"id": "text-only-1", "answer": "4"},
        {"question": "What is z?", "answer": "4"},
        {"question": "How many?", "answer": "4"},
        {"question": "What is x?", "answer": "5"},
    )
    imported = read_answers(path, QUESTIONS)
    assert [record.answer and record.answer.text for record in imported.records] == ["4"]
    assert list(imported.warnings) == [
        f"{path}:2: no question 'text-only-1' (did you mean 'text-only-01'?)",
        f"{path}:3: no question 'What is z?' (did you mean 'What is y?'?)",
        f"{path}:4: several questions have this text: name one by 'id' (tables-01, tables-02),"
        " or its documents by 'files'",
        f"{path}:5: a second answer to text-only-01 (the first is on line 1)",
        f"{path}: 3 of 4 questions have no answer: text-only-02, tables-01, tables-02",
    ]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{", ":2: not valid JSON"),
        ("[1]", "expected an object"),
        ({"id": "text-only-01", "answr": "4"}, "'answer' is missing (did you mean 'answr'?)"),
        ({"qestion": "What is x?", "answer": "4"}, "'id' or 'question' is missing (did you mean 'qestion'?)"),
        ({"id": 1, "answer": "4"}, "id: "),
        ({"id": "text-only-01", "answer": 4}, "answer: "),
        ({"id": "text-only-01", "answer": None, "error": 500}, "error: "),
        (
            '{"id": "text-only-01", "answer": "4", "contexts": [{"text": "a", "score": NaN}]}',
            "not valid JSON: NaN",
        ),
        ('{"id": "text-only-01", "answer": "4", "contexts": [{"text": "a", "score": 1e999}]}', "contexts.0"),
        (
            '{"id": "text-only-01", "answer": "4", "citations": [{"document": "a", "bbox": [0, 0, 1, NaN]}]}',
            "not valid JSON: NaN",
        ),
        ({"id": "text-only-01", "answer": "4", "contexts": "one"}, "contexts: "),
        ({"id": "text-only-01", "answer": "4", "contexts": [{"text": "a", "page": 0}]}, "contexts.0.page: "),
        ({"id": "text-only-01", "answer": "4", "contexts": [{"document": "a"}]}, "contexts.0.text: "),
        (
            {"id": "text-only-01", "answer": "4", "usage": {"prompt_tokens": -1}},
            "prompt_tokens is below zero",
        ),
    ],
)
def test_rows_that_cannot_be_read_are_listed_with_their_line(write: Any, row: Any, complaint: str) -> None:
    path = write({"id": "text-only-01", "answer": "4"}, row, row)
    with pytest.raises(DataError) as caught:
        read_answers(path, QUESTIONS)
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}:2:")
    assert complaint in first
    assert second.startswith(f"{path}:3:")


def test_no_row_that_fits(write: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no row answers a question"):
        read_answers(write({"id": "other", "answer": "4"}), QUESTIONS)
    with pytest.raises(DataError, match="no row answers a question"):
        read_answers(write(), QUESTIONS)
    with pytest.raises(DataError, match="cannot be read"):
        read_answers(tmp_path / "nowhere.jsonl", QUESTIONS)


def test_documents_are_found_by_the_end_of_their_paths(write: Any) -> None:
    path = write(
        {
            "id": "text-only-01",
            "answer": "4 [other.pdf, p. 2]",
            "contexts": [
                {"text": "a", "document": "papers/docllm.pdf"},
                {"text": "b", "document": "papers/nowhere.pdf"},
                {"text": "c", "document": "Other.PDF"},
            ],
        },
    )
    found = read_answers(path, QUESTIONS, ["docllm.pdf", "2024/other.pdf"])
    (record,) = found.records
    assert [hit.chunk.document for hit in record.hits or ()] == [
        "docllm.pdf",
        "papers/nowhere.pdf",
        "2024/other.pdf",
    ]
    assert [cited.document for cited in record.citations or ()] == ["2024/other.pdf"]
    assert f"{path}: contexts or citations of unknown documents: papers/nowhere.pdf" in found.warnings


@pytest.mark.parametrize(
    "answer",
    [
        '"contexts": [{"text": "x", "score": 1e308}]',
        '"contexts": [{"text": "x", "score": NaN}]',
        '"contexts": [{"text": "x", "score": -Infinity}]',
        '"contexts": [{"text": "x", "page": 1' + "0" * 310 + "}]",
        '"contexts": [{"text": "x", "page": -1}]',
        '"usage": {"prompt_tokens": -5}',
        '"usage": {"prompt_tokens": 1' + "0" * 310 + "}",
        '"cost": -1',
        '"cost": 1e301',
    ],
)
def test_what_reading_refuses_is_not_imported(write: Any, tmp_path: Path, answer: str) -> None:
    path = write({"id": "text-only-02", "answer": "5"}, f'{{"id": "text-only-01", "answer": "4", {answer}}}')
    with pytest.raises(DataError, match=r"mine\.jsonl:2: "):
        read_answers(path, QUESTIONS)
    largest = {"id": "text-only-02", "answer": "5", "contexts": [{"text": "x", "score": 1e300}]}
    run = keep(read_answers(write(largest), QUESTIONS), "data", tmp_path)
    score_run(run)
    assert len(list(Run.scored(run.path).questions())) == 1


def test_what_is_read_need_not_fit_into_memory(tmp_path: Path) -> None:
    """800 answers of 100 kB are 80 MB; 16 MB of what was read stay in memory."""
    path = tmp_path / "answers.jsonl"
    text = "x" * 100_000
    with path.open("w") as file:
        for number in range(800):
            file.write(json.dumps({"id": f"q{number}", "answer": text, "contexts": []}) + "\n")
    questions = [
        Question(id=f"q{number}", text="?", category="A", answers=(("x",),)) for number in range(800)
    ]
    tracemalloc.start()
    try:
        found = read_answers(path, questions)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()
    assert [record.answer and len(record.answer.text) for record in found.records[798:]] == [100_000] * 2


@pytest.mark.slow
def test_a_full_temporary_folder_is_named(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: Python sees an OSError in both cases."""
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"id": "q", "answer": "{"x" * 18_000_000}"}}\n')
    program = (
        "import resource, sys; from pathlib import Path;"
        "from fathoms.importers import read_answers; from fathoms.types import Question;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000));"
        "read_answers(Path(sys.argv[1]), [Question(id='q', text='?', category='A', answers=(('x',),))])"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert "StoreError: the answers that were read have no room in" in done.stderr
    assert "set TMPDIR to another folder" in done.stderr


def test_a_table_is_read_as_json_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = [
        ";question;answer;contexts;score",
        "0;What is x?;[4] is right;one text;1",
        '1;What is y?;;"[{""text"": ""five"", ""page"": 3}]";',
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    imported = read_answers(path, QUESTIONS)
    first, second = imported.records
    assert first.answer
    assert first.answer.text == "[4] is right"
    assert first.hits
    assert [hit.chunk.text for hit in first.hits] == ["one text"]
    assert second.error == Failure(kind="Imported", message="no answer")
    assert second.hits
    assert second.hits[0].chunk.text == "five"
    assert f"{path}:2: the key 'score' is ignored" in imported.warnings


@pytest.mark.parametrize("suffix", ["tsv", "xlsx"])
def test_a_table_of_a_spreadsheet_program_is_read_as_json_lines_are(tmp_path: Path, suffix: str) -> None:
    """A number, a text with a tab, a failed call, and one context that is an object by itself."""
    rows = [
        ["id", "answer", "contexts", "error"],
        ["text-only-01", 4, json.dumps({"text": "It\tis 4.", "document": "a.pdf", "page": 3}), None],
        ["text-only-02", None, None, "timed out"],
    ]
    first, second = read_answers(write_cells(tmp_path / f"mine.{suffix}", rows), QUESTIONS).records
    assert first.answer
    assert first.answer.text == "4"
    assert first.hits
    (chunk,) = (hit.chunk for hit in first.hits)
    assert (chunk.text, chunk.document, chunk.pages) == ("It\tis 4.", "a.pdf", (3,))
    assert (second.answer, second.error) == (None, Failure(kind="Imported", message="timed out"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "question,answers\nWhat is x?,4\n",
            r"mine\.csv:1: there is no column 'answer' \(did you mean 'answers'\?\)",
        ),
        ("question,answer,answer\nWhat is x?,4,5\n", r"mine\.csv:1: the column 'answer' appears twice"),
        ("question,answer\nWhat is x?,4,5\n", r"mine\.csv:2: 3 cells, but 2 columns"),
        ("question,answer,contexts\nWhat is x?,4,[\n", r"mine\.csv:2: contexts:1:2: not valid JSON"),
        ("", r"mine\.csv:1: there is no column 'answer'"),
    ],
)
def test_a_table_in_error_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_answers(path, QUESTIONS)
