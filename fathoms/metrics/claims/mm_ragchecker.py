"""MM-RAGChecker: the claims of an answer against retrieved texts and pictures, with three labels.

MRAG-Suite (2025), section 4. Each claim of the answer is judged by each of the best 3 pictures and 3 texts,
pictures as they are. A claim is entailed if any of them entails it, else contradicted if any contradicts it,
else neutral. k counts the items that are judged; how many were retrieved is among the parts.

Under this rule, the paper's self-knowledge, V-HR and D-HR are zero by construction, although it prints other
figures. The metrics that end in `-gold` compare with the gold answer instead. The paper's modality recall,
recovery rates and utilisation have no definition, and are left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.metrics.claims import premises
from fathoms.metrics.claims.claim_metric import ClaimMetric, of_one_record
from fathoms.metrics.claims.matrix import BINARY_LACKS, Grid, Matrix
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.ragchecker import answer_by_gold, gold_by_answer
from fathoms.metrics.claims.shares import difference_of, ratio_of, share_of
from fathoms.metrics.claims.texts import ClaimsOf, claims_of_answer, claims_of_gold
from fathoms.metrics.claims.truth import Truth, all_true, any_true, negated
from fathoms.metrics.metric import Direction, Facts, Need
from fathoms.types import Record, Score

_DEFAULT = 3


def pictures(record: Record) -> tuple[Premise, ...]:
    """Return the retrieved pictures, best first."""
    return tuple(one for one in premises.retrieved(record.hits or ()) if one.image)


def passages(record: Record) -> tuple[Premise, ...]:
    """Return the retrieved texts, best first."""
    return tuple(one for one in premises.retrieved(record.hits or ()) if not one.image)


@of_one_record
def answer_by_pictures(record: Record, claims: ClaimsOf, most: int) -> Grid:
    """The claims of the answer against the best pictures."""
    return Grid(claims_of_answer(record, claims), pictures(record)[:most], by="retrieved")


@of_one_record
def answer_by_texts(record: Record, claims: ClaimsOf, most: int) -> Grid:
    """The claims of the answer against the best texts."""
    return Grid(claims_of_answer(record, claims), passages(record)[:most], by="retrieved")


@of_one_record
def gold_by_claims(record: Record, claims: ClaimsOf) -> Grid:
    """The claims of the gold answer against each claim of the answer."""
    found = enumerate(claims_of_answer(record, claims), start=1)
    each = tuple(Premise(claim.text, place=f"claim {number}") for number, claim in found)
    return Grid(claims_of_gold(record.question, claims), each, "gold", "claims of the answer")


class MMRagChecker(ClaimMetric):
    """Base class of MM-RAGChecker's metrics; the figure of a run is the mean over its questions.

    The first two grids are the claims of the answer against pictures and against texts. An answer without
    claims has no value. The paper's judge has a temperature of 0, which is an option of the judge's model.
    """

    source: ClassVar[str] = "MRAG-Suite 2025"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits")
    with_gold = False
    three_labels: ClassVar[bool] = False
    both: ClassVar[bool] = False
    more: ClassVar[tuple[Callable[[Record, ClaimsOf], Grid], ...]] = ()

    most_images: int = Field(default=_DEFAULT, ge=1, le=1000)
    """The most retrieved pictures that a claim is judged by, the best first."""
    most_texts: int = Field(default=_DEFAULT, ge=1, le=1000)
    """The most retrieved texts that a claim is judged by, the best first."""

    @property
    def name(self) -> str:
        """The kind, with the numbers of pictures and texts if they are not those of the paper."""
        usual = self.most_images == self.most_texts == _DEFAULT
        return super().name if usual else f"{super().name}-{self.most_images}-{self.most_texts}"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the answer against pictures and texts, and what the metric compares besides."""
        return [
            answer_by_pictures(record, claims, self.most_images),
            answer_by_texts(record, claims, self.most_texts),
            *(compared(record, claims) for compared in self.more),
        ]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the score; `None` where there is nothing to count, which it says."""
        by_images, by_texts, *more = matrices
        lacking = self._missing(by_images, by_texts)
        if lacking is not None:
            return Score(metric=self.name, value=None, n=0, why={"lacks": lacking})
        if not by_images.claims or any(not matrix.claims for matrix in more):
            return Score(metric=self.name, value=None, n=0, why={"claims": "none"})
        score = self.count(by_images, by_texts, *more)
        retrieved = {
            "retrieved_images": len(pictures(facts.record)),
            "retrieved_texts": len(passages(facts.record)),
        }
        return score.model_copy(update={"parts": {**score.parts, **retrieved}})

    def _missing(self, by_images: Matrix, by_texts: Matrix) -> str | None:
        """Return what the retrieved items or the judge lack."""
        if self.both and not (by_images.premises and by_texts.premises):
            return "both pictures and texts among what was retrieved"
        if not (by_images.premises or by_texts.premises):
            return "retrieved texts or pictures"
        if self.three_labels and (by_images.is_binary or by_texts.is_binary):
            return BINARY_LACKS
        return None

    @abstractmethod
    def count(self, *matrices: Matrix) -> Score:
        """Return the score from the matrices of the grids."""


def _entailed(*matrices: Matrix) -> list[Truth]:
    """Return of each claim whether any item entails it."""
    return [any_true(each) for each in zip(*(matrix.supported for matrix in matrices), strict=True)]


def _contradicted(*matrices: Matrix) -> list[Truth]:
    """Return of each claim whether any item contradicts it."""
    return [any_true(each) for each in zip(*(matrix.contradicted for matrix in matrices), strict=True)]


def _listed(by_images: Matrix, by_texts: Matrix) -> dict[str, object]:
    """Return the claims with the verdicts that decide, over the items of both kinds."""
    rows = zip(by_images.verdicts, by_texts.verdicts, strict=True)
    whole = Matrix(
        by_images.claims,
        by_images.premises + by_texts.premises,
        tuple(images + texts for images, texts in rows),
    )
    return {"verdicts": whole.listed}


class Hallucination(MMRagChecker):
    """The share of the claims of an answer that are neutral: no picture or text entails or contradicts
    them."""

    direction: ClassVar[Direction] = "lower"
    three_labels = True

    kind: Literal["mm-ragchecker.hallucination"] = "mm-ragchecker.hallucination"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that no item entails or contradicts."""
        pairs = zip(_entailed(*matrices), _contradicted(*matrices), strict=True)
        return share_of(self.name, [all_true(negated(yes), negated(no)) for yes, no in pairs])


