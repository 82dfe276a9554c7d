"""The short and the long answer of a reply that was asked for both, after MRAG-Suite (Ji 2025, section 3.6).

The short answer is compared by exact match and accuracy, the long one by ROUGE-L (and by `mm-ragchecker`,
which reads the answer of a record, that is the long one). A reply that does not follow the prompt is kept
whole and counted: its whole text stands for both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from fathoms.answers import read
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.reference.rouge import RougeL
from fathoms.metrics.reference.squad import normalised
from fathoms.types import GoldPhrase, Question, Record, Reply, Score

_SOURCE = "MRAG-Suite, Ji 2025"


class ShortLongMetric(Metric):
    """Base class of the three. A failed call scores 0, because it gave no answer."""

    source: ClassVar[str] = _SOURCE
    failed: ClassVar[float | None] = 0.0
    lacking: ClassVar[str]

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks: an answer, or the gold answer of this length."""
        return super().lacks(record) or (None if self._applies(record) else self.lacking)

    @abstractmethod
    def compare(self, reply: Reply, question: Question) -> float:
        """Return the value of a reply in [0, 1]."""

    def score(self, facts: Facts) -> Score:
        """Compare the answer of this length, and say if the reply does not have it apart."""
        reply = facts.record.answer
        assert reply is not None
        apart = float(reply.short is not None)
        value = self.compare(reply, facts.record.question)
        return Score(metric=self.name, value=value, parts={"apart": apart})

    def counted(self, score: Score) -> Mapping[str, int]:
        """Count the replies in which short and long answer are not apart."""
        return {"replies without a short and a long answer": int(score.parts.get("apart") == 0)}


class _Short(ShortLongMetric):
    """Base class of the metrics of the short answer."""

    lacking: ClassVar[str] = "a short gold answer"

    def _applies(self, record: Record) -> bool:
        return record.question.answerable and bool(_short_gold(record.question))


class ShortExactMatch(_Short):
    """Whether the short answer equals a short gold answer after SQuAD's normalisation (1) or not (0).

    Gold is `short_answer` and every accepted answer of a single phrase; the best counts.
    """

    lacking: ClassVar[str] = "a short gold answer of a single phrase"

    kind: Literal["short-exact-match"] = "short-exact-match"

    def _applies(self, record: Record) -> bool:
        return record.question.answerable and bool(_single_gold(record.question))

    def compare(self, reply: Reply, question: Question) -> float:
        """Return 1 where the short answers are equal, and else 0."""
        return float(normalised(_short(reply)) in _single_gold(question))


class ShortAccuracy(_Short):
    """Whether all phrases of an accepted answer, or the gold `short_answer`, stand in the short answer as
    whole words (1) or not (0). The paper does not define its accuracy; this one also accepts an answer in a
    sentence."""

    kind: Literal["short-accuracy"] = "short-accuracy"

    def compare(self, reply: Reply, question: Question) -> float:
        """Return 1 where the short answer holds a gold answer, and else 0."""
        found = phrase_recall(_short(reply), _short_gold(question), "word")
        return float(found.value == 1)


class LongRougeL(ShortLongMetric):
    """ROUGE-L, the F measure of the longest common subsequence of words, of the long answer and the gold
    `long_answer`, or else the `reference`."""

    lacking: ClassVar[str] = "a long gold answer"
    weight: ClassVar[int | None] = RougeL.weight

    kind: Literal["long-rouge-l"] = "long-rouge-l"

    def _applies(self, record: Record) -> bool:
        return bool(_long_gold(record.question).strip())

    def compare(self, reply: Reply, question: Question) -> float:
        """Return the F measure, from 0 to 1."""
        return RougeL().compare(read(reply.text).plain, _long_gold(question))[0]


SHORT_LONG = (ShortExactMatch, ShortAccuracy, LongRougeL)


def _short(reply: Reply) -> str:
    """What the short answer says, or the whole reply if it has none."""
    return read(reply.text if reply.short is None else reply.short).plain


def _short_gold(question: Question) -> tuple[tuple[GoldPhrase, ...], ...]:
    """The accepted answers, and the gold short answer as one more."""
    short = (question.short_answer or "").strip()
    return (*question.answers, *([(short,)] if short else []))


def _single_gold(question: Question) -> frozenset[str]:
    """The accepted answers of a single phrase as exact match compares them, without those of which nothing is
    left."""
    single = (one[0] for one in _short_gold(question) if len(one) == 1)
    return frozenset(normalised(one) for one in single if isinstance(one, str)) - {""}


def _long_gold(question: Question) -> str:
    """The gold long answer, or else the reference; empty if there is none."""
    return question.long_answer or question.reference or ""
