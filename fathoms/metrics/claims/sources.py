"""Two kinds of hallucination: what contradicts the retrieved sources, and what adds to them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims.claim_metric import ClaimMetric
from fathoms.metrics.claims.matrix import BINARY_LACKS, Grid, Matrix
from fathoms.metrics.claims.ragchecker import answer_by_hits
from fathoms.metrics.claims.shares import share_of
from fathoms.metrics.claims.texts import ClaimsOf
from fathoms.metrics.claims.truth import Truth, all_true, negated
from fathoms.metrics.metric import Direction, Facts, Need
from fathoms.types import Record, Score


class _AgainstSources(ClaimMetric):
    """Base class of both kinds of hallucination, which need a judge with three labels."""

    source: ClassVar[str] = "Maynez et al. 2020"
    direction: ClassVar[Direction] = "lower"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits")
    with_gold = False

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the answer against each retrieved text or picture."""
        return [answer_by_hits(record, claims)]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share; `None` where the judge does not tell contradictions."""
        (answer,) = matrices
        lacking = None
        if answer.is_binary:
            lacking = BINARY_LACKS
        elif not answer.premises:
            lacking = "retrieved texts or pictures"
        if lacking:
            return Score(metric=self.name, value=None, n=0, why={"lacks": lacking})
        why = {"verdicts": answer.listed} if answer.claims else {"claims": "none"}
        return share_of(self.name, self.found(answer), dict(why))

    @abstractmethod
    def found(self, answer: Matrix) -> list[Truth]:
        """Return of each claim whether it is such a hallucination."""


class IntrinsicHallucination(_AgainstSources):
    """The share of the claims of an answer that a retrieved source contradicts and none entails."""

    kind: Literal["intrinsic-hallucination"] = "intrinsic-hallucination"

    def found(self, answer: Matrix) -> list[Truth]:
        """Return whether sources contradict each claim."""
        pairs = zip(answer.supported, answer.contradicted, strict=True)
        return [all_true(negated(entailed), contradicted) for entailed, contradicted in pairs]


class ExtrinsicHallucination(_AgainstSources):
    """The share of the claims of an answer that no retrieved source entails or contradicts: what the answer
    adds to them. It may be true all the same."""

    kind: Literal["extrinsic-hallucination"] = "extrinsic-hallucination"

    def found(self, answer: Matrix) -> list[Truth]:
        """Return whether each claim adds to the sources."""
        pairs = zip(answer.supported, answer.contradicted, strict=True)
        return [all_true(negated(entailed), negated(contradicted)) for entailed, contradicted in pairs]
