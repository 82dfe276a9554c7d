"""The retrieval metrics as values: `hit@5`, `document-recall@10`, `layout-hit@5`, `quote-recall@20`.

A name is LEVEL-KIND@K; without a level it is that of pages. All are in [0, 1], and higher is better.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.metrics.metric import Facts, Metric, Need
from fathoms.metrics.retrieval.batch import Values, rank_scores
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.metrics.retrieval.layout import layout_recall
from fathoms.metrics.retrieval.levels import EVIDENCE, HITS, Level, lacks
from fathoms.metrics.retrieval.ranking import ranked_chunks
from fathoms.metrics.retrieval.trec import EXPONENTIAL, Measure
from fathoms.types import Record, Score

_PARTS = ("hop ", "modality ")
HOPS = "hops without a gold page"
TOGETHER = "questions of several hops that their evidence does not tell apart (one gold page is enough)"
_TREC = "trec_eval by ir-measures, provider pytrec_eval"


class RetrievalMetric(Metric):
    """Base class of the metrics of ranked retrieval. Subclasses say how a value is made of measures.

    Answers play no part, so a question whose model call failed still has a value.
    """

    packages: ClassVar[tuple[str, ...]] = ("ir-measures", "pytrec-eval-terrier")
    needs: ClassVar[tuple[Need, ...]] = ("evidence", "hits")
    group: ClassVar[str] = "retrieval"
    source: ClassVar[str] = _TREC
    bounded: ClassVar[bool] = False
    """Whether the metric needs the number of all gold items, which is not known of chunks."""

    k: int = Field(default=10, ge=1, le=100_000)
    """How many ranked items count."""
    level: Level = "page"
    """What is ranked: documents, pages, layout boxes, chunks, or candidate quotes."""

    @field_validator("level")
    @classmethod
    def _is_known(cls, level: Level) -> Level:
        if level == "chunk" and cls.bounded:
            kind = cls.model_fields["kind"].default
            raise ValueError(
                f"there is no {kind} of chunks: how many chunks of the whole index cover a gold page is not"
                " known from a run (hit, precision and mrr need no such number)"
            )
        return level

    @property
    def name(self) -> str:
        """LEVEL-KIND@K, without the level for pages."""
        level = "" if self.level == "page" else f"{self.level}-"
        return f"{level}{super().name}@{self.k}"

    @property
    def measure(self) -> Measure:
        """The measure that is asked of ir-measures."""
        return Measure(super().name, self.k)

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks at the level of the metric."""
        return lacks(record, self.level)

    def score(self, facts: Facts) -> Score:
        """Return the score of one record. The scores of many are made faster by `rank_scores`."""
        return rank_scores([self], [facts.record])[0][self.name]

    def of(self, facts: Facts) -> Score:
        """Return the score that was made with those of other records, if there is one."""
        return facts.ranked.get(self.name) or super().of(facts)

    def of_values(self, record: Record, values: Values) -> Score:
        """Return the score of a record, given the values of the measure for its rankings."""
        return Score(metric=values.metric, value=values.all, parts=dict(values.counts))

    def apart(self, score: Score) -> dict[str, float]:
        """Return the values by hop or by modality, which are pooled apart."""
        return {
            name: value
            for name, value in score.parts.items()
            if value is not None and name.startswith(_PARTS)
        }

    def counted(self, score: Score) -> dict[str, int]:
        """Return the counts of what has no page, which are added up over the run."""
        return {name: int(score.parts[name] or 0) for name in (EVIDENCE, HITS) if name in score.parts}


class Hit(RetrievalMetric):
    """`hit@5`: whether a gold page is among the first 5 pages (1) or not (0).

    For a question of several hops, one gold page of every hop must be among them; the parts say which hops
    were found, and of which modality of the evidence, such as text or image, a gold page was found.
    Double-Bench (2025) defines hops so. The rival that needs one gold page of any hop is the Success@k of
    trec_eval.
    """

    source: ClassVar[str] = "Double-Bench; Success@k of trec_eval by ir-measures"

    kind: Literal["hit"] = "hit"
    without_page: Literal["skip", "fail"] = "skip"
    """What a hop without gold page does: `skip` asks only for the other hops, `fail` counts the question as
    missed. The name of the metric then ends with `-fail`."""

    @property
    def name(self) -> str:
        """The name of the metric, such as `hit@5` or `hit@5-fail`."""
        return super().name + ("-fail" if self.without_page == "fail" else "")

    @property
    def measure(self) -> Measure:
        """The measure that is averaged: success@k."""
        return Measure("hit", self.k)

    def of_values(self, record: Record, values: Values) -> Score:
        """Return 1 or 0, with the hit of each hop."""
        modalities = {f"modality {name}": value for name, value in values.modalities.items()}
        if not values.hops:
            score = super().of_values(record, values)
            score.parts.update(modalities)
            if (record.question.hops or len(record.question.steps)) > 1:
                score.parts[TOGETHER] = 1
            return score
        known = [hit for hit in values.hops if hit is not None]
        parts: dict[str, float | None] = {
            **{f"hop {number}": hit for number, hit in enumerate(values.hops, start=1)},
            **modalities,
            **values.counts,
        }
        if missing := len(values.hops) - len(known):
            parts[HOPS] = missing
        if not known and self.without_page == "skip":
            return Score(
                metric=values.metric, value=None, parts=parts, why={"lacks": "gold pages of its hops"}
            )
        value = 0.0 if missing and self.without_page == "fail" else min(known)
        return Score(metric=values.metric, value=value, n=len(known), parts=parts)

    def counted(self, score: Score) -> dict[str, int]:
        """Also count the hops without gold page, with the policy, and questions with unnamed hops."""
        found = super().counted(score)
        if TOGETHER in score.parts:
            found[TOGETHER] = 1
        if missing := score.parts.get(HOPS):
            policy = "left out" if self.without_page == "skip" else "their questions count as missed"
            found[f"{HOPS} ({policy})"] = int(missing)
        return found


