"""MiRAGE's metrics on matrices worked by hand, with empty, duplicate, unparsed and uncited claims."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms.answers.citations import parse_citations
from fathoms.judges.of_run import Judging
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.claims import mirage
from fathoms.metrics.claims.mirage import Mirage
from fathoms.metrics.claims.terms import Term, mean_of
from fathoms.metrics.metric import Facts
from fathoms.metrics.score_records import RecordScore
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import (
    Chunk,
    Claim,
    Document,
    Evidence,
    Hit,
    Judgement,
    Page,
    Question,
    Record,
    Reply,
    Score,
    Verdict,
)

S1, S2, S3, S4 = "Alpha is one [1].", "Beta is two [2][3].", "Gamma is three.", "Again alpha is one [2]."
ANSWER = " ".join((S1, S2, S3, S4))
CLAIMS = tuple(
    Claim(text=text, context=context)
    for text, context in (("a", S1), ("b", S2), ("c", S3), ("a", S4), ("d", S2))
)
P1, P2 = "first page", "second page"
DOCUMENTS = {
    "x.pdf": Document(
        id="x.pdf",
        path=Path("x.pdf"),
        sha256="",
        pages=tuple(Page(number=at, text=text) for at, text in enumerate((P1, P2, "third page"), 1)),
    )
}
HITS = tuple(
    Hit(chunk=Chunk(id=str(at), document="x.pdf", pages=(at,), text="text"), score=1.0, rank=at)
    for at in (1, 2, 3)
)
REFERENCE = "The reference."
SUPPORTED = {
    *(("a", REFERENCE), ("c", REFERENCE)),
    *(("a", P2), ("c", P1), ("d", P2)),
    *(("g1", P1), ("g2", P2)),  # no page supports g3
    *(("a", "g1"), ("d", "g2")),
    *(("g1", ANSWER), ("g2", ANSWER), ("g1", S1)),
    *(("a", f"{P1}\n\n{P2}"), ("b", f"{P1}\n\n{P2}")),
}
"""Which claims are supported by which premises; d against the reference is unparsed."""


def record(answer: str = ANSWER, pages: Sequence[int] = (1, 2), **changes: Any) -> Record:
    question = Question(
        id="q",
        text="Which?",
        category="A",
        files=("x.pdf",),
        reference=REFERENCE,
        reference_claims=("g1", "g2", "g3"),
        evidence=tuple(Evidence(document="x.pdf", page=page) for page in pages),
    )
    found = Record(question=question, answer=Reply(text=answer), hits=HITS)
    return found.model_copy(update={"citations": parse_citations(answer, HITS), **changes})


def verdict(judgement: Judgement) -> Verdict:
    label = "supported" if (judgement.claim, judgement.premise) in SUPPORTED else "unsupported"
    if (judgement.claim, judgement.premise) == ("d", REFERENCE):
        label = "unparsed"
    return Verdict(claim=judgement.claim, premise=judgement.premise, label=label)


def scored(
    metric: Mirage,
    one: Record,
    claims: Sequence[Claim] = CLAIMS,
    missing: Sequence[tuple[str, str]] = (),
) -> Score:
    """Judge everything that the metric asks for, in as many rounds as it asks, and score."""
    metric = metric.reading(DOCUMENTS)
    split = {(one.answer.text, "Which?"): tuple(claims)} if one.answer else {}
    if metric.lacks(one) is not None:
        return metric.of(Facts(one, RecordScore()))
    verdicts: dict[Judgement, Verdict] = {}
    eaches = [*metric.judgements(one, split)]
    while eaches:
        verdicts |= {each: verdict(each) for each in eaches if (each.claim, each.premise) not in missing}
        further = metric.further(one, split, verdicts) if hasattr(metric, "further") else ()
        eaches = [
            each for each in further if each not in verdicts and (each.claim, each.premise) not in missing
        ]
    return metric.of(Facts(one, RecordScore(), claims=split, verdicts=verdicts))


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("metric", "value", "n"),
    [
        (mirage.InfoPReference(), 3 / 4, 4),  # a, c, a again; d is unparsed
        (mirage.InfoPReference(released=True), 3 / 5, 5),
        (mirage.InfoPCollection(), 4 / 5, 5),
        (mirage.InfoPCollection(inference="multi"), 3 / 5, 5),  # a, b, a again
        (mirage.InfoR(), 2 / 3, 3),
        (mirage.InfoR(attested=True), 1.0, 2),
        (mirage.InfoF1Reference(), harmonic(3 / 4, 2 / 3), 7),
        (mirage.InfoF1Collection(), harmonic(4 / 5, 2 / 3), 8),
        (mirage.CitePReference(), 2 / 4, 4),  # a once, by g1; d, by g2; c is uncited
        (mirage.CitePCollection(), 1 / 4, 4),  # d; the first sentence with a cites page 1, which lacks it
        (mirage.CitePCollection(mentions="any"), 2 / 4, 4),
        (mirage.CiteR(), 1 / 2, 2),  # g1; nothing supports g3
        (mirage.CiteF1Reference(), harmonic(1 / 2, 1 / 2), 6),
        (mirage.CiteF1Collection(), harmonic(1 / 4, 1 / 2), 6),
    ],
)
def test_values_by_hand(metric: Mirage, value: float, n: int) -> None:
    found = scored(metric, record())
    assert (found.value, found.n) == (pytest.approx(value), n)


def test_what_is_not_judged_widens_the_bounds() -> None:
    found = scored(mirage.InfoPReference(), record())
    assert (found.parts["unjudged"], found.parts["lowest"], found.parts["highest"]) == (1, 3 / 5, 4 / 5)
    lost = scored(mirage.CiteR(), record(), missing=[("g3", P2)])  # g3 may count, and may be said
    assert (lost.value, lost.parts["lowest"], lost.parts["highest"]) == (1 / 2, 1 / 3, 2 / 3)
    unknown = scored(mirage.CitePReference(), record(), missing=[("g1", P1)])  # what page 1 supports is open
    assert (unknown.value, unknown.parts["lowest"], unknown.parts["highest"]) == (1 / 3, 1 / 4, 2 / 4)
    assert scored(mirage.CitePReference(), record()).parts["uncited"] == 1


@pytest.mark.parametrize("answer", ["", "I do not know."])
def test_without_claims_there_is_no_precision_and_no_recall(answer: str) -> None:
    one = record(answer)
    for metric in (mirage.InfoPReference(), mirage.InfoPCollection(), mirage.CitePCollection()):
        assert scored(metric, one, ()).value is None
        released = metric.model_copy(update={"released": True})
        assert scored(released, one, ()).value == 0
        assert released.name == f"{metric.name}-released"
    assert (scored(mirage.InfoR(), one, ()).value, scored(mirage.CiteR(), one, ()).value) == (0, 0)
    assert scored(mirage.InfoF1Reference(), one, ()).value is None
    assert scored(mirage.InfoF1Reference(released=True), one, ()).value == 0


def test_with_a_single_source_citations_need_no_metric_of_their_own() -> None:
    one = record(pages=(1,))
    for info, cite in (
        (mirage.InfoPReference(), mirage.CitePReference()),
        (mirage.InfoPCollection(), mirage.CitePCollection()),
    ):
        first, second = scored(info, one), scored(cite, one)
        assert (first.value, first.parts) == (second.value, second.parts)
    assert scored(mirage.CitePCollection(), one).value == 1 / 5
    for metric in (mirage.CiteR(), mirage.CiteF1Reference(), mirage.CiteF1Collection()):
        found = scored(metric, one)
        assert (found.value, "several gold sources" in str(found.why["lacks"])) == (None, True)


def test_only_gold_pages_count_and_never_what_was_retrieved() -> None:
    metric = mirage.InfoPCollection().reading(DOCUMENTS)
    judgements = metric.judgements(record(), {(ANSWER, "Which?"): CLAIMS})
    assert {one.premise for one in judgements} == {P1, P2}
    every = mirage.InfoPCollection(sources="files").reading(DOCUMENTS)
    judgements = every.judgements(record(), {(ANSWER, "Which?"): CLAIMS})
    assert {one.premise for one in judgements} == {P1, P2, "third page"}
    assert every.name == "mirage.info-p-collection-of-files"
    gone = scored(mirage.InfoPCollection(), record(pages=(7, 8)))  # pages that the run does not hold
    assert (gone.value, gone.why) == (None, {"lacks": "the text of gold pages"})
    seventh = HITS[2].model_copy(update={"chunk": HITS[2].chunk.model_copy(update={"pages": (7,)})})
    hits = (*HITS[:2], seventh)
    cited = parse_citations(ANSWER, hits)
    partly = scored(mirage.CitePCollection(), record(pages=(2, 7), hits=hits, citations=cited))
    # b and d cite a gold page that cannot be read; d follows from the other one all the same
    assert (partly.value, partly.parts["unjudged"], partly.parts["highest"]) == (1 / 3, 1, 2 / 4)


def test_what_a_record_lacks() -> None:
    assert scored(mirage.InfoPCollection(), record(pages=())).why == {"lacks": "gold evidence"}
    assert scored(mirage.CiteR(), record(citations=None)).why == {"lacks": "citations"}
    loose = parse_citations("It is [1].", HITS)[0].model_copy(update={"sentence": None})
    assert "with the sentences" in str(scored(mirage.CiteR(), record(citations=(loose,))).why["lacks"])
    none = scored(mirage.CitePCollection(), record(citations=()))
    assert (none.value, none.parts["uncited"]) == (0, 4)  # a is listed once


def test_post_hoc_citations_are_made_for_uncited_sentences_and_marked() -> None:
    """By words in common, "The first of them." is nearest to page 1."""
    answer = "The first of them. The second [2]."
    claims = (Claim(text="c", context="The first of them."), Claim(text="d", context="The second [2]."))
    metric = mirage.CitePCollection(cite="post-hoc")
    assert metric.name == "mirage.cite-p-collection-post-hoc"
    assert scored(mirage.CitePCollection(), record(answer), claims).value == 1 / 2
    assert scored(metric, record(answer), claims).value == 1
    assert scored(metric, record(answer, citations=None), claims).value == 1
    sentences = metric.reading(DOCUMENTS).citing(record(answer)).sentences()
    assert [(source.page, text) for source, text in sentences.items()] == [
        (2, "The second [2]."),
        (1, "The first of them."),
    ]


def test_weights_have_mean_1_unless_released(tmp_path: Path) -> None:
    """Claims: a 3, the others 1, so that a, c, a again of a, b, c, a weigh 7 of 8 (d is unparsed)."""
    weights = tmp_path / "weights.yaml"
    weights.write_text("claims: {a: 3}\nsources: {'x.pdf, page 2': 3}\n")
    metric = mirage.InfoPReference(weights=Path("weights.yaml")).at(tmp_path)
    metric.check()
    assert (metric.name, scored(metric, record()).value) == ("mirage.info-p-reference-weighted", 7 / 8)
    found = scored(mirage.InfoPReference(weights=weights, released=True), record())
    assert found.value == 7 / 5
    # pages 1 and 2 have 0.5 and 1.5: a could have 0.5, b and d 1.5, c 1; d has it
    assert scored(mirage.CitePCollection(weights=weights), record()).value == pytest.approx(1.5 / 4.5)
    assert scored(mirage.CitePCollection(weights=weights, released=True), record()).value == 3 / 4
    # g1 could have 0.5 and has it, g2 could have 1.5
    assert scored(mirage.CiteR(weights=weights), record()).value == pytest.approx(0.5 / 2)


def test_the_bounds_of_a_mean_are_its_extremes() -> None:
    terms = [Term(1, 1), Term(0, 2, 2), Term(0, 0, 1, None), Term(3, 3, 3, None)]
    found = mean_of("m", terms)
    assert (found.value, found.n) == (1, 1)
    assert (found.parts["lowest"], found.parts["highest"]) == (1 / 4, 1)
    nothing: Mapping[str, float | None] = mean_of("m", [Term(0, 1, 1, False)]).parts
    assert (nothing["lowest"], nothing["highest"]) == (None, None)


def test_a_run_asks_what_depends_on_verdicts_and_asks_nothing_twice(tmp_path: Path) -> None:
    """The scripted judge supports a claim whose words are all in the premise."""
    said = "The tower is tall [1]. The bridge is long [2]."
    question = Question(
        id="q",
        text="Which?",
        category="A",
        reference="The tower is tall and the bridge is old.",
        reference_claims=("tower tall", "bridge old"),
        evidence=(
            Evidence(document="a.pdf", quote="The tower is tall."),
            Evidence(document="b.pdf", quote="The bridge is long and old."),
        ),
    )
    hits = tuple(
        Hit(chunk=Chunk(id=name, document=name, pages=(1,), text="text"), score=1.0, rank=rank)
        for rank, name in enumerate(("a.pdf", "b.pdf"), 1)
    )
    run = new_run(tmp_path / "runs", "towers", "0" * 8, {"name": "towers", "folder": "."})
    cited = parse_citations(said, hits)
    run.records.append([Record(question=question, answer=Reply(text=said), hits=hits, citations=cited)])
    judging = Judging(ScriptedJudge(claims="sentences"))
    metrics = [metric() for metric in mirage.METRICS]
    first = score_run(run, metrics=metrics, judging=judging).plain()
    assert first["judging"]["failed"] == 0
    values = {name: one["overall"]["value"] for name, one in first["metrics"].items() if "mirage" in name}
    assert values["mirage.cite-r"] == 1 / 2  # "bridge old" is nowhere in the answer
    again = score_run(run, metrics=metrics, judging=judging).plain()
    assert again["judging"]["asked"] == 0
    assert json.dumps(again["metrics"]) == json.dumps(first["metrics"])
