"""The metrics of quote selection of MMDocRAG (Dong et al. 2025): precision, recall and F1.

| metric | of a run with the cited items C_q and the gold items G_q of each question q |
|---|---|
| precision, recall | sum of abs(C_q & G_q) over q, by the sum of abs(C_q), or by that of abs(G_q) |
| F1 | twice the first sum by the sum of abs(C_q) + abs(G_q), the harmonic mean of both |
| overall F1 | mean over q of the F1 of C_q and G_q, with texts and pictures in one set |
| mean F1 | mean of the two F1 of pictures and of texts |

The authors' code computes the overall F1 so; their paper describes the mean F1. What is cited and what is
gold is explained in `selection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, Literal

from fathoms.metrics.metric import Facts, Metric, Need, Pooling, shared_score
from fathoms.metrics.pooled_f1 import F1Counts
from fathoms.metrics.quotes.groups import is_group, places_of, values_by_group
from fathoms.metrics.quotes.selection import Modality, Selection, gold_of, selected
from fathoms.types import Record, Score

Counts = dict[str, float | None]


@lru_cache(maxsize=1)  # for all metrics of one answer
def _selection_of(facts: Facts) -> Selection:
    """Return what an answer selected."""
    return selected(facts.record)


class QuoteMetric(Metric):
    """Base class of the metrics of quotes. A failed call cites nothing, so its gold quotes are missed."""

    source: ClassVar[str] = "MMDocRAG, Dong et al. 2025"
    needs: ClassVar[tuple[Need, ...]] = ("answer",)
    modality: ClassVar[Modality | None] = None

    def lacks(self, record: Record) -> str | None:
        """Return what is missing: an answer, gold quotes or pages, or their modality where it is needed."""
        gold, answered = gold_of(record), record.answer is not None
        if not answered and (record.error is None or not gold):
            return "an answer"
        if not gold:
            return "gold quotes"
        if self.modality and any(one.modality is None for one in gold):
            return "the modality of the gold evidence"
        return None

    def of(self, facts: Facts) -> Score:
        """Score a record; a run that only searched has no answers, not even failed ones."""
        if facts.retrieval_only:
            return shared_score(self.name, None, 0, lacks="an answer")
        return super().of(facts)

    def score(self, facts: Facts) -> Score:
        """Return the value of one answer, with the counts behind it."""
        selection = _selection_of(facts)
        if self.modality:
            selection = selection.of(self.modality)
        parts: Counts = {
            "right": selection.right,
            "cited": len(selection.cited),
            "gold": len(selection.gold),
        }
        return self.measured(selection, parts, facts)

    def measured(self, selection: Selection, parts: Counts, facts: Facts) -> Score:
        """Return the score of what an answer selected; `parts` are its counts."""
        top, bottom = self.counts(parts)
        wrong = sorted(id for _, id in selection.cited - selection.gold)
        missed = sorted(id for _, id in selection.gold - selection.cited)
        why: dict[str, object] = {
            name: ", ".join(ids) for name, ids in (("wrong", wrong), ("missed", missed)) if ids
        }
        return Score(metric=self.name, value=top / bottom if bottom else None, parts=parts, why=why)

    def counts(self, parts: Counts) -> tuple[float, float]:
        """Return the numerator and the denominator of the value."""
        right, cited, gold = (parts[name] or 0 for name in ("right", "cited", "gold"))
        return 2 * right, cited + gold

    def ratio(self, score: Score) -> tuple[float, float] | None:
        """Return the counts that are added up over the run."""
        return self.counts(score.parts) if score.parts else None


class _Precision(QuoteMetric):
    """Base class of both precisions."""

    pooling: ClassVar[Pooling] = "counts"

    def counts(self, parts: Counts) -> tuple[float, float]:
        """The right items by the cited ones."""
        return parts["right"] or 0, parts["cited"] or 0


class _Recall(QuoteMetric):
    """Base class of both recalls."""

    pooling: ClassVar[Pooling] = "counts"

    def counts(self, parts: Counts) -> tuple[float, float]:
        """The right items by the gold ones."""
        return parts["right"] or 0, parts["gold"] or 0

    def measured(self, selection: Selection, parts: Counts, facts: Facts) -> Score:
        """Return the recall, with that of each place among the candidates as parts."""
        return super().measured(selection, parts | places_of(selection), facts)

    def apart(self, score: Score) -> Mapping[str, float]:
        """Return whether the gold quote in each place was cited."""
        return {name: value for name, value in score.parts.items() if value is not None and is_group(name)}


class _F1(QuoteMetric):
    """Base class of both F1."""

    pooling: ClassVar[Pooling] = "counts"
    hit_weight: ClassVar[float] = 2.0


class ImagePrecision(_Precision):
    """The share of the cited picture quotes that are gold, of all answers together."""

    modality: ClassVar[Modality] = "image"

    kind: Literal["mmdocrag.image-precision"] = "mmdocrag.image-precision"


class ImageRecall(_Recall):
    """The share of the gold picture quotes that are cited, of all answers together. The parts are the shares
    by the place of the gold quote among the pictures."""

    modality: ClassVar[Modality] = "image"

    kind: Literal["mmdocrag.image-recall"] = "mmdocrag.image-recall"


class ImageF1(_F1):
    """The F1 of picture quotes, of all answers together."""

    modality: ClassVar[Modality] = "image"

    kind: Literal["mmdocrag.image-f1"] = "mmdocrag.image-f1"


class TextPrecision(_Precision):
    """The share of the cited text quotes that are gold, of all answers together."""

    modality: ClassVar[Modality] = "text"

    kind: Literal["mmdocrag.text-precision"] = "mmdocrag.text-precision"


class TextRecall(_Recall):
    """The share of the gold text quotes that are cited, of all answers together. The parts are the shares by
    the place of the gold quote among the texts."""

    modality: ClassVar[Modality] = "text"

    kind: Literal["mmdocrag.text-recall"] = "mmdocrag.text-recall"


class TextF1(_F1):
    """The F1 of text quotes, of all answers together."""

    modality: ClassVar[Modality] = "text"

    kind: Literal["mmdocrag.text-f1"] = "mmdocrag.text-f1"


class OverallF1(QuoteMetric):
    """The F1 of all quotes of an answer, texts and pictures in one set; the figure of a run is the mean over
    its questions, as in the authors' code. The parts are the means by the modality of the gold, by the kind
    of the question, and by the number of gold quotes."""

    pooling: ClassVar[Pooling] = "questions"

    kind: Literal["mmdocrag.overall-f1"] = "mmdocrag.overall-f1"

    def measured(self, selection: Selection, parts: Counts, facts: Facts) -> Score:
        """Return the F1, with that of each group of the question as parts."""
        value = selection.f1
        groups = {} if value is None else values_by_group(facts.record.question, selection, value)
        return super().measured(selection, parts | groups, facts)

    def apart(self, score: Score) -> Mapping[str, float]:
        """Return the values by group, which are pooled apart."""
        return {name: value for name, value in score.parts.items() if value is not None and is_group(name)}


class MeanF1(QuoteMetric):
    """The mean of `mmdocrag.image-f1` and `mmdocrag.text-f1`, which the paper describes as the overall F1.

    A single answer has no value, only the counts among its parts, so runs cannot be compared or gated by it.
    """

    pooling: ClassVar[Pooling] = "mean-of-ratios"

    kind: Literal["mmdocrag.mean-f1"] = "mmdocrag.mean-f1"

    def measured(self, selection: Selection, parts: Counts, facts: Facts) -> Score:
        """Return the counts of pictures and of texts; a single answer has no value."""
        image, text = selection.of("image"), selection.of("text")
        counts = F1Counts(
            hits=2.0 * image.right,
            items=len(image.cited) + len(image.gold),
            open_items=0,
            open_hits=0,
            found=2.0 * text.right,
            wanted=len(text.cited) + len(text.gold),
            open_wanted=0,
        )
        return Score(metric=self.name, value=None, parts=dict(counts._asdict()))

    def f1_counts(self, score: Score) -> F1Counts | None:
        """Return the counts of an answer; `None` for a record without any."""
        return (
            F1Counts(**{name: score.parts[name] or 0 for name in F1Counts._fields}) if score.parts else None
        )


MMDOCRAG: tuple[type[QuoteMetric], ...] = (
    *(ImagePrecision, ImageRecall, ImageF1),
    *(TextPrecision, TextRecall, TextF1),
    *(OverallF1, MeanF1),
)
