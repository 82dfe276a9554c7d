"""ARGUE's metrics on hand-worked answers: uncited, repeated, unknown, unparsed and unanswerable."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fathoms.answers.citations import parse_citations
from fathoms.metrics.claims.argue import DRAFTED, F1Macro
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.pooling import JudgedBy, Pool
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Hit, Judgement, Nugget, Question, Record, Reply, Score, Verdict

NUGGETS = (
    Nugget(question="How old?", answers=("old", "very old"), importance="vital"),
    Nugget(question="Which colour?", answers=("blue",)),
    Nugget(question="Who built it?", origin="drafted"),
    Nugget(question="How high?", answers=("41.5 m",), importance="vital", origin="drafted"),
)
ANSWER = (
    "The tower is old [1][2]. It has a lift [2, 3]. It is red. This is a report. The tower is OLD. "
    "It has stood for long. It is tall [9]. It is not known who built it [2]."
)
# Each citation of the first sentence attests it, one of two of the second, none of the last; the judge says
# of the third that it needs a citation, of the fourth that it needs none, of the sixth that it repeats.
LABELS = {
    ("The tower is old.", "one"): "supported",
    ("The tower is old.", "two"): "supported",
    ("It has a lift.", "three"): "supported",
    ("It is red.", "citing"): "needed",
    ("This is a report.", "citing"): "none",
    ("It has stood for long.", "citing"): "repeated",
    ("old\nvery old", "nugget"): "supported",
    ("Who built it?", "unanswerable"): "supported",
    ("41.5 m", "nugget"): "unparsed",
}
BY_HAND = {
    "sentence-support": 1 / 5,
    "sentence-support-of-all": 1 / 8,
    "nugget-coverage": 2 / 3,
    "nugget-coverage-weighted": 3 / 4,
    "f1-macro": 2 * (1 / 5) * (2 / 3) / (1 / 5 + 2 / 3),
    "f1-micro": None,
}


def record(answer: str, nuggets: tuple[Nugget, ...] = NUGGETS, name: str = "q") -> Record:
    hits = [
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(("one", "two", "three"), start=1)
    ]
    question = Question(id=name, text="Why?", category="A", nuggets=nuggets)
    citations = parse_citations(answer, hits)
    return Record(question=question, answer=Reply(text=answer), hits=tuple(hits), citations=citations)


def judgements_of(metric: Metric, one: Record) -> list[Judgement]:
    return list(metric.judgements(one, {}))  # type: ignore[attr-defined]


def score(
    metric: Metric,
    one: Record,
    changed: Mapping[tuple[str, str], str | None] | None = None,
    *,
    abstained: bool = False,
) -> Score:
    """The score by all verdicts that a metric asks for, a few of them changed or (`None`) missing."""
    labels: dict[tuple[str, str], str | None] = {**LABELS, **(changed or {})}
    verdicts = {}
    for wanted in judgements_of(metric, one):
        key = wanted.claim, wanted.premise if wanted.rubric == "support" else wanted.rubric
        if label := labels.get(key, "unsupported"):
            verdicts[wanted] = Verdict(claim=wanted.claim, premise=wanted.premise, label=label)
    return metric.of(Facts(one, RecordScore(abstained=abstained), verdicts=verdicts))


def scores(
    answer: str = ANSWER, changed: Mapping[tuple[str, str], str | None] | None = None, **more: bool
) -> dict[str, Score]:
    return {
        metric.name.removeprefix("argue."): score(metric, record(answer), changed, **more)
        for metric in named(["argue"])
    }


def test_all_six_by_hand() -> None:
    found = scores()
    assert {name: one.value for name, one in found.items()} == pytest.approx(BY_HAND)
    support, coverage = found["sentence-support"], found["nugget-coverage"]
    labels = [row["label"] for row in support.why["sentences"]]  # type: ignore[attr-defined]
    assert labels == [
        *("supported", "unsupported", "uncited", "needs none", "repeated", "repeated"),
        *("unsupported", "unsupported"),
    ]
    assert (support.n, support.parts["items"], support.parts["repeated"]) == (5, 5, 2)
    labels = [row["label"] for row in coverage.why["nuggets"]]  # type: ignore[attr-defined]
    assert labels == ["answered", "missed", "rightly unanswerable", "unparsed"]
    assert (coverage.parts["lowest"], coverage.parts["highest"]) == (2 / 4, 3 / 4)
    weighted = found["nugget-coverage-weighted"].parts
    assert (weighted["lowest"], weighted["highest"]) == (3 / 6, 5 / 6)
    assert F1Macro(sentences="all").name == "argue.f1-macro-of-all"
    of_all = score(F1Macro(sentences="all"), record(ANSWER)).value
    assert of_all == pytest.approx(2 * (1 / 8) * (2 / 3) / (1 / 8 + 2 / 3))


def test_each_citation_is_judged_alone_and_what_is_certain_is_not_asked() -> None:
    support, of_all, coverage, *_ = named(["argue"])
    wanted = judgements_of(support, record(ANSWER))
    assert [(one.claim, one.premise) for one in wanted if one.rubric == "support"] == [
        *(("The tower is old.", "one"), ("The tower is old.", "two")),
        *(("It has a lift.", "two"), ("It has a lift.", "three"), ("It is not known who built it.", "two")),
    ]
    citing = [one for one in wanted if one.rubric == "citing"]
    assert [one.claim for one in citing] == ["It is red.", "This is a report.", "It has stood for long."]
    assert citing[0].premise == "The tower is old.\nIt has a lift."
    assert {one.rubric for one in judgements_of(of_all, record(ANSWER))} == {"support"}
    assert [one.rubric for one in judgements_of(coverage, record(ANSWER))] == [
        *("nugget", "nugget", "unanswerable", "nugget")
    ]


def test_what_was_not_judged_is_counted_and_bounded() -> None:
    changed = {("It is red.", "citing"): "unparsed", ("The tower is old.", "two"): None}
    support = scores(changed=changed)["sentence-support"]
    # of five sentences, the first may be supported, and the third may not count
    assert (support.value, support.n, support.parts["unjudged"]) == (0.0, 3, 2)
    assert (support.parts["lowest"], support.parts["highest"]) == (0.0, 1 / 4)
    # one citation that does not attest decides, whatever the other would
    changed = {("It has a lift.", "three"): None}
    assert scores(changed=changed)["sentence-support"].parts["unjudged"] == 0


def test_answers_without_sentences_or_citations() -> None:
    empty = {name: one.value for name, one in scores(" ").items()}
    assert empty == {**dict.fromkeys(BY_HAND), "nugget-coverage": 0.0, "nugget-coverage-weighted": 0.0}
    uncited = scores("It is red.")
    assert (uncited["sentence-support"].value, uncited["sentence-support-of-all"].value) == (0.0, 0.0)
    none = scores("This is a report.")
    assert (none["sentence-support"].value, none["sentence-support-of-all"].value) == (None, 0.0)
    abstained = scores("This is a report.", abstained=True)  # it may rightly say that it is not known
    assert (abstained["sentence-support-of-all"].value, abstained["nugget-coverage"].value) == (None, 2 / 3)
    no_nuggets = Facts(record(ANSWER, nuggets=()), RecordScore())
    lacking = [metric.of(no_nuggets).why.get("lacks") for metric in named(["argue"])]
    assert lacking == [None, None, "nuggets", "nuggets", "nuggets", "nuggets"]


def test_f1_is_macro_over_topics_and_micro_over_pooled_counts() -> None:
    missed = (Nugget(question="Which colour?", answers=("blue",)),)
    big = record("The tower is old [1].", missed, "big")
    macro, micro = named(["argue.f1-macro", "argue.f1-micro"])
    figures = {}
    for metric in (macro, micro):
        pool = Pool(metric)
        for one in (record(ANSWER), big):
            pool.add(one.question, score(metric, one))
        figures[metric.name] = pool.figures(JudgedBy("a judge", "")).plain()
        other = Pool(metric)
        other.extend(pool.state(), [other._questions.number(one.question) for one in (record(ANSWER), big)])
        if metric is micro:
            assert other.figures().overall == pool.figures().overall
    precision, recall = (1 + 1) / (5 + 1), (2 + 0) / (3 + 1)
    found = figures["argue.f1-micro"]
    assert found["overall"]["value"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["overall"]["low"] < found["overall"]["value"] < found["overall"]["high"]
    assert found["categories"]["A"] == found["overall"]
    assert (found["overall"]["n"], found["missing"], found["pooling"]) == (2, None, "f1")
    # with the unparsed nugget missed or answered, recall is 2/5 or 3/5
    bounds = [2 * precision * recall / (precision + recall) for recall in (2 / 5, 3 / 5)]
    assert [found["judged"]["lowest"], found["judged"]["highest"]] == pytest.approx(bounds)
    assert figures["argue.f1-macro"]["overall"]["value"] == pytest.approx((BY_HAND["f1-macro"] + 0) / 2)  # type: ignore[operator]

    # a sentence of which it is not known whether it needs a citation may be left out, but never be supported
    pool = Pool(micro)
    unknown = score(
        micro, record(ANSWER), {("It is red.", "citing"): None, ("41.5 m", "nugget"): "supported"}
    )
    pool.add(record(ANSWER).question, unknown)
    judged = pool.figures(JudgedBy("a judge", "")).plain()["judged"]
    bounds = [2 * p * (3 / 4) / (p + 3 / 4) for p in (1 / 5, 1 / 4)]
    assert [judged["lowest"], judged["highest"]] == pytest.approx(bounds)
    assert found["counted"] == {DRAFTED: 2}
