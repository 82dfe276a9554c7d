"""The share of evidence documents that reach each stage, by hand."""

from __future__ import annotations

import pytest

from fathoms.metrics.evidence_documents import (
    EvidenceDocumentCombined,
    EvidenceDocumentInPrompt,
    EvidenceDocumentParsed,
    EvidenceDocumentRetrieved,
    EvidenceDocumentStage,
)
from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.metric import Facts
from fathoms.metrics.score_records import RecordScore
from fathoms.types import (
    Chunk,
    Cut,
    Document,
    Evidence,
    Failure,
    Hit,
    Message,
    Page,
    Part,
    Prompt,
    Question,
    Record,
    Reply,
)

NAMES = ["a.pdf", "b.pdf", "c.pdf", "d.pdf", "e.pdf"]
GOLD = Question(
    id="q",
    text="How many?",
    category="c",
    evidence=(*(Evidence(document=name, page=1) for name in NAMES), Evidence(document="a.pdf", page=2)),
)
TEXTS = RunTexts(
    {
        name: Document(id=name, path=name, sha256="0" * 64, pages=(Page(number=1, text=text),), parser="p")
        for name, text in zip(NAMES, ["A", "B", "C", "D", ""], strict=True)
    }
)


def hit(name: str | None, rank: int) -> Hit:
    """A chunk of another page of a document than the gold one."""
    chunk = Chunk(id=f"{name}#{rank}", document=name, pages=(3,), text="text")
    return Hit(chunk=chunk, score=1.0, rank=rank)


def prompt(context: str, *cuts: str, parts: tuple[Part, ...] = ()) -> Prompt:
    """A prompt that lost some chunks."""
    lost = tuple(Cut(chunk=name, dropped=4, length=4) for name in cuts)
    return Prompt(messages=(Message(role="user", text="t"),), context=context, cuts=lost, parts=parts)


def values(record: Record, texts: RunTexts | None = TEXTS) -> list[float | None]:
    """The value at each stage."""
    facts = Facts(record, RecordScore(correctness=None), texts=texts)
    stages: list[EvidenceDocumentStage] = [
        EvidenceDocumentParsed(),
        EvidenceDocumentRetrieved(),
        EvidenceDocumentInPrompt(),
        EvidenceDocumentCombined(),
    ]
    return [stage.of(facts).value for stage in stages]


def test_each_stage_by_hand() -> None:
    """Five documents: the fifth has no text, three are retrieved, and one of these does not fit."""
    hits = (hit("a.pdf", 1), hit("b.pdf", 2), hit("x.pdf", 3), hit("c.pdf", 4))
    record = Record(question=GOLD, hits=hits, prompt=prompt("text", "c.pdf#4"), answer=Reply(text="3"))
    assert values(record) == [4 / 5, 3 / 5, 2 / 5, None]
    score = EvidenceDocumentInPrompt().of(Facts(record, RecordScore(correctness=None), texts=TEXTS))
    assert (score.parts, score.why["missing"]) == ({"reached": 2, "documents": 5}, "c.pdf; d.pdf; e.pdf")


def test_documents_that_were_each_asked() -> None:
    """Of four that were asked, one says nothing, one failed, and one is no evidence."""
    fields = {"a.pdf": {}, "b.pdf": {"nothing": True}, "x.pdf": {}}
    parts = [Part(prompt=prompt("text"), reply=Reply(text="1"), document=n, **m) for n, m in fields.items()]
    failed = Failure(kind="ModelError", message="down")
    parts.append(Part(prompt=prompt("text"), reply=Reply(text=""), document="c.pdf", error=failed))
    hits = tuple(hit(name, rank) for rank, name in enumerate(["a.pdf", "b.pdf", "x.pdf", "c.pdf"], start=1))
    record = Record(question=GOLD, hits=hits, prompt=prompt("", parts=tuple(parts)), answer=Reply(text="3"))
    assert values(record) == [4 / 5, 3 / 5, 3 / 5, 1 / 5]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (Record(question=GOLD, hits=None), [4 / 5, None, None, None]),
        (Record(question=GOLD, hits=(hit(None, 1),)), [4 / 5, None, None, None]),
        (Record(question=GOLD.model_copy(update={"evidence": GOLD.evidence[:1]})), [None] * 4),
    ],
    ids=["no hits known", "a hit of an unknown document", "evidence in one document"],
)
def test_what_is_not_known(record: Record, expected: list[float | None]) -> None:
    assert values(record) == expected


def test_texts_that_are_not_known() -> None:
    assert values(Record(question=GOLD), None)[0] is None
