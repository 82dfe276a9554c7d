"""What the claim metrics share, by hand: claims and premises of a record, matrices, values with bounds."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from fathoms.answers.citations import parse_citations
from fathoms.metrics.claims import premises
from fathoms.metrics.claims.matrix import Grid
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.shares import ratio_of
from fathoms.metrics.claims.texts import answer_text, claims_of_answer, claims_of_gold, gold_to_split
from fathoms.types import Chunk, Claim, Document, Evidence, Hit, Page, Question, Record, Reply, Verdict

ANSWER = "The tower is tall. [1] It was built in 1900. [2][9]"


def hit(rank: int, **of: object) -> Hit:
    chunk = Chunk.model_validate({"id": str(rank), "document": "a.pdf", "pages": (rank,), **of})
    return Hit(chunk=chunk, score=1.0, rank=rank)


HITS = (
    hit(1, text="The tower is 41.5 m tall."),
    hit(2, modality="image", image=Path("page.png"), text="read by OCR"),
    hit(3, modality="file"),
)


def record(answer: str = ANSWER, **question: object) -> Record:
    one_question = Question.model_validate(
        {"id": "q", "text": "How tall is it?", "category": "A", **question}
    )
    return Record(
        question=one_question, answer=Reply(text=answer), hits=HITS, citations=parse_citations(answer, HITS)
    )


def test_premises_are_what_a_judge_can_read_of_the_run() -> None:
    one = record()
    assert premises.retrieved(HITS) == (
        Premise("The tower is 41.5 m tall.", None, "hit 1"),
        Premise("", Path("page.png"), "hit 2"),  # the file has no text, because the vendor reads it
    )
    second = Claim(text="The tower was built in 1900.", context="It was built in 1900.", sentence=1)
    assert [citation.label for citation in premises.citations_of(one, second)] == ["2", "9"]
    assert premises.cited(one, premises.citations_of(one, second)) == premises.retrieved(HITS[1:2])
    assert premises.citations_of(one, Claim(text="The tower has a lift.")) == ()


def test_gold_pages_are_those_of_the_evidence_and_each_is_read_once() -> None:
    pages = (Page(number=1, text="Cover."), Page(number=2, text="41.5 m."))
    documents = {"a.pdf": Document(id="a.pdf", path=Path("a.pdf"), sha256="", pages=pages)}
    evidence = (
        Evidence(document="a.pdf", page=2, modality="text"),
        Evidence(document="a.pdf", page=2, modality="table"),
        Evidence(document="a.pdf", page=7),  # the run does not hold it
        Evidence(document="b.pdf", quote="It is tall."),
    )
    found = premises.gold_pages(record(evidence=evidence).question, documents)
    assert found == (Premise("41.5 m.", None, "a.pdf, page 2"), Premise("It is tall.", None, "b.pdf"))


def test_claims_of_the_gold_answer_are_those_of_the_question_set_or_split() -> None:
    given = record(reference="It is tall and old.", reference_claims=("It is tall.", "It is old.")).question
    assert gold_to_split(given) is None
    assert [claim.text for claim in claims_of_gold(given, {})] == ["It is tall.", "It is old."]
    split = record(reference="It is tall.").question
    text = ("It is tall.", "How tall is it?")
    assert (gold_to_split(split), claims_of_gold(split, {text: (Claim(text="tall"),)})) == (
        text,
        (Claim(text="tall"),),
    )
    phrases = record(answers=(("41.5 m",),)).question
    assert (gold_to_split(phrases), premises.gold_answer(phrases)) == (None, ())


@pytest.mark.parametrize("reply", [Reply(text=" "), Reply(text="No.", refusal="policy")])
def test_an_empty_answer_and_a_refusal_make_no_claims_and_entail_none(reply: Reply) -> None:
    one = record().model_copy(update={"answer": reply})
    assert (answer_text(one), claims_of_answer(one, {}), premises.answer(one)) == (None, (), ())


def test_a_matrix_knows_what_follows_from_the_verdicts_that_are_there() -> None:
    claims = (Claim(text="a"), Claim(text="b"), Claim(text="a"))
    grid = Grid(claims, (Premise("one", None, "hit 1"), Premise("two", None, "hit 2")))
    assert grid.judgements[0] == grid.judgements[2]  # judged once, counted twice
    labels = ("entailment", None, "unparsed", "contradiction")
    judgements = [judgement for row in grid.judgements[:2] for judgement in row]
    verdicts = {
        judgement: Verdict(claim=judgement.claim, premise=judgement.premise, label=label)
        for judgement, label in zip(judgements, labels, strict=True)
        if label
    }
    matrix = grid.judged(verdicts)
    assert matrix.entails == ((True, None), (None, False), (True, None))
    assert (matrix.supported, matrix.useful) == ((True, None, True), (True, None))
    assert matrix.contradicted == (None, True, None)
    assert [(row["label"], row["premise"]) for row in matrix.listed] == [
        ("entailment", "hit 1"),
        ("unparsed", "hit 1"),
        ("entailment", "hit 1"),
    ]


def test_a_judge_with_two_labels_does_not_tell_contradictions() -> None:
    grid = Grid((Claim(text="a"),), (Premise("one"), Premise("two")))
    labels = dict(zip(grid.judgements[0], ("supported", "unsupported"), strict=True))
    matrix = grid.judged(
        {one: Verdict(claim="a", premise=one.premise, label=label) for one, label in labels.items()}
    )
    assert (matrix.entails, matrix.contradicts) == (((True, False),), ((False, None),))


def test_bounds_are_the_extremes_over_all_that_the_missing_verdicts_could_be() -> None:
    values = (True, False, None)
    for pairs in product(product(values, values), repeat=3):
        possible = []
        for ends in product(
            *(product(*((v,) if v is not None else (True, False) for v in p)) for p in pairs)
        ):
            counted = [holds for holds, counts in ends if counts]
            if counted:
                possible.append(sum(counted) / len(counted))
        score = ratio_of("m", pairs)
        known = [holds for holds, counts in pairs if counts and holds is not None]
        assert score.value == (sum(known) / len(known) if known else None)
        bounds = (score.parts["lowest"], score.parts["highest"])
        assert bounds == ((min(possible), max(possible)) if possible else (None, None)), pairs
