"""Gold pages at each stage of the pipeline, worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.gold_pages import BY_CHUNK, BY_PARSER, UNKNOWN_LOSS
from fathoms.metrics.metric import Facts
from fathoms.metrics.pooling import Pool
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.metrics.stages import Funnel
from fathoms.types import (
    Attachment,
    Chunk,
    Citation,
    Cut,
    Document,
    Evidence,
    Hit,
    Message,
    Page,
    Prompt,
    Question,
    Record,
    Reply,
)

# Page 3 of a.pdf has no text; the gold is pages 2 and 3 of it, and page 1 of b.pdf.
A = Document(
    id="a.pdf",
    path=Path("a.pdf"),
    sha256="",
    pages=tuple(Page(number=n, text=text) for n, text in enumerate(["one", "two  words", " "], 1)),
)
B = A.model_copy(update={"id": "b.pdf", "pages": (Page(number=1, text="other"),)})
TEXTS = RunTexts({"a.pdf": A, "b.pdf": B})
GOLD = tuple(Evidence(document=name, page=n) for name, n in (("a.pdf", 2), ("a.pdf", 3), ("b.pdf", 1)))
QUESTION = Question(id="q", text="?", category="A", evidence=GOLD, answers=(("two",),))
STAGES = ("gold-page-parsed", "gold-page-retrieved", "gold-page-in-prompt", "gold-page-cited")


def hit(rank: int, document: str, *pages: int, **more: Any) -> Hit:
    chunk = Chunk(**{"id": f"c{rank}", "document": document, "pages": pages, "text": "text", **more})
    return Hit(chunk=chunk, score=1 / rank, rank=rank)


HITS = (hit(1, "a.pdf", 1, 2), hit(2, "b.pdf", 1), hit(3, "b.pdf", 1), hit(4, "a.pdf", 1))


def record(**changes: Any) -> Record:
    message = Message(role="user", text="?")
    prompt = Prompt(messages=(message,), context="one two words", **changes.pop("prompt", {}))
    fields = {
        "question": QUESTION,
        "hits": HITS,
        "prompt": prompt,
        "answer": Reply(text="two"),
        "citations": (),
    }
    return Record(**{**fields, **changes})


def values(one_record: Record, texts: RunTexts | None = TEXTS) -> list[float | None]:
    facts = Facts(one_record, RecordScore(), texts=texts)
    return [metric.of(facts).value for metric in named(STAGES)]


def thirds(*numbers: int | None) -> list[Any]:
    return [None if number is None else pytest.approx(number / 3) for number in numbers]


def test_each_stage_by_hand() -> None:
    """Page 3 of a.pdf has no text and no hit; b.pdf does not fit, and a page of a.pdf is cited."""
    cuts = (Cut(chunk="c2", dropped=9, length=9), Cut(chunk="c3", dropped=4, length=4))
    one_record = record(prompt={"cuts": cuts}, citations=(Citation(label="1", ranks=(1,)),))
    assert values(one_record) == thirds(2, 2, 1, 1)
    facts = Facts(one_record, RecordScore(), texts=TEXTS)
    (metric,) = named(["gold-page-in-prompt"])
    assert metric.of(facts).why == {"missing": "a.pdf, page 3; b.pdf, page 1"}


def test_one_chunk_of_a_page_in_the_prompt_is_enough() -> None:
    cuts = (Cut(chunk="c2", dropped=3, length=9), Cut(chunk="c3", dropped=4, length=4))
    assert values(record(prompt={"cuts": cuts}))[2:] == thirds(2, 0)


def test_a_page_behind_the_cut_of_its_chunk_is_there_if_the_prompt_holds_its_beginning() -> None:
    cut = {"cuts": (Cut(chunk="c1", dropped=5, length=13),)}
    assert values(record(prompt=cut))[2] == pytest.approx(2 / 3)
    gone = record(prompt=cut).prompt
    assert gone is not None
    gone = gone.model_copy(update={"context": "one"})
    assert values(record().model_copy(update={"prompt": gone}))[2] == pytest.approx(1 / 3)
    assert values(record(prompt=cut), RunTexts({}))[2] is None


def test_what_is_not_known_is_none() -> None:
    assert values(record(hits=None, citations=None)) == thirds(2, None, None, None)
    assert values(record(answer=Reply(text="two", prompt_cut=True)))[2] is None
    assert values(record(answer=None)) == thirds(2, 2, 2, None)
    assert values(record(), RunTexts({"a.pdf": A}))[0] is None
    assert values(record(), RunTexts({"a.pdf": A}, ["b.pdf"]))[0] == pytest.approx(1 / 3)  # unreadable
    no_pages = (hit(1, "a.pdf"), hit(2, "b.pdf", 1))
    assert values(record(hits=no_pages))[1] is None  # the first hit may be of any page
    elsewhere = QUESTION.model_copy(update={"id": "b", "evidence": GOLD[2:]})
    assert values(record(hits=no_pages, question=elsewhere))[1] == 1.0
    assert values(record(question=QUESTION.model_copy(update={"evidence": ()}))) == [None] * 4


def test_citations_by_page_and_by_rank() -> None:
    by_page = Citation(document="a.pdf", page=3)  # was not retrieved
    whole = Citation(document="b.pdf")  # names no page and no hit
    assert values(record(citations=(by_page, whole)))[3] == pytest.approx(1 / 3)
    assert values(record(citations=(by_page, Citation(label="[2]", ranks=(2,)))))[3] == pytest.approx(2 / 3)


def test_pictures_and_attached_pages_are_in_the_prompt() -> None:
    picture = hit(1, "a.pdf", 3, text="", modality="image", image=Path("3.png"))
    sent = Attachment(document="a.pdf", pages=(2,), path=Path("p.pdf"), sha256="", size=1)
    part = hit(2, "a.pdf", text="", modality="file", file=sent)
    message = Message(role="user", text="?", images=(Path("3.png"),), files=(sent,))
    one_record = record(hits=(picture, part)).model_copy(update={"prompt": Prompt(messages=(message,))})
    assert values(one_record) == thirds(2, 2, 2, 0)
    bare = one_record.model_copy(update={"prompt": Prompt(messages=(Message(role="user", text="?"),))})
    assert values(bare)[2] == 0.0


@pytest.mark.parametrize(
    ("pages", "funnel", "value", "meaning"),
    [
        ((1, 2), Funnel(documents=1.0, retrieved=1.0), 1.0, "both found"),
        ((1,), Funnel(documents=1.0, retrieved=0.5), 1.0, "neither found"),
        ((1,), Funnel(documents=1.0, retrieved=1.0), 0.0, "the phrases stand on another page"),
        ((2,), Funnel(documents=0.5, retrieved=0.5), 0.0, BY_PARSER),
        ((2,), Funnel(documents=1.0, retrieved=0.5), 0.0, BY_CHUNK),
        ((2,), Funnel(retrieved=0.5), 0.0, UNKNOWN_LOSS),
        ((2,), Funnel(left_out="yes-no"), None, None),
    ],
)
def test_what_it_means_if_the_readings_disagree(
    pages: tuple[int, ...], funnel: Funnel, value: float | None, meaning: str | None
) -> None:
    wanted = QUESTION.model_copy(update={"evidence": GOLD[:1]})
    (metric,) = named(["page-phrase-agreement"])
    pool = Pool(metric)
    one_record = record(question=wanted, hits=(hit(1, "a.pdf", *pages),))
    score = metric.of(Facts(one_record, RecordScore(funnel=funnel), texts=TEXTS))
    assert (score.value, score.why.get("meaning")) == (value, meaning)
    pool.add(wanted, score)
    cells = pool.figures().plain().get("cells")
    assert cells == (None if meaning is None else [{"category": "A", "meaning": meaning, "n": 1}])


def test_texts_without_a_place_are_unknown_and_never_nothing() -> None:
    """A hit without a document may be of any gold page; the empty name is that of earlier runs."""
    nowhere = hit(5, "")
    assert nowhere.chunk.document is None
    alone = record(hits=(nowhere,), citations=(Citation(ranks=(5,)),))
    assert values(alone) == thirds(2, None, None, None)
    # where the others cover all gold pages, it changes nothing
    assert values(record(hits=(*HITS, hit(6, "a.pdf", 3), nowhere)))[1] == 1
    assert values(record(hits=(nowhere,)))[3] == 0  # nothing is cited
