"""Proposes gold answers that accept more wordings, and tries every proposal with the scorer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fathoms.metrics.gold.dates import Dated, dates
from fathoms.metrics.gold.numbers import Quantity, quantities
from fathoms.metrics.phrase_recall import Hyphens, Match, phrase_recall
from fathoms.text.folding import fold_words
from fathoms.types import MOST_NEAR, GoldDate, GoldNear, GoldNumber, GoldPart, GoldPhrase, Question

LONG, LONG_WITH_NUMBER = 6, 3
"""A phrase of this many words is rarely repeated word by word; with a number in it, fewer are enough."""
PASSAGE = 100
"""A phrase of more words is a passage. Nothing but the passage has all its words near one another, and the
search for each of them at each of their places would take time with the square of its length."""
_WORD = re.compile(r"[^\W\d_][\w'’]*")  # noqa: RUF001
_COUNTED = re.compile(r"[\s-]+([^\W\d_][\w'’]*)")  # noqa: RUF001
_EMPTY = re.compile(
    r"an?|and|are|as|at|be|been|being|by|can|could|did|do|does|each|for|from|had|has|have|he|her|his|how|in|into"
    r"|is|it|its|of|on|or|our|she|that|the|their|them|there|these|they|this|those|to|total|was|we|were|what|when"
    r"|where|which|who|will|with|would|you|your|comprises|consists|contains?|includes?|uses?|takes?|about|around"
    r"|approximately"
)
"""Words that an answer can leave out without saying anything else."""


def wider(
    question: Question,
    variant: int,
    place: int,
    match: Match = "word",
    hyphens: Hyphens = "both",
    least: int | None = None,
) -> GoldPhrase | None:
    """Return a form that finds more wordings than a long phrase of the question does; `None` if the phrase is
    short, or if the form would score a right answer lower than the phrase does.

    `variant` and `place` are the indices of the phrase in the answers. `least` is the number of words from
    which on a phrase is long.
    """
    phrase = question.answers[variant][place]
    if not isinstance(phrase, str) or len(phrase.split()) > PASSAGE:
        return None
    numbers = quantities(phrase)
    if len(phrase.split()) < (least or (LONG_WITH_NUMBER if numbers else LONG)):
        return None
    if any(one.units and one.number_end == one.end for one in numbers):
        return None  # "$5" and "2 hours and 30 minutes" name no single unit after the number
    said = [one for one in dates(phrase) if one.readings[0][1] is not None]
    if any(len(one.readings) > 1 or one.year < 100 for one in said):
        return None  # which date is meant, only the author knows
    question_words = {word[0] for word in _WORD.finditer(fold_words(question.text, hyphens=True))}
    parts = list(_parts(phrase, numbers, said, question_words))
    if not parts or len(parts) > MOST_NEAR or (not numbers and len(parts) < 2):
        return None
    form: GoldPhrase = parts[0] if len(parts) == 1 else GoldNear(near=tuple(parts))
    if isinstance(form, GoldNear) and len(phrase.split()) > form.within:
        form = form.model_copy(update={"within": len(phrase.split())})
    changed = replaced(question, variant, place, form)
    return form if keeps(question, changed, right_answers(phrase, question), match, hyphens) else None


def replaced(question: Question, variant: int, place: int, form: GoldPhrase) -> Question:
    """Return the question with another form in the place of a phrase."""
    answers = [list(parts) for parts in question.answers]
    answers[variant][place] = form
    return question.model_copy(update={"answers": tuple(map(tuple, answers))})


def right_answers(phrase: str, question: Question) -> list[str]:
    """Return answers that are right if `phrase` is: the phrase alone and in sentences, and the gold answers
    in running text."""
    said = [phrase, f"{phrase}.", f"It is {phrase}.", f"The answer is **{phrase}**, as the document says."]
    texts = (question.reference, question.short_answer, question.long_answer)
    return [*said, *filter(None, texts)]


def keeps(before: Question, after: Question, answers: Sequence[str], match: Match, hyphens: Hyphens) -> bool:
    """Return whether every answer scores at least as much for the changed question as it did before."""
    return all(
        phrase_recall(answer, after.answers, match, hyphens).value
        >= phrase_recall(answer, before.answers, match, hyphens).value
        for answer in answers
    )


def _parts(
    phrase: str, numbers: Sequence[Quantity], said: Sequence[Dated], question_words: set[str]
) -> Iterator[GoldPart]:
    """Yield the parts of a phrase that an answer must say: its dates and numbers, what they count, and its
    words other than those of the question and function words."""
    counted = {
        word.start(1) for one in numbers if not one.units and (word := _COUNTED.match(phrase, one.end))
    }
    longer: list[Quantity | Dated] = [*numbers, *said]
    inner = [one for one in numbers if not any(_inside(one, other) for other in longer)]
    for dated in said:
        (_, month, day), *_ = dated.readings
        yield GoldDate(date="-".join(f"{part:02}" for part in (dated.year, month, day) if part is not None))
    for one in inner:
        written = phrase[one.number_end : one.end].strip(" -*_")
        yield GoldNumber(number=_plain(one.values[0]), unit=written if one.units and written else None)
    taken = [(one.start, one.end) for one in inner] + [(one.start, one.end) for one in said]
    for word in _WORD.finditer(phrase):
        folded = fold_words(word[0], hyphens=True)
        is_number = any(start <= word.start() < end for start, end in taken)
        if (
            not is_number
            and not _EMPTY.fullmatch(folded)
            and (folded not in question_words or word.start() in counted)
        ):
            yield word[0]


def _inside(one: Quantity, other: Quantity | Dated) -> bool:
    """Return whether a quantity is a part of a longer one, or of a date."""
    return other.start <= one.start and one.end <= other.end and other.end - other.start > one.end - one.start


def _plain(value: float) -> int | float:
    """Return a whole number as an integer."""
    return int(value) if value.is_integer() else value
