"""Scoring profiles: named sets of rules for scoring answers.

Every run is scored under `fathoms`, and also under `paper` if its questions are those of FATHOMS-RAG. Any
other profile is computed on request (`fathoms score RUN --profile NAME`, `fathoms reproduce`).

| profile | match | hyphens | abstention | description |
|---|---|---|---|---|
| `paper` | substring | both | plain | FATHOMS-RAG as described, with the folding of its first script |
| `paper-by-words` | substring | both | by words | the same where the embedder of `paper` is not installed |
| `paper-configured` | substring | both | own | the same with the user's own exemplars or embedder |
| `released-code` | substring | answer | plain | its second script, which does not fold hyphens in phrases |
| `fathoms` | word | both | configured | our own rules: whole words and whole numbers |

Under `fathoms`, an answer is read first: reasoning, citations, lists of sources and mark-up are no part of
what it says. The other profiles search the text as it came.

Abstention is judged by the `configured` classifier, or by the rule of the paper: the whole answer takes the
label of its nearest exemplar, at any distance. A name of a profile stands for one classifier on every
machine: under `plain`, the exemplars of fathoms and sentence embeddings (MiniLM) decide, under `by words`
hashed words instead of these, and under `own` the exemplars and the embedder of the configured classifier.

Under `fathoms`, a statement in answer to an unanswerable question is a hallucination. The other profiles have
no rate of hallucination for unanswerable questions.

The authors released results scored by either script. A record imported from such a file names the script that
scored it (`fingerprints["scorer"]`), and `released-code` then follows that script: only in this way are all
printed figures reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fathoms.errors import MissingExtraError, MissingWeightsError, UsageError, suggest
from fathoms.metrics.abstention import Classifier
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.models import LexicalEmbedder, OnnxEmbedder
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
    abstention: Literal["plain", "by words", "own", "configured"]
    follows_scorer: bool = False
    judges_unanswerable: bool = False
    reads: bool = False

    def hyphens_for(self, record: Record) -> Hyphens:
        """Return the hyphen rule for this record."""
        scorer = record.fingerprints.get("scorer", "") if self.follows_scorer else ""
        return SCORER_HYPHENS.get(scorer, self.hyphens)

    def classifier(self, configured: Classifier) -> Classifier:
        """Return the abstention classifier of this profile, given the one that the user configured."""
        if self.abstention == "configured":
            return configured
        if self.abstention == "own":
            embed = configured.embed or OnnxEmbedder()
            return NearestNeighbour(exemplars=configured.exemplars, embed=embed).plain()
        return NearestNeighbour(
            embed=OnnxEmbedder() if self.abstention == "plain" else LexicalEmbedder()
        ).plain()


PROFILES = (
    Profile("paper", "substring", "both", "plain"),
    Profile("paper-by-words", "substring", "both", "by words"),
    Profile("paper-configured", "substring", "both", "own"),
    Profile("released-code", "substring", "answer", "plain", follows_scorer=True),
    Profile("fathoms", "word", "both", "configured", judges_unanswerable=True, reads=True),
)


def profile_named(name: str) -> Profile:
    """Return the profile with this name; raises UsageError if there is none."""
    known = {profile.name: profile for profile in PROFILES}
    if name not in known:
        raise UsageError(f"no profile '{name}'{suggest(name, known)}")
    return known[name]


def headline(
    data: str | None,
    requested: str | None = None,
    configured: Classifier | None = None,
    *,
    scored: bool = False,
) -> str:
    """Return the profile that reports show first for a run on the data set with this name: the
    `requested` one, or the default one.

    Where `paper` is the default one, it is `paper-configured` if the `configured` classifier has exemplars
    or sentence embeddings of its own, and `paper-by-words` if its embedder is not on this machine, unless the
    run is `scored` under `paper` already.
    """
    if requested or data != "fathoms-rag":
        return requested or "fathoms"
    if configured is not None and has_own_exemplars(configured):
        return "paper-configured"
    return "paper" if scored or _has_embedder() else "paper-by-words"


def has_own_exemplars(configured: Classifier) -> bool:
    """Return whether a classifier has exemplars or sentence embeddings that are not those of `paper`. Hashed
    words, the earlier default, were never those of the paper."""
    embed = configured.embed
    if isinstance(embed, OnnxEmbedder):
        embed = embed.model_copy(update={"threads": None})
    return configured.exemplars is not None or not (
        embed is None or isinstance(embed, LexicalEmbedder) or embed == OnnxEmbedder()
    )


def _has_embedder() -> bool:
    """Return whether the embedder of `paper` is on this machine. Nothing is downloaded."""
    try:
        OnnxEmbedder().check()
    except (MissingExtraError, MissingWeightsError):
        return False
    return True


def scored_under(headlined: str) -> tuple[Profile, ...]:
    """Return the profiles for scoring a run whose reports show the profile `headlined` first."""
    return tuple(profile for profile in PROFILES if profile.name in ("fathoms", headlined))
