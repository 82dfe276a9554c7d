"""Near-duplicates by spelling: similarities worked out by hand, and no pair that is compared in vain is
lost."""

from __future__ import annotations

import json
import random

import pytest

from fathoms.extras.questions.duplicates import jaccard, near_duplicates, ngrams
from fathoms.runs.metadata import variant
from fathoms.types import Question
from tests.support.project import Project


def question(name: str, text: str, answer: str = "41") -> Question:
    return Question(id=name, text=text, category="A", answers=((answer,),))


def test_similarity_is_that_of_stretches_of_five_characters() -> None:
    """`howtall` has howta, owtal, wtall; `howtallx` has one more: 3 of 4."""
    assert ngrams("How tall?") == {"howta", "owtal", "wtall"}
    assert jaccard(ngrams("How tall?"), ngrams("how TALL x")) == 3 / 4
    assert ngrams("Où?") == {"ou"}
    assert jaccard(frozenset(), frozenset()) == 1


def test_a_question_repeats_an_earlier_one_or_one_of_another_set() -> None:
    questions = [
        question("a", "How tall is the Varn tower of Lune?"),
        question("b", "How tall is the VARN tower of Lune"),
        question("c", "How tall is the Varn tower of Lune then?", "42"),
        question("d", "Who built the mill?"),
        question("e", "Wie hoch ist der Turm?"),
    ]
    found = near_duplicates(questions)
    assert [(one.question.id, one.other.id, one.same_gold) for one in found] == [
        ("b", "a", True),
        ("c", "a", False),
    ]
    assert found[0].similarity == 1
    public = [question("p", "Who built the mill ?")]
    assert [(one.question.id, one.other.id) for one in near_duplicates(questions[3:], public)] == [("d", "p")]


def test_variants_are_no_duplicates_of_their_originals() -> None:
    first = question("a", "How tall is the Varn tower of Lune?")
    typo = variant(first, "typos", "How tall is the Vran tower of Lune?")
    assert near_duplicates([first, typo]) == []
    assert near_duplicates([typo, first]) == []


@pytest.mark.slow
def test_hashing_loses_no_pair_above_the_threshold() -> None:
    """400 questions and copies of them with one letter changed, compared pair by pair."""
    random.seed(4)
    words = ["".join(random.choices("abcdefghij", k=6)) for _ in range(200)]
    originals = [question(str(n), " ".join(random.sample(words, 8))) for n in range(400)]
    copies = []
    for one in originals:
        at = random.randrange(len(one.text))
        copies.append(question(f"{one.id}c", one.text[:at] + "z" + one.text[at + 1 :]))
    similar = {
        copy.id
        for first, copy in zip(originals, copies, strict=True)
        if jaccard(ngrams(first.text), ngrams(copy.text)) >= 0.7
    }
    assert len(similar) > 350
    assert similar <= {one.question.id for one in near_duplicates([*originals, *copies])}


@pytest.mark.slow
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_the_command(project: Project, extra: tuple[str, ...]) -> None:
    rows = [
        {"id": name, "question": text, "answers": ["41"], "category": "A"}
        for name, text in (("a", "How tall is it?"), ("b", "How tall is it"), ("c", "Who built it?"))
    ]
    variant = {"id": "b~french", "question": "Combien de metres ?", "metadata": {"variant_of": "b"}}
    rows.append({**rows[0], **variant})  # goes with its original
    project.write("mine.json", json.dumps(rows))
    done = project.fathoms("questions", "dedupe", "mine.json", "left.json", *extra)
    assert done.returncode == 0, done.stderr
    if extra:
        assert json.loads(done.stdout)["duplicates"] == [
            {"id": "b", "other": "a", "similarity": 1.0, "same_gold": True}
        ]
    else:
        assert "1 of 4 questions repeat another one" in done.stdout
    left = json.loads((project.path / "left.json").read_text())
    assert [row["id"] for row in left["A"]] == ["a", "c"]
