"""The base class of the metrics that compare an answer with the reference answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from fathoms.errors import MissingExtraError
from fathoms.metrics.metric import Facts, Metric, Need
from fathoms.metrics.said import reading_of
from fathoms.types import Score


class ReferenceMetric(Metric):
    """Compares the answer with the reference answer. A failed call scores 0, because it gave no answer."""

    needs: ClassVar[tuple[Need, ...]] = ("answer", "reference")
    failed: ClassVar[float | None] = 0.0

    @abstractmethod
    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the value for an answer and its reference, and the parts behind it."""

    def score(self, facts: Facts) -> Score:
        """Compare the texts of the record."""
        reference = facts.record.question.reference
        assert reference is not None
        value, parts = self.compare(reading_of(facts.record).plain, reference)
        return Score(metric=self.name, value=value, parts=parts)


def require(package: str, what: str) -> None:
    """Raise MissingExtraError if a package of the extra `metrics` is not installed."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(package, "metrics", what)
