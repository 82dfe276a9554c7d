"""Derives ids for questions that have none in their file, and compares texts whatever their spelling."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import count


def slug(text: str) -> str:
    """Return `text` reduced to lower-case ASCII letters, digits and hyphens, 60 characters at most.

    Where nothing is left, as for a Chinese text, the first 8 digits of the text's sha256 are returned.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or hashlib.sha256(text.encode()).hexdigest()[:8]


def same_words(text: str) -> str:
    """Return a text without differences of Unicode form, white space and case, which nobody reads."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def looks_derived(own_id: str, category: str) -> bool:
    """Return whether an id could be one of `question_ids`, which changes with the place of its question."""
    return _derived(category).fullmatch(own_id) is not None


@lru_cache(maxsize=1_000)
def _derived(category: str) -> re.Pattern[str]:
    """The form of the derived ids of a category."""
    return re.compile(re.escape(slug(category)) + r"-[0-9]{2,}")


def question_ids(categories: Sequence[str], written: Collection[str] = ()) -> list[str]:
    """Return an id for each question of a file, given the questions' categories in file order. None of them
    is `written` beside another question of the file.

    An id such as `text-only-07` is the slug of the category and the question's number in it, from 1, padded
    with zeros to the number of digits of the category's size, and to two digits at least.

    Categories with equal slugs share one count, so that ids are unique. Editing questions, appending
    questions and adding some to other categories changes no existing id. Inserting, removing or reordering
    questions changes the ids of later questions in the category; all its ids change when its size gains a
    digit, at 100, 1,000 and so on.
    """
    sizes = Counter(map(slug, categories))
    seen: Counter[str] = Counter()
    taken = set(map(same_words, written))
    spare: dict[str, Iterator[int]] = {}
    ids = []
    for category in categories:
        name = slug(category)
        seen[name] += 1
        own_id = f"{name}-{seen[name]:0{max(2, len(str(sizes[name])))}d}"
        if own_id in taken:  # written down for the question that stood here earlier
            others = (f"{name}-{number:02d}" for number in spare.setdefault(name, count(sizes[name] + 1)))
            own_id = next(one for one in others if one not in taken)
        ids.append(own_id)
    return ids
