"""Result files of Ragas, promptfoo and Inspect, as their releases wrote them (`samples/README.md`)."""

from __future__ import annotations

import json
import random
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.contexts import contexts_of
from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.inspect_log import read_inspect
from fathoms.extras.exchange.reading.promptfoo import read_promptfoo
from fathoms.extras.exchange.reading.ragas import read_ragas
from fathoms.importers import Imported
from fathoms.types import Evidence, Question, Record
from tests.support.spoilt import spoilt

SAMPLES = Path(__file__).parent / "samples"
HEIGHT, BUILDER = "How tall is the mast?", "Who built it?"
ANSWER = "The mast is 41.5 m tall."


def outcomes(imported: Imported) -> list[tuple[str, str | None, str | None]]:
    """The text of each question, the answer to it, and the error in its place."""
    return [
        (one.question.text, one.answer and one.answer.text, one.error and one.error.message)
        for one in imported.records
    ]


def places(record: Record) -> list[tuple[str, tuple[int, ...], str]]:
    return [(hit.chunk.document, hit.chunk.pages, hit.chunk.text) for hit in record.hits or ()]


def test_ragas_data_set() -> None:
    """A response that other rows have is an answer, an empty one too; a missing one is a failure."""
    imported = read_ragas(SAMPLES / "ragas-dataset.jsonl", Options())
    assert outcomes(imported) == [
        (HEIGHT, ANSWER, None),
        (BUILDER, "", None),
        ("Who sailed it?", None, "no response"),
    ]
    first, second, third = imported.records
    assert places(first) == [
        ("varn.pdf", (1,), "The mast of the Varn is 41.5 m tall."),
        ("log.pdf", (), "A ship's \"log\", it's new."),
    ]
    assert (second.hits, places(third)) == ((), [(None, (), "Nobody.")])
    assert first.question.reference == "41.5 m"
    assert first.question.evidence == (Evidence(document="varn.pdf", page=1),)
    assert (imported.left_out, first.released) == (0, {})


def test_ragas_scores_from_a_table() -> None:
    """Lists are in Python's notation, and an empty cell is no response."""
    imported = read_ragas(SAMPLES / "ragas-result.csv", Options())
    assert [(one.answer is not None, one.released) for one in imported.records] == [
        (True, {"exact_match": 0.0, "id_based_context_recall": 1.0}),
        (False, {"exact_match": 0.0, "id_based_context_recall": 0.0}),
    ]
    assert places(imported.records[0])[1] == ("log.pdf", (), "A ship's \"log\", it's new.")


def test_rows_without_use_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    rows: list[Any] = [
        {"user_input": HEIGHT, "response": ANSWER, "faithfulness": 0.5},
        {"user_input": [{"content": "Hello", "type": "human"}]},
        {"user_input": BUILDER, "response": "x", "retrieved_contexts": ["a"], "retrieved_context_ids": []},
        {"user_input": BUILDER, "response": 4},
        "text",
    ]
    lines = [json.dumps(row) for row in rows]
    path.write_text(
        "\n".join([*lines, '{"user_input": "Why?", "response": "So.", "faithfulness": NaN}', "{"])
    )
    imported = read_ragas(path, Options())
    assert [one.released for one in imported.records] == [{"faithfulness": 0.5}, {"faithfulness": None}]
    assert imported.left_out == len(imported.warnings) == 5
    assert sorted(warning.removeprefix(f"{path}:")[:2] for warning in imported.warnings) == [
        "2:",
        "3:",
        "4:",
        "5:",
        "7:",
    ]


