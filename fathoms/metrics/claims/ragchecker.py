"""RAGChecker: precision and recall of claims, and where right and wrong claims come from.

Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation". All
metrics are arithmetic on four matrices of verdicts: the claims of the answer against the gold answer and
against each retrieved passage, and the claims of the gold answer against the answer and each passage. A
claim is entailed by a set of passages if any of them entails it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims import premises
from fathoms.metrics.claims.claim_metric import ReleasedMetric, of_one_record
from fathoms.metrics.claims.expected import SupportedShare
from fathoms.metrics.claims.matrix import Grid, Matrix
from fathoms.metrics.claims.shares import f1_of, ratio_of, share_of
from fathoms.metrics.claims.texts import ClaimsOf, claims_of_answer, claims_of_gold
from fathoms.metrics.claims.truth import Truth, all_true, any_true, negated
from fathoms.metrics.metric import Direction, Facts, Need
from fathoms.types import Record, Score


@of_one_record
def answer_by_gold(record: Record, claims: ClaimsOf) -> Grid:
    """The claims of the answer against the gold answer (`answer2response` in RAGChecker)."""
    return Grid(claims_of_answer(record, claims), premises.gold_answer(record.question), by="gold answer")


@of_one_record
def gold_by_answer(record: Record, claims: ClaimsOf) -> Grid:
    """The claims of the gold answer against the answer (`response2answer`)."""
    return Grid(claims_of_gold(record.question, claims), premises.answer(record), "gold", "answer")


@of_one_record
def answer_by_hits(record: Record, claims: ClaimsOf) -> Grid:
    """The claims of the answer against each retrieved passage (`retrieved2response`)."""
    return Grid(claims_of_answer(record, claims), premises.retrieved(record.hits or ()), by="retrieved")


@of_one_record
def gold_by_hits(record: Record, claims: ClaimsOf) -> Grid:
    """The claims of the gold answer against each retrieved passage (`retrieved2answer`)."""
    return Grid(
        claims_of_gold(record.question, claims), premises.retrieved(record.hits or ()), "gold", "retrieved"
    )


_Compared = Callable[[Record, ClaimsOf], Grid]
_OF_HITS: tuple[_Compared, ...] = (answer_by_hits, gold_by_hits)
ALL: tuple[_Compared, ...] = (answer_by_gold, gold_by_answer, answer_by_hits, gold_by_hits)


class RagChecker(ReleasedMetric):
    """Base class of RAGChecker's metrics; the figure of a run is the mean over its questions.

    A question for which a metric has nothing to count, such as an answer without claims, has no value. With
    `released`, it is 0 and an unreadable or missing verdict is no entailment, as in RAGChecker's own code.
    Bounds treat every missing verdict as unknown by itself, so that they may be wider than necessary where
    one of them decides several items.
    """

    source: ClassVar[str] = "RAGChecker, Ru et al. 2024"
    compared: ClassVar[tuple[_Compared, ...]] = ()

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks; retrieving nothing is an empty list."""
        lacking = super().lacks(record)
        return (
            None if self.released and lacking == "retrieved chunks" and record.hits is not None else lacking
        )

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """Return the grids that the metric compares."""
        return [compared(record, claims) for compared in self.compared]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the score, or the value of an empty list."""
        for compared, matrix in zip(self.compared, matrices, strict=True):
            if matrix.claims and (matrix.premises or compared not in _OF_HITS):
                continue
            why = {"claims": "none"} if not matrix.claims else {"lacks": "retrieved texts or pictures"}
            return Score(metric=self.name, value=0.0 if self.released else None, n=0, why=dict(why))
        return self.count(*(matrix.settled for matrix in matrices) if self.released else matrices)

    @abstractmethod
    def count(self, *matrices: Matrix) -> Score:
        """Return the score from matrices with claims, in the order of `compared`."""


class Precision(SupportedShare, RagChecker):
    """The share of the claims of the answer that the gold answer entails."""

    compared = (answer_by_gold,)

    kind: Literal["ragchecker.precision"] = "ragchecker.precision"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that the gold answer entails."""
        (answer,) = matrices
        return self.share(answer, {"verdicts": answer.listed})


class Recall(SupportedShare, RagChecker):
    """The share of the claims of the gold answer that the answer entails; 0 for an empty answer."""

    of_answer, of_gold = False, True
    compared = (gold_by_answer,)

    kind: Literal["ragchecker.recall"] = "ragchecker.recall"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of the gold answer's claims that the answer entails."""
        (gold,) = matrices
        return self.share(gold, {"verdicts": gold.listed})


class F1(SupportedShare, RagChecker):
    """The harmonic mean of precision and recall of a question, which are among the parts; 0 if both are 0."""

    of_gold = True
    compared = (answer_by_gold, gold_by_answer)

    kind: Literal["ragchecker.f1"] = "ragchecker.f1"

    @property
    def halves(self) -> Mapping[str, str]:
        """The names of the precision and the recall that the mean joins."""
        return {name: self.name.replace("f1", name) for name in ("precision", "recall")}

    def count(self, *matrices: Matrix) -> Score:
        """Return the harmonic mean of precision and recall."""
        precision, recall = map(self.share, matrices)
        return f1_of(self.name, precision, recall)


