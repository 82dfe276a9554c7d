"""RAGAS: what the retrieved context is worth, and whether the answer keeps to it and to the question.

Es et al. 2024, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", and for context precision and
context recall the library ragas, which has them beyond the paper. Each docstring gives the formula and says
where the library differs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.metrics.aggregate import mean
from fathoms.metrics.claims.claim_metric import ClaimMetric
from fathoms.metrics.claims.matrix import Grid, Matrix
from fathoms.metrics.claims.premises import CONTEXT, Premise, retrieved
from fathoms.metrics.claims.ragchecker import gold_by_hits
from fathoms.metrics.claims.shares import share_of
from fathoms.metrics.claims.texts import ClaimsOf, answer_text, claims_of_gold
from fathoms.metrics.claims.truth import Truth
from fathoms.metrics.faithfulness import OfContext
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.metrics.reference.similarity import cosine
from fathoms.models import Embedder, OnnxEmbedder
from fathoms.models.sentences import sentences
from fathoms.types import Claim, Judgement, Record, Rubric, Score, Verdict

_RAGAS = "RAGAS, Es et al. 2024"
_QUESTIONS = 3
"""How many questions the library has written for an answer (its `strictness`)."""
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

    @abstractmethod
    def count(self, gold: Matrix) -> Score:
        """Return the score of the claims of the gold answer by what was retrieved."""


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
        whole = [Premise("\n\n".join(texts), place=CONTEXT)] if texts else []
        pictures = [premise for premise in found if premise.image]
        return [Grid(claims_of_gold(record.question, claims), (*whole, *pictures), "gold", "context")]

    def count(self, gold: Matrix) -> Score:
        """Return the share of claims."""
        return share_of(self.name, gold.supported, {"verdicts": gold.listed})


class ContextRelevance(JudgedMetric):
    """The share of the sentences of the retrieved texts that can help to answer the question.

    The judge is asked once for each text, and names the numbers of the sentences that help; none of them if
    the text has too little information. RAGAS has its model copy the sentences of the whole context, or reply
    "Insufficient Information", and counts what it copied. MiRAGE (Martin et al. 2025) has a share for each
    source, whose mean is the part `mean of sources`. Newer versions of the library grade the context as a
    whole under this name. Sentences that the judge was not shown, because the text was cut to fit its
    context, are unjudged. Pictures have no sentences and are left out.
    """

    source: ClassVar[str] = _RAGAS
    needs: ClassVar[tuple[Need, ...]] = ("hits",)
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False

    kind: Literal["ragas.context-relevance"] = "ragas.context-relevance"

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"relevant-sentences"})

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Each retrieved text that has a sentence."""
        return [
            Judgement(claim=record.question.in_conversation, premise=source.text, rubric="relevant-sentences")
            for source in retrieved(record.hits or ())
            if sentences(source.text)
        ]

    def score(self, facts: Facts) -> Score:
        """Return the share of sentences; `None` if no text was retrieved."""
        judgements = self.judgements(facts.record, facts.claims)
        if not judgements:
            return Score(metric=self.name, value=None, n=0, why={"lacks": "retrieved texts"})
        rows = [_sentences(one, facts.verdicts.get(one)) for one in judgements]
        shares = [sum(holds is True for _, holds in row) / len(row) for row in rows if _is_judged(row)]
        relevant = [
            {"claim": sentence, "label": f"retrieved text {number}"}
            for number, row in enumerate(rows, start=1)
            for sentence, holds in row
            if holds
        ]
        why = {"relevant": relevant} if relevant else {}
        score = share_of(self.name, [holds for row in rows for _, holds in row], why, items="items")
        return score.model_copy(update={"parts": {**score.parts, "mean of sources": mean(shares)}})


def _sentences(judgement: Judgement, verdict: Verdict | None) -> list[tuple[str, Truth]]:
    """Return each sentence of a source and whether it is relevant; `None` for those that were not judged."""
    found = sentences(judgement.premise)
    if verdict is None or verdict.relevant is None:
        return [(sentence, None) for sentence in found]
    shown = len(found) if verdict.shown is None else verdict.shown
    return [
        (sentence, number in verdict.relevant if number <= shown else None)
        for number, sentence in enumerate(found, start=1)
    ]


