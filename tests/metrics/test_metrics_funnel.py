"""The funnel, worked by hand: recall at each stage, losses and gains, and what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fathoms.metrics.funnel import RunTexts, funnel, prompted, steps
from fathoms.metrics.funnel_summary import summarise_funnels, with_funnels
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.score_records import RecordScore, Scores, Scoring
from fathoms.metrics.stages import STAGES, Funnel, Stage
from fathoms.types import (
    Attachment,
    Chunk,
    Document,
    Evidence,
    Hit,
    Message,
    Page,
    Part,
    Prompt,
    Question,
    Record,
    Reply,
)

QUESTION = Question(
    id="q", text="?", category="A", files=("gold.pdf",), answers=(("alder", "4.0", "oak", "elm"),)
)


def document(name: str, *pages: str) -> Document:
    numbered = tuple(Page(number=number, text=text) for number, text in enumerate(pages, 1))
    return Document(id=name, path=Path(name), sha256="", pages=numbered)


GOLD = document("gold.pdf", "Alder and oak, 4.0 per cent.", "Elm.")
TEXTS = RunTexts({"gold.pdf": GOLD})


def hit(text: str, **more: Any) -> Hit:
    return Hit(chunk=Chunk(id="c", document="gold.pdf", pages=(1,), text=text, **more), score=1, rank=1)


def record(
    *hits: Hit, context: str | None = None, cut: bool | None = None, of: Question = QUESTION, **more: Any
) -> Record:
    prompt = None if context is None else Prompt(messages=(Message(role="user", text="?"),), context=context)
    fields = {
        "question": of,
        "hits": hits,
        "prompt": prompt,
        "answer": Reply(text="alder", prompt_cut=cut),
    }
    return Record(**{**fields, **more})


def test_each_stage_by_hand() -> None:
    # 4 of 4 phrases in the document, 3 retrieved, 2 in the prompt, 1 in the answer
    one_record = record(hit("Alder, oak"), hit("4.0 per cent"), context="Alder, 4.0")
    found = funnel(one_record, 0.25, ("4.0", "oak", "elm"), TEXTS)
    assert [found.recall(stage) for stage in STAGES] == [1.0, 0.75, 0.5, 0.25]
    assert found.lost == {"documents": 0.0, "retrieved": 0.25, "prompt": 0.25, "answer": 0.25}
    assert found.gained == dict.fromkeys(STAGES, 0.0)
    assert found.missed == {"4.0": "answer", "oak": "prompt", "elm": "retrieved"}


def test_a_phrase_that_the_parser_lost_is_missing_from_the_documents_on() -> None:
    wanted = QUESTION.model_copy(update={"id": "e", "evidence": (Evidence(document="gold.pdf", page=2),)})
    found = funnel(record(hit("Oak"), context="Oak", of=wanted), 0.0, ("alder", "oak"), TEXTS)
    assert (found.documents, found.retrieved) == (0.25, 0.25)  # elm alone is on the gold page
    assert found.missed == {"alder": "documents", "oak": "answer"}


@pytest.mark.parametrize(
    ("retrieved", "context", "stage"),
    [
        ("About 500K items.", "About 500K items.", "answer"),
        ("About 500K items.", "", "prompt"),
        ("Nothing.", "", "retrieved"),
    ],
)
def test_the_variant_that_was_there_is_the_one_that_was_lost(
    retrieved: str, context: str, stage: Stage
) -> None:
    """The gold answers are 499,609 or 500K; the parsed page has only the second, and the answer neither."""
    wanted = QUESTION.model_copy(update={"id": "items", "answers": (("499,609",), ("500K",))})
    texts = RunTexts({"gold.pdf": document("gold.pdf", "There are 500K items.")})
    one_record = record(hit(retrieved), context=context, of=wanted, answer=Reply(text="12 items"))
    score = RecordScore(correctness=0.0, missed=("499,609",))  # the first variant wins a tie
    found = with_funnels(one_record, {"fathoms": score}, texts, STAGES)["fathoms"].funnel
    assert found is not None
    assert {name for name, value in found.lost.items() if value} == {stage}
    assert found.missed == {"500K": stage}


@example([set(), set(), {"d", "e"}, {"b"}])
@given(st.lists(st.sets(st.sampled_from("abcde")), min_size=4, max_size=4))
def test_what_the_answer_lost_is_missing_from_the_answer(covered: list[set[str]]) -> None:
    wanted = QUESTION.model_copy(update={"answers": (("a", "b"), ("c",), ("d", "e", "a"))})
    in_document, retrieved, context, answer = (" ; ".join(sorted(letters)) for letters in covered)
    texts = RunTexts({"gold.pdf": document("gold.pdf", in_document)})
    one_record = record(hit(retrieved), context=context, of=wanted, answer=Reply(text=answer))
    score = phrase_recall(answer, wanted.answers, "word")
    found = funnel(one_record, score.value, tuple(map(str, score.missed)), texts)
    if found.lost["answer"]:
        assert "answer" in found.missed.values()
    assert (score.value == 1) == (not found.missed)


def test_losses_and_gains_are_never_netted() -> None:
    lost, gained = steps({"documents": 0.5, "retrieved": 0.75, "prompt": 0.25, "answer": 1.0}, STAGES)
    assert lost == {"documents": 0.5, "retrieved": 0.0, "prompt": 0.5, "answer": 0.0}
    assert gained == {"documents": 0.0, "retrieved": 0.25, "prompt": 0.0, "answer": 0.75}


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_what_was_lost_and_gained_leads_from_the_whole_to_the_answer(values: list[float]) -> None:
    recalls: dict[Stage, float | None] = dict(zip(STAGES, values, strict=True))
    lost, gained = steps(recalls, STAGES)
    assert 1 - sum(lost.values()) + sum(gained.values()) == pytest.approx(values[-1])
    assert all(min(lost[stage], gained[stage]) == 0 for stage in STAGES)


def test_what_is_unknown_is_neither_lost_nor_gained() -> None:
    """A text that one question lacks leaves its steps out; a stage that no question has is passed over."""
    recalls: dict[Stage, float | None] = {"documents": 1.0, "retrieved": 0.5, "prompt": None, "answer": 0.25}
    lost, _ = steps(recalls, STAGES)
    assert lost == {"documents": 0.0, "retrieved": 0.5}
    lost, _ = steps(recalls, ("documents", "retrieved", "answer"))
    assert lost == {"documents": 0.0, "retrieved": 0.5, "answer": 0.25}
    lost, _ = steps({**recalls, "documents": None}, ("retrieved", "answer"))
    assert lost == {"answer": 0.25}


PDF = Attachment(document="gold.pdf", pages=(1,), path=Path("gold.pdf"), sha256="", size=1)


@pytest.mark.parametrize(
    "one_record",
    [
        record(hits=None),
        record(hit("Alder", whole=False)),
        record(hit("", modality="file", file=PDF)),
        record(hit("", modality="image", image=Path("page.png"))),
    ],
    ids=["not told", "cut by a file", "a PDF", "an image"],
)
def test_retrieved_text_that_is_not_known(one_record: Record) -> None:
    assert funnel(one_record, 0.25, (), TEXTS).retrieved is None


def test_nothing_retrieved_is_known() -> None:
    assert funnel(record(context=""), 0.25, (), TEXTS).retrieved == 0.0


def test_a_document_cut_at_its_end_was_retrieved_whole() -> None:
    cut = hit("Alder and oak", dropped=20)
    assert funnel(record(cut, context="Alder and oak"), 0.0, (), TEXTS).retrieved == 1.0
    assert funnel(record(cut), 0.0, (), RunTexts({})).retrieved is None


def test_prompts_that_are_not_known() -> None:
    def sent(**more: Any) -> Record:
        message = Message(role="user", text="?", **more)
        return record(prompt=Prompt(messages=(message,), context="Alder"))

    assert prompted(record()) is None
    assert prompted(sent()) == ["Alder"]
    assert prompted(sent(images=(Path("page.png"),))) is None
    assert prompted(sent(files=(PDF,))) is None
    assert prompted(record(context="Alder", cut=True)) is None
    assert prompted(record(context="Alder", cut=False)) == ["Alder"]


def test_parts_of_a_prompt_count_together() -> None:
    parts = tuple(
        Part(prompt=Prompt(messages=(), context=text), reply=Reply(text="")) for text in ("alder", "oak")
    )
    merged = record(prompt=Prompt(messages=(), parts=parts))
    assert funnel(merged, 0.0, (), TEXTS).prompt == 0.5
    cut = parts[0].model_copy(update={"reply": Reply(text="", prompt_cut=True)})
    assert prompted(record(prompt=Prompt(messages=(), parts=(cut, parts[1])))) is None


def test_a_document_that_is_not_there_is_unknown_and_one_that_was_unreadable_is_lost() -> None:
    assert funnel(record(), 0.0, (), RunTexts({"other.pdf": GOLD})).documents is None
    unread = funnel(record(), 0.0, (), RunTexts({"other.pdf": document("other.pdf", "x")}, ["gold.pdf"]))
    assert (unread.documents, unread.lost["documents"]) == (0.0, 1.0)
    assert "documents" in RunTexts({}, ["gold.pdf"]).known_stages([])


def test_a_run_without_documents_is_not_read_to_its_end_for_its_stages() -> None:
    left = iter([record(hit("a"), context="a"), record()])
    assert RunTexts({}).known_stages(left) == {"retrieved", "prompt", "answer"}
    assert len(list(left)) == 1
    left = iter([record()] * 3)
    assert RunTexts({}).known_stages(left, possible=("answer",)) >= {"answer"}
    assert len(list(left)) == 2  # nothing more can be learnt, so nothing more is read


def test_left_out_questions_have_no_figures() -> None:
    others = {f"o{n}.pdf": document(f"o{n}.pdf", "nothing") for n in range(4)}
    texts = RunTexts({"gold.pdf": GOLD, **others, "x.pdf": document("x.pdf", "alder")})
    common = QUESTION.model_copy(update={"answers": (("nothing",),)})
    assert funnel(record(of=common), 1.0, (), texts) == Funnel(left_out="common", chance=0.8)
    yes = QUESTION.model_copy(update={"id": "y", "answers": (("yes",),)})
    assert funnel(record(of=yes), 1.0, (), texts) == Funnel(left_out="yes-no")
    rare = QUESTION.model_copy(update={"id": "r", "answers": (("alder",),)})
    assert funnel(record(of=rare), 1.0, (), texts).chance == 0.2


def test_the_rule_of_the_profile_holds_at_every_stage() -> None:
    wanted = QUESTION.model_copy(update={"answers": (("5",),)})
    one_record = record(hit("15 - five"), context="15", of=wanted)
    texts = RunTexts({"gold.pdf": document("gold.pdf", "15")})
    found = [funnel(one_record, 0.0, (), texts, STAGES, match) for match in ("substring", "word")]
    assert [[f.recall(stage) for stage in STAGES[:3]] for f in found] == [[1.0] * 3, [0.0] * 3]


def scores_of(rows: list[Record], *correctness: float) -> Scores:
    reported = TEXTS.known_stages(rows)
    result = [
        with_funnels(row, {"fathoms": RecordScore(correctness=value)}, TEXTS, reported)
        for row, value in zip(rows, correctness, strict=True)
    ]
    return Scores(Scoring(), tuple(result), {})


def test_summary_by_hand() -> None:
    """Repeats within their question, questions within their category, categories alike."""
    twice = [record(hit("alder"), context="alder", repeat=n) for n in (0, 1)]
    second = QUESTION.model_copy(update={"id": "q2", "category": "B"})
    third = QUESTION.model_copy(update={"id": "q3", "category": "B", "answers": (("no",),)})
    rows = [*twice, record(hit("alder, oak"), of=second), record(of=third, context="")]
    found = summarise_funnels(rows, scores_of(rows, 0.25, 0.0, 0.5, 1.0))["fathoms"].plain()
    assert found["categories"]["A"]["answer"] == {
        "recall": 0.125,
        "n": 1,
        "lost": 0.125,
        "gained": 0.0,
        "compared": 1,
    }
    assert found["categories"]["B"]["prompt"] == {
        "recall": None,
        "n": 0,
        "lost": None,
        "gained": None,
        "compared": 0,
    }
    assert found["overall"]["retrieved"] == {
        "recall": 0.375,  # (0.25 + 0.5) / 2
        "n": 2,
        "lost": 0.625,
        "gained": 0.0,
        "compared": 2,
        "categories": 2,
        "compared_categories": 2,
    }
    # the prompt of B is not known: that figure of Overall is A's
    assert found["overall"]["prompt"]["categories"] == 1
    assert found["left_out"] == {"yes-no": 1}


def test_answers_alone_have_no_funnel() -> None:
    rows = [record(hits=None)]
    texts = RunTexts({})
    row = with_funnels(rows[0], {"fathoms": RecordScore()}, texts, texts.known_stages(rows))
    assert row["fathoms"].funnel is None
    assert summarise_funnels(rows, Scores(Scoring(), (row,), {})) == {}