class Contradiction(MMRagChecker):
    """The share of the claims of an answer that a picture or text contradicts and none entails. The paper
    counts them neither as hallucinations nor as faithful."""

    direction: ClassVar[Direction] = "lower"
    three_labels = True

    kind: Literal["mm-ragchecker.contradiction"] = "mm-ragchecker.contradiction"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that an item contradicts and none entails."""
        pairs = zip(_entailed(*matrices), _contradicted(*matrices), strict=True)
        return share_of(self.name, [all_true(negated(yes), no) for yes, no in pairs])


class Faithfulness(MMRagChecker):
    """The share of the claims of an answer that a retrieved picture or text entails."""

    kind: Literal["mm-ragchecker.faithfulness"] = "mm-ragchecker.faithfulness"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of claims that a picture or text entails."""
        by_images, by_texts = matrices
        return share_of(self.name, _entailed(*matrices), _listed(by_images, by_texts))


class ClaimRecall(ClaimMetric):
    """The share of the claims of the gold answer that the answer entails; 0 for an empty answer. RAGChecker's
    claim recall is of what was retrieved; this is its recall."""

    source: ClassVar[str] = "MRAG-Suite 2025"
    of_answer, of_gold = False, True

    kind: Literal["mm-ragchecker.claim-recall"] = "mm-ragchecker.claim-recall"

    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """The claims of the gold answer against the answer."""
        return [gold_by_answer(record, claims)]

    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the share of the gold answer's claims that the answer entails."""
        (gold,) = matrices
        why = {"verdicts": gold.listed} if gold.claims else {"claims": "none"}
        return share_of(self.name, gold.supported, dict(why))


class ContextPrecision(MMRagChecker):
    """The share of the judged pictures and texts that entail any claim of the answer. RAGChecker asks the
    same of the claims of the gold answer."""

    kind: Literal["mm-ragchecker.context-precision"] = "mm-ragchecker.context-precision"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of items."""
        return share_of(self.name, [used for matrix in matrices for used in matrix.useful], items="items")


class _Gain(MMRagChecker):
    """Base class of the differences between pictures and texts, from -1 to 1; positive if pictures bring
    more."""

    unit: ClassVar[str] = "score -1 to 1"
    both = True

    @property
    def halves(self) -> Mapping[str, str]:
        """What pictures bring, and what texts bring."""
        return {"images": "", "texts": ""}


class DeltaCR(_Gain):
    """The claim recall that pictures bring minus that of texts: the share of the claims of the gold answer
    that are entailed by a claim of the answer which a picture (a text) entails."""

    of_gold, with_gold = True, True
    more = (gold_by_claims,)

    kind: Literal["mm-ragchecker.delta-cr"] = "mm-ragchecker.delta-cr"

    def count(self, *matrices: Matrix) -> Score:
        """Return the claim recall of pictures minus that of texts."""
        by_images, by_texts, gold = matrices

        def recall(by: Sequence[Truth]) -> Score:
            return share_of(self.name, [any_true(map(all_true, row, by)) for row in gold.entails])

        return difference_of(self.name, recall(by_images.supported), recall(by_texts.supported))


class DeltaCP(_Gain):
    """The context precision of pictures minus that of texts: the shares of them that entail any claim of the
    answer."""

    kind: Literal["mm-ragchecker.delta-cp"] = "mm-ragchecker.delta-cp"

    def count(self, *matrices: Matrix) -> Score:
        """Return the context precision of pictures minus that of texts."""
        images, texts = (share_of(self.name, matrix.useful, items="items") for matrix in matrices)
        return difference_of(self.name, images, texts)


class VisHit(MMRagChecker):
    """The share of the k judged pictures that entail any claim of the answer (VIS-Hit@k); k is
    `most_images`, or the number of retrieved pictures if that is lower."""

    kind: Literal["mm-ragchecker.vis-hit@k"] = "mm-ragchecker.vis-hit@k"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of pictures; `None` if there are none."""
        by_images, _ = matrices
        why = {} if by_images.premises else {"lacks": "retrieved pictures"}
        return share_of(self.name, by_images.useful, why, items="items")