def test_questions_of_ones_own_are_found_by_their_text() -> None:
    own = Question(id="q1", text=HEIGHT, category="Numbers", answers=(("41.5",),), files=("papers/varn.pdf",))
    imported = read_ragas(SAMPLES / "ragas-dataset.jsonl", Options(questions=[own]))
    assert [record.question for record in imported.records] == [own]
    assert imported.records[0].hits is not None
    assert imported.records[0].hits[0].chunk.document == "papers/varn.pdf"


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_promptfoo_makes_a_run_for_each_provider(name: str) -> None:
    """A failed assertion is an answer, and only an error is a failure."""
    echo, rag = read_promptfoo(SAMPLES / name, Options())
    assert (echo.name, echo.model, rag.name, rag.model) == ("promptfoo-echo", "echo", "promptfoo-rag", "rag")
    assert outcomes(rag) == [
        (HEIGHT, ANSWER, None),
        ("Who built the mast?", ANSWER, None),
        ("What fails?", None, "connection refused"),
    ]
    height, builder, failed = rag.records
    assert places(height) == [("varn.pdf", (1,), ANSWER), (None, (), "A second text.")]
    assert height.hits is not None
    assert [hit.score for hit in height.hits] == [0.91, 0.5]
    assert height.answer is not None
    usage = height.answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, height.answer.cost) == (15, 5, 0.0001)
    assert height.answer.latency is not None
    assert height.answer.latency < 1
    assert height.question.category == "numbers"
    assert height.released == {"has_number": 1.0, "score": 1.0, "success": 1.0}
    assert builder.released == {"names_builder": 0.0, "score": 0.0, "success": 0.0}
    assert (failed.hits, failed.released) == (None, {})
    # without contexts of the reply, those of the variables are what the prompt was made of
    assert places(echo.records[0]) == [(None, (), "The mast of the Varn is 41.5 m tall.")]


@pytest.mark.parametrize(
    ("output", "answer", "reasoning"),
    [
        ("Thinking: It says 41.5.\n\n30 m", "30 m", "It says 41.5."),
        (
            "Thinking: It says\n41.5.\n \nIt is 30 m.\n\nIt is old.",
            "It is 30 m.\n\nIt is old.",
            "It says\n41.5.",
        ),
        ("Thinking: One.\n\nTwo.\nSignature: c2ln\n\n30 m", "30 m", "One.\n\nTwo."),
        ("Redacted Thinking: c2ln\n\n30 m", "30 m", "c2ln"),
        ("Thinking: a short guide", "Thinking: a short guide", ""),
        (
            "It is called\n\nThinking: a guide\n\nby Oduya",
            "It is called\n\nThinking: a guide\n\nby Oduya",
            "",
        ),
        ({"answer": "Thinking: One.\n\n30 m"}, "30 m", "One."),
        ([{"type": "thinking", "thinking": "One."}, {"type": "text", "text": "30 m"}], "30 m", "One."),
        ({"rows": [1]}, '{"rows": [1]}', ""),
        ([[1]], "[[1]]", ""),
        ([{"n": 1}], '[{"n": 1}]', ""),
    ],
)
def test_reasoning_that_promptfoo_writes_before_an_answer(
    tmp_path: Path, output: Any, answer: str, reasoning: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"vars": {"question": "How tall?"}, "response": {"output": output}}) + "\n")
    (imported,) = read_promptfoo(path, Options())
    reply = imported.records[0].answer
    assert reply is not None
    assert (reply.text, reply.reasoning) == (answer, reasoning)


@pytest.mark.parametrize(("name", "epochs"), [("inspect.eval", 2), ("inspect.json", 1)])
def test_inspect_logs(name: str, epochs: int) -> None:
    if name.endswith(".eval"):
        pytest.importorskip("backports.zstd")
    imported = read_inspect(SAMPLES / name, Options())
    assert (imported.model, imported.pipeline, imported.left_out) == ("mockllm/model", "varn", 0)
    found = {(record.question.id, record.repeat): record for record in imported.records}
    assert len(found) == epochs * (3 if epochs == 2 else 2)
    height, builder = found["height", epochs - 1], found["2", 0]
    assert height.answer is not None
    assert (height.answer.text, height.answer.stop_reason) == (ANSWER, "stop")
    assert height.answer.usage.completion_tokens == 24
    assert places(height) == [
        ("varn.pdf", (1,), "The mast of the Varn is 41.5 m tall."),
        ("log.pdf", (), "A log."),
    ]
    assert height.released == {"includes": 1.0, "f1": 0.57}
    assert builder.released == {"includes": 0.0, "f1": 0.0}
    question = builder.question
    assert (question.text, question.reference, question.metadata) == (
        BUILDER,
        "Ayers",
        {"other targets": "Mr Ayers"},
    )
    if epochs == 2:
        broken = found["broken", 1]
        assert (broken.answer, broken.error and broken.error.message) == (
            None,
            "ValueError('index not found')",
        )


