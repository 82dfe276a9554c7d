"""Compute the scores of a run from its records.

    scores = score(records, Scoring(), known)      # every record under every profile
    summarise(records, scores)                     # means per category and overall

`phrase_recall` measures the correctness of an answer, `Cues` or `NearestNeighbour` classifies it as a
statement or an abstention, `hallucination` flags statements that are not fully correct, and `summarise`
averages these scores. All of it is plain arithmetic, except that the abstention classifier may embed text.
A run can be scored again from its records and stored verdicts, without any parser, index or model.
"""

from __future__ import annotations

from fathoms.metrics.abstention import Classifier
from fathoms.metrics.aggregate import METRICS, summarise
from fathoms.metrics.cues import Cues
from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.funnel_summary import summarise_funnels, with_funnels
from fathoms.metrics.hallucination import hallucination
from fathoms.metrics.ingestion import (
    GoldText,
    ParsedTexts,
    common_answers,
    gold_text_recall,
    summarise_gold_text,
)
from fathoms.metrics.linear import Linear
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.metrics.phrase_recall import PhraseRecall, phrase_recall
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.score_records import (
    RELEASED,
    BareScores,
    Judged,
    RecordScore,
    Scores,
    Scoring,
    judge,
    score,
)
from fathoms.metrics.stages import STAGES, Funnel, Stage

__all__ = [
    "METRICS",
    "PROFILES",
    "RELEASED",
    "STAGES",
    "BareScores",
    "Classifier",
    "Cues",
    "Funnel",
    "GoldText",
    "Judged",
    "Linear",
    "NearestNeighbour",
    "ParsedTexts",
    "PhraseRecall",
    "Profile",
    "RecordScore",
    "RunTexts",
    "Scores",
    "Scoring",
    "Stage",
    "common_answers",
    "gold_text_recall",
    "hallucination",
    "judge",
    "phrase_recall",
    "score",
    "summarise",
    "summarise_funnels",
    "summarise_gold_text",
    "with_funnels",
]
