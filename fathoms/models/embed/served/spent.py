"""What the servers of embedding models were paid for, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from fathoms.models.calling.provider_calls import ExecutionSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_MILLION = 1_000_000


class EmbeddingPrice(BaseModel):
    """Prices in US dollars per million tokens of an embedding model, which vendors set apart for pictures and
    texts."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    image: float = Field(ge=0, allow_inf_nan=False)
    """Price of the tokens of pictures."""
    text: float = Field(ge=0, allow_inf_nan=False)
    """Price of the tokens of texts."""

    def cost(self, tokens: int, *, is_text: bool) -> float:
        """Return the cost of tokens in US dollars."""
        return tokens * (self.text if is_text else self.image) / _MILLION


@dataclass
class EmbeddingCalls:
    """How a server is called (`settings`), and what its replies took: their number (`replies`), that of the
    pictures or texts in them (`inputs`), the tokens that the server reported, and their cost in US dollars;
    `None` if that of any reply is unknown.

    `keep` is called with the vectors of every reply as soon as it has arrived, and with the position of the
    first of them among all inputs, so that what was paid for is not lost when a later request fails.
    """

    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    replies: int = 0
    inputs: int = 0
    tokens: int | None = 0
    cost: float | None = 0.0
    keep: Callable[[int, Sequence[Vectors]], None] = lambda first, vectors: None

    def extend(self, other: EmbeddingCalls) -> None:
        """Add what other replies took."""
        self.replies += other.replies
        self.inputs += other.inputs
        self.tokens = (
            None if None in (self.tokens, other.tokens) else (self.tokens or 0) + (other.tokens or 0)
        )
        self.cost = None if None in (self.cost, other.cost) else (self.cost or 0) + (other.cost or 0)

    def report(self) -> dict[str, float | int | None]:
        """Return `calls`, `tokens` and `cost`."""
        return {"calls": self.replies, "tokens": self.tokens, "cost": self.cost}

    def add(self, inputs: int, tokens: int | None, cost: float | None) -> None:
        """Add what one reply took."""
        self.extend(EmbeddingCalls(self.settings, 1, inputs, tokens, cost))
