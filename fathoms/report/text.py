"""Makes text from models, PDFs and users safe to display, and short enough."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from fathoms.safety.plain import JOINERS, UNSEEN
from fathoms.safety.plain import plain as plain
from fathoms.types import Question


def visible(text: object) -> str:
    """Return `text` with its line breaks, and with invisible characters as escapes, such as `\\x1b`."""
    return "".join(map(seen, str(text).replace("\r\n", "\n")))


def seen(character: str) -> str:
    """Return a character, or its Python escape if it would be invisible."""
    if character in f"\n\t{JOINERS}" or unicodedata.category(character) not in UNSEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: object, width: int) -> str:
    """Return `text` as `plain` does, cut to `width` terminal cells with an ellipsis at the end."""
    line = plain(str(text)[: 20 * width])  # the cut bounds the work on very long texts
    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


def wrap(text: object, width: int, lines: int) -> list[str]:
    """Wrap `text` to at most `lines` lines of `width` characters."""
    return textwrap.wrap(shorten(text, lines * width), width, max_lines=lines, placeholder="…") or [""]


def squeeze(text: object, width: int) -> str:
    """Return `text` as `plain` does, cut to `width` terminal cells with an ellipsis in the middle."""
    line = plain(text)
    if cell_len(line) <= width:
        return line
    tail = width // 2
    return (
        set_cell_size(line, width - 1 - tail).rstrip() + "…" + set_cell_size(line[::-1], tail)[::-1].lstrip()
    )


def abbreviate(names: Sequence[str], width: int) -> list[str]:
    """Return a different column header of at most `width` cells for each name.

    A name is shortened to its first word (`Text-Only` to `Text`) if no other name starts with it, and
    otherwise to its start and end. Names that would still be the same are numbered.
    """
    heads = [re.split(r"[\s_/,:-]+", plain(name))[0] for name in names]
    times = Counter(heads)
    labels: dict[str, None] = {}
    copies: Counter[str] = (
        Counter()
    )  # numbers already tried for a label, so that many equal names do not take quadratic time
    for name, head in zip(names, heads, strict=True):
        first = label = squeeze(head if head and times[head] == 1 else name, width)
        while cell_len(label) == 0 or label in labels:
            copies[first] += 1
            number = copies[first] + 1
            label = f"{squeeze(name, width - 1 - len(str(number)))}~{number}"
        labels[label] = None
    return list(labels)


def yes_or_no(flag: object) -> str:
    """Format a flag as `yes` or `no`, and None as `n/a`."""
    return "n/a" if flag is None else "yes" if flag else "no"


def gold(question: Question) -> str:
    """Return the gold answer on one line: `+` between phrases that must all occur, `or` between variants."""
    if not question.answerable:
        return "(not answerable from the documents)"
    if not question.answers:
        texts = (question.reference, question.short_answer, question.long_answer)
        return next(filter(None, texts), " ".join(question.reference_claims))
    return " or ".join(" + ".join(map(str, variant)) for variant in question.answers if variant)


def describe(options: object) -> str:
    """Return a component's options on one line, its kind first: `nearest-neighbour (embed lexical)`."""
    if not isinstance(options, Mapping):
        return "n/a" if options is None else str(options)
    kind = str(options.get("kind", ""))
    known = {key: value for key, value in options.items() if key != "kind" and value not in (None, {}, [])}
    rest = ", ".join(f"{key} {describe(value)}" for key, value in known.items())
    return f"{kind} ({rest})" if kind and rest else kind or rest


def unseen_escaped(text: str) -> str:
    """Escape in JSON text the characters that control terminals or the direction of writing, as `\\u`
    sequences.

    Such characters can only occur inside strings, so the JSON value stays the same.
    """
    return text if text.isascii() else "".join(map(_json_escape, text))


def _json_escape(character: str) -> str:
    """Return a character, or its JSON escape if it would be invisible."""
    if character in "\n\t" or seen(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
