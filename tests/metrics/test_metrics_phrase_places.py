"""Where phrases stand in a text as it is written, found by the rule that counts them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fathoms.answers import read
from fathoms.metrics.phrase_places import phrase_places, places_in_answer
from fathoms.metrics.phrase_recall import Hyphens, Match, phrase_recall
from fathoms.text.folding import fold_plain, fold_words, trace_plain, trace_words

TEXTS = st.text(
    st.one_of(
        st.sampled_from("aA1 290.,-−*_`%İßﬁéé\u0301\u00a0\u2009\u202f\u200b\u00ad\n\t\x00ΣςK½²"),  # noqa: RUF001
        st.sampled_from("1١٢٫٬٪０９，．ー・コンﾊﾟºᵉ.مَـأة\u200fœ% 京万"),  # noqa: RUF001
        st.characters(),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "phrase", "covered"),
    [
        ("The answer is 29.3% of all.", "29.3", ["29.3"]),
        ("5,592,245 people, or 5\u202f592\u202f245", "5592245", ["5,592,245", "5\u202f592\u202f245"]),
        ("It is **7.0**% then", "7.0%", ["7.0**%"]),
        ("a state-of-\nthe-art pump", "state of the art", ["state-of-\nthe-art"]),
        ("Straße und STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("the ﬁnal one", "final", ["ﬁnal"]),
        ("cafe\u0301 au lait", "café", ["cafe\u0301"]),
        ("10 and 1 and 1.5 and v1", "1", ["1"]),
        ("  spaced   out  ", "spaced out", ["spaced   out"]),
        ("東京タワー", "京", ["京"]),
    ],
)
def test_words_are_marked_as_they_are_written(text: str, phrase: str, covered: list[str]) -> None:
    assert [text[start:end] for start, end, _ in phrase_places(text, [phrase], "word", "both")] == covered


def test_substrings_are_marked_where_lower_case_is_longer() -> None:
    text = "İİ CNNs and cnn-like"
    found = phrase_places(text, ["cnn", "and"], "substring", "both")
    assert [(text[start:end], number) for start, end, number in found] == [("CNN", 0), ("and", 1), ("cnn", 0)]


@pytest.mark.parametrize(
    ("answer", "phrase", "covered"),
    [
        ("<think>Marta Oduya?</think>Marta[1] Oduya did.", "Marta Oduya", ["Marta[1] Oduya"]),
        ("It is **41.5**[2] m (p. 41).", "41.5 m", ["41.5**[2] m"]),
        ("It has five stages (p. 12).", "12", []),
        ("It is $41.5\\,\\text{m}$.", "41.5 m", ["$41.5\\,\\text{m}$"]),
        ("It is on p. 12.\n\nSources: a.pdf, p. 3", "p. 12", ["p. 12"]),
        ("No.", "no", ["No"]),
    ],
)
def test_phrases_are_marked_in_the_raw_answer(answer: str, phrase: str, covered: list[str]) -> None:
    found = places_in_answer(read(answer), [phrase], "both")
    assert [answer[start:end].strip("*") for start, end, _ in found] == [one.strip("*") for one in covered]


def test_the_same_place_is_marked_once() -> None:
    assert phrase_places("it is 1,130 °C", ["1,130", "1130"], "word", "both") == [(6, 11, 0)]


def test_a_hyphenated_phrase_is_nowhere_where_hyphens_fold_in_the_answer_alone() -> None:
    assert phrase_places("a well-known fact", ["well-known"], "substring", "both") == [(2, 12, 0)]
    assert phrase_places("a well-known fact", ["well-known"], "substring", "answer") == []


@given(TEXTS, st.booleans())
@example("e\u0301\u0301\uac00\u11a8", True)
def test_traced_folding_is_the_folding(text: str, hyphens: bool) -> None:
    assert trace_words(text, hyphens=hyphens).text == fold_words(text, hyphens=hyphens)
    assert trace_plain(text, hyphens=hyphens).text == fold_plain(text, hyphens=hyphens)


@given(
    TEXTS,
    st.lists(TEXTS.filter(lambda phrase: bool(fold_words(phrase, hyphens=True))), min_size=1, max_size=3),
    st.sampled_from(["word", "substring"]),
    st.sampled_from(["both", "answer"]),
)
def test_a_phrase_is_marked_exactly_where_it_is_counted(
    text: str, phrases: list[str], match: Match, hyphens: Hyphens
) -> None:
    text = f"{text} {phrases[0]} {text}"
    for phrase in phrases:
        counted = phrase_recall(text, [[phrase]], match, hyphens).value == 1
        assert bool(phrase_places(text, [phrase], match, hyphens)) == counted
