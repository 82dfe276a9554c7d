"""The released question set of FATHOMS-RAG: counts of the paper (section III), pins of the manifest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.corpora import NamedSource, find_manifest, load, pull, read_questions

SIZES = {"Text-Only": 31, "Tables": 13, "Images": 14, "Multimodal": 25, "Cross-Document Multimodal": 10}


@pytest.fixture(scope="module")
def released(shared: Path) -> Path:
    return shared / "fathoms-rag"


def test_the_released_questions(released: Path) -> None:
    read = read_questions(released / "questions_answers.json")
    questions = read.questions
    assert len(questions) == 93
    assert {name: sum(q.category == name for q in questions) for name in read.categories} == SIZES
    assert read.warnings == ()
    assert max(len(q.answers) for q in questions) == 6
    assert max(len(variant) for q in questions for variant in q.answers) == 18
    assert len({q.id for q in questions}) == 93
    assert (questions[0].id, questions[-1].id) == ("text-only-01", "cross-document-multimodal-10")


@pytest.mark.slow
def test_every_question_is_as_the_file_has_it(released: Path) -> None:
    path = released / "questions_answers.json"
    raw = [(name, row) for name, rows in json.loads(path.read_text()).items() for row in rows]
    for question, (category, row) in zip(read_questions(path).questions, raw, strict=True):
        assert question.category == category
        assert question.text == row["question"]
        assert list(question.files) == row["files"]
        assert [list(variant) for variant in question.answers] == row["answers"]


def test_the_manifest_names_the_papers_of_the_questions(released: Path) -> None:
    read = read_questions(released / "questions_answers.json")
    manifest = find_manifest("fathoms-rag")
    assert {entry.file for entry in manifest.documents} == {f for q in read.questions for f in q.files}
    assert read.sha256 == manifest.questions.sha256


def test_a_local_copy_can_be_asked_in_part(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    report = pull("fathoms-rag", source=released)
    assert [file.state for file in report.files].count("copied") == 7
    assert not [file for file in report.files if file.state == "mismatch"], "the pins are those of the files"
    corpus = load(NamedSource(name="fathoms-rag", missing="skip"))
    chosen = corpus.select()
    assert len(chosen) == 47
    assert {name: sum(q.category == name for q in chosen) for name in corpus.categories} == {
        "Text-Only": 19,
        "Tables": 7,
        "Images": 8,
        "Multimodal": 13,
        "Cross-Document Multimodal": 0,
    }
    assert corpus.sizes() == SIZES
    assert len(corpus.left_out()) == 46
    assert corpus.missing == ("2201.04182v3.pdf", "2403.01777v2.pdf", "2406.09961v2.pdf")
    assert corpus.warnings == ()
    assert [q.category for q in corpus.select(limit=5)] == [*list(SIZES)[:4], "Text-Only"]
    exemplars = json.loads((report.folder / "statement_abstention_training.json").read_text())
    assert {label: len(texts) for label, texts in exemplars.items()} == {"statement": 56, "abstention": 34}


def test_the_released_files_are_used_in_place(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    source = NamedSource(
        name="fathoms-rag",
        questions=released / "questions_answers.json",
        documents=released / "papers",
        missing="skip",
    )
    corpus = load(source)
    assert len(corpus.select()) == 47
    assert corpus.warnings == ()
    assert list(tmp_path.iterdir()) == []