class _OfRetrieval(RagChecker):
    """Base class of the metrics that need what was retrieved."""

    of_gold = True
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits")


class ClaimRecall(SupportedShare, _OfRetrieval):
    """The share of the claims of the gold answer that any retrieved passage entails."""

    of_answer = False
    compared = (gold_by_hits,)

    kind: Literal["ragchecker.claim-recall"] = "ragchecker.claim-recall"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of the gold answer's claims that any passage entails."""
        (gold,) = matrices
        return self.share(gold, {"verdicts": gold.listed})


class ContextPrecision(_OfRetrieval):
    """The share of the retrieved passages that are relevant, which means that they entail any claim of the
    gold answer."""

    of_answer = False
    compared = (gold_by_hits,)

    kind: Literal["ragchecker.context-precision"] = "ragchecker.context-precision"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of passages."""
        (gold,) = matrices
        return share_of(self.name, gold.useful, items="items")


class ContextUtilisation(_OfRetrieval):
    """The share of the claims of the gold answer that the answer entails, among those that a retrieved
    passage entails; `None` if none was retrieved."""

    of_answer = False
    compared = (gold_by_answer, gold_by_hits)

    kind: Literal["ragchecker.context-utilisation"] = "ragchecker.context-utilisation"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of retrieved gold claims that the answer entails."""
        in_answer, in_hits = matrices
        score = ratio_of(self.name, zip(in_answer.supported, in_hits.supported, strict=True))
        if score.value is not None:
            return score
        if self.released:
            return score.model_copy(update={"value": 0.0})
        lacking = {"lacks": "claims of the gold answer that a retrieved passage entails"}
        return score.model_copy(update={"why": lacking})


class _Noise(_OfRetrieval):
    """Base class of both kinds of noise sensitivity."""

    direction: ClassVar[Direction] = "lower"
    compared = (answer_by_gold, answer_by_hits, gold_by_hits)

    def shares(self, matrices: Sequence[Matrix]) -> Iterator[tuple[Truth, Truth, Truth]]:
        """Yield of each claim of the answer whether it is wrong, whether a relevant passage entails it, and
        whether another one does."""
        answer, by_hits, gold_by_hit = matrices
        relevant = gold_by_hit.useful
        for right, row in zip(answer.supported, by_hits.entails, strict=True):
            by_relevant = any_true(map(all_true, row, relevant))
            by_other = any_true(map(all_true, row, map(negated, relevant)))
            yield negated(right), by_relevant, by_other


class NoiseRelevant(_Noise):
    """The share of the claims of the answer that the gold answer does not entail and a relevant passage does
    (noise sensitivity in relevant). A passage is relevant if it entails any claim of the gold answer."""

    kind: Literal["ragchecker.noise-relevant"] = "ragchecker.noise-relevant"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that are wrong and entailed by a relevant passage."""
        found = [all_true(wrong, relevant) for wrong, relevant, _ in self.shares(matrices)]
        return share_of(self.name, found)


class NoiseIrrelevant(_Noise):
    """The share of the claims of the answer that the gold answer does not entail, and of the passages only
    irrelevant ones (noise sensitivity in irrelevant)."""

    kind: Literal["ragchecker.noise-irrelevant"] = "ragchecker.noise-irrelevant"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that are wrong and entailed by irrelevant passages alone."""
        shares = self.shares(matrices)
        return share_of(self.name, [all_true(wrong, other, negated(by)) for wrong, by, other in shares])


class _Unfaithful(_OfRetrieval):
    """Base class of the metrics of the claims that no passage entails."""

    direction: ClassVar[Direction] = "lower"
    of_gold = False
    compared = (answer_by_gold, answer_by_hits)


class Hallucination(_Unfaithful):
    """The share of the claims of the answer that neither the gold answer nor any passage entails."""

    kind: Literal["ragchecker.hallucination"] = "ragchecker.hallucination"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that are wrong and entailed by no passage."""
        pairs = zip(*(matrix.supported for matrix in matrices), strict=True)
        return share_of(self.name, [all_true(negated(gold), negated(hits)) for gold, hits in pairs])


class SelfKnowledge(_Unfaithful):
    """The share of the claims of the answer that the gold answer entails and no passage does: what the model
    knew by itself."""

    kind: Literal["ragchecker.self-knowledge"] = "ragchecker.self-knowledge"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that are correct and entailed by no passage."""
        pairs = zip(*(matrix.supported for matrix in matrices), strict=True)
        return share_of(self.name, [all_true(gold, negated(hits)) for gold, hits in pairs])


class Faithfulness(SupportedShare, _OfRetrieval):
    """The share of the claims of the answer that any retrieved passage entails. Unlike `faithfulness`, each
    passage is judged by itself, not the whole context."""

    of_gold, with_gold = False, False
    compared = (answer_by_hits,)

    kind: Literal["ragchecker.faithfulness"] = "ragchecker.faithfulness"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that any passage entails."""
        (answer,) = matrices
        return self.share(answer, {"verdicts": answer.listed})


RAGCHECKER: tuple[type[RagChecker], ...] = (
    *(Precision, Recall, F1, ClaimRecall, ContextPrecision, ContextUtilisation),
    *(NoiseRelevant, NoiseIrrelevant, Hallucination, SelfKnowledge, Faithfulness),
)
