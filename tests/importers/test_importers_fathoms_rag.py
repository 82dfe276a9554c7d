"""Released result files: both spellings, three forms of context, error texts, and what does not match."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.errors import DataError
from fathoms.importers import read_result_file, read_result_files
from fathoms.types import Question
from tests.support.project import Project

CHUNK = {"chunk_id": 1, "file_name": "a.pdf", "page_number": 19, "relevance_score": 0.74, "content": "text"}


def response(**changes: Any) -> dict[str, Any]:
    return {
        "category": "Text-Only",
        "question": "What is it?",
        "required_files": ["a.pdf"],
        "rag_context": [],
        "pred_answer": "a CNN",
        "ground_truth": [["cnn"], ["convolution", "network"]],
        "correctness_score": 1.0,
        "suspected_hallucination": False,
        **changes,
    }


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(*responses: dict[str, Any], **changes: Any) -> Path:
        path = tmp_path / "tiny_RAG.json"
        data = {"model": "tiny_ RAG", "api_model": "tiny:1b", "responses": list(responses), **changes}
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return _write


def test_a_file_speaks_for_itself(write: Any) -> None:
    imported = read_result_file(
        write(response(), response(category="Tables"), response(question="And why?", category="Text-Only"))
    )
    assert (imported.name, imported.model) == ("tiny_RAG", "tiny:1b")
    assert [record.question.id for record in imported.records] == ["text-only-01", "text-only-02"]
    first = imported.records[0]
    assert first.question == Question(
        id="text-only-01",
        text="What is it?",
        category="Text-Only",
        files=("a.pdf",),
        answers=(("cnn",), ("convolution", "network")),
    )
    assert first.answer is not None
    assert first.answer.text == "a CNN"
    assert first.released == {"correctness": 1.0, "hallucination": 0.0}
    assert len(imported.warnings) == 1
    assert "response 2 is a second answer to text-only-01" in imported.warnings[0]


def test_the_key_of_the_flag_tells_which_script_scored(write: Any) -> None:
    second = response(question="And why?", hallucinating=True)
    del second["suspected_hallucination"]
    records = read_result_file(write(response(), second)).records
    assert [record.fingerprints["scorer"] for record in records] == ["evaluator.py", "reprocess.py"]
    assert [record.released["hallucination"] for record in records] == [0.0, 1.0]


def test_three_forms_of_context(write: Any) -> None:
    texts = ["File: a.pdf\nContent: one", "File: b.pdf\nContent: two"]
    unknown = {**CHUNK, "chunk_id": 2, "page_number": "Unknown", "content": "x" * 500 + "..."}
    imported = read_result_file(
        write(
            response(),
            response(question="2", rag_context=texts),
            response(question="3", rag_context=[CHUNK, unknown]),
        )
    )
    closed, docling, llamaindex = imported.records
    assert (closed.hits, closed.prompt) == (None, None)
    assert docling.hits is None
    assert docling.prompt is not None
    assert docling.prompt.context == "File: a.pdf\nContent: one\n\nFile: b.pdf\nContent: two"
    assert llamaindex.prompt is None
    assert llamaindex.hits is not None
    assert [(hit.rank, hit.score, hit.chunk.document, hit.chunk.pages) for hit in llamaindex.hits] == [
        (1, 0.74, "a.pdf", (19,)),
        (2, 0.74, "a.pdf", ()),
    ]
    assert llamaindex.hits[0].chunk.text == "text"
    assert imported.pipeline == "Docling with EasyOCR"  # of such a mixture, the first that tells
    assert [warning for warning in imported.warnings if "cut at 500" in warning] == list(imported.warnings)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("timed out", True),
        ("TIMED OUT", True),
        ("rate limit exceeded", True),
        ("error occurred", True),
        ("error occurred during query", True),
        ("error: connection reset\nby peer", True),
        ("error: client not initialized", True),
        ("rag system not initialized", True),
        ("Request failed: HTTPConnectionPool: Read timed out.", True),
        ("Ollama error 500: out of memory", True),
        ("No response received", True),
        ("", False),
        ("errorbar, errorpoint and box", False),
        ("Error analysis shows that 56 % are hallucinated.", False),
        ("The call timed out in figure 3.", False),
        ("i don't know.", False),
    ],
)
def test_error_texts_are_failures(write: Any, text: str, failed: bool) -> None:
    record = read_result_file(write(response(pred_answer=text))).records[0]
    assert (record.error is not None, record.answer is None) == (failed, failed)
    said = record.error.message if record.error else record.answer and record.answer.text
    assert said == text
    assert record.released["correctness"] == 1.0


def test_matched_by_text_and_files(write: Any) -> None:
    question = Question(
        id="one", text="What  is it?", category="Text-Only", files=("b.pdf",), answers=(("cnn",),)
    )
    same = question.model_copy(update={"id": "two", "files": ("a.pdf",)})
    other = Question(id="three", text="Never asked?", category="Tables")
    path = write(response(), response(required_files=["c.pdf"], category="Images"))
    imported = read_result_file(path, [question, same, other])
    assert [record.question.id for record in imported.records] == ["two"]
    assert imported.records[0].question.answers == (("cnn",),)
    assert [warning.removeprefix(f"{path}: ") for warning in imported.warnings] == [
        "response 1: the gold answer of two differs from the one in the data set",
        "response 2 answers no question of the data set: 'What is it?' (c.pdf)",
        "2 of 3 questions have no answer: one, three",
    ]


def test_a_question_that_was_reworded_between_files_is_one_question(tmp_path: Path) -> None:
    """It has the same files and gold answer; with another gold answer, it is another question."""

    def write(name: str, *responses: dict[str, Any]) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({"model": name, "responses": responses}))
        return path

    why = response(question="And why?", ground_truth=[["so"]])
    first = write("a.json", response(), why)
    other = write(
        "b.json",
        response(question="What might it be?"),
        why,
        response(question="And why is it?", ground_truth=[["thus"]]),
    )
    one, two = read_result_files([first, other])
    assert [(record.question.id, record.question.text) for record in two.records] == [
        ("text-only-01", "What is it?"),
        ("text-only-02", "And why?"),
        ("text-only-03", "And why is it?"),
    ]
    assert one.warnings == ()
    assert list(two.warnings) == [
        f"{other}: response 1 is taken as the answer to text-only-01, which it rewords:"
        " 'What might it be?' for 'What is it?'"
    ]
    [wanted] = read_result_files([other], [one.questions[0]])
    assert [record.question.text for record in wanted.records] == ["What is it?"]
    assert wanted.warnings[0] == two.warnings[0]


@pytest.mark.slow
def test_report_takes_the_files_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the paper's pipelines, at any depth, and without a run that stays."""
    monkeypatch.chdir(tmp_path)
    for name, context in (("closed/api", []), ("RAG/one", [CHUNK]), ("RAG/two", ["File: a.pdf\nContent: x"])):
        path = tmp_path / "Results" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        row = response(rag_context=context, correctness_score=0.5, suspected_hallucination=name == "RAG/one")
        path.write_text(json.dumps({"model": path.stem, "responses": [row]}))
    assert main(["report", "Results", "--scores", "released", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in runs] == ["one", "two", "api"]
    overall = [run["overall"] for run in runs]
    assert [(one["correctness"], one["hallucination"]) for one in overall] == [(0.5, 1), (0.5, 0), (0.5, 0)]
    assert [path.name for path in tmp_path.iterdir()] == ["Results"]


def test_questions_that_cannot_be_told_apart_get_the_answers_in_order(write: Any) -> None:
    one = Question(
        id="one",
        text="What is it?",
        category="Text-Only",
        files=("a.pdf",),
        answers=(("cnn",), ("convolution", "network")),
    )
    two = one.model_copy(update={"id": "two"})
    path = write(*(response(pred_answer=text) for text in ("first", "second", "third")))
    imported = read_result_file(path, [one, two])
    assert [(record.question.id, record.answer and record.answer.text) for record in imported.records] == [
        ("one", "first"),
        ("two", "second"),
    ]
    assert [warning.removeprefix(f"{path}: ") for warning in imported.warnings] == [
        "one, two have the same text and files: they get its answers in order",
        "response 3 is a second answer to two: 'What is it?' (a.pdf)",
    ]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"correctness_score": float("nan")}, "not valid JSON: NaN"),
        ({"rag_context": [{**CHUNK, "relevance_score": float("inf")}]}, "not valid JSON: Infinity"),
    ],
)
def test_numbers_are_finite(write: Any, changes: dict[str, Any], place: str) -> None:
    path = write(response(**changes))
    with pytest.raises(DataError) as caught:
        read_result_file(path)
    assert str(caught.value).startswith(f"{path}:1: {place}")


