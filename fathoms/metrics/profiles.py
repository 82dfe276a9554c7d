"""Scoring profiles: named sets of rules for scoring answers.

Every run is scored under `fathoms`, and also under `paper` if its questions are those of FATHOMS-RAG. Any
other profile is computed on request (`fathoms score RUN --profile NAME`, `fathoms reproduce`).

| profile | match | hyphens | abstention | description |
|---|---|---|---|---|
| `paper` | substring | both | plain | FATHOMS-RAG as described, with the folding of its first script |
| `released-code` | substring | answer | plain | its second script, which does not fold hyphens in phrases |
| `fathoms` | word | both | configured | our own rules: whole words and whole numbers |

Under `fathoms`, an answer is read first: reasoning, citations, lists of sources and mark-up are no part of
what it says. The other profiles search the text as it came.

Abstention is judged by the `configured` classifier, or by the paper's `plain` rule with the exemplars and
the embedder of the configured one: the whole answer takes the label of its nearest exemplar, at any distance.

Under `fathoms`, a statement in answer to an unanswerable question is a hallucination. The other profiles have
no rate of hallucination for unanswerable questions.

The authors released results scored by either script. A record imported from such a file names the script that
scored it (`fingerprints["scorer"]`), and `released-code` then follows that script: only in this way are all
printed figures reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fathoms.metrics.abstention import Classifier
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.types import Record

SCORER_HYPHENS: dict[str, Hyphens] = {"evaluator.py": "both", "reprocess.py": "answer"}
"""The hyphen rule of each script that FATHOMS-RAG released."""


@dataclass(frozen=True)
class Profile:
    """The rules of one profile for finding phrases and judging abstention.

    With `follows_scorer`, hyphens are treated as by the script that scored the imported record, if known.
    With `judges_unanswerable`, statements in answer to unanswerable questions are hallucinations. With
    `reads`, phrases are searched for in what the answer says (`fathoms.answers`), otherwise in the raw text.
    """

    name: str
    match: Match
    hyphens: Hyphens
    abstention: Literal["plain", "configured"]
    follows_scorer: bool = False
    judges_unanswerable: bool = False
    reads: bool = False

    def hyphens_for(self, record: Record) -> Hyphens:
        """Return the hyphen rule for this record."""
        scorer = record.fingerprints.get("scorer", "") if self.follows_scorer else ""
        return SCORER_HYPHENS.get(scorer, self.hyphens)

    def classifier(self, configured: Classifier) -> Classifier:
        """Return the abstention classifier of this profile, given the one that the user configured."""
        return configured.plain() if self.abstention == "plain" else configured


PROFILES = (
    Profile("paper", "substring", "both", "plain"),
    Profile("released-code", "substring", "answer", "plain", follows_scorer=True),
    Profile("fathoms", "word", "both", "configured", judges_unanswerable=True, reads=True),
)


def headline(data: str | None) -> str:
    """Return the profile that reports show first by default for the data set with this name."""
    return "paper" if data == "fathoms-rag" else "fathoms"


def default_profiles(data: str | None, asked: str | None = None) -> tuple[Profile, ...]:
    """Return the profiles for scoring a run on the data set `data`, including the one `asked` for."""
    wanted = {"fathoms", headline(data), asked}
    return tuple(profile for profile in PROFILES if profile.name in wanted)