class Recall(RetrievalMetric):
    """`recall@10`: the share of the gold pages that are among the first 10 pages.

    `layout-recall@10` is, after MMDocIR (2025), the area of the gold boxes that the boxes of the first 10
    chunks overlap, over the area of the gold boxes; unlike in its released code, it cannot exceed 1. That
    code adds up the overlaps of every gold box with every box, as `layout-recall@10-released` does. The parts
    are the recalls by modality of the evidence, such as of text and of image quotes.
    """

    bounded: ClassVar[bool] = True
    source: ClassVar[str] = f"{_TREC}; layout: MMDocIR"

    kind: Literal["recall"] = "recall"
    modality: str | None = None
    """Only the gold pages of evidence of this modality count, such as `table`: `recall@10-table`. Quotes are
    of the modality `text` or `image`."""
    overlaps: Literal["union", "added"] = "union"
    """At the level of layout: what two boxes cover counts once, or `added` up, as in MMDocIR's released code.
    The name of the metric then ends with `-released`."""

    @field_validator("modality")
    @classmethod
    def _at_pages(cls, modality: str | None, info: Any) -> str | None:
        if modality is not None and info.data.get("level") not in ("page", "quote"):
            raise ValueError("recall by modality is only known at the levels of pages and quotes")
        return modality

    @property
    def name(self) -> str:
        """The name of the metric: `recall@10`, `recall@10-table` or `layout-recall@10-released`."""
        more = "released" if self.overlaps == "added" else self.modality
        return super().name + (f"-{more}" if more else "")

    @property
    def measure(self) -> Measure:
        """The measure that is averaged: recall@k."""
        return Measure("recall", self.k)

    def of_values(self, record: Record, values: Values) -> Score:
        """Return the recall, with that of each modality."""
        if self.level == "layout":
            chunks = ranked_chunks(record.hits or ())[: self.k]
            boxes = gold_of(record.question).boxes
            recall = layout_recall(boxes, chunks, added=self.overlaps == "added")
            why: dict[str, object] = {"lacks": "gold boxes with an area"} if recall is None else {}
            return Score(metric=values.metric, value=recall, why=why)
        parts: dict[str, float | None] = dict(values.counts)
        if self.modality is None:
            parts |= {f"modality {name}": value for name, value in values.modalities.items()}
            return Score(metric=values.metric, value=values.all, parts=parts)
        value = values.modalities.get(self.modality)
        if value is None:
            gold = "gold quotes" if self.level == "quote" else "gold pages with evidence"
            lacking = f"{gold} of the modality '{self.modality}'"
            return Score(metric=values.metric, value=None, why={"lacks": lacking})
        return Score(metric=values.metric, value=value, parts=parts)


class Precision(RetrievalMetric):
    """`precision@5`: the share of gold pages among the first 5 pages. Fewer than 5 count as if wrong ones
    followed, as in trec_eval; a rival divides by the number of pages that were retrieved."""

    kind: Literal["precision"] = "precision"


class Mrr(RetrievalMetric):
    """`mrr@10`: 1 / rank of the first gold page, 0 if none is among the first 10. The mean over the questions
    is the mean reciprocal rank."""

    kind: Literal["mrr"] = "mrr"


class Ndcg(RetrievalMetric):
    """`ndcg@10`: the discounted gain of the gold pages among the first 10, over that of the best order.

    The gain of a gold page is its grade, 1 in data sets without grades, discounted by log2(rank + 1)
    (Järvelin and Kekäläinen 2002). It is linear in the grade, as in trec_eval and MTEB. With `gain:
    exponential` it is 2^grade - 1 (Burges et al. 2005), and the metric is called `ndcg@10-exp`; the two
    differ for graded pages only. Documents, boxes and chunks have no grades.
    """

    bounded: ClassVar[bool] = True
    source: ClassVar[str] = f"{_TREC}; linear gain; exponential: Burges et al."

    kind: Literal["ndcg"] = "ndcg"
    gain: Literal["linear", "exponential"] = "linear"
    """How much a page of a grade counts: `linear` is the grade, as in trec_eval and MTEB; `exponential` is
    2^grade - 1. The name of the metric then ends with `-exp`."""

    @property
    def name(self) -> str:
        """The name of the metric, such as `ndcg@10` or `ndcg@10-exp`."""
        return super().name + ("-exp" if self.gain == "exponential" else "")

    @property
    def measure(self) -> Measure:
        """The measure that is averaged: nDCG@k with the chosen gain."""
        return Measure(EXPONENTIAL if self.gain == "exponential" else self.kind, self.k)


class Map(RetrievalMetric):
    """`map@10`: the sum of the precisions at the ranks of the gold pages among the first 10, over the number
    of all gold pages. A rival divides by at most k."""

    bounded: ClassVar[bool] = True

    kind: Literal["map"] = "map"


class RPrecision(RetrievalMetric):
    """`r-precision`: the share of gold pages among the first R pages, where R is the number of gold pages."""

    bounded: ClassVar[bool] = True

    kind: Literal["r-precision"] = "r-precision"
    k: Literal[None] = None  # type: ignore[assignment]
    """R-precision has no k."""

    @property
    def name(self) -> str:
        """`r-precision`, with the level before it unless it is that of pages."""
        return self.kind if self.level == "page" else f"{self.level}-{self.kind}"


RETRIEVAL_METRICS = (Hit, Recall, Precision, Mrr, Ndcg, Map, RPrecision)
