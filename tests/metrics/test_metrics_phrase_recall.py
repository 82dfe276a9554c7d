"""Phrase recall against cases worked by hand, and what must hold for any text."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.metrics.phrase_recall import PhraseRecall, phrase_recall

# (phrase, answer, found, why)
WORDS = [
    # words
    ("cnn", "a small CNN generates it", True, "case does not matter"),
    ("cnn", "several CNNs", False, "a plural is another word"),
    ("no", "it is not so", False, "part of a word"),
    ("no", "No.", True, "a full stop ends a word"),
    ("no", "no,it is not", True, "a comma ends a word, with or without a space"),
    ("vision", "(vision)", True, "brackets"),
    ("vision", "**Vision**", True, "Markdown emphasis"),
    ("vision", "_vision_", True, "Markdown emphasis by underscores"),
    ("vision", "`vision`", True, "Markdown code"),
    ("maml", "MAML++", True, "a sign is no letter"),
    ("maml++", "MAML++ and RFS", True, "a phrase may end with punctuation"),
    ("maml++", "MAML and RFS", False, "its punctuation counts"),
    ("{document}", "use {document} here", True, "punctuation on both sides"),
    ("{document}", "x{document}y", True, "a phrase that begins with punctuation needs no boundary there"),
    ("layer", "layer_1", False, "an identifier is one word"),
    ("cb_29", "in CB_29.", True, "the whole identifier"),
    ("model", "the model's weights", True, "a possessive"),
    # Unicode
    ("éta", "bêta", False, "an accented letter is a letter"),
    ("bêta", "BÊTA", True, "upper case of accented letters"),
    ("café", "cafe\u0301", True, "composed or not"),
    ("straße", "STRASSE", True, "case folding"),
    ("defined", "de\ufb01ned", True, "a ligature"),
    ("don't know", "don\u2019t know", True, "a curly apostrophe"),
    ("東京", "東京都です", True, "a script without spaces has no boundaries"),
    ("gpt", "これはGPTです", True, "nor has a Latin word inside one"),
    ("tokens", "to\u00adkens", True, "a soft hyphen is invisible"),
    # hyphens and white space
    ("np hard", "NP-hard", True, "a hyphen is a space"),
    ("pre-training", "pre training", True, "on both sides"),
    ("gpt 4o", "GPT\u20114o", True, "a non-breaking hyphen too"),
    ("self attention", "self\n   attention", True, "across a line break"),
    ("self attention", "self\u00a0attention", True, "a non-breaking space"),
    ("selfattention", "self-attention", False, "but a hyphen is not nothing"),
    # numbers
    ("1", "10", False, "the beginning of a number"),
    ("1", "0.1", False, "its decimals"),
    ("1", ".1", False, "decimals without a zero"),
    ("1", "1.5", False, "its whole part"),
    ("1", "1,000", False, "its thousands"),
    ("000", "1,000", False, "the rest of them"),
    ("1", "21", False, "its end"),
    ("1", "v1", False, "a letter that touches"),
    ("1", "1st", False, "a letter that touches"),
    ("1", "The answer is 1.", True, "the full stop of a sentence"),
    ("1", "1.\n2.", True, "the point of a list"),
    ("1", "1, 2 and 3", True, "a comma with a space is no thousands separator"),
    ("2", "1,2,3", True, "nor is one without three digits after it"),
    ("1", "=1", True, "an equals sign"),
    ("1", "-1", False, "a negative number is another number"),
    ("1", "x = \u22121", False, "with a typographic minus sign"),
    ("-1", "x = \u22121", True, "which is the same negative number"),
    ("-1", "1", False, "but not the positive one"),
    ("-1", "stage-1", False, "a hyphen is no minus sign"),
    ("4", "GPT-4", True, "a hyphen parts words"),
    ("5", "3-5", True, "a range"),
    ("10", "5%\u201310%", True, "a range of percentages"),
    ("10", "10\u00b2", False, "a power is another number"),
    ("102", "10\u00b2", False, "and not the digits in a row"),
    ("29.3", "29.3%", True, "a per cent sign"),
    ("29.3", "(29.3)", True, "brackets"),
    ("29.3", "29.3.", True, "the full stop of a sentence"),
    ("29.3", "29.31", False, "more digits"),
    ("29.3", "129.3", False, "more digits before"),
    ("29", "29.3", False, "fewer digits"),
    ("29.3", "29.3.1", False, "a version"),
    ("7%", "17%", False, "a per cent sign needs the whole number before it"),
    ("7%", "0.7%", False, "decimals too"),
    ("7.0%", "**7.0**%", True, "Markdown emphasis inside"),
    (".5", "1.5", False, "a phrase that begins with a point is a number"),
    (".5", "p = .5", True, "with nothing before it"),
    ("1.", "1.5", False, "a phrase that ends with a point is not the whole part of a number"),
    ("$5", "US$5.", True, "a currency sign"),
    ("$5", "$50", False, "with more digits"),
    ("4,800", "4800 triplets", True, "with or without thousands separators"),
    ("4800", "4,800 triplets", True, "either way"),
    ("5592245", "5\u202f592\u202f245", True, "narrow spaces separate thousands"),
    ("1000.5", "1,000.5", True, "decimals after thousands"),
    ("738m", "the 738M model", True, "a number with its unit"),
    ("738", "the 738M model", False, "is one word"),
    ("738m", "1738M", False, "and a whole one"),
    # nothing
    ("-", "a - b", False, "a phrase with nothing left is nowhere"),
    # other languages, and English that looks like them
    ("3 120", "It holds 3 120 patents.", True, "four digits with a plain space stay as they are"),
    ("12500", "Elle a coûté 12 500 francs.", True, "spaces between groups of digits"),
    ("12500", "Elle a coûté 112 500 francs.", False, "the end of a longer number"),
    ("12500", "Elle a coûté 12 500 000 francs.", False, "the beginning of a longer number"),
    ("1", "This is shown in [1,2].", True, "a comma in a list"),
    ("41", "La tour mesure 41,5 m.", False, "a decimal comma"),
    ("الله", "له كتاب", False, "an article that is a part of a short word"),
    ("المشكلات", "المشكالت", True, "lam-alef reversed inside a word, as a service copies it from a PDF"),
    ("السلام", "السالم", False, "peace is not safe: both orders exist after the article"),
    ("سلام", "سالم", False, "both orders exist in short words"),
    ("لا", "ال", False, "no is not the article"),
]


@pytest.mark.parametrize(("phrase", "answer", "found", "why"), WORDS)
def test_word_match(phrase: str, answer: str, found: bool, why: str) -> None:
    assert phrase_recall(answer, [[phrase]], "word").value == float(found), why


@pytest.mark.parametrize(
    ("phrase", "answer", "hyphens", "found"),
    [
        ("no", "it is not so", "both", True),
        ("1", "10", "both", True),
        ("cnn", "CNNs", "both", True),
        ("np hard", "NP-hard", "both", True),
        ("np hard", "NP-hard", "answer", True),
        ("pre-training", "pre-training", "both", True),
        ("pre-training", "pre-training", "answer", False),
        ("self attention", "self\nattention", "both", False),
        ("4,800", "4800", "both", False),
        ("gpt 4o", "GPT\u20114o", "both", False),
    ],
)
def test_substring_match(phrase: str, answer: str, hyphens: str, found: bool) -> None:
    assert phrase_recall(answer, [[phrase]], "substring", hyphens).value == float(found)


def test_colours_of_the_paper() -> None:
    # Section III.B: all three must be listed, in any order, with any words between them
    colours = [["red", "green", "blue"]]
    whole = phrase_recall("Blue and green, and of course red.", colours)
    assert whole == PhraseRecall(1.0, 0, ("red", "green", "blue"), ())
    part = phrase_recall("They are blue and red.", colours)
    assert part == PhraseRecall(2 / 3, 0, ("red", "blue"), ("green",))


def test_best_variant_wins_and_the_first_of_equals() -> None:
    variants = [["alpha", "beta"], [], ["gamma"], ["delta"]]
    assert phrase_recall("gamma delta", variants) == PhraseRecall(1.0, 2, ("gamma",), ())
    assert phrase_recall("none of them", variants) == PhraseRecall(0.0, 0, (), ("alpha", "beta"))
    assert phrase_recall("beta", variants).value == 0.5


@pytest.mark.parametrize("match", ["substring", "word"])
def test_empty_answers_and_empty_gold_phrases_score_zero(match: str) -> None:
    assert phrase_recall("", [["a"]], match) == PhraseRecall(0.0, 0, (), ("a",))
    assert phrase_recall(" \n", [[""], [" "]], match).value == 0.0
    assert phrase_recall("a", [[]], match) == PhraseRecall(0.0, None, (), ())
    assert phrase_recall("a", [], match).variant is None


TEXT = st.text(alphabet=string.ascii_letters + string.digits + " .,-%(é", max_size=30)
PHRASES = st.lists(TEXT, max_size=4)
VARIANTS = st.lists(PHRASES, max_size=4)
MATCH = st.sampled_from(["substring", "word"])
HYPHENS = st.sampled_from(["both", "answer"])


@given(st.text(max_size=60), st.lists(st.lists(st.text(max_size=10), max_size=4), max_size=4), MATCH, HYPHENS)
def test_recall_is_a_share_of_the_phrases(
    answer: str, variants: list[list[str]], match: str, hyphens: str
) -> None:
    result = phrase_recall(answer, variants, match, hyphens)
    assert 0 <= result.value <= 1
    if result.variant is not None:
        assert sorted([*result.found, *result.missed]) == sorted(variants[result.variant])


@given(TEXT, TEXT, VARIANTS, HYPHENS)
def test_saying_more_never_loses_a_substring(
    answer: str, more: str, variants: list[list[str]], hyphens: str
) -> None:
    before = phrase_recall(answer, variants, "substring", hyphens).value
    assert phrase_recall(answer + more, variants, "substring", hyphens).value >= before


@given(TEXT, VARIANTS, PHRASES, MATCH, HYPHENS)
def test_another_variant_never_lowers_the_score(
    answer: str, variants: list[list[str]], another: list[str], match: str, hyphens: str
) -> None:
    before = phrase_recall(answer, variants, match, hyphens).value
    assert phrase_recall(answer, [*variants, another], match, hyphens).value >= before


@given(st.integers(-99_999_999, 99_999_999), st.integers(-99_999_999, 99_999_999))
def test_a_number_is_found_only_where_it_stands(number: int, other: int) -> None:
    text = f"it was {other:,}, they say"
    assert phrase_recall(text, [[str(number)]], "word").value == float(number == other)
