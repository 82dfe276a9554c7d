"""The scoring profiles, which are always computed side by side.

| profile | match | hyphens | what |
|---|---|---|---|
| `paper` | substring | both | FATHOMS-RAG as described, with the folding of its first script |
| `released-code` | substring | answer | its second script, which forgot the hyphens of the phrases |
| `fathoms` | word | both | ours: whole words and whole numbers |

The authors released results scored by either script. A record that was imported from such a file names
the script that scored it (`fingerprints["scorer"]`), and `released-code` then follows that script: only
so do all the printed figures come out.
"""

from __future__ import annotations

from dataclasses import dataclass

from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.types import Record

SCORER_HYPHENS: dict[str, Hyphens] = {"evaluator.py": "both", "reprocess.py": "answer"}


@dataclass(frozen=True)
class Profile:
    """How phrases are looked for. `follows_scorer`: by the rule of the script that scored the record."""

    name: str
    match: Match
    hyphens: Hyphens
    follows_scorer: bool = False

    def hyphens_for(self, record: Record) -> Hyphens:
        """Where hyphens are folded for this record."""
        scorer = record.fingerprints.get("scorer", "") if self.follows_scorer else ""
        return SCORER_HYPHENS.get(scorer, self.hyphens)


PROFILES = (
    Profile("paper", "substring", "both"),
    Profile("released-code", "substring", "answer", follows_scorer=True),
    Profile("fathoms", "word", "both"),
)
