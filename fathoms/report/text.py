"""Text that others wrote (models, PDFs, people's names for things), made safe and short enough to show."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size

JOINERS = "\u200c\u200d"
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn"})


def plain(text: object) -> str:
    """`text` on one line, without the characters that steer terminals, XML and the direction of writing."""
    kept = (c for c in str(text) if c.isspace() or c in JOINERS or unicodedata.category(c) not in UNSEEN)
    return " ".join("".join(kept).split())


def visible(text: object) -> str:
    """`text` with its lines, in which the characters that `plain` leaves out are seen: `\\x1b` for ESC."""
    return "".join(map(seen, str(text).replace("\r\n", "\n")))


def seen(character: str) -> str:
    """A character, spelled as in Python where it would not be seen."""
    if character in f"\n\t{JOINERS}" or unicodedata.category(character) not in UNSEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: object, width: int) -> str:
    """`text` as `plain` gives it, at most `width` terminal cells, with an ellipsis where it was cut."""
    line = plain(str(text)[: 20 * width])
    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


def wrap(text: object, width: int, lines: int) -> list[str]:
    """`text` on at most `lines` lines of `width` characters."""
    return textwrap.wrap(shorten(text, lines * width), width, max_lines=lines, placeholder="…") or [""]


def squeeze(text: object, width: int) -> str:
    """`text` as `plain` gives it, at most `width` terminal cells, without its middle where it is longer."""
    line = plain(text)
    if cell_len(line) <= width:
        return line
    tail = width // 2
    return (
        set_cell_size(line, width - 1 - tail).rstrip() + "…" + set_cell_size(line[::-1], tail)[::-1].lstrip()
    )


def abbreviate(names: Sequence[str], width: int) -> list[str]:
    """Column headers of at most `width` cells, one a name and all different.

    A name gives its first word (`Text-Only` becomes `Text`) where no other name starts with it, else its
    start and its end, numbered where even those are the same.
    """
    heads = [re.split(r"[\s_/,:-]+", plain(name))[0] for name in names]
    times = Counter(heads)
    labels: dict[str, None] = {}
    copies: Counter[str] = Counter()  # numbers that were tried for a label are not tried again
    for name, head in zip(names, heads, strict=True):
        first = label = squeeze(head if head and times[head] == 1 else name, width)
        while cell_len(label) == 0 or label in labels:
            copies[first] += 1
            number = copies[first] + 1
            label = f"{squeeze(name, width - 1 - len(str(number)))}~{number}"
        labels[label] = None
    return list(labels)


def gold(question: dict[str, object]) -> str:
    """The expected answer on one line: all-of phrases joined by `+`, any-of variants by `or`."""
    if not question.get("answerable", True):
        return "(not answerable from the documents)"
    variants = question.get("answers")
    if not isinstance(variants, list | tuple) or not variants:
        return str(question.get("reference") or "")
    return " or ".join(" + ".join(map(str, variant)) for variant in variants if variant)


def describe(options: object) -> str:
    """A component's options on one line, its kind first: `nearest-neighbour (embed lexical)`."""
    if not isinstance(options, Mapping):
        return "n/a" if options is None else str(options)
    kind = str(options.get("kind", ""))
    known = {key: value for key, value in options.items() if key != "kind" and value not in (None, {}, [])}
    rest = ", ".join(f"{key} {describe(value)}" for key, value in known.items())
    return f"{kind} ({rest})" if kind and rest else kind or rest


def unseen_escaped(text: str) -> str:
    """JSON in which the characters that steer terminals and the direction of writing are `\\u` escapes.

    They can stand in strings only, so the value is the same.
    """
    return text if text.isascii() else "".join(map(_json_escape, text))


def _json_escape(character: str) -> str:
    """A character as JSON spells it where it would not be seen."""
    if character in "\n\t" or seen(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
