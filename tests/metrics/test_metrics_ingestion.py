"""Recall of gold phrases in parsed text, worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.metrics.ingestion import gold_text_recall, is_common, summarise_gold_text
from fathoms.types import Document, Evidence, Page, Question


def document(name: str, *pages: str) -> Document:
    numbered = tuple(Page(number=number, text=text) for number, text in enumerate(pages, 1))
    return Document(id=name, path=Path(name), sha256="", pages=numbered)


def question(
    *answers: tuple[str, ...], name: str = "q", category: str = "A", page: int | None = 1
) -> Question:
    return Question(
        id=name,
        text="?",
        category=category,
        files=("gold.pdf",),
        answers=answers,
        evidence=(Evidence(document="gold.pdf", page=page),) if page != 0 else (),
    )


GOLD = document("gold.pdf", "Alder sawdust, 4.0 per cent.", "The pore P2 is wide.", "| 12.5 | kV |")
OTHERS = [document(f"other{n}.pdf", f"nothing {n}") for n in range(1, 6)]
DOCUMENTS = {item.id: item for item in [GOLD, *OTHERS]}


@pytest.mark.parametrize(
    ("one_question", "recall", "missed"),
    [
        (question(("alder",)), 1.0, ()),
        (question(("alder", "oak")), 0.5, ("oak",)),
        (question(("oak",), ("4.0",)), 1.0, ()),
        (question(("12.5",)), 0.0, ("12.5",)),  # on page 3, which is not the gold page
        (question(("12.5",), page=3), 1.0, ()),
        (question(("12.5", "alder"), page=None), 1.0, ()),  # the whole document
        (question(("12.5", "alder"), page=0), 1.0, ()),  # no evidence: the files of the question
        (question(("2.5",), page=3), 0.0, ("2.5",)),  # whole numbers only
        (question(("alder",), page=9), 0.0, ("alder",)),  # a page that the parser did not give
    ],
)
def test_recall(one_question: Question, recall: float, missed: tuple[str, ...]) -> None:
    found = gold_text_recall(one_question, DOCUMENTS)
    assert (found.recall, found.missed, found.left_out, found.chance) == (recall, missed, None, 0.0)


def test_of_a_large_corpus_a_fixed_sample_gives_the_chance_of_an_answer() -> None:
    # 3,000 other documents, of which every tenth holds the answer; reading one outside of the sample fails
    class Read(dict[str, Document]):
        def __init__(self) -> None:
            super().__init__()
            self.names: set[str] = set()

        def __getitem__(self, name: str) -> Document:
            self.names.add(name)
            number = int(name.removeprefix("other").removesuffix(".pdf")) if name != "gold.pdf" else 0
            return document(name, "Alder." if number % 10 == 0 else "Oak.")

    documents = Read()
    documents.update(dict.fromkeys(["gold.pdf", *(f"other{n}.pdf" for n in range(1, 3001))], GOLD))
    found = gold_text_recall(question(("alder",)), documents)
    assert found.chance == pytest.approx(0.1, abs=0.06)
    assert len(documents.names - {"gold.pdf"}) == 200
    assert gold_text_recall(question(("alder",)), documents) == found


def test_a_document_that_ingestion_lost_has_no_recall_of_it() -> None:
    assert gold_text_recall(question(("alder",)), {"other1.pdf": OTHERS[0]}).recall == 0.0


@pytest.mark.parametrize(
    ("one_question", "reason"),
    [
        (question(("yes",)), "yes-no"),
        (question(("No",), ("false",)), "yes-no"),
        (question(), "no-phrases"),
        (question(("alder",)).model_copy(update={"answerable": False}), "unanswerable"),
        (question(("alder",), page=0).model_copy(update={"files": ()}), "no-text"),
        (question(("nothing",)), "common"),
        (question(("12",)).model_copy(update={"metadata": {"computed": "the number of keels"}}), "computed"),
    ],
)
def test_left_out(one_question: Question, reason: str) -> None:
    found = gold_text_recall(one_question, DOCUMENTS)
    assert (found.recall, found.left_out) == (None, reason)


def test_an_answer_in_one_of_five_other_documents_is_not_common() -> None:
    found = gold_text_recall(question(("3",)), DOCUMENTS)
    assert (found.chance, found.left_out) == (0.2, None)
    assert gold_text_recall(question(("3",)), {"gold.pdf": GOLD}).chance is None


@pytest.mark.parametrize(
    ("others", "least"),
    [(1, None), (2, 2), (3, 3), (4, 3), (9, 3), (10, 3), (14, 3), (15, 4), (200, 41)],
)
def test_an_answer_is_common_from_three_other_documents_on(others: int, least: int | None) -> None:
    common = [holding for holding in range(others + 1) if is_common(holding, others)]
    assert (common[0] if common else None) == least
    assert common == list(range(least or others + 1, others + 1))


def test_means_by_category() -> None:
    questions = [
        question(("alder",), name="a1"),
        question(("alder", "oak"), name="a2"),
        question(("oak",), name="b1", category="B"),
        question(("yes",), name="b2", category="B"),
    ]
    found = summarise_gold_text(gold_text_recall(item, DOCUMENTS) for item in questions)
    assert found["overall"] == {"recall": 0.375, "micro_recall": 0.5, "n": 3}
    assert found["categories"] == {"A": {"recall": 0.75, "n": 2}, "B": {"recall": 0.0, "n": 1}}
    assert found["left_out"] == {"yes-no": 1}
    assert found["missed"] == {"a2": ["oak"], "b1": ["oak"]}
