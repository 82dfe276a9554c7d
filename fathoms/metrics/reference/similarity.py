"""Semantic similarity of answer and reference, by the embeddings of any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.metrics.reference.reference_metric import ReferenceMetric
from fathoms.models import Embedder, OnnxEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SemanticSimilarity(ReferenceMetric):
    """The cosine of the embeddings of answer and reference, in [-1, 1]; 0 for an empty answer. A long text is
    cut by the embedder at its own limit."""

    unit: ClassVar[str] = "cosine"
    weight: ClassVar[int | None] = None

    kind: Literal["semantic-similarity"] = "semantic-similarity"
    embed: Embedder = Field(default=OnnxEmbedder(), validate_default=True)
    """The embedder; by default the small model that fathoms uses for abstentions."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedder."""
        return {**super().identity(), "embed": self.embed.identity()}

    def check(self) -> None:
        """Check the embedder; raises its errors."""
        self.embed.check()

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the cosine of the two texts' vectors."""
        if not answer.strip():
            return 0.0, {}  # a model would find even an empty text similar to some others
        one, other = self.embed.embed([answer, reference])
        return cosine(one, other), {}


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the cosine of two unit vectors; rounding may not take it out of [-1, 1]."""
    return min(1.0, max(-1.0, float(one @ other)))
