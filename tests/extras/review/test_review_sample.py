"""What is asked about, and the way of one reviewer through it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fathoms.extras.review.sample import Item, Session, draw
from fathoms.runs.ratings import read_ratings
from fathoms.types.run.rows import ScoredQuestion

Json = dict[str, Any]


def view(id: str, *, error: Json | None = None, repeats: int = 1, **scores: Any) -> ScoredQuestion:
    shown = {"correctness": 1.0, "hallucination": 0.0, "abstained": False} | scores
    repeat = {"answer": {"text": "Red."}, "error": error, "scores": {"paper": shown}}
    question = {"id": id, "text": f"What is {id}?", "category": "c"}
    return ScoredQuestion.model_validate(
        {"question": question, "repeats": [{**repeat, "repeat": n} for n in range(repeats)]}
    )


def ids(items: list[Item]) -> list[str]:
    return [item.question.id for item in items]


VIEWS = [view(f"q{n:02}") for n in range(40)]


@given(st.integers(), st.randoms(use_true_random=False))
def test_the_seed_alone_decides(seed: int, shuffled: random.Random) -> None:
    mixed = VIEWS.copy()
    shuffled.shuffle(mixed)
    found = ids(draw("r", "paper", VIEWS, 5, seed))
    assert ids(draw("r", "paper", mixed, 5, seed)) == found
    assert len(set(found)) == 5
    assert ids(draw("r", "paper", VIEWS, 3, seed)) == found[:3]


def test_other_seeds_and_runs_draw_others() -> None:
    samples = {tuple(ids(draw(run, "paper", VIEWS, 3, seed))) for run in "ab" for seed in range(5)}
    assert len(samples) == 10


def test_every_question_has_the_same_chance() -> None:
    """Of 3 in 40 over 2,000 seeds each is drawn 150 times on average; 11.8 is the standard deviation."""
    counts = dict.fromkeys((f"q{n:02}" for n in range(40)), 0)
    for seed in range(2000):
        for id in ids(draw("r", "paper", VIEWS, 3, seed)):
            counts[id] += 1
    assert all(100 < count < 200 for count in counts.values())


def test_failed_and_unscored_answers_are_left_out() -> None:
    failed = view("failed", error={"kind": "Timeout", "message": "none"}, correctness=0.0, hallucination=None)
    unscored = view("unscored", correctness=None, hallucination=None, abstained=None)
    unanswerable = view("unanswerable", correctness=None, hallucination=None, abstained=True)
    (item,) = draw("r", "paper", [failed, unscored, unanswerable], 3, 0)
    assert item.question.id == "unanswerable"
    assert item.rateable == (False, True)


def test_one_answer_of_repeated_questions() -> None:
    found = draw("r", "paper", [view(f"q{n}", repeats=3) for n in range(30)], 30, 0)
    assert len(found) == len(set(ids(found))) == 30
    assert {item.key[2] for item in found} == {0, 1, 2}


def session(folder: Path, reviewer: str = "ann", **scores: Any) -> Session:
    runs = {run: folder / run / "reviews.jsonl" for run in "ab"}
    items = [
        item for run in runs for item in draw(run, "paper", [view(f"q{n}", **scores) for n in range(3)], 2, 0)
    ]
    return Session(items, runs, reviewer, seed=0)


def test_ratings_are_there_at_once_and_not_asked_again(tmp_path: Path) -> None:
    first = session(tmp_path)
    order = [item.key for item in first.items]
    first.rate(5, 4, "good")
    first.rate(1, 2)
    saved = [rating for run in "ab" for rating in read_ratings(tmp_path / run / "reviews.jsonl")]
    assert {rating.item for rating in saved} == set(order[:2])
    again = session(tmp_path)
    assert (again.position, again.rated) == (2, 2)
    again.rate(3, 3)
    again.rate(3, 3)
    assert again.current is None
    assert session(tmp_path).current is None
    assert session(tmp_path, "ben").position == 0


def test_back_shows_what_was_said_and_the_new_word_counts(tmp_path: Path) -> None:
    review_session = session(tmp_path)
    assert not review_session.back()
    review_session.rate(5, 4, "good")
    assert review_session.back()
    assert review_session.before is not None
    assert (review_session.before.score_rating, review_session.before.comment) == (5, "good")
    review_session.rate(1, 1)
    assert (review_session.position, review_session.rated) == (1, 1)
    again = session(tmp_path)
    assert again.back()
    assert again.before is not None
    assert again.before.score_rating == 1


def test_skipped_items_are_asked_by_the_next_session(tmp_path: Path) -> None:
    review_session = session(tmp_path)
    review_session.skip()
    review_session.rate(3, 3)
    assert review_session.skipped == {0}
    assert session(tmp_path).position == 0
    while review_session.back():
        pass
    review_session.rate(2, 2)
    assert (review_session.skipped, review_session.position, review_session.rated) == (set(), 2, 2)


def test_a_score_that_changed_is_asked_about_again(tmp_path: Path) -> None:
    review_session = session(tmp_path)
    while review_session.current:
        review_session.rate(5, 5)
    assert session(tmp_path).rated == 4
    assert session(tmp_path, abstained=True).rated == 0
