"""How well texts are split into claims: the rule of matching, worked by hand, and what was measured."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from fathoms.importers.mirage_release import find_release
from fathoms.metrics.claims.extraction import confusable, matched, measured
from fathoms.models.sentences import sentences

NILE = ["The Nile flows through Uganda", "The Nile flows through Sudan", "It is 6,650 km long"]


def test_claims_match_by_their_rare_words_and_each_only_once() -> None:
    assert matched(NILE, NILE) == (3, 3, 3)
    assert matched(["Uganda is where the Nile flows through", "The Nile flows through Egypt"], NILE[:1]) == (
        1,
        2,
        1,
    )
    assert matched([], NILE) == (0, 0, 3)
    # shared: nile, flow and through, which two of three claims have; not shared: one name each
    two, one = log(1 + 3 / 2), log(1 + 3)
    shared = 2 * 3 * two / (2 * (3 * two + one))
    assert shared == pytest.approx(0.665, abs=0.001)
    assert [confusable(NILE, shared - 0.001), confusable(NILE, shared + 0.001)] == [2, 0]


def test_a_sentence_is_no_match_for_the_many_claims_in_it() -> None:
    claims = ["The tower is tall", "The tower is green", "The tower was built in 1902 by Ayers"]
    assert matched(["The tall green tower was built in 1902 by Ayers"], claims) == (1, 1, 3)
    assert matched(["The tall green tower was built in 1902 by Ayers, who died there"], claims).matched == 0


def test_the_published_figures_of_sentences_are_those_of_the_release(shared: Path) -> None:
    published = measured()["sentences"]
    release = find_release(shared / "mirage")
    counts = [
        matched(sentences(answer.prediction), [claim for part in answer.claims for claim in part])
        for system in release.answers.values()
        for answer in system.values()
    ]
    hits, claims, released = (sum(column) for column in zip(*counts, strict=True))
    assert (released, claims) == (259 + 316 + 389, published.claims)
    assert published.precision.value == pytest.approx(hits / claims, abs=1e-4)
    assert published.recall.value == pytest.approx(hits / released, abs=1e-4)
