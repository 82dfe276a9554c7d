"""Stems of English words by Porter's algorithm (1980) with the changes of NLTK's `PorterStemmer`.

The steps have Porter's numbers. NLTK is not imported, because that takes a second.
"""

from __future__ import annotations

from collections.abc import Sequence

Rules = Sequence[tuple[str, str]]
"""Pairs of an ending and what replaces it."""

_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    **{word: word for word in ("sky", "news", "inning", "outing", "canning")},
    **{word: word for word in ("howe", "proceed", "exceed", "succeed")},
}


def _rules(endings: str) -> Rules:
    """Read pairs such as `enci>ence`; without `>`, the ending is removed."""
    return [(old, new) for old, _, new in (pair.partition(">") for pair in endings.split())]


_STEP_2 = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous"
    " ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive"
    " biliti>ble fulli>ful"
)
_STEP_3 = _rules("icate>ic ative alize>al iciti>ic ical>ic ful ness")
_STEP_4 = _rules("al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize")


def stem(word: str) -> str:
    """Return the stem of a word, in lower case."""
    found = word.lower()
    if found in _IRREGULAR or len(word) <= 2:
        return _IRREGULAR.get(found, found)
    found = _step_2(_step_1c(_step_1b(_step_1a(found))))
    return _step_5(_step_4(_replaced(found, _STEP_3, 0)))


def _step_1a(word: str) -> str:
    """Remove the ending of a plural."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    """Remove the ending of a past tense or a participle, and restore what it changed."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    left = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    shape = _shape(left)
    if "v" not in shape:
        return word
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if shape[-1] == "c" and left[-1] == left[-2:-1]:
        return left if left[-1] in "lsz" else left[:-1]
    return left + "e" if shape.count("vc") == 1 and _is_short(left) else left


def _step_1c(word: str) -> str:
    """Turn a last y after a consonant into i."""
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and _shape(word)[-2] == "c" else word


def _step_2(word: str) -> str:
    """Return a word with a long ending made shorter: step 2 of Porter's algorithm."""
    if word.endswith("alli") and _measure(word[:-4]):
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replaced(word, _STEP_2, 0)


def _step_4(word: str) -> str:
    """Return a word without its last ending: step 4 of Porter's algorithm."""
    if word.endswith(("sion", "tion")):
        return word[:-3] if _measure(word[:-3]) > 1 else word
    return _replaced(word, _STEP_4, 1)


def _step_5(word: str) -> str:
    """Remove a last e, and one l of two."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replaced(word: str, rules: Rules, least: int) -> str:
    """Replace the first ending of the rules that the word has, where the measure of the rest is more than
    `least`."""
    for old, new in rules:
        if word.endswith(old):
            left = word[: -len(old)]
            return left + new if _measure(left) > least else word
    return word


def _measure(word: str) -> int:
    """Return Porter's measure: how many groups of vowels have consonants after them."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Return whether a word ends with consonant, vowel and consonant, the last not w, x or y, or is a vowel
    with a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


def _shape(word: str) -> str:
    """Return c for each consonant and v for each vowel. A y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape
