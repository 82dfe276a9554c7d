"""ALCE's metrics on hand-worked answers: uncited, unknown, duplicate and redundant citations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from fathoms.answers.citations import parse_citations
from fathoms.metrics.claims.alce import CitationMetric
from fathoms.metrics.claims.cited_sentences import cited_sentences
from fathoms.metrics.claims.texts import gold_to_split
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.registry import Metrics, named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Citation, Hit, Judgement, Question, Record, Reply, Score, Verdict

QUESTION = Question(id="q", text="Why?", category="A", reference="G.", reference_claims=("G", "H"))
Pair = tuple[str, str]
# The tower needs hits 1 and 2 together, for the lift hit 3 is enough, and nothing entails the colour.
ANSWER = (
    "The tower is old [1][2]. It has a lift [2, 3]. It is red.[1] It is tall. It is big [9]. It is red.[1]"
)
PICTURE = Path(__file__)  # scoring only looks whether the file is there
ENTAILED = {
    ("The tower is old.", "one\ntwo"),
    ("It has a lift.", "two\nthree"),
    ("It has a lift.", "three"),
    ("G", ANSWER),
}


def record(answer: str, pictures: Collection[int] = ()) -> Record:
    hits = []
    for rank, text in enumerate(("one", "two", "three", "four"), start=1):
        kind = {"modality": "image", "image": PICTURE} if rank in pictures else {"text": text}
        chunk = Chunk.model_validate({"id": text, "document": "a.pdf", "pages": (rank,), **kind})
        hits.append(Hit(chunk=chunk, score=1.0, rank=rank))
    citations = parse_citations(answer, hits)
    return Record(question=QUESTION, answer=Reply(text=answer), hits=tuple(hits), citations=citations)


def judged(
    one: Record, entailed: Collection[Pair] = (), changed: Mapping[Pair, str | None] | None = None
) -> dict[Judgement, Verdict]:
    """The verdicts that the metrics ask for, round by round, a few of them changed or (`None`) missing."""
    verdicts: dict[Judgement, Verdict] = {}

    def ask(judgement: Judgement) -> None:
        pair = judgement.claim, judgement.premise or str(judgement.image)
        if label := (changed or {}).get(pair, "supported" if pair in entailed else "unsupported"):
            verdicts[judgement] = Verdict(claim=judgement.claim, premise=judgement.premise, label=label)

    for metric in named(["alce"]):
        for judgement in metric.judgements(one, {}):  # type: ignore[attr-defined]
            ask(judgement)
        for _ in range(2 if isinstance(metric, CitationMetric) else 0):
            for judgement in metric.further(one, {}, verdicts):  # type: ignore[attr-defined]
                ask(judgement)
    return verdicts


def scores(
    answer: str,
    entailed: Collection[Pair] = ENTAILED,
    changed: Mapping[Pair, str | None] | None = None,
    which: str = "alce",
    *,
    abstained: bool = False,
) -> dict[str, Score]:
    one = record(answer)
    of = Facts(one, RecordScore(abstained=abstained), verdicts=judged(one, entailed, changed))
    return {
        metric.name.removeprefix("alce.").removesuffix("-released"): metric.of(of)
        for metric in named([which])
    }


@pytest.mark.parametrize("which", ["alce", "alce-released"])
def test_all_four_by_hand(which: str) -> None:
    found = scores(ANSWER, which=which)
    # of six sentences, the first two; of six citations, both of the first sentence and one of the second, as
    # hit 2 does not entail it and hit 3 does without it; the citation of hit 9 is left out
    values = {name: score.value for name, score in found.items()}
    precision, recall = 3 / 6, 2 / 6
    assert values == pytest.approx(
        {
            "claim-recall": 1 / 2,
            "citation-recall": recall,
            "citation-precision": precision,
            "citation-f1": 2 * precision * recall / (precision + recall),
        }
    )
    assert found["citation-recall"].parts["items"] == 6
    assert found["citation-precision"].parts["items"] == 6


def test_sentences_have_the_citations_that_follow_their_full_stop_and_three_sources_at_most() -> None:
    one = record("Cf. Fig. 2 is old.[2] [2] It is red [1][2][3][4]!\n[4]\nIt is tall.")
    found = [
        (sentence.claim.text, [source.place for source in sentence.sources])
        for sentence in cited_sentences(one, 3)
    ]
    assert found == [
        ("Cf. Fig. 2 is old.", ["hit 2"]),
        ("It is red!", ["hit 1", "hit 2", "hit 3"]),
        ("It is tall.", []),
    ]


def test_citations_are_asked_about_only_where_all_sources_together_entail_the_sentence() -> None:
    of = record("It is red [1][2][3].")
    claim = "It is red."
    joint, others = "one\ntwo\nthree", ["two\nthree", "one\ntwo"]
    one_judged = judged(of)
    assert [one.premise for one in one_judged if one.claim == claim] == [joint]
    one_judged = judged(of, {(claim, joint), (claim, "two")})
    assert [one.premise for one in one_judged if one.claim == claim] == [
        joint,
        "one",
        "two",
        "three",
        *others,
    ]


def test_what_was_not_judged_is_counted_and_left_out() -> None:
    of = {("The tower is old.", "one\ntwo"): None, ("It has a lift.", "two"): "unparsed"}
    found = scores(ANSWER, changed=of)
    recall, precision = found["citation-recall"], found["citation-precision"]
    assert (recall.value, recall.n, recall.parts["unjudged"]) == (1 / 5, 5, 1)
    assert (recall.parts["lowest"], recall.parts["highest"]) == (1 / 6, 2 / 6)
    assert (precision.value, precision.n, precision.parts["unjudged"]) == (1 / 3, 3, 3)
    released = scores(ANSWER, changed=of, which="alce-released")
    assert [released[name].value for name in ("citation-recall", "citation-precision")] == [1 / 6, 1 / 6]


def test_an_answer_without_citations_has_recall_0_and_no_precision() -> None:
    found, released = (scores("It is red.", which=which) for which in ("alce", "alce-released"))
    names = ("citation-recall", "citation-precision", "citation-f1")
    assert [found[name].value for name in names] == [0.0, None, None]
    assert [released[name].value for name in names] == [0.0, 0.0, 0.0]
    for none in (scores("It is red.", abstained=True), scores("[1]")):
        assert [none[name].value for name in names] == [None] * 3


def test_a_gold_answer_without_claims_has_no_recall() -> None:
    """ALCE's code gives 0, and it is the same answer whose citations have their usual scores."""
    one = record(ANSWER)
    one = one.model_copy(update={"question": QUESTION.model_copy(update={"reference_claims": ()})})
    text = gold_to_split(one.question)
    assert text is not None
    facts = Facts(one, RecordScore(), claims={text: ()}, verdicts={})
    found = [named([which])[0].of(facts) for which in ("alce", "alce-released")]
    assert [score.why for score in found] == [{"claims": "none"}] * 2
    assert [score.value for score in found] == [None, 0.0]
    assert "lacks" not in scores(ANSWER)["citation-precision"].why


