"""Question sets of evaluation tools and of spreadsheets, in the forms that their own writers give them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora import read_questions
from fathoms.corpora.loading import load
from fathoms.corpora.questions import QuestionFile
from fathoms.corpora.released import listed
from fathoms.corpora.sources import FileSource
from fathoms.errors import DataError

TOWER = {"question": "How tall?", "answer": "41.5 m"}
GOLDEN = {"expected_output": "Ann", "actual_output": None, "input_token_count": None, "name": None}
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How tall?"}]
FORMS: dict[str, tuple[str, Any]] = {
    "ragas-jsonl": ("r.jsonl", {"user_input": "How tall?", "reference": "41.5 m", "synthesizer_name": "one"}),
    "ragas-csv": ("r.csv", "user_input,reference\nHow tall?,41.5 m\n"),
    "ragas-pandas": ("r.csv", ",user_input,reference\n0,How tall?,41.5 m\n"),
    "deepeval-json": ("d.json", [{"input": "How tall?", **GOLDEN, "expected_output": "41.5 m"}]),
    "deepeval-csv": (
        "d.csv",
        "input,actual_output,expected_output,context,source_file,input_token_count\nHow tall?,,41.5 m,,,\n",
    ),
    "langsmith": ("l.jsonl", {"inputs": {"question": "How tall?"}, "outputs": {"answer": "41.5 m"}}),
    "langfuse-api": ("l.json", {"data": [{"input": "How tall?", "expectedOutput": {"answer": "41.5 m"}}]}),
    "langfuse-csv": (
        "l.csv",
        'id,input,expectedOutput,metadata\ni1,"{""question"": ""How tall?""}","""41.5 m""",\n'.replace(
            '"""41.5 m"""', "41.5 m"
        ),
    ),
    "phoenix-examples": (
        "p.json",
        {
            "data": {
                "version_id": "v",
                "examples": [
                    {"input": {"question": "How tall?"}, "output": {"answer": "41.5 m"}, "metadata": {}}
                ],
            }
        },
    ),
    "phoenix-csv": ("p.csv", "example_id,input_question,output_answer,metadata_a\ne1,How tall?,41.5 m,b\n"),
    "phoenix-csv-20": (
        "p.csv",
        "id,node_id,input.question,output.answer,metadata.page\ne1,e1,How tall?,41.5 m,1.0\n",
    ),
    "phoenix-data-frame": (
        "p.csv",
        "example_id,input,output,metadata\ne1,{'question': 'How tall?'},{'answer': '41.5 m'},{'page': 1}\n",
    ),
    "phoenix-openai-ft": ("p.jsonl", {"messages": [*CHAT, {"role": "assistant", "content": "41.5 m"}]}),
    "phoenix-openai-evals": ("p.jsonl", {"messages": CHAT, "ideal": "41.5 m"}),
    "promptfoo-csv": ("t.csv", "question,__expected\nHow tall?,contains: 41.5 m\n"),
    "excel": ("e.csv", "sep=;\nQuestion;Answers\nHow tall?;41.5 m\n"),
    "json-in-jsonl": ("a.jsonl", '[\n{"question": "How tall?", "answers": ["41.5 m"]}\n]'),
}


def test_messages_without_a_question_or_an_answer_are_named(tmp_path: Path) -> None:
    """Phoenix writes empty messages where its examples are no chats."""
    turn = {"role": "user", "content": "And its door?"}
    rows: list[Any] = [
        {"messages": [*CHAT, {"role": "assistant", "content": "41.5 m"}]},
        {"messages": []},
        {"messages": [], "ideal": ""},
        {"messages": CHAT},
        {"messages": [*CHAT, {"role": "assistant", "content": "41.5 m"}, turn], "ideal": "green"},
    ]
    file = read(tmp_path, "p.jsonl", "\n".join(map(json.dumps, rows)))
    assert [(one.text, one.answers) for one in file.questions] == [("How tall?", (("41.5 m",),))]
    said = " ".join(file.warnings)
    assert (
        "rows left out, because their input is a conversation or names no question: 3 (lines 2, 3, 5)" in said
    )
    assert ": 1 (line 4)" in said


def read(folder: Path, name: str, data: Any, **named: str) -> QuestionFile:
    text = data if isinstance(data, str) else json.dumps(data)
    (folder / name).write_text(text, encoding="utf-8")
    return read_questions(folder / name, named or None)


@pytest.mark.parametrize(("name", "data"), FORMS.values(), ids=FORMS)
def test_each_form_has_its_question_and_its_gold(tmp_path: Path, name: str, data: Any) -> None:
    (found,) = read(tmp_path, name, data).questions
    assert (found.text, found.answers) == ("How tall?", (("41.5 m",),))


def test_gold_contexts_are_evidence_where_their_document_is_known(tmp_path: Path) -> None:
    golden = {**GOLDEN, "input": "Who?", "context": ["It is Ann.", "It was Bo."]}
    known = read(tmp_path, "d.json", [{**golden, "source_file": "in/varn.pdf"}]).questions[0]
    assert [(one.document, one.quote) for one in known.evidence] == [
        ("varn.pdf", "It is Ann."),
        ("varn.pdf", "It was Bo."),
    ]
    unknown = read(tmp_path, "d.json", [golden])
    assert unknown.questions[0].evidence == ()
    assert "gold contexts left out, because no document is named for them: 1 (line 1)" in unknown.warnings[0]
    ragas = {"user_input": "Who?", "reference": "Ann", "reference_context_ids": ["varn.pdf#page=3"]}
    assert read(tmp_path, "r.jsonl", ragas).questions[0].evidence[0].page == 3


def test_what_has_no_place_is_named(tmp_path: Path) -> None:
    row: dict[str, Any] = {"input": "Who?", "expectedOutput": "It is Ann, of the tower.", "createdAt": "2026"}
    row["metadata"] = {"category": "people", "deep": {"a": 1}, "tags": ["x", "y"]}
    found = read(
        tmp_path, "l.json", [row, {**row, "status": "ARCHIVED"}, {"input": [], "expectedOutput": "x"}]
    )
    (question,) = found.questions
    assert (question.category, question.metadata) == ("people", {"tags": "x, y"})
    assert question.reference == "It is Ann, of the tower."
    said = "\n".join(found.warnings)
    for part in ("'createdAt' left out", "'deep' left out", "archived", "a conversation", "'reference'"):
        assert part in said


PROMPTFOO = """
defaultTest:
  assert: [{type: context-faithfulness, threshold: 0.8}]
