"""Compile the cues of `cues.yaml` into regular expressions and search clauses for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fathoms.config import read_yaml
from fathoms.text.fingerprints import fingerprint

OWN_CUES = Path(__file__).with_name("cues.yaml")

_SLOT = re.compile(r"<(\w+)>")
_LONGEST = 600


class Patterns(dict[str, tuple[re.Pattern[str], ...]]):
    """The patterns by kind of cue. Those of a kind are compiled when they are first needed, because compiling
    all of them takes most of a second."""

    def __init__(self, cues: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._cues = cues

    def __missing__(self, kind: str) -> tuple[re.Pattern[str], ...]:
        self[kind] = found = tuple(map(re.compile, self._cues[kind]))
        return found


class Grammar(NamedTuple):
    """The compiled patterns of all languages by kind of cue; `key` is a fingerprint of the file's content."""

    patterns: Patterns
    key: str

    def find(self, kind: str, text: str) -> str | None:
        """Return the words of a text that match a cue of this kind, or `None`.

        Only the first 600 characters are searched, because real clauses are shorter.
        """
        for pattern in self.patterns[kind]:
            if found := pattern.search(text[:_LONGEST]):
                return found[0].strip()
        return None

    def body(self, text: str) -> str:
        """Return a text without its lead (such as `according to the report, `)."""
        return text.removeprefix(self.find("lead", text) or "").strip()

    def is_whole(self, kind: str, text: str) -> bool:
        """Return whether the whole text is a cue of this kind."""
        return any(pattern.fullmatch(text) for pattern in self.patterns[kind])


@lru_cache(maxsize=1)
def read_grammar() -> Grammar:
    """Read the cues that come with fathoms; cached."""
    data = read_yaml(OWN_CUES).data
    slots = {name: f"(?:{'|'.join(parts)})" for name, parts in data["slots"].items()}
    found: dict[str, list[str]] = {}
    for language in data["languages"].values():
        for kind, cues in language.items():
            for cue in cues:
                while _SLOT.search(cue):  # a slot may contain slots
                    cue = _SLOT.sub(lambda slot: slots[slot[1]], cue)
                found.setdefault(kind, []).append(cue)
    return Grammar(Patterns(found), fingerprint(data))
