"""Shares of supported claims, by the labels of a judge or by its probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import field_validator

from fathoms.metrics.claims.matrix import Matrix
from fathoms.metrics.claims.shares import NO_PROBABILITY, expected_share, share_of
from fathoms.metrics.metric import JudgedMetric
from fathoms.types import Score


class SupportedShare(JudgedMetric):
    """Base class of the metrics whose items are claims that are supported or not."""

    counts: Literal["labels", "expected"] = "labels"
    """What a claim adds: 1 or 0, by its label (`labels`), or the probability that it is supported
    (`expected`), as MiRAGE proposes for degrees of support. The metric is then called `NAME-expected`."""

    @field_validator("counts")
    @classmethod
    def _not_as_released(cls, counts: str, info: Any) -> str:
        if counts == "expected" and info.data.get("released"):
            raise ValueError("the released code counts labels: leave out 'released' or 'counts'")
        return counts

    def identity(self) -> dict[str, Any]:
        """Leave out `counts` where labels count, as they did before there was a choice."""
        found = super().identity()
        if self.counts == "labels":
            del found["options"]["counts"]
        return found

    @property
    def name(self) -> str:
        """The name of the metric, marked where it adds up probabilities."""
        return f"{super().name}-expected" if self.counts == "expected" else super().name

    def share(self, matrix: Matrix, why: Mapping[str, object] | None = None) -> Score:
        """Return the share of the claims that any premise supports."""
        if self.counts == "expected":
            return expected_share(self.name, matrix.chances, why)
        return share_of(self.name, matrix.supported, why)

    def counted(self, score: Score) -> dict[str, int]:
        """Also count the claims without a probability."""
        found = dict(super().counted(score))
        if unknown := score.parts.get(NO_PROBABILITY):
            found[NO_PROBABILITY] = int(unknown)
        return found