def _is_judged(row: Sequence[tuple[str, Truth]]) -> bool:
    """Whether all sentences of a source are judged."""
    return all(holds is not None for _, holds in row)


class AnswerRelevance(JudgedMetric):
    """The mean cosine between the question and questions to which the judge thinks the answer could belong.

        mean over i of cos(e(question), e(question i)), where e is the embedding

    The judge writes `questions` different questions in one call, without seeing the question that was asked.
    MiRAGE (Martin et al. 2025) uses one. The library asks its model three times, at a temperature that makes
    the replies differ, so that a model at temperature 0 writes one question three times. An answer that the
    judge calls noncommittal, an abstention, an empty answer and a refusal have no value; with `released`, a
    noncommittal answer has 0, as in the library, of which some versions give 0 if any of the three replies
    says so, others if all do. Cosines depend on the embedder, and are high for any two questions: compare
    only values of one embedder.
    """

    unit: ClassVar[str] = "cosine"
    source: ClassVar[str] = _RAGAS
    needs: ClassVar[tuple[Need, ...]] = ("answer",)
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False

    kind: Literal["ragas.answer-relevance"] = "ragas.answer-relevance"
    questions: int = Field(default=_QUESTIONS, ge=1, le=20)
    """How many questions the judge writes; with another number than 3, the metric is called `NAME-NUMBER`."""
    embed: Embedder = Field(default=OnnxEmbedder(), validate_default=True)
    """The embedder; by default the small model that fathoms uses for abstentions."""
    released: bool = False
    """Whether a noncommittal answer has the value 0, as in the library; the metric is then called
    `NAME-released`."""

    @property
    def name(self) -> str:
        """The kind, with a mark for each option that changes what is counted."""
        number = (
            "" if self.questions == type(self).model_fields["questions"].default else f"-{self.questions}"
        )
        return f"{self.kind}{number}{'-released' if self.released else ''}"

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"questions"})

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedder."""
        return {**super().identity(), "embed": self.embed.identity()}

    def check(self) -> None:
        """Check the embedder; raises its errors."""
        self.embed.check()

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """The answer, unless it is empty or a refusal."""
        text = answer_text(record)
        return [] if text is None else [Judgement(claim=text[0], rubric="questions", wanted=self.questions)]

    def score(self, facts: Facts) -> Score:
        """Return the mean cosine of the question and those generated from the answer."""
        judgements = self.judgements(facts.record, facts.claims)
        if not judgements or (facts.scores.abstained and not self.released):
            return Score(metric=self.name, value=None, n=0, why={"answer": "none, or an abstention"})
        verdict = facts.verdicts.get(judgements[0])
        if verdict is None or verdict.questions is None:
            parts: dict[str, float | None] = {"items": 1, "unjudged": 1, "lowest": -1.0, "highest": 1.0}
            return Score(metric=self.name, value=None, n=0, parts=parts, why={"lacks": "a verdict"})
        if verdict.label == "noncommittal":
            return self._scored(0.0 if self.released else None, {"answer": "noncommittal"})
        question, *others = self.embed.embed([facts.record.question.text, *verdict.questions])
        value = mean(cosine(question, other) for other in others)
        return self._scored(value, {"questions": list(verdict.questions)})

    def _scored(self, value: float | None, why: dict[str, object]) -> Score:
        """Return the score of an answer that was judged."""
        parts: dict[str, float | None] = {"items": 1, "unjudged": 0, "lowest": value, "highest": value}
        return Score(metric=self.name, value=value, n=int(value is not None), parts=parts, why=why)


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


RAGAS: tuple[type[JudgedMetric], ...] = (
    Faithfulness,
    AnswerRelevance,
    ContextRelevance,
    ContextPrecision,
    ContextRecall,
)