tests:
  - vars: {question: 'How tall is it?', reference: It is 41.5 m tall., context: x}
    metadata: {category: numbers, id: q1}
    assert:
      - {type: contains, value: 41.5 m}
      - {type: contains-any, value: [tower, Varn]}
  - vars: {question: 'Which colours?', n: two}
    assert:
      - {type: icontains-all, value: [red, blue]}
      - {type: assert-set, assert: [{type: regex, value: '{{n}} colours'}]}
      - {type: llm-rubric, value: is polite}
  - vars: {question: 'Anything?'}
    assert: [{type: javascript, value: 'output.length'}, {type: not-contains, value: no}]
  - file://more.csv
"""


def test_assertions_of_promptfoo_are_gold(tmp_path: Path) -> None:
    found = read(tmp_path, "promptfooconfig.yaml", PROMPTFOO)
    first, second = found.questions
    assert (first.id, first.category, first.reference) == ("q1", "numbers", "It is 41.5 m tall.")
    assert first.answers == (("41.5 m", "tower"), ("41.5 m", "Varn"))
    assert [str(phrase) for phrase in second.answers[0][:2]] == ["red", "blue"]
    assert second.answers[0][2].model_dump() == {"regex": "two colours", "ignore_case": False}  # type: ignore[union-attr]
    assert second.metadata == {"llm-rubric": "is polite"}
    said = "\n".join(found.warnings)
    for part in (
        "file://more.csv",
        "'context-faithfulness' left out",
        "variable 'context'",
        "'javascript'",
        "'not-contains'",
        "none of their assertions is a gold answer: 1 (line 15)",
    ):
        assert part in said


def test_columns_of_any_name_are_named(tmp_path: Path) -> None:
    table = "Frage;Antwort;Bemerkung\nWie hoch?;41,5 m;x\n"
    found = read(tmp_path, "f.csv", table, question="Frage", answer="Antwort")
    assert (found.questions[0].text, found.questions[0].answers) == ("Wie hoch?", (("41,5 m",),))
    assert "the column 'Bemerkung' is left out" in found.warnings[0]
    with pytest.raises(DataError, match="there is not one column 'Fragen'"):
        read(tmp_path, "g.csv", table, question="Fragen")
    with pytest.raises(DataError, match="no key of a question is called 'anser'"):
        read(tmp_path, "g.csv", table, anser="Antwort")


def test_a_folder_of_beir_has_its_judged_passages_as_evidence(tmp_path: Path) -> None:
    """Each file may be packed, as in the archives of many collections."""
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": "a", "title": "", "text": "It is Ann."}, {"_id": "varn.pdf#page=3", "text": "x"}]
    queries = [{"_id": "q1", "text": "Who?"}, {"_id": "q2", "text": "Where?"}]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("\n".join(map(json.dumps, rows)))
    judged = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tvarn.pdf#page=3\t2\nq2\ta\t0\n"
    (tmp_path / "qrels" / "test.tsv").write_text(judged)
    (tmp_path / "qrels" / "dev.tsv").write_text(judged)
    found = read_questions(tmp_path)
    (question,) = found.questions
    assert [(one.document, one.page, one.quote, one.relevance) for one in question.evidence] == [
        ("a", None, "It is Ann.", None),
        ("varn.pdf", 3, None, 2),
    ]
    said = "\n".join(found.warnings)
    assert "not of dev.tsv" in said
    assert "queries left out" in said


def test_case_of_file_names_is_taken_as_meant(tmp_path: Path) -> None:
    (tmp_path / "Varn.PDF").write_bytes(b"%PDF-1.4\n")
    row = {"question": "How tall?", "answers": "41.5 m", "files": ["varn.pdf"]}
    (tmp_path / "q.json").write_text(json.dumps([row]))
    corpus = load(FileSource(questions=tmp_path / "q.json", documents=tmp_path))
    assert corpus.questions[0].files == ("Varn.PDF",)
    assert any("varn.pdf is Varn.PDF" in warning for warning in corpus.warnings)


def test_numbers_and_truth_values_are_taken_as_meant(tmp_path: Path) -> None:
    found = read(tmp_path, "q.json", [{"question": "How tall?", "answers": [41.5, [True, "m"]]}])
    assert [[str(part) for part in variant] for variant in found.questions[0].answers] == [
        ["{number: 41.5}"],
        ["{yes_no: yes}", "m"],
    ]
    assert found.warnings[0].endswith("read as {number: ...} or {yes_no: ...}: 2")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("['a' 'b']", ["a", "b"]),
        ("['a' \"it's\"\n 'c']", ["a", "it's", "c"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("[1 2.5]", [1, 2.5]),
        ("[('a', 1)]", [("a", 1)]),
        ("['a' + 'b']", None),
        ("[]", []),
    ],
)
def test_lists_in_the_notation_of_numpy_keep_their_items(text: str, items: list[Any] | None) -> None:
    """Python itself reads `['a' 'b']` as one text."""
    assert listed(text) == items