class TxtMissRate(MMRagChecker):
    """The share of the judged texts that entail no claim of the answer (TXT-MissRate)."""

    direction: ClassVar[Direction] = "lower"

    kind: Literal["mm-ragchecker.txt-missrate"] = "mm-ragchecker.txt-missrate"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of texts; `None` if there are none."""
        _, by_texts = matrices
        why = {} if by_texts.premises else {"lacks": "retrieved texts"}
        return share_of(self.name, list(map(negated, by_texts.useful)), why, items="items")


class CMA(MMRagChecker):
    """Cross-modal agreement: the claims that both a picture and a text entail, of those that either entails;
    `None` if none is entailed."""

    both = True

    kind: Literal["mm-ragchecker.cma"] = "mm-ragchecker.cma"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of entailed claims that both modalities entail."""
        by_images, by_texts = matrices
        pairs = list(zip(by_images.supported, by_texts.supported, strict=True))
        return ratio_of(self.name, [(all_true(*pair), any_true(pair)) for pair in pairs])


class _AgainstGold(MMRagChecker):
    """Base class of the variants that take the gold answer for the truth."""

    direction: ClassVar[Direction] = "lower"
    with_gold = True
    more = (answer_by_gold,)

    def share_among(self, pairs: Iterable[tuple[Truth, Truth]], among: str) -> Score:
        """Return the share among some claims, and which ones are lacking if there are none."""
        score = ratio_of(self.name, pairs)
        none = score.value is None and not score.parts["unjudged"]
        return score.model_copy(update={"why": {"lacks": among}}) if none else score


class SelfKnowledge(_AgainstGold):
    """Of the claims that the gold answer entails, the share that no retrieved picture or text entails. The
    paper asks which entailed claims no item entails, and by its own rule there are none."""

    kind: Literal["mm-ragchecker.self-knowledge-gold"] = "mm-ragchecker.self-knowledge-gold"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of correct claims that no retrieved item entails."""
        by_images, by_texts, gold = matrices
        unseen = map(negated, _entailed(by_images, by_texts))
        return self.share_among(
            zip(unseen, gold.supported, strict=True), "claims that the gold answer entails"
        )


class _Misled(_AgainstGold):
    """Base class of the shares of hallucinated claims that one modality entails."""

    def share_of_wrong(self, by: Matrix, gold: Matrix) -> Score:
        """Return the share among the claims that the gold answer does not entail."""
        wrong = map(negated, gold.supported)
        among = "claims that the gold answer does not entail"
        return self.share_among(zip(by.supported, wrong, strict=True), among)


class VisualHallucination(_Misled):
    """Of the claims that the gold answer does not entail, the share that a picture entails (V-HR). The paper
    asks it of neutral claims, which no picture entails by its own rule."""

    kind: Literal["mm-ragchecker.v-hr-gold"] = "mm-ragchecker.v-hr-gold"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of wrong claims that a picture entails."""
        by_images, _, gold = matrices
        return self.share_of_wrong(by_images, gold)


class DocumentHallucination(_Misled):
    """Of the claims that the gold answer does not entail, the share that a text entails (D-HR). The paper
    asks it of neutral claims, which no text entails by its own rule."""

    kind: Literal["mm-ragchecker.d-hr-gold"] = "mm-ragchecker.d-hr-gold"

    def count(self, *matrices: Matrix) -> Score:
        """Return the share of wrong claims that a text entails."""
        _, by_texts, gold = matrices
        return self.share_of_wrong(by_texts, gold)


MM_RAGCHECKER: tuple[type[ClaimMetric], ...] = (
    *(Hallucination, Faithfulness, Contradiction, ClaimRecall, ContextPrecision, DeltaCR, DeltaCP, VisHit),
    *(TxtMissRate, CMA, SelfKnowledge, VisualHallucination, DocumentHallucination),
)