def write_log(path: Path, sample: Any) -> Path:
    """An archive as older releases wrote them, with one sample."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
        archive.writestr("header.json", json.dumps(header))
        archive.writestr(
            "samples/a_epoch_1.json", sample if isinstance(sample, bytes) else json.dumps(sample)
        )
    return path


def test_texts_that_inspect_keeps_apart_are_put_back(tmp_path: Path) -> None:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "attachment://1f"}]},
        ],
        "choices": ["yes", "no"],
        "target": "A",
        "output": {"choices": [{"message": {"content": "A"}}], "completion": "A"},
        "store": {
            "passages": [{"page_content": "attachment://2e", "metadata": {"source": "b.pdf", "page": 0}}]
        },
        "scores": {"graded": {"value": {"clear": "P", "right": True, "why": "text"}}},
        "attachments": {"1f": "Is it so?", "2e": "It is."},
    }
    path = write_log(tmp_path / "log.eval", sample)
    (record,) = read_inspect(path, Options(contexts="$.store.passages", first_page=0)).records
    assert record.question.text == "Is it so?\nA) yes\nB) no"
    assert places(record) == [("b.pdf", (1,), "It is.")]
    assert record.released == {"graded.clear": 0.5, "graded.right": 1.0}
    with pytest.raises(DataError, match="add --first-page 0"):
        read_inspect(path, Options(contexts="$.store.passages"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "complaint"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (2**28 + 1), "holds more than 256 MB"),
        ({"id": 1, "input": ""}, "'input' has no text"),
    ],
    ids=["deep", "bomb", "empty"],
)
def test_hostile_samples_are_refused(tmp_path: Path, sample: Any, complaint: str) -> None:
    path = write_log(tmp_path / "log.eval", sample)
    with pytest.raises(DataError, match=complaint):
        read_inspect(path, Options())


def test_damaged_samples_are_left_out(tmp_path: Path) -> None:
    """Each file of the archive has its own damage, and the others are still read."""
    pytest.importorskip("backports.zstd")
    data = bytearray((SAMPLES / "inspect.eval").read_bytes())
    with zipfile.ZipFile(SAMPLES / "inspect.eval") as archive:
        place = archive.getinfo("samples/height_epoch_1.json").header_offset
    data[place + 200 : place + 260] = bytes(60)
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    imported = read_inspect(path, Options())
    assert (imported.left_out, len(imported.records)) == (1, 5)
    assert imported.warnings[0].startswith(
        f"{path}: sample 1: left out: {path}: samples/height_epoch_1.json: "
    )


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (read_promptfoo, "promptfoo.jsonl"),
        (read_inspect, "inspect.json"),
        (read_ragas, "ragas-dataset.jsonl"),
    ],
)
def test_files_with_anything_in_any_place_are_read_or_refused(tmp_path: Path, reader: Any, name: str) -> None:
    draw, text = random.Random(28), (SAMPLES / name).read_text()
    values = [json.loads(text)] if name.endswith(".json") else list(map(json.loads, text.splitlines()))
    path, read = tmp_path / name, 0
    for _ in range(100):
        path.write_text("\n".join(map(json.dumps, spoilt(values, draw))))
        with suppress(DataError):
            read += bool(reader(path, Options()))
    assert read > 50


@pytest.mark.parametrize(
    ("reader", "name", "text"),
    [
        (read_inspect, "x.json", "[]"),
        (read_inspect, "x.eval", "no archive"),
        (read_promptfoo, "x.json", '{"results": []}'),
        (read_ragas, "x.json", "{}"),
        (read_ragas, "x.csv", "question,answer\na,b\n"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, reader: Any, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=f"^{tmp_path / name}:"):
        reader(tmp_path / name, Options())


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        # the metadata that SimpleDirectoryReader of LlamaIndex gives the nodes of a PDF
        ({"page_label": "3", "file_name": "a.pdf", "file_path": "/data/a.pdf"}, ("a.pdf", (3,))),
        ({"page_label": "iv", "file_path": "/data/a.pdf"}, ("/data/a.pdf", ())),
        ({"page_label": "3", "page": 7, "source": "a.pdf"}, ("a.pdf", (7,))),
        ({}, (None, ())),
    ],
)
def test_a_page_label_is_a_page(metadata: dict[str, Any], place: tuple[str | None, tuple[int, ...]]) -> None:
    (found,) = contexts_of([{"text": "t", "metadata": metadata}]) or ()
    assert (found.document, found.all_pages) == place
