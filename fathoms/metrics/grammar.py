"""The cues of `cues.yaml`, compiled: what kind of clause a text is, and the words that show it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fathoms.config import fingerprint, read_yaml

OWN_CUES = Path(__file__).with_name("cues.yaml")

_SLOT = re.compile(r"<(\w+)>")
_LONGEST = 600


class Grammar(NamedTuple):
    """Patterns by kind, all languages together; `key` names the file's content."""

    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    key: str

    def find(self, kind: str, text: str) -> str | None:
        """The words of a text that are a cue of this kind; `None` where there are none.

        Only the first 600 characters are looked at: no clause is that long.
        """
        for pattern in self.patterns[kind]:
            if found := pattern.search(text[:_LONGEST]):
                return found[0].strip()
        return None

    def body(self, text: str) -> str:
        """A text without its lead (`according to the report, `)."""
        return text.removeprefix(self.find("lead", text) or "").strip()

    def is_whole(self, kind: str, text: str) -> bool:
        """Whether a text is a cue of this kind and nothing else."""
        return any(pattern.fullmatch(text) for pattern in self.patterns[kind])


@lru_cache(maxsize=1)
def read_grammar() -> Grammar:
    """Our cues, read and compiled once."""
    data = read_yaml(OWN_CUES).data
    slots = {name: f"(?:{'|'.join(parts)})" for name, parts in data["slots"].items()}
    patterns: dict[str, list[re.Pattern[str]]] = {}
    for language in data["languages"].values():
        for kind, cues in language.items():
            patterns.setdefault(kind, []).extend(re.compile(_expand(cue, slots)) for cue in cues)
    return Grammar({kind: tuple(cues) for kind, cues in patterns.items()}, fingerprint(data))


def _expand(pattern: str, slots: Mapping[str, str]) -> str:
    """A pattern with every slot filled in, and the slots in slots."""
    while _SLOT.search(pattern):
        pattern = _SLOT.sub(lambda slot: slots[slot[1]], pattern)
    return pattern
