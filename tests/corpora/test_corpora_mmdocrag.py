"""The rows of MMDocRAG: candidate quotes with their pictures, and faults in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.corpora import FileSource, NamedSource, load, read_questions
from fathoms.errors import DataError
from fathoms.importers import read_mmdocrag
from fathoms.types import Evidence, Quote
from tests.support.mmdocrag import write

ROW = {
    "q_id": 7,
    "doc_name": "docs/report_2015",
    "domain": "Research report",
    "question": "How many seniors go online?",
    "evidence_modality_type": ["Chart", "Text"],
    "question_type": "Descriptive",
    "text_quotes": [
        {"quote_id": "text1", "type": "text", "text": "Most go online.", "page_id": 0, "layout_id": 3},
        {"quote_id": "text2", "type": "text", "text": "Few do not.", "page_id": 4, "layout_id": 9},
    ],
    "img_quotes": [
        {
            "quote_id": "image1",
            "type": "image",
            "text": "90 %",
            "img_path": "images/a_1.jpg",
            "img_description": "A bar chart.",
            "page_id": 2,
            "layout_id": 5,
        },
    ],
    "gold_quotes": ["image1", "text2"],
    "answer_short": "90%",
    "answer_interleaved": "90% do [2]. ![Bars](image1)",
}


SET = "evaluation_20.jsonl"


def test_a_row_with_its_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / SET, [ROW])
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a_1.jpg").write_bytes(b"jpeg")
    file = read_questions(path)
    (question,) = file.questions
    assert file.warnings == ()
    assert (question.id, question.category, question.files) == ("7", "Research report", ("report_2015.pdf",))
    assert (question.reference, question.short_answer) == (ROW["answer_interleaved"], "90%")
    assert question.metadata == {
        "domain": "Research report",
        "question_type": "Descriptive",
        "evidence_modality_type": "Chart, Text",
    }
    assert question.quotes[1:] == (
        Quote(id="text2", text="Few do not.", document="report_2015.pdf", page=5, gold=True),
        Quote(
            id="image1",
            modality="image",
            text="90 %",
            description="A bar chart.",
            image=Path("images/a_1.jpg"),
            document="report_2015.pdf",
            page=3,
            gold=True,
        ),
    )
    # with real retrieval, the pages of the gold quotes are gold
    assert question.gold_evidence == (
        Evidence(document="report_2015.pdf", page=5, modality="text"),
        Evidence(document="report_2015.pdf", page=3, modality="image"),
    )
    corpus = load(FileSource(questions=path))
    assert corpus.questions[0].quotes[2].image == tmp_path.resolve() / "images" / "a_1.jpg"


def test_faults_are_counted_and_missing_pictures_named(tmp_path: Path) -> None:
    image = ROW["img_quotes"][0]  # type: ignore[index]
    rows = [
        ROW,
        {**ROW, "q_id": 8, "gold_quotes": ["image9"], "answer_short": ["46", "27"]},
        {**ROW, "q_id": 9, "question": None},
        {
            **ROW,
            "q_id": 10,
            "text_quotes": [{"quote_id": "text1", "text": " "}, "no quote"],
            "gold_quotes": [],
        },
        {**ROW, "q_id": 11, "img_quotes": [{**image, "img_path": "../../secret.jpg"}]},
    ]
    file = read_questions(write(tmp_path / SET, rows))
    assert [question.id for question in file.questions] == ["7", "8", "10"]
    assert file.questions[1].short_answer == "46, 27"
    found = {text.partition(": ")[2] for text in file.warnings}
    missing = "pictures of quotes that are not there, which 'mode: multimodal' needs: 5 (lines 1, 2, 3, 4, 5)"
    names = ", ".join(["images/a_1.jpg"] * 4)
    assert f"{missing}: {names}, ../../secret.jpg" in found
    assert "questions with gold quotes that are no candidates: 1 (line 2)" in found
    assert "rows left out, because 'question' is not a text, or there are no quotes: 1 (line 3)" in found
    assert (
        "quotes left out, because they have no 'quote_id', or neither text nor picture: 2 (line 4)" in found
    )
    assert "questions without gold quotes: 1 (line 4)" in found
    assert any("has to be a path inside the folder of the question file" in text for text in found)


def test_the_set_has_four_files_and_needs_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(
        DataError, match="'mmdocrag' is not on this machine: run 'fathoms data pull mmdocrag'"
    ):
        load("mmdocrag")
    folder = tmp_path / "data" / "mmdocrag"
    write(folder / SET, [ROW])
    write(folder / "dev_15.jsonl", [{**ROW, "q_id": 0}])
    corpus = load("mmdocrag")
    assert ([question.id for question in corpus.questions], corpus.documents, corpus.missing) == (
        ["7"],
        {},
        (),
    )
    other = load(NamedSource(name="mmdocrag", questions=Path("dev_15.jsonl")))
    assert [question.id for question in other.questions] == ["0"]
    with pytest.raises(DataError, match="is not on this machine"):
        load(NamedSource(name="mmdocrag", questions=Path("dev_20.jsonl")))


def test_released_answers_have_the_questions_of_the_set(tmp_path: Path) -> None:
    answers = write(tmp_path / "answers.jsonl", [{"q_id": 7, "response": "90% do [2]."}])
    found = read_mmdocrag(answers, write(tmp_path / SET, [ROW]))
    assert found.questions[0].text == ROW["question"]
    assert found.metrics[-2:] == ("bleu", "rouge-l")
