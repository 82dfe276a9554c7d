"""The questions of WebQA (Chang et al. 2022): an object of questions by their id, each with positive and
negative facts, which are snippets of text and pictures with a caption.

The pictures are published in a table (`imgs.tsv`), so they have no file names: picture 30068978 is looked for
as `imgs/30068978.jpg` beside the file.
"""

from __future__ import annotations

from typing import Any

from fathoms.corpora.released import Notes, metadata_of, note_missing, text_of

KEYS = frozenset({"Q", "A", "img_posFacts", "txt_posFacts"})
"""The keys by which a question is recognised."""
_FACTS = (("txt", "posFacts"), ("txt", "negFacts"), ("img", "posFacts"), ("img", "negFacts"))
_NOT_USED = "facts left out, because they have neither a text nor the id of a picture"


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a question in the keys of `rows`; none if it has no text or no facts."""
    question = _unquoted(text_of(row, "Q"))
    quotes = [
        quote
        for kind, label in _FACTS
        for quote in _quotes(row.get(f"{kind}_{label}"), kind, label == "posFacts", place, notes)
    ]
    if question is None or not quotes:
        notes.add("questions left out, because 'Q' is not a text, or there are no facts", place)
        return []
    if not any(quote["gold"] for quote in quotes):
        notes.add("questions without gold quotes", place)
    answers = row.get("A") if isinstance(row.get("A"), list) else [row.get("A")]
    reference = next((_unquoted(one) for one in answers or [] if isinstance(one, str) and one.strip()), None)
    if reference is None:
        notes.add("questions without a gold answer", place)
    return [
        {
            "question": question,
            "category": text_of(row, "Qcate") or "Uncategorised",
            "id": text_of(row, "Guid"),
            "reference": reference,
            "quotes": [
                {**quote, "id": f"{quote['modality']}{number}"}
                for modality in ("text", "image")
                for number, quote in enumerate(
                    (one for one in quotes if one["modality"] == modality), start=1
                )
            ],
            "metadata": metadata_of(row, "split", "topic"),
        }
    ]


def _quotes(found: Any, kind: str, gold: bool, place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the usable facts of one kind as quotes without an id."""
    quotes = []
    for one in found if isinstance(found, list) else []:
        quote = _quote(one, kind) if isinstance(one, dict) else None
        if quote is None:
            notes.add(_NOT_USED, place)
            continue
        if image := quote.get("image"):
            note_missing(image, place, notes)
        quotes.append({**quote, "gold": gold})
    return quotes


def _quote(one: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """Return a fact as a quote; `None` for one that cannot be used."""
    title = text_of(one, "title")
    if kind == "txt":
        fact = text_of(one, "fact")
        return None if fact is None else {"modality": "text", "text": f"{title}: {fact}" if title else fact}
    number = one.get("image_id")
    if not str(number).isascii() or not str(number).isdigit():
        return None
    caption = text_of(one, "caption") or title or ""
    return {"modality": "image", "description": caption, "image": f"imgs/{number}.jpg"}


def _unquoted(text: str | None) -> str | None:
    """Return a text without the quotation marks around it, which many questions and answers have."""
    if text is None:
        return None
    plain = text.strip()
    is_quoted = len(plain) > 2 and plain[0] == plain[-1] == '"' and '"' not in plain[1:-1]
    return plain[1:-1] if is_quoted else plain