def test_a_file_about_other_questions_is_refused(write: Any) -> None:
    with pytest.raises(DataError, match="none of its 1 answers"):
        read_result_file(write(response()), [Question(id="x", text="Other?", category="A")])


def test_a_category_that_no_question_may_have_is_refused(write: Any) -> None:
    with pytest.raises(DataError, match=r"responses\.0\.category: .* control character U\+D800"):
        read_result_file(write(response(category="\ud800")))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", ":1:1: not valid JSON"),
        (b"\xff\xfe", ":1: not UTF-8 (it is UTF-16)"),
        (b"[" * 100_000, ":1: nested too deeply"),
        (b"[]", "not a FATHOMS-RAG result file: the file"),
        (b'{"model": "m"}', "responses: "),
        (b'{"model": "m", "responses": [{"category": "A", "question": "?"}]}', "responses.0.pred_answer: "),
        (b'{"model": "m", "responses": []}', "none of its 0 answers"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_result_file(path)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        read_result_file(tmp_path / "nowhere.json")


def test_the_shared_files_match_the_released_questions(shared: Path) -> None:
    folder = shared / "fathoms-rag"
    data = json.loads((folder / "questions_answers.json").read_text(encoding="utf-8"))
    questions = [
        Question(
            id=f"{category}/{number}",
            text=item["question"],
            category=category,
            files=tuple(item["files"]),
            answers=tuple(map(tuple, item["answers"])),
        )
        for category, items in data.items()
        for number, item in enumerate(items)
    ]
    seen, pipelines = 0, []
    for path in sorted((folder / "results").glob("*.json")):
        imported = read_result_file(path, questions)
        assert [record.question for record in imported.records] == questions
        assert all("cut at 500" in warning for warning in imported.warnings)
        assert all(record.answer is not None for record in imported.records)
        seen += len(imported.records)
        pipelines.append(imported.pipeline)
    assert seen == 744
    assert {name: pipelines.count(name) for name in pipelines} == {
        "Docling with EasyOCR": 3,
        "LlamaIndex RAG": 3,
        "Closed": 2,
    }


@pytest.mark.slow
def test_the_summary_says_where_the_released_exemplars_do_not_decide(project: Project) -> None:
    """The released exemplars here are made up: by them, the answer is a statement and so a hallucination."""
    rows = [response(pred_answer="a tall tree", correctness_score=0.0)]
    project.write("tiny.json", json.dumps({"model": "tiny", "api_model": "tiny:1b", "responses": rows}))
    assert project.fathoms("import", "fathoms-rag", "tiny.json").returncode == 0
    again = ("score", "tiny", "--profile", "paper-configured", "--set", "abstention.embed.kind=lexical")
    done = project.fathoms(*again)
    said = " ".join(done.stderr.split())
    assert "those that its authors released give 88 %: run 'fathoms data pull fathoms-rag', then" in said
    pulled = project.path / project.cache / "data" / "fathoms-rag" / "statement_abstention_training.json"
    pulled.parent.mkdir(parents=True)
    pulled.write_text(json.dumps({"statement": ["a tall tree"], "abstention": ["Nobody knows."]}))
    released = project.fathoms(*again, "--set", "abstention.exemplars=released")
    assert "authors released" not in released.stderr
    before, after = (
        [line for line in one.stdout.splitlines() if line.startswith("tiny")] for one in (done, released)
    )
    assert before != after