def test_texts_and_pictures_are_not_judged_together() -> None:
    claim = "It is red."
    one = record("It is red [1][2].", pictures=[2])
    recall, precision, _ = named(["alce"])[1:]
    for entailed, value in ({(claim, str(PICTURE))}, 1.0), (set[Pair](), None):
        of = Facts(one, RecordScore(), verdicts=judged(one, entailed))
        assert recall.of(of).value == value
    of = Facts(one, RecordScore(), verdicts=judged(one, {(claim, str(PICTURE))}))
    assert (precision.of(of).value, precision.of(of).parts["unjudged"]) == (1 / 2, 0)


def test_citations_that_stand_beside_an_answer_belong_to_no_sentence() -> None:
    beside = record("It is red.").model_copy(update={"citations": (Citation(document="a.pdf", ranks=(1,)),)})
    assert named(["alce"])[1].of(Facts(beside, RecordScore())).why == {
        "lacks": "citations that are written in the answer"
    }


@pytest.mark.parametrize("kind", ["alce.citation-recall", "argue.sentence-support-of-all"])
def test_post_hoc_citations_name_the_nearest_text_and_are_marked(kind: str) -> None:
    answer = "Two of three are old [1]. Three is a lift. It is red."
    one = record(answer).model_copy(update={"citations": None})
    cited = record(answer)
    metric = validated(kind, cite="post-hoc")
    plain = validated(kind)
    assert (plain.of(Facts(one, RecordScore())).why, metric.lacks(one)) == ({"lacks": "citations"}, None)
    assert metric.name == f"{kind}-post-hoc"
    # what is written stays, the second sentence is like hit 3, and the last is like none
    wanted = [(found.claim, found.premise) for found in metric.judgements(cited, {})]  # type: ignore[attr-defined]
    assert wanted == [("Two of three are old.", "one"), ("Three is a lift.", "three")]
    verdicts = {
        found: Verdict(claim=found.claim, premise=found.premise, label="supported")
        for found in metric.judgements(cited, {})  # type: ignore[attr-defined]
    }
    facts = Facts(cited, RecordScore(), verdicts=verdicts)
    assert (metric.of(facts).value, plain.of(facts).value) == (2 / 3, 1 / 3)


def validated(kind: str, **options: str) -> Metric:
    (metric,) = TypeAdapter(Metrics).validate_python([{"kind": kind, **options}])
    return metric
