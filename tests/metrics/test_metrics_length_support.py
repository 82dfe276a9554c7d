"""The length of answers against their support, by hand."""

from __future__ import annotations

import pytest

from fathoms.metrics.answer_length import AnswerLength
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.length_support import length_against_support
from fathoms.metrics.pooling import Pool
from fathoms.metrics.question_facts import BareQuestion, NumberedQuestions
from fathoms.types import Score

# of 11 answers the longer half is supported less; one has no claims, and so no support
WORDS = (1, 2, 3, 4, 5, 60, 70, 80, 90, 100, 0)
SUPPORT = (1.0, 1.0, 1.0, 0.5, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0, None)


def pools(support: tuple[float | None, ...]) -> dict[str, Pool]:
    numbered_questions = NumberedQuestions()
    found = {
        "answer-length": Pool(AnswerLength(), numbered_questions),
        "faithfulness": Pool(Faithfulness(), numbered_questions),
    }
    for number, values in enumerate(zip(WORDS, support, strict=True)):
        question = BareQuestion(str(number), "A", True, frozenset({f"{number}.pdf"}))
        for (name, pool), value in zip(found.items(), values, strict=True):
            pool.add(question, Score(metric=name, value=value))
    return found


def test_longer_answers_are_supported_less() -> None:
    (found,) = (one.plain() for one in length_against_support(pools(SUPPORT)).values())
    assert found["n"] == 10
    # scipy.stats.spearmanr of the ten pairs
    assert found["spearman"]["value"] == pytest.approx(-0.8989, abs=1e-4)
    assert -1 <= found["spearman"]["low"] < found["spearman"]["value"] < found["spearman"]["high"] < 0
    groups = [(one["shortest"], one["longest"], one["value"], one["n"]) for one in found["groups"]]
    assert groups == [(1, 5, 0.9, 5), (60, 100, 0.2, 5)]
    assert all(one["low"] < one["value"] < one["high"] for one in found["groups"])


def test_without_support_or_length_there_is_nothing_to_compare() -> None:
    (nothing,) = (one.plain() for one in length_against_support(pools((None,) * 11)).values())
    assert (nothing["n"], nothing["spearman"]["value"], nothing["groups"]) == (0, None, [])
    assert length_against_support({"faithfulness": Pool(Faithfulness())}) == {}
