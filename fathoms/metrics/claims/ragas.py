"""RAGAS: what the context that was retrieved is worth, and whether the answer keeps to it.

Es et al. 2024, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", and for context precision and
context recall the library ragas, which has them beyond the paper. Each docstring gives the formula and says
where the library differs. Answer relevance is not here: its questions would have to be generated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar, Literal

from fathoms.metrics.claims.base import ClaimMetric
from fathoms.metrics.claims.matrix import Grid, Matrix
from fathoms.metrics.claims.premises import Premise, retrieved
from fathoms.metrics.claims.ragchecker import gold_by_hits
from fathoms.metrics.claims.shares import share_of
from fathoms.metrics.claims.texts import ClaimsOf, claims_of_gold
from fathoms.metrics.claims.truth import Truth
from fathoms.metrics.faithfulness import OfContext
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.models.sentences import sentences
from fathoms.types import Claim, Judgement, Record, Score

_RAGAS = "RAGAS, Es et al. 2024"
_MOST_UNKNOWN = 10
"""With more unjudged contexts, the bounds of context precision are 0 and 1, as 2^n cases are too many."""


class Faithfulness(OfContext):
    """The share of the claims of an answer that the context in the prompt supports: `faithfulness` under the
    name it has in RAGAS. An answer without a claim has none, where the library gives NaN."""

    pooling: ClassVar[Pooling] = "questions"

    kind: Literal["ragas.faithfulness"] = "ragas.faithfulness"


class _OfRetrieval(ClaimMetric):
    """Base class of the metrics that compare the gold answer with what was retrieved. They need no answer."""

    source: ClassVar[str] = _RAGAS
    needs: ClassVar[tuple[Need, ...]] = ("hits",)
    of_answer: ClassVar[bool] = False
    of_gold: ClassVar[bool] = True

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the score; `None` if there is nothing to compare."""
        (gold,) = matrices
        if gold.claims and gold.premises:
            return self.count(gold)
        why = {"lacks": "retrieved texts or pictures"} if gold.claims else {"claims": "none"}
        return Score(metric=self.name, value=None, n=0, why=dict(why))

    def count(self, gold: Matrix) -> Score:
        """Return the score of the claims of the gold answer by what was retrieved."""
        raise NotImplementedError


class ContextPrecision(_OfRetrieval):
    """The average precision of the ranking of the retrieved contexts: the mean of precision@k over the ranks
    k of the useful ones, 0 if none is useful. A context is useful if it entails a claim of the gold answer.

    The library instead asks its model once for each context whether it was useful in arriving at the gold
    answer. The value rests on the judged contexts, in their order.
    """

    kind: Literal["ragas.context-precision"] = "ragas.context-precision"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against each retrieved text or picture."""
        return [gold_by_hits(record, claims)]

    def count(self, gold: Matrix) -> Score:
        """Return the average precision, and its smallest and largest value over all that the missing verdicts
        could be."""
        useful = gold.useful
        known = [one for one in useful if one is not None]
        lowest, highest = _bounds(useful)
        return Score(
            metric=self.name,
            value=average_precision(known) if known else None,
            n=len(known),
            parts={
                "items": len(useful),
                "supported": sum(known),
                "unjudged": len(useful) - len(known),
                "lowest": lowest,
                "highest": highest,
            },
            why={"verdicts": gold.listed},
        )


class ContextRecall(_OfRetrieval):
    """The share of the claims of the gold answer that the retrieved texts together, or any retrieved picture,
    entail. `ragchecker.claim-recall` compares each text by itself.

    The library asks its model about all sentences of the gold answer in one call, and drops those that the
    reply does not list; here each claim has a verdict, and those without one are counted.
    """

    kind: Literal["ragas.context-recall"] = "ragas.context-recall"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against all retrieved texts, and against each picture."""
        found = retrieved(record.hits or ())
        texts = [premise.text for premise in found if premise.text]
        whole = [Premise("\n\n".join(texts), place="retrieved texts")] if texts else []
        pictures = [premise for premise in found if premise.image]
        return [Grid(claims_of_gold(record.question, claims), (*whole, *pictures))]

    def count(self, gold: Matrix) -> Score:
        """Return the share of claims."""
        return share_of(self.name, gold.supported, {"verdicts": gold.listed})


class ContextRelevance(JudgedMetric):
    """The share of the sentences of the retrieved texts that can help to answer the question.

    The judge says this of every sentence by itself, which takes a call for each: about 300 a question with
    three pages of the sample corpus. RAGAS has its model copy the relevant sentences of the context in one
    call, or reply "Insufficient Information", which counts as none; here, that is a text of which no sentence
    helps. Newer versions of the library grade the context as a whole under this name. Pictures have no
    sentences and are left out.
    """

    source: ClassVar[str] = _RAGAS
    needs: ClassVar[tuple[Need, ...]] = ("hits",)
    pooling: ClassVar[Pooling] = "questions"

    kind: Literal["ragas.context-relevance"] = "ragas.context-relevance"

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Each sentence of each retrieved text."""
        return [
            Judgement(claim=sentence, premise=source.text, context=record.question.text, rubric="relevant")
            for source in retrieved(record.hits or ())
            for sentence in sentences(source.text)
        ]

    def score(self, facts: Facts) -> Score:
        """Return the share of sentences; `None` if no text was retrieved."""
        asked = self.judgements(facts.record, facts.claims)
        if not asked:
            return Score(metric=self.name, value=None, n=0, why={"lacks": "retrieved texts"})
        verdicts = [facts.verdicts.get(one) for one in asked]
        return share_of(self.name, [one.supports if one else None for one in verdicts], items="items")


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of precision@k over the ranks k of what is useful, in [0, 1]; 0 if nothing is."""
    ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
    return sum(number / rank for number, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0.0


def _bounds(useful: Sequence[Truth]) -> tuple[float, float]:
    """Return the smallest and the largest average precision over all that unknown values could be."""
    if sum(one is None for one in useful) > _MOST_UNKNOWN:
        return 0.0, 1.0
    cases = product(*((False, True) if one is None else (one,) for one in useful))
    values = [average_precision(case) for case in cases]
    return min(values), max(values)


RAGAS: tuple[type[JudgedMetric], ...] = (Faithfulness, ContextRelevance, ContextPrecision, ContextRecall)
