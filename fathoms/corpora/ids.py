"""Stable ids for questions that come without one."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence


def slug(text: str) -> str:
    """`text` in lower-case ASCII letters, digits and hyphens; the start of its sha256 where none is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or hashlib.sha256(text.encode()).hexdigest()[:8]


def question_id(category: str, ordinal: int, size: int) -> str:
    """`text-only-07`: the slug of the category and the question's place in it, counted from 1.

    Padded with zeros to the digits of `size`, the number of questions in the category, at least two.
    """
    return f"{slug(category)}-{ordinal:0{max(2, len(str(size)))}d}"


def question_ids(categories: Sequence[str]) -> list[str]:
    """An id for each question of a file, given the category of each in the order of the file.

    Categories whose slugs are equal are counted together, so that no id is given twice. Such an id stays
    the same while the order of the questions before it does and the category has no more digits to
    count: questions may be edited, appended, and added to other categories.
    """
    sizes = Counter(map(slug, categories))
    seen: Counter[str] = Counter()
    ids = []
    for category in categories:
        name = slug(category)
        seen[name] += 1
        ids.append(question_id(category, seen[name], sizes[name]))
    return ids
