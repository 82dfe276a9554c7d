"""The chain of evidence: all pages of each hop, and what becomes of a question with more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fathoms.extras.questions.making.asking import Asker, Journal
from fathoms.extras.questions.making.clarity import Searches
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.making.labels import labelled_hops
from fathoms.models import ScriptedModel
from fathoms.retrieve import BM25, Index
from fathoms.runs.cache import Cache
from fathoms.types import Chunk, Document, Evidence, Page, Question, Step

PAGES = {
    "a.pdf": ("Ada Holm designed the Varn tower.", "Ada Holm was born in Osk. She designed the Varn tower."),
    "b.pdf": ("Osk is the birthplace of Ada Holm.", "The river Mell is long."),
}
DOCUMENTS = {
    name: Document(
        id=name,
        path=Path(name),
        sha256="0" * 64,
        pages=tuple(Page(number=number, text=text) for number, text in enumerate(texts, 1)),
    )
    for name, texts in PAGES.items()
}
WHO, WHERE = "Question: Who designed", "Question: In which town"
DRAFT = Draft(
    question=Question(
        id="q",
        text="In which town was the designer of the Varn tower born?",
        category="Cross-Document",
        files=("a.pdf", "b.pdf"),
        answers=(("Osk",),),
        evidence=(
            Evidence(document="a.pdf", page=1, quote="Ada Holm designed", step=1, modality="text"),
            Evidence(document="b.pdf", page=1, quote="Osk is the birthplace", step=2, modality="text"),
        ),
        steps=(
            Step(question="Who designed the Varn tower?", answer="Ada Holm"),
            Step(question="In which town was Ada Holm born?", answer="Osk"),
        ),
    )
)
Labelled = Callable[..., Draft]


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[Labelled]:
    """Label the draft by a judge that says yes of these pages and sub-questions."""
    chunks = [
        Chunk(id=f"{name}-{number}", document=name, pages=(number,), text=text)
        for name, texts in PAGES.items()
        for number, text in enumerate(texts, 1)
    ]
    index = Index((), chunks, None, lambda texts: None, tmp_path / "index")
    with closing(Cache(tmp_path / "cache")) as cache:

        def label(*holds: tuple[int, str, str], draft: Draft = DRAFT, fails: bool = False) -> Draft:
            patterns = {f"Page {page} of {name}.*{step}": "yes" for page, name, step in holds}
            for wanted in (WHO, WHERE):  # the judge who does not know the answers finds these in other words
                pages = [(name, page) for page, name, step in holds if step == wanted]
                shown = [rf"\[(\d+)\] Page {page} of the document {name}.*" for name, page in sorted(pages)]
                rows = [rf'{{"passage": \{at}, "answer": "?"}}' for at in range(1, len(pages) + 1)]
                said = f'{{"answers": [{", ".join(rows)}]}}'
                patterns["".join(shown) + f"Which of these.*{wanted}"] = said
            model = ScriptedModel(
                patterns=patterns, default="no", fail_on={"Page 1 of a.pdf": "no reply"} if fails else {}
            )
            searches = Searches(index, (BM25(top_k=10),), 10)
            (result,) = labelled_hops([draft], DOCUMENTS, searches, Asker(model, model, Journal(cache)))
            return result

        yield label


OWN = ((1, "a.pdf", WHO), (1, "b.pdf", WHERE))


def test_each_step_gets_all_pages_that_hold_its_answer(labelled: Labelled) -> None:
    labels = labelled(*OWN, (2, "a.pdf", WHERE))
    assert labels.failed is None
    assert [(one.document, one.page, one.step, bool(one.quote)) for one in labels.question.evidence] == [
        ("a.pdf", 1, 1, True),
        ("b.pdf", 1, 2, True),
        ("a.pdf", 2, 2, False),
    ]
    assert [check.reason for check in labels.checks] == ["1 further page", ""]
    assert labels.question.category == "Multi-Hop"  # a.pdf alone has both steps now
    assert labelled(*OWN).question == DRAFT.question


@pytest.mark.parametrize(
    ("holds", "item", "reason"),
    [
        (OWN[:1], "the pages of each step hold its answer", "not those of step 2"),
        (
            (*OWN, (2, "a.pdf", WHO), (2, "a.pdf", WHERE)),
            "no page holds all steps",
            "page 2 of a.pdf",
        ),
    ],
)
def test_drafts_are_dropped(
    labelled: Labelled, holds: tuple[tuple[int, str, str], ...], item: str, reason: str
) -> None:
    failed = labelled(*holds).failed
    assert failed is not None
    assert (failed.check, failed.item, failed.reason) == ("labels", item, reason)


def test_what_could_not_be_judged_is_not_passed(labelled: Labelled) -> None:
    failed = labelled(*OWN, fails=True).failed
    assert failed is not None
    assert (failed.item, failed.reason) == ("judged", "no reply")


def test_a_question_without_steps_is_left_as_it_is(labelled: Labelled) -> None:
    single = Draft(question=DRAFT.question.model_copy(update={"steps": ()}))
    assert labelled(draft=single) == single
