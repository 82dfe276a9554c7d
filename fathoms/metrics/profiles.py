"""The scoring profiles: sets of rules by which an answer is judged.

A run is scored under `fathoms`, and under `paper` too where its questions are those of FATHOMS-RAG; any other
profile is computed where it is asked for (`fathoms score RUN --profile NAME`, `fathoms reproduce`).

| profile | match | hyphens | abstention | what |
|---|---|---|---|---|
| `paper` | substring | both | plain | FATHOMS-RAG as described, with the folding of its first script |
| `released-code` | substring | answer | plain | its second script, which forgot the hyphens of the phrases |
| `fathoms` | word | both | configured | ours: whole words and whole numbers |

Abstention is judged by the `configured` classifier, or by the paper's `plain` rule over the exemplars and
the embedder of the configured one: the whole answer takes the label of its nearest exemplar, however far.

The authors released results scored by either script. A record that was imported from such a file names
the script that scored it (`fingerprints["scorer"]`), and `released-code` then follows that script: only
so do all the printed figures come out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fathoms.metrics.abstention import Classifier
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.types import Record

SCORER_HYPHENS: dict[str, Hyphens] = {"evaluator.py": "both", "reprocess.py": "answer"}


@dataclass(frozen=True)
class Profile:
    """How phrases are looked for and abstention is judged.

    `follows_scorer`: phrases are looked for by the rule of the script that scored the record.
    """

    name: str
    match: Match
    hyphens: Hyphens
    abstention: Literal["plain", "configured"]
    follows_scorer: bool = False

    def hyphens_for(self, record: Record) -> Hyphens:
        """Where hyphens are folded for this record."""
        scorer = record.fingerprints.get("scorer", "") if self.follows_scorer else ""
        return SCORER_HYPHENS.get(scorer, self.hyphens)

    def classifier(self, configured: Classifier) -> Classifier:
        """What judges abstention under this profile, given what the user configured."""
        return configured.plain() if self.abstention == "plain" else configured


PROFILES = (
    Profile("paper", "substring", "both", "plain"),
    Profile("released-code", "substring", "answer", "plain", follows_scorer=True),
    Profile("fathoms", "word", "both", "configured"),
)


def headline(data: str | None) -> str:
    """The name of the profile that reports show first by default, given the name of the data set."""
    return "paper" if data == "fathoms-rag" else "fathoms"


def default_profiles(data: str | None, asked: str | None = None) -> tuple[Profile, ...]:
    """The profiles under which a run on the data set `data` is scored, and the one that was `asked` for."""
    wanted = {"fathoms", headline(data), asked}
    return tuple(profile for profile in PROFILES if profile.name in wanted)
